#include "master/hub/fleet/natscred.h"

#include <errno.h>
#include <sodium.h>
#include <stdalign.h>
#include <string.h>

#include "common/json/json_out.h"
#include "config.h"

#define PREFIX_SEED	(18 << 3)	/* 'S' */
#define PREFIX_USER	(20 << 3)	/* 'U' */
#define SEED_RAW	36		/* bytes: prefixes, seed, CRC */
#define PUBLIC_RAW	35
#define TEXT_MAX	16384
#define ALIGN		alignof(struct natscred)

struct natscred {
	char	*user, *password, *token, *jwt;		/* into text */
	int	 has_key;
	uint8_t	 secret[crypto_sign_SECRETKEYBYTES];
	char	 public[NATSCRED_PUBLIC_LEN + 1];
	char	 text[];
};

/* --- nkeys: base32 (RFC 4648) of prefix, key and CRC-16 --- */

static const char	 alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

static uint16_t
natscred_crc(const uint8_t *data, size_t len)
{
	uint16_t	 crc = 0;
	size_t		 i;
	int		 bit;

	for (i = 0; i < len; i++) {
		crc = (uint16_t)(crc ^ data[i] << 8);
		for (bit = 0; bit < 8; bit++)
			crc = (uint16_t)(crc << 1 ^ (crc & 0x8000 ? 0x1021 :
			    0));
	}
	return crc;
}

/* -1: it is no base32 of so many bytes. */
static int
natscred_decode(const char *text, size_t len, uint8_t *out, size_t size)
{
	const char	*at;
	uint32_t	 bits = 0;
	unsigned	 n = 0;
	size_t		 i, done = 0;

	for (i = 0; i < len; i++) {
		if (text[i] == '\0' || (at = strchr(alphabet, text[i])) ==
		    NULL)
			return -1;
		bits = bits << 5 | (uint32_t)(at - alphabet);
		if ((n += 5) < 8)
			continue;
		n -= 8;
		if (done == size)
			return -1;
		out[done++] = (uint8_t)(bits >> n);
		bits &= (1U << n) - 1;
	}
	return done == size && bits == 0 ? 0 : -1;
}

static void
natscred_encode(const uint8_t *data, size_t len, char *out)
{
	uint32_t	 bits = 0;
	unsigned	 n = 0;
	size_t		 i;

	for (i = 0; i < len; i++) {
		bits = bits << 8 | data[i];
		for (n += 8; n >= 5; n -= 5)
			*out++ = alphabet[bits >> (n - 5) & 31];
	}
	*out = '\0';
}

static int
natscred_take_seed(struct natscred *c, const char *text, size_t len)
{
	uint8_t		 raw[SEED_RAW], public[PUBLIC_RAW];
	uint16_t	 crc;
	int		 r = -1;

	if (len == NATSCRED_SEED_LEN &&
	    natscred_decode(text, len, raw, sizeof(raw)) == 0 &&
	    natscred_crc(raw, SEED_RAW - 2) == (raw[34] | raw[35] << 8) &&
	    raw[0] == (PREFIX_SEED | PREFIX_USER >> 5) &&
	    raw[1] == (uint8_t)((PREFIX_USER & 31) << 3)) {
		crypto_sign_seed_keypair(public + 1, c->secret, raw + 2);
		public[0] = PREFIX_USER;
		crc = natscred_crc(public, PUBLIC_RAW - 2);
		public[33] = (uint8_t)crc;
		public[34] = (uint8_t)(crc >> 8);
		natscred_encode(public, sizeof(public), c->public);
		c->has_key = 1;
		r = 0;
	}
	sodium_memzero(raw, sizeof(raw));
	return r;
}

/* --- the file --- */

/* The line behind the one that begins so, in place. */
static char *
natscred_block(char *text, const char *begin)
{
	char	*at = strstr(text, begin), *end;

	if (at == NULL || (at = strchr(at, '\n')) == NULL)
		return NULL;
	while (*at == '\r' || *at == '\n')
		at++;
	end = at + strcspn(at, " \r\n");
	return end > at && *end != '\0' ? at : NULL;
}

