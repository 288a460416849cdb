/*
 * UTF-8 of RFC 3629: no overlong forms, no surrogates, nothing above
 * U+10FFFF.  Pure.
 */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Whether all of the len bytes are whole, valid characters. */
bool	 utf8_is_valid(const void *data, size_t len);

#endif
