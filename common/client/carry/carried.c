#include "common/client/carry/carried.h"
#include "common/client/carry/carried_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/text.h"
#include "common/limit.h"

#define KEEP_MEMORY	((size_t)256 * 1024)
#define KEPT_MAX	((size_t)128 * 1024 * 1024)	/* bytes of requests */
#define TEXT_MAX	((size_t)LIMIT_MESSAGE + LIMIT_FRAGMENT)

/* --- memory --- */

void
carried_init(struct carried *c, struct opening *o,
    const struct carried_ops *ops, void *arg)
{
	memset(c, 0, sizeof(*c));
	c->opening = o;
	c->ops = ops;
	c->arg = arg;
	TAILQ_INIT(&c->requests);
	TAILQ_INIT(&c->questions);
	TAILQ_INIT(&c->objects);
	TAILQ_INIT(&c->unconfirmed);
	json_init(&c->json);
	buf_init(&c->copy, TEXT_MAX);
	buf_init(&c->text, TEXT_MAX);
}

static void
carried_request_free(struct carried *c, struct carried_request *r)
{
	assert(c->kept >= r->len);
	c->kept -= r->len;
	free(r->id);
	free(r->name);
	free(r->text);
	free(r);
}

void
carried_request_end(struct carried *c, struct carried_request *r)
{
	TAILQ_REMOVE(&c->requests, r, entry);
	carried_request_free(c, r);
}

void
carried_drop_questions(struct carried *c)
{
	struct carried_request	*r;

	while ((r = TAILQ_FIRST(&c->questions)) != NULL) {
		TAILQ_REMOVE(&c->questions, r, entry);
		carried_request_free(c, r);
	}
}

void
carried_object_free(struct carried_object *o)
{
	free(o->name);
	free(o);
}

void
carried_object_end(struct carried *c, struct carried_object *o)
{
	TAILQ_REMOVE(&c->objects, o, entry);
	carried_object_free(o);
}

void
carried_fini(struct carried *c)
{
	struct carried_object	*o;

	while (!TAILQ_EMPTY(&c->requests))
		carried_request_end(c, TAILQ_FIRST(&c->requests));
	carried_drop_questions(c);
	while (!TAILQ_EMPTY(&c->objects))
		carried_object_end(c, TAILQ_FIRST(&c->objects));
	while ((o = TAILQ_FIRST(&c->unconfirmed)) != NULL) {
		TAILQ_REMOVE(&c->unconfirmed, o, entry);
		carried_object_free(o);
	}
	json_fini(&c->json);
	buf_fini(&c->copy);
	buf_fini(&c->text);
}

/* A value that was read, as text; NULL with errno. */
static char *
value_text(const struct json *j, uint32_t tok)
{
	struct json_out	 o;
	struct buf	 b;
	char		*text = NULL;

	buf_init(&b, LIMIT_MESSAGE);
	json_out_init(&o, &b);
	execsrv_put_value(&o, j, tok);
	if (json_out_fini(&o) == 0)
		text = strndup((char *)buf_data(&b), b.len);
	buf_fini(&b);
	return text;
}

/* Read a message, which stays as it is.  false: it is no object. */
static bool
carried_parse(struct carried *c, const char *text, size_t len)
{
	buf_drain(&c->copy, c->copy.len);
	buf_trim(&c->copy, KEEP_MEMORY);
	json_trim(&c->json);
	return len > 0 && buf_put(&c->copy, text, len) == 0 &&
	    json_parse(&c->json, (char *)buf_data(&c->copy), len) == 0 &&
	    json_tok(&c->json, 0)->type == JSON_OBJECT;
}

/* --- messages of ours --- */

void
carried_begin(struct carried *c, struct json_out *o)
{
	buf_drain(&c->text, c->text.len);
	json_out_init(o, &c->text);
	json_out_open(o, '{');
}

/* Close what is open, and send it.  0, or -1 with errno. */
int
carried_end(struct carried *c, struct json_out *o, unsigned open,
    int (*send)(void *, const char *, size_t))
{
	int	 r;

	while (open-- > 0)
		json_out_close(o, '}');
	if (json_out_fini(o) == -1)
		return -1;
	r = send(c->arg, (char *)buf_data(&c->text), c->text.len);
	buf_drain(&c->text, c->text.len);
	buf_trim(&c->text, KEEP_MEMORY);
	return r;
}

