#include "master/uplink/uplink_link.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/process/successor.h"

enum uplink_link_state {
	UPLINK_LINK_UP,			/* has a master */
	UPLINK_LINK_ORPHANED,		/* it died: looks for the next one */
	UPLINK_LINK_KNOCKING		/* waits for its answer */
};

struct uplink_link {
	enum uplink_link_state		 state;
	const struct uplink_link_events	*events;
	void				*arg;
	struct wsloop			*loop;
	int				 sock;		/* ORPHANED: -1 */
	struct wswatch			*watch;
	bool				 is_stopped;	/* in order */
	struct successor		 successor;
	struct wsloop_timer		 again;
	/* Streams that wait for a master. */
	int				 waiting[LIMIT_STREAMS];
	unsigned			 nwaiting;
};

/* --- the beginning --- */

/* Wait for a message of that kind, and no other. */
static void *
uplink_link_wait_for(int sock, enum ipc_kind kind)
{
	struct ipc_msg	 m;

	if (ipc_wait(sock, IPC_ROLE_MASTER, IPC_ROLE_UPLINK, &m) != 1)
		return NULL;
	if (m.kind != kind) {
		ipc_msg_fini(&m);
		return NULL;
	}
	return m.body;
}

int
uplink_link_wait(int sock, Ipc__UplinkStart **start_out,
    Ipc__UplinkSecret **secret_out)
{
	if ((*start_out = uplink_link_wait_for(sock, IPC_uplink_start)) ==
	    NULL || (*secret_out = uplink_link_wait_for(sock,
	    IPC_uplink_secret)) == NULL) {
		log_debug("the master has died");
		return -1;
	}
	return 0;
}

/* --- without a master --- */

static void	 uplink_link_on_again(void *arg);
static void	 uplink_link_send(struct uplink_link *, enum ipc_kind,
		    const void *, int);

static void
uplink_link_close(struct uplink_link *l)
{
	wswatch_free(&l->watch);
	fd_close(&l->sock);
}

static void
uplink_link_look(struct uplink_link *l)
{
	uint64_t	 ms;

	l->state = UPLINK_LINK_ORPHANED;
	if (successor_pause(&l->successor, &ms) == -1)
		l->events->on_gone(l->arg);
	else
		wsloop_timer_set(l->loop, &l->again, ms, uplink_link_on_again,
		    l);
}

/* The channel has ended. */
static void
uplink_link_on_end(struct uplink_link *l)
{
	uplink_link_close(l);
	if (l->state == UPLINK_LINK_KNOCKING) {
		uplink_link_look(l);
		return;
	}
	assert(l->state == UPLINK_LINK_UP);
	if (l->is_stopped || l->successor.ttl == 0) {
		l->events->on_gone(l->arg);
		return;
	}
	log_info("the master died: waiting for the next one");
	successor_begin(&l->successor);
	uplink_link_look(l);
}

static void
uplink_link_on_adopted(struct uplink_link *l)
{
	Ipc__UplinkStream	 out = IPC__UPLINK_STREAM__INIT;
	unsigned		 i;

	l->state = UPLINK_LINK_UP;
	log_info("adopted by the next master");
	for (i = 0; i < l->nwaiting; i++) {
		uplink_link_send(l, IPC_uplink_stream, &out, l->waiting[i]);
		fd_close(&l->waiting[i]);
	}
	l->nwaiting = 0;
	l->events->on_adopted(l->arg);
}

/* --- what comes --- */

static void
uplink_link_on_bearer(struct uplink_link *l, Ipc__UplinkBearer *in)
{
	l->events->on_bearer(l->arg, in->token);
	sodium_memzero(in->token, strlen(in->token));
}

/* The pipe of the log ended with the master that read it. */
static void
uplink_link_on_log(const struct ipc_msg *m)
{
	if (m->fd == -1 || dup3(m->fd, STDERR_FILENO, 0) == -1)
		log_warn("the log of the next master");
}

static void
uplink_link_on_msg(struct uplink_link *l, struct ipc_msg *m)
{
	switch (m->kind) {
	case IPC_uplink_bearer:
		uplink_link_on_bearer(l, (Ipc__UplinkBearer *)m->body);
		break;
	case IPC_uplink_register:
		l->events->on_register(l->arg);
		break;
	case IPC_uplink_stop:
		l->is_stopped = true;
		break;
	case IPC_uplink_log:
		uplink_link_on_log(m);
		break;
	case IPC_uplink_adopted:
		if (l->state == UPLINK_LINK_KNOCKING)
			uplink_link_on_adopted(l);
		break;
	default:
		log_warnx("unexpected message from the master");
	}
}

