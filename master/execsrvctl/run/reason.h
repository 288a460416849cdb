/* What servers say of errors, for people.  Pure. */
#pragma once

#include <stddef.h>

#include "common/client/execsrv.h"

/* As env(1) and docker(1): statuses that are not the command's. */
enum {
	EXIT_RUN = 125,			/* run itself failed */
	EXIT_NOT_EXECUTABLE = 126,
	EXIT_NOT_FOUND = 127
};

/* Cut " (os error 2)" off a text, which is there for programs. */
void	 reason_cut(char *text);

/* Write why a command did not start; the exit status that tells it. */
int	 reason_of_start(const char *name, const struct execsrv_error *e,
	    char *out, size_t size);
