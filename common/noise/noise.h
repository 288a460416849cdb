/*
 * The handshake between a harness (initiator) and us (responder): Noise
 * hybridIK with X25519, ML-KEM-768, AES-256-GCM and SHA-256, byte by
 * byte in PROTOCOL 13.  Pure: what is random is given, no clock, no
 * sockets.  sodium_init() was called before.
 *
 * Structs with secrets are the caller's, who keeps them in memory that is
 * never written out, and wipes them with sodium_memzero() when they are not
 * needed any more; here is wiped what is said to be, and whatever was on the
 * stack.
 *
 * Refused beyond what the stock ends refuse: X25519 keys of low order (the
 * secret would be zero), which is allowed.
 */
#ifndef COMMON_NOISE_NOISE_H
#define COMMON_NOISE_NOISE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json/json_out.h"
#include "common/noise/gcm.h"
#include "common/noise/mlkem.h"
#include "common/span.h"

/* The label of our suite in the JSON of public keys. */
#define NOISE_SUITE	"Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"

/* bytes */
#define NOISE_DH		32
#define NOISE_HASH		32
#define NOISE_MESSAGE_MAX	65535
/* Either message with a payload of nothing. */
#define NOISE_REQUEST	(MLKEM_CIPHERTEXT_LEN + 2 * (NOISE_DH + \
			MLKEM_PUBLIC_LEN) + 3 * GCM_TAG)
#define NOISE_RESPONSE	(2 * MLKEM_CIPHERTEXT_LEN + NOISE_DH + \
			MLKEM_PUBLIC_LEN + 2 * GCM_TAG)

struct noise_public {
	uint8_t	 dh[NOISE_DH];
	uint8_t	 kem[MLKEM_PUBLIC_LEN];
};

/* A key pair, of a party or of a handshake. */
struct noise_identity {
	struct noise_public	 pub;
	uint8_t			 dh[NOISE_DH];		/* secret */
	uint8_t			 kem[MLKEM_SECRET_LEN];	/* secret */
};

/* What both ends must agree on before: the prologue. */
struct noise_name {
	struct span	 environment;
	struct span	 registration;
	struct span	 stream;
};

/* All that is random in one message; used for one only. */
struct noise_random {
	uint8_t	 dh[NOISE_DH];
	uint8_t	 kem[MLKEM_SEED_LEN];
	uint8_t	 m[2][MLKEM_RANDOM_LEN];	/* encapsulations, in order */
};

/* The running hash, the chaining key, the key and its counter. */
struct noise_symmetric {
	uint8_t		 h[NOISE_HASH];
	uint8_t		 ck[NOISE_HASH];
	uint8_t		 k[GCM_KEY];
	uint64_t	 n;
	bool		 has_key;
};

/* Between message 1 and message 2.  Both are secret. */
struct noise_responder {
	struct noise_symmetric	 sym;
	struct noise_public	 e;	/* the harness's, of this handshake */
	struct noise_public	 s;	/* the harness's own */
};
struct noise_initiator {
	struct noise_symmetric	 sym;
	struct noise_identity	 e;
};

/* What comes of it.  The counters of both keys begin at 0. */
struct noise_keys {
	uint8_t	 send[GCM_KEY];
	uint8_t	 receive[GCM_KEY];
	uint8_t	 hash[NOISE_HASH];	/* the same at both ends, public */
};

/*
 * The key pair of 32 random bytes and an ML-KEM seed (d || z).  0, or -1 with
 * errno EIO (the library failed); id is then wiped.
 */
int	 noise_identity_make(struct noise_identity *id,
	    const uint8_t dh[NOISE_DH], const uint8_t seed[MLKEM_SEED_LEN])
	    __attribute__((warn_unused_result));

/* Write keys as the registry knows them: an object of three members. */
void	 noise_public_write(struct json_out *o, const struct noise_public *p);

/* Fill from the system's source. */
void	 noise_random_fill(struct noise_random *r);

/*
 * Message 1 to the party whose keys are to: NOISE_REQUEST + len bytes at out.
 * Returns that number, or -1 with errno EMSGSIZE (above NOISE_MESSAGE_MAX),
 * EPROTO (keys that must not be used), EIO (the library failed) or ENOMEM; i
 * is then wiped.
 */
int	 noise_request(struct noise_initiator *i,
	    const struct noise_identity *self, const struct noise_public *to,
	    const struct noise_name *name, const struct noise_random *random,
	    const void *payload, size_t len, uint8_t *out)
	    __attribute__((warn_unused_result));

/*
 * Read message 1; the payload goes to payload_out, size bytes at most.
 * Returns its length, or -1 with errno EMSGSIZE (shorter or longer than
 * possible, or than size), EPROTO (not meant for us, damaged, keys that must
 * not be used), EIO or ENOMEM; r is then wiped.
 */
int	 noise_take_request(struct noise_responder *r,
	    const struct noise_identity *self, const struct noise_name *name,
	    const uint8_t *msg, size_t len, uint8_t *payload_out, size_t size)
	    __attribute__((warn_unused_result));

/*
 * Message 2 and the keys: NOISE_RESPONSE + len bytes at out.  Returns that
 * number, or -1 with errno EMSGSIZE, EIO or ENOMEM; keys_out is then wiped.
 * r is wiped in any case.
 */
int	 noise_response(struct noise_responder *r,
	    const struct noise_random *random, const void *payload, size_t len,
	    uint8_t *out, struct noise_keys *keys_out)
	    __attribute__((warn_unused_result));

/*
 * Read message 2; as noise_take_request().  i is wiped in any case, keys_out
 * on failure.
 */
int	 noise_take_response(struct noise_initiator *i,
	    const struct noise_identity *self, const uint8_t *msg, size_t len,
	    uint8_t *payload_out, size_t size, struct noise_keys *keys_out)
	    __attribute__((warn_unused_result));

#endif
