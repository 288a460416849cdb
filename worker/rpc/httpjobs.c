#include "worker/rpc/httpjobs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "worker/conn/conn.h"
#include "worker/conn/note.h"
#include "worker/os/helper.h"
#include "worker/rpc/rpc.h"

#define ENVELOPE	1024	/* bytes of an answer besides its parts */
#define FIELDS_MAX	(8 * (size_t)LIMIT_HTTP_HEAD)	/* fields as JSON */

struct exchange;
TAILQ_HEAD(exchange_list, exchange);

struct httpjobs {
	struct http_link	*link;
	struct map		 streams;	/* by requestId */
	struct exchange_list	 all;
	struct exchange_list	 ready;		/* complete, not sent */
	size_t			 held_bytes;	/* of all bodies */
	bool			 held;		/* some stream is not read */
};

/* One request.  The call belongs to http_link until on_free(). */
struct exchange {
	struct http_call	 call;		/* first */
	TAILQ_ENTRY(exchange)	 entry;		/* of all or ready */
	struct map_node		 node;		/* of a stream */
	struct rpc		*rpc;
	struct rpc_req		*req;		/* NULL: answered */
	struct http_order	 order;
	char			*id;
	bool			 is_ready;	/* complete, not yet answered */
	bool			 is_mapped;
	unsigned		 status;
	struct buf		 fields;	/* of the answer, as JSON */
	struct json_out		 out;		/* writes fields */
	struct buf		 body;		/* unless it is streamed */
	uint64_t		 seq;		/* of the last delta */
	size_t			 waiting;	/* sent, not yet taken */
};

void
http_order_fini(struct http_order *o)
{
	size_t	 i;

	for (i = 0; i < o->nheaders; i++) {
		free(o->headers[i].name);
		free(o->headers[i].value);
	}
	free(o->headers);
	free(o->method);
	free(o->url);
	free(o->body);
	memset(o, 0, sizeof(*o));
}

static void
exchange_free(struct exchange *x)
{
	struct httpjobs	*h = x->rpc->httpjobs;

	assert(h->held_bytes >= x->body.len);
	if (x->is_mapped)
		map_del(&h->streams, &x->node);
	TAILQ_REMOVE(x->is_ready ? &h->ready : &h->all, x, entry);
	h->held_bytes -= x->body.len;
	http_order_fini(&x->order);
	buf_fini(&x->fields);
	buf_fini(&x->body);
	free(x->id);
	free(x);
}

/* --- messages to the client --- */

/* Send data, or (done) the end.  May end the connection, which frees x. */
static void
send_delta(struct exchange *x, const void *data, size_t len, bool done,
    const char *error)
{
	struct rpc	*rpc = x->rpc;
	struct json_out	 o;

	assert(rpc->conn != NULL && x->order.stream);
	json_out_init(&o, &rpc->scratch);
	json_out_open(&o, '{');
	json_out_pair(&o, "method", note_HTTP_DELTA);
	json_out_key(&o, "params");
	json_out_open(&o, '{');
	json_out_key(&o, "requestId");
	json_out_text(&o, x->id, x->order.id_len);
	json_out_pair_u64(&o, "seq", ++x->seq);
	json_out_key(&o, "deltaBase64");
	json_out_b64(&o, data, len);
	json_out_pair_bool(&o, "done", done);
	json_out_key(&o, "error");
	if (error != NULL)
		json_out_str(&o, error);
	else
		json_out_null(&o);
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1)
		conn_close(rpc->conn, 1011, "out of memory for a delta");
	else
		conn_send(rpc->conn, (char *)buf_data(&rpc->scratch),
		    rpc->scratch.len);
	buf_drain(&rpc->scratch, rpc->scratch.len);
	buf_trim(&rpc->scratch, 65536);
}

/* Answer.  Sending may end the connection and free x: take the body first. */
static void
httpjobs_send_answer(struct exchange *x)
{
	struct rpc_req	*req = x->req;
	struct json_out	 o;
	struct rpc_b64	 part;
	struct buf	 body;

	assert(req != NULL && x->rpc->httpjobs->held_bytes >= x->body.len);
	buf_init(&body, LIMIT_HTTP_BODY);
	x->req = NULL;
	if (x->body.len > 0 && B64_ENCODED_LEN(x->body.len) + x->fields.len +
	    6 * req->id.len + ENVELOPE > LIMIT_MESSAGE) {
		rpc_error(req, ERR_FAILED, "http/request failed: "
		    "the answer does not fit one message");
		return;
	}
	rpc_begin(req, &o);
	json_out_pair_u64(&o, "status", x->status);
	json_out_key(&o, "headers");
	json_out_raw(&o, (char *)buf_data(&x->fields), x->fields.len);
	x->rpc->httpjobs->held_bytes -= x->body.len;
	buf_move(&body, &x->body);
	json_out_key(&o, "bodyBase64");
	rpc_put_b64(&o, buf_data(&body), body.len, &part);
	rpc_end_b64(req, &o, &part, 1, &body);
}

