#include "master/execsrvctl/cp/cp.h"

#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "master/execsrvctl/cp/cp_priv.h"
#include "master/execsrvctl/run/reason.h"

#define NOT_COPIED	1

void
cp_complain_now(struct cp *c, const char *path, const char *why)
{
	char	 text[1024], where[PATH_MAX];

	snprintf(text, sizeof(text), "%s", why);
	reason_cut(text);
	snprintf(where, sizeof(where), "%s", path);
	execsrv_printable(where);
	if (c->is_shown)
		fputs("\r\033[K", stderr);
	fprintf(stderr, "execsrvctl: %s: %s\n", where, text);
	c->status = NOT_COPIED;
}

void
cp_complain(struct cp *c, const char *path, const char *fmt, ...)
{
	char	 why[1024];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	cp_sent_wait(c->sent);
	cp_complain_now(c, path, why);
}

int
cp_join(struct cp *c, char out[PATH_MAX], const char *folder, const char *name)
{
	size_t	 n = strlen(folder);

	if (snprintf(out, PATH_MAX, "%s%s%s", folder,
	    n > 0 && folder[n - 1] == '/' ? "" : "/", name) < PATH_MAX)
		return 0;
	cp_complain(c, name, "%s", strerror(ENAMETOOLONG));
	return -1;
}

int
cp_stat(const struct cp *c, const char *path, struct stat *st)
{
	return c->depth > 0 ? lstat(path, st) : stat(path, st);
}

void
cp_made(struct cp *c, const char *path)
{
	struct stat	 st;

	if (c->depth > 0 || !execsrv_is_local(c->x) || stat(path, &st) == -1)
		return;
	c->made_dev = st.st_dev;
	c->made_ino = st.st_ino;
}

bool
cp_is_made(struct cp *c, const char *path)
{
	struct stat	 st;

	if (c->made_ino == 0 || stat(path, &st) == -1 ||
	    st.st_dev != c->made_dev || st.st_ino != c->made_ino)
		return false;
	cp_complain(c, path, "cannot be copied into itself");
	return true;
}

void
cp_folder_of(const char *path, char out[PATH_MAX])
{
	const char	*slash = strrchr(path, '/');

	snprintf(out, PATH_MAX, "%.*s", slash == NULL ? 0 :
	    (int)(slash + 1 - path), path);
}

/* Copy the last part of a path, without slashes; "/" has none. */
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

/* --- paths --- */

/* Make a path absolute: it is relative to the home folder there. */
static int
find_there(struct cp *c, const char *path, char out[PATH_MAX])
{
	struct execsrv_environment	*env;
	struct execsrv_error		 e;
	int				 r = -1;

	if (path[0] == '/')
		return cp_join(c, out, "", path + 1);
	if ((env = execsrv_environment_info_wait(c->x, ASK_MS, &e)) == NULL)
		cp_complain(c, path, "%s", e.text);
	else if (env->home == NULL)
		cp_complain(c, path,
		    "not absolute, and there is no home there");
	else
		r = cp_join(c, out, env->home, path[0] == '\0' ? "." : path);
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
 * Append the name of what is copied to a folder; without a name (".") its
 * content is copied.
 */
static int
into_folder(struct cp *c, char to[PATH_MAX], const char *from)
{
	char	 name[PATH_MAX], both[PATH_MAX];

	base_name(from, name);
	if (name[0] == '\0' || strcmp(name, ".") == 0 ||
	    strcmp(name, "..") == 0)
		return 0;
	if (cp_join(c, both, to, name) == -1)
		return -1;
	memcpy(to, both, sizeof(both));
	return 0;
}

static void
copy_up(struct cp *c, const char *here, char there[PATH_MAX])
{
	const char	*to = c->o->to;
	bool		 is_folder = is_folder_there(c, there);

	if (c->o->is_piped) {
		cp_upload_in(c, there);
		return;
	}
	if (is_folder && into_folder(c, there, here) == -1)
		return;
	/* As cp(1): a final slash means a folder; URIs do not keep it. */
	if (!is_folder && to[0] != '\0' && to[strlen(to) - 1] == '/' &&
	    !is_folder_here(here))
		cp_complain(c, there, "%s", strerror(ENOTDIR));
	else
		cp_upload(c, here, there);
}

static void
copy(struct cp *c, const char *from)
{
	const struct cp_options	*o = c->o;
	char			 there[PATH_MAX], here[PATH_MAX];

	if (find_there(c, o->is_upload ? o->to : from, there) == -1)
		return;
	snprintf(here, sizeof(here), "%s", o->is_upload ? from : o->to);
	if (o->is_upload) {
		copy_up(c, here, there);
		cp_sent_wait(c->sent);
	} else if (o->is_piped) {
		cp_download_out(c, there);
	} else if (!is_folder_here(here) || into_folder(c, here, there) == 0) {
		cp_download(c, there, here);
	}
}

/* Several make no sense as one file. */
static void
cp_copy_all(struct cp *c)
{
	const struct cp_options	*o = c->o;
	char			 there[PATH_MAX];

	if (o->n > 1 && (o->is_upload ? find_there(c, o->to, there) == -1 ||
	    !is_folder_there(c, there) : !is_folder_here(o->to)))
		cp_complain(c, o->to, "%s", strerror(ENOTDIR));
	else
		for (size_t i = 0; i < o->n; i++)
			copy(c, o->from[i]);
}

int
cp_command(const struct cp_options *o)
{
	struct cp		 c = { .o = o };
	struct execsrv_error	 e;

	if ((c.x = execsrv_open(o->url, &o->how, &e)) == NULL) {
		/* Which names the server. */
		fprintf(stderr, "execsrvctl: %s\n", e.text);
		return NOT_COPIED;
	}
	c.is_shown = !o->quiet && isatty(STDERR_FILENO) &&
	    !(o->is_piped && !o->is_upload && isatty(STDOUT_FILENO));
	c.has_attributes = execsrv_can(c.x, "execsrvFsAttributes");
	c.can_update = execsrv_can(c.x, "execsrvFsUpdate");
	/* Without memory for that, one after the other. */
	if (o->is_upload && c.has_attributes)
		c.sent = cp_sent_new(&c);
	umask(c.mask = umask(0));
	cp_catch();
	/* Who reads no more is told of the end of the session, too. */
	signal(SIGPIPE, SIG_IGN);
	cp_show_begin(&c);
	cp_copy_all(&c);
	assert(c.depth == 0 && !cp_is_unfinished_here());
	cp_show_end(&c);
	cp_sent_free(&c.sent);
	if (execsrv_can(c.x, "execsrvSessionClose"))
		(void)execsrv_close_session(c.x, 1000, &e);
	execsrv_close(&c.x);
	if (c.is_unread) {
		signal(SIGPIPE, SIG_DFL);
		raise(SIGPIPE);
	}
	return c.status;
}
