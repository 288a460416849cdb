#include "common/client/reach.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/client/error.h"
#include "common/client/text.h"
#include "common/json/json_out.h"
#include "common/process/program.h"

#define PROGRAM		"execsrv-reach"
#define WS		"ws://"
#define WSS		"wss://"
#define REMOTE		"remote:"

/*
 * Whether a ws:// URL has the name of a host, which is to be looked up.  The
 * last part of a name has a letter first: other texts are addresses, or wrong.
 */
static bool
has_name(const char *url)
{
	const char	*host = url + strlen(WS), *last;
	size_t		 n;

	if (strncasecmp(url, WS, strlen(WS)) != 0)
		return false;
	n = strspn(host, "abcdefghijklmnopqrstuvwxyz"
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_");
	if (n == 0 || host[n] != ':' ||
	    strncmp(host, "localhost:", n + 1) == 0)
		return false;
	for (last = host + n - 1; last > host && last[-1] != '.';)
		last--;
	return (*last >= 'a' && *last <= 'z') || (*last >= 'A' && *last <= 'Z');
}

bool
execsrv_reach_is(const char *url)
{
	return strncasecmp(url, WSS, strlen(WSS)) == 0 || has_name(url) ||
	    strncasecmp(url, REMOTE, strlen(REMOTE)) == 0;
}

bool
execsrv_reach_is_set(const struct execsrv_reach *r)
{
	return r->url != NULL;
}

/* The URL of a registry has no "@", the name of an environment may. */
static int
client_reach_take_url(struct execsrv_reach *r, const char *url,
    struct execsrv_error *e)
{
	const char	*at = NULL;

	if (strncasecmp(url, REMOTE, strlen(REMOTE)) == 0) {
		url += strlen(REMOTE);
		if ((at = strrchr(url, '@')) == NULL || at == url ||
		    at[1] == '\0') {
			execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, "%.200s: "
			    "expected remote:ENVIRONMENT@https://REGISTRY", url
			    - strlen(REMOTE));
			return -1;
		}
		r->environment = strndup(url, (size_t)(at - url));
		url = at + 1;
	}
	r->url = strdup(url);
	if (r->url != NULL && (at == NULL || r->environment != NULL))
		return 0;
	execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
	return -1;
}

int
execsrv_reach_prepare(struct execsrv_reach *r, const char *url,
    const struct execsrv_options *o, struct execsrv_error *e)
{
	const char	*ca = o != NULL ? o->ca_file : NULL;
	const char	*program = o != NULL ? o->reach_program : NULL;
	char		 found[PATH_MAX];

	assert(execsrv_reach_is(url) && r->url == NULL);
	if (strlen(url) + (ca != NULL ? strlen(ca) : 0) >
	    EXECSRV_REACH_ASK_MAX / 4) {
		execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, "%.200s...: longer "
		    "than %d bytes with ca_file", url, EXECSRV_REACH_ASK_MAX /
		    4);
		return -1;
	}
	if (client_reach_take_url(r, url, e) == -1)
		return -1;
	program_find(PROGRAM, found, sizeof(found));
	if ((r->program = strdup(program != NULL ? program : found)) == NULL ||
	    (ca != NULL && (r->ca_file = strdup(ca)) == NULL)) {
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
		return -1;
	}
	return 0;
}

void
execsrv_reach_fini(struct execsrv_reach *r)
{
	free(r->program);
	free(r->url);
	free(r->environment);
	free(r->ca_file);
}

const char *
execsrv_reach_program(const struct execsrv_reach *r)
{
	assert(r->url != NULL);
	return r->program;
}

int
execsrv_reach_put_ask(const struct execsrv_reach *r, const char *token,
    int connect_ms, int silence_ms, struct buf *b)
{
	struct json_out	 o;

	assert(r->url != NULL);
	json_out_init(&o, b);
	json_out_open(&o, '{');
	json_out_pair(&o, "url", r->url);
	if (r->environment != NULL)
		json_out_pair(&o, "environment", r->environment);
	if (token != NULL)
		json_out_pair(&o, "token", token);
	if (r->ca_file != NULL)
		json_out_pair(&o, "caFile", r->ca_file);
	json_out_pair_u64(&o, "connectMs", (uint64_t)connect_ms);
	json_out_pair_u64(&o, "silenceMs", (uint64_t)silence_ms);
	json_out_close(&o, '}');
	return json_out_fini(&o) == -1 ? -1 : buf_put(b, "\n", 1);
}

bool
execsrv_reach_read_error(const struct json *j, char *why, size_t size,
    bool *is_permanent_out)
{
	uint32_t	 tok = json_find(j, 0, "error");

	if (tok == 0 || json_tok(j, tok)->type != JSON_STRING ||
	    json_find(j, 0, "permanent") == 0)
		return false;
	json_copy_text(j, tok, why, size);
	*is_permanent_out = execsrv_is_true(j, 0, "permanent");
	return true;
}
