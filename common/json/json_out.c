#include "common/json/json_out.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/uri.h"
#include "common/json/utf8.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define REPLACEMENT	"\xef\xbf\xbd"		/* U+FFFD */

#define DIGITS_MAX	20			/* 18446744073709551615 */

static void
json_out_put(struct json_out *o, const char *data, size_t len)
{
	if (o->error == 0 && buf_put(o->b, data, len) == -1)
		o->error = errno;
}

/* Reserve n bytes; NULL after an error. */
static char *
reserve(struct json_out *o, size_t n)
{
	char	*room;

	if (o->error != 0)
		return NULL;
	if ((room = buf_reserve(o->b, n)) == NULL)
		o->error = errno;
	return room;
}

/* Write the comma before a key or value if one is needed. */
static void
json_out_begin(struct json_out *o, bool next_needs_comma)
{
	if (o->need_comma)
		json_out_put(o, ",", 1);
	o->need_comma = next_needs_comma;
}

static void
put_code(struct json_out *o, unsigned code)
{
	static const char	 hex[] = "0123456789abcdef";
	char			 esc[6] = "\\u";
	int			 i;

	for (i = 5; i >= 2; i--, code >>= 4)
		esc[i] = hex[code & 15];
	json_out_put(o, esc, sizeof(esc));
}

/*
 * Return the length of the character at p, and its number, if it controls a
 * terminal (DEL, C1) or the text direction (Bidi_Control of Unicode); else 0.
 */
static size_t
order_span(const char *p, size_t len, unsigned *code)
{
	const unsigned char	*u = (const unsigned char *)p;

	if ((*code = u[0]) == 0x7f)
		return 1;
	if (len < 2 || u[0] < 0xc2)
		return 0;
	*code = (u[0] & 0x1fU) << 6 | (u[1] & 0x3fU);
	if (u[0] == 0xc2 || u[0] == 0xd8)
		return *code < 0xa0 || *code == 0x61c ? 2 : 0;
	if (len < 3 || u[0] != 0xe2)
		return 0;
	*code = (u[0] & 0xfU) << 12 | (u[1] & 0x3fU) << 6 | (u[2] & 0x3fU);
	return *code == 0x200e || *code == 0x200f ||
	    (*code >= 0x202a && *code <= 0x202e) ||
	    (*code >= 0x2066 && *code <= 0x2069) ? 3 : 0;
}

/* Write JSON or plain text; escape the former's if o is_shown. */
static void
json_out_put_json(struct json_out *o, const char *text, size_t len)
{
	unsigned	 code;
	size_t		 i, n, from = 0;

	for (i = 0; o->is_shown && i < len; i++) {
		if ((n = order_span(text + i, len - i, &code)) == 0)
			continue;
		json_out_put(o, text + from, i - from);
		put_code(o, code);
		from = i + n;
		i = from - 1;
	}
	json_out_put(o, text + from, len - from);
}

static void
json_out_put_value(struct json_out *o, const char *json, size_t len)
{
	json_out_begin(o, true);
	json_out_put_json(o, json, len);
}

/*
 * Text
 */

/* Return the number of ASCII bytes from p that need no escape. */
static size_t
ascii_span(const char *p, size_t len)
{
	size_t	 i = 0;
#ifdef __SSE2__
	__m128i	 v;
	int	 mask;

	for (; len - i >= 16; i += 16) {
		v = _mm_loadu_si128((const __m128i *)(p + i));
		/* Signed comparison: non-ASCII is negative, below a blank. */
		mask = _mm_movemask_epi8(_mm_or_si128(
		    _mm_cmplt_epi8(v, _mm_set1_epi8(0x20)), _mm_or_si128(
		    _mm_cmpeq_epi8(v, _mm_set1_epi8('"')),
		    _mm_cmpeq_epi8(v, _mm_set1_epi8('\\')))));
		if (mask != 0)
			return i + (size_t)__builtin_ctz((unsigned int)mask);
	}
#endif
	while (i < len && p[i] != '"' && p[i] != '\\' &&
	    (unsigned char)p[i] >= 0x20 && (unsigned char)p[i] < 0x80)
		i++;
	return i;
}

/* Return the length of the multi-byte character at p, 0: invalid. */
static size_t
char_span(const char *p, size_t len)
{
	const unsigned char	 lead = (unsigned char)*p;
	size_t			 n;

	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	n = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	return n <= len && utf8_is_valid(p, n) ? n : 0;
}

/* Return the number of bytes from p that are written unchanged. */
static size_t
plain_span(const char *p, size_t len)
{
	size_t	 i, n;

	for (i = 0;; i += n) {
		i += ascii_span(p + i, len - i);
		if (i == len || (n = char_span(p + i, len - i)) == 0)
			return i;
	}
}

