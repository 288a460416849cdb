/* Reads of retained output, answered now or later. */
#include "worker/rpc/procread.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/json/b64.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "worker/conn/conn.h"
#include "worker/rpc/rpc.h"
#include "worker/session/notify.h"

struct procread {
	struct sink		 sink;
	struct proc		*proc;
	struct rpc_req		*req;
	struct proc_read	 read;
	struct timer		 timer_ev;
};

static void
procread_free(struct procread *w)
{
	if (w->sink.sinks != NULL)
		sink_remove(&w->sink);
	timer_stop(&w->timer_ev);
	free(w);
}

static void
procread_cancel(struct rpc_req *req)
{
	procread_free(req->waiter);
}

/* Whether a read can be answered (PROTOCOL 5.3). */
static bool
read_is_ready(const struct proc *p, const struct proc_read *r)
{
	struct chunk	*newest = TAILQ_LAST(&p->retain.chunks, chunk_list);

	return (newest != NULL && newest->seq > r->after_seq) ||
	    p->state == PROC_CLOSED ||
	    (p->state == PROC_EXITED &&
	    r->after_seq < p->retain.next_seq - 1);
}

#define CHUNK_TEXT	64	/* bytes of a chunk besides base64 */
#define ANSWER_MAX	(LIMIT_MESSAGE - 64 * 1024)	/* bytes of chunks */

/* The answer to a read: chunks from first up to end, and nextSeq. */
struct extract {
	struct chunk	*first, *end;
	uint64_t	 next_seq;
	size_t		 n;		/* chunks */
	bool		 is_part;	/* the rest is replayed */
};

/*
 * Cut an answer that is full, as if nothing had happened since.  Leave out
 * output after the exit, which has a number but is not reported.
 */
static void
procread_cut(const struct proc *p, const struct proc_read *r, struct extract *x)
{
	struct chunk	*c;

	assert(x->end != NULL && x->end->seq > r->after_seq);
	x->is_part = true;
	x->next_seq = x->end->seq;
	if (p->retain.exit_seq <= r->after_seq ||
	    p->retain.exit_seq > x->end->seq)
		return;
	x->next_seq = p->retain.exit_seq;
	x->n = 0;
	for (c = x->first; c->seq < x->next_seq; c = TAILQ_NEXT(c,
	    retain_entry))
		x->n++;
	x->end = c;
}

static void
extract(const struct proc *p, const struct proc_read *r, struct extract *x)
{
	struct chunk	*c;
	uint64_t	 sum = 0;
	size_t		 len = 0;

	x->is_part = false;
	x->first = x->end = c = retain_after(&p->retain, r->after_seq);
	x->next_seq = p->retain.next_seq;
	x->n = 0;
	for (; c != NULL; c = x->end = TAILQ_NEXT(c, retain_entry)) {
		sum += c->len;
		if (r->has_max && c != x->first && sum > r->max_bytes)
			return;
		len += CHUNK_TEXT + B64_ENCODED_LEN(c->len);
		if (len > ANSWER_MAX) {
			if (!r->has_max)
				procread_cut(p, r, x);
			return;
		}
		x->n++;
		if (r->has_max)
			x->next_seq = c->seq + 1;
	}
}

/* Write the chunks; parts: their base64. */
static void
put_chunks(struct json_out *o, const struct extract *x, struct rpc_b64 *parts)
{
	struct chunk	*c;

	json_out_key(o, "chunks");
	json_out_open(o, '[');
	for (c = x->first; c != x->end; c = TAILQ_NEXT(c, retain_entry)) {
		json_out_open(o, '{');
		json_out_pair_u64(o, "seq", c->seq);
		json_out_pair(o, "stream", retain_stream_name(c->stream));
		json_out_key(o, "chunk");
		rpc_put_b64(o, c->data, c->len, parts++);
		json_out_close(o, '}');
	}
	json_out_close(o, ']');
}

