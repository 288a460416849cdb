#include "master/workers/transcript_files.h"

#include <sys/stat.h>
#include <sys/xattr.h>

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "master/workers/route.h"
#include "master/world.h"

/*
 * All is owned by the daemon, so that the user of a session cannot change it.
 * TranscriptDir can be searched but not read by others; the rest not at all.
 */
#define TOP_MODE	0711
#define FOLDER_MODE	0700
#define FILE_MODE	0400

#define FOLDER_FLAGS	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* --- settings --- */

bool
transcript_files_is_wanted(const struct conf *c)
{
	const struct conf_match	*m;
	size_t			 i, k;

	if (c->transcript != CONF_TRANSCRIPT_NONE)
		return true;
	for (i = 0; i < c->nmatch; i++) {
		m = &c->match[i];
		for (k = 0; k < m->nvalue; k++)
			if (m->value[k].row == CONF_ROW_transcript &&
			    strcasecmp(m->value[k].text, "none") != 0)
				return true;
	}
	return false;
}

int
transcript_files_check(const struct conf *c, struct conf_error *e)
{
	if (c->transcript_dir[0] == '/' || (!transcript_files_is_wanted(c) &&
	    c->transcript_dir[0] == '\0'))
		return 0;
	conf_fail(e, "TranscriptDir %.200s: expected the absolute path of a "
	    "directory", c->transcript_dir);
	return conf_at(e, conf_where(c, c->transcript_dir[0] == '\0' ?
	    CONF_ROW_transcript : CONF_ROW_transcript_dir, 0));
}

/* --- directories --- */

/* Anyone who can write to it could make us write elsewhere, by a symlink. */
static int
check_folder(int *fd)
{
	struct stat	 st;

	if (*fd == -1)
		return -1;
	if (fstat(*fd, &st) == 0 &&
	    (st.st_uid == geteuid() || st.st_uid == 0) &&
	    (st.st_mode & (S_IWGRP | S_IWOTH)) == 0)
		return 0;
	fd_close(fd);
	errno = EPERM;
	return -1;
}

static int
open_top(const char *path)
{
	int	 fd = open(path, FOLDER_FLAGS);

	return check_folder(&fd) == -1 ? -1 : fd;
}

int
transcript_files_prepare(const struct conf *c, struct conf_error *e)
{
	int	 fd;

	if (transcript_files_check(c, e) == -1)
		return -1;
	if (!transcript_files_is_wanted(c))
		return 0;
	if ((mkdir(c->transcript_dir, TOP_MODE) == -1 && errno != EEXIST) ||
	    (fd = open_top(c->transcript_dir)) == -1)
		return conf_fail(e, "TranscriptDir %.200s: %s",
		    c->transcript_dir, strerror(errno));
	fd_close(&fd);
	return 0;
}

/*
 * Let the session's user read a file of ours (acl(5)): mode for us, the same
 * without write for the user, nothing for all others.  If ACLs are not
 * supported only we can read it.
 */
static int
let_read(int fd, mode_t mode, const struct route *r)
{
	enum { USER_OBJ = 1, USER = 2, GROUP_OBJ = 4, MASK = 16, OTHER = 32 };
	uint16_t	 rights = htole16((uint16_t)(mode >> 6 & 5));
	const struct {
		uint32_t	 version;
		struct {
			uint16_t	 tag, rights;
			uint32_t	 id;
		}		 entry[5];
	}		 acl = { htole32(2), {
		{ htole16(USER_OBJ), htole16((uint16_t)(mode >> 6)), ~0U },
		{ htole16(USER), rights, htole32((uint32_t)r->uid) },
		{ htole16(GROUP_OBJ), 0, ~0U },
		{ htole16(MASK), rights, ~0U },
		{ htole16(OTHER), 0, ~0U } } };

	assert(fd != -1 && r->all != NULL);
	if (r->uid == geteuid())
		return fchmod(fd, mode);
	if (fsetxattr(fd, "system.posix_acl_access", &acl, sizeof(acl),
	    0) == 0)
		return 0;
	if (errno != EOPNOTSUPP)
		return -1;
	if (mode == FILE_MODE && r->transcripts == 1)
		log_warnx("session %u: only root can read its transcripts: "
		    "%s does not support ACLs", r->number, r->transcript);
	return fchmod(fd, mode);
}

/* Replace *fd by a subdirectory, made if needed; on error by -1. */
static int
transcript_files_enter(int *fd, const char *name, const struct route *r)
{
	int	 next = -1;

	assert(*fd != -1);
	if (mkdirat(*fd, name, FOLDER_MODE) == 0 || errno == EEXIST)
		next = openat(*fd, name, FOLDER_FLAGS);
	fd_close(fd);
	*fd = next;
	if (check_folder(fd) == -1)
		return -1;
	if (let_read(*fd, FOLDER_MODE, r) == -1)
		fd_close(fd);
	return *fd == -1 ? -1 : 0;
}

/* A unique name: the time, our pid, the number of the session. */
static int
name_folder(struct route *r)
{
	struct timespec	 ts;
	struct tm	 tm;
	char		 text[32];

	assert(r->transcript == NULL);
	clock_gettime(CLOCK_REALTIME, &ts);
	if (gmtime_r(&ts.tv_sec, &tm) == NULL)
		return -1;
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	if (asprintf(&r->transcript, "%s/%lu/%s.%03ldZ-%ld-%u",
	    r->all->world->conf.transcript_dir, (unsigned long)r->uid, text,
	    ts.tv_nsec / 1000000, (long)getpid(), r->number) != -1)
		return 0;
	r->transcript = NULL;
	return -1;
}

/* Open the directory of a session, by its path. */
static int
transcript_files_open_folder(const struct route *r)
{
	char	*copy, *user, *session;
	int	 fd = -1;

	if ((copy = strdup(r->transcript)) == NULL)
		return -1;
	session = strrchr(copy, '/');
	assert(session != NULL && session != copy);
	*session++ = '\0';
	user = strrchr(copy, '/');
	*user++ = '\0';
	if ((fd = open_top(copy)) != -1 && transcript_files_enter(&fd, user,
	    r) == 0)
		(void)!transcript_files_enter(&fd, session, r);
	free(copy);
	return fd;
}

int
transcript_files_open(struct route *r, bool is_terminal)
{
	char	 name[32];
	int	 dir, fd;

	if (r->transcripts >= LIMIT_TRANSCRIPTS) {
		errno = EMFILE;
		return -1;
	}
	if ((r->transcript == NULL && name_folder(r) == -1) ||
	    (dir = transcript_files_open_folder(r)) == -1)
		return -1;
	snprintf(name, sizeof(name), "%u.%s", ++r->transcripts,
	    is_terminal ? "cast" : "jsonl");
	fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
	if (fd != -1 && let_read(fd, FILE_MODE, r) == -1) {
		unlinkat(dir, name, 0);
		fd_close(&fd);
	}
	fd_close(&dir);
	return fd;
}
