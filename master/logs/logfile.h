/* LogTo with a file, which only the master has open. */
#pragma once

#include <event2/event.h>

struct logfile;

/* A regular file at an absolute path, made (0640) if needed.  NULL: logged. */
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
