/*
 * Tickets: what a hub has granted, signed, so that no hub has to remember it;
 * not secret from who holds them.  The environment is signed, but not in it.
 * Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/span.h"

#define TICKET_SUBJECT_MAX	72	/* bytes */
#define TICKET_LABELS_MAX	96
#define TICKET_MAX		1945	/* bytes of text: below 1.9 KiB */
#define TICKET_SECRET_MIN	32	/* bytes of a site's secret */
#define TICKET_SECRETS		2	/* that are valid at a time */

#define TICKET_MAC_LEN	32
#define TICKET_NONCE_LEN	8

#define REGISTRATION_LEN	16
#define REGISTRATION_TEXT	(2 * REGISTRATION_LEN)	/* hexadecimal */

#define HUBKEY_DH_LEN		32	/* X25519 */
#define HUBKEY_KEM_LEN		1184	/* ML-KEM-768 */
#define HUBKEY_HASH_LEN		32

enum ticket_role {
	TICKET_EXECUTOR,	/* to attach as an environment's executor */
	TICKET_HARNESS,		/* to attach as one of its harnesses */
	TICKET_AUTHORIZATION,	/* what a harness shows to the executor */
	TICKET_FLEET,		/* no ticket: messages between hubs */
	TICKET_ROLES
};

enum ticket_verdict {
	TICKET_GOOD,
	TICKET_FORGED,		/* not ours, of another role or environment */
	TICKET_EXPIRED,
	TICKET_EARLY		/* made in the future: a wrong clock */
};

struct hubkey {
	uint8_t	 dh[HUBKEY_DH_LEN];
	uint8_t	 kem[HUBKEY_KEM_LEN];
};

struct ticket {
	uint64_t	 made, until;
	uint8_t		 registration[REGISTRATION_LEN];
	char		 subject[TICKET_SUBJECT_MAX + 1];
	uint32_t	 limit, rate;	/* 0: none */
	char		 labels[TICKET_LABELS_MAX + 1];	/* executor's */
	struct hubkey	 key;				/* likewise */
	uint8_t		 nonce[TICKET_NONCE_LEN];	/* of the others */
	uint8_t		 harness[HUBKEY_HASH_LEN];	/* likewise */
};

/* What signs and verifies; to be kept in locked memory. */
struct ticket_keys {
	size_t	 n;		/* the first one signs */
	uint8_t	 key[TICKET_SECRETS][TICKET_ROLES][32];
};

/* Add the keys of a secret.  0, or -1: too short, or too many. */
int	 ticket_keys_add(struct ticket_keys *k, const void *secret, size_t len)
	    MUST_CHECK;

/* Sign two pieces, one behind the other; or whether they are, by any secret. */
void	 ticket_sign(const struct ticket_keys *k, enum ticket_role role,
	    struct span a, struct span b, uint8_t mac[TICKET_MAC_LEN]);
bool	 ticket_is_signed(const struct ticket_keys *k, enum ticket_role role,
	    struct span a, struct span b, const uint8_t mac[TICKET_MAC_LEN])
	    MUST_CHECK;

/* Write it and a NUL; return the length.  The caller sets made. */
size_t	 ticket_write(const struct ticket_keys *k, enum ticket_role role,
	    const char *environment, const struct ticket *t,
	    char out[TICKET_MAX + 1]);

/* skew: the tolerated difference of clocks, in seconds. */
enum ticket_verdict ticket_read(const struct ticket_keys *k,
	    enum ticket_role role, const char *environment, struct span text,
	    uint64_t now, uint64_t skew, struct ticket *out) MUST_CHECK;

/* For x-codex-rendezvous-rejection-reason and the log: "expired". */
const char *ticket_why(enum ticket_verdict v);

/* Of this moment, in ms. */
void	 registration_make(uint8_t out[REGISTRATION_LEN], uint64_t now_ms);
void	 registration_text(const uint8_t id[REGISTRATION_LEN],
	    char out[REGISTRATION_TEXT + 1]);

/* What is random in one, as long as the nonce of a ticket. */
static inline const uint8_t *
registration_nonce(const uint8_t id[REGISTRATION_LEN])
{
	return id + REGISTRATION_LEN - TICKET_NONCE_LEN;
}

void	 hubkey_hash(const struct hubkey *key, uint8_t out[HUBKEY_HASH_LEN]);
