#include "worker/session/notify.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"
#include "worker/conn/conn.h"
#include "worker/conn/note.h"
#include "worker/proc/proc.h"

struct notify {
	struct sink		 sink;
	TAILQ_ENTRY(notify)	 entry;		/* while it is replayed */
	struct notifier		*all;
	struct proc		*proc;
	bool			 is_replayed;
	uint64_t		 after;		/* last seq replayed */
};

/* --- messages --- */

/*
 * Send an event.  more: members that follow "seq", or "".  May end the
 * connection.
 */
static void
send_event(struct notify *nt, const char *method, uint64_t seq,
    const char *more)
{
	struct conn	*conn = nt->all->conn;
	size_t		 size = nt->proc->json_id_len + 128;
	char		*text;
	int		 n;

	if (conn == NULL)
		return;
	if ((text = malloc(size)) == NULL) {
		conn_close(conn, 1011, "out of memory for an event");
		return;
	}
	n = snprintf(text, size, "{\"method\":\"%s\",\"params\":"
	    "{\"processId\":%s,\"seq\":%llu%s}}", method, nt->proc->json_id,
	    (unsigned long long)seq, more);
	conn_send(conn, text, (size_t)n);
	free(text);
}

static void
send_exit(struct notify *nt)
{
	const struct proc	*p = nt->proc;
	char			 more[64];

	snprintf(more, sizeof(more), ",\"exitCode\":%d,"
	    "\"sandboxDenied\":%s", p->exit_code,
	    p->denied ? "true" : "false");
	send_event(nt, note_EXITED, p->retain.exit_seq, more);
}

static void
send_close(struct notify *nt)
{
	send_event(nt, note_CLOSED, nt->proc->retain.next_seq - 1, "");
}

/* Encode output in place, after the frame header. */
static void
send_output(struct notify *nt, struct chunk *c)
{
	struct conn	*conn = nt->all->conn;
	struct proc	*p = nt->proc;
	char		 head[160], tail[] = "\"}}", *out, *at;
	size_t		 b64 = B64_ENCODED_LEN(c->len), before, mid;
	int		 n;

	assert(conn != NULL && c != NULL);
	before = sizeof("{\"method\":\"process/output\",\"params\":"
	    "{\"processId\":") - 1;
	n = snprintf(head, sizeof(head), ",\"seq\":%llu,\"stream\":\"%s\","
	    "\"chunk\":\"", (unsigned long long)c->seq,
	    retain_stream_name(c->stream));
	mid = (size_t)n;
	if ((out = conn_begin(conn, before + p->json_id_len + mid + b64 +
	    sizeof(tail) - 1)) == NULL)
		return;
	at = mempcpy(out, "{\"method\":\"process/output\",\"params\":"
	    "{\"processId\":", before);
	at = mempcpy(at, p->json_id, p->json_id_len);
	at = mempcpy(at, head, mid);
	at += b64_encode(at, c->data, c->len);
	memcpy(at, tail, sizeof(tail) - 1);
	conn_commit(conn);
	conn_sent_bulk(conn, c->len);
	/* NULL if sending ended the connection. */
	if (nt->all->conn != NULL)
		window_sent(p->procs->window, c, conn_pos(conn));
}

/* --- events --- */

static void
notify_on_output(struct sink *k, const struct output *o)
{
	struct notify	*nt = (struct notify *)k;

	if (o->chunk != NULL && nt->all->conn != NULL && !nt->is_replayed)
		send_output(nt, o->chunk);
}

static void
notify_on_exit(struct sink *k)
{
	struct notify	*nt = (struct notify *)k;

	if (!nt->is_replayed)
		send_exit(nt);
}

static void
notify_on_close(struct sink *k)
{
	struct notify	*nt = (struct notify *)k;

	if (!nt->is_replayed)
		send_close(nt);
}

static void
stop_replay(struct notify *nt)
{
	assert(nt->all != NULL);
	if (nt->is_replayed)
		TAILQ_REMOVE(&nt->all->replayed, nt, entry);
	nt->is_replayed = false;
}

static void
notify_on_gone(struct sink *k)
{
	struct notify	*nt = (struct notify *)k;

	stop_replay(nt);
	free(nt);
}

static const struct sink_ops	 notify_ops = {
	.on_output = notify_on_output,
	.on_exit = notify_on_exit,
	.on_close = notify_on_close,
	.on_gone = notify_on_gone,
};

int
notify_add(struct notifier *n, struct proc *p)
{
	struct notify	*nt;

	if ((nt = calloc(1, sizeof(*nt))) == NULL)
		return -1;
	nt->all = n;
	nt->proc = p;
	sink_add(&p->sinks, &nt->sink, &notify_ops);
	return 0;
}

/* --- replay --- */

static struct notify *
notify_of(const struct proc *p)
{
	return (struct notify *)sinks_find(&p->sinks, &notify_ops);
}

void
notify_replay(struct proc *p, uint64_t seq)
{
	struct notify	*nt = notify_of(p);

	if (!nt->is_replayed)
		TAILQ_INSERT_TAIL(&nt->all->replayed, nt, entry);
	nt->is_replayed = true;
	nt->after = seq;
}

void
notify_live(struct proc *p)
{
	stop_replay(notify_of(p));
}

/*
 * Send the event with the next number: the exit, chunk c, or, if c is NULL, the
 * close.  Return the next chunk.  May end the connection.
 */
static struct chunk *
send_next(struct notify *nt, struct chunk *c)
{
	const struct proc	*p = nt->proc;
	uint64_t		 seq = nt->after + 1;

	assert(nt->is_replayed);
	if (seq == p->retain.exit_seq) {
		send_exit(nt);
	} else if (c != NULL) {
		seq = c->seq;
		send_output(nt, c);
		c = nt->all->conn != NULL ? TAILQ_NEXT(c, retain_entry) : NULL;
	} else {
		if (p->state == PROC_CLOSED)
			send_close(nt);
		stop_replay(nt);
	}
	nt->after = seq;
	return c;
}

static bool
notify_has_room(const struct notifier *n)
{
	return n->conn != NULL && n->has_room(n->arg);
}

bool
notifier_continue(struct notifier *n)
{
	struct notify	*nt, *next;
	struct chunk	*c;

	assert(n->has_room != NULL);
	if (TAILQ_EMPTY(&n->replayed) || !notify_has_room(n))
		return false;
	for (nt = TAILQ_FIRST(&n->replayed); nt != NULL && n->conn != NULL;
	    nt = next) {
		next = TAILQ_NEXT(nt, entry);
		c = retain_after(&nt->proc->retain, nt->after);
		while (nt->is_replayed && notify_has_room(n))
			c = send_next(nt, c);
	}
	return true;
}

/* --- the session --- */

void
notifier_init(struct notifier *n, bool (*has_room_fn)(const void *),
    const void *arg)
{
	n->conn = NULL;
	TAILQ_INIT(&n->replayed);
	n->has_room = has_room_fn;
	n->arg = arg;
}

void
notifier_set_conn(struct notifier *n, struct conn *conn)
{
	struct notify	*nt;

	n->conn = conn;
	while ((nt = TAILQ_FIRST(&n->replayed)) != NULL)
		stop_replay(nt);
}
