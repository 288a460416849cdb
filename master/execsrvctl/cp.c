#include "master/execsrvctl/cp.h"

#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/progress.h"
#include "master/execsrvctl/term.h"

#define ASK_MS		60000	/* for an answer, with a connection lost */
#define SHOW_MS		200
#define DEPTH_MAX	64	/* of folders: links may lead round in rings */
#define TRIES		5	/* of a file, when connections are lost */
#define NOT_COPIED	1

struct cp {
	const struct cp_options	*o;
	struct execsrv		*x;
	int			 status;
	bool			 is_shown;	/* progress */
	unsigned		 depth;
};

/* A file under way. */
struct job {
	struct cp		*cp;
	const char		*name;		/* of what is copied */
	int			 fd;
	uint64_t		 bytes, total;	/* total: 0: unknown */
	uint64_t		 begin, shown;	/* ms */
	int			 error;		/* errno of this side */
	bool			 is_done, is_whole, was_lost;
	struct execsrv_error	 why;
};

/* The file that is being made here, for the handler of signals. */
static char	 unfinished[PATH_MAX];

static void
on_signal(int sig)
{
	if (unfinished[0] != '\0')
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

static void	 complain(struct cp *c, const char *path, const char *fmt, ...)
		    __attribute__((format(printf, 3, 4)));

/* It is not copied; others may be. */
static void
complain(struct cp *c, const char *path, const char *fmt, ...)
{
	char	 text[1024], where[PATH_MAX];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	snprintf(where, sizeof(where), "%s", path);
	execsrv_printable(where);
	if (c->is_shown)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "execsrvctl: %s: %s\n", where, text);
	c->status = NOT_COPIED;
}

/* FOLDER/NAME.  0, or -1: too long, and said so. */
static int
join(struct cp *c, char out[PATH_MAX], const char *folder, const char *name)
{
	size_t	 n = strlen(folder);

	if (snprintf(out, PATH_MAX, "%s%s%s", folder,
	    n > 0 && folder[n - 1] == '/' ? "" : "/", name) < PATH_MAX)
		return 0;
	complain(c, name, "%s", strerror(ENAMETOOLONG));
	return -1;
}

/* The last part of a path, without slashes; "/" has none. */
static void
base_name(const char *path, char out[PATH_MAX])
{
	size_t		 len = strlen(path);
	const char	*p;

	while (len > 0 && path[len - 1] == '/')
		len--;
	for (p = path + len; p > path && p[-1] != '/'; p--)
		continue;
	snprintf(out, PATH_MAX, "%.*s", (int)(path + len - p), p);
}

/* --- one file --- */

static void
show(struct job *j, bool is_last)
{
	char		 line[512];
	uint64_t	 now = clock_ms();
	uint16_t	 rows, cols;

	if (!j->cp->is_shown || (!is_last && now - j->shown < SHOW_MS))
		return;
	j->shown = now;
	if (term_size(&rows, &cols) == -1 || cols == 0)
		cols = 80;
	progress_line(line, sizeof(line), cols - 1u, j->name, j->bytes,
	    j->total, now - j->begin);
	execsrv_printable(line);
	fprintf(stderr, "\r%s\033[K%s", line, is_last ? "\n" : "");
}

static void
on_data(void *arg, const void *data, size_t len)
{
	struct job	*j = arg;
	const char	*from = data;
	ssize_t		 n;

	while (len > 0 && j->error == 0) {
		if ((n = write(j->fd, from, len)) == -1) {
			if (errno != EINTR)
				j->error = errno;
			continue;
		}
		from += n;
		len -= (size_t)n;
		j->bytes += (uint64_t)n;
	}
}

static ssize_t
on_room(void *arg, void *room, size_t size)
{
	struct job	*j = arg;
	ssize_t		 n;

	do
		n = read(j->fd, room, size);
	while (n == -1 && errno == EINTR);
	if (n == -1)
		j->error = errno;
	else
		j->bytes += (uint64_t)n;
	return n;
}

