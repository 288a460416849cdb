/*
 * The tokens that clients may show: hashes, and the secret for signed ones, in
 * locked memory.  A set never changes: a reload makes another one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "master/auth/peer.h"
#include "master/auth/runas.h"

struct tokens;

struct grant {
	char		 identity[IDENTITY_MAX];
	struct runas	 user;
};

/* Of a configuration and its files.  NULL with the reason in e. */
struct tokens	*tokens_load(const struct conf *c, struct conf_error *e)
		    MUST_CHECK;
void		 tokens_free(struct tokens **tp);

/* Wipe them in a loaded configuration; whether it has any, or names files. */
void		 tokens_wipe(struct conf *c);
bool		 tokens_wanted(const struct conf *c);

/* Whether there are tokens or a secret; false for NULL. */
bool		 tokens_any(const struct tokens *t);

/*
 * NULL: valid, and out is set.  Else why not, for the log; is_guess_out: it is
 * not signed by us.  now: Unix seconds.
 */
const char	*tokens_judge(const struct tokens *t, const void *shown,
		    size_t len, uint64_t now, struct grant *out,
		    bool *is_guess_out) MUST_CHECK;
