#include "master/execsrvctl/waits.h"

#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/execsrvctl/control.h"

#define LOOK_MS		200	/* between questions */

int
waits_ready(const char *dir, bool is_patient)
{
	struct control_error	 e;
	struct table		*t;
	const char		*ready;
	int			 status;

	for (;;) {
		status = control_ask_simply(dir, "status", &t, &e);
		if (status == EXIT_OK) {
			ready = table_cell(t, "ready");
			if (ready == NULL || strcmp(ready, "yes") != 0)
				status = EXIT_OTHER;
			snprintf(e.text, sizeof(e.text), "%s", status ==
			    EXIT_OK ? "" : "the server is not ready");
		}
		table_free(&t);
		if (status == EXIT_OK || !is_patient)
			break;
		poll(NULL, 0, LOOK_MS);
	}
	control_complain(&e);
	return status;
}

/*
 * Ask for a session or a process.  1: it is still there; 0: it has ended, with
 * *status_out; -1: all is said.  What was there and is gone has ended.
 */
static int
wait_look(const char *dir, struct execsrv *x, const char *session,
    const char *process, bool was_there, int *status_out)
{
	char			*arg[] = { (char *)(uintptr_t)session };
	struct control_request	 q = { .dir = dir, .x = x,
				    .command = "ps" };
	struct control_error	 e;
	struct table		*t;
	const char		*state, *code;
	int			 r;

	q.arg = arg;
	q.narg = 1;
	*status_out = control_ask(&q, &t, NULL, &e);
	if (*status_out == EXIT_OTHER && was_there) {
		table_free(&t);
		*status_out = process != NULL ? EXIT_OTHER : EXIT_OK;
		return 0;
	}
	if (*status_out != EXIT_OK) {
		control_complain(&e);
		table_free(&t);
		return -1;
	}
	r = 1;
	if (process != NULL && (table_keep(t, "process", process) == -1 ||
	    table_rows(t) == 0)) {
		fprintf(stderr, "execsrvctl: no such process: %s\n", process);
		*status_out = EXIT_OTHER;
		r = -1;
	} else if (process != NULL &&
	    (state = table_cell(t, "state")) != NULL &&
	    strcmp(state, "running") != 0 && strcmp(state, "stopped") != 0) {
		code = table_cell(t, "exit");
		*status_out = code != NULL ? atoi(code) & 0xff : EXIT_OTHER;
		r = 0;
	}
	table_free(&t);
	return r;
}

int
waits_end(const char *dir, struct execsrv *x, const char *session,
    const char *process)
{
	bool	 was_there = false;
	int	 r, status;

	while ((r = wait_look(dir, x, session, process, was_there,
	    &status)) == 1) {
		was_there = true;
		poll(NULL, 0, LOOK_MS);
	}
	return status;
}
