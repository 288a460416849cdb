/* JSON-RPC: requests out; answers, notifications and requests in. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/client_priv.h"
#include "common/clock.h"

#define TEXT_KEEP	(256 * 1024)
#define KEPT_MAX	((size_t)128 * 1024 * 1024)	/* bytes of requests */
#define UNKNOWN_METHOD	(-32601)

/* --- out --- */

struct execsrv_call *
execsrv_begin(struct execsrv *x, const char *method, struct json_out *o)
{
	struct execsrv_call	*c;

	if (x->state == EXECSRV_GONE) {
		errno = EPIPE;
		return NULL;
	}
	if ((c = calloc(1, sizeof(*c))) == NULL) {
		execsrv_fail(x, "out of memory");
		return NULL;
	}
	c->id = ++x->last_id;
	TAILQ_INSERT_TAIL(&x->calls, c, entry);
	json_out_init(o, &x->text);
	json_out_open(o, '{');
	json_out_key(o, "id");
	json_out_u64(o, c->id);
	json_out_key(o, "method");
	json_out_str(o, method);
	json_out_key(o, "params");
	return c;
}

static int
call_send_text(struct execsrv *x)
{
	int	 r;

	r = execsrv_send(x, WS_TEXT, buf_data(&x->text), x->text.len);
	buf_drain(&x->text, x->text.len);
	buf_trim(&x->text, TEXT_KEEP);
	return r;
}

/* Until there is a connection, or until it is answered. */
static int
keep_text(struct execsrv *x, struct execsrv_call *c)
{
	if (x->kept + x->text.len > KEPT_MAX)
		return execsrv_fail(x, "too much waits for the server");
	if ((c->text = malloc(x->text.len)) == NULL)
		return execsrv_fail(x, "out of memory");
	memcpy(c->text, buf_data(&x->text), x->text.len);
	c->len = x->text.len;
	x->kept += c->len;
	return 0;
}

void
execsrv_call_free(struct execsrv *x, struct execsrv_call *c)
{
	TAILQ_REMOVE(&x->calls, c, entry);
	x->kept -= c->len;
	free(c->text);
	free(c);
}

int
execsrv_end(struct execsrv *x, struct execsrv_call *c, struct json_out *o)
{
	int	 r = 0;

	json_out_close(o, '}');
	if (json_out_fini(o) == 0) {
		c->is_sent = c->is_ours || execsrv_is_open(x);
		/* Only who may hope for another connection keeps anything. */
		if (!c->is_sent || (c->is_safe && x->patience > 0 &&
		    x->session[0] != '\0'))
			r = keep_text(x, c);
		if (r == 0 && c->is_sent)
			r = call_send_text(x);
		else
			buf_drain(&x->text, x->text.len);
		if (r == -1)
			execsrv_call_free(x, c);
		return r;
	}
	/* Too long is the caller's fault; what is lost for lack of memory
	   would be missed by nobody: a hole in the input of a process. */
	if (errno != EFBIG)
		execsrv_fail(x, "out of memory");
	execsrv_call_free(x, c);
	buf_fini(&x->text);
	errno = x->state == EXECSRV_GONE ? EPIPE : EFBIG;
	return -1;
}

static struct execsrv_call *
begin_raw(struct execsrv *x, const char *method, const char *params,
    size_t len, struct json_out *o)
{
	struct execsrv_call	*c;

	if ((c = execsrv_begin(x, method, o)) == NULL)
		return NULL;
	if (params != NULL)
		json_out_raw(o, params, len);
	else
		json_out_null(o);
	return c;
}

int
execsrv_call(struct execsrv *x, const char *method, const char *params,
    size_t len, execsrv_answer_fn *fn, void *arg)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = begin_raw(x, method, params, len, &o)) == NULL)
		return -1;
	c->fn = fn;
	c->arg = arg;
	return execsrv_end(x, c, &o);
}

/* --- in JSON as text --- */

struct text_call {
	execsrv_json_fn	*fn;
	void		*arg;
};