static void
on_done(void *arg, uint64_t bytes, const struct execsrv_error *e)
{
	struct job	*j = arg;

	(void)bytes;
	j->is_done = true;
	j->is_whole = e == NULL;
	if (e != NULL) {
		j->why = *e;
		j->was_lost = e->code == 0;
	}
}

static const struct execsrv_transfer_hooks	 hooks = {
	.on_data = on_data, .on_room = on_room, .on_done = on_done
};

/* Once, from the beginning or from where the last try ended. */
static void
try(struct job *j, const char *there)
{
	struct execsrv_file	 f = { .path = there };
	struct execsrv_transfer	*t;

	j->is_done = j->is_whole = j->was_lost = false;
	if (j->cp->o->is_upload) {
		j->bytes = 0;
		t = execsrv_file_write(j->cp->x, &f, &hooks, j);
	} else {
		f.offset = j->bytes;
		t = execsrv_file_read(j->cp->x, &f, &hooks, j);
	}
	if (t == NULL) {
		snprintf(j->why.text, sizeof(j->why.text), "%s",
		    strerror(errno));
		return;
	}
	while (!j->is_done && j->error == 0 &&
	    execsrv_wait(j->cp->x, SHOW_MS) == 0)
		show(j, false);
	if (!j->is_done)
		j->why = *execsrv_why(j->cp->x);
	execsrv_transfer_free(&t);
}

/*
 * Between fd, the file here, and the file there.  0, or -1, having said why:
 * each side's error with its own name.
 */
static int
transfer(struct cp *c, const char *here, int fd, const char *there,
    uint64_t total)
{
	struct job	 j = { .cp = c, .fd = fd, .total = total,
			    .name = c->o->is_upload ? here : there,
			    .begin = clock_ms() };
	unsigned	 tries;

	for (tries = 0; tries < TRIES; tries++) {
		if (tries > 0 && c->o->is_upload && lseek(fd, 0, SEEK_SET) ==
		    -1)
			break;		/* a pipe gives its content once */
		try(&j, there);
		if (!j.was_lost || j.error != 0 ||
		    execsrv_status(c->x) == EXECSRV_FAILED)
			break;
	}
	if (j.is_whole && j.error == 0) {
		show(&j, true);
		return 0;
	}
	if (j.error != 0)
		complain(c, here, "%s", strerror(j.error));
	else
		complain(c, there, "%s", j.why.text);
	return -1;
}

/* --- down --- */

/* What is no regular file here is written to, not replaced. */
static void
download_into(struct cp *c, const char *there, const char *here,
    uint64_t total)
{
	int	 fd = open(here, O_WRONLY | O_CLOEXEC);

	if (fd == -1) {
		complain(c, here, "%s", strerror(errno));
		return;
	}
	(void)transfer(c, here, fd, there, total);
	fd_close(&fd);
}

/*
 * Under another name first, so that half a file never looks like one; with the
 * mode of the one that it replaces.
 */
static void
download_new(struct cp *c, const char *there, const char *here,
    uint64_t total, const mode_t *mode)
{
	mode_t	 mask = umask(0);
	char	 name[PATH_MAX];
	int	 fd;
	bool	 good;

	umask(mask);
	if (snprintf(name, sizeof(name), "%s.XXXXXX", here) >=
	    (int)sizeof(name)) {
		complain(c, here, "%s", strerror(ENAMETOOLONG));
		return;
	}
	if ((fd = mkostemp(name, O_CLOEXEC)) == -1) {
		complain(c, here, "%s", strerror(errno));
		return;
	}
	memcpy(unfinished, name, sizeof(name));
	good = transfer(c, here, fd, there, total) == 0;
	if (good && (fchmod(fd, mode != NULL ? *mode & 07777 :
	    0666 & ~mask) == -1 || fsync(fd) == -1 ||
	    rename(name, here) == -1)) {
		complain(c, here, "%s", strerror(errno));
		good = false;
	}
	if (!good)
		unlink(name);
	unfinished[0] = '\0';
	fd_close(&fd);
}

