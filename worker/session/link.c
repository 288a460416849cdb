#include "worker/session/link.h"

#include <sys/queue.h>
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/process/successor.h"

#define COMMANDS_MAX	(256 * 1024)	/* bytes queued for the master */
#define KEPT_MAX	64		/* messages kept without a master */

enum link_state {
	LINK_UP,		/* has a master */
	LINK_ORPHANED,		/* it died: looks for the next one */
	LINK_KNOCKING,		/* waits for its answer */
	LINK_GONE		/* there is none any more */
};

/* A message to the audit log that waits for a master. */
struct kept {
	STAILQ_ENTRY(kept)	 entry;
	enum ipc_kind		 kind;
	ProtobufCMessage	*body;
};

struct link {
	struct event_base	*base;
	enum link_state	 state;
	struct chan	*chan;		/* UP and KNOCKING; else NULL */
	const struct link_events *events;
	void		*arg;
	void		(*soon)(struct link *);	/* sends a delayed message */
	uint32_t	 missed;	/* commands not reported */
	STAILQ_HEAD(, kept) kept;
	unsigned	 nkept;
	const char	*client;	/* its name, borrowed; or NULL */
	bool		 operates;	/* the master answers Operate */
	bool		 is_operator;	/* the session does nothing else */
	struct successor successor;
	struct timer	 again_ev;
};

static void	 link_on_msg(void *, struct ipc_msg *);
static void	 link_on_end(void *, int);

/* --- without a master --- */

static void
link_give_up(struct link *l)
{
	l->state = LINK_GONE;
	timer_stop(&l->again_ev);
	l->events->on_gone(l->arg);
}

/* Try again later. */
static void
link_wait(struct link *l)
{
	uint64_t	 ms;

	l->state = LINK_ORPHANED;
	if (successor_pause(&l->successor, &ms) == -1)
		link_give_up(l);
	else
		timer_set(&l->again_ev, ms);
}

static void
link_on_again(void *arg)
{
	struct link	*l = arg;
	Ipc__Orphan	 out = IPC__ORPHAN__INIT;
	int		 fd;

	assert(l->state == LINK_ORPHANED && l->chan == NULL);
	if ((fd = successor_connect(&l->successor)) == -1 ||
	    (l->chan = chan_new(l->base, fd, IPC_ROLE_WORKER,
	    IPC_ROLE_MASTER, link_on_msg, link_on_end, l)) == NULL) {
		fd_close(&fd);
		link_wait(l);
		return;
	}
	l->state = LINK_KNOCKING;
	l->events->describe(l->arg, &out);
	chan_send(l->chan, IPC_orphan, &out, -1);
}

static void
kept_free(struct link *l, struct kept *k)
{
	STAILQ_REMOVE(&l->kept, k, kept, entry);
	l->nkept--;
	protobuf_c_message_free_unpacked(k->body, NULL);
	free(k);
}

static void
link_on_adopted(struct link *l, const Ipc__Adopted *in)
{
	struct kept	*k;

	l->state = LINK_UP;
	l->operates = in->operates;
	log_info("adopted by the next master");
	while ((k = STAILQ_FIRST(&l->kept)) != NULL) {
		chan_send(l->chan, k->kind, k->body, -1);
		kept_free(l, k);
	}
	l->events->on_adopted(l->arg);
}

/* --- the channel --- */

static void
link_on_msg(void *arg, struct ipc_msg *m)
{
	struct link	*l = arg;

	assert(l->chan != NULL);
	if (m->kind == IPC_adopted && l->state == LINK_KNOCKING)
		link_on_adopted(l, (const Ipc__Adopted *)m->body);
	else
		l->events->on_msg(l->arg, m);
}

static void
link_on_end(void *arg, int error)
{
	struct link	*l = arg;

	assert(l->chan != NULL);
	(void)error;
	chan_free(&l->chan);
	if (l->state == LINK_KNOCKING) {
		link_wait(l);
		return;
	}
	assert(l->state == LINK_UP);
	if (l->successor.ttl == 0 || !l->events->on_orphaned(l->arg)) {
		link_give_up(l);
		return;
	}
	log_info("the master died: waiting for the next one");
	successor_begin(&l->successor);
	link_wait(l);
}