static const char *
natscred_take_file(struct natscred *c)
{
	char	*jwt = natscred_block(c->text, "BEGIN NATS USER JWT");
	char	*seed = natscred_block(c->text, "BEGIN USER NKEY SEED");

	if (jwt == NULL || seed == NULL)
		return "expected a NATS USER JWT and a USER NKEY SEED";
	if (natscred_take_seed(c, seed, strcspn(seed, " \r\n")) == -1)
		return "the seed is damaged";
	jwt[strcspn(jwt, " \r\n")] = '\0';
	c->jwt = jwt;
	return NULL;
}

static const char *
natscred_take(struct natscred *c, size_t len)
{
	char	*colon;

	if (strncmp(c->text, "-----BEGIN", 10) == 0)
		return natscred_take_file(c);
	if (len == 0 || strpbrk(c->text, "\r\n") != NULL ||
	    strlen(c->text) != len)
		return "expected one line: USER:PASSWORD, a seed, or a token";
	if (strncmp(c->text, "SU", 2) == 0 &&
	    natscred_take_seed(c, c->text, len) == 0)
		return NULL;
	if ((colon = strchr(c->text, ':')) == NULL) {
		c->token = c->text;
		return NULL;
	}
	*colon = '\0';
	c->user = c->text;
	c->password = colon + 1;
	return NULL;
}

struct natscred *
natscred_new(const char *text, size_t len, const char **why)
{
	struct natscred	*c;
	size_t		 size;

	while (len > 0 && strchr(" \t\r\n", text[len - 1]) != NULL)
		len--;
	if (len > TEXT_MAX) {
		*why = "too long";
		return NULL;
	}
	/* It is at the end of a page: aligned if its size is. */
	size = (sizeof(*c) + len + 2 + ALIGN - 1) / ALIGN * ALIGN;
	if ((c = sodium_malloc(size)) == NULL) {
		*why = strerror(errno);
		return NULL;
	}
	memset(c, 0, size);
	memcpy(c->text, text, len);
	if ((*why = natscred_take(c, len)) != NULL)
		natscred_free(&c);
	return c;
}

void
natscred_free(struct natscred **cp)
{
	if (*cp != NULL)
		sodium_free(*cp);	/* wipes it */
	*cp = NULL;
}

const char *
natscred_public(const struct natscred *c)
{
	return c->has_key ? c->public : NULL;
}

/* --- CONNECT --- */

static void
natscred_pair(struct json_out *o, const char *key, const char *text)
{
	if (text != NULL)
		json_out_pair(o, key, text);
}

static void
natscred_sign(const struct natscred *c, struct span nonce, struct json_out *o)
{
	uint8_t	 sig[crypto_sign_BYTES];
	char	 text[128];

	crypto_sign_detached(sig, NULL, (const uint8_t *)nonce.at, nonce.len,
	    c->secret);
	sodium_bin2base64(text, sizeof(text), sig, sizeof(sig),
	    sodium_base64_VARIANT_URLSAFE_NO_PADDING);
	natscred_pair(o, "sig", text);
}

int
natscred_connect(const struct natscred *c, struct span nonce, const char *name,
    struct buf *out)
{
	struct json_out	 o;

	if (buf_put(out, "CONNECT ", 8) == -1)
		return -1;
	json_out_init(&o, out);
	json_out_open(&o, '{');
	json_out_pair_bool(&o, "verbose", false);
	json_out_pair_bool(&o, "pedantic", false);
	/* What we say to all is not for us. */
	json_out_pair_bool(&o, "echo", false);
	json_out_pair_bool(&o, "headers", true);
	json_out_pair_bool(&o, "no_responders", true);
	natscred_pair(&o, "lang", "c");
	natscred_pair(&o, "version", PACKAGE_VERSION);
	natscred_pair(&o, "name", name);
	json_out_pair_u64(&o, "protocol", 1);
	if (c != NULL) {
		natscred_pair(&o, "user", c->user);
		natscred_pair(&o, "pass", c->password);
		natscred_pair(&o, "auth_token", c->token);
		natscred_pair(&o, "jwt", c->jwt);
		if (c->has_key && c->jwt == NULL)
			natscred_pair(&o, "nkey", c->public);
		if (c->has_key && nonce.at != NULL)
			natscred_sign(c, nonce, &o);
	}
	json_out_close(&o, '}');
	return json_out_fini(&o) == -1 ? -1 : buf_put(out, "\r\n", 2);
}