static void
on_text_answer(void *arg, const struct execsrv_answer *a)
{
	struct text_call	*t = arg;
	struct execsrv_error	 e;
	struct json_out		 o;
	struct buf		 b;

	buf_init(&b, SIZE_MAX);
	json_out_init(&o, &b);
	if (a->error == NULL)
		execsrv_put_value(&o, a->json, a->result);
	if (json_out_fini(&o) == -1) {
		execsrv_error_set(&e, 0, "out of memory");
		t->fn(t->arg, NULL, 0, &e);
	} else {
		t->fn(t->arg, a->error != NULL ? NULL : (char *)buf_data(&b),
		    b.len, a->error);
	}
	buf_fini(&b);
	free(t);
}

int
execsrv_call_json(struct execsrv *x, const char *method, const char *params,
    size_t len, execsrv_json_fn *fn, void *arg)
{
	struct execsrv_call	*c;
	struct text_call	*t = NULL;
	struct json_out		 o;
	int			 error;

	if (params != NULL && execsrv_check_json(params, len) == -1)
		return -1;
	if (fn == NULL)
		return execsrv_call(x, method, params, len, NULL, NULL);
	if ((t = malloc(sizeof(*t))) == NULL)
		return -1;
	t->fn = fn;
	t->arg = arg;
	if ((c = begin_raw(x, method, params, len, &o)) != NULL) {
		c->fn = on_text_answer;
		c->arg = t;
		if (execsrv_end(x, c, &o) == 0) {
			c->owns_arg = true;
			return 0;
		}
	}
	error = errno;
	free(t);
	errno = error;
	return -1;
}

/* --- waiting for the answer --- */

struct ask {
	execsrv_answer_fn	*fn;
	void			*arg;
	struct execsrv_error	*error;
	bool			 done;
	int			 result;
};

static void
on_asked(void *arg, const struct execsrv_answer *a)
{
	struct ask	*k = arg;

	k->done = true;
	k->result = a->error == NULL ? 0 : -1;
	if (a->error != NULL)
		*k->error = *a->error;
	else if (k->fn != NULL)
		k->fn(k->arg, a);
}

/* The answer may still come; nobody is there for it. */
void
execsrv_forget(struct execsrv *x, execsrv_answer_fn *fn, const void *arg)
{
	struct execsrv_call	*c;

	TAILQ_FOREACH(c, &x->calls, entry)
		if (c->fn == fn && c->arg == arg)
			c->fn = NULL;
}

int
execsrv_ask(struct execsrv *x, const char *method, const char *params,
    size_t len, int timeout_ms, execsrv_answer_fn *fn, void *arg,
    struct execsrv_error *e)
{
	struct ask	 k = { .fn = fn, .arg = arg, .error = e };
	uint64_t	 began = x->clock(), spent;
	int		 left = timeout_ms;

	if (execsrv_call(x, method, params, len, on_asked, &k) == -1) {
		execsrv_error_set(e, 0, "%s", x->state == EXECSRV_GONE ?
		    x->why.text : strerror(errno));
		return -1;
	}
	while (!k.done) {
		if (execsrv_wait(x, left) == -1) {
			if (!k.done)
				*e = x->why;
			k.result = k.done ? k.result : -1;
			break;
		}
		spent = x->clock() - began;
		if (k.done || timeout_ms == -1)
			continue;
		if (spent >= (uint64_t)timeout_ms) {
			execsrv_error_set(e, 0,
			    "the server does not answer %s", method);
			k.result = -1;
			break;
		}
		left = timeout_ms - (int)spent;
	}
	execsrv_forget(x, on_asked, &k);
	/* The hook may have found the answer unbearable. */
	if (k.result == 0 && x->state == EXECSRV_GONE) {
		*e = x->why;
		k.result = -1;
	}
	return k.result;
}

/* --- in --- */

void
execsrv_copy_text(const struct json *j, uint32_t tok, char *out, size_t size)
{
	size_t	 n;

	out[0] = '\0';
	if (tok == 0 || json_tok(j, tok)->type != JSON_STRING)
		return;
	n = json_tok(j, tok)->len < size ? json_tok(j, tok)->len : size - 1;
	memcpy(out, json_text(j, tok), n);
	out[n] = '\0';
}

