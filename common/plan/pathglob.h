/*
 * Patterns for absolute paths:
 *	*	any characters of a name, also none, also a leading dot
 *	?	one character
 *	[a-z]	one of these characters; [!a-z] and [^a-z] any other
 *	**	as a whole name: any number of folders, also none; at the end
 *		everything below
 *	\c	the character c
 * A character is UTF-8 or an invalid byte.  Wildcards match no slash.  {a,b} is
 * expanded by plan_make().  Takes at most the product of both lengths.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Brackets are closed within their name, no \ is last. */
bool	 pathglob_is_valid(const char *pattern);

/* A name of a pattern. */
bool	 pathglob_is_wild(const char *name, size_t len);

/* Absolute, normalized; an invalid pattern matches nothing. */
bool	 pathglob_match(const char *pattern, const char *path);

/* Anything below a folder. */
bool	 pathglob_may_match_below(const char *pattern, const char *folder);

/*
 * The folder above the first wildcard, or the whole path, unescaped; at most
 * strlen(pattern) + 1 bytes.  0, or -1 with errno ENAMETOOLONG.
 */
int	 pathglob_base(const char *pattern, char *path, size_t size) MUST_CHECK;
