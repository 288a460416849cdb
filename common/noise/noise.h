/*
 * The handshake of harness (initiator) and executor (responder): Noise hybridIK
 * with X25519, ML-KEM-768, AES-256-GCM and SHA-256 (PROTOCOL 13).  Pure; call
 * sodium_init() before.  The caller keeps structs with secrets in locked memory
 * and wipes them, unless noted.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/json/json_out.h"
#include "common/noise/gcm.h"
#include "common/noise/mlkem.h"
#include "common/span.h"

/* In the JSON of public keys. */
#define NOISE_SUITE	"Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"

#define NOISE_DH		32
#define NOISE_HASH		32
#define NOISE_MESSAGE_MAX	65535
/* Without payload. */
#define NOISE_REQUEST	(MLKEM_CIPHERTEXT_LEN + 2 * (NOISE_DH + \
			MLKEM_PUBLIC_LEN) + 3 * GCM_TAG)
#define NOISE_RESPONSE	(2 * MLKEM_CIPHERTEXT_LEN + NOISE_DH + \
			MLKEM_PUBLIC_LEN + 2 * GCM_TAG)

struct noise_public {
	uint8_t	 dh[NOISE_DH];
	uint8_t	 kem[MLKEM_PUBLIC_LEN];
};

struct noise_identity {
	struct noise_public	 pub;
	uint8_t			 dh[NOISE_DH];		/* secret */
	uint8_t			 kem[MLKEM_SECRET_LEN];	/* secret */
};

/* Prologue. */
struct noise_name {
	struct span	 environment;
	struct span	 registration;
	struct span	 stream;
};

/* Of one message. */
struct noise_random {
	uint8_t	 dh[NOISE_DH];
	uint8_t	 kem[MLKEM_SEED_LEN];
	uint8_t	 m[2][MLKEM_RANDOM_LEN];	/* for encapsulations */
};

struct noise_symmetric {
	uint8_t		 h[NOISE_HASH];
	uint8_t		 ck[NOISE_HASH];
	uint8_t		 k[GCM_KEY];
	uint64_t	 n;
};

/* Between messages 1 and 2; secret. */
struct noise_responder {
	struct noise_symmetric	 sym;
	struct noise_public	 e;	/* harness, ephemeral */
	struct noise_public	 s;	/* harness, static */
};
struct noise_initiator {
	struct noise_symmetric	 sym;
	struct noise_identity	 e;
};

/* Both counters begin at 0. */
struct noise_keys {
	uint8_t	 send[GCM_KEY];
	uint8_t	 receive[GCM_KEY];
	uint8_t	 hash[NOISE_HASH];	/* handshake hash, public */
};

/* -1: errno EIO (the library), id is wiped. */
int	 noise_identity_make(struct noise_identity *id,
	    const uint8_t dh[NOISE_DH], const uint8_t seed[MLKEM_SEED_LEN])
	    MUST_CHECK;

/* JSON for the registry. */
void	 noise_public_write(struct json_out *o, const struct noise_public *p);

void	 noise_random_fill(struct noise_random *r);

/*
 * Message 1 to the owner of to.  Return NOISE_REQUEST + len, or -1 with errno
 * EMSGSIZE (above NOISE_MESSAGE_MAX), EPROTO (unusable keys), EIO (the library)
 * or ENOMEM, and i wiped.
 */
int	 noise_request(struct noise_initiator *i,
	    const struct noise_identity *self, const struct noise_public *to,
	    const struct noise_name *name, const struct noise_random *random,
	    const void *payload, size_t len, uint8_t *out) MUST_CHECK;

/*
 * Message 1.  Return the length of its payload, or -1 with errno EMSGSIZE
 * (message or payload), EPROTO (not for us, damaged, unusable keys), EIO or
 * ENOMEM, and r wiped.
 */
int	 noise_take_request(struct noise_responder *r,
	    const struct noise_identity *self, const struct noise_name *name,
	    const uint8_t *msg, size_t len, uint8_t *payload_out, size_t size)
	    MUST_CHECK;

/*
 * Message 2 and the keys; r is wiped.  Return NOISE_RESPONSE + len, or -1 with
 * errno EMSGSIZE, EIO or ENOMEM, and keys_out wiped.
 */
int	 noise_response(struct noise_responder *r,
	    const struct noise_random *random, const void *payload, size_t len,
	    uint8_t *out, struct noise_keys *keys_out) MUST_CHECK;

/* Message 2; as noise_take_request().  i is wiped, keys_out on failure. */
int	 noise_take_response(struct noise_initiator *i,
	    const struct noise_identity *self, const uint8_t *msg, size_t len,
	    uint8_t *payload_out, size_t size, struct noise_keys *keys_out)
	    MUST_CHECK;
