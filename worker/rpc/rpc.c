#include "worker/rpc/rpc.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/utf8.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/conn/conn.h"
#include "worker/fs/pathwatch.h"
#include "worker/proc/snapshot.h"
#include "worker/rpc/rpc_priv.h"
#include "worker/sandbox/sockmark.h"

struct rpc_method {
	const char		*name;
	rpc_fn			*fn;
	const struct field	*fields;
	size_t			 size;
	enum rpc_phase		 phase;
};

static const struct rpc_method methods[] = {
#define RPC(method, fn, params, state)					\
	{ method, rpc_##fn, fields_##params,				\
	  sizeof(struct params##_params), PHASE_##state },
#include "proto/rpc.def"
#undef RPC
};

/* The members of a message: tokens, or 0. */
struct envelope {
	uint32_t	 id, method, params, result, error, trace;
};

/* --- answers --- */

static void
req_free(struct rpc_req *req)
{
	free(req->id.text);
	free(req);
}

/* After an answer sent by other means than rpc_end(): free the request. */
static void
rpc_done(struct rpc_req *req)
{
	struct rpc	*rpc = req->rpc;

	assert(!req->kept);
	buf_drain(&rpc->scratch, rpc->scratch.len);
	buf_trim(&rpc->scratch, 65536);
	if (req->owned)
		req_free(req);
}

/* An answer could not be written: close the connection. */
static void
rpc_give_up(struct rpc *rpc)
{
	log_warn("an answer could not be written");
	if (rpc->conn != NULL)
		conn_close(rpc->conn, 1011, "an answer was too long");
}

/* Send the answer, or close if it is incomplete.  May end the connection. */
static void
rpc_finish(struct rpc_req *req, struct json_out *o)
{
	struct rpc	*rpc = req->rpc;

	json_out_close(o, '}');
	if (json_out_fini(o) == -1)
		rpc_give_up(rpc);
	else if (rpc->conn != NULL)
		conn_send_buf(rpc->conn, &rpc->scratch);
	rpc_done(req);
}

/*
 * Remove a kept request from the list before it is answered: sending may end
 * the connection, which cancels all in the list.
 */
static void
unkeep(struct rpc_req *req)
{
	assert(!req->kept || req->rpc->nwaiting > 0);
	if (!req->kept)
		return;
	TAILQ_REMOVE(&req->rpc->waiting, req, entry);
	req->rpc->nwaiting--;
	req->kept = false;
}

void
rpc_begin_value(struct rpc_req *req, struct json_out *o)
{
	unkeep(req);
	json_out_init(o, &req->rpc->scratch);
	json_out_open(o, '{');
	jsonrpc_put_id(o, &req->id);
	json_out_key(o, "result");
}

void
rpc_end_value(struct rpc_req *req, struct json_out *o)
{
	rpc_finish(req, o);
}

struct json_out *
rpc_begin(struct rpc_req *req, struct json_out *o)
{
	rpc_begin_value(req, o);
	json_out_open(o, '{');
	return o;
}

void
rpc_end(struct rpc_req *req, struct json_out *o)
{
	json_out_close(o, '}');
	rpc_finish(req, o);
}

/* --- answers with base64 --- */

/* An answer being written: text with parts to be inserted. */
struct b64_answer {
	struct conn_source	 src;
	const char		*text;
	size_t			 len, off;	/* of text; bytes written */
	const struct rpc_b64	*part, *end;	/* not yet written */
	size_t			 part_off;	/* of the base64 of part */
	/* Of a long answer, which outlives the handler: */
	struct buf		 own_text, own_data;
	struct rpc_b64		 own_part;
};

/* Write n characters of the base64 of a part, from off on. */
static void
put_b64(char *at, const struct rpc_b64 *p, size_t off, size_t n)
{
	const uint8_t	*from;
	size_t		 left, len, skip;
	char		 four[4];

	for (; n > 0; at += len, off += len, n -= len) {
		from = (const uint8_t *)p->data + off / 4 * 3;
		left = p->len - off / 4 * 3;
		if ((skip = off % 4) == 0 && n >= 4) {
			len = n / 4 * 4;
			b64_encode(at, from,
			    left < len / 4 * 3 ? left : len / 4 * 3);
			continue;
		}
		b64_encode(four, from, left < 3 ? left : 3);
		len = n < 4 - skip ? n : 4 - skip;
		memcpy(at, four + skip, len);
	}
}

static void
b64_write(struct conn_source *src, char *at, size_t n)
{
	struct b64_answer	*a = (struct b64_answer *)src;
	size_t			 len, end;

	for (; n > 0; at += len, n -= len) {
		end = a->part == a->end ? a->len : a->part->at;
		if (a->off < end) {
			len = end - a->off < n ? end - a->off : n;
			memcpy(at, a->text + a->off, len);
			a->off += len;
			continue;
		}
		end = B64_ENCODED_LEN(a->part->len);
		len = end - a->part_off < n ? end - a->part_off : n;
		put_b64(at, a->part, a->part_off, len);
		a->part_off += len;
		if (a->part_off == end) {
			a->part++;
			a->part_off = 0;
		}
	}
}

static void
b64_free(struct conn_source *src)
{
	struct b64_answer	*a = (struct b64_answer *)src;

	buf_fini(&a->own_text);
	buf_fini(&a->own_data);
	free(a);
}

/* Send an answer, written while the client reads: takes text and data. */
static void
send_long(struct rpc *rpc, const struct b64_answer *answer,
    struct buf *data, size_t len)
{
	struct b64_answer	*a;

	assert(answer->end == answer->part + 1);
	if ((a = malloc(sizeof(*a))) == NULL) {
		rpc_give_up(rpc);
		return;
	}
	*a = *answer;
	a->src.free = b64_free;
	buf_move(&a->own_text, &rpc->scratch);
	buf_move(&a->own_data, data);
	a->text = (const char *)buf_data(&a->own_text);
	a->own_part = *a->part;
	a->own_part.data = buf_data(&a->own_data);
	a->part = &a->own_part;
	a->end = a->part + 1;
	conn_send_source(rpc->conn, &a->src, len);
}

static void
rpc_send_whole(struct rpc *rpc, struct b64_answer *a, size_t len)
{
	struct buf	 whole;
	char		*at;

	buf_init(&whole, len);
	if ((at = buf_reserve(&whole, len)) == NULL) {
		rpc_give_up(rpc);
		return;
	}
	b64_write(&a->src, at, len);
	buf_commit(&whole, len);
	conn_send_buf(rpc->conn, &whole);
}

void
rpc_put_b64(struct json_out *o, const void *data, size_t len,
    struct rpc_b64 *part_out)
{
	json_out_str(o, "");
	part_out->at = o->b->len - 1;
	part_out->data = data;
	part_out->len = len;
}

void
rpc_end_b64(struct rpc_req *req, struct json_out *o,
    const struct rpc_b64 *parts, size_t n, struct buf *data)
{
	struct rpc		*rpc = req->rpc;
	struct b64_answer	 a = { .src = { .write = b64_write } };
	size_t			 len, i;

	assert(data == NULL || n == 1);
	json_out_close(o, '}');
	json_out_close(o, '}');
	a.text = (const char *)buf_data(&rpc->scratch);
	a.len = len = rpc->scratch.len;
	a.part = parts;
	a.end = parts + n;
	for (i = 0; i < n; i++)
		len += B64_ENCODED_LEN(parts[i].len);
	if (json_out_fini(o) == -1 || len > LIMIT_MESSAGE)
		rpc_give_up(rpc);
	else if (rpc->conn != NULL && len <= LIMIT_OUT_READING)
		conn_send_source(rpc->conn, &a.src, len);
	else if (rpc->conn != NULL && data != NULL)
		send_long(rpc, &a, data, len);
	else if (rpc->conn != NULL)
		rpc_send_whole(rpc, &a, len);
	if (data != NULL)
		buf_fini(data);
	rpc_done(req);
}

void
rpc_error(struct rpc_req *req, enum rpc_err err, const char *text)
{
	struct json_out	 o;

	unkeep(req);
	json_out_init(&o, &req->rpc->scratch);
	jsonrpc_put_error(&o, &req->id, err, text);
	rpc_finish(req, &o);
}

void
rpc_errorf(struct rpc_req *req, enum rpc_err err, const char *fmt, ...)
{
	char	 text[256];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rpc_error(req, err, text);
}

void
rpc_status(struct rpc_req *req, const char *status)
{
	struct json_out	 o;

	rpc_begin(req, &o);
	json_out_pair(&o, "status", status);
	rpc_end(req, &o);
}

void
rpc_ok(struct rpc_req *req)
{
	struct json_out	 o;

	rpc_begin(req, &o);
	rpc_end(req, &o);
}

/* --- requests that wait --- */

struct rpc_req *
rpc_keep(struct rpc_req *req, void (*cancel)(struct rpc_req *), void *waiter)
{
	struct rpc	*rpc = req->rpc;
	struct rpc_req	*k;

	if (req->kept) {
		req->cancel = cancel;
		req->waiter = waiter;
		return req;
	}
	if (rpc->nwaiting >= LIMIT_REQUESTS) {
		rpc_error(req, ERR_TOO_MANY, "too many requests are waiting");
		return NULL;
	}
	if ((k = calloc(1, sizeof(*k))) == NULL)
		goto fail;
	*k = *req;
	if (req->id.text != NULL) {
		/* An empty id is text as well: not malloc(0). */
		if ((k->id.text = malloc(req->id.len + 1)) == NULL)
			goto fail;
		memcpy(k->id.text, req->id.text, req->id.len);
	}
	k->kept = k->owned = true;
	k->cancel = cancel;
	k->waiter = waiter;
	TAILQ_INSERT_TAIL(&rpc->waiting, k, entry);
	rpc->nwaiting++;
	return k;
 fail:
	free(k);
	rpc_error(req, ERR_FAILED, "out of memory");
	return NULL;
}

static void
rpc_cancel_all(struct rpc *rpc)
{
	struct rpc_req	*req;

	while ((req = TAILQ_FIRST(&rpc->waiting)) != NULL) {
		unkeep(req);
		if (req->cancel != NULL)
			req->cancel(req);
		req_free(req);
	}
}

/* --- messages --- */

/* Send an error that belongs to no request: id -1 (PROTOCOL 2.3). */
static void
rpc_complain(struct rpc *rpc, enum rpc_err err)
{
	struct rpc_req	 req;

	if (rpc->is_strict && err == ERR_MALFORMED) {
		if (rpc->conn != NULL)
			conn_close(rpc->conn, 1007, "not JSON-RPC");
		return;
	}
	memset(&req, 0, sizeof(req));
	req.rpc = rpc;
	req.id.number = -1;
	rpc_error(&req, err, NULL);
}

static bool
is_trace(struct json *j, uint32_t tok)
{
	struct trace_params	 trace;
	struct param_error	 why;

	return params_decode(j, tok, fields_trace, &trace, sizeof(trace),
	    false, &why) == 0;
}

static void
read_envelope(const struct json *j, struct envelope *e)
{
	e->id = json_find(j, 0, "id");
	e->method = json_find(j, 0, "method");
	e->params = json_find(j, 0, "params");
	e->result = json_find(j, 0, "result");
	e->error = json_find(j, 0, "error");
	e->trace = json_find(j, 0, "trace");
}

static int
compare_method(const void *key, const void *row)
{
	const struct param_text	*name = key;
	const char		*want = ((const struct rpc_method *)row)->name;
	size_t			 len = strlen(want);
	int			 r;

	r = memcmp(name->s, want, name->len < len ? name->len : len);
	return r != 0 ? r : name->len < len ? -1 : name->len > len;
}

/* Whether a message may carry the data of a file or input of a process. */
static bool
rpc_has_data(const struct field *f)
{
	for (; f->key != NULL; f++)
		if (f->type == FIELD_B64 || strcmp(f->key, "dataBase64") == 0)
			return true;
	return false;
}

/* Whether a session for session/operate alone may ask for it. */
static bool
is_for_operators(rpc_fn *fn)
{
	return fn == rpc_operate || fn == rpc_operate_tail ||
	    fn == rpc_session_close;
}

static void
dispatch(struct rpc *rpc, struct rpc_req *req, const struct envelope *e,
    const struct rpc_message *msg)
{
	const struct rpc_method	*m;
	struct param_text	 name;
	struct param_error	 why;
	union params		 params;

	name.s = rpc->json.text + json_tok(&rpc->json, e->method)->pos;
	name.len = json_tok(&rpc->json, e->method)->len;
	m = bsearch(&name, methods, sizeof(methods) / sizeof(methods[0]),
	    sizeof(methods[0]), compare_method);
	/* As in the reference, but its client sends large data so. */
	if (rpc->conn != NULL && conn_has_long_frame(rpc->conn) && (m == NULL ||
	    !rpc_has_data(m->fields))) {
		conn_close(rpc->conn, 1009, "message too big");
		return;
	}
	if (m == NULL) {
		rpc_error(req, ERR_UNKNOWN_METHOD, NULL);
		return;
	}
	if (params_decode(&rpc->json, e->params, m->fields, &params, m->size,
	    rpc->env->set.native_paths, &why) == -1) {
		if (why.is_errno)
			rpc_errorf(req, errno == ENOENT ? ERR_NOT_FOUND :
			    ERR_FAILED, "%s", strerror(errno));
		else
			rpc_errorf(req, ERR_PARAMS, "%s%s", why.is_worded ?
			    "" : "invalid params: ", why.text);
		return;
	}
	if (m->phase == PHASE_NEW && rpc->phase != PHASE_NEW)
		rpc_error(req, ERR_INITIALIZED, NULL);
	else if (session_operates(rpc->session) && !is_for_operators(m->fn))
		rpc_error(req, ERR_MALFORMED, "this session is for "
		    "session/operate alone");
	else if (m->phase > rpc->phase)
		rpc_error(req, rpc->phase == PHASE_NEW ? ERR_NOT_INITIALIZED :
		    ERR_NOT_READY, NULL);
	else
		m->fn(rpc, req, &params, msg);
}

/*
 * The client acknowledges so many bytes of messages, counted from the answer to
 * initialize.  0, or -1: invalid.
 */
static int
received(struct rpc *rpc, uint32_t params)
{
	struct session_received_params	 p;
	struct param_error		 why;

	if (params_decode(&rpc->json, params, fields_session_received, &p,
	    sizeof(p), false, &why) == -1)
		return -1;
	return session_received(rpc->session, p.bytes.n);
}

/*
 * Handle "initialized" and receipts, after initialize only (PROTOCOL 2.4, 4.2).
 */
static void
notified(struct rpc *rpc, const struct envelope *e)
{
	if (json_is_text(&rpc->json, e->method, "initialized") &&
	    rpc->phase != PHASE_NEW) {
		rpc->phase = PHASE_READY;
		return;
	}
	if (json_is_text(&rpc->json, e->method, "session/received") &&
	    rpc->phase != PHASE_NEW && rpc->conn != NULL) {
		if (received(rpc, e->params) == -1)
			conn_close(rpc->conn, 1002,
			    "a receipt for what was not sent");
		return;
	}
	rpc_complain(rpc, ERR_UNKNOWN_NOTE);
	if (rpc->conn != NULL)
		conn_close(rpc->conn, 1002, "unknown notification");
}

static bool
rpc_is_text(const struct json *j, uint32_t tok)
{
	return tok != 0 && json_tok(j, tok)->type == JSON_STRING;
}

/* A result or an error: an answer to a question about a host. */
static void
rpc_answered(struct rpc *rpc, const struct envelope *e)
{
	struct rpc_req	 req;

	memset(&req, 0, sizeof(req));
	if (e->id == 0 || (e->result == 0 && e->error == 0) ||
	    jsonrpc_read_id(&rpc->json, e->id, &req.id) == -1)
		rpc_complain(rpc, ERR_MALFORMED);
	else if (rpc->conn != NULL && (req.id.text != NULL ||
	    rpc->on_answer == NULL || !rpc->on_answer(rpc, req.id.number,
	    e->error == 0 ? e->result : 0)))
		conn_close(rpc->conn, 1002, "an answer to no request");
}

static void
rpc_handle(struct rpc *rpc, const struct rpc_message *msg)
{
	struct envelope	 e;
	struct rpc_req	 req;

	if (json_tok(&rpc->json, 0)->type != JSON_OBJECT) {
		rpc_complain(rpc, ERR_MALFORMED);
		return;
	}
	read_envelope(&rpc->json, &e);
	memset(&req, 0, sizeof(req));
	req.rpc = rpc;
	if (e.method == 0)
		rpc_answered(rpc, &e);
	else if (!rpc_is_text(&rpc->json, e.method) ||
	    (e.id != 0 && (jsonrpc_read_id(&rpc->json, e.id, &req.id) == -1 ||
	    !is_trace(&rpc->json, e.trace))))
		rpc_complain(rpc, ERR_MALFORMED);
	else if (e.id == 0)
		notified(rpc, &e);
	else
		dispatch(rpc, &req, &e, msg);
}

void
rpc_on_message(void *arg, char *text, size_t len, bool is_utf8)
{
	struct rpc		*rpc = arg;
	struct rpc_message	 msg = { NULL, len };
	struct buf		 copy;

	assert(rpc->session != NULL);
	/* The parser changes the text; initialize may be handed over. */
	buf_init(&copy, LIMIT_FIRST_MESSAGE);
	if (rpc->phase == PHASE_NEW && len <= LIMIT_FIRST_MESSAGE) {
		if (buf_put(&copy, text, len) == -1) {
			rpc_complain(rpc, ERR_FAILED);
			return;
		}
		msg.raw = (char *)buf_data(&copy);
	}
	if (!is_utf8 || json_parse(&rpc->json, text, len) == -1)
		rpc_complain(rpc, ERR_MALFORMED);
	else
		rpc_handle(rpc, &msg);
	json_trim(&rpc->json);
	buf_fini(&copy);
}

/* --- the session --- */

void
rpc_on_idle(void *arg)
{
	struct rpc	*rpc = arg;

	json_fini(&rpc->json);
	buf_trim(&rpc->scratch, 0);
}

void
rpc_on_conn(void *arg, struct conn *c)
{
	struct rpc	*rpc = arg;

	assert((rpc->conn == NULL) == (c != NULL));
	rpc->conn = c;
	rpc->phase = PHASE_NEW;
	if (c != NULL)
		return;
	rpc_cancel_all(rpc);
	assert(rpc->nwaiting == 0 && TAILQ_EMPTY(&rpc->starts));
	pathwatcher_clear(rpc->watcher);
}

void
rpc_init(struct rpc *rpc, struct session *s, bool is_strict,
    const struct rpc_programs *programs)
{
	memset(rpc, 0, sizeof(*rpc));
	rpc->session = s;
	rpc->env = &s->env;
	rpc->link = s->link;
	rpc->procs = &s->procs;
	rpc->holders = s->holders;
	rpc->overflow = &s->overflow;
	rpc->conn = s->conn;
	rpc->is_strict = is_strict;
	rpc->http_exe = programs->http;
	rpc->proxy_exe = programs->proxy;
	TAILQ_INIT(&rpc->waiting);
	TAILQ_INIT(&rpc->starts);
	json_init(&rpc->json);
	buf_init(&rpc->scratch, (size_t)LIMIT_MESSAGE);
}

void
rpc_fini(struct rpc *rpc)
{
	/* An initialize that was being handed over. */
	rpc_cancel_all(rpc);
	pathwatcher_free(&rpc->watcher);
	snapshots_free(&rpc->snapshots);
	sockmark_free(&rpc->sockmark);
	json_fini(&rpc->json);
	buf_fini(&rpc->scratch);
}
