#include "common/json/b64.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Tests build a copy with B64_TABLE_ONLY to test the tables. */
#if defined(__x86_64__) && !defined(B64_TABLE_ONLY)
#define B64_AVX2
#include <immintrin.h>
#endif

/* f(n), f(n + 1), ...: generates the constant tables below. */
#define X4(f, n)	f(n), f((n) + 1), f((n) + 2), f((n) + 3)
#define X16(f, n)	X4(f, n), X4(f, (n) + 4), X4(f, (n) + 8), \
			X4(f, (n) + 12)
#define X64(f, n)	X16(f, n), X16(f, (n) + 16), X16(f, (n) + 32), \
			X16(f, (n) + 48)
#define X256(f, n)	X64(f, n), X64(f, (n) + 64), X64(f, (n) + 128), \
			X64(f, (n) + 192)
#define X1024(f, n)	X256(f, n), X256(f, (n) + 256), X256(f, (n) + 512), \
			X256(f, (n) + 768)
#define X4096(f)	X1024(f, 0), X1024(f, 1024), X1024(f, 2048), \
			X1024(f, 3072)

#define LETTER(v)	((v) < 26 ? 'A' + (v) : (v) < 52 ? 'a' + (v) - 26 : \
			(v) < 62 ? '0' + (v) - 52 : (v) == 62 ? '+' : '/')
#define PAIR(n)		{ LETTER((n) >> 6), LETTER((n) & 63) }

/* The two characters of each 12 bits. */
static const char	pairs[4096][2] = { X4096(PAIR) };

/* Set for characters outside of the alphabet, above the 24 value bits. */
#define NO_LETTER	0x1000000u

#define IS(c, a, z)	((c) >= (a) && (c) <= (z))
#define NUMBER(c)	(IS(c, 'A', 'Z') ? (c) - 'A' : \
			IS(c, 'a', 'z') ? (c) - 'a' + 26 : \
			IS(c, '0', '9') ? (c) - '0' + 52 : \
			(c) == '+' ? 62 : (c) == '/' ? 63 : -1)
#define VALUE(c, shift)	(NUMBER(c) < 0 ? NO_LETTER : \
			(uint32_t)NUMBER(c) << (shift))
#define FIRST(c)	VALUE(c, 18)
#define SECOND(c)	VALUE(c, 12)
#define THIRD(c)	VALUE(c, 6)
#define FOURTH(c)	VALUE(c, 0)

/* The value of each character, for each of four positions. */
static const uint32_t	values[4][256] = {
	{ X256(FIRST, 0) },
	{ X256(SECOND, 0) },
	{ X256(THIRD, 0) },
	{ X256(FOURTH, 0) },
};

static inline uint32_t
quartet(const uint8_t *text)
{
	return values[0][text[0]] | values[1][text[1]] | values[2][text[2]] |
	    values[3][text[3]];
}

static inline void
put_pairs(char *out, uint32_t v)
{
	memcpy(out, pairs[v >> 12], 2);
	memcpy(out + 2, pairs[v & 0xfff], 2);
}

/* Encode whole triples. */
static void
table_encode(char *out, const uint8_t *data, size_t len)
{
	uint64_t	 w;

	/* Two triples from a load of eight bytes. */
	for (; len >= 8; data += 6, out += 8, len -= 6) {
		memcpy(&w, data, 8);
		w = be64toh(w);
		put_pairs(out, (uint32_t)(w >> 40));
		put_pairs(out + 4, (uint32_t)(w >> 16) & 0xffffff);
	}
	for (; len > 0; data += 3, out += 4, len -= 3)
		put_pairs(out, (uint32_t)data[0] << 16 |
		    (uint32_t)data[1] << 8 | data[2]);
}

/*
 * Decode whole quartets, also in situ.  The caller withholds the last quartet,
 * since a store writes one byte too many.
 */
