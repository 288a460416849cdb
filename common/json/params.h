/*
 * Parameters of a request, by the rows of proto/rpc_params.def: checked and
 * decoded into a struct for each group.
 *
 * All is borrowed from the message: texts, each followed by NUL, stand in it,
 * lists in memory of json_alloc().
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json/json.h"
#include "common/limit.h"

/* A NUL follows, others may be inside.  s NULL: the member was absent. */
struct param_text {
	char	*s;
	size_t	 len;
};

struct param_path {
	bool	 given;
	char	 path[PATH_MAX];
};

struct param_u64 {
	bool	 given;
	uint64_t n;
};

/* A member. */
struct param_pair {
	struct param_text name, value;
};

/* n is 0 also if absent. */
struct param_texts {
	size_t			 n;
	struct param_text	*v;
};

struct param_pairs {
	size_t			 n;
	struct param_pair	*v;
};

struct param_paths {
	size_t			 n;
	char			**v;	/* NULL: a path that cannot be */
};

struct param_keys {
	size_t			 n;
	struct param_texts	*v;
};

struct param_each {
	size_t			 n;
	void			*v;	/* structs of the inner group */
};

typedef struct param_text	PARAM_TEXT, PARAM_NAME, PARAM_UUID, PARAM_B64;
typedef struct param_path	PARAM_URI;
typedef struct param_u64	PARAM_U64;
typedef bool			PARAM_BOOL, PARAM_OFF;
typedef uint16_t		PARAM_U16;
typedef uint32_t		PARAM_LIST, PARAM_OBJECT; /* token, or 0 */
typedef char			PARAM_NONE;
typedef struct param_texts	PARAM_TEXTS;
typedef struct param_pairs	PARAM_PAIRS;
typedef struct param_paths	PARAM_URIS;
typedef struct param_keys	PARAM_KEYS;

/* given: the object was there; always true of params themselves. */
#define GROUP(group)	struct group##_params { bool given;
#define FIELD(group, type, key, presence, member)	PARAM_##type member;
#define MANY(group, type, key, presence, member, words)			\
	PARAM_##type member;
#define NESTED(group, inner, key, presence, member, words)		\
	struct inner##_params member;
#define EACH(group, inner, key, presence, member, noun, max)		\
	struct param_each member;
#define END(group)	};
#include "proto/rpc_params.def"
#undef GROUP
#undef FIELD
#undef MANY
#undef NESTED
#undef EACH
#undef END

enum field_type {
	FIELD_TEXT, FIELD_NAME, FIELD_UUID, FIELD_URI, FIELD_B64, FIELD_BOOL,
	FIELD_U64, FIELD_U16, FIELD_LIST, FIELD_OBJECT, FIELD_NONE, FIELD_OFF,
	FIELD_TEXTS, FIELD_PAIRS, FIELD_URIS, FIELD_KEYS,
	FIELD_NESTED, FIELD_EACH
};

enum field_presence { FIELD_NEEDED, FIELD_OPTIONAL, FIELD_NOTNULL };

struct field {
	const char		*key;
	enum field_type		 type;
	enum field_presence	 presence;
	size_t			 offset;
	const char		*words;		/* or the noun of EACH */
	const struct field	*inner;		/* of NESTED and EACH */
	size_t			 size;		/* of one of EACH */
	size_t			 max;
};

/* A row without a key ends a group. */
#define FIELD(group, type, key, presence, member)
#define MANY(group, type, key, presence, member, words)
#define NESTED(group, inner, key, presence, member, words)
#define EACH(group, inner, key, presence, member, noun, max)
#define END(group)
#define GROUP(group)	extern const struct field fields_##group[];
#include "proto/rpc_params.def"
#undef GROUP
union params {
#define GROUP(group)	struct group##_params group;
#include "proto/rpc_params.def"
};
#undef GROUP
#undef FIELD
#undef MANY
#undef NESTED
#undef EACH
#undef END

struct param_error {
	bool	 is_errno;	/* a path that cannot be, or memory: errno */
	bool	 is_worded;	/* the text is words of a row, and all of it */
	char	 text[160];	/* for the client */
};

/* Whether it was given and is that word. */
bool	 param_is(const struct param_text *t, const char *word);

/* A token's path.  -1: errno EINVAL (no string, no URI), uri_to_path()'s. */
int	 param_path(const struct json *j, uint32_t tok, bool native_paths,
	    struct param_path *out) MUST_CHECK;

/*
 * Decode the object at tok (0: no params) into out, a struct of the group of
 * fields; base64 in place, so only once.  native_paths: also absolute paths for
 * URIs. 0, or -1 with e.
 */
int	 params_decode(struct json *j, uint32_t tok,
	    const struct field *fields, void *out, size_t size,
	    bool native_paths, struct param_error *e) MUST_CHECK;