void
carried_begin_note(struct carried *c, struct json_out *o, const char *method,
    const char *key, const char *name)
{
	carried_begin(c, o);
	json_out_pair(o, "method", method);
	json_out_key(o, "params");
	json_out_open(o, '{');
	json_out_key(o, key);
	json_out_raw(o, name, strlen(name));
}

void
carried_begin_request(struct carried *c, struct json_out *o, const char *method)
{
	carried_begin(c, o);
	json_out_pair_u64(o, "id", ++c->last_id);
	json_out_pair(o, "method", method);
	json_out_key(o, "params");
	c->awaited++;
}

/* --- requests of the client --- */

/* What may be sent twice: it changes nothing, or nothing more. */
static const char *const	 safe_methods[] = {
#define SAFE(method)		method,
#define ONCE(method)
#define CALL(name, method, params, result, safe)	safe(method)
#define ASK(name, method, result, safe)			safe(method)
#define DO(name, method, params, safe)			safe(method)
#include "common/client/calls.def"
#undef CALL
#undef ASK
#undef DO
#undef SAFE
#undef ONCE
	"capabilities/discoverV2",
	"capabilityRoots/discoverV1",
	"fs/watchMissing",
	"process/closeStdin",
	"process/resize",
	"process/terminate",
	"process/write"		/* its writeId is known */
};

static bool
is_safe(const struct json *j, uint32_t method, uint32_t params)
{
	size_t	 i;

	if (json_is_text(j, method, "process/write") &&
	    json_find(j, params, "writeId") == 0)
		return false;
	for (i = 0; i < sizeof(safe_methods) / sizeof(safe_methods[0]); i++)
		if (json_is_text(j, method, safe_methods[i]))
			return true;
	return false;
}

static enum carried_kind
carried_kind_of(const struct json *j, uint32_t method, uint32_t params,
    const char **key_out)
{
	*key_out = NULL;
	if (json_is_text(j, method, "initialize"))
		return KIND_INITIALIZE;
	if (json_is_text(j, method, "process/start")) {
		*key_out = "processId";
		return KIND_PROCESS;
	}
	if (json_is_text(j, method, "http/request") &&
	    execsrv_is_true(j, params, "streamResponse")) {
		*key_out = "requestId";
		return KIND_STREAM;
	}
	if (json_is_text(j, method, "fs/watchMissing")) {
		*key_out = "watchId";
		return KIND_WATCH;
	}
	return KIND_PLAIN;
}

/* Who asks for a session, and whether it is a new one of the usual kind. */
static void
note_initialize(struct carried *c, uint32_t params)
{
	const struct json	*j = &c->json;
	uint32_t		 tok = json_find(j, params, "resumeSessionId");
	char			 name[256], *copy;

	c->is_foreign = (tok != 0 && json_tok(j, tok)->type != JSON_NULL) ||
	    execsrv_is_true(j, params, "execsrvOperates");
	if (execsrv_is_true(j, params, "execsrvReceipts"))
		c->has_receipts = true;
	if (json_copy_text(j, json_find(j, params, "clientName"), name,
	    sizeof(name)) &&
	    (copy = strdup(name)) != NULL) {
		free(c->opening->name);
		c->opening->name = copy;
	}
}

static struct carried_request *
carried_request_new(const struct json *j, uint32_t id)
{
	struct carried_request	*r;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	if ((r->id = value_text(j, id)) == NULL) {
		free(r);
		return NULL;
	}
	return r;
}

/* 0, or -1 with errno. */
static int
note_request(struct carried *c, uint32_t id, uint32_t method, const char *text,
    size_t len)
{
	const struct json	*j = &c->json;
	uint32_t		 params = json_find(j, 0, "params"), tok;
	struct carried_request	*r;
	const char		*key;

	if ((r = carried_request_new(j, id)) == NULL)
		return -1;
	TAILQ_INSERT_TAIL(&c->requests, r, entry);
	r->kind = carried_kind_of(j, method, params, &key);
	if (r->kind == KIND_INITIALIZE)
		note_initialize(c, params);
	if (json_is_text(j, method, "session/close"))
		opening_end(c->opening);
	if (key != NULL) {
		if ((tok = json_find(j, params, key)) == 0)
			r->kind = KIND_PLAIN;
		else if ((r->name = value_text(j, tok)) == NULL)
			return -1;
	}
	if (is_safe(j, method, params) && len <= KEPT_MAX - c->kept) {
		if ((r->text = malloc(len)) == NULL)
			return -1;
		memcpy(r->text, text, len);
		c->kept += r->len = len;
	}
	return 0;
}

