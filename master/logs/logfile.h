/*
 * LogTo with a file.  Only the master has it open: who writes to a file may
 * also cut it off, and workers run as users.  The others' standard error is a
 * pipe, from which the kernel moves lines to the file (splice(2)): the master
 * reads none of them.
 */
#ifndef MASTER_LOGS_LOGFILE_H
#define MASTER_LOGS_LOGFILE_H

#include <event2/event.h>

struct logfile;

/*
 * Open a regular file at an absolute path, made with mode 0640 if it is not
 * there.  NULL after a line in the log.
 */
struct logfile	*logfile_new(const char *path);

/* What is in the pipe is written; what comes later is lost. */
void		 logfile_free(struct logfile **lp);

/* Lines of others are moved from here on.  0, or -1 with errno. */
int		 logfile_start(struct logfile *l, struct event_base *base)
		    __attribute__((warn_unused_result));

/* Our own lines go there as well. */
void		 logfile_use(struct logfile *l);

/* Standard error for processes that are started.  l keeps it. */
int		 logfile_pipe(const struct logfile *l);

/* The path may be another file now.  0, or -1: the old one stays. */
int		 logfile_reopen(struct logfile *l);

#endif
