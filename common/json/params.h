/*
 * Parameters of a request: rows of proto/rpc_params.def, checked and decoded
 * into one struct for each group.  The only place that says "missing" or
 * "wrong type".
 */
#ifndef COMMON_JSON_PARAMS_H
#define COMMON_JSON_PARAMS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json/json.h"

/* Bytes in the message; s is NULL when the member was absent. */
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

typedef struct param_text	PARAM_TEXT, PARAM_NAME, PARAM_B64;
typedef struct param_path	PARAM_URI;
typedef struct param_u64	PARAM_U64;
typedef bool			PARAM_BOOL, PARAM_OFF;
typedef uint16_t		PARAM_U16;
typedef uint32_t		PARAM_LIST, PARAM_OBJECT; /* token, or 0 */
typedef char			PARAM_NONE;

#define GROUP(group)	struct group##_params { char unused_;
#define FIELD(group, type, key, presence, member)	PARAM_##type member;
#define END(group)	};
#include "proto/rpc_params.def"
#undef GROUP
#undef FIELD
#undef END

enum field_type {
	FIELD_TEXT, FIELD_NAME, FIELD_URI, FIELD_B64, FIELD_BOOL, FIELD_U64,
	FIELD_U16, FIELD_LIST, FIELD_OBJECT, FIELD_NONE, FIELD_OFF
};

enum field_presence { FIELD_NEEDED, FIELD_OPTIONAL, FIELD_NOTNULL };

struct field {
	const char		*key;
	enum field_type		 type;
	enum field_presence	 presence;
	size_t			 offset;
};

/* The fields of a group, ended by a row without a key. */
#define GROUP(group)	extern const struct field fields_##group[];
#define FIELD(group, type, key, presence, member)
#define END(group)
#include "proto/rpc_params.def"
#undef GROUP
#undef FIELD
#undef END

struct param_error {
	bool	 is_path;	/* a path that cannot be: errno says how */
	char	 text[160];	/* for the client */
};

/* Whether a text was given and is that word. */
bool	 param_is(const struct param_text *t, const char *word);

/*
 * The path that token tok names, an element of a LIST, say.  0, or -1 with
 * errno: EINVAL it is no string or no file URI, or as uri_to_path().
 */
int	 param_path(const struct json *j, uint32_t tok, bool native_paths,
	    struct param_path *out) __attribute__((warn_unused_result));

/*
 * Decode the object at token tok (0: no params at all) into out, a struct of
 * the group with these fields, zeroed first. native_paths accepts absolute
 * paths where URIs belong. 0, or -1 with the reason in e. Decodes base64 in
 * place.
 */
int	 params_decode(struct json *j, uint32_t tok,
	    const struct field *fields, void *out, size_t size,
	    bool native_paths, struct param_error *e)
	    __attribute__((warn_unused_result));

#endif
