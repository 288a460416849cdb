/* The configuration of execsrv-hub: the rows of proto/hub.def, and rules. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "common/conf/conf.h"

enum {
#define HUB(keyword, type, member, value, when, help)	HUBCONF_##member,
#define HUB_RULE(keyword, type, member, value, who, help)
#include "proto/hub.def"
#undef HUB
#undef HUB_RULE
	HUBCONF_ROWS
};
enum {
#define HUB(keyword, type, member, value, when, help)
#define HUB_RULE(keyword, type, member, value, who, help) HUBRULE_##member,
#include "proto/hub.def"
#undef HUB
#undef HUB_RULE
	HUBRULE_ROWS
};

/* A block "Match Executor PATTERNS" or "Match Harness PATTERNS". */
struct hubrule {
	bool	 is_executor;
	char	*who;		/* patterns of subjects and group:NAME */
	bool	 given[HUBRULE_ROWS];
#define HUB(keyword, type, member, value, when, help)
#define HUB_RULE(keyword, type, member, value, who, help) CONF_##type member;
#include "proto/hub.def"
#undef HUB
#undef HUB_RULE
};

struct hubconf {
#define HUB(keyword, type, member, value, when, help)	CONF_##type member;
#define HUB_RULE(keyword, type, member, value, who, help)
#include "proto/hub.def"
#undef HUB
#undef HUB_RULE
	bool		 given[HUBCONF_ROWS];
	struct hubrule	*rule;
	size_t		 nrule;
};

/* All defaults.  0, or -1 with errno ENOMEM. */
int	 hubconf_init(struct hubconf *c) MUST_CHECK;
void	 hubconf_fini(struct hubconf *c);

/* As the command line does; texts do not override it.  0, or -1 with e. */
int	 hubconf_set(struct hubconf *c, const char *keyword, const char *value,
	    struct conf_error *e) MUST_CHECK;

/*
 * As conf_parse(): a NUL-terminated text, cut up in place; include NULL: none.
 * 0, or -1 with "FILE:LINE: reason" of each mistake.
 */
int	 hubconf_parse(struct hubconf *c, const char *name, char *text,
	    size_t len, conf_include_fn *include, void *arg,
	    struct conf_error *e) MUST_CHECK;

/* Read a file, and those that it includes, as conf_load() does. */
int	 hubconf_load(struct hubconf *c, const char *path,
	    struct conf_error *e) MUST_CHECK;

/*
 * Keep what the old one has where a change needs a restart, and tell what has
 * changed there.  0, or -1 with errno ENOMEM.
 */
int	 hubconf_keep(struct hubconf *now, const struct hubconf *old,
	    void (*on_kept)(void *arg, const char *keyword), void *arg)
	    MUST_CHECK;

/* Check where files are to be.  0, or -1 with the reason in e. */
int	 hubconf_check(const struct hubconf *c, struct conf_error *e)
	    MUST_CHECK;

/* Print all settings as a configuration file, from which they come again. */
void	 hubconf_print(const struct hubconf *c, FILE *out);