static void
put_state(const struct proc *p, enum proc_state state, struct json_out *o)
{
	json_out_pair_bool(o, "exited", state != PROC_RUNNING);
	json_out_key(o, "exitCode");
	if (state == PROC_RUNNING)
		json_out_null(o);
	else
		json_out_i64(o, p->exit_code);
	json_out_pair_bool(o, "closed", state == PROC_CLOSED);
}

void
proc_put_state(const struct proc *p, struct json_out *o)
{
	put_state(p, p->state, o);
}

static void
put_failure(const struct proc *p, struct json_out *o)
{
	char	 why[128];

	if (p->lost == 0) {
		json_out_null(o);
		return;
	}
	snprintf(why, sizeof(why), "some of its output is lost: %s",
	    strerror(p->lost));
	json_out_str(o, why);
}

static void
answer_read(struct proc *p, struct rpc_req *req, const struct proc_read *r)
{
	struct rpc	*rpc = req->rpc;
	struct rpc_b64	*parts;
	struct extract	 x;
	struct chunk	*c;
	struct json_out	 o;

	extract(p, r, &x);
	if ((parts = calloc(x.n + 1, sizeof(*parts))) == NULL) {
		rpc_error(req, ERR_FAILED, "out of memory");
		return;
	}
	rpc_begin(req, &o);
	put_chunks(&o, &x, parts);
	json_out_pair_u64(&o, "nextSeq", x.next_seq);
	put_state(p, x.is_part ? PROC_RUNNING : p->state, &o);
	json_out_key(&o, "failure");
	put_failure(p, &o);
	json_out_pair_bool(&o, "sandboxDenied", p->denied && !x.is_part);
	rpc_end_b64(req, &o, parts, x.n, NULL);
	free(parts);
	proc_was_read(p);
	/* Sending may have ended the connection. */
	if (rpc->conn == NULL)
		return;
	for (c = x.first; c != x.end; c = TAILQ_NEXT(c, retain_entry))
		window_sent(rpc->procs->window, c, conn_pos(rpc->conn));
	proc_hold(p, r->holds && x.end != NULL && !x.is_part);
	if (x.is_part)
		notify_replay(p, x.next_seq - 1);
	else if (!r->has_max)
		notify_live(p);
}

static void
procread_answer(struct procread *w)
{
	struct proc		*p = w->proc;
	struct rpc_req		*req = w->req;
	struct proc_read	 r = w->read;

	procread_free(w);
	answer_read(p, req, &r);
}

static void
procread_on_timeout(void *arg)
{
	procread_answer(arg);
}

/* Answer if possible.  May end the connection. */
static void
procread_look(struct procread *w)
{
	if (read_is_ready(w->proc, &w->read))
		procread_answer(w);
}

static void
procread_on_output(struct sink *k, const struct output *o)
{
	(void)o;
	procread_look((struct procread *)k);
}

static void
procread_on_event(struct sink *k)
{
	procread_look((struct procread *)k);
}

static void
procread_on_gone(struct sink *k)
{
	struct procread	*w = (struct procread *)k;
	struct rpc_req	*req = w->req;

	procread_free(w);
	rpc_error(req, ERR_UNKNOWN_PROCESS, NULL);
}

static const struct sink_ops	 waiter_ops = {
	.on_output = procread_on_output,
	.on_exit = procread_on_event,
	.on_close = procread_on_event,
	.on_gone = procread_on_gone,
};

void
proc_read(struct proc *p, struct rpc_req *req, const struct proc_read *r)
{
	struct procread	*w;

	retain_ack(&p->retain, r->after_seq);
	if (r->wait_ms == 0 || read_is_ready(p, r)) {
		answer_read(p, req, r);
		return;
	}
	if ((w = calloc(1, sizeof(*w))) == NULL) {
		rpc_error(req, ERR_FAILED, "out of memory");
		return;
	}
	w->proc = p;
	w->read = *r;
	sink_add(&p->sinks, &w->sink, &waiter_ops);
	timer_init(&w->timer_ev, p->procs->env->base, procread_on_timeout, w);
	timer_set(&w->timer_ev, r->wait_ms);
	if ((w->req = rpc_keep(req, procread_cancel, w)) == NULL)
		procread_free(w);
}
