/* Answers of the registry (PROTOCOL 12.2).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/limit.h"
#include "common/net/target.h"
#include "common/noise/noise.h"
#include "common/span.h"

#define ANSWER_PROFILE	"noise_hybrid_ik_v1"
#define ANSWER_ID_MAX	256	/* bytes */

/* By what members a registration must have. */
enum answer_kind { ANSWER_NOISE, ANSWER_CLEAR, ANSWER_PLAIN };

struct answer_registration {
	char	 id[ANSWER_ID_MAX + 1];		/* of ANSWER_NOISE only */
	char	 url[TARGET_PATH];	/* any text; "" if too long */
	bool	 is_long;		/* the URL is too long */
};

/*
 * text is written to; an unusable URL is no error.  0, or -1 with errno: EINVAL
 * (not JSON, a member is missing, long id), EBADMSG (another environment or
 * profile), ENOMEM.
 */
int	 answer_registration(struct answer_registration *a, char *text,
	    size_t len, enum answer_kind kind, const char *environment)
	    MUST_CHECK;

/* A harness's connection. */
struct answer_connection {
	struct answer_registration	 of;		/* the executor's */
	struct noise_public		 executor;
	/* A secret, for the executor. */
	char	 authorization[LIMIT_RELAY_AUTHORIZATION + 1];
};

/* As answer_registration(). */
int	 answer_connection(struct answer_connection *a, char *text, size_t len,
	    const char *environment) MUST_CHECK;

/* Whether a 200 allows it. */
bool	 answer_is_valid(char *text, size_t len);

/* Copy an error's code, truncated: letters, digits, "_", "-".  False: none. */
bool	 answer_error_code(char *text, size_t len, char *out, size_t size);