/* Whether this answer is to a question of this connection. */
static bool
take_question(struct carried *c, uint32_t id)
{
	struct carried_request	*r;
	char			*text = value_text(&c->json, id);

	TAILQ_FOREACH(r, &c->questions, entry)
		if (text != NULL && strcmp(r->id, text) == 0)
			break;
	free(text);
	if (r == NULL)
		return false;
	TAILQ_REMOVE(&c->questions, r, entry);
	carried_request_free(c, r);
	return true;
}

int
carried_from_client(struct carried *c, const char *text, size_t len)
{
	uint32_t	 id, method;

	assert(carried_is_ready(c));
	if (carried_parse(c, text, len)) {
		id = json_find(&c->json, 0, "id");
		method = json_find(&c->json, 0, "method");
		if (id != 0 && method == 0 && !take_question(c, id))
			return 0;	/* of another connection */
		if (id != 0 && method != 0 &&
		    note_request(c, id, method, text, len) == -1)
			return -1;
		/* Receipts are of the connection, so ours. */
		if (id == 0 && method != 0 && json_is_text(&c->json, method,
		    "session/received")) {
			c->has_receipts = true;
			return 0;
		}
	}
	return c->ops->to_server(c->arg, text, len);
}

/* --- messages of the server --- */

static struct carried_object *
object_find(struct carried *c, enum carried_kind kind, uint32_t tok)
{
	struct carried_object	*o;
	char			*name;

	if (tok == 0 || (name = value_text(&c->json, tok)) == NULL)
		return NULL;
	TAILQ_FOREACH(o, &c->objects, entry)
		if (o->kind == kind && strcmp(o->name, name) == 0)
			break;
	free(name);
	return o;
}

/* What a request has made: it takes its name.  NULL with errno. */
int
carried_object_add(struct carried_objects *to, struct carried_request *r)
{
	struct carried_object	*o;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return -1;
	o->kind = r->kind;
	o->name = r->name;
	r->name = NULL;
	o->next_seq = 1;
	TAILQ_INSERT_TAIL(to, o, entry);
	return 0;
}

/* 0, or -1 with errno. */
static int
on_result(struct carried *c, struct carried_request *r, uint32_t result)
{
	switch (r->kind) {
	case KIND_INITIALIZE:
		c->received = c->acknowledged = 0;
		if (c->state == CARRIED_OPENING && opening_take_session(
		    c->opening, &c->json, result) == 0)
			c->state = CARRIED_OPEN;
		return 0;
	case KIND_WATCH:
		return execsrv_is_true(&c->json, result, "watching") ?
		    carried_object_add(&c->objects, r) : 0;
	case KIND_PROCESS:
	case KIND_STREAM:
		return carried_object_add(&c->objects, r);
	case KIND_PLAIN:
		break;
	}
	return 0;
}

static int
carried_on_answer(struct carried *c, const char *id)
{
	struct carried_request	*r;
	uint32_t		 result = json_find(&c->json, 0, "result");
	int			 n = 0;

	TAILQ_FOREACH(r, &c->requests, entry)
		if (strcmp(r->id, id) == 0)
			break;
	if (r == NULL)
		return 0;
	if (result != 0)
		n = on_result(c, r, result);
	carried_request_end(c, r);
	return n;
}

/* An answer too large for the reader: its id is first, if it is of ours. */
static void
on_unread_answer(struct carried *c, const char *text, size_t len)
{
	static const char	 begin[] = "{\"id\":";
	struct carried_request	*r;
	size_t			 n;

	if (len < sizeof(begin) || memcmp(text, begin, sizeof(begin) - 1) != 0)
		return;
	text += sizeof(begin) - 1;
	len -= sizeof(begin) - 1;
	TAILQ_FOREACH(r, &c->requests, entry)
		if ((n = strlen(r->id)) < len && memcmp(text, r->id, n) == 0 &&
		    text[n] == ',') {
			carried_request_end(c, r);
			return;
		}
}

/* Keep what a question was, for its answer. */
static int
on_question(struct carried *c, uint32_t id)
{
	struct carried_request	*r;

	if ((r = carried_request_new(&c->json, id)) == NULL)
		return -1;
	TAILQ_INSERT_TAIL(&c->questions, r, entry);
	return 0;
}

