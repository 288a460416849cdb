/* Standard input in remote mode: credentials, a line each, and its end. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/ev.h"
#include "master/remote/cred.h"

struct remote_stdin_events {
	/* A line without its end, in locked memory, valid for this call. */
	void	(*on_line)(void *arg, char *line, size_t len);

	void	(*on_end)(void *arg);
};

struct remote_stdin {
	const struct remote_stdin_events *events;
	void		*arg;
	struct cred	 cred;		/* until an uplink takes it */
	struct io	 ev;
	struct timer	 turn;		/* reads a file, which has no events */
	char		*line;		/* locked memory; NULL: not watched */
	size_t		 len;
	bool		 is_file;
};

/* Watch standard input.  0, or -1 with errno. */
int	 remote_stdin_watch(struct remote_stdin *in, struct event_base *base,
	    const struct remote_stdin_events *events, void *arg) MUST_CHECK;

/* Stop; wipe the credential. */
void	 remote_stdin_fini(struct remote_stdin *in);
