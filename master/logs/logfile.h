/*
 * LogTo with a file.  Only the master has it open: a process that can write to
 * a file can truncate it, and workers run as users.  They have a pipe as
 * standard error, which is spliced to the file (splice(2)): the master reads no
 * line of theirs.
 */
#pragma once

#include <event2/event.h>

struct logfile;

/*
 * Open or create (mode 0640) a regular file at an absolute path.  NULL after a
 * line in the log.
 */
struct logfile	*logfile_new(const char *path);

/* Write what is in the pipe; lines that follow are lost. */
void		 logfile_free(struct logfile **lp);

/* Begin to splice.  0, or -1 with errno. */
int		 logfile_start(struct logfile *l, struct event_base *base)
		    MUST_CHECK;

/* Send the master's own lines there, too. */
void		 logfile_use(struct logfile *l);

/* Standard error of child processes; stays l's. */
int		 logfile_pipe(const struct logfile *l);

/* Open the path again, after rotation.  0, or -1: the old file stays. */
int		 logfile_reopen(struct logfile *l);