static void
read_error(const struct json *j, uint32_t error, struct execsrv_error *e)
{
	char		 text[sizeof(e->text)];
	uint32_t	 code = json_find(j, error, "code");
	int64_t		 n;

	execsrv_copy_text(j, json_find(j, error, "message"), text,
	    sizeof(text));
	if (code == 0 || json_i64(j, code, &n) == -1 || n == 0)
		n = -32603;
	execsrv_error_set(e, n, "%s", text[0] != '\0' ? text :
	    "an error without a message");
}

static struct execsrv_call *
find_call(struct execsrv *x, uint32_t id)
{
	struct execsrv_call	*c;
	uint64_t		 n;

	if (json_u64(&x->json, id, &n) == 0)
		TAILQ_FOREACH(c, &x->calls, entry)
			if (c->id == n)
				return c;
	return NULL;
}

/* Tell who asked, and forget the call: it may ask something else. */
static void
call_answer(struct execsrv *x, struct execsrv_call *c,
    const struct execsrv_answer *a)
{
	struct execsrv_process	*p = c->process;
	enum execsrv_request	 what = c->what;
	execsrv_answer_fn	*fn = c->fn;
	void			*arg = c->arg;

	x->has_moved |= a->error == NULL && !c->is_ours;
	execsrv_call_free(x, c);
	if (p != NULL)
		execsrv_process_answer(p, what, a);
	else if (fn != NULL)
		fn(arg, a);
}

static void
call_on_answer(struct execsrv *x, uint32_t id, uint32_t result, uint32_t error)
{
	struct execsrv_answer	 a = { .json = &x->json };
	struct execsrv_error	 e;
	struct execsrv_call	*c;

	if (result == 0)
		read_error(&x->json, error, &e);
	a.result = result;
	a.error = result == 0 ? &e : NULL;
	if ((c = find_call(x, id)) == NULL) {
		execsrv_lose(x, "the server answers what was not asked%s%s",
		    a.error != NULL ? ": " : "",
		    a.error != NULL ? a.error->text : "");
		return;
	}
	call_answer(x, c, &a);
}

/* Servers may ask; this client knows nothing. */
static void
call_on_request(struct execsrv *x, uint32_t id)
{
	const struct json	*j = &x->json;
	struct json_out		 o;

	json_out_init(&o, &x->text);
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
	json_out_key(&o, "message");
	json_out_str(&o, "this client answers no requests");
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1)
		execsrv_fail(x, "out of memory");
	else
		call_send_text(x);
}

void
execsrv_on_note(struct execsrv *x, execsrv_note_fn *fn, void *arg)
{
	x->on_note = fn;
	x->note_arg = arg;
}

/* One that nothing here knows. */
static void
pass_note(struct execsrv *x, const char *name, uint32_t params)
{
	struct json_out	 o;
	struct buf	 b;

	buf_init(&b, SIZE_MAX);
	json_out_init(&o, &b);
	if (params != 0)
		execsrv_put_value(&o, &x->json, params);
	if (json_out_fini(&o) == -1)
		execsrv_fail(x, "out of memory");
	else
		x->on_note(x->note_arg, name, (char *)buf_data(&b), b.len);
	buf_fini(&b);
}

static void
on_note(struct execsrv *x, uint32_t method)
{
	char		 name[64];
	uint32_t	 params = json_find(&x->json, 0, "params");

	execsrv_copy_text(&x->json, method, name, sizeof(name));
	if (strcmp(name, "session/ending") == 0)
		x->is_ending = true;
	if (!execsrv_process_note(x, name, params) &&
	    !execsrv_http_note(x, name, params) &&
	    !execsrv_watch_note(x, name, params) && x->on_note != NULL)
		pass_note(x, name, params);
}

