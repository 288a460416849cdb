/* Events of the audit log: from files, or as the daemon tells them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <time.h>

/* Texts may be NULL: all. */
struct events_look {
	const char	*user;		/* of the session, or who acts */
	const char	*session;	/* its number */
	const char	*event;		/* name */
	time_t		 since;		/* or 0 */
	size_t		 last;		/* of each file; 0: all */
	bool		 is_json;
	bool		 follows;	/* the last file */
};

/* Print a line, which is changed, if it is wanted. */
void	 events_print(const struct events_look *look, char *line);

/* Print what is wanted of files ("-": input).  An exit status. */
int	 events_files(const struct events_look *look, char *const *path,
	    size_t n);

/* Ask a daemon for its audit log.  malloc'd; or NULL, having said why. */
char	*events_path(const char *dir, int *status_out);

/* Print what happens, until the daemon ends.  An exit status. */
int	 events_watch(const struct events_look *look, const char *dir);
