/*
 * common/noise/noise.c on hostile bytes.  First byte: 0 the rest is message
 * 1; 1 the rest is message 2; 2 the rest lies, from some place on, over a good
 * message 1; 3 it is a harness that does everything right with keys of its own
 * making: the X25519 key, then the ML-KEM key, then the payload.  All that is
 * random is fixed: the keys are those of the vectors.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/noise.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct noise_name	 name = {
	{ "env-vector", 10 }, { "reg-0001", 8 },
	{ "0f8b6f0e-53d9-4c43-8b36-0d8a9a4f2b11", 36 }
};

static const char		 authorization[] =
    "vector-harness-key-authorization";

static struct noise_identity	 executor, harness;
static struct noise_random	 random_of[2];
static uint8_t			 m1[NOISE_MESSAGE_MAX];
static uint8_t			 m2[NOISE_MESSAGE_MAX];
static uint8_t			 text[NOISE_MESSAGE_MAX];

/* X25519 secret, then ML-KEM seed. */
static const char *const	 keys[] = {
	/* executor */
	"a4b4bfe5af3a9974944842f18b1dfb5989357f51828a38605cf57a489b335240"
	"350027d24db7e7b72f1eae1060facf8e2c0eb0ce6db402cc9eee559ca69807d1"
	"df5446afb9ff7883e94787defd5c3cb523c3b6205c5989706c27b5f7912bd67a",
	/* harness */
	"7edd0fa5ee7803be52377ba2f9ed78494331f48a334003431176dc3f4dfe4948"
	"4ba7bfcc04683427b36bab92173ff84e744a1fc7e6d4b09cddb8629d1160f02e"
	"a104758d9853305ae7075002e47be4abef6b787efdccbe5378f93c78f5f93ef6",
	/* harness of a handshake */
	"86e22bee07c7ea1f154fe0ac491248c2ffd8dc0f628b165e827880cc8e10ec55"
	"d2d02bb26eecca19cb23cacb309a0715cfcf745c013d26543f8b00e7e777e4d3"
	"7a3b3d76f22a8a7459276820c6c58d399811a8c5ebed0d392321e0ca60f23ebc",
	/* executor of a handshake */
	"6ff7b49ada9fde76b6d17e4cbfed4233a6a63742c3b90a0754f08cbf0aa8c727"
	"5911224dc7b097766b38d81d1190552dc91b465c8d282b576976eb4fad9aa7d6"
	"2e6be3d9fdead390cdf164fd74277150f6c3d0d7c5f9ddfddd910b5b95986a85",
};
/* Encapsulations of message 1, of message 2. */
static const char *const	 ms[] = {
	"a4211d63c853119156c5885527a3fbbb9ded15bf182dfff2737bef9b8fa5e4ff",
	"e2455bff8cd78972d5d9cfbffe9e1549777532569d87e28f84be71a4561bacff",
	"e33f6b178f70a5e4e0d66b121ebf5a949edc7b71af8476910f97eb9b00e0160b",
};

static void
unhex(uint8_t *out, size_t len, const char *hex)
{
	size_t	 got;

	MUST(sodium_hex2bin(out, len, hex, 2 * len, NULL, &got, NULL) == 0 &&
	    got == len);
}

static void
make_identity(struct noise_identity *id, const char *hex)
{
	uint8_t	 dh[NOISE_DH], seed[MLKEM_SEED_LEN];

	unhex(dh, sizeof(dh), hex);
	unhex(seed, sizeof(seed), hex + 2 * sizeof(dh));
	MUST(noise_identity_make(id, dh, seed) == 0);
}

static void
setup(void)
{
	static int	 is_ready;
	int		 i;

	if (is_ready)
		return;
	MUST(sodium_init() != -1);
	make_identity(&executor, keys[0]);
	make_identity(&harness, keys[1]);
	for (i = 0; i < 2; i++) {
		unhex(random_of[i].dh, NOISE_DH, keys[2 + i]);
		unhex(random_of[i].kem, MLKEM_SEED_LEN,
		    keys[2 + i] + 2 * NOISE_DH);
	}
	unhex(random_of[0].m[0], 32, ms[0]);
	unhex(random_of[1].m[0], 32, ms[1]);
	unhex(random_of[1].m[1], 32, ms[2]);
	is_ready = 1;
}

