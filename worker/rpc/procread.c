/* What a process is asked for: its retained output, now or later. */
#include "worker/rpc/procread.h"

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

/* Whether a read has something to tell (PROTOCOL 5.3). */
static bool
read_is_ready(const struct proc *p, const struct proc_read *r)
{
	struct chunk	*newest = TAILQ_LAST(&p->retain.chunks, chunk_list);

	return (newest != NULL && newest->seq > r->after_seq) ||
	    p->state == PROC_CLOSED ||
	    (p->state == PROC_EXITED &&
	    r->after_seq < p->retain.next_seq - 1);
}

#define CHUNK_HEAD_MAX	96	/* {"seq":N,"stream":"S","chunk":" */
#define CHUNK_TAIL	"\"}"

static size_t
put_chunk_head(char *out, const struct chunk *c, bool is_first)
{
	return (size_t)snprintf(out, CHUNK_HEAD_MAX, "%s{\"seq\":%llu,"
	    "\"stream\":\"%s\",\"chunk\":\"", is_first ? "" : ",",
	    (unsigned long long)c->seq, retain_stream_name(c->stream));
}

#define ANSWER_MAX	(LIMIT_MESSAGE - 64 * 1024)	/* its chunks */

/* What a read will be told: chunks from first up to end, and nextSeq. */
struct extract {
	struct chunk	*first, *end;
	uint64_t	 next_seq;
	size_t		 len;		/* of the chunks as JSON */
	bool		 is_part;	/* the rest is replayed */
};

static size_t
chunk_len(const struct chunk *c, bool is_first)
{
	char	 head[CHUNK_HEAD_MAX];

	return put_chunk_head(head, c, is_first) + B64_ENCODED_LEN(c->len) +
	    sizeof(CHUNK_TAIL) - 1;
}

/*
 * No more fits; the answer is as if nothing happened since.  So it has no
 * output from behind the exit, which has a number but is not told.
 */
static void
procread_cut(const struct proc *p, const struct proc_read *r, struct extract *x)
{
	struct chunk	*c;

	x->is_part = true;
	x->next_seq = x->end->seq;
	if (p->retain.exit_seq <= r->after_seq ||
	    p->retain.exit_seq > x->end->seq)
		return;
	x->next_seq = p->retain.exit_seq;
	x->len = 0;
	for (c = x->first; c->seq < x->next_seq; c = TAILQ_NEXT(c,
	    retain_entry))
		x->len += chunk_len(c, c == x->first);
	x->end = c;
}

static void
extract(const struct proc *p, const struct proc_read *r, struct extract *x)
{
	struct chunk	*c;
	uint64_t	 sum = 0;
	size_t		 len;

	x->is_part = false;
	x->first = x->end = c = retain_after(&p->retain, r->after_seq);
	x->next_seq = p->retain.next_seq;
	x->len = 0;
	for (; c != NULL; c = x->end = TAILQ_NEXT(c, retain_entry)) {
		sum += c->len;
		if (r->has_max && c != x->first && sum > r->max_bytes)
			return;
		len = chunk_len(c, c == x->first);
		if (x->len + len > ANSWER_MAX) {
			if (!r->has_max)
				procread_cut(p, r, x);
			return;
		}
		x->len += len;
		if (r->has_max)
			x->next_seq = c->seq + 1;
	}
}

/* Write one chunk of an answer; where it ends. */
static char *
put_chunk(char *at, const struct chunk *c, bool is_first)
{
	at += put_chunk_head(at, c, is_first);
	at += b64_encode(at, c->data, c->len);
	return mempcpy(at, CHUNK_TAIL, sizeof(CHUNK_TAIL) - 1);
}

static size_t
chunk_room(const struct chunk *c)
{
	return CHUNK_HEAD_MAX + B64_ENCODED_LEN(c->len) + sizeof(CHUNK_TAIL);
}

/* Chunks, a part of a long message each.  -1: the connection is over. */
static int
send_chunks(struct rpc *rpc, const struct extract *x)
{
	struct chunk	*c;
	char		*at;

	for (c = x->first; c != x->end; c = TAILQ_NEXT(c, retain_entry)) {
		if ((at = conn_part(rpc->conn, chunk_room(c))) == NULL)
			return -1;
		conn_part_done(rpc->conn,
		    (size_t)(put_chunk(at, c, c == x->first) - at));
		if (rpc->conn == NULL)
			return -1;	/* and c may be gone with it */
	}
	return 0;
}

static int
procread_send_text(struct rpc *rpc, const void *text, size_t len)
{
	char	*at;

	if ((at = conn_part(rpc->conn, len)) == NULL)
		return -1;
	memcpy(at, text, len);
	conn_part_done(rpc->conn, len);
	return rpc->conn == NULL ? -1 : 0;
}

/*
 * Send text with the chunks put in at byte "split".  In parts, so that they
 * never stand whole in memory, unless it takes several frames.
 */
static void
send_read(struct rpc *rpc, const struct extract *x, const char *text,
    size_t split, size_t len)
{
	struct chunk	*c;
	struct buf	 whole;
	char		*begin, *at;

	if (len + x->len <= LIMIT_OUT_READING) {
		if (conn_start(rpc->conn, len + x->len) == 0 &&
		    procread_send_text(rpc, text, split) == 0 &&
		    send_chunks(rpc, x) == 0 &&
		    procread_send_text(rpc, text + split, len - split) == 0)
			conn_finish(rpc->conn);
		return;
	}
	buf_init(&whole, LIMIT_MESSAGE + CHUNK_HEAD_MAX);
	if (len + x->len > LIMIT_MESSAGE || (begin = buf_reserve(&whole,
	    len + x->len + CHUNK_HEAD_MAX)) == NULL) {
		conn_close(rpc->conn, 1011, "an answer was too long");
		return;
	}
	at = mempcpy(begin, text, split);
	for (c = x->first; c != x->end; c = TAILQ_NEXT(c, retain_entry))
		at = put_chunk(at, c, c == x->first);
	memcpy(at, text + split, len - split);
	buf_commit(&whole, len + x->len);
	conn_send_buf(rpc->conn, &whole);
}

static void
put_state(const struct proc *p, enum proc_state state, struct json_out *o)
{
	json_out_key(o, "exited");
	json_out_bool(o, state != PROC_RUNNING);
	json_out_key(o, "exitCode");
	if (state == PROC_RUNNING)
		json_out_null(o);
	else
		json_out_i64(o, p->exit_code);
	json_out_key(o, "closed");
	json_out_bool(o, state == PROC_CLOSED);
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
	struct extract	 x;
	struct chunk	*c;
	struct json_out	 o;
	size_t		 split;

	extract(p, r, &x);
	rpc_begin(req, &o);
	json_out_key(&o, "chunks");
	json_out_open(&o, '[');
	split = rpc->scratch.len;
	json_out_close(&o, ']');
	json_out_key(&o, "nextSeq");
	json_out_u64(&o, x.next_seq);
	put_state(p, x.is_part ? PROC_RUNNING : p->state, &o);
	json_out_key(&o, "failure");
	put_failure(p, &o);
	json_out_key(&o, "sandboxDenied");
	json_out_bool(&o, p->denied && !x.is_part);
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1)
		conn_close(rpc->conn, 1011, "out of memory for an answer");
	else
		send_read(rpc, &x, (char *)buf_data(&rpc->scratch), split,
		    rpc->scratch.len);
	rpc_done(req);
	proc_was_read(p);
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

/* Answer it if that has something to tell. */
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
