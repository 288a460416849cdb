#include "common/linux/crowd.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/fd.h"

#define TEXT_MAX	128

unsigned
crowd_parse(const char *text, unsigned processors)
{
	unsigned	 want;

	if (processors == 0 || sscanf(text, "%*s %*s %*s %9u/", &want) != 1 ||
	    want < processors)
		return 1;
	return want / processors;
}

unsigned
crowd_now(void)
{
	long	 n = sysconf(_SC_NPROCESSORS_ONLN);
	char	 text[TEXT_MAX];

	if (n < 1 || fd_read_file(AT_FDCWD, "/proc/loadavg", text,
	    sizeof(text)) == -1)
		return 1;
	return crowd_parse(text, (unsigned)n);
}
