/* Who may do what: the Match blocks, and what a token has besides.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/span.h"
#include "master/hub/admit/hubconf.h"

#define ENVIRONMENT_MAX	128	/* bytes of an id */

/* Somebody with a valid token.  Texts are the caller's. */
struct subject_is {
	const char	*name;		/* token:NAME, jwt:SUBJECT */
	char *const	*group;		/* of a signed token */
	size_t		 ngroup;
	const char	*may_register;	/* of its own token, or NULL */
	const char	*may_connect;
};

/* At most; 0: unlimited. */
struct subject_limits {
	uint64_t	 environments, streams, rate;
	bool		 may_list;
	bool		 operates;		/* some environments */
	bool		 operates_hubs;
};

/* 1 to ENVIRONMENT_MAX letters, digits, "-_.~:@+", and not "." or "..". */
bool	 environment_is_valid(struct span id);

/* Whether DenySubject names it. */
bool	 hubrules_is_denied(const struct hubconf *c, const char *name);

bool	 hubrules_may_register(const struct hubconf *c,
	    const struct subject_is *who, const char *environment);

/* labels: the environment's; NULL: not known, as it is not attached. */
enum hubrules_answer { RULES_NO, RULES_YES, RULES_DEPENDS };
enum hubrules_answer hubrules_may_connect(const struct hubconf *c,
	    const struct subject_is *who, const char *environment,
	    const char *labels);
bool	 hubrules_may_operate(const struct hubconf *c,
	    const struct subject_is *who, const char *environment,
	    const char *labels);

/* The labels of environments that a subject registers; "" if none. */
const char *hubrules_labels(const struct hubconf *c,
	    const struct subject_is *who);
void	 hubrules_limits(const struct hubconf *c, const struct subject_is *who,
	    bool is_executor, struct subject_limits *out);

/* Whether one of the labels "A=B,C=D" is this one. */
bool	 labels_have(const char *labels, const char *label);

/* Check labels and patterns.  0, or -1 with the reason in e. */
int	 hubrules_check(const struct hubconf *c, struct conf_error *e)
	    MUST_CHECK;