static bool
call_is_id(const struct json *j, uint32_t tok)
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
		    (id == 0 || call_is_id(j, id));
	if (id == 0 || (result == 0 && error == 0))
		return false;
	/* null: the server could not even read the id; why is worth knowing. */
	return call_is_id(j, id) || (result == 0 &&
	    json_tok(j, id)->type == JSON_NULL);
}

/* At once for the first time, so that it knows that there will be some. */
static void
send_receipt(struct execsrv *x)
{
	char	 text[96];
	int	 n;

	if (!execsrv_has_frames(x) || (x->state != EXECSRV_OPEN &&
	    x->state != EXECSRV_CATCHING_UP) || !execsrv_has_receipts(x) ||
	    (x->acknowledged > 0 &&
	    x->received - x->acknowledged < LIMIT_RECEIPT))
		return;
	x->acknowledged = x->received;
	n = snprintf(text, sizeof(text), "{\"method\":\"session/received\","
	    "\"params\":{\"bytes\":%llu}}", (unsigned long long)x->received);
	execsrv_send(x, WS_TEXT, text, (size_t)n);
}

static void
take_message(struct execsrv *x, char *text, size_t len)
{
	struct json	*j = &x->json;
	uint32_t	 id, method, result, error;

	if (json_parse(j, text, len) == -1 ||
	    json_tok(j, 0)->type != JSON_OBJECT) {
		execsrv_lose(x, "the server sent something else than "
		    "JSON-RPC");
		return;
	}
	id = json_find(j, 0, "id");
	method = json_find(j, 0, "method");
	result = json_find(j, 0, "result");
	error = json_find(j, 0, "error");
	if (x->reach.url != NULL && execsrv_reach_error(x, j))
		return;
	if (!is_message(j, id, method, result, error))
		execsrv_lose(x, "the server sent something else than "
		    "JSON-RPC");
	else if (method != 0 && id != 0)
		call_on_request(x, id);
	else if (method != 0)
		on_note(x, method);
	else
		call_on_answer(x, id, result, error);
}

void
execsrv_on_message(struct execsrv *x, char *text, size_t len)
{
	take_message(x, text, len);
	/* It is in our hands now: delivered, or kept for its turn. */
	x->received += len;
	send_receipt(x);
}

/* --- between two connections --- */

void
execsrv_send_kept(struct execsrv *x)
{
	struct execsrv_call	*c;

	TAILQ_FOREACH(c, &x->calls, entry) {
		if (c->is_sent || !execsrv_is_open(x))
			continue;
		c->is_sent = true;
		execsrv_send(x, WS_TEXT, c->text, c->len);
		if (c->is_safe)
			continue;
		x->kept -= c->len;
		free(c->text);
		c->text = NULL;
		c->len = 0;
	}
}

/*
 * What was not sent yet, and what may be sent twice, goes to the next
 * connection.  Of the rest nobody knows whether it was done.
 */
void
execsrv_settle(struct execsrv *x)
{
	struct execsrv_answer	 a = { .json = NULL };
	struct execsrv_error	 e;
	struct execsrv_call	*c;
	uint64_t		 last = x->last_id;

	execsrv_error_set(&e, 0, "the connection was lost before the answer");
	a.error = &e;
	for (;;) {
		TAILQ_FOREACH(c, &x->calls, entry)
			if (c->id <= last && c->is_sent && !c->is_safe)
				break;
		if (c == NULL)
			break;
		if (c->process != NULL && c->what == EXECSRV_START)
			execsrv_process_orphan(c->process);
		call_answer(x, c, &a);
	}
	TAILQ_FOREACH(c, &x->calls, entry)
		if (c->id <= last)
			c->is_sent = false;
}

void
execsrv_fail_calls(struct execsrv *x)
{
	struct execsrv_error	 e = x->why;
	struct execsrv_answer	 a = { .error = &e };
	struct execsrv_call	*c;

	e.code = 0;			/* it may be that of initialize */
	do {
		TAILQ_FOREACH(c, &x->calls, entry)
			if (c->process == NULL)
				break;
		if (c != NULL)
			call_answer(x, c, &a);
	} while (c != NULL);
	execsrv_http_lost(x);
	execsrv_watch_lost(x);
}
