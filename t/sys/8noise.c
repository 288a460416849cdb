/*
 * The harness's end of Noise for tests of remote mode: 8harness.py asks on
 * standard input, one request at a time, and gets an answer for each.  Both are
 * a length of 4 bytes, big-endian, and that many bytes: a letter, then fields,
 * each with its length in front likewise.
 *
 *	I				make a key pair: party, X25519 and
 *					ML-KEM public key
 *	M party, X25519, ML-KEM,	message 1 to an executor with those
 *	  environment, registration,	keys: channel, message
 *	  stream, authorization
 *	T channel, message 2		its payload; the channel is open then
 *	S channel, plaintext		seal a record of any size: counter,
 *					record
 *	O channel, counter, record	open one: plaintext
 *	F party or channel		forget it
 *
 * An answer begins with "." or "!", the latter with the reason as its only
 * field.  Parties and channels are numbers of 4 bytes, big-endian, and so are
 * counters.
 */
#include <err.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/noise.h"

#define THINGS		16384
#define REQUEST_MAX	(4 * 1024 * 1024)

enum kind { NONE, PARTY, WAITING, OPEN };

struct thing {
	enum kind		 kind;
	struct noise_identity	 self;		/* PARTY, WAITING */
	struct noise_initiator	 handshake;	/* WAITING */
	struct gcm		 seal, open;	/* OPEN */
	uint32_t		 counter;
};

static struct thing	*things[THINGS];
static uint8_t		 request[REQUEST_MAX];
static size_t		 request_len, request_at;
static uint8_t		 answer[REQUEST_MAX + 1024];
static size_t		 answer_len;

/* --- fields ----------------------------------------------------------------*/

static uint32_t
get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 |
	    (uint32_t)p[2] << 8 | p[3];
}

static void
put32(uint8_t *p, uint32_t n)
{
	p[0] = (uint8_t)(n >> 24);
	p[1] = (uint8_t)(n >> 16);
	p[2] = (uint8_t)(n >> 8);
	p[3] = (uint8_t)n;
}

static struct span
field(void)
{
	struct span	 s;

	if (request_len - request_at < 4)
		errx(1, "a field is missing");
	s.len = get32(request + request_at);
	request_at += 4;
	if (request_len - request_at < s.len)
		errx(1, "a field is cut");
	s.at = (const char *)request + request_at;
	request_at += s.len;
	return s;
}

static uint32_t
number(void)
{
	struct span	 s = field();

	if (s.len != 4)
		errx(1, "not a number");
	return get32((const uint8_t *)s.at);
}

static void
fill(uint8_t *to, size_t len)
{
	struct span	 s = field();

	if (s.len != len)
		errx(1, "a field of %zu bytes, not %zu", s.len, len);
	memcpy(to, s.at, len);
}

/* Room for a field of the answer, to be filled by the caller. */
static uint8_t *
room(size_t len)
{
	uint8_t	*p = answer + answer_len + 4;

	if (len > sizeof(answer) - answer_len - 4)
		errx(1, "no room for the answer");
	put32(p - 4, (uint32_t)len);
	answer_len += 4 + len;
	return p;
}

static void
begin(char letter)
{
	answer[0] = (uint8_t)letter;
	answer_len = 1;
}

static void
refuse(void)
{
	const char	*why = strerror(errno);

	begin('!');
	memcpy(room(strlen(why)), why, strlen(why));
}

/* --- parties and channels --------------------------------------------------*/

static struct thing *
find(uint32_t n, enum kind kind)
{
	if (n >= THINGS || things[n] == NULL || things[n]->kind != kind)
		errx(1, "%u is not of that kind", n);
	return things[n];
}

static struct thing *
add(enum kind kind)
{
	struct thing	*t;
	uint32_t	 n;

	for (n = 0; n < THINGS && things[n] != NULL; n++)
		continue;
	if (n == THINGS)
		errx(1, "too many parties and channels");
	if ((t = calloc(1, sizeof(*t))) == NULL)
		err(1, NULL);
	t->kind = kind;
	things[n] = t;
	put32(room(4), n);
	return t;
}

