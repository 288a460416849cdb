/*
 * Where the settings come from: the command line and the file that it names.
 * Kept, as a reload asks both again.
 */
#ifndef MASTER_CMDLINE_H
#define MASTER_CMDLINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/conf/conf.h"
#include "master/auth/auth_options.h"
#include "master/remote/remote_options.h"

struct cmdline {
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

enum { CMDLINE_OK = 0, CMDLINE_BAD_CONF = -1, CMDLINE_BAD_USE = -2 };

/* Take what a switch says.  0, or -1 with errno. */
int	 cmdline_take_file(struct cmdline *s, const char *path);
int	 cmdline_take_option(struct cmdline *s, char *text);
int	 cmdline_take_listen(struct cmdline *s, char *url);
void	 cmdline_fini(struct cmdline *s);

/*
 * What is read if no file is named, if it exists: for root the system's, for
 * others their own, $XDG_CONFIG_HOME/execsrv/execsrvd.conf (XDG Base Directory
 * Specification).  Once, while the environment is there.  0, or -1 with errno.
 */
int	 cmdline_find_default(struct cmdline *s);

/*
 * The settings as command line and file have them now.  CMDLINE_OK, or why not,
 * with the reason in e; then c holds nothing.
 */
int	 cmdline_load(const struct cmdline *s, struct conf *c,
	    struct conf_error *e) __attribute__((warn_unused_result));

/* Whether there is anywhere to be asked. */
bool	 cmdline_has_doors(const struct conf *c);

/* Whether one of the listeners is standard input and output. */
bool	 cmdline_has_stdio(const struct conf *c);

/* Whether standard input has a use besides that. */
bool	 cmdline_reads_stdin(const struct conf *c);

#endif
