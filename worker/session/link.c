#include "worker/session/link.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/log.h"

#define COMMANDS_MAX	(256 * 1024)	/* bytes queued for the master */

struct link {
	struct chan	*chan;		/* NULL: the master is gone */
	const struct link_events *events;
	void		*arg;
	void		(*soon)(struct link *);	/* sends a delayed message */
	uint32_t	 missed;	/* commands not reported */
};

static void
link_on_msg(void *arg, struct ipc_msg *m)
{
	struct link	*l = arg;

	assert(l->chan != NULL);
	l->events->on_msg(l->arg, m);
}

static void
link_on_end(void *arg, int error)
{
	struct link	*l = arg;

	assert(l->chan != NULL);
	(void)error;
	chan_free(&l->chan);
	l->events->on_gone(l->arg);
}

struct link *
link_new(struct event_base *base, int sock, const struct link_events *events,
    void *arg)
{
	struct link	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->events = events;
	l->arg = arg;
	if ((l->chan = chan_new(base, sock, IPC_ROLE_WORKER, IPC_ROLE_MASTER,
	    link_on_msg, link_on_end, l)) == NULL)
		link_free(&l);
	return l;
}

void
link_free(struct link **lp)
{
	struct link	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
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

/* Send a message; lost without a master. */
static void
link_put(struct link *l, enum ipc_kind kind, const void *body, int fd)
{
	link_flush(l);
	if (l->chan != NULL)
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
link_opened(struct link *l)
{
	Ipc__Opened	 out = IPC__OPENED__INIT;

	link_put(l, IPC_opened, &out, -1);
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
	return l->chan == NULL || chan_is_idle(l->chan);
}

void
link_released(struct link *l, Ipc__Used *used)
{
	Ipc__Released	 out = IPC__RELEASED__INIT;

	out.used = used;
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

	if (l->chan == NULL)
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

	if (l->chan == NULL)
		return -1;
	out.output = output;
	out.message = message;
	link_put(l, IPC_memory_ask, &out, -1);
	return 0;
}

void
link_turned_away(struct link *l)
{
	Ipc__TurnedAway	 out = IPC__TURNED_AWAY__INIT;

	link_put(l, IPC_turned_away, &out, -1);
}

void
link_command(struct link *l, Ipc__Command *out)
{
	if (l->chan == NULL)
		return;
	if (chan_waiting(l->chan) > COMMANDS_MAX) {
		l->missed++;
		return;
	}
	out->missed = l->missed;
	l->missed = 0;
	link_put(l, IPC_command, out, -1);
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
