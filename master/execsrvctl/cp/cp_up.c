/*
 * From here to a server.  A file there is whole or untouched: a small one is
 * one request (cp_sent.c), others are written to a temporary name first.
 */
#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/fd.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"

#define OPEN_TO_ALL	0044	/* what servers give to new files */

/* The file that is sent. */
struct up {
	struct cp		*cp;
	const char		*here, *there;
	int			 fd;
	const struct stat	*st;
	mode_t			 mode;		/* with its type: never 0 */
};

static uint64_t
size_here(const struct up *u)
{
	return S_ISREG(u->st->st_mode) ? (uint64_t)u->st->st_size : 0;
}

/* Write into what exists, if it is not a file or must stay as it is. */
static int
send_into(struct up *u, struct execsrv_error *why)
{
	struct cp_copy	 f = { .here = u->here, .there = u->there,
			    .fd = u->fd, .total = size_here(u),
			    .mode = u->mode };

	return cp_transfer(u->cp, &f, NULL, why);
}

/* Send what is not there yet, and give it its mode and name. */
static int
send_rest(struct up *u, const char *aside, const struct cp_part *p,
    const char *there, mode_t mode, struct execsrv_error *why)
{
	struct cp_copy	 f = { .here = u->here, .there = aside, .fd = u->fd,
			    .offset = p->offset, .total = size_here(u) };
	uint64_t	 bytes;

	assert(p->offset <= p->size);
	if (cp_transfer(u->cp, &f, &bytes, why) == -1)
		return -1;
	/* What is behind it is of a file that was longer. */
	if (p->offset > 0 && bytes < p->size) {
		cp_remove(u->cp, aside);
		snprintf(why->text, sizeof(why->text), "the source became "
		    "shorter meanwhile");
		return -1;
	}
	if (cp_set(u->cp, aside, mode, NULL, why) == -1)
		return -1;
	return cp_rename(u->cp, aside, there, why);
}

/*
 * Write to a temporary name and rename.  0; -1 with why; 1: no such name is
 * possible.
 */
static int
send_aside(struct up *u, const char *there, mode_t mode,
    struct execsrv_error *why)
{
	struct cp	*c = u->cp;
	struct cp_part	 p = { .offset = 0 };
	char		 aside[PATH_MAX];
	bool		 stays;
	int		 r;

	stays = c->o->go_on && cp_part_there(c, u->fd, there, aside, &p) == 0;
	if (!stays && cp_name_beside(c, there, aside, why) == -1)
		return -1;
	cp_unfinished_there(!stays);
	if (p.offset == 0 && cp_make_private(c, aside, why) == -1) {
		cp_unfinished_there(false);
		cp_heed();
		return 1;
	}
	r = send_rest(u, aside, &p, there, mode, why);
	if (r == -1 && !stays)
		cp_remove(c, aside);
	cp_unfinished_there(false);
	cp_heed();
	return r;
}

/* Return the target of a path, or that path. */
static void
follow(struct cp *c, const char *path, char out[PATH_MAX])
{
	struct execsrv_fs_path	 in = { .path = path };
	struct execsrv_path	*p;
	struct execsrv_error	 e;

	p = execsrv_fs_canonicalize_wait(c->x, &in, ASK_MS, &e);
	snprintf(out, PATH_MAX, "%s", p != NULL ? p->path : path);
	free(p);
}

/*
 * Send a file.  0, or -1 with why.  Where only content can be set, no file may
 * become readable for more people than here.
 */
static int
send_whole(struct up *u, struct execsrv_error *why)
{
	struct cp_there		 t;
	struct execsrv_error	 e;
	char			 target[PATH_MAX];
	bool			 is_there = cp_look(u->cp, u->there, &t,
				    &e) == 0;
	int			 r = 1;

	if (is_there && !t.is_file)
		return send_into(u, why);
	snprintf(target, sizeof(target), "%s", u->there);
	if (is_there && t.is_link)
		follow(u->cp, u->there, target);
	r = send_aside(u, target, is_there && t.has_mode ? S_IFREG | t.mode :
	    u->mode & ~u->cp->mask, why);
	if (r == 1 && !is_there && !u->cp->has_attributes &&
	    (u->mode & OPEN_TO_ALL) != OPEN_TO_ALL)
		return -1;
	return r == 1 ? send_into(u, why) : r;
}

/* With --continue: whether that file is there already. */
static bool
is_there_already(struct cp *c, const char *there, const struct stat *st)
{
	struct cp_there		 t;
	struct execsrv_error	 e;

	return c->o->go_on && S_ISREG(st->st_mode) && cp_look(c, there, &t,
	    &e) == 0 && t.is_file && cp_is_same(c, st, &t);
}

/* Send what u->fd has.  0, or -1 with e, whose text may be empty: reported. */
static int
send_file(struct up *u, struct execsrv_error *e)
{
	struct cp		*c = u->cp;
	const struct stat	*st = u->st;

	/* The mode of a pipe means nothing; use an owner's. */
	if (S_ISREG(st->st_mode))
		u->mode = cp_mode_of(st);
	if (send_whole(u, e) == -1)
		return -1;
	return S_ISREG(st->st_mode) && (c->o->preserve || (c->o->go_on &&
	    c->has_attributes)) ? cp_set(c, u->there, c->o->preserve ?
	    u->mode : 0, st, e) : 0;
}

