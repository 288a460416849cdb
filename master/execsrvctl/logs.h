/*
 * Output that is kept: what workers retain of processes, and transcripts, which
 * are there also when their session has ended.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

struct execsrv;

struct logs_look {
	const char	*dir;		/* as of control_request */
	struct execsrv	*x;
	const char	*session;	/* number, id, or a folder */
	const char	*process;	/* or NULL: all */
	time_t		 since;		/* or 0 */
	size_t		 last;		/* lines; 0: all */
	bool		 is_json, follows;
};

/* Print it.  An exit status. */
int	 logs_show(const struct logs_look *look);