static bool
table_decode(uint8_t *out, const uint8_t *text, size_t len)
{
	uint32_t	 v, v2, all = 0;
	uint64_t	 w;

	for (; len >= 8; text += 8, out += 6, len -= 8) {
		all |= v = quartet(text);
		all |= v2 = quartet(text + 4);
		w = htobe64((uint64_t)v << 40 | (uint64_t)v2 << 16);
		memcpy(out, &w, 8);
	}
	if (len > 0) {
		all |= v = quartet(text);
		v = htobe32(v << 8);
		memcpy(out, &v, 4);
	}
	return (all & NO_LETTER) == 0;
}

#ifdef B64_AVX2
/*
 * After Wojciech Mula and Daniel Lemire, "Faster Base64 Encoding and Decoding
 * Using AVX2 Instructions" (2018).
 */
#define AVX2	__attribute__((target("avx2")))

/* A vector with the same 16 bytes in both lanes. */
#define LANES(...)	_mm256_setr_epi8(__VA_ARGS__, __VA_ARGS__)

/* Encode while 28 bytes are readable; return how many bytes were encoded. */
AVX2 static size_t
avx2_encode(char *out, const uint8_t *data, size_t len)
{
	const __m256i	 spread = LANES(1, 0, 2, 1, 4, 3, 5, 4, 7, 6, 8, 7,
			    10, 9, 11, 10);
	const __m256i	 offsets = LANES(65, 71, -4, -4, -4, -4, -4, -4, -4,
			    -4, -4, -4, -19, -16, 0, 0);
	__m256i		 v, hi, lo, kind;
	size_t		 i;

	for (i = 0; len - i >= 28; i += 24, out += 32) {
		v = _mm256_inserti128_si256(_mm256_castsi128_si256(
		    _mm_loadu_si128((const void *)(data + i))),
		    _mm_loadu_si128((const void *)(data + i + 12)), 1);
		v = _mm256_shuffle_epi8(v, spread);
		/* Multiply, as there is no shift by a count per element. */
		hi = _mm256_mulhi_epu16(
		    _mm256_and_si256(v, _mm256_set1_epi32(0x0fc0fc00)),
		    _mm256_set1_epi32(0x04000040));
		lo = _mm256_mullo_epi16(
		    _mm256_and_si256(v, _mm256_set1_epi32(0x003f03f0)),
		    _mm256_set1_epi32(0x01000010));
		v = _mm256_or_si256(hi, lo);
		/* 0 upper case, 1 lower case, 2..11 digits, 12 plus, 13 / */
		kind = _mm256_sub_epi8(
		    _mm256_subs_epu8(v, _mm256_set1_epi8(51)),
		    _mm256_cmpgt_epi8(v, _mm256_set1_epi8(25)));
		v = _mm256_add_epi8(v, _mm256_shuffle_epi8(offsets, kind));
		_mm256_storeu_si256((void *)out, v);
	}
	return i;
}

/*
 * Decode blocks of 32 characters.  A store writes 8 bytes too many, hence room
 * for 44 characters is needed.  Works in situ: a store ends at 24/32 i + 32,
 * the next load begins at i + 32.  Return how many characters were decoded;
 * bad_out: whether one was invalid.
 */