/*
 * Send complete answers one after another as the client reads: two of maximum
 * size would exceed the send queue.
 */
static void
answer_ready(struct rpc *rpc)
{
	struct httpjobs	*h = rpc->httpjobs;
	struct exchange	*x;

	while (rpc->conn != NULL && conn_queued(rpc->conn) <
	    LIMIT_OUT_CHILDREN && (x = TAILQ_FIRST(&h->ready)) != NULL) {
		/*
		 * Move x first: if sending ends the connection, that frees all
		 * of ready.
		 */
		assert(x->is_ready && x->req != NULL);
		TAILQ_REMOVE(&h->ready, x, entry);
		x->is_ready = false;
		TAILQ_INSERT_TAIL(&h->all, x, entry);
		httpjobs_send_answer(x);
		exchange_free(x);
	}
}

static void
httpjobs_fail(struct rpc_req *req, const char *error, bool refused)
{
	if (refused)
		rpc_errorf(req, ERR_PARAMS, "invalid params: http/request %s",
		    error);
	else
		rpc_errorf(req, ERR_FAILED, "http/request failed: %s", error);
}

/* --- events of a call --- */

/* The reference omits fields that are not plain text. */
static bool
http_is_plain(const char *s)
{
	for (; *s != '\0'; s++)
		if ((*s < ' ' && *s != '\t') || *s == 0x7f)
			return false;
	return true;
}

static void
httpjobs_on_field(struct http_call *c, const char *name, const char *value)
{
	struct exchange	*x = (struct exchange *)c;

	if (!http_is_plain(value))
		return;
	json_out_open(&x->out, '{');
	json_out_pair(&x->out, "name", name);
	json_out_pair(&x->out, "value", value);
	json_out_close(&x->out, '}');
}

static void
httpjobs_on_answer(struct http_call *c, unsigned status)
{
	struct exchange	*x = (struct exchange *)c;

	json_out_close(&x->out, ']');
	if (json_out_fini(&x->out) == -1) {
		http_call_fail(c, "out of memory");
		return;
	}
	x->status = status;
	if (x->order.stream)
		httpjobs_send_answer(x);
}

static void
httpjobs_on_piece(struct http_call *c, const void *data, size_t len)
{
	struct exchange	*x = (struct exchange *)c;
	struct rpc	*rpc = x->rpc;
	struct httpjobs	*h = rpc->httpjobs;

	if (x->order.stream) {
		send_delta(x, data, len, false, NULL);
		if (rpc->conn == NULL)
			return;			/* x was freed */
		conn_sent_bulk(rpc->conn, len);
		x->waiting += len;
		h->held = true;
		httpjobs_unhold(rpc);
		return;
	}
	if (x->body.len + len > LIMIT_HTTP_BODY) {
		http_call_fail(c, "the body is longer than a message may be: "
		    "ask for it with streamResponse");
		return;
	}
	if (h->held_bytes + len > LIMIT_HTTP_HELD ||
	    buf_put(&x->body, data, len) == -1) {
		http_call_fail(c, "no memory for more bodies");
		return;
	}
	h->held_bytes += len;
	http_call_took(c, len);
}

static void
httpjobs_on_done(struct http_call *c, const char *error, bool refused)
{
	struct exchange	*x = (struct exchange *)c;
	struct rpc_req	*req = x->req;

	assert(!x->is_ready);
	if (req != NULL && error != NULL) {
		x->req = NULL;
		httpjobs_fail(req, error, refused);
	} else if (req != NULL) {
		TAILQ_REMOVE(&x->rpc->httpjobs->all, x, entry);
		x->is_ready = true;
		TAILQ_INSERT_TAIL(&x->rpc->httpjobs->ready, x, entry);
	} else if (x->status != 0 && x->rpc->conn != NULL) {
		send_delta(x, "", 0, true, error);
	}
}

static void
on_free(struct http_call *c)
{
	struct exchange	*x = (struct exchange *)c;
	struct rpc	*rpc = x->rpc;

	if (x->is_ready)
		answer_ready(rpc);
	else
		exchange_free(x);
}

static const struct http_events events = {
	httpjobs_on_field, httpjobs_on_answer, httpjobs_on_piece,
	    httpjobs_on_done, on_free
};

/* --- start and end --- */

/* The connection ended: do not answer. */
static void
httpjobs_on_cancel(struct rpc_req *req)
{
	struct exchange	*x = req->waiter;

	assert(x->req == req);
	x->req = NULL;
}

