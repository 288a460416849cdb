/* Questions to a hub, a line of JSON each, by control socket or websocket. */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/json/json.h"
#include "master/execsrvctl/chooser.h"
#include "master/execsrvctl/control.h"

/* Connected from the first question on. */
struct hubask {
	const struct chooser	*which;	/* dir; or url and what goes with it */
	struct server		 far;	/* https://HOST, credentials */
	int			 fd;	/* -1: not connected */
	pid_t			 pid;	/* who carries it, or 0 */
	struct buf		 in;
};

void	 hubask_init(struct hubask *h, const struct chooser *which);
void	 hubask_fini(struct hubask *h);

/* Whether it is another machine's, perhaps. */
bool	 hubask_is_far(const struct hubask *h);

/* A row, or 0: the last line, {"ok":true,...}.  0, or -1: give up; errno. */
typedef int hubask_row_fn(void *arg, const struct json *j, uint32_t row);

/* member: "cmd", names and values, NULL.  An exit status, and why in e. */
int	 hubask(struct hubask *h, const char *const *member,
	    hubask_row_fn *fn, void *arg, struct control_error *e) MUST_CHECK;

/* Copy a member that is text, a number or a flag; "" without one. */
void	 hubask_text(const struct json *j, uint32_t obj, const char *key,
	    char *out, size_t size);
