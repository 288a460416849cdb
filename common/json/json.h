/*
 * A strict JSON parser (RFC 8259, PROTOCOL 2.3), giving a tape of tokens that
 * point into the text.  Pure.
 *
 * Refuses text after the value, duplicate keys (found in linear time),
 * JSON_DEPTH_MAX and JSON_VALUES_MAX exceeded, lone surrogate escapes, raw
 * control characters, a byte order mark; does not check UTF-8 (utf8.h).
 * Strings are unescaped in place and may contain NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX	127	/* nested arrays and objects */
#define JSON_VALUES_MAX	262144	/* all but keys */

enum json_type {
	JSON_NULL,
	JSON_FALSE,
	JSON_TRUE,
	JSON_NUMBER,		/* as text */
	JSON_STRING,		/* unescaped */
	JSON_ARRAY,
	JSON_OBJECT
};

struct json_tok {
	uint32_t	 pos;		/* offset in the text */
	uint32_t	 len;		/* bytes with brackets */
	uint32_t	 next;		/* token after it; key: its value */
	uint32_t	 type;		/* enum json_type */
};

struct json_block;

/* Embedded, reusable. */
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
 * len is below 2^31; text must stay.  0, or -1 with errno, without tokens:
 * EINVAL (syntax), E2BIG (too deep, too many values, too long), ENOMEM.
 */
int	 json_parse(struct json *j, char *text, size_t len) MUST_CHECK;

/* Free json_alloc()'s memory and a large tape; ends the tokens. */
void	 json_trim(struct json *j);

/* Until the next json_parse(), json_trim() or json_fini().  NULL with errno. */
void	*json_alloc(struct json *j, size_t n, size_t size)
	    __attribute__((malloc)) MUST_CHECK;

static inline const struct json_tok *
json_tok(const struct json *j, uint32_t i)
{
	return &j->toks[i];
}

static inline const char *
json_text(const struct json *j, uint32_t i)
{
	return j->text + j->toks[i].pos;
}

/* Return a key's value, or 0: none, or obj is no object. */
uint32_t json_find(const struct json *j, uint32_t obj, const char *key);

/*
 * for (i = json_first(up); json_more(j, up, i); i = json_after_elem(j, i)); in
 * an object i is a key and i + 1 its value: use json_after_member().
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

bool	 json_is_text(const struct json *j, uint32_t i, const char *text);

/* Copy a string, as much as fits, or "" (i may be 0).  Whether it is one. */
bool	 json_copy_text(const struct json *j, uint32_t i, char *out,
	    size_t size);

/* Digits and sign only.  -1: errno EINVAL, ERANGE; *out unchanged. */
int	 json_i64(const struct json *j, uint32_t i, int64_t *out) MUST_CHECK;
int	 json_u64(const struct json *j, uint32_t i, uint64_t *out) MUST_CHECK;