static struct httpjobs *
httpjobs_new(struct rpc *rpc)
{
	struct httpjobs	*h;

	if ((h = calloc(1, sizeof(*h))) == NULL)
		return NULL;
	map_init(&h->streams);
	TAILQ_INIT(&h->all);
	TAILQ_INIT(&h->ready);
	if ((h->link = http_link_new(rpc->env->base, rpc->http_exe,
	    rpc->env->limited, rpc->env->number)) == NULL) {
		free(h);
		return NULL;
	}
	return h;
}

static struct exchange *
exchange_new(struct rpc *rpc, struct http_order *o)
{
	struct httpjobs	*h = rpc->httpjobs;
	struct exchange	*x;

	if ((x = calloc(1, sizeof(*x))) == NULL)
		return NULL;
	x->rpc = rpc;
	TAILQ_INSERT_TAIL(&h->all, x, entry);
	buf_init(&x->fields, FIELDS_MAX);
	buf_init(&x->body, LIMIT_HTTP_BODY);
	json_out_init(&x->out, &x->fields);
	json_out_open(&x->out, '[');
	if ((x->id = malloc(o->id_len + 1)) == NULL)
		goto fail;
	memcpy(x->id, o->id, o->id_len);
	if (o->stream && map_add(&h->streams, &x->node, x->id, o->id_len,
	    x) == -1)
		goto fail;
	x->is_mapped = o->stream;
	x->order = *o;
	memset(o, 0, sizeof(*o));
	return x;
 fail:
	exchange_free(x);
	return NULL;
}

static void
exchange_start(struct exchange *x)
{
	struct http_call	*c = &x->call;
	struct http_order	*o = &x->order;

	assert(x->req != NULL && x->status == 0 && !x->is_ready);
	c->events = &events;
	c->method = o->method;
	c->url = o->url;
	c->follow = o->follow;
	c->headers = o->headers;
	c->nheaders = o->nheaders;
	c->body = o->body;
	c->body_len = o->body_len;
	c->cost = o->cost;
	o->body = NULL;
	c->has_timeout = o->has_timeout;
	c->timeout_ms = o->timeout_ms;
	http_call_start(x->rpc->httpjobs->link, c);
}

void
httpjobs_begin(struct rpc *rpc, struct rpc_req *req, struct http_order *o)
{
	struct exchange	*x;
	size_t		 len = o->body_len + o->cost;

	if (rpc->httpjobs == NULL && (rpc->httpjobs = httpjobs_new(rpc)) ==
	    NULL) {
		httpjobs_fail(req, "out of memory", false);
	} else if (!http_link_has_room(rpc->httpjobs->link, len)) {
		httpjobs_fail(req, "too many requests are waiting", false);
	} else if ((x = exchange_new(rpc, o)) == NULL) {
		httpjobs_fail(req, "out of memory", false);
	} else if ((x->req = rpc_keep(req, httpjobs_on_cancel, x)) == NULL) {
		exchange_free(x);
	} else {
		exchange_start(x);
	}
	http_order_fini(o);
}

bool
httpjobs_is_streaming(const struct rpc *rpc, const char *id, size_t len)
{
	return rpc->httpjobs != NULL &&
	    map_find(&rpc->httpjobs->streams, id, len) != NULL;
}

void
httpjobs_unhold(struct rpc *rpc)
{
	struct httpjobs	*h = rpc->httpjobs;
	struct exchange	*x;
	size_t		 n;

	if (h == NULL || rpc->conn == NULL ||
	    conn_behind(rpc->conn) >= LIMIT_OUT_CHILDREN)
		return;
	if (h->held && conn_has_room(rpc->conn)) {
		h->held = false;
		TAILQ_FOREACH(x, &h->all, entry)
			if ((n = x->waiting) > 0) {
				x->waiting = 0;
				http_call_took(&x->call, n);
			}
	}
	answer_ready(rpc);
}

void
httpjobs_on_conn_end(struct rpc *rpc)
{
	struct httpjobs	*h = rpc->httpjobs;
	struct exchange	*x;

	if (h == NULL)
		return;
	http_link_stop(h->link);
	while ((x = TAILQ_FIRST(&h->ready)) != NULL)
		exchange_free(x);
	h->held = false;
}

bool
httpjobs_has(const struct rpc *rpc, pid_t pid)
{
	return rpc->httpjobs != NULL &&
	    http_link_helper(rpc->httpjobs->link)->pid == pid;
}

void
httpjobs_reaped(struct rpc *rpc, pid_t pid, int status)
{
	if (rpc->httpjobs != NULL)
		helper_reaped(http_link_helper(rpc->httpjobs->link), pid,
		    status, false);
}

void
httpjobs_free(struct rpc *rpc)
{
	if (rpc->httpjobs == NULL)
		return;
	httpjobs_on_conn_end(rpc);
	http_link_free(&rpc->httpjobs->link);
	map_fini(&rpc->httpjobs->streams);
	free(rpc->httpjobs);
	rpc->httpjobs = NULL;
}
