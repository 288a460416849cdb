/*
 * The sources of the settings, kept for reloads: the command line, and the
 * configuration file.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/conf/conf.h"
#include "master/auth/auth_options.h"
#include "master/remote/remote_options.h"

struct cmdline {
	char			*folder;	/* at the start; or NULL */
	char			*file;		/* absolute; NULL: no -f */
	char			*default_file;	/* may not exist; or NULL */
	char			**option;	/* "Keyword=value" */
	size_t			 noption;
	char			**listen;	/* replace those in the file */
	size_t			 nlisten;
	bool			 foreground;
	struct remote_options	 remote;
	struct auth_options	 auth;
};

enum { CMDLINE_OK = 0, CMDLINE_BAD_CONF = -1, CMDLINE_BAD_USE = -2 };

/* Store the argument of an option.  0, or -1 with errno. */
int	 cmdline_take_file(struct cmdline *s, const char *path);
int	 cmdline_take_option(struct cmdline *s, char *text);
int	 cmdline_take_listen(struct cmdline *s, char *url);
void	 cmdline_fini(struct cmdline *s);

/*
 * Set the file to read if none is named: for root the system's, for others
 * $XDG_CONFIG_HOME/execsrv/execsrvd.conf (XDG Base Directory Specification).
 * Call once, while the environment is there.  0, or -1 with errno.
 */
int	 cmdline_find_default(struct cmdline *s);

/*
 * Read the settings from command line and file into c.  CMDLINE_OK, or what is
 * wrong with the reason in e; then c holds nothing.
 */
int	 cmdline_load(const struct cmdline *s, struct conf *c,
	    struct conf_error *e) MUST_CHECK;

/* Return the file that is read, or NULL. */
const char *cmdline_file(const struct cmdline *s);

/* Whether there are listeners or uplinks. */
bool	 cmdline_has_listeners(const struct conf *c);

/* Whether one of the listeners is standard input and output. */
bool	 cmdline_has_stdio(const struct conf *c);

/* Whether standard input is read for another purpose. */
bool	 cmdline_reads_stdin(const struct conf *c);
