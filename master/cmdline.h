/* Sources of the settings, kept for reloads: command line and file. */
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

/* Store an option's argument, borrowed but for path.  0, or -1 with errno. */
int	 cmdline_take_file(struct cmdline *s, const char *path);
int	 cmdline_take_option(struct cmdline *s, char *text);
int	 cmdline_take_listen(struct cmdline *s, char *url);
void	 cmdline_fini(struct cmdline *s);

/*
 * Note the working directory, and the file to read without -f (XDG Base
 * Directory Specification).  Call once, while the environment is there.  0, or
 * -1 with errno.
 */
int	 cmdline_find_default(struct cmdline *s);

/* CMDLINE_OK; or what is wrong, the reason in e, and c holds nothing. */
int	 cmdline_load(const struct cmdline *s, struct conf *c,
	    struct conf_error *e) MUST_CHECK;

/* The file that is read, or NULL. */
const char *cmdline_file(const struct cmdline *s);

/* Listeners or uplinks are there; one is stdio; stdin has another purpose. */
bool	 cmdline_has_listeners(const struct conf *c);
bool	 cmdline_has_stdio(const struct conf *c);
bool	 cmdline_reads_stdin(const struct conf *c);
