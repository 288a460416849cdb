#include "common/client/opening.h"

#include <sys/random.h>

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/client/error.h"
#include "common/client/text.h"
#include "common/client/transport/http_upgrade.h"
#include "common/json/json_out.h"
#include "common/json/uri.h"
#include "common/json/utf8.h"

#define OPEN_MS		10000	/* to connect and upgrade; to initialize */

/* --- options --- */

/* A credential is printable ASCII without blanks (RFC 6750 section 2.1). */
static int
take_token(struct opening *o, const char *token, struct execsrv_error *e)
{
	size_t	 i, len = strlen(token);

	for (i = 0; i < len && token[i] > ' ' && token[i] < 0x7f; i++)
		continue;
	if (len == 0 || i < len || len > EXECSRV_TOKEN_MAX) {
		execsrv_error_set(e, EXECSRV_WHY_ARGUMENT,
		    "the bearer token must have 1 to %d "
		    "characters, printable ASCII without blanks",
		    EXECSRV_TOKEN_MAX);
		return -1;
	}
	if (sodium_init() == -1 ||
	    (o->token = sodium_malloc(len + 1)) == NULL) {
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "cannot lock memory "
		    "for the bearer token: %s", strerror(errno));
		return -1;
	}
	memcpy(o->token, token, len + 1);
	return 0;
}

/* Another client's session: make ids that it cannot have used. */
static int
take_resume(struct opening *o, const char *id, struct execsrv_error *e)
{
	uint64_t	 random;
	size_t		 len = strlen(id);

	if (len == 0 || len >= sizeof(o->resume) || !utf8_is_valid(id, len)) {
		execsrv_error_set(e, EXECSRV_WHY_ARGUMENT,
		    "resume_session must be the id of a "
		    "session, UTF-8 of 1 to %zu bytes", sizeof(o->resume) - 1);
		return -1;
	}
	if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "getrandom: %s",
		    strerror(errno));
		return -1;
	}
	memcpy(o->resume, id, len + 1);
	snprintf(o->tag, sizeof(o->tag), "%016llx-",
	    (unsigned long long)random);
	return 0;
}

void
opening_init(struct opening *o)
{
	memset(o, 0, sizeof(*o));
	o->connect_ms = o->initialize_ms = OPEN_MS;
}

int
opening_take_options(struct opening *o, const struct execsrv_options *options,
    struct execsrv_error *e)
{
	const char	*name = options->client_name;

	assert(o->name == NULL && o->token == NULL);
	if ((o->name = strdup(name != NULL ? name : "libexecsrv")) == NULL) {
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
		return -1;
	}
	if (options->connect_ms > 0)
		o->connect_ms = options->connect_ms;
	if (options->initialize_ms > 0)
		o->initialize_ms = options->initialize_ms;
	o->takes = options->take;
	o->operates = options->operate;
	if (options->open_ms > 0)
		o->open_ms = options->open_ms;
	if (options->bearer_token != NULL &&
	    take_token(o, options->bearer_token, e) == -1)
		return -1;
	return options->resume_session == NULL ? 0 :
	    take_resume(o, options->resume_session, e);
}

void
opening_fini(struct opening *o)
{
	free(o->where);
	free(o->name);
	free(o->cwd);
	sodium_free(o->token);
	execsrv_reach_fini(&o->reach);
}

int
opening_set_command(struct opening *o, const char *command,
    struct execsrv_error *e)
{
	assert(o->where == NULL);
	o->address.is_local = true;
	if ((o->where = strdup(command)) != NULL)
		return 0;
	execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
	return -1;
}

int
opening_set_url(struct opening *o, const char *url,
    const struct execsrv_options *options, struct execsrv_error *e)
{
	assert(o->where == NULL);
	if (execsrv_reach_is(url)) {
		if (execsrv_reach_prepare(&o->reach, url, options, e) == -1)
			return -1;
	} else if (execsrv_address_parse(url, &o->address, e) == -1) {
		return -1;
	}
	if ((o->where = strdup(url)) != NULL)
		return 0;
	execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
	return -1;
}

/* --- initialize --- */

static const char *const	 caps[] = {
#define CAP(name, meaning)		name,
#define CAP_IF(name, meaning, when)	name,
#include "proto/cap.def"
#undef CAP
#undef CAP_IF
};

#define CAPS	(sizeof(caps) / sizeof(caps[0]))

_Static_assert(CAPS <= 32, "a bit for each");

