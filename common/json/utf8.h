/* UTF-8 (RFC 3629): no overlong forms, surrogates, or above U+10FFFF.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Complete, valid characters only? */
bool	 utf8_is_valid(const void *data, size_t len);

/* Return the length, 0 to 3, of an incomplete character at the end. */
size_t	 utf8_rest(const void *data, size_t len);
