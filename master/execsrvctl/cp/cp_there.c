/*
 * The side of the server in a copy, by the methods of servers with
 * execsrvFsAttributes, and on others by a shell, whose commands then handle
 * mode, links and names.
 */
#include <sys/random.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/execsrv.h"
#include "common/clock.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"

#define NS	1000000000LL
#define OPEN_DIR	0055	/* what servers give to new folders */

/* --- commands --- */

static void
cp_there_on_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	struct cp_said	*s = arg;

	if (what == EXECSRV_START && e != NULL)
		s->is_over = true;
}

static void
cp_there_on_output(void *arg, enum execsrv_stream stream, const void *data,
    size_t len)
{
	struct cp_said	*s = arg;
	size_t		 room = sizeof(s->text) - 1 - s->len;

	if (stream != EXECSRV_STDOUT)
		return;
	len = len < room ? len : room;
	memcpy(s->text + s->len, data, len);
	s->len += len;
	s->text[s->len] = '\0';
}

static void
cp_there_on_exited(void *arg, int status, bool sandbox_denied)
{
	(void)sandbox_denied;
	((struct cp_said *)arg)->status = status;
}

static void
cp_there_on_closed(void *arg)
{
	((struct cp_said *)arg)->is_over = true;
}

static void
cp_there_on_lost(void *arg, const struct execsrv_error *e)
{
	(void)e;
	((struct cp_said *)arg)->status = -1;
	((struct cp_said *)arg)->is_over = true;
}

int
cp_there_run(struct cp *c, struct cp_said *s, unsigned ms, const char *script,
    const char *a, const char *b, const char *d)
{
	static const struct execsrv_hooks	 hooks = {
		.on_answer = cp_there_on_answer,
		.on_output = cp_there_on_output,
		.on_exited = cp_there_on_exited,
		.on_closed = cp_there_on_closed,
		.on_lost = cp_there_on_lost
	};
	const char *const	 argv[] = {
		"/bin/sh", "-c", script, "sh", a, b, d, NULL
	};
	struct execsrv_start	 start = { .argv = argv, .inherit = true,
				    .cwd = "/" };
	struct execsrv_process	*p;
	uint64_t		 end = clock_ms() + ms;

	memset(s, 0, sizeof(*s));
	s->status = -1;
	if ((p = execsrv_process_start(c->x, &start, &hooks, s)) == NULL)
		return -1;
	while (!s->is_over && clock_ms() < end &&
	    execsrv_wait(c->x, 1000) == 0)
		continue;
	if (!s->is_over)
		s->status = -1;
	execsrv_process_free(&p);
	return s->status;
}

/* The same.  0, or -1 with the reason in e: what cannot be done. */
static int
order(struct cp *c, const char *what, const char *script, const char *a,
    const char *b, const char *d, struct execsrv_error *e)
{
	struct cp_said	 s;

	if (cp_there_run(c, &s, ASK_MS, script, a, b, d) == 0)
		return 0;
	e->code = 0;
	snprintf(e->text, sizeof(e->text), "%s: the server has no method for "
	    "that, and a command there failed", what);
	return -1;
}

/* --- what is there --- */

void
cp_there_take(struct cp_there *t, const struct execsrv_attributes *a)
{
	t->is_folder = a->is_directory;
	t->is_file = a->is_file;
	t->is_link = a->is_link;
	t->size = a->size;
	t->has_mode = true;
	t->mode = (mode_t)a->mode & MODE;
	t->atime_ns = a->accessed_ns;
	t->mtime_ns = a->modified_ns;
	if (a->target != NULL && strlen(a->target) < sizeof(t->target))
		strcpy(t->target, a->target);
}

static int
look_with_attributes(struct cp *c, const char *path, struct cp_there *t,
    struct execsrv_error *e)
{
	struct execsrv_fs_look		 in = { .path = path };
	struct execsrv_attributes	*a;

	if ((a = execsrv_fs_attributes_wait(c->x, &in, ASK_MS, e)) == NULL)
		return -1;
	cp_there_take(t, a);
	free(a);
	return 0;
}

/* Read "MODE ATIME MTIME" of the target, and the target. */
static void
ask_stat(struct cp *c, const char *path, struct cp_there *t)
{
	struct cp_said	 s;
	long long	 atime, mtime;
	unsigned	 mode;
	char		*line;

	if (cp_there_run(c, &s, ASK_MS, "stat -Lc '%a %X %Y' -- \"$1\" || "
	    "echo; if [ -L \"$1\" ]; then readlink -- \"$1\"; fi", path, "",
	    "") != 0 || (line = strchr(s.text, '\n')) == NULL)
		return;
	if (sscanf(s.text, "%o %lld %lld", &mode, &atime, &mtime) == 3) {
		t->has_mode = true;
		t->mode = mode & MODE;
		t->atime_ns = atime * NS;
		t->mtime_ns = mtime * NS;
	}
	if (s.len > 0 && s.text[s.len - 1] == '\n')
		s.text[s.len - 1] = '\0';
	if (line < s.text + s.len - 1 && strlen(line + 1) <
	    sizeof(t->target)) {
		strcpy(t->target, line + 1);
		t->is_link = true;
	}
}

int
cp_look(struct cp *c, const char *path, struct cp_there *t,
    struct execsrv_error *e)
{
	struct execsrv_fs_path		 in = { .path = path };
	struct execsrv_metadata		*m;

