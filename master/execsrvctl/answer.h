/* How the answer to a command is shown: rows and columns, and in which form. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/attributes.h"
#include "master/execsrvctl/table.h"

/* NULL: the option is not given.  Texts are the caller's. */
struct answer_look {
	const char	*command;	/* that was asked */
	bool		 is_table;	/* else one row */
	bool		 json;
	bool		 no_header;
	const char	*user, *state, *sort, *columns;
};

/* Print it; return a status, having said on standard error what is wrong. */
int		 answer_print(struct table *t, const struct answer_look *look)
		    MUST_CHECK;

/* A user's name as the number that the daemon knows; NULL, having said why. */
const char	*answer_user(const char *name, char *out, size_t size);
