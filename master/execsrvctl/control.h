/* Questions to the daemon, over its control socket. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "master/execsrvctl/table.h"

/*
 * Exit statuses; 0, 3 and 4 as the LSB defines for "status", 78 as execsrvd -t
 * (EX_CONFIG of sysexits.h(3)).
 */
enum {
	EXIT_OK = 0,
	EXIT_OTHER = 1,
	EXIT_USAGE = 2,
	EXIT_NO_DAEMON = 3,
	EXIT_UNKNOWN = 4,
	EXIT_CONFIG = 78
};

struct execsrv;
struct execsrv_error;

struct control_error {
	char	 text[4096];		/* lines; empty: none */
	char	 closed[108];		/* folder of a socket that the caller
					   may not open; or empty */
};

/* dir NULL: $EXECSRV_RUNTIME_DIR, the caller's own daemon, the system's. */
struct control_request {
	const char	*dir;
	struct execsrv	*x;		/* a server to ask instead; or NULL */
	const char	*command;
	char		**arg;
	size_t		 narg;
	bool		 option;
	/* After the first message of the daemon there is no timeout. */
	bool		 is_patient;
	/* Takes rows as they come, which are then in no table; or NULL. */
	void		(*on_row)(void *arg, char *const *cell, size_t n);
	void		*arg_of_row;
};

/*
 * Ask.  Return an exit status of the above, or one that the daemon chose, with
 * the reason in e.  *t_out: whole with EXIT_OK, else a part or NULL.
 * *stream_out: a descriptor that came along, or -1, and CONTROL_FAR if x has it
 * (control_far_read()); stream_out NULL: none is wanted.  Times out 2 s after
 * the daemon's last message, unless is_patient.
 */
#define CONTROL_FAR	(-2)

int	 control_ask(const struct control_request *q, struct table **t_out,
	    int *stream_out, struct control_error *e);

/* Print the reason, "execsrvctl: " before each of its lines. */
void	 control_complain(const struct control_error *e);

/* As control_ask(), for a command without arguments. */
int	 control_ask_simply(const char *dir, const char *command,
	    struct table **t_out, struct control_error *e);

/*
 * As control_ask(), which calls it, but to a server as its client;
 * *has_output_out: see control_far_read().
 */
int	 control_far_ask(const struct control_request *q, struct table **t_out,
	    bool *has_output_out, struct control_error *e);

struct control_piece {
	uint64_t	 seq;
	const char	*stream;	/* "stdout", "stderr", "pty" */
	void		*data;		/* writable */
	size_t		 len;
};

typedef int control_piece_fn(void *arg, const struct control_piece *p);

/*
 * Wait for output, and call fn for each piece.  1: there may be more; 0: the
 * end; -1: the reason, for which to ask again, is in e, or fn returned -1
 * (empty).
 */
int	 control_far_read(struct execsrv *x, control_piece_fn *fn, void *arg,
	    struct execsrv_error *e);
