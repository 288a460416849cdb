/*
 * A strict JSON reader (RFC 8259, and stricter where PROTOCOL 2.3 is):
 * one pass, a flat tape of tokens into the text.  Pure.
 *
 * Refused: anything behind the value, an object key given twice at any depth,
 * nesting of 128 levels or more, more than 262,144 values (all of them, also
 * arrays and objects; keys do not count), numbers that RFC 8259 does not know,
 * unpaired surrogate escapes, raw control characters, a byte order mark.  The
 * text must be valid UTF-8 already: the reader does not look (see utf8.h).
 *
 * Strings are unescaped in place while reading, so the text changes (the text
 * of an array or object is then JSON no more), and a token's bytes may contain
 * NUL.  Duplicate keys are compared unescaped; the
 * time is linear also for hostile keys (a keyed hash).
 */
#ifndef COMMON_JSON_JSON_H
#define COMMON_JSON_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX	127
#define JSON_VALUES_MAX	262144

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,		/* as text, see json_i64() */
	JSON_STRING,		/* unescaped */
	JSON_ARRAY,
	JSON_OBJECT
};

struct json_tok {
	uint32_t	 pos;		/* of the first byte in the text */
	uint32_t	 len;		/* bytes, brackets included */
	uint32_t	 next;		/* behind it all; of a key: its value */
	uint32_t	 type;		/* enum json_type */
};

struct json_block;

/* A parsed text.  Embedded; reused from message to message. */
struct json {
	char		*text;		/* the caller's, not owned */
	struct json_tok	*toks;		/* token 0 is the whole value */
	uint32_t	 ntoks;
	uint32_t	 cap;
	struct json_block *blocks;	/* see json_alloc() */
};

void	 json_init(struct json *j);
void	 json_fini(struct json *j);

/*
 * Read len bytes (below 2^31); no NUL behind them is needed.  The text must
 * stay as long as the tokens are used.  0, or -1 with errno: EINVAL (not such
 * JSON), E2BIG (too deep, too many values or too long), ENOMEM; then there are
 * no tokens.
 */
int	 json_parse(struct json *j, char *text, size_t len)
	    __attribute__((warn_unused_result));

/*
 * Free what json_alloc() gave, and the tape when it has grown beyond a few KiB;
 * call between messages, the tokens are gone.
 */
void	 json_trim(struct json *j);

/*
 * Memory for n objects of that size that lasts as long as the tokens: until the
 * next json_parse(), json_trim() or json_fini().  NULL with errno.
 */
void	*json_alloc(struct json *j, size_t n, size_t size)
	    __attribute__((malloc, warn_unused_result));

/* Token i. */
static inline const struct json_tok *
json_tok(const struct json *j, uint32_t i)
{
	return &j->toks[i];
}

/* The bytes of token i. */
static inline const char *
json_text(const struct json *j, uint32_t i)
{
	return j->text + j->toks[i].pos;
}

/*
 * The value of a key in the object at obj, or 0 when there is none (0 is the
 * whole value, never a member) or when obj is not an object.
 */
uint32_t json_find(const struct json *j, uint32_t obj, const char *key);

/*
 * Walk the array or object at token up:
 *	for (i = json_first(up); json_more(j, up, i); i = json_after_elem(j, i))
 * In an object i is a key (JSON_STRING) and its value i + 1; go on with
 * json_after_member().
 */
static inline uint32_t
json_first(uint32_t up)
{
	return up + 1;
}

static inline bool
json_more(const struct json *j, uint32_t up, uint32_t i)
{
	return i < j->toks[up].next;
}

/* The next element of an array, or the next key of an object (give the key). */
static inline uint32_t
json_after_elem(const struct json *j, uint32_t i)
{
	return j->toks[i].next;
}

static inline uint32_t
json_after_member(const struct json *j, uint32_t key)
{
	return j->toks[key + 1].next;
}

/* Whether token i is a string of exactly these characters. */
bool	 json_is_text(const struct json *j, uint32_t i, const char *text);

/*
 * An integer: only digits and a sign, no fraction, no exponent ("-0" is 0).
 * Exact.  0, or -1 with errno EINVAL (no integer) or ERANGE; *out is then as
 * it was.
 */
int	 json_i64(const struct json *j, uint32_t i, int64_t *out)
	    __attribute__((warn_unused_result));
int	 json_u64(const struct json *j, uint32_t i, uint64_t *out)
	    __attribute__((warn_unused_result));

#endif
