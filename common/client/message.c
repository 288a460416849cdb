/* Messages of the server: answers, notifications, requests. */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/client/calls.h"
#include "common/client/calls_priv.h"
#include "common/client/error.h"
#include "common/client/text.h"
#include "common/limit.h"

#define UNKNOWN_METHOD	(-32601)

void
calls_fail_memory(struct calls *cs)
{
	struct execsrv_error	 e;

	errno = ENOMEM;
	execsrv_error_set(&e, EXECSRV_WHY_SYSTEM, "out of memory");
	cs->events->on_failed(cs->arg, &e);
}

static struct execsrv_call *
find_call(struct calls *cs, uint32_t id)
{
	struct execsrv_call	*c;
	uint64_t		 n;

	if (json_u64(&cs->json, id, &n) == 0)
		TAILQ_FOREACH(c, &cs->list, entry)
			if (c->id == n)
				return c;
	return NULL;
}

static void
on_stray_response(struct calls *cs, const struct execsrv_error *error)
{
	struct execsrv_error	 e;

	execsrv_error_set(&e, EXECSRV_WHY_PROTOCOL, "the server sent a "
	    "response to no request%s%s", error != NULL ? ": " : "",
	    error != NULL ? error->text : "");
	cs->events->on_protocol_error(cs->arg, &e);
}

static void
on_answer(struct calls *cs, uint32_t id, uint32_t result, uint32_t error)
{
	struct execsrv_answer	 a = { .json = &cs->json };
	struct execsrv_error	 e;
	struct execsrv_call	*c;

	if (result == 0)
		execsrv_error_read(&cs->json, error, &e);
	a.result = result;
	a.error = result == 0 ? &e : NULL;
	if ((c = find_call(cs, id)) == NULL)
		on_stray_response(cs, a.error);
	else
		calls_answer(cs, c, &a);
}

/* Servers may ask; this client knows no method. */
static void
on_request(struct calls *cs, uint32_t id)
{
	const struct json	*j = &cs->json;
	struct json_out		 o;

	assert(cs->text.len == 0);
	json_out_init(&o, &cs->text);
	json_out_open(&o, '{');
	json_out_key(&o, "id");
	if (json_tok(j, id)->type == JSON_STRING)
		json_out_text(&o, json_text(j, id), json_tok(j, id)->len);
	else
		json_out_raw(&o, json_text(j, id), json_tok(j, id)->len);
	json_out_key(&o, "error");
	json_out_open(&o, '{');
	json_out_key(&o, "code");
	json_out_i64(&o, UNKNOWN_METHOD);
	json_out_pair(&o, "message", "this client handles no requests");
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1)
		calls_fail_memory(cs);
	else
		(void)calls_send_text(cs);
}

static void
message_on_note(struct calls *cs, uint32_t method)
{
	char	 name[64];

	json_copy_text(&cs->json, method, name, sizeof(name));
	cs->events->on_note(cs->arg, &cs->json, name,
	    json_find(&cs->json, 0, "params"));
}

static bool
is_id(const struct json *j, uint32_t tok)
{
	int64_t	 n;

	return json_tok(j, tok)->type == JSON_STRING ||
	    json_i64(j, tok, &n) == 0;
}

/* What JSON-RPC allows, and no more. */
static bool
is_message(const struct json *j, uint32_t id, uint32_t method,
    uint32_t result, uint32_t error)
{
	if (method != 0)
		return json_tok(j, method)->type == JSON_STRING &&
		    (id == 0 || is_id(j, id));
	if (id == 0 || (result == 0 && error == 0))
		return false;
	/* null: the server could not even read the id; why is worth knowing. */
	return is_id(j, id) || (result == 0 &&
	    json_tok(j, id)->type == JSON_NULL);
}

static void
on_no_rpc(struct calls *cs)
{
	struct execsrv_error	 e;

	execsrv_error_set(&e, EXECSRV_WHY_PROTOCOL,
	    "the server sent a message that is not JSON-RPC");
	cs->events->on_protocol_error(cs->arg, &e);
}

static void
take_object(struct calls *cs)
{
	const struct json	*j = &cs->json;
	uint32_t		 id = json_find(j, 0, "id");
	uint32_t		 method = json_find(j, 0, "method");
	uint32_t		 result = json_find(j, 0, "result");
	uint32_t		 error = json_find(j, 0, "error");

	if (!is_message(j, id, method, result, error)) {
		if (!cs->events->on_other(cs->arg, j))
			on_no_rpc(cs);
	} else if (method != 0 && id != 0) {
		on_request(cs, id);
	} else if (method != 0) {
		message_on_note(cs, method);
	} else {
		on_answer(cs, id, result, error);
	}
}

void
calls_take(struct calls *cs, char *text, size_t len)
{
	if (json_parse(&cs->json, text, len) == -1 ||
	    json_tok(&cs->json, 0)->type != JSON_OBJECT)
		on_no_rpc(cs);
	else
		take_object(cs);
	/* Delivered, or kept for its turn: the server may forget it. */
	cs->received += len;
}

void
calls_acknowledge(struct calls *cs)
{
	char	 text[96];
	int	 n;

	assert(cs->received >= cs->acknowledged);
	/* The first at once, so that the server knows that there will be
	   receipts. */
	if (cs->acknowledged > 0 &&
	    cs->received - cs->acknowledged < LIMIT_RECEIPT)
		return;
	cs->acknowledged = cs->received;
	n = snprintf(text, sizeof(text), "{\"method\":\"session/received\","
	    "\"params\":{\"bytes\":%llu}}", (unsigned long long)cs->received);
	(void)cs->events->send(cs->arg, text, (size_t)n);
}

void
calls_trim(struct calls *cs)
{
	json_trim(&cs->json);
}
