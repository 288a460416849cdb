/* Internal to common/toml. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/map.h"
#include "common/span.h"

enum toml_type {
	TOML_TABLE, TOML_ARRAY, TOML_STRING, TOML_TRUE, TOML_FALSE,
	TOML_NUMBER, TOML_TIME
};

/* Hence what may be added. */
enum toml_origin {
	TOML_CLOSED,		/* inline: nothing */
	TOML_IMPLIED,		/* on the way to a header */
	TOML_DOTTED,		/* on the way to a value */
	TOML_HEADED		/* [header], [[header]] */
};

struct toml_value {
	struct toml_value	*all;		/* next in the document */
	struct toml_value	*parent;	/* NULL: the root */
	struct toml_value	*next;		/* in the parent */
	struct toml_value	*first, *last;	/* members, elements */
	struct map_node		 node;
	enum toml_type		 type;
	enum toml_origin	 origin;
	bool			 is_wanted;	/* with all that is in it */
	bool			 is_on_way;	/* to a value that is */
	uint32_t		 id;
	unsigned		 depth;
	struct span		 text;		/* STRING; of others source */
	size_t			 no_seconds;	/* TIME: where to put, or 0 */
	size_t			 key_len;	/* 0: an element, or the root */
	unsigned char		 key[];		/* id of the table, name */
};
#define TOML_KEY_ID	sizeof(uint32_t)

struct toml {
	struct toml_value	*all;
	struct toml_value	*root;
	struct map		 members;
	uint32_t		 n;
};

/* A member, or an element (name.at NULL).  NULL: errno; E2BIG: too many. */
struct toml_value	*toml_add(struct toml *t, struct toml_value *parent,
			    struct span name, enum toml_type type) MUST_CHECK;

/* toml_get() of a table. */
struct toml_value	*toml_member(const struct toml *t,
			    const struct toml_value *table, struct span name);

/* --- the parser --- */

struct toml_parser {
	struct toml	*t;
	char		*p, *end;
	char		*line;		/* where the line begins */
	unsigned	 number;	/* of the line */
	const char	*why;
};

/* Set why, unless known; -1. */
int	 toml_fail(struct toml_parser *p, const char *why);

/* At p, or ahead of it; -1: the end. */
static inline int
toml_peek(const struct toml_parser *p, size_t ahead)
{
	return (size_t)(p->end - p->p) > ahead ?
	    (unsigned char)p->p[ahead] : -1;
}

/* If there is one. */
bool	 toml_skip_newline(struct toml_parser *p);

/* In place.  is_key: of one line only.  0, or -1. */
int	 toml_read_string(struct toml_parser *p, bool is_key,
	    struct span *out);

/* A number, time, or boolean.  0, or -1. */
int	 toml_read_scalar(struct toml_parser *p, struct toml_value *v);