static void
make_party(void)
{
	uint8_t		 dh[NOISE_DH], seed[MLKEM_SEED_LEN];
	struct thing	*t = add(PARTY);

	randombytes_buf(dh, sizeof(dh));
	randombytes_buf(seed, sizeof(seed));
	if (noise_identity_make(&t->self, dh, seed) == -1)
		err(1, "key pair");
	memcpy(room(NOISE_DH), t->self.pub.dh, NOISE_DH);
	memcpy(room(MLKEM_PUBLIC_LEN), t->self.pub.kem, MLKEM_PUBLIC_LEN);
}

static void
make_request(void)
{
	struct thing		*party = find(number(), PARTY), *t;
	struct noise_public	 to;
	struct noise_name	 name;
	struct noise_random	 random;
	struct span		 payload;
	size_t			 size;

	fill(to.dh, sizeof(to.dh));
	fill(to.kem, sizeof(to.kem));
	name.environment = field();
	name.registration = field();
	name.stream = field();
	payload = field();
	noise_random_fill(&random);
	t = add(WAITING);
	t->self = party->self;
	size = NOISE_REQUEST + payload.len;
	if (noise_request(&t->handshake, &t->self, &to, &name, &random,
	    payload.at, payload.len, room(size)) == -1)
		err(1, "message 1");
}

static void
take_response(void)
{
	static uint8_t		 payload[NOISE_MESSAGE_MAX];
	struct thing		*t = find(number(), WAITING);
	struct span		 m = field();
	struct noise_keys	 keys;
	int			 len;

	len = noise_take_response(&t->handshake, &t->self,
	    (const uint8_t *)m.at, m.len, payload, sizeof(payload), &keys);
	if (len == -1) {
		refuse();
		return;
	}
	if (gcm_init(&t->seal, keys.send, true) == -1 ||
	    gcm_init(&t->open, keys.receive, false) == -1)
		err(1, "keys");
	t->kind = OPEN;
	memcpy(room((size_t)len), payload, (size_t)len);
}

static void
seal_record(void)
{
	struct thing		*t = find(number(), OPEN);
	struct span		 s = field();
	const struct gcm_ad	 nothing = { NULL, 0 };

	put32(room(4), t->counter);
	if (gcm_seal(&t->seal, t->counter, nothing, (const uint8_t *)s.at,
	    s.len, room(s.len + GCM_TAG)) == -1)
		refuse();
	t->counter++;
}

static void
open_record(void)
{
	struct thing		*t = find(number(), OPEN);
	uint32_t		 n = number();
	struct span		 s = field();
	const struct gcm_ad	 nothing = { NULL, 0 };

	if (s.len < GCM_TAG) {
		errno = EBADMSG;
		refuse();
	} else if (gcm_open(&t->open, n, nothing, (const uint8_t *)s.at,
	    s.len, room(s.len - GCM_TAG)) == -1)
		refuse();
}

static void
forget(void)
{
	uint32_t	 n = number();

	if (n >= THINGS || things[n] == NULL)
		errx(1, "%u is forgotten already", n);
	gcm_fini(&things[n]->seal);
	gcm_fini(&things[n]->open);
	free(things[n]);
	things[n] = NULL;
}

/* --- the conversation ------------------------------------------------------*/

static const struct {
	char	  letter;
	void	(*make)(void);
} requests[] = {
	{ 'I', make_party },
	{ 'M', make_request },
	{ 'T', take_response },
	{ 'S', seal_record },
	{ 'O', open_record },
	{ 'F', forget }
};

static void
serve(void)
{
	size_t	 i;

	begin('.');
	request_at = 1;
	for (i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		if (request_len > 0 && requests[i].letter == (char)request[0]) {
			requests[i].make();
			return;
		}
	}
	errx(1, "no such request");
}

int
main(void)
{
	uint8_t	 len[4];

	if (sodium_init() == -1)
		errx(1, "libsodium does not start");
	while (fread(len, sizeof(len), 1, stdin) == 1) {
		request_len = get32(len);
		if (request_len > sizeof(request))
			errx(1, "a request of %zu bytes", request_len);
		if (fread(request, 1, request_len, stdin) != request_len)
			errx(1, "a request is cut");
		serve();
		put32(len, (uint32_t)answer_len);
		if (fwrite(len, sizeof(len), 1, stdout) != 1 ||
		    fwrite(answer, 1, answer_len, stdout) != answer_len ||
		    fflush(stdout) == EOF)
			err(1, "standard output");
	}
	return 0;
}
