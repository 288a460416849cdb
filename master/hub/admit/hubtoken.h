/*
 * The tokens file: "NAME sha256:HEX [register=PATTERNS] [connect=PATTERNS]
 * [expires=SECONDS]" in each line; # begins a comment.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf/conf.h"
#include "common/span.h"
#include "master/auth/tokenline.h"

struct hubtoken {
	char		 name[TOKEN_NAME_MAX + 1];
	uint8_t		 hash[TOKEN_HASH_LEN];
	char		*may_register, *may_connect;	/* or NULL */
	uint64_t	 expires;	/* Unix seconds; 0: never */
};

struct hubtokens {
	struct hubtoken	*list;
	size_t		 n;
};

/* 0, or -1 with "NAME:LINE: reason" of each mistake. */
int	 hubtokens_parse(struct hubtokens *t, const char *name, char *text,
	    size_t len, struct conf_error *e) MUST_CHECK;
void	 hubtokens_fini(struct hubtokens *t);

/* The token that was shown; one by its name; or NULL. */
const struct hubtoken *hubtokens_find(const struct hubtokens *t,
	    struct span shown);
const struct hubtoken *hubtokens_named(const struct hubtokens *t,
	    const char *name);