static void
download_file(struct cp *c, const char *there, const char *here,
    uint64_t total)
{
	struct stat	 st;
	char		 target[PATH_MAX];
	bool		 is_there = stat(here, &st) == 0;

	if (is_there && !S_ISREG(st.st_mode)) {
		download_into(c, there, here, total);
		return;
	}
	/* A link stays one; what it leads to is replaced. */
	if (is_there && realpath(here, target) != NULL)
		here = target;
	download_new(c, there, here, total, is_there ? &st.st_mode : NULL);
}

static void	 download(struct cp *c, const char *there, const char *here);

static void
download_folder(struct cp *c, const char *there, const char *here)
{
	struct execsrv_fs_path		 in = { .path = there };
	struct execsrv_directory	*d;
	struct execsrv_error		 e;
	char				 from[PATH_MAX], to[PATH_MAX];
	size_t				 i;

	if (mkdir(here, 0777) == -1 && errno != EEXIST) {
		complain(c, here, "%s", strerror(errno));
		return;
	}
	if ((d = execsrv_fs_directory_wait(c->x, &in, ASK_MS, &e)) == NULL) {
		complain(c, there, "%s", e.text);
		return;
	}
	c->depth++;
	for (i = 0; i < d->nentries; i++) {
		/* A server's names are not to lead elsewhere. */
		if (strchr(d->entries[i].name, '/') != NULL ||
		    strcmp(d->entries[i].name, ".") == 0 ||
		    strcmp(d->entries[i].name, "..") == 0 ||
		    d->entries[i].name[0] == '\0')
			complain(c, d->entries[i].name, "not a name");
		else if (join(c, from, there, d->entries[i].name) == 0 &&
		    join(c, to, here, d->entries[i].name) == 0)
			download(c, from, to);
	}
	c->depth--;
	free(d);
}

static void
download(struct cp *c, const char *there, const char *here)
{
	struct execsrv_fs_path	 in = { .path = there };
	struct execsrv_metadata	*m;
	struct execsrv_error	 e;

	if ((m = execsrv_fs_metadata_wait(c->x, &in, ASK_MS, &e)) == NULL)
		complain(c, there, "%s", e.text);
	else if (m->is_file)
		download_file(c, there, here, m->size);
	else if (!m->is_directory)
		complain(c, there, "neither a file nor a folder");
	else if (!c->o->recursive)
		complain(c, there, "is a folder (-r copies those)");
	else if (c->depth >= DEPTH_MAX)
		complain(c, there, "too deep");
	else
		download_folder(c, there, here);
	free(m);
}

/* --- up --- */

static void	 upload(struct cp *c, const char *here, const char *there);