/* Write a byte that needs an escape. */
static void
put_escaped(struct json_out *o, char c)
{
	static const char	 letter[256] = {
		['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
		['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'
	};
	const unsigned char	 u = (unsigned char)c;
	char			 esc[2] = { '\\' };

	if (u >= 0x80) {
		json_out_put(o, REPLACEMENT, sizeof(REPLACEMENT) - 1);
	} else if (letter[u] != '\0') {
		esc[1] = letter[u];
		json_out_put(o, esc, 2);
	} else {
		put_code(o, u);
	}
}

static void
json_out_put_plain(struct json_out *o, const char *text, size_t len)
{
	char	*room;

	if ((room = reserve(o, len + 2)) == NULL)
		return;
	room[0] = '"';
	if (len > 0)
		memcpy(room + 1, text, len);
	room[len + 1] = '"';
	buf_commit(o->b, len + 2);
}

static void
json_out_put_text(struct json_out *o, const char *text, size_t len)
{
	size_t	 n;

	if (o->error != 0)
		return;
	n = len == 0 ? 0 : plain_span(text, len);
	if (n == len && !o->is_shown) {
		json_out_put_plain(o, text, len);
		return;
	}
	json_out_put(o, "\"", 1);
	while (n < len && o->error == 0) {
		json_out_put_json(o, text, n);
		put_escaped(o, text[n]);
		text += n + 1;
		len -= n + 1;
		n = plain_span(text, len);
	}
	json_out_put_json(o, text, n);
	json_out_put(o, "\"", 1);
}

/*
 * Digits
 */

/* Write n before end; return its first digit. */
static char *
digits(char *end, uint64_t n)
{
	do {
		*--end = (char)('0' + n % 10);
	} while ((n /= 10) > 0);
	return end;
}

/*
 * Interface
 */

void
json_out_init(struct json_out *o, struct buf *b)
{
	o->b = b;
	o->need_comma = o->is_shown = false;
	o->error = 0;
}

void
json_out_shown(struct json_out *o)
{
	o->is_shown = true;
}

int
json_out_fini(struct json_out *o)
{
	if (o->error == 0)
		return 0;
	errno = o->error;
	return -1;
}

void
json_out_open(struct json_out *o, char bracket)
{
	assert(bracket == '{' || bracket == '[');
	json_out_begin(o, false);
	json_out_put(o, &bracket, 1);
}

void
json_out_close(struct json_out *o, char bracket)
{
	assert(bracket == '}' || bracket == ']');
	json_out_put(o, &bracket, 1);
	o->need_comma = true;
}

void
json_out_key(struct json_out *o, const char *key)
{
	json_out_begin(o, false);
	json_out_put_plain(o, key, strlen(key));
	json_out_put(o, ":", 1);
}

void
json_out_key_text(struct json_out *o, const char *key, size_t len)
{
	json_out_begin(o, false);
	json_out_put_text(o, key, len);
	json_out_put(o, ":", 1);
}

void
json_out_text(struct json_out *o, const char *text, size_t len)
{
	json_out_begin(o, true);
	json_out_put_text(o, text, len);
}

void
json_out_str(struct json_out *o, const char *str)
{
	json_out_text(o, str, strlen(str));
}

void
json_out_u64(struct json_out *o, uint64_t n)
{
	char	 text[DIGITS_MAX], *end = text + sizeof(text), *p;

	p = digits(end, n);
	json_out_put_value(o, p, (size_t)(end - p));
}

void
json_out_i64(struct json_out *o, int64_t n)
{
	char	 text[1 + DIGITS_MAX], *end = text + sizeof(text), *p;

	p = digits(end, n < 0 ? -(uint64_t)n : (uint64_t)n);
	if (n < 0)
		*--p = '-';
	json_out_put_value(o, p, (size_t)(end - p));
}

void
json_out_bool(struct json_out *o, bool b)
{
	if (b)
		json_out_put_value(o, "true", 4);
	else
		json_out_put_value(o, "false", 5);
}

void
json_out_null(struct json_out *o)
{
	json_out_put_value(o, "null", 4);
}

void
json_out_pair(struct json_out *o, const char *key, const char *str)
{
	json_out_key(o, key);
	json_out_str(o, str);
}

void
json_out_pair_u64(struct json_out *o, const char *key, uint64_t n)
{
	json_out_key(o, key);
	json_out_u64(o, n);
}

void
json_out_pair_bool(struct json_out *o, const char *key, bool b)
{
	json_out_key(o, key);
	json_out_bool(o, b);
}

void
json_out_uri(struct json_out *o, const char *path)
{
	size_t	 size = path == NULL ? 0 : 3 * strlen(path) + 8;
	char	*room;
	ssize_t	 n;

	if (path == NULL || path[0] != '/') {
		json_out_null(o);
		return;
	}
	json_out_begin(o, true);
	if ((room = reserve(o, size + 2)) == NULL)
		return;
	n = uri_from_path(path, room + 1, size);
	assert(n > 0 && (size_t)n < size);
	room[0] = room[n + 1] = '"';
	buf_commit(o->b, (size_t)n + 2);
}

void
json_out_b64(struct json_out *o, const void *data, size_t len)
{
	char	*room;
	size_t	 n;

	json_out_begin(o, true);
	if ((room = reserve(o, B64_ENCODED_LEN(len) + 2)) == NULL)
		return;
	room[0] = '"';
	n = len == 0 ? 0 : b64_encode(room + 1, data, len);
	room[n + 1] = '"';
	buf_commit(o->b, n + 2);
}

void
json_out_raw(struct json_out *o, const char *json, size_t len)
{
	json_out_put_value(o, json, len);
}
