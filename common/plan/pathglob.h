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

/* Whether brackets are closed within their name and no \ is last. */
bool	 pathglob_is_valid(const char *pattern);

/* Whether a name of a pattern has a wildcard. */
bool	 pathglob_is_wild(const char *name, size_t len);

/* Match an absolute, normalized path; an invalid pattern matches nothing. */
bool	 pathglob_match(const char *pattern, const char *path);

/* Whether a pattern could match something below a folder. */
bool	 pathglob_may_match_below(const char *pattern, const char *folder);

/*
 * Write the folder above the first wildcard to path[size], unescaped; the whole
 * path if there is none.  strlen(pattern) + 1 bytes suffice.  0, or -1 with
 * errno ENAMETOOLONG.
 */
int	 pathglob_base(const char *pattern, char *path, size_t size) MUST_CHECK;
