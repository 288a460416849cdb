/* What tests of the JSON reader and writer share, fuzz targets too. */
#pragma once

#include "common/json/json.h"
#include "common/json/json_out.h"

/* A literal with its length: it may hold NUL. */
#define T(text)		text, sizeof(text) - 1

/*
 * A copy for the reader to write into, malloc'd, with no byte behind it: a
 * read too far is seen by the sanitizer.  Aborts without memory.
 */
char	*json_copy(const char *text, size_t len);

/* Write token i of a tape, and all that is in it. */
void	 json_write(struct json_out *o, const struct json *j, uint32_t i);
