/*
 * The line that execsrv-reach is told: what comes of it are texts of the line,
 * or nothing.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/reach/reach_target.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_text(const char *line, size_t size, const char *text)
{
	if (text == NULL)
		return;
	MUST(text > line && text < line + size);
	MUST(text[0] != '\0' && memchr(text, '\0',
	    (size_t)(line + size - text)) != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reach_target	 g;
	char		*line = malloc(size > 0 ? size : 1);

	MUST(line != NULL);
	memcpy(line, data, size);
	if (reach_target_read(&g, line, size) == 0) {
		MUST(size <= REACH_TARGET_MAX && g.url != NULL);
		MUST(g.connect_ms > 0 && g.connect_ms <= INT_MAX);
		MUST(g.silence_ms > 0 && g.silence_ms <= INT_MAX);
		check_text(line, size, g.url);
		check_text(line, size, g.environment);
		check_text(line, size, g.token);
		check_text(line, size, g.ca_file);
	} else {
		MUST(errno == EINVAL);
	}
	free(line);
	return 0;
}
