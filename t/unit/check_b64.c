#include <sys/mman.h>

#include <check.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json/b64.h"

/* A second copy of the module, which has the table alone. */
#define B64_TABLE_ONLY
#define b64_encode	table_b64_encode
#define b64_decode	table_b64_decode
size_t	 b64_encode(char *out, const void *data, size_t len);
ssize_t	 b64_decode(void *out, const char *text, size_t len);
#include "common/json/b64.c"
#undef b64_encode
#undef b64_decode

static const struct codec {
	size_t	(*encode)(char *, const void *, size_t);
	ssize_t	(*decode)(void *, const char *, size_t);
} codecs[] = {
	{ b64_encode, b64_decode },
	{ table_b64_encode, table_b64_decode },
};

#define CODECS	((int)(sizeof(codecs) / sizeof(codecs[0])))

static const char	alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
			    "abcdefghijklmnopqrstuvwxyz0123456789+/";

/* RFC 4648 bit by bit: slow, and nothing like the module. */
static size_t
naive_encode(char *out, const uint8_t *data, size_t len)
{
	size_t		 bit, n = 0;
	unsigned int	 v;
	int		 i;

	for (bit = 0; bit < len * 8; bit += 6) {
		for (v = 0, i = 0; i < 6; i++)
			v = v << 1 | (bit + (size_t)i < len * 8 ?
			    data[(bit + (size_t)i) / 8] >>
			    (7 - (bit + (size_t)i) % 8) & 1u : 0u);
		out[n++] = alphabet[v];
	}
	while (n % 4 != 0)
		out[n++] = '=';
	return n;
}

static ssize_t
naive_decode(uint8_t *out, const char *text, size_t len)
{
	const char	*p;
	size_t		 letters = len, i, n;
	int		 b;

	if (len % 4 != 0)
		return -1;
	while (letters > 0 && len - letters < 2 && text[letters - 1] == '=')
		letters--;
	n = letters * 6 / 8;
	memset(out, 0, n);
	for (i = 0; i < letters; i++) {
		if ((p = memchr(alphabet, text[i], 64)) == NULL)
			return -1;
		for (b = 0; b < 6; b++) {
			if (((p - alphabet) >> (5 - b) & 1) == 0)
				continue;
			if ((i * 6 + (size_t)b) / 8 >= n)
				return -1;
			out[(i * 6 + (size_t)b) / 8] |=
			    (uint8_t)(0x80 >> (i * 6 + (size_t)b) % 8);
		}
	}
	return (ssize_t)n;
}

