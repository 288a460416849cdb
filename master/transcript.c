#include "master/transcript.h"

#include <sys/stat.h>

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
#include "master/route.h"

/* Others may go through, and have to know where to. */
#define TOP_MODE	0711
#define FOLDER_MODE	0755

#define FOLDER_FLAGS	(O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

/* --- settings --- */

static bool
is_wanted(const struct conf *c)
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
transcript_check(const struct conf *c, struct conf_error *e)
{
	if (c->transcript_dir[0] == '/' || (!is_wanted(c) &&
	    c->transcript_dir[0] == '\0'))
		return 0;
	conf_fail(e, "TranscriptDir %.200s: the absolute path of a folder is "
	    "needed", c->transcript_dir);
	return conf_at(e, conf_where(c, c->transcript_dir[0] == '\0' ?
	    CONF_ROW_transcript : CONF_ROW_transcript_dir, 0));
}

/* --- folders --- */

/* Who else can write there could have us write elsewhere. */
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
transcript_prepare(const struct conf *c, struct conf_error *e)
{
	int	 fd;

	if (transcript_check(c, e) == -1)
		return -1;
	if (!is_wanted(c))
		return 0;
	if ((mkdir(c->transcript_dir, TOP_MODE) == -1 && errno != EEXIST) ||
	    (fd = open_top(c->transcript_dir)) == -1)
		return conf_fail(e, "TranscriptDir %.200s: %s",
		    c->transcript_dir, strerror(errno));
	fd_close(&fd);
	return 0;
}

/* A folder in another (*fd, which is closed), made if it is not there. */
static int
enter(int *fd, const char *name)
{
	int	 next = -1;

	if (mkdirat(*fd, name, FOLDER_MODE) == 0 || errno == EEXIST)
		next = openat(*fd, name, FOLDER_FLAGS);
	fd_close(fd);
	*fd = next;
	return check_folder(fd);
}

/* When, and which session of which daemon: nobody else has that name. */
static int
name_folder(struct route *r)
{
	struct timespec	 ts;
	struct tm	 tm;
	char		 text[32];

	clock_gettime(CLOCK_REALTIME, &ts);
	if (gmtime_r(&ts.tv_sec, &tm) == NULL)
		return -1;
	strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &tm);
	if (asprintf(&r->transcript, "%s/%lu/%s.%03ldZ-%ld-%u",
	    r->master->conf.transcript_dir, (unsigned long)r->uid, text,
	    ts.tv_nsec / 1000000, (long)getpid(), r->number) != -1)
		return 0;
	r->transcript = NULL;
	return -1;
}

/* The folder of a session, from its path. */
static int
open_folder(const struct route *r)
{
	char	*copy, *user, *session;
	int	 fd = -1;

	if ((copy = strdup(r->transcript)) == NULL)
		return -1;
	session = strrchr(copy, '/');
	*session++ = '\0';
	user = strrchr(copy, '/');
	*user++ = '\0';
	if ((fd = open_top(copy)) != -1 && enter(&fd, user) == 0)
		(void)!enter(&fd, session);
	free(copy);
	return fd;
}

int
transcript_open(struct route *r, bool is_terminal)
{
	char	 name[32];
	int	 dir, fd;

	if (r->transcripts >= LIMIT_TRANSCRIPTS) {
		errno = EMFILE;
		return -1;
	}
	if ((r->transcript == NULL && name_folder(r) == -1) ||
	    (dir = open_folder(r)) == -1)
		return -1;
	snprintf(name, sizeof(name), "%u.%s", ++r->transcripts,
	    is_terminal ? "cast" : "jsonl");
	fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_EXCL |
	    O_NOFOLLOW | O_CLOEXEC, 0400);
	if (fd != -1 && r->uid != geteuid() && fchown(fd, r->uid,
	    (gid_t)-1) == -1) {
		unlinkat(dir, name, 0);
		fd_close(&fd);
	}
	fd_close(&dir);
	return fd;
}
