/* Questions to a hub, over its control socket: a line of JSON each. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json/json.h"
#include "master/execsrvctl/control.h"

/*
 * A row of the answer, or 0, the last line, {"ok":true,...}.  0, or -1 with
 * errno: give up.
 */
typedef int hubask_row_fn(void *arg, const struct json *j, uint32_t row);

/* "cmd", and texts that are members besides it, ended by NULL: name, value. */
struct hubask_request {
	const char		*dir;		/* NULL: the default one */
	const char *const	*member;
};

/* Ask.  Return an exit status, with the reason in e. */
int	 hubask(const struct hubask_request *q, hubask_row_fn *fn, void *arg,
	    struct control_error *e) MUST_CHECK;

/* Copy a member that is text, a number or a flag; "" without one. */
void	 hubask_text(const struct json *j, uint32_t obj, const char *key,
	    char *out, size_t size);
