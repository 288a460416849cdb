/*
 * Answers of the registry (PROTOCOL 12.2).  Pure.  Unknown members are ignored,
 * missing ones are errors.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/limit.h"
#include "common/net/target.h"
#include "common/noise/noise.h"
#include "common/span.h"

#define ANSWER_PROFILE	"noise_hybrid_ik_v1"
#define ANSWER_ID_MAX	256	/* bytes of a registration's id */

/* Which members the answer to a registration must have. */
enum answer_kind { ANSWER_NOISE, ANSWER_CLEAR, ANSWER_PLAIN };

struct answer_registration {
	char	 id[ANSWER_ID_MAX + 1];		/* of ANSWER_NOISE only */
	char	 url[TARGET_PATH];	/* any text; "" if too long */
	bool	 is_long;		/* the URL is too long */
};

/*
 * Read the answer to a registration; text is written to.  An unusable URL is
 * no error.  0, or -1 with errno: EINVAL (not JSON, a member is missing, the id
 * is too long), EBADMSG (another environment or security profile), ENOMEM.
 */
int	 answer_registration(struct answer_registration *a, char *text,
	    size_t len, enum answer_kind kind, const char *environment)
	    MUST_CHECK;

/* For one connection of a harness. */
struct answer_connection {
	struct answer_registration	 of;		/* the executor's */
	struct noise_public		 executor;
	/* For the executor; a secret. */
	char	 authorization[LIMIT_RELAY_AUTHORIZATION + 1];
};

/* Read it, as answer_registration(). */
int	 answer_connection(struct answer_connection *a, char *text, size_t len,
	    const char *environment) MUST_CHECK;

/* Whether the answer to a validation, of status 200, allows it. */
bool	 answer_is_valid(char *text, size_t len);

/*
 * Copy the code of an error body, truncated to size: letters, digits, "_" and
 * "-" only.  False: there is none.
 */
bool	 answer_error_code(char *text, size_t len, char *out, size_t size);
