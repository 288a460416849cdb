/* Patterns with * (any run) and ? (one character).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Match a whole text, ignoring ASCII case, in at most plen * len steps. */
bool	 wildcard_matches(const char *pattern, size_t plen, const char *text,
	    size_t len);
