/* What tests of the configuration share: one of it, and files for it. */
#pragma once

#include "common/conf/conf.h"

enum when { WHEN_START, WHEN_LIVE, WHEN_MATCH };

struct row {
	const char	*keyword, *type, *value;
	enum when	 when;
};

/* The rows of conf.def and of uplink.def. */
extern const struct row	 rows[CONF_ROWS];
extern const struct row	 uplink_rows[CONF_UPLINK_ROWS];

extern struct conf		 c;
extern struct conf_error	 e;
extern char			 conf_path[];	/* that load() writes */

void	 setup(void);
void	 teardown(void);

/* What conf_print() says of c; the caller frees it. */
char	*printed(void);

/* Read a file with that text into c. */
int	 load(const char *text);

/* The same into a new c: it must fail, with these words. */
void	 ck_fails(const char *text, const char *words);

/* A good value that is not the default, by type. */
const char	*good(const char *type);