struct link *
link_new(struct event_base *base, int sock, const char *dir, uint64_t ttl,
    const struct link_events *events, void *arg)
{
	struct link	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	STAILQ_INIT(&l->kept);
	l->base = base;
	successor_init(&l->successor, dir, ttl);
	l->events = events;
	l->arg = arg;
	timer_init(&l->again_ev, base, link_on_again, l);
	if ((l->chan = chan_new(base, sock, IPC_ROLE_WORKER, IPC_ROLE_MASTER,
	    link_on_msg, link_on_end, l)) == NULL)
		link_free(&l);
	return l;
}

void
link_free(struct link **lp)
{
	struct link	*l = *lp;
	struct kept	*k;

	*lp = NULL;
	if (l == NULL)
		return;
	while ((k = STAILQ_FIRST(&l->kept)) != NULL)
		kept_free(l, k);
	timer_stop(&l->again_ev);
	chan_free(&l->chan);
	free(l);
}

/* --- sending --- */

void
link_flush(struct link *l)
{
	void	(*tell)(struct link *) = l->soon;

	l->soon = NULL;
	if (tell != NULL)
		tell(l);
}

void
link_soon(struct link *l, void (*tell)(struct link *))
{
	assert(tell != NULL);
	l->soon = tell;
}

bool
link_is_orphaned(const struct link *l)
{
	return l->state == LINK_ORPHANED || l->state == LINK_KNOCKING;
}

bool
link_is_gone(const struct link *l)
{
	return l->state == LINK_GONE;
}

bool
link_survives(const struct link *l)
{
	return l->successor.ttl != 0 && l->state != LINK_GONE;
}

/* Send a message; lost without a master. */
static void
link_put(struct link *l, enum ipc_kind kind, const void *body, int fd)
{
	link_flush(l);
	if (l->state == LINK_UP)
		chan_send(l->chan, kind, body, fd);
}

void
link_handover(struct link *l, const char *id, const char *message, size_t len,
    int fd)
{
	Ipc__Handover	 out = IPC__HANDOVER__INIT;

	out.session_id = (char *)(uintptr_t)id;
	out.message.data = (uint8_t *)(uintptr_t)message;
	out.message.len = len;
	link_put(l, IPC_handover, &out, fd);
}

void
link_resumed(struct link *l, const Ipc__Resumed *out)
{
	link_put(l, IPC_resumed, out, -1);
}

void
link_report(struct link *l, const Ipc__Report *out)
{
	link_put(l, IPC_report, out, -1);
}

void
link_client(struct link *l, const char *name)
{
	l->client = name;
}

void
link_opened(struct link *l)
{
	Ipc__Opened	 out = IPC__OPENED__INIT;

	if (l->client != NULL)
		out.client = (char *)(uintptr_t)l->client;
	out.operates = l->is_operator;
	link_put(l, IPC_opened, &out, -1);
}

void
link_set_operator(struct link *l)
{
	l->is_operator = true;
}

void
link_attached(struct link *l)
{
	Ipc__Attached	 out = IPC__ATTACHED__INIT;

	link_put(l, IPC_attached, &out, -1);
}

void
link_detached(struct link *l)
{
	Ipc__Detached	 out = IPC__DETACHED__INIT;

	link_put(l, IPC_detached, &out, -1);
}

bool
link_is_idle(const struct link *l)
{
	return l->state == LINK_GONE || (l->chan != NULL &&
	    chan_is_idle(l->chan));
}

bool
link_is_read(const struct link *l)
{
	return l->state == LINK_GONE || (l->state == LINK_UP &&
	    chan_is_idle(l->chan) && chan_is_read(l->chan));
}

void
link_released(struct link *l, Ipc__Used *used, uint64_t retain_ms)
{
	Ipc__Released	 out = IPC__RELEASED__INIT;

	out.used = used;
	out.retain_ms = retain_ms;
	link_put(l, IPC_released, &out, -1);
}