/* Take a message.  False: there is none, and the channel may have ended. */
static bool
uplink_link_take(struct uplink_link *l)
{
	struct ipc_msg	 m;
	int		 r;

	r = ipc_recv(l->sock, IPC_ROLE_MASTER, IPC_ROLE_UPLINK, &m);
	if (r == 1) {
		uplink_link_on_msg(l, &m);
		ipc_msg_fini(&m);
	} else if (r == 0 || errno != EAGAIN) {
		uplink_link_on_end(l);
	}
	return r == 1;
}

/* One at a time: a second call would block. */
static void
uplink_link_on_readable(void *arg)
{
	uplink_link_take(arg);
}

static void
uplink_link_on_writable(void *arg)
{
	(void)arg;
}

/* What it said last may not have been read. */
static void
uplink_link_on_hangup(void *arg)
{
	while (uplink_link_take(arg))
		continue;
}

static const struct wswatch_events wswatch_events = {
	uplink_link_on_readable, uplink_link_on_writable, uplink_link_on_hangup
};

/* Connect to the next master, if it listens: 0, or -1. */
static int
uplink_link_knock(struct uplink_link *l)
{
	Ipc__UplinkOrphan	 out = IPC__UPLINK_ORPHAN__INIT;

	if ((l->sock = successor_connect(&l->successor)) == -1)
		return -1;
	/* Sending blocks, as it does to the first master. */
	if (fd_nonblock(l->sock, 0) == -1 ||
	    (l->watch = wswatch_new(l->loop, l->sock, &wswatch_events,
	    l)) == NULL) {
		fd_close(&l->sock);
		return -1;
	}
	l->state = UPLINK_LINK_KNOCKING;
	out.registered = l->events->is_registered(l->arg);
	if (ipc_send(l->sock, IPC_uplink_orphan, &out, -1) == -1)
		log_debug("the next master does not listen");
	return 0;
}

static void
uplink_link_on_again(void *arg)
{
	struct uplink_link	*l = arg;

	assert(l->state == UPLINK_LINK_ORPHANED && l->sock == -1);
	if (uplink_link_knock(l) == -1)
		uplink_link_look(l);
}

struct uplink_link *
uplink_link_new(struct wsloop *loop, int sock, const char *dir, uint64_t ttl,
    const struct uplink_link_events *events, void *arg)
{
	struct uplink_link	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->events = events;
	l->arg = arg;
	l->loop = loop;
	l->sock = -1;
	successor_init(&l->successor, dir, ttl);
	if ((l->watch = wswatch_new(loop, sock, &wswatch_events, l)) == NULL)
		uplink_link_free(&l);
	else
		l->sock = sock;
	return l;
}

void
uplink_link_free(struct uplink_link **lp)
{
	struct uplink_link	*l = *lp;
	unsigned		 i;

	*lp = NULL;
	if (l == NULL)
		return;
	wsloop_timer_clear(l->loop, &l->again);
	uplink_link_close(l);
	for (i = 0; i < l->nwaiting; i++)
		fd_close(&l->waiting[i]);
	free(l);
}

/* --- what goes --- */

/*
 * Lost without a master: the next one is told the status.  Block while the
 * socket is full: the master reads all the time.
 */
static void
uplink_link_send(struct uplink_link *l, enum ipc_kind kind,
    const void *body, int fd)
{
	if (l != NULL && l->state == UPLINK_LINK_UP &&
	    ipc_send(l->sock, kind, body, fd) == -1 &&
	    errno != EPIPE && errno != ECONNRESET)
		log_warn("cannot send to the master");
}

void
uplink_link_answer(struct uplink_link *l, const struct registry_result *res)
{
	Ipc__UplinkAnswer	 out = IPC__UPLINK_ANSWER__INIT;

	out.result = res->result;
	out.status = res->status;
	out.retry_after_ms = res->retry_after < LIMIT_UPLINK_RETRY_AFTER ?
	    res->retry_after : LIMIT_UPLINK_RETRY_AFTER;
	uplink_link_send(l, IPC_uplink_answer, &out, -1);
}

void
uplink_link_status(struct uplink_link *l, const Ipc__UplinkStatus *s)
{
	uplink_link_send(l, IPC_uplink_status, s, -1);
}

int
uplink_link_stream(struct uplink_link *l, int fd)
{
	Ipc__UplinkStream	 out = IPC__UPLINK_STREAM__INIT;

	if (l->state == UPLINK_LINK_UP) {
		uplink_link_send(l, IPC_uplink_stream, &out, fd);
		fd_close(&fd);
		return 0;
	}
	if (l->nwaiting == LIMIT_STREAMS) {
		fd_close(&fd);
		return -1;
	}
	l->waiting[l->nwaiting++] = fd;
	return 0;
}

void
uplink_link_denied(struct uplink_link *l)
{
	Ipc__UplinkDenied	 out = IPC__UPLINK_DENIED__INIT;

	uplink_link_send(l, IPC_uplink_denied, &out, -1);
}
