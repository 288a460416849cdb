/*
 * Structs to JSON and back, by the rows of shapes.def.  Pure.
 */
#ifndef COMMON_CLIENT_SHAPE_H
#define COMMON_CLIENT_SHAPE_H

#include "common/client/execsrv.h"
#include "common/json/json.h"
#include "common/json/json_out.h"

struct execsrv_done {
	char	 unused;
};

/* What only the library sees. */
struct execsrv_watching {
	bool	 is_watched;
};

struct execsrv_watch_missing {
	uint64_t		 id;
	const char *const	*missing;
	const char		*present;
};

struct execsrv_delta {
	const char		*id;
	uint64_t		 seq;
	struct execsrv_bytes	 bytes;
	bool			 is_last;
	const char		*error;
};

enum shape_type {
	SHAPE_TEXT, SHAPE_PATH, SHAPE_JSON, SHAPE_TEXTS, SHAPE_PATHS,
	SHAPE_VARS, SHAPE_BOOL, SHAPE_ON, SHAPE_OFF, SHAPE_YES, SHAPE_U64,
	SHAPE_I64, SHAPE_BYTES, SHAPE_OBJECT, SHAPE_LIST
};

enum shape_presence { SHAPE_OPTIONAL, SHAPE_NEEDED, SHAPE_DEFAULT_M1 };

struct shape;

struct shape_row {
	const char		*key;
	enum shape_type		 type;
	enum shape_presence	 presence;
	size_t			 offset, number;	/* of a LIST */
	const struct shape	*sub;
};

struct shape {
	size_t			 size;
	const struct shape_row	*rows;		/* ended by one without key */
};

#define SHAPE(name, type)	extern const struct shape execsrv_shape_##name;
#define ROW(shape, type, key, presence, member)
#define SUB(shape, type, key, presence, member, sub)
#define END(shape)
#include "common/client/shapes.def"
#undef SHAPE
#undef ROW
#undef SUB
#undef END

/*
 * Write the members, without the braces.  0, or -1 with errno: EINVAL, EILSEQ,
 * ENAMETOOLONG; what was written then is not JSON.
 */
int	 execsrv_shape_put(struct json_out *o, const struct shape *shape,
	    const void *from) __attribute__((warn_unused_result));

/* The same with the braces. */
int	 execsrv_shape_put_object(struct json_out *o,
	    const struct shape *shape, const void *from)
	    __attribute__((warn_unused_result));

/*
 * Read an object into one piece of memory, for free(3).  NULL with errno:
 * EINVAL (it is no such thing), ENOMEM.
 */
void	*execsrv_shape_get(const struct shape *shape, const struct json *j,
	    uint32_t tok) __attribute__((warn_unused_result));

#endif
