#include "master/cmdline.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

#include "common/net/endpoint.h"
#include "master/validate.h"

#define CONF_NAME	"execsrvd.conf"
#define NO_FILE		"none"	/* -f none; for a file of that name: ./none */

int
cmdline_take_file(struct cmdline *s, const char *path)
{
	char	*folder;
	int	 r;

	free(s->file);
	s->file = NULL;
	if (strcmp(path, NO_FILE) == 0)
		return (s->file = strdup(path)) == NULL ? -1 : 0;
	/* daemonize() changes the working directory. */
	if (path[0] == '/' || (folder = getcwd(NULL, 0)) == NULL)
		return (s->file = strdup(path)) == NULL ? -1 : 0;
	r = asprintf(&s->file, "%s/%s", folder, path);
	free(folder);
	if (r == -1)
		s->file = NULL;
	return r == -1 ? -1 : 0;
}

static bool
is_folder(const char *path)
{
	return path != NULL && path[0] == '/';
}

/* Later, daemonize() has changed it. */
static void
remember_folder(struct cmdline *s)
{
	free(s->folder);
	s->folder = getcwd(NULL, 0);
}

int
cmdline_find_default(struct cmdline *s)
{
	const char	*config = getenv("XDG_CONFIG_HOME");
	const char	*home = getenv("HOME");
	int		 r = 0;

	remember_folder(s);
	if (geteuid() == 0)
		r = asprintf(&s->default_file, "%s/" CONF_NAME,
		    EXECSRV_SYSCONFDIR);
	else if (is_folder(config))
		r = asprintf(&s->default_file, "%s/execsrv/" CONF_NAME,
		    config);
	else if (is_folder(home))
		r = asprintf(&s->default_file, "%s/.config/execsrv/" CONF_NAME,
		    home);
	if (r == -1)
		s->default_file = NULL;
	return r == -1 ? -1 : 0;
}

static int
cmdline_add(char ***list, size_t *n, char *text)
{
	char	**more;

	if ((more = reallocarray(*list, *n + 1, sizeof(*more))) == NULL)
		return -1;
	*list = more;
	more[(*n)++] = text;
	return 0;
}

int
cmdline_take_option(struct cmdline *s, char *text)
{
	return cmdline_add(&s->option, &s->noption, text);
}

int
cmdline_take_listen(struct cmdline *s, char *url)
{
	return cmdline_add(&s->listen, &s->nlisten, url);
}

void
cmdline_fini(struct cmdline *s)
{
	free(s->folder);
	free(s->default_file);
	free(s->file);
	free(s->option);
	free(s->listen);
	memset(s, 0, sizeof(*s));
}

bool
cmdline_has_stdio(const struct conf *c)
{
	size_t	 i;

	for (i = 0; i < c->listen.n; i++)
		if (endpoint_is_stdio(c->listen.item[i]))
			return true;
	return false;
}

bool
cmdline_has_listeners(const struct conf *c)
{
	return c->listen.n != 0 || c->nuplink != 0;
}

bool
cmdline_reads_stdin(const struct conf *c)
{
	size_t	 i;

	for (i = 0; i < c->nuplink; i++)
		if (c->uplink[i].from_stdin != CONF_STDIN_NO)
			return true;
	return c->exit_on_stdin;
}

/* "Keyword=value", as in sshd(8). */
static int
set_option(struct conf *c, const char *text, struct conf_error *e)
{
	char	*copy, *value;
	int	 r;

	if ((copy = strdup(text)) == NULL)
		return conf_fail(e, "%s", strerror(errno));
	value = copy + strcspn(copy, "= ");
	if (*value != '\0')
		*value++ = '\0';
	r = conf_set(c, copy, value, e);
	free(copy);
	return r;
}

/* Tell all mistakes. */
static int
cmdline_set_options(const struct cmdline *s, struct conf *c,
    struct conf_error *e)
{
	struct conf_error	 all = { .text = "" };
	size_t			 i;
	int			 r = 0;

	for (i = 0; i < s->noption; i++)
		if (set_option(c, s->option[i], e) == -1)
			r = conf_more(&all, e);
	conf_end_block(c);		/* one begun by -o */
	if (s->foreground && conf_set(c, "Foreground", "yes", e) == -1)
		r = conf_more(&all, e);
	if (s->remote.exit_on_stdin &&
	    conf_set(c, "ExitOnStdinClose", "yes", e) == -1)
		r = conf_more(&all, e);
	if (r == -1)
		*e = all;
	return r;
}

const char *
cmdline_file(const struct cmdline *s)
{
	if (s->file != NULL)
		return strcmp(s->file, NO_FILE) == 0 ? NULL : s->file;
	return s->default_file != NULL && access(s->default_file, F_OK) == 0 ?
	    s->default_file : NULL;
}

static int
cmdline_read_file(const struct cmdline *s, struct conf *c, struct conf_error *e)
{
	const char	*file = cmdline_file(s);

	return file != NULL ? conf_load(c, file, e) : 0;
}

/* Listeners on the command line replace those in the file. */
static int
set_listeners(const struct cmdline *s, struct conf *c, struct conf_error *e)
{
	size_t	 i;

	if (s->nlisten == 0)
		return 0;
	conf_empty(c, CONF_ROW_listen);
	for (i = 0; i < s->nlisten; i++)
		if (conf_set(c, "Listen", s->listen[i], e) == -1)
			return -1;
	return 0;
}

/* On stdio no token can be presented; the reference refuses this as well. */
static int
set_auth(const struct cmdline *s, struct conf *c, struct conf_error *e)
{
	if (auth_options_any(&s->auth) && cmdline_has_stdio(c))
		return conf_fail(e, "--ws-auth cannot be used with stdio");
	return auth_options_apply(&s->auth, c, e);
}

int
cmdline_load(const struct cmdline *s, struct conf *c, struct conf_error *e)
{
	struct conf_error	 all = { .text = "" };
	int			 r = CMDLINE_BAD_CONF;

	if (conf_init(c) == -1)
		return conf_fail(e, "%s", strerror(errno));
	c->folder = s->folder;
	if (cmdline_set_options(s, c, e) == -1)
		conf_more(&all, e);
	if (cmdline_read_file(s, c, e) == -1)
		conf_more(&all, e);
	if (all.text[0] != '\0') {
		/* And what can be said of the rest. */
		if (validate(c, e) == -1)
			conf_more(&all, e);
		*e = all;
		goto fail;
	}
	if (set_listeners(s, c, e) == -1)
		goto fail;
	r = CMDLINE_BAD_USE;
	if (set_auth(s, c, e) == -1 ||
	    remote_options_apply(&s->remote, c, e) == -1)
		goto fail;
	if (cmdline_has_stdio(c) && cmdline_reads_stdin(c)) {
		conf_fail(e, "standard input cannot be both a credential and a "
		    "session");
		goto fail;
	}
	return CMDLINE_OK;
 fail:
	conf_fini(c);
	return r;
}