bool
opening_can(const struct opening *o, const char *name)
{
	size_t	 i;

	for (i = 0; i < CAPS; i++)
		if (strcmp(caps[i], name) == 0)
			return (o->caps >> i & 1) != 0;
	return false;
}

/* What execsrv-reach or a rendezvous has read may still get lost with them. */
bool
opening_has_receipts(const struct opening *o)
{
	return execsrv_reach_is_set(&o->reach) &&
	    opening_can(o, "execsrvReceipts");
}

int
opening_put_initialize(const struct opening *o, struct buf *b)
{
	struct json_out	 out;
	const char	*session = o->session[0] != '\0' ? o->session :
			    o->resume;

	json_out_init(&out, b);
	json_out_open(&out, '{');
	json_out_pair(&out, "clientName", o->name);
	if (session[0] != '\0')
		json_out_pair(&out, "resumeSessionId", session);
	if (o->session[0] == '\0' && o->resume[0] != '\0' && o->takes)
		json_out_pair_bool(&out, "execsrvTake", true);
	if (session[0] == '\0' && o->operates)
		json_out_pair_bool(&out, "execsrvOperates", true);
	/* Of a session of our own it is known what its server takes. */
	if (o->session[0] != '\0' && opening_can(o, "execsrvHold"))
		json_out_pair_bool(&out, "execsrvHold", true);
	if (o->session[0] != '\0' && opening_has_receipts(o))
		json_out_pair_bool(&out, "execsrvReceipts", true);
	json_out_close(&out, '}');
	return json_out_fini(&out);
}

static void
opening_take_cwd(struct opening *o, const struct json *j, uint32_t tok)
{
	char	 path[PATH_MAX];

	if (tok != 0 && json_tok(j, tok)->type == JSON_STRING &&
	    uri_to_path(json_text(j, tok), json_tok(j, tok)->len, path,
	    sizeof(path)) != -1)
		o->cwd = strdup(path);
}

/* A number that may be missing: 0. */
static uint64_t
number(const struct json *j, uint32_t obj, const char *key)
{
	uint32_t	 tok = json_find(j, obj, key);
	uint64_t	 n;

	return tok != 0 && json_u64(j, tok, &n) == 0 ? n : 0;
}

static void
take_overflow(struct opening *o, const struct json *j, uint32_t tok)
{
	memset(&o->overflow, 0, sizeof(o->overflow));
	if (tok == 0 || json_tok(j, tok)->type != JSON_OBJECT)
		return;
	o->overflow.held_back_ms = number(j, tok, "heldBackMs");
	o->overflow.dropped = number(j, tok, "droppedBytes");
}

static void
take_caps(struct opening *o, const struct json *j, uint32_t list)
{
	uint32_t	 tok;
	size_t		 i;

	for (i = 0; i < CAPS; i++) {
		tok = json_find(j, list, caps[i]);
		if (tok != 0 && json_tok(j, tok)->type == JSON_TRUE)
			o->caps |= 1u << i;
	}
}

/* All but the id is optional. */
int
opening_take_session(struct opening *o, const struct json *j, uint32_t result)
{
	uint32_t	 info, list, tok = json_find(j, result, "sessionId");

	assert(o->phase == SESSION_NONE);
	if (tok == 0 || json_tok(j, tok)->type != JSON_STRING)
		return -1;
	o->phase = SESSION_OPEN;
	/* An id that is too long only means that it cannot be resumed. */
	if (json_tok(j, tok)->len < sizeof(o->session))
		json_copy_text(j, tok, o->session, sizeof(o->session));
	take_overflow(o, j, json_find(j, result, "execsrvOverflow"));
	if ((info = json_find(j, result, "environmentInfo")) == 0)
		return 0;
	opening_take_cwd(o, j, json_find(j, info, "cwd"));
	if ((list = json_find(j, info, "capabilities")) != 0)
		take_caps(o, j, list);
	return 0;
}

void
opening_end(struct opening *o)
{
	if (o->phase == SESSION_OPEN)
		o->phase = SESSION_ENDING;
}

enum session_phase
opening_phase(const struct opening *o)
{
	return o->phase;
}

const char *
opening_session(const struct opening *o)
{
	return o->session[0] != '\0' ? o->session : NULL;
}

void
opening_make_id(const struct opening *o, char letter, uint64_t n, char *out,
    size_t size)
{
	snprintf(out, size, "%c%s%llu", letter, o->tag,
	    (unsigned long long)n);
}
