/*
 * Where the settings come from: the command line and the file that it names.
 * Kept, as a reload asks both again.
 */
#ifndef MASTER_SETUP_H
#define MASTER_SETUP_H

#include <stdbool.h>
#include <stddef.h>

#include "common/conf/conf.h"
#include "master/auth/auth_options.h"
#include "master/remote/remote_options.h"

struct setup {
	char			*file;		/* absolute, or NULL: */
	char			*default_file;	/* if it exists; or NULL */
	char			**option;	/* "Keyword=value" */
	size_t			 noption;
	char			**listen;	/* instead of the file's */
	size_t			 nlisten;
	bool			 foreground;
	struct remote_options	 remote;
	struct auth_options	 auth;
};

enum { SETUP_OK = 0, SETUP_BAD_CONF = -1, SETUP_BAD_USE = -2 };

/* Take what a switch says.  0, or -1 with errno. */
int	 setup_take_file(struct setup *s, const char *path);
int	 setup_take_option(struct setup *s, char *text);
int	 setup_take_listen(struct setup *s, char *url);
void	 setup_fini(struct setup *s);

/*
 * What is read if no file is named, if it exists: for root the system's, for
 * others their own, $XDG_CONFIG_HOME/execsrv/execsrvd.conf (XDG Base Directory
 * Specification).  Once, while the environment is there.  0, or -1 with errno.
 */
int	 setup_find_default(struct setup *s);

/*
 * The settings as command line and file have them now.  SETUP_OK, or why not,
 * with the reason in e; then c holds nothing.
 */
int	 setup_load(const struct setup *s, struct conf *c,
	    struct conf_error *e) __attribute__((warn_unused_result));

/* Whether there is anywhere to be asked. */
bool	 setup_has_doors(const struct conf *c);

/* Whether one of the listeners is standard input and output. */
bool	 setup_has_stdio(const struct conf *c);

/* Whether standard input has a use besides that. */
bool	 setup_reads_stdin(const struct conf *c);

#endif