	memset(t, 0, sizeof(*t));
	if (c->has_attributes)
		return look_with_attributes(c, path, t, e);
	if ((m = execsrv_fs_metadata_wait(c->x, &in, ASK_MS, e)) != NULL) {
		t->is_folder = m->is_directory;
		t->is_file = m->is_file;
		t->is_link = m->is_link;
		t->size = m->size;
	}
	ask_stat(c, path, t);
	/* A dangling link exists, too. */
	if (m == NULL && !t->is_link)
		return -1;
	free(m);
	return 0;
}

/* --- what is made --- */

int
cp_make_folder(struct cp *c, const char *path, mode_t mode, bool *is_new_out,
    struct execsrv_error *e)
{
	struct execsrv_fs_create	 in = { .path = path,
					    .only_last = true };

	if (c->has_attributes)
		in.mode = mode;
	*is_new_out = execsrv_fs_create_directory_wait(c->x, &in, ASK_MS,
	    e) == 0;
	if (*is_new_out && !c->has_attributes && cp_set(c, path,
	    mode & ~c->mask, NULL, e) == -1 && (mode & OPEN_DIR) != OPEN_DIR) {
		cp_remove(c, path);
		return -1;
	}
	if (*is_new_out)
		return 0;
	in.only_last = false;
	return execsrv_fs_create_directory_wait(c->x, &in, ASK_MS, e);
}

int
cp_name_beside(struct cp *c, const char *path, char out[PATH_MAX],
    struct execsrv_error *e)
{
	char		 folder[PATH_MAX], name[48];
	uint64_t	 random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
		snprintf(e->text, sizeof(e->text), "no random numbers");
		return -1;
	}
	snprintf(name, sizeof(name), ".execsrv-%016llx.tmp",
	    (unsigned long long)random);
	cp_folder_of(path, folder);
	return cp_join(c, out, folder, name);
}

int
cp_make_link(struct cp *c, const char *path, const char *target,
    struct execsrv_error *e)
{
	struct execsrv_fs_link	 in = { .path = path, .target = target };
	char			 aside[PATH_MAX];
	int			 r;

	if (!c->has_attributes)
		return order(c, "a symbolic link", "[ ! -d \"$2\" ] || "
		    "[ -L \"$2\" ] || exit 1; rm -f -- \"$2\"; "
		    "ln -s -- \"$1\" \"$2\"", target, path, "", e);
	if (execsrv_fs_create_link_wait(c->x, &in, ASK_MS, e) == 0)
		return 0;
	/* Something exists: remove it after the new one has taken its place. */
	if (cp_name_beside(c, path, aside, e) == -1)
		return -1;
	in.path = aside;
	r = execsrv_fs_create_link_wait(c->x, &in, ASK_MS, e);
	if (r == 0 && (r = cp_rename(c, aside, path, e)) == -1)
		cp_remove(c, aside);
	return r;
}

mode_t
cp_mode_of(const struct stat *st)
{
	return st->st_mode & (S_IFMT | MODE);
}

/* Times before 1970 cannot be set, which is no error. */
static uint64_t
ns_of(const struct timespec *t)
{
	return t->tv_sec < 0 ? 0 : (uint64_t)t->tv_sec * NS +
	    (uint64_t)t->tv_nsec;
}

void
cp_set_of(struct execsrv_fs_set *in, const char *path, mode_t mode,
    const struct stat *st)
{
	memset(in, 0, sizeof(*in));
	in->path = path;
	in->mode = mode;
	if (st != NULL) {
		in->accessed_ns = ns_of(&st->st_atim);
		in->modified_ns = ns_of(&st->st_mtim);
	}
}

int
cp_set(struct cp *c, const char *path, mode_t mode, const struct stat *st,
    struct execsrv_error *e)
{
	struct execsrv_fs_set	 in;
	char			 digits[16], atime[40] = "", mtime[40] = "";

	if (c->has_attributes) {
		cp_set_of(&in, path, mode, st);
		return execsrv_fs_set_attributes_wait(c->x, &in, ASK_MS, e);
	}
	snprintf(digits, sizeof(digits), "%o", (unsigned)(mode & MODE));
	if (order(c, "its mode", "chmod \"$2\" -- \"$1\"", path, digits, "",
	    e) == -1)
		return -1;
	if (st == NULL)
		return 0;
	snprintf(atime, sizeof(atime), "@%lld.%09ld",
	    (long long)st->st_atim.tv_sec, st->st_atim.tv_nsec);
	snprintf(mtime, sizeof(mtime), "@%lld.%09ld",
	    (long long)st->st_mtim.tv_sec, st->st_mtim.tv_nsec);
	return order(c, "its times", "touch -ad \"$2\" -- \"$1\" && "
	    "touch -md \"$3\" -- \"$1\"", path, atime, mtime, e);
}

int
cp_make_private(struct cp *c, const char *path, struct execsrv_error *e)
{
	struct execsrv_fs_write	 in = { .path = path, .mode = 0600 };

	if (c->has_attributes)
		return execsrv_fs_write_file_wait(c->x, &in, ASK_MS, e);
	return order(c, "a private file", "umask 077; set -C; : >\"$1\"",
	    path, "", "", e);
}

int
cp_rename(struct cp *c, const char *from, const char *to,
    struct execsrv_error *e)
{
	struct execsrv_fs_rename	 in = { .from = from, .to = to };

	if (c->has_attributes)
		return execsrv_fs_rename_wait(c->x, &in, ASK_MS, e);
	return order(c, "its name", "[ ! -d \"$2\" ] && "
	    "mv -f -- \"$1\" \"$2\"", from, to, "", e);
}

void
cp_remove(struct cp *c, const char *path)
{
	struct execsrv_fs_remove	 in = { .path = path };
	struct execsrv_error		 e;

	/* Only a temporary file stays behind. */
	(void)execsrv_fs_remove_wait(c->x, &in, ASK_MS, &e);
}
