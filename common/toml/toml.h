/*
 * A strict reader of TOML 1.0 and what 1.1 adds (line breaks and a last comma
 * in inline tables, \e and \xHH, times without seconds), which can write
 * selected parts as TOML 1.0.  Pure.
 *
 * Texts are UTF-8.  Numbers and times are checked and kept as written.
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

/* line 0: not in a line. */
struct toml_error {
	unsigned	 line, column;	/* in bytes, from 1 */
	const char	*why;		/* static */
};

/* Empty; NULL with errno. */
struct toml	*toml_new(void) MUST_CHECK;
void		 toml_free(struct toml **tp);

/* Parse once; text is changed, and must stay until toml_free().  -1 with e. */
int	 toml_parse(struct toml *t, char *text, size_t len,
	    struct toml_error *e) MUST_CHECK;

const struct toml_value	*toml_root(const struct toml *t);

/* NULL: none, or v is no table. */
const struct toml_value	*toml_get(const struct toml *t,
			    const struct toml_value *v, struct span key);

/* First and next member, NULL: none; its key. */
const struct toml_value	*toml_first(const struct toml_value *v);
const struct toml_value	*toml_next(const struct toml_value *v);
struct span		 toml_key(const struct toml_value *v);

bool		 toml_is_table(const struct toml_value *v);

/* at NULL: no string. */
struct span	 toml_string(const struct toml_value *v);

/* -1: no boolean. */
int		 toml_bool(const struct toml_value *v);

/*
 * Select the end of a path of n keys.  If it ends early: at a value without
 * members, that value; at a table, the table without its members, unless it is
 * the root.
 */
void	 toml_select(struct toml *t, const struct span *path, size_t n);

/* Append what was selected, within its tables.  -1: errno of the buffer. */
int	 toml_put(const struct toml *t, struct buf *out) MUST_CHECK;
