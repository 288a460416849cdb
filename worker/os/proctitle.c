#include "worker/os/proctitle.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
	char	*text;
	size_t	 size;
} area;

void
proctitle_init(int argc, char **argv)
{
	char	*end = argc > 0 ? argv[0] : NULL;
	int	 i;

	/* The kernel puts them one after the other. */
	for (i = 0; i < argc && argv[i] == end; i++)
		end += strlen(end) + 1;
	area.text = argc > 0 ? argv[0] : NULL;
	area.size = area.text == NULL ? 0 : (size_t)(end - area.text);
}

void
proctitle_set(const char *fmt, ...)
{
	va_list	 ap;

	if (area.size == 0)
		return;
	va_start(ap, fmt);
	/* The last byte stays 0, or the kernel would look behind it. */
	memset(area.text, 0, area.size);
	vsnprintf(area.text, area.size, fmt, ap);
	va_end(ap);
}

void
proctitle_session(uid_t uid, unsigned number)
{
	const char	*user = getenv("LOGNAME");

	if (user != NULL && user[0] != '\0')
		proctitle_set("execsrv-worker: %.64s session %u", user,
		    number);
	else
		proctitle_set("execsrv-worker: uid %lu session %u",
		    (unsigned long)uid, number);
}