/* n bytes behind which the next byte faults; never freed. */
static void *
room(size_t n)
{
	size_t	 page = (size_t)sysconf(_SC_PAGESIZE);
	size_t	 all = (n + page - 1) / page * page;
	char	*p;

	p = mmap(NULL, all + page, PROT_READ | PROT_WRITE,
	    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ck_assert(p != MAP_FAILED);
	ck_assert_int_eq(mprotect(p + all, page, PROT_NONE), 0);
	return p + all - n;
}

static void
fill(uint8_t *p, size_t n)
{
	while (n-- > 0)
		*p++ = (uint8_t)(random() >> 7);
}

static const struct vector {
	const char	*plain;
	const char	*text;
} vectors[] = {
	{ "", "" },
	{ "f", "Zg==" },
	{ "fo", "Zm8=" },
	{ "foo", "Zm9v" },
	{ "foob", "Zm9vYg==" },
	{ "fooba", "Zm9vYmE=" },
	{ "foobar", "Zm9vYmFy" },
	{ "\xfb\xff\xbf", "+/+/" },
	{ "\xff\xff\xff", "////" },
	{ "the quick brown fox jumps over the lazy dog, and back again.",
	    "dGhlIHF1aWNrIGJyb3duIGZveCBqdW1wcyBvdmVyIHRoZSBsYXp5IGRvZywgYW5k"
	    "IGJhY2sgYWdhaW4u" },
};

START_TEST(test_vectors)
{
	const struct codec	*c = &codecs[_i];
	const struct vector	*v;
	char			 text[128], plain[128];
	size_t			 i, n;

	for (i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
		v = &vectors[i];
		n = c->encode(text, v->plain, strlen(v->plain));
		ck_assert_uint_eq(n, strlen(v->text));
		ck_assert_mem_eq(text, v->text, n);
		ck_assert_int_eq(c->decode(plain, text, n),
		    (ssize_t)strlen(v->plain));
		ck_assert_mem_eq(plain, v->plain, strlen(v->plain));
	}
	ck_assert_uint_eq(c->encode(NULL, NULL, 0), 0);
	ck_assert_int_eq(c->decode(NULL, NULL, 0), 0);
}
END_TEST

static const char	*const bad[] = {
	"a", "YQ", "YWI", "YWJj=", "YWJjZ", "YQ=", "!!!!", "Y Q==", "YQ==\n",
	"YQ==\r\n", "\nYQ=", " YQ=", "YQ ==", "_-8=", "_-8_", "-_-_", "YR==",
	"YWJ=", "YW//YW9=", "Yf==", "YQ===", "YQ====", "====", "=", "==",
	"===", "A===", "=AAA", "A=AA", "AA=A", "=A==", "YQ==YQ==", "YWI=YWI=",
	"YQ==YWJj", "YWJjYQ=Q", "YQ.=", "YQ=.", "YQ==,", "Zm9v\377AAA",
	"\xc3\xa9\xc3\xa9", "AAA\x80", "AAA\x7f", "*AAA", ",AAA", ".AAA",
	":AAA", "@AAA", "[AAA", "`AAA", "{AAA", "%3D=", "AAA\xc1",
};

START_TEST(test_bad)
{
	const struct codec	*c = &codecs[_i];
	char			 text[512], out[512];
	size_t			 i, pre, len;

	/* Alone, and behind so many good letters that vectors are at work. */
	for (pre = 0; pre <= 400; pre += pre < 8 ? 4 : 28)
		for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
			memset(text, 'Q', pre);
			len = strlen(bad[i]);
			memcpy(text + pre, bad[i], len);
			errno = 0;
			ck_assert_msg(c->decode(out, text, pre + len) == -1,
			    "%s taken behind %zu", bad[i], pre);
			ck_assert_int_eq(errno, EINVAL);
		}
	/* A NUL is a letter of no alphabet either. */
	ck_assert_int_eq(c->decode(out, "YQ=\0", 4), -1);
	ck_assert_int_eq(c->decode(out, "Y\0==", 4), -1);
	ck_assert_int_eq(c->decode(out, "\0\0\0\0", 4), -1);
}
END_TEST

/* Every byte in every place, for lengths with and without vectors. */
START_TEST(test_every_letter)
{
	static const size_t	 lens[] = { 4, 8, 12, 48, 80, 128, 172 };
	const struct codec	*c = &codecs[_i];
	char			 text[172];
	uint8_t			 got[129], want[129];
	ssize_t			 n;
	size_t			 i, at;
	int			 byte;

	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++)
		for (at = 0; at < lens[i]; at++)
			for (byte = 0; byte < 256; byte++) {
				memset(text, 'w', sizeof(text));
				text[at] = (char)byte;
				n = naive_decode(want, text, lens[i]);
				ck_assert_msg(n == c->decode(got, text,
				    lens[i]), "byte %d at %zu of %zu", byte,
				    at, lens[i]);
				if (n != -1)
					ck_assert_mem_eq(got, want, (size_t)n);
			}
}
END_TEST

/* All pairs in the two places before padding: only zero bits may be left. */
START_TEST(test_last_bits)
{
	const struct codec	*c = &codecs[_i];
	char			 text[4];
	uint8_t			 out[3];
	int			 a, b, ok;

	for (a = 0; a < 64; a++)
		for (b = 0; b < 64; b++) {
			memcpy(text, "A===", 4);
			text[0] = alphabet[a];
			text[1] = alphabet[b];
			ok = c->decode(out, text, 4) == 1;
			ck_assert_int_eq(ok, (b & 15) == 0);
			memcpy(text, "AAA=", 4);
			text[1] = alphabet[a];
			text[2] = alphabet[b];
			ok = c->decode(out, text, 4) == 2;
			ck_assert_int_eq(ok, (b & 3) == 0);
		}
}
END_TEST

/* Each length and alignment, the last byte read and written at a fault. */
START_TEST(test_lengths)
{
	const struct codec	*c = &codecs[_i];
	uint8_t			*data = room(400), *plain = room(400);
	char			*text = room(500), *tight = room(500);
	char			 want[404];
	size_t			 len, max, n, shift;

	for (len = 0; len <= 300; len++)
		for (shift = 0; shift < 33; shift += len % 7 + 1) {
			uint8_t	*d = data + 400 - len - shift;
			char	*t = text + 500 - B64_ENCODED_LEN(len) - shift;
			uint8_t	*p;

			fill(d, len);
			n = naive_encode(want, d, len);
			ck_assert_uint_eq(c->encode(t, d, len), n);
			ck_assert_uint_eq(n, B64_ENCODED_LEN(len));
			ck_assert_mem_eq(t, want, n);

			max = B64_DECODED_MAX(n);
			p = plain + 400 - max - shift;
			ck_assert_int_eq(c->decode(p, t, n), (ssize_t)len);
			ck_assert_mem_eq(p, d, len);
			ck_assert_mem_eq(t, want, n);

			/* in situ, at the edge of the page */
			memcpy(tight + 500 - n, want, n);
			ck_assert_int_eq(c->decode(tight + 500 - n,
			    tight + 500 - n, n), (ssize_t)len);
			ck_assert_mem_eq(tight + 500 - n, d, len);
		}
}
END_TEST

