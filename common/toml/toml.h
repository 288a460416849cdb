/*
 * A strict reader of TOML 1.0, and of what 1.1 adds: line breaks and a last
 * comma in inline tables, \e and \xHH, times without seconds.  It finds what a
 * document has, and writes selected parts of it as a new document of TOML 1.0.
 * Pure.
 *
 * Texts are checked to be UTF-8.  Numbers and times are checked and kept as
 * they are written: nothing here needs their values.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "common/span.h"

#define TOML_DEPTH_MAX	80	/* keys to a value, as the reference */
#define TOML_KEY_MAX	1024	/* bytes */
#define TOML_VALUES_MAX	100000	/* with tables */

struct toml;
struct toml_value;

/* Where a document is wrong; line 0: not in a line of it. */
struct toml_error {
	unsigned	 line, column;	/* in bytes, from 1 */
	const char	*why;		/* static */
};

/* A document without anything; NULL with errno. */
struct toml	*toml_new(void) MUST_CHECK;
void		 toml_free(struct toml **tp);

/*
 * Parse len bytes, once.  They are changed, and must stay until toml_free().
 * 0, or -1 with the reason in e.
 */
int	 toml_parse(struct toml *t, char *text, size_t len,
	    struct toml_error *e) MUST_CHECK;

/* Return the table that has all others. */
const struct toml_value	*toml_root(const struct toml *t);

/* Return a member of a table; NULL: none, or v is no table. */
const struct toml_value	*toml_get(const struct toml *t,
			    const struct toml_value *v, struct span key);

/*
 * Return the first member of a table, and the next one, NULL: there is none;
 * and the key of a member.
 */
const struct toml_value	*toml_first(const struct toml_value *v);
const struct toml_value	*toml_next(const struct toml_value *v);
struct span		 toml_key(const struct toml_value *v);

bool		 toml_is_table(const struct toml_value *v);

/* Return a string's bytes; at NULL: it is none. */
struct span	 toml_string(const struct toml_value *v);

/* Return 1 or 0 for a boolean, -1 for anything else. */
int		 toml_bool(const struct toml_value *v);

/*
 * Select what is at the end of a path of n keys.  If the path ends at a value
 * that has no members, that value is selected; if a table lacks the next key,
 * the table without its members, unless it is the root.
 */
void	 toml_select(struct toml *t, const struct span *path, size_t n);

/*
 * Append what was selected, each value within its tables.  0, or -1 with errno
 * of the buffer.
 */
int	 toml_put(const struct toml *t, struct buf *out) MUST_CHECK;
