#include "common/json/json.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* First allocations, for one small message; of at least 1 KiB, as in buf.c. */
#define TOKS_FIRST	80
#define BLOCK_SIZE	1200	/* bytes: lists */
#define TOKS_KEEP	256	/* kept by json_trim(): 4 KiB */
#define PAIRS_MAX	16	/* members compared pairwise, without a hash */
#define SLOTS_FIRST	64	/* for PAIRS_MAX + 1, half full */

/* A block of json_alloc(). */
struct json_block {
	struct json_block	*next;
	size_t			 used, size;	/* bytes of data */
	max_align_t		 data[];
};

/* An array or object that is still open. */
struct frame {
	uint32_t	 tok;
	uint32_t	 n;		/* elements or members so far */
	char		 close;		/* its closing bracket */
};

/* A slot in the hash of keys; free while tok is 0, which is never a key. */
struct slot {
	uint32_t	 hash;
	uint32_t	 tok;
};

/* State while parsing. */
struct reader {
	struct json	*j;
	char		*p;		/* next byte */
	char		*end;
	uint32_t	 nvalues;
	uint32_t	 depth;		/* frames in use */
	struct slot	*slots;		/* NULL until needed */
	uint32_t	 nslots;	/* a power of two */
	unsigned char	 hash_key[crypto_shorthash_KEYBYTES];
	struct frame	 stack[JSON_DEPTH_MAX + 1];
};

static int
json_refuse(int error)
{
	errno = error;
	return -1;
}

static inline bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/*
 * Strings
 */