/* Nothing is written outside of the promised room. */
START_TEST(test_fences)
{
	const struct codec	*c = &codecs[_i];
	uint8_t			 data[300], out[512], fence[512];
	char			 text[512];
	size_t			 len, n;

	memset(fence, 0xa5, sizeof(fence));
	for (len = 0; len <= 300; len++) {
		fill(data, len);
		memset(text, 0xa5, sizeof(text));
		n = c->encode(text + 32, data, len);
		ck_assert_mem_eq(text, fence, 32);
		ck_assert_mem_eq(text + 32 + n, fence, 64);
		memset(out, 0xa5, sizeof(out));
		ck_assert_int_eq(c->decode(out + 32, text + 32, n),
		    (ssize_t)len);
		ck_assert_mem_eq(out, fence, 32);
		ck_assert_mem_eq(out + 32 + B64_DECODED_MAX(n), fence, 64);
	}
}
END_TEST

/* A few bytes damaged: the verdict and the bytes are those of the RFC. */
START_TEST(test_damage)
{
	const struct codec	*c = &codecs[_i];
	uint8_t			 data[300], got[304], want[304];
	char			 text[404];
	ssize_t			 n;
	size_t			 len;
	long			 round;
	int			 hits;

	for (round = 0; round < 40000; round++) {
		len = (size_t)random() % 300 + 1;
		fill(data, len);
		len = naive_encode(text, data, len);
		for (hits = (int)(random() % 3); hits > 0; hits--)
			text[(size_t)random() % len] =
			    random() % 2 ? (char)random() : '=';
		if (random() % 8 == 0)
			len -= (size_t)random() % len;
		n = naive_decode(want, text, len);
		ck_assert_int_eq(c->decode(got, text, len), n);
		if (n != -1)
			ck_assert_mem_eq(got, want, (size_t)n);
		ck_assert_int_eq(c->decode(text, text, len), n);
		if (n != -1)
			ck_assert_mem_eq(text, want, (size_t)n);
	}
}
END_TEST

START_TEST(test_large)
{
	const struct codec	*c = &codecs[_i];
	size_t			 len, n, max = (3 << 20) + 2;
	uint8_t			*data, *plain;
	char			*text, *want;

	data = malloc(max);
	plain = malloc(max + 3);
	text = malloc(B64_ENCODED_LEN(max));
	want = malloc(B64_ENCODED_LEN(max));
	ck_assert(data != NULL && plain != NULL);
	ck_assert(text != NULL && want != NULL);
	fill(data, max);
	for (len = max - 5; len <= max; len++) {
		n = naive_encode(want, data, len);
		ck_assert_uint_eq(c->encode(text, data, len), n);
		ck_assert(memcmp(text, want, n) == 0);
		ck_assert_int_eq(c->decode(plain, text, n), (ssize_t)len);
		ck_assert(memcmp(plain, data, len) == 0);
		ck_assert_int_eq(c->decode(text, text, n), (ssize_t)len);
		ck_assert(memcmp(text, data, len) == 0);
		/* one bad letter anywhere spoils it */
		want[(size_t)random() % n] = '-';
		ck_assert_int_eq(c->decode(want, want, n), -1);
	}
	free(data);
	free(plain);
	free(text);
	free(want);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("b64");
	TCase	*t = tcase_create("b64");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	srandom(64);
	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, test_vectors, 0, CODECS);
	tcase_add_loop_test(t, test_bad, 0, CODECS);
	tcase_add_loop_test(t, test_every_letter, 0, CODECS);
	tcase_add_loop_test(t, test_last_bits, 0, CODECS);
	tcase_add_loop_test(t, test_lengths, 0, CODECS);
	tcase_add_loop_test(t, test_fences, 0, CODECS);
	tcase_add_loop_test(t, test_damage, 0, CODECS);
	tcase_add_loop_test(t, test_large, 0, CODECS);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