static int
take(struct noise_responder *r, const uint8_t *msg, size_t len)
{
	int	 n;

	n = noise_take_request(r, &executor, &name, msg, len, text,
	    sizeof(text));
	if (n == -1)
		MUST(sodium_is_zero((uint8_t *)r, sizeof(*r)));
	else
		MUST((size_t)n == len - NOISE_REQUEST);
	return n;
}

static void
message_1(const uint8_t *data, size_t size)
{
	struct noise_responder	 r;

	(void)take(&r, data, size);
}

static void
message_2(const uint8_t *data, size_t size)
{
	struct noise_initiator	 i;
	struct noise_keys	 got;
	int			 n;

	MUST(noise_request(&i, &harness, &executor.pub, &name, &random_of[0],
	    authorization, strlen(authorization), m1) > 0);
	n = noise_take_response(&i, &harness, data, size, text, sizeof(text),
	    &got);
	MUST(sodium_is_zero((uint8_t *)&i, sizeof(i)));
	if (n == -1)
		MUST(sodium_is_zero((uint8_t *)&got, sizeof(got)));
	else
		MUST((size_t)n == size - NOISE_RESPONSE);
}

static void
patched(const uint8_t *data, size_t size)
{
	struct noise_initiator	 i;
	struct noise_responder	 r;
	size_t			 at;
	int			 n;

	if (size < 2)
		return;
	at = (size_t)(data[0] << 8 | data[1]) % NOISE_REQUEST;
	data += 2;
	size -= 2;
	MUST(noise_request(&i, &harness, &executor.pub, &name, &random_of[0],
	    "", 0, m1) == NOISE_REQUEST);
	if (size > NOISE_REQUEST - at)
		size = NOISE_REQUEST - at;
	n = memcmp(m1 + at, data, size);
	memcpy(m1 + at, data, size);
	MUST((take(&r, m1, NOISE_REQUEST) == -1) == (n != 0));
}

/* It is either refused, or both ends come to the same keys. */
static void
own_keys(const uint8_t *data, size_t size)
{
	struct noise_identity	 self = harness;
	struct noise_initiator	 i;
	struct noise_responder	 r;
	struct noise_keys	 ours, theirs;
	size_t			 n = size < sizeof(self.pub) ? size :
				    sizeof(self.pub);

	memcpy(&self.pub, data, n);
	data += n;
	size -= n;
	if (size > NOISE_MESSAGE_MAX - NOISE_REQUEST)
		return;
	MUST(noise_request(&i, &self, &executor.pub, &name, &random_of[0],
	    data, size, m1) == (int)(NOISE_REQUEST + size));
	/* Of another key than its secret only the first tags fit. */
	if (take(&r, m1, NOISE_REQUEST + size) == -1) {
		MUST(memcmp(&self.pub, &harness.pub, sizeof(self.pub)) != 0);
		return;
	}
	MUST(size == 0 || memcmp(text, data, size) == 0);
	MUST(memcmp(&r.s, &self.pub, sizeof(r.s)) == 0);
	MUST(noise_response(&r, &random_of[1], "why", 3, m2, &ours) ==
	    NOISE_RESPONSE + 3);
	if (memcmp(&self.pub, &harness.pub, sizeof(self.pub)) != 0)
		return;
	MUST(noise_take_response(&i, &self, m2, NOISE_RESPONSE + 3, text, 3,
	    &theirs) == 3);
	MUST(memcmp(ours.send, theirs.receive, GCM_KEY) == 0);
	MUST(memcmp(ours.receive, theirs.send, GCM_KEY) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void	(*const kinds[])(const uint8_t *, size_t) = {
		message_1, message_2, patched, own_keys
	};

	if (size == 0)
		return 0;
	setup();
	kinds[data[0] % 4](data + 1, size - 1);
	return 0;
}