#ifdef __SSE2__
/* Set 0xff where a byte is a quote, a backslash or below U+0020. */
static inline __m128i
special16(const char *p)
{
	const __m128i	 v = _mm_loadu_si128((const __m128i *)p);
	/* Maps the quote (0x22) to 0x20, and bytes below 0x20 to such. */
	const __m128i	 x = _mm_xor_si128(v, _mm_set1_epi8(0x02));

	return _mm_or_si128(
	    _mm_cmpeq_epi8(_mm_min_epu8(x, _mm_set1_epi8(0x20)), x),
	    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')));
}

static inline bool
has_special64(const char *p)
{
	return _mm_movemask_epi8(_mm_or_si128(
	    _mm_or_si128(special16(p), special16(p + 16)),
	    _mm_or_si128(special16(p + 32), special16(p + 48)))) != 0;
}

/*
 * Skip plain bytes, 16 or 64 at a time, not beyond end.  The first 16 are done
 * separately, as most strings are short.
 */
static inline char *
skip_plain_fast(char *p, const char *end)
{
	int	 mask, first = 1;

	while (end - p >= 16) {
		if ((mask = _mm_movemask_epi8(special16(p))) != 0)
			return p + __builtin_ctz((unsigned int)mask);
		p += 16;
		if (!first)
			continue;
		first = 0;
		while (end - p >= 64 && !has_special64(p))
			p += 64;
	}
	return p;
}
#else
static inline char *
skip_plain_fast(char *p, const char *end)
{
	(void)end;
	return p;
}
#endif

/* Return the next quote, backslash or control character, or end. */
static char *
skip_plain(char *p, const char *end)
{
	p = skip_plain_fast(p, end);
	while (p < end && *p != '"' && *p != '\\' && (unsigned char)*p >= 0x20)
		p++;
	return p;
}

static int
hex_digit(char c)
{
	if (is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Parse the four digits after "\u". */
static int
read_hex4(struct reader *r, uint32_t *out)
{
	uint32_t	 u = 0;
	int		 i, digit;

	if (r->end - r->p < 4)
		return json_refuse(EINVAL);
	for (i = 0; i < 4; i++) {
		if ((digit = hex_digit(r->p[i])) == -1)
			return json_refuse(EINVAL);
		u = u << 4 | (uint32_t)digit;
	}
	r->p += 4;
	*out = u;
	return 0;
}

static char *
put_utf8(char *out, uint32_t u)
{
	if (u < 0x80) {
		*out++ = (char)u;
		return out;
	}
	if (u < 0x800) {
		*out++ = (char)(0xc0 | u >> 6);
	} else if (u < 0x10000) {
		*out++ = (char)(0xe0 | u >> 12);
		*out++ = (char)(0x80 | (u >> 6 & 0x3f));
	} else {
		*out++ = (char)(0xf0 | u >> 18);
		*out++ = (char)(0x80 | (u >> 12 & 0x3f));
		*out++ = (char)(0x80 | (u >> 6 & 0x3f));
	}
	*out++ = (char)(0x80 | (u & 0x3f));
	return out;
}

/* Parse after "\u"; write a character at *out, which is before r->p. */
static int
read_unicode(struct reader *r, char **out)
{
	uint32_t	 u, low;

	if (read_hex4(r, &u) == -1)
		return -1;
	if (u >= 0xdc00 && u <= 0xdfff)
		return json_refuse(EINVAL);
	if (u >= 0xd800 && u <= 0xdbff) {
		if (r->end - r->p < 2 || r->p[0] != '\\' || r->p[1] != 'u')
			return json_refuse(EINVAL);
		r->p += 2;
		if (read_hex4(r, &low) == -1)
			return -1;
		if (low < 0xdc00 || low > 0xdfff)
			return json_refuse(EINVAL);
		u = 0x10000 + ((u - 0xd800) << 10) + (low - 0xdc00);
	}
	*out = put_utf8(*out, u);
	return 0;
}

/* Parse an escape; write a character at *out. */
static int
read_escape(struct reader *r, char **out)
{
	static const char	 meaning[256] = {
		['"'] = '"', ['\\'] = '\\', ['/'] = '/', ['b'] = '\b',
		['f'] = '\f', ['n'] = '\n', ['r'] = '\r', ['t'] = '\t'
	};
	char			 c;

	if (r->end - r->p < 2)
		return json_refuse(EINVAL);
	c = r->p[1];
	r->p += 2;
	if (c == 'u')
		return read_unicode(r, out);
	if (meaning[(unsigned char)c] == '\0')
		return json_refuse(EINVAL);
	*(*out)++ = meaning[(unsigned char)c];
	return 0;
}

/* Parse a string, unescaped in place. */
static int
read_string(struct reader *r, char **start_out, size_t *len_out)
{
	char	*start, *out, *run;

	start = ++r->p;
	out = r->p = skip_plain(r->p, r->end);
	while (r->p < r->end && *r->p == '\\') {
		if (read_escape(r, &out) == -1)
			return -1;
		run = r->p;
		r->p = skip_plain(run, r->end);
		memmove(out, run, (size_t)(r->p - run));
		out += r->p - run;
	}
	if (r->p == r->end || *r->p != '"')
		return json_refuse(EINVAL);
	r->p++;
	*start_out = start;
	*len_out = (size_t)(out - start);
	return 0;
}

/*
 * The tape
 */

static int
grow_tape(struct json *j)
{
	struct json_tok	*toks;
	uint32_t	 cap;

	cap = j->cap == 0 ? TOKS_FIRST : j->cap;
	if (j->cap != 0 && __builtin_mul_overflow(cap, 2, &cap))
		return json_refuse(ENOMEM);
	if ((toks = reallocarray(j->toks, cap, sizeof(*toks))) == NULL)
		return -1;
	j->toks = toks;
	j->cap = cap;
	return 0;
}

static int
add_tok(struct reader *r, enum json_type type, const char *start, size_t len)
{
	struct json	*j = r->j;
	struct json_tok	*t;

	if (j->ntoks == j->cap && grow_tape(j) == -1)
		return -1;
	t = &j->toks[j->ntoks++];
	t->pos = (uint32_t)(start - j->text);
	t->len = (uint32_t)len;
	t->next = j->ntoks;
	t->type = type;
	return 0;
}

static int
add_value(struct reader *r, enum json_type type, const char *start, size_t len)
{
	if (r->nvalues == JSON_VALUES_MAX)
		return json_refuse(E2BIG);
	r->nvalues++;
	return add_tok(r, type, start, len);
}

/*
 * Duplicate keys
 */

static bool
is_same_key(const struct json *j, uint32_t a, uint32_t b)
{
	return j->toks[a].len == j->toks[b].len &&
	    memcmp(json_text(j, a), json_text(j, b), j->toks[a].len) == 0;
}

static int
check_pairs(const struct json *j, uint32_t obj)
{
	uint32_t	 keys[PAIRS_MAX], key, i, n = 0;

	for (key = json_first(obj); json_more(j, obj, key);
	    key = json_after_member(j, key)) {
		assert(n < PAIRS_MAX);
		for (i = 0; i < n; i++)
			if (is_same_key(j, keys[i], key))
				return json_refuse(EINVAL);
		keys[n++] = key;
	}
	return 0;
}

/* Clear the hash, for n keys at most half full. */
static int
clear_slots(struct reader *r, uint32_t n)
{
	uint32_t	 want = SLOTS_FIRST;

	while (want / 2 < n)
		want *= 2;
	if (r->slots == NULL)
		randombytes_buf(r->hash_key, sizeof(r->hash_key));
	if (r->slots == NULL || want > r->nslots) {
		free(r->slots);
		if ((r->slots = calloc(want, sizeof(*r->slots))) == NULL)
			return -1;
	} else {
		memset(r->slots, 0, want * sizeof(*r->slots));
	}
	r->nslots = want;
	return 0;
}

static int
add_slot(struct reader *r, uint32_t key)
{
	unsigned char	 bytes[crypto_shorthash_BYTES];
	const struct json *j = r->j;
	uint32_t	 hash, i;

	crypto_shorthash(bytes, (const unsigned char *)json_text(j, key),
	    j->toks[key].len, r->hash_key);
	memcpy(&hash, bytes, sizeof(hash));
	memcpy(&i, bytes + sizeof(hash), sizeof(i));
	for (i &= r->nslots - 1; r->slots[i].tok != 0;
	    i = (i + 1) & (r->nslots - 1))
		if (r->slots[i].hash == hash &&
		    is_same_key(j, r->slots[i].tok, key))
			return json_refuse(EINVAL);
	r->slots[i].hash = hash;
	r->slots[i].tok = key;
	return 0;
}

static int
check_slots(struct reader *r, uint32_t obj, uint32_t n)
{
	uint32_t	 key;

	if (clear_slots(r, n) == -1)
		return -1;
	for (key = json_first(obj); json_more(r->j, obj, key);
	    key = json_after_member(r->j, key))
		if (add_slot(r, key) == -1)
			return -1;
	return 0;
}

static int
check_keys(struct reader *r, uint32_t obj, uint32_t n)
{
	if (n < 2)
		return 0;
	return n <= PAIRS_MAX ? check_pairs(r->j, obj) : check_slots(r, obj, n);
}

/*
 * Values
 */

static void
json_skip_blanks(struct reader *r)
{
	while (r->p < r->end && (*r->p == ' ' || *r->p == '\n' ||
	    *r->p == '\r' || *r->p == '\t'))
		r->p++;
}

/* Skip blanks and require c. */
static int
json_expect(struct reader *r, char c)
{
	json_skip_blanks(r);
	if (r->p == r->end || *r->p != c)
		return json_refuse(EINVAL);
	r->p++;
	return 0;
}

static bool
skip_char(struct reader *r, char c)
{
	if (r->p == r->end || *r->p != c)
		return false;
	r->p++;
	return true;
}

/* Skip one digit or more. */
static int
skip_digits(struct reader *r)
{
	const char	*start = r->p;

	while (r->p < r->end && is_digit(*r->p))
		r->p++;
	return r->p > start ? 0 : json_refuse(EINVAL);
}

/* A leading zero ends the number: a digit after it is a syntax error. */
static int
json_read_number(struct reader *r)
{
	const char	*start = r->p;

	(void)skip_char(r, '-');
	if (!skip_char(r, '0') && skip_digits(r) == -1)
		return -1;
	if (skip_char(r, '.') && skip_digits(r) == -1)
		return -1;
	if (skip_char(r, 'e') || skip_char(r, 'E')) {
		if (!skip_char(r, '+'))
			(void)skip_char(r, '-');
		if (skip_digits(r) == -1)
			return -1;
	}
	return add_value(r, JSON_NUMBER, start, (size_t)(r->p - start));
}

static int
read_word(struct reader *r, enum json_type type, const char *word)
{
	const size_t	 len = strlen(word);
	const char	*start = r->p;

	if ((size_t)(r->end - r->p) < len || memcmp(r->p, word, len) != 0)
		return json_refuse(EINVAL);
	r->p += len;
	return add_value(r, type, start, len);
}

static int
read_text(struct reader *r)
{
	char	*start;
	size_t	 len;

	if (read_string(r, &start, &len) == -1)
		return -1;
	return add_value(r, JSON_STRING, start, len);
}

static int
read_key(struct reader *r)
{
	char	*start;
	size_t	 len;

	json_skip_blanks(r);
	if (r->p == r->end || *r->p != '"')
		return json_refuse(EINVAL);
	if (read_string(r, &start, &len) == -1 ||
	    add_tok(r, JSON_STRING, start, len) == -1)
		return -1;
	return json_expect(r, ':');
}

static int
open_frame(struct reader *r, enum json_type type, char close)
{
	struct frame	*f = &r->stack[r->depth];

	if (r->depth == JSON_DEPTH_MAX)
		return json_refuse(E2BIG);
	if (add_value(r, type, r->p, 0) == -1)
		return -1;
	f->tok = r->j->ntoks - 1;
	f->n = 0;
	f->close = close;
	r->depth++;
	r->p++;
	return 0;
}

static int
close_frame(struct reader *r)
{
	const struct frame	*f = &r->stack[--r->depth];
	struct json_tok		*t = &r->j->toks[f->tok];

	assert(f->tok < r->j->ntoks);
	t->len = (uint32_t)(r->p - r->j->text) - t->pos;
	t->next = r->j->ntoks;
	return t->type == JSON_OBJECT ? check_keys(r, f->tok, f->n) : 0;
}

/* Parse a scalar, or the opening bracket of an array or object. */
static int
json_read_value(struct reader *r)
{
	json_skip_blanks(r);
	if (r->p == r->end)
		return json_refuse(EINVAL);
	switch (*r->p) {
	case '"':
		return read_text(r);
	case '{':
		return open_frame(r, JSON_OBJECT, '}');
	case '[':
		return open_frame(r, JSON_ARRAY, ']');
	case 'n':
		return read_word(r, JSON_NULL, "null");
	case 'f':
		return read_word(r, JSON_FALSE, "false");
	case 't':
		return read_word(r, JSON_TRUE, "true");
	default:
		return json_read_number(r);
	}
}

/*
 * Advance to the next value and close the arrays and objects that end before
 * it.  With no frame left there is none.
 */
static int
seek_value(struct reader *r)
{
	struct frame	*f;

	while (r->depth > 0) {
		f = &r->stack[r->depth - 1];
		json_skip_blanks(r);
		if (skip_char(r, f->close)) {
			if (close_frame(r) == -1)
				return -1;
			continue;
		}
		if (f->n++ > 0 && json_expect(r, ',') == -1)
			return -1;
		return f->close == '}' ? read_key(r) : 0;
	}
	return 0;
}

static int
json_read_all(struct reader *r)
{
	do {
		if (json_read_value(r) == -1 || seek_value(r) == -1)
			return -1;
	} while (r->depth > 0);
	json_skip_blanks(r);
	return r->p == r->end ? 0 : json_refuse(EINVAL);
}

/*
 * Interface
 */

void
json_init(struct json *j)
{
	memset(j, 0, sizeof(*j));
}

static void
free_blocks(struct json *j)
{
	struct json_block	*b;

	while ((b = j->blocks) != NULL) {
		j->blocks = b->next;
		free(b);
	}
}

void *
json_alloc(struct json *j, size_t n, size_t size)
{
	struct json_block	*b = j->blocks;
	size_t			 room;

	assert(b == NULL || b->used <= b->size);
	if (__builtin_mul_overflow(n, size, &n) || n > SIZE_MAX / 2) {
		errno = ENOMEM;
		return NULL;
	}
	n = (n + alignof(max_align_t) - 1) & -alignof(max_align_t);
	if (b == NULL || b->size - b->used < n) {
		room = n < BLOCK_SIZE - sizeof(*b) ? BLOCK_SIZE - sizeof(*b) :
		    n;
		if ((b = malloc(sizeof(*b) + room)) == NULL)
			return NULL;
		b->next = j->blocks;
		b->used = 0;
		b->size = room;
		j->blocks = b;
	}
	b->used += n;
	return (char *)b->data + b->used - n;
}

void
json_fini(struct json *j)
{
	assert(j->ntoks <= j->cap);
	free_blocks(j);
	free(j->toks);
	json_init(j);
}

int
json_parse(struct json *j, char *text, size_t len)
{
	struct reader	 r;		/* its stack is not cleared */
	int		 rv, saved;

	free_blocks(j);
	j->text = text;
	j->ntoks = 0;
	if (len == 0)
		return json_refuse(EINVAL);
	if (len > INT32_MAX)
		return json_refuse(E2BIG);
	r.j = j;
	r.p = text;
	r.end = text + len;
	r.nvalues = 0;
	r.depth = 0;
	r.slots = NULL;
	r.nslots = 0;
	rv = json_read_all(&r);
	saved = errno;
	free(r.slots);
	if (rv == -1)
		j->ntoks = 0;
	errno = saved;
	return rv;
}

void
json_trim(struct json *j)
{
	assert(j->ntoks <= j->cap);
	free_blocks(j);
	if (j->cap > TOKS_KEEP)
		json_fini(j);
}

bool
json_is_text(const struct json *j, uint32_t i, const char *text)
{
	const struct json_tok	*t = json_tok(j, i);
	const size_t		 len = strlen(text);

	return t->type == JSON_STRING && t->len == len &&
	    memcmp(json_text(j, i), text, len) == 0;
}

uint32_t
json_find(const struct json *j, uint32_t obj, const char *key)
{
	uint32_t	 i;

	if (json_tok(j, obj)->type != JSON_OBJECT)
		return 0;
	for (i = json_first(obj); json_more(j, obj, i);
	    i = json_after_member(j, i))
		if (json_is_text(j, i, key))
			return i + 1;
	return 0;
}

bool
json_copy_text(const struct json *j, uint32_t i, char *out, size_t size)
{
	size_t	 n;

	assert(size > 0);
	out[0] = '\0';
	if (i == 0 || json_tok(j, i)->type != JSON_STRING)
		return false;
	n = json_tok(j, i)->len < size ? json_tok(j, i)->len : size - 1;
	memcpy(out, json_text(j, i), n);
	out[n] = '\0';
	return true;
}

/* Read sign and magnitude of an integer token, exactly. */
static int
read_integer(const struct json *j, uint32_t i, bool *negative, uint64_t *out)
{
	const struct json_tok	*t = json_tok(j, i);
	const char		*p = json_text(j, i), *end = p + t->len, *d;
	uint64_t		 n = 0;

	if (t->type != JSON_NUMBER)
		return json_refuse(EINVAL);
	if ((*negative = *p == '-'))
		p++;
	for (d = p; d < end; d++)	/* 1e99 is not an integer here */
		if (!is_digit(*d))
			return json_refuse(EINVAL);
	for (; p < end; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return json_refuse(ERANGE);
	*out = n;
	return 0;
}

int
json_i64(const struct json *j, uint32_t i, int64_t *out)
{
	uint64_t	 n;
	bool		 negative;

	if (read_integer(j, i, &negative, &n) == -1)
		return -1;
	if (n > (uint64_t)INT64_MAX + negative)
		return json_refuse(ERANGE);
	/* Negate without overflow at 2^63. */
	*out = negative && n > 0 ? -(int64_t)(n - 1) - 1 : (int64_t)n;
	return 0;
}

int
json_u64(const struct json *j, uint32_t i, uint64_t *out)
{
	uint64_t	 n;
	bool		 negative;

	if (read_integer(j, i, &negative, &n) == -1)
		return -1;
	if (negative && n > 0)
		return json_refuse(ERANGE);
	*out = n;
	return 0;
}
