/*
 * Connections by execsrv-reach: a process of its own for what needs TLS, HTTP
 * or Noise.  It is told in a line what to reach, answers with one, and then a
 * line is a message (common/client/reach/reach_conn.h).
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <sodium.h>

#include "common/client/process_priv.h"
#include "common/envlist.h"
#include "common/program.h"

#define PROGRAM		"execsrv-reach"
#define WSS		"wss://"
#define REMOTE		"remote:"
#define ASK_MAX		(16 * 1024)	/* as execsrv-reach takes it */

bool
execsrv_reach_is(const char *url)
{
	return strncasecmp(url, WSS, strlen(WSS)) == 0 ||
	    strncasecmp(url, REMOTE, strlen(REMOTE)) == 0;
}

/* The URL of a registry has no "@", the name of an environment may. */
static int
client_reach_take_url(struct execsrv *x, const char *url,
    struct execsrv_error *e)
{
	const char	*at = NULL;

	if (strncasecmp(url, WSS, strlen(WSS)) != 0) {
		url += strlen(REMOTE);
		if ((at = strrchr(url, '@')) == NULL || at == url ||
		    at[1] == '\0') {
			execsrv_error_set(e, 0, "not "
			    "remote:ENVIRONMENT@https://REGISTRY");
			return -1;
		}
		x->reach.environment = strndup(url, (size_t)(at - url));
		url = at + 1;
	}
	x->reach.url = strdup(url);
	if (x->reach.url != NULL && (at == NULL ||
	    x->reach.environment != NULL))
		return 0;
	execsrv_error_set(e, 0, "%s", strerror(errno));
	return -1;
}

int
execsrv_reach_prepare(struct execsrv *x, const char *url,
    const struct execsrv_options *o, struct execsrv_error *e)
{
	const char	*ca = o != NULL ? o->ca_file : NULL;
	const char	*program = o != NULL ? o->reach_program : NULL;
	char		 found[PATH_MAX];

	if (strlen(url) + (ca != NULL ? strlen(ca) : 0) > ASK_MAX / 4) {
		execsrv_error_set(e, 0, "%.200s...: too long", url);
		return -1;
	}
	if (client_reach_take_url(x, url, e) == -1)
		return -1;
	program_find(PROGRAM, found, sizeof(found));
	if ((x->reach.program = strdup(program != NULL ? program : found)) ==
	    NULL || (ca != NULL && (x->reach.ca_file = strdup(ca)) == NULL)) {
		execsrv_error_set(e, 0, "%s", strerror(errno));
		return -1;
	}
	x->is_lines = true;
	return 0;
}

void
execsrv_reach_fini(struct execsrv *x)
{
	free(x->reach.program);
	free(x->reach.url);
	free(x->reach.environment);
	free(x->reach.ca_file);
}

int
execsrv_reach_start(struct execsrv *x)
{
	const char	*argv[] = { x->reach.program, NULL };
	char		**env;
	int		 r, error;

	if ((env = envlist_network()) == NULL)
		return -1;
	r = execsrv_start_child(x, argv, env, false);
	error = errno;
	free(env);
	errno = error;
	return r;
}

/* The token is in b, which never moves: there is room for all of it. */
static int
put_ask(const struct execsrv *x, struct buf *b)
{
	struct json_out	 o;

	json_out_init(&o, b);
	json_out_open(&o, '{');
	json_out_key(&o, "url");
	json_out_str(&o, x->reach.url);
	if (x->reach.environment != NULL) {
		json_out_key(&o, "environment");
		json_out_str(&o, x->reach.environment);
	}
	if (x->token != NULL) {
		json_out_key(&o, "token");
		json_out_str(&o, x->token);
	}
	if (x->reach.ca_file != NULL) {
		json_out_key(&o, "caFile");
		json_out_str(&o, x->reach.ca_file);
	}
	json_out_key(&o, "connectMs");
	json_out_u64(&o, (uint64_t)x->connect_ms);
	json_out_key(&o, "silenceMs");
	json_out_u64(&o, (uint64_t)x->silence_ms);
	json_out_close(&o, '}');
	return json_out_fini(&o) == -1 ? -1 : buf_put(b, "\n", 1);
}

int
execsrv_reach_ask(struct execsrv *x)
{
	struct buf	 b;
	bool		 is_sent;

	buf_init(&b, ASK_MAX);
	/* A new socket has room for so little. */
	is_sent = buf_reserve(&b, ASK_MAX) != NULL && put_ask(x, &b) == 0 &&
	    send(x->fd, buf_data(&b), b.len, MSG_NOSIGNAL) == (ssize_t)b.len;
	if (b.base != NULL)
		sodium_memzero(b.base, b.cap);
	buf_fini(&b);
	if (!is_sent)
		return execsrv_lose(x, PROGRAM " cannot be asked: %s",
		    strerror(errno));
	return 0;
}

/* --- what it says --- */

bool
execsrv_reach_error(struct execsrv *x, const struct json *j)
{
	struct execsrv_error	 e;
	uint32_t		 why = json_find(j, 0, "error");

	if (why == 0 || json_tok(j, why)->type != JSON_STRING ||
	    json_find(j, 0, "permanent") == 0)
		return false;
	execsrv_copy_text(j, why, e.text, sizeof(e.text));
	if (x->is_opening)
		execsrv_fail(x, "%.200s: %s", x->where, e.text);
	else if (execsrv_is_true(j, 0, "permanent"))
		execsrv_fail(x, "the connection was lost; %s", e.text);
	else
		execsrv_lose(x, "%s", e.text);
	return true;
}

/* The first line: ready, or why not. */
int
execsrv_reach_answer(struct execsrv *x, char *text, size_t len)
{
	struct json	*j = &x->json;

	if (json_parse(j, text, len) == -1 ||
	    json_tok(j, 0)->type != JSON_OBJECT)
		return execsrv_fail(x, PROGRAM " does not answer as it should");
	if (execsrv_is_true(j, 0, "ready"))
		execsrv_set_state(x, EXECSRV_INITIALIZING);
	else if (!execsrv_reach_error(x, j))
		execsrv_fail(x, PROGRAM " does not answer as it should");
	return execsrv_has_frames(x) ? 0 : -1;
}
