/*
 * UTF-8 of RFC 3629: no overlong forms, no surrogates, nothing above
 * U+10FFFF.  Pure.
 */
#ifndef COMMON_JSON_UTF8_H
#define COMMON_JSON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all of the len bytes are whole, valid characters. */
bool	 utf8_is_valid(const void *data, size_t len);

/*
 * How many bytes at the end are the beginning of a character that what follows
 * may complete: 0 to 3.
 */
size_t	 utf8_rest(const void *data, size_t len);

#endif
