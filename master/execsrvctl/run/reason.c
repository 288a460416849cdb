#include "master/execsrvctl/run/reason.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void
reason_cut(char *text)
{
	static const char	 mark[] = " (os error ";
	char			*at = strstr(text, mark), *end;

	for (; at != NULL; at = strstr(end, mark)) {
		end = at + strlen(mark);
		end += strspn(end, "0123456789");
		if (strcmp(end, ")") == 0) {
			*at = '\0';
			return;
		}
	}
}

static int
status_of(const struct execsrv_error *e)
{
	/* An error about the folder, not the command. */
	if (strstr(e->text, "working directory:") != NULL)
		return EXIT_RUN;
	switch (e->os_error) {
	case ENOENT:
	case ENOTDIR:
		return EXIT_NOT_FOUND;
	case EACCES:
	case ENOEXEC:
	case EISDIR:
	case EPERM:
		return EXIT_NOT_EXECUTABLE;
	default:
		return EXIT_RUN;
	}
}

int
reason_of_start(const char *name, const struct execsrv_error *e, char *out,
    size_t size)
{
	static const char *const	 before[] = {
		"failed to start process: ", "program: "
	};
	const char			*text = e->text;
	int				 status = status_of(e);
	size_t				 i, n;

	for (i = 0; i < sizeof(before) / sizeof(before[0]); i++) {
		n = strlen(before[i]);
		if (strncmp(text, before[i], n) == 0)
			text += n;
	}
	if (status != EXIT_NOT_FOUND || strchr(name, '/') != NULL)
		snprintf(out, size, "%.200s: %.700s", name, text);
	else
		snprintf(out, size, "%.200s: command not found%s", name,
		    strpbrk(name, " ;|&") == NULL ? "" :
		    "; a line of a shell is run by: sh -c '...'");
	reason_cut(out);
	return status;
}
