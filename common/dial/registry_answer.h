/*
 * Answers of the registry (PROTOCOL 12.2).  Pure.  Members that we do
 * not know are ignored, missing ones are errors.
 */
#ifndef COMMON_DIAL_REGISTRY_ANSWER_H
#define COMMON_DIAL_REGISTRY_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/limit.h"
#include "common/net/target.h"
#include "common/noise/noise.h"
#include "common/span.h"

#define ANSWER_PROFILE	"noise_hybrid_ik_v1"
#define ANSWER_ID_MAX	256	/* bytes of a registration's id */

/* What a registration was answered by must say. */
enum answer_kind { ANSWER_NOISE, ANSWER_CLEAR, ANSWER_PLAIN };

struct answer_registration {
	char	 id[ANSWER_ID_MAX + 1];		/* of ANSWER_NOISE only */
	char	 url[TARGET_PATH];	/* any text; empty if too long */
	bool	 is_long;		/* it was */
};

/*
 * Read the answer to a registration for that environment.  The text is written
 * to.  A URL that cannot be used is no error here.  0, or -1 with errno:
 * EINVAL (not JSON, or something is missing, or the id is too long), EBADMSG
 * (another environment, or another security profile: not for us), ENOMEM.
 */
int	 answer_registration(struct answer_registration *a, char *text,
	    size_t len, enum answer_kind kind, const char *environment)
	    __attribute__((warn_unused_result));

/* What a harness needs for one connection. */
struct answer_connection {
	struct answer_registration	 of;		/* the executor's */
	struct noise_public		 executor;
	/* To be shown to it: a secret. */
	char	 authorization[LIMIT_RELAY_AUTHORIZATION + 1];
};

/* Read the answer to a harness; as answer_registration(). */
int	 answer_connection(struct answer_connection *a, char *text, size_t len,
	    const char *environment) __attribute__((warn_unused_result));

/* Whether a status 200 to a validation says yes. */
bool	 answer_is_valid(char *text, size_t len);

/*
 * Copy the code of an error body, what there is of it, to size bytes at out:
 * letters, digits, "_" and "-" only.  False: there is none.
 */
bool	 answer_error_code(char *text, size_t len, char *out, size_t size);

#endif
