/* Output that workers retain of processes, or that is in transcripts. */
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

int	 logs_show(const struct logs_look *look);