/* Follow an object; return whether the client has to hear of it now. */
static bool
on_object_note(struct carried *c, struct carried_object *o, bool is_last,
    bool is_exit, uint32_t params)
{
	uint32_t	 tok = json_find(&c->json, params, "seq");
	uint64_t	 seq;

	if (o->is_behind)
		return false;		/* it is read, too */
	if (is_exit)
		o->has_exited = true;
	if (is_last)
		carried_object_end(c, o);
	else if (tok != 0 && json_u64(&c->json, tok, &seq) == 0)
		o->next_seq = seq + 1;
	return true;
}

static bool
carried_on_note(struct carried *c, uint32_t method)
{
	const struct json	*j = &c->json;
	uint32_t		 params = json_find(j, 0, "params");
	struct carried_object	*o = NULL;
	bool			 is_exit = false, is_last = false;

	if (json_is_text(j, method, "session/ending") ||
	    json_is_text(j, method, "session/taken")) {
		opening_end(c->opening);
	} else if (json_is_text(j, method, "http/request/bodyDelta")) {
		o = object_find(c, KIND_STREAM, json_find(j, params,
		    "requestId"));
		is_last = execsrv_is_true(j, params, "done");
	} else if (json_is_text(j, method, "fs/missingChanged")) {
		o = object_find(c, KIND_WATCH, json_find(j, params,
		    "watchId"));
		is_last = true;
	} else if (json_is_text(j, method, "process/output") ||
	    (is_exit = json_is_text(j, method, "process/exited")) ||
	    (is_last = json_is_text(j, method, "process/closed"))) {
		o = object_find(c, KIND_PROCESS, json_find(j, params,
		    "processId"));
	}
	return o == NULL || on_object_note(c, o, is_last, is_exit, params);
}

/* --- any of them --- */

/* Say what has arrived, if the server is to hear it: 0, or -1 with errno. */
static int
send_receipt(struct carried *c)
{
	char	 text[96];
	int	 n;

	if ((c->state != CARRIED_OPEN && c->state != CARRIED_BEHIND) ||
	    !(c->has_receipts || opening_has_receipts(c->opening)) ||
	    (c->acknowledged > 0 &&
	    c->received - c->acknowledged < LIMIT_RECEIPT))
		return 0;
	c->acknowledged = c->received;
	n = snprintf(text, sizeof(text), "{\"method\":\"session/received\","
	    "\"params\":{\"bytes\":%llu}}", (unsigned long long)c->received);
	return c->ops->to_server(c->arg, text, (size_t)n);
}

/* 0: the client is to get it; 1: not; -1: errno. */
static int
take_message(struct carried *c)
{
	uint32_t	 id = json_find(&c->json, 0, "id");
	uint32_t	 method = json_find(&c->json, 0, "method");
	char		*text;
	int		 r;

	if (method != 0 && id != 0)
		return on_question(c, id);
	if (method != 0)
		return carried_on_note(c, method) ? 0 : 1;
	if (id == 0)
		return 0;
	if ((text = value_text(&c->json, id)) == NULL)
		return -1;
	r = carried_on_answer(c, text);
	free(text);
	return r;
}

int
carried_from_server(struct carried *c, const char *text, size_t len,
    struct execsrv_error *e)
{
	bool		 is_read = carried_parse(c, text, len);
	uint32_t	 tok;
	uint64_t	 id;
	int		 r = 0;

	if (is_read && !carried_is_ready(c) &&
	    json_find(&c->json, 0, "method") == 0 &&
	    (tok = json_find(&c->json, 0, "id")) != 0 &&
	    json_u64(&c->json, tok, &id) == 0) {
		if (carried_on_own_answer(c, id, e) == -1)
			return -1;
	} else {
		if (is_read)
			r = take_message(c);
		else
			on_unread_answer(c, text, len);
		if (r == 0)
			r = c->ops->to_client(c->arg, text, len);
	}
	c->received += len;
	if (r != -1 && send_receipt(c) == 0)
		return 0;
	execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
	return -1;
}

bool
carried_is_ready(const struct carried *c)
{
	return c->state == CARRIED_OPENING || c->state == CARRIED_OPEN;
}

bool
carried_can_resume(const struct carried *c)
{
	return c->state != CARRIED_OPENING && !c->is_foreign &&
	    opening_session(c->opening) != NULL &&
	    opening_phase(c->opening) == SESSION_OPEN;
}
