/*
 * What we show to a NATS server, in the line CONNECT: a password, a token, an
 * nkey (an Ed25519 key) or a signed JWT with one.  Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/span.h"

#define NATSCRED_PUBLIC_LEN	56	/* characters of a public nkey */
#define NATSCRED_SEED_LEN	58

struct natscred;

/*
 * A file's text: USER:PASSWORD, the seed of an nkey (SU...), credentials of nsc
 * (-----BEGIN NATS USER JWT-----), or a token.  Locked memory.  NULL: why.
 */
struct natscred	*natscred_new(const char *text, size_t len, const char **why);
void		 natscred_free(struct natscred **cp);

/*
 * Append CONNECT: name is for the lists of the server, nonce what it gave us to
 * sign, or absent.  c NULL: none.  0, or -1 with errno.
 */
int		 natscred_connect(const struct natscred *c, struct span nonce,
		    const char *name, struct buf *out) MUST_CHECK;

/* The public key of a seed, for who has to enter it; NULL: not a seed. */
const char	*natscred_public(const struct natscred *c);
