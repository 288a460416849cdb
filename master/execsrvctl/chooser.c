#include "master/execsrvctl/chooser.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/secret.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/listeners.h"

#define TOKEN_VARIABLE	"EXECSRV_TOKEN"
#define LEAVE_MS	1000	/* to end a session */

/* Always -1. */
static int
chooser_complain(const char *what, const char *why)
{
	fprintf(stderr, "execsrvctl: %s: %s\n", what, why);
	return -1;
}

/* So that no command gets it. */
int
chooser_begin(struct chooser *c)
{
	assert(c->token == NULL && c->x == NULL);
	c->how.client_name = "execsrvctl";
	if (sodium_init() == -1 || ((c->token =
	    secret_take_env(TOKEN_VARIABLE)) == NULL && errno != 0))
		return chooser_complain(TOKEN_VARIABLE, strerror(ENOMEM));
	if (c->token != NULL && c->token[0] == '\0')
		chooser_end(c);
	return 0;
}

void
chooser_end(struct chooser *c)
{
	struct execsrv_error	 e;

	/* Nobody will resume it. */
	if (c->x != NULL && execsrv_can(c->x, "execsrvSessionClose"))
		(void)execsrv_close_session(c->x, LEAVE_MS, &e);
	execsrv_close(&c->x);
	sodium_free(c->token);
	c->token = NULL;
}

/* Return the first usable address in the answer: malloc'd, or NULL. */
static char *
first_url(const struct table *t)
{
	char	*url;
	size_t	 i;

	for (i = 0; (url = table_member(t, "listen", i)) != NULL; i++) {
		if (listeners_fits(url))
			break;
		free(url);
	}
	return url;
}

/*
 * Return where the daemon listens: malloc'd; NULL, having said why.  A user who
 * may not open the control socket may still be a client: the address is in a
 * file.
 */
static char *
ask_url(const char *dir)
{
	struct control_error	 e;
	struct table		*t;
	char			*url = NULL;

	if (control_ask_simply(dir, "status", &t, &e) == EXIT_OK) {
		if ((url = first_url(t)) == NULL)
			chooser_complain("the daemon", "it has no listeners");
	} else if (e.closed[0] == '\0' ||
	    (url = listeners_read(e.closed)) == NULL) {
		chooser_complain("the daemon", e.text);
	}
	if (url == NULL)
		fputs("execsrvctl: name a server with --url, in EXECSRV_URL, "
		    "or in ~/.config/execsrv/hosts\n", stderr);
	table_free(&t);
	return url;
}

/* A URL has a ":", a name does not. */
static int
chooser_choose(const char *text, struct server *s)
{
	if (strchr(text, ':') == NULL)
		return servers_find(text, s);
	if ((s->url = strdup(text)) == NULL)
		return chooser_complain(text, strerror(errno));
	return 0;
}

const char *
chooser_told(const struct chooser *c, const char *name)
{
	static const char *const	 variables[] = {
		"EXECSRV_URL", "CODEX_EXEC_SERVER_URL", NULL
	};
	const char			*text = name != NULL ? name : c->url;
	size_t				 i;

	for (i = 0; text == NULL && variables[i] != NULL; i++)
		if ((text = getenv(variables[i])) != NULL && text[0] == '\0')
			text = NULL;
	return text;
}

int
chooser_find(const struct chooser *c, const char *name, struct server *s)
{
	const char	*text = chooser_told(c, name);

	memset(s, 0, sizeof(*s));
	if (text != NULL) {
		if (chooser_choose(text, s) == -1)
			return -1;
	} else if ((s->url = ask_url(c->dir)) == NULL) {
		return -1;
	}
	if (c->token_file != NULL &&
	    servers_read_token(c->token_file, s) == -1)
		return -1;
	if (c->ca_file != NULL && server_set_ca(s, c->ca_file) == -1)
		return chooser_complain(c->ca_file, strerror(errno));
	if (s->token == NULL && c->token != NULL &&
	    server_set_token(s, c->token) == -1)
		return chooser_complain(TOKEN_VARIABLE, strerror(errno));
	return 0;
}

int
chooser_connect(struct chooser *c, const char *name)
{
	struct execsrv_options	 how = c->how;
	struct execsrv_error	 e;
	struct server		 s;

	assert(c->x == NULL);
	if (chooser_find(c, name, &s) == 0) {
		server_set_how(&s, &how);
		how.operate = true;
		if ((c->x = execsrv_open(s.url, &how, &e)) == NULL)
			fprintf(stderr, "execsrvctl: %s\n", e.text);
	}
	server_fini(&s);
	return c->x != NULL ? 0 : -1;
}