static void
upload_folder(struct cp *c, const char *here, const char *there)
{
	struct execsrv_fs_create	 in = { .path = there };
	struct execsrv_error		 e;
	struct dirent			*entry;
	char				 from[PATH_MAX], to[PATH_MAX];
	DIR				*d;

	if (execsrv_fs_create_directory_wait(c->x, &in, ASK_MS, &e) == -1) {
		complain(c, there, "%s", e.text);
		return;
	}
	if ((d = opendir(here)) == NULL) {
		complain(c, here, "%s", strerror(errno));
		return;
	}
	c->depth++;
	while (errno = 0, (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    join(c, from, here, entry->d_name) == 0 &&
		    join(c, to, there, entry->d_name) == 0)
			upload(c, from, to);
	if (errno != 0)
		complain(c, here, "%s", strerror(errno));
	c->depth--;
	closedir(d);
}

static void
upload_file(struct cp *c, const char *here, const char *there,
    const struct stat *st)
{
	int	 fd = open(here, O_RDONLY | O_CLOEXEC);

	if (fd == -1) {
		complain(c, here, "%s", strerror(errno));
		return;
	}
	transfer(c, here, fd, there, S_ISREG(st->st_mode) ?
	    (uint64_t)st->st_size : 0);
	fd_close(&fd);
}

static void
upload(struct cp *c, const char *here, const char *there)
{
	struct stat	 st;

	if (stat(here, &st) == -1)
		complain(c, here, "%s", strerror(errno));
	else if (!S_ISDIR(st.st_mode)) {
		/* One that was named may be a pipe; in a folder it waits. */
		if (c->depth > 0 && !S_ISREG(st.st_mode))
			complain(c, here, "neither a file nor a folder");
		else
			upload_file(c, here, there, &st);
	} else if (!c->o->recursive)
		complain(c, here, "is a folder (-r copies those)");
	else if (c->depth >= DEPTH_MAX)
		complain(c, here, "too deep");
	else
		upload_folder(c, here, there);
}

/* --- paths --- */

/* One that is not absolute is below the home there. */
static int
find_there(struct cp *c, const char *path, char out[PATH_MAX])
{
	struct execsrv_environment	*env;
	struct execsrv_error		 e;
	int				 r = -1;

	if (path[0] == '/')
		return join(c, out, "", path + 1);
	if ((env = execsrv_environment_info_wait(c->x, ASK_MS, &e)) == NULL)
		complain(c, path, "%s", e.text);
	else if (env->home == NULL)
		complain(c, path, "not absolute, and there is no home there");
	else
		r = join(c, out, env->home, path[0] == '\0' ? "." : path);
	free(env);
	return r;
}

static bool
is_folder_there(struct cp *c, const char *path)
{
	struct execsrv_fs_path	 in = { .path = path };
	struct execsrv_metadata	*m;
	struct execsrv_error	 e;
	bool			 yes;

	m = execsrv_fs_metadata_wait(c->x, &in, ASK_MS, &e);
	yes = m != NULL && m->is_directory;
	free(m);
	return yes;
}

static bool
is_folder_here(const char *path)
{
	struct stat	 st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/*
 * Into a folder goes what is copied under its own name; what has none (".") is
 * its content.
 */
static int
into_folder(struct cp *c, char to[PATH_MAX], const char *from)
{
	char	 name[PATH_MAX], both[PATH_MAX];

	base_name(from, name);
	if (name[0] == '\0' || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return 0;
	if (join(c, both, to, name) == -1)
		return -1;
	memcpy(to, both, sizeof(both));
	return 0;
}

static void
copy_up(struct cp *c, const char *here, char there[PATH_MAX])
{
	const char	*to = c->o->to;
	bool		 is_folder = is_folder_there(c, there);

	if (is_folder && into_folder(c, there, here) == -1)
		return;
	/* As cp(1): a slash says folder; URIs do not keep it. */
	if (!is_folder && to[0] != '\0' && to[strlen(to) - 1] == '/' &&
	    !is_folder_here(here))
		complain(c, there, "%s", strerror(ENOTDIR));
	else
		upload(c, here, there);
}

static void
copy(struct cp *c)
{
	const struct cp_options	*o = c->o;
	char			 there[PATH_MAX], here[PATH_MAX];

	if (find_there(c, o->is_upload ? o->to : o->from, there) == -1)
		return;
	snprintf(here, sizeof(here), "%s", o->is_upload ? o->from : o->to);
	if (o->is_upload) {
		copy_up(c, here, there);
	} else if (!is_folder_here(here) || into_folder(c, here, there) == 0) {
		download(c, there, here);
	}
}

int
cp_command(const struct cp_options *o)
{
	static const int	 signals[] = { SIGHUP, SIGINT, SIGTERM };
	struct cp		 c = { .o = o };
	struct execsrv_options	 how = { .client_name = "execsrvctl",
				    .bearer_token = o->token,
				    .ca_file = o->ca_file,
				    .recover_ms = o->patience };
	struct execsrv_error	 e;
	size_t			 i;

	if ((c.x = execsrv_open(o->url, &how, &e)) == NULL) {
		complain(&c, o->url, "%s", e.text);
		return c.status;
	}
	c.is_shown = !o->quiet && isatty(STDERR_FILENO);
	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signal(signals[i], on_signal) == SIG_IGN)
			signal(signals[i], SIG_IGN);
	copy(&c);
	if (execsrv_can(c.x, "execsrvSessionClose"))
		(void)execsrv_close_session(c.x, 1000, &e);
	execsrv_close(&c.x);
	return c.status;
}