AVX2 static size_t
avx2_decode(uint8_t *out, const uint8_t *text, size_t len, bool *bad_out)
{
	/* Valid: the table entries of both nibbles have no common bit. */
	const __m256i	 by_low = LANES(0x15, 0x11, 0x11, 0x11, 0x11, 0x11,
			    0x11, 0x11, 0x11, 0x11, 0x13, 0x1a, 0x1b, 0x1b,
			    0x1b, 0x1a);
	const __m256i	 by_high = LANES(0x10, 0x10, 0x01, 0x02, 0x04, 0x08,
			    0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
			    0x10, 0x10);
	const __m256i	 offsets = LANES(0, 16, 19, 4, -65, -65, -71, -71, 0,
			    0, 0, 0, 0, 0, 0, 0);
	const __m256i	 gather = LANES(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13,
			    12, -1, -1, -1, -1);
	const __m256i	 join = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 3, 7);
	const __m256i	 slash = _mm256_set1_epi8('/');
	__m256i		 v, low, high, bad = _mm256_setzero_si256();
	size_t		 i;

	for (i = 0; len - i >= 44; i += 32, out += 24) {
		v = _mm256_loadu_si256((const void *)(text + i));
		/* Bit 7 must be cleared, bits 4 to 6 do not matter. */
		low = _mm256_and_si256(v, slash);
		high = _mm256_and_si256(_mm256_srli_epi32(v, 4), slash);
		bad = _mm256_or_si256(bad, _mm256_and_si256(
		    _mm256_shuffle_epi8(by_low, low),
		    _mm256_shuffle_epi8(by_high, high)));
		v = _mm256_add_epi8(v, _mm256_shuffle_epi8(offsets,
		    _mm256_add_epi8(_mm256_cmpeq_epi8(v, slash), high)));
		v = _mm256_maddubs_epi16(v, _mm256_set1_epi32(0x01400140));
		v = _mm256_madd_epi16(v, _mm256_set1_epi32(0x00011000));
		v = _mm256_shuffle_epi8(v, gather);
		v = _mm256_permutevar8x32_epi32(v, join);
		_mm256_storeu_si256((void *)out, v);
	}
	*bad_out = !_mm256_testz_si256(bad, bad);
	return i;
}
#endif

size_t
b64_encode(char *out, const void *data, size_t len)
{
	const uint8_t	*in = data;
	size_t		 done = 0, whole = len - len % 3;
	char		*end;

	if (len == 0)
		return 0;
#ifdef B64_AVX2
	if (len >= 28 && __builtin_cpu_supports("avx2"))
		done = avx2_encode(out, in, len);
#endif
	table_encode(out + done / 3 * 4, in + done, whole - done);
	end = out + whole / 3 * 4;
	if (len - whole == 1) {
		memcpy(end, pairs[in[whole] << 4], 2);
		memcpy(end + 2, "==", 2);
	} else if (len - whole == 2) {
		memcpy(end, pairs[in[whole] << 4 | in[whole + 1] >> 4], 2);
		end[2] = pairs[(in[whole + 1] & 15) << 8][0];
		end[3] = '=';
	}
	return B64_ENCODED_LEN(len);
}

/* Decode the last quartet, which may be padded; number of bytes or -1. */
static int
decode_last(uint8_t *out, const uint8_t *text)
{
	uint8_t		 full[4] = { text[0], text[1], text[2], text[3] };
	int		 pad = 0;
	uint32_t	 v;

	/* Replace padding by A, which is zero. */
	for (; pad < 2 && full[3 - pad] == '='; pad++)
		full[3 - pad] = 'A';
	v = quartet(full);
	if (v & NO_LETTER || v & ((1u << (8 * pad)) - 1))
		return -1;
	out[0] = (uint8_t)(v >> 16);
	if (pad < 2)
		out[1] = (uint8_t)(v >> 8);
	if (pad < 1)
		out[2] = (uint8_t)v;
	return 3 - pad;
}

ssize_t
b64_decode(void *out, const char *text, size_t len)
{
	const uint8_t	*in = (const uint8_t *)text;
	uint8_t		*to = out;
	size_t		 done = 0, body;
	bool		 bad = false;
	int		 n;

	if (len == 0)
		return 0;
	if (len % 4 != 0)
		goto fail;
	body = len - 4;
#ifdef B64_AVX2
	if (body >= 44 && __builtin_cpu_supports("avx2"))
		done = avx2_decode(to, in, body, &bad);
#endif
	if (bad ||
	    !table_decode(to + done / 4 * 3, in + done, body - done) ||
	    (n = decode_last(to + body / 4 * 3, in + body)) == -1)
		goto fail;
	return (ssize_t)(body / 4 * 3) + n;
 fail:
	errno = EINVAL;
	return -1;
}
