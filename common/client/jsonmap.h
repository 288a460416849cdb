/* Structs to JSON and back, by the rows of jsonmaps.def.  Pure. */
#pragma once

#include "common/client/execsrv.h"
#include "common/json/json.h"
#include "common/json/json_out.h"

struct execsrv_done {
	char	 unused;
};

/* Results and notifications that only the library sees. */
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

enum jsonmap_type {
	JSONMAP_TEXT, JSONMAP_PATH, JSONMAP_JSON, JSONMAP_TEXTS, JSONMAP_PATHS,
	JSONMAP_VARS, JSONMAP_BOOL, JSONMAP_ON, JSONMAP_OFF, JSONMAP_YES,
	JSONMAP_U64, JSONMAP_I64, JSONMAP_MODE, JSONMAP_BYTES, JSONMAP_OBJECT,
	JSONMAP_LIST
};

enum jsonmap_presence { JSONMAP_OPTIONAL, JSONMAP_NEEDED, JSONMAP_DEFAULT_M1 };

struct jsonmap;

struct jsonmap_row {
	const char		*key;
	enum jsonmap_type	 type;
	enum jsonmap_presence	 presence;
	size_t			 offset, number;	/* of a LIST */
	const struct jsonmap	*sub;
};

struct jsonmap {
	size_t				 size;
	const struct jsonmap_row	*rows;	/* the last has no key */
};

#define JSONMAP(name, type)						\
	extern const struct jsonmap execsrv_jsonmap_##name;
#define ROW(map, type, key, presence, member)
#define SUB(map, type, key, presence, member, sub)
#define END(map)
#include "common/client/jsonmaps.def"
#undef JSONMAP
#undef ROW
#undef SUB
#undef END

/*
 * Write the members, without or with the braces.  0, or -1 with errno EINVAL,
 * EILSEQ or ENAMETOOLONG, and something that is not JSON.
 */
int	 execsrv_jsonmap_put(struct json_out *o, const struct jsonmap *map,
	    const void *from) MUST_CHECK;
int	 execsrv_jsonmap_put_object(struct json_out *o,
	    const struct jsonmap *map, const void *from) MUST_CHECK;

/*
 * Read an object into one piece of memory, for free(3).  NULL with errno EINVAL
 * (it does not fit the rows) or ENOMEM.
 */
void	*execsrv_jsonmap_get(const struct jsonmap *map, const struct json *j,
	    uint32_t tok) MUST_CHECK;