void
link_acted(struct link *l, const Ipc__Acted *out)
{
	link_put(l, IPC_acted, out, -1);
}

int
link_ask_transcript(struct link *l, uint32_t ticket, bool is_terminal)
{
	Ipc__TranscriptAsk	 out = IPC__TRANSCRIPT_ASK__INIT;

	if (l->state == LINK_GONE)
		return -1;
	out.ticket = ticket;
	out.terminal = is_terminal;
	link_put(l, IPC_transcript_ask, &out, -1);
	return 0;
}

int
link_ask_memory(struct link *l, uint64_t output, uint64_t message)
{
	Ipc__MemoryAsk	 out = IPC__MEMORY_ASK__INIT;

	if (l->state != LINK_UP)
		return -1;
	out.output = output;
	out.message = message;
	link_put(l, IPC_memory_ask, &out, -1);
	return 0;
}

void
link_set_operates(struct link *l, bool operates)
{
	l->operates = operates;
}

int
link_operate(struct link *l, uint32_t ticket)
{
	Ipc__Operate	 out = IPC__OPERATE__INIT;

	if (l->state != LINK_UP || !l->operates)
		return -1;
	out.ticket = ticket;
	link_put(l, IPC_operate, &out, -1);
	return 0;
}

void
link_turned_away(struct link *l)
{
	Ipc__TurnedAway	 out = IPC__TURNED_AWAY__INIT;

	link_put(l, IPC_turned_away, &out, -1);
}

/* Copy a message, by packing it.  NULL: out of memory. */
static struct kept *
kept_new(enum ipc_kind kind, const ProtobufCMessage *m)
{
	size_t		 len = protobuf_c_message_get_packed_size(m);
	uint8_t		*data = malloc(len + 1);
	struct kept	*k = calloc(1, sizeof(*k));

	if (data != NULL && k != NULL) {
		k->kind = kind;
		protobuf_c_message_pack(m, data);
		k->body = protobuf_c_message_unpack(m->descriptor, NULL, len,
		    data);
	}
	free(data);
	if (k != NULL && k->body == NULL) {
		free(k);
		k = NULL;
	}
	return k;
}

/* For the audit log; missed: the member of the message. */
static void
link_audit(struct link *l, enum ipc_kind kind, ProtobufCMessage *m,
    uint32_t *missed)
{
	struct kept	*k = NULL;

	if (l->state == LINK_GONE)
		return;
	if (l->nkept >= KEPT_MAX || (l->state == LINK_UP &&
	    chan_waiting(l->chan) > COMMANDS_MAX)) {
		l->missed++;
		return;
	}
	*missed = l->missed;
	if (l->state == LINK_UP)
		link_put(l, kind, m, -1);
	/* The master may have died, and we have not heard of it. */
	if (l->state == LINK_UP && !chan_is_lost(l->chan)) {
		l->missed = 0;
		return;
	}
	if ((k = kept_new(kind, m)) != NULL) {
		STAILQ_INSERT_TAIL(&l->kept, k, entry);
		l->nkept++;
	} else {
		l->missed++;
		return;
	}
	l->missed = 0;
}

void
link_command(struct link *l, Ipc__Command *out)
{
	link_audit(l, IPC_command, &out->base, &out->missed);
}

void
link_command_ended(struct link *l, Ipc__CommandEnded *out)
{
	link_audit(l, IPC_command_ended, &out->base, &out->missed);
}

void
link_net_refused(struct link *l, Ipc__NetRefused *out)
{
	link_audit(l, IPC_net_refused, &out->base, &out->missed);
}

void
link_load(struct link *l, unsigned running)
{
	Ipc__Load	 out = IPC__LOAD__INIT;

	out.running = running;
	link_put(l, IPC_load, &out, -1);
}

void
link_ended(struct link *l, Ipc__EndReason reason, const char *why,
    Ipc__Used *used)
{
	Ipc__Ended	 out = IPC__ENDED__INIT;

	out.used = used;
	out.reason = reason;
	out.why = (char *)(uintptr_t)why;
	link_put(l, IPC_ended, &out, -1);
}