static void
upload_open(struct cp *c, const char *here, const char *there,
    const struct stat *st, int fd)
{
	struct up		 u = { .cp = c, .here = here, .there = there,
				    .fd = fd, .st = st, .mode = 0666 };
	struct execsrv_error	 e = { .code = 0 };

	if (send_file(&u, &e) == -1 && e.text[0] != '\0')
		cp_complain(c, there, "%s", e.text);
}

void
cp_upload_alone(struct cp *c, const char *here, const char *there,
    const struct stat *st)
{
	int	 fd;

	cp_sent_wait(c->sent);
	if (is_there_already(c, there, st)) {
		cp_shown(c, here, (uint64_t)st->st_size,
		    (uint64_t)st->st_size);
	} else if ((fd = open(here, O_RDONLY | O_CLOEXEC)) == -1) {
		cp_complain(c, here, "%s", strerror(errno));
	} else {
		upload_open(c, here, there, st, fd);
		fd_close(&fd);
	}
}

static void
upload_file(struct cp *c, const char *here, const char *there,
    const struct stat *st)
{
	if (c->sent != NULL && S_ISREG(st->st_mode) && st->st_size <= SMALL)
		cp_send(c->sent, here, there, st);
	else
		cp_upload_alone(c, here, there, st);
}

void
cp_upload_in(struct cp *c, const char *there)
{
	struct cp_there		 t;
	struct execsrv_error	 e;
	struct stat		 st;

	if (cp_look(c, there, &t, &e) == 0 && t.is_folder)
		cp_complain(c, there, "is a directory, and \"-\" has no name "
		    "that a file in it could have");
	else if (fstat(STDIN_FILENO, &st) == -1)
		cp_complain(c, "-", "%s", strerror(errno));
	else if (S_ISDIR(st.st_mode))
		cp_complain(c, "-", "%s", strerror(EISDIR));
	else
		upload_open(c, "-", there, &st, STDIN_FILENO);
}

static void
upload_link(struct cp *c, const char *here, const char *there)
{
	struct execsrv_error	 e;
	char			 target[PATH_MAX];
	ssize_t			 len;

	if ((len = readlink(here, target, sizeof(target) - 1)) == -1) {
		cp_complain(c, here, "%s", strerror(errno));
		return;
	}
	target[len] = '\0';
	if (cp_make_link(c, there, target, &e) == -1)
		cp_complain(c, there, "%s", e.text);
}

/* --- folders --- */

static void
upload_entries(struct cp *c, const char *here, const char *there)
{
	struct dirent	*entry;
	char		 from[PATH_MAX], to[PATH_MAX];
	DIR		*d;

	assert(c->depth < DEPTH_MAX);
	if ((d = opendir(here)) == NULL) {
		cp_complain(c, here, "%s", strerror(errno));
		return;
	}
	c->depth++;
	while (errno = 0, (entry = readdir(d)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 &&
		    strcmp(entry->d_name, "..") != 0 &&
		    cp_join(c, from, here, entry->d_name) == 0 &&
		    cp_join(c, to, there, entry->d_name) == 0)
			cp_upload(c, from, to);
	if (errno != 0)
		cp_complain(c, here, "%s", strerror(errno));
	c->depth--;
	closedir(d);
}

static void
upload_folder(struct cp *c, const char *here, const char *there,
    const struct stat *st)
{
	mode_t			 mode = cp_mode_of(st);
	struct execsrv_error	 e;
	bool			 is_new, preserve = c->o->preserve;

	if (cp_is_made(c, here))
		return;
	if (cp_make_folder(c, there, mode | 0700, &is_new, &e) == -1) {
		cp_complain(c, there, "%s", e.text);
		return;
	}
	cp_made(c, there);
	upload_entries(c, here, there);
	if (!preserve && (!is_new || (mode & 0700) == 0700))
		return;
	/* After its content: a mode that may forbid writing, and times. */
	cp_sent_wait(c->sent);
	if (cp_set(c, there, preserve ? mode : mode & ~c->mask,
	    preserve ? st : NULL, &e) == -1)
		cp_complain(c, there, "%s", e.text);
}

void
cp_upload(struct cp *c, const char *here, const char *there)
{
	struct stat	 st;

	if (cp_stat(c, here, &st) == -1)
		cp_complain(c, here, "%s", strerror(errno));
	else if (S_ISLNK(st.st_mode))
		upload_link(c, here, there);
	else if (!S_ISDIR(st.st_mode)) {
		/* A pipe that was named is read; inside a folder it would
		   block. */
		if (c->depth > 0 && !S_ISREG(st.st_mode))
			cp_complain(c, here, "neither a file nor a directory");
		else
			upload_file(c, here, there, &st);
	} else if (!c->o->recursive)
		cp_complain(c, here, "is a directory (use -r)");
	else if (c->depth >= DEPTH_MAX)
		cp_complain(c, here, "too deep");
	else
		upload_folder(c, here, there, &st);
}
