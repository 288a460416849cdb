/*
 * Patterns for absolute paths, with the wildcards that the reference takes:
 *	*	any characters of one name, also none, also a leading dot
 *	?	one character
 *	[a-z]	one of these characters; [!a-z] and [^a-z] any other
 *	**	as a whole name: any number of folders, also none; at the end
 *		whatever is below
 *	\c	the character c itself
 * A character is one of UTF-8, or a byte that is none.  No slash is ever
 * matched by a wildcard.  {a,b} is not known here: plan_make() makes a pattern
 * of each alternative.  Time is at most the product of both lengths.  Pure.
 */
#ifndef COMMON_PLAN_PATHGLOB_H
#define COMMON_PLAN_PATHGLOB_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether it is well formed: brackets are closed within their name, nothing
 * ends in a lone backslash.
 */
bool	 pathglob_is_valid(const char *pattern);

/* Whether there is a wildcard in the name of that length, or in a pattern. */
bool	 pathglob_is_wild(const char *name, size_t len);

/*
 * Whether a pattern matches a path, both absolute, tidy and without a slash at
 * the end.  What is not well formed matches nothing.
 */
bool	 pathglob_match(const char *pattern, const char *path);

/* Whether it could match something below a folder, which is such a path. */
bool	 pathglob_may_match_below(const char *pattern, const char *folder);

/*
 * The folder below which it looks for what matches: the names in front of the
 * first with a wildcard, all of them if none has one.  Unescaped into
 * path[size]; strlen(pattern) + 1 always suffices.  0, or -1 with errno
 * ENAMETOOLONG.
 */
int	 pathglob_base(const char *pattern, char *path, size_t size)
	    __attribute__((warn_unused_result));

#endif
