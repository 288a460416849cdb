/*
 * The tokens that clients may show: hashes of those that the configuration
 * has, and the secret that others are signed with, in locked memory.  A set is
 * made as a whole and never changed: to read anew is to make another one.
 */
#ifndef MASTER_AUTH_TOKENS_H
#define MASTER_AUTH_TOKENS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "master/auth/peer.h"
#include "master/auth/runas.h"

struct tokens;

/* What a token is worth: a name for who has it, and whom he runs as. */
struct grant {
	char		 identity[IDENTITY_MAX];
	struct runas	 user;
};

/*
 * The set of a configuration; is_test reads none of its files.  NULL with the
 * reason in e, which names the setting.
 */
struct tokens	*tokens_load(const struct conf *c, bool is_test,
		    struct conf_error *e) __attribute__((warn_unused_result));
void		 tokens_free(struct tokens **tp);

/* Wipe what a configuration knows of them, once it is of no more use. */
void		 tokens_wipe(struct conf *c);

/* Whether a configuration says where to find any. */
bool		 tokens_wanted(const struct conf *c);

/* Whether there are any, or a secret; of no set, false. */
bool		 tokens_any(const struct tokens *t);

/*
 * Judge what a client showed, at a time (Unix seconds).  NULL: it is good, out
 * is filled in.  Else why not, for a log; is_guess_out: it was made up.
 */
const char	*tokens_judge(const struct tokens *t, const void *shown,
		    size_t len, uint64_t now, struct grant *out,
		    bool *is_guess_out) __attribute__((warn_unused_result));

#endif
