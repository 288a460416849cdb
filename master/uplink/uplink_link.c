#include "master/uplink/uplink_link.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc.h"
#include "common/limit.h"
#include "common/log.h"

struct uplink_link {
	const struct uplink_link_events	*events;
	void				*arg;
	int				 sock;
	struct wswatch			*watch;
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

/* --- what comes --- */

static void
uplink_link_on_bearer(struct uplink_link *l, Ipc__UplinkBearer *in)
{
	l->events->on_bearer(l->arg, in->token);
	sodium_memzero(in->token, strlen(in->token));
}

static void
uplink_link_on_readable(void *arg)
{
	struct uplink_link	*l = arg;
	struct ipc_msg	 m;
	int		 r;

	/* One at a time: a second call would block. */
	r = ipc_recv(l->sock, IPC_ROLE_MASTER, IPC_ROLE_UPLINK, &m);
	if (r != 1) {
		if (r == 0 || errno != EAGAIN)
			l->events->on_gone(l->arg);
		return;
	}
	if (m.kind == IPC_uplink_bearer)
		uplink_link_on_bearer(l, (Ipc__UplinkBearer *)m.body);
	else if (m.kind == IPC_uplink_register)
		l->events->on_register(l->arg);
	else
		log_warnx("unexpected message from the master");
	ipc_msg_fini(&m);
}

static void
uplink_link_on_writable(void *arg)
{
	(void)arg;
}

static void
uplink_link_on_hangup(void *arg)
{
	struct uplink_link	*l = arg;

	l->events->on_gone(l->arg);
}

static const struct wswatch_events wswatch_events = {
	uplink_link_on_readable, uplink_link_on_writable, uplink_link_on_hangup
};

struct uplink_link *
uplink_link_new(struct wsloop *loop, int sock,
    const struct uplink_link_events *events, void *arg)
{
	struct uplink_link	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->events = events;
	l->arg = arg;
	l->sock = sock;
	if ((l->watch = wswatch_new(loop, sock, &wswatch_events, l)) == NULL)
		uplink_link_free(&l);
	return l;
}

void
uplink_link_free(struct uplink_link **lp)
{
	struct uplink_link	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	wswatch_free(&l->watch);
	free(l);
}

/* --- what goes --- */

/* Block while the socket is full: the master reads all the time. */
static void
uplink_link_send(struct uplink_link *l, enum ipc_kind kind,
    const void *body, int fd)
{
	if (l != NULL && ipc_send(l->sock, kind, body, fd) == -1 &&
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

void
uplink_link_stream(struct uplink_link *l, int fd)
{
	Ipc__UplinkStream	 out = IPC__UPLINK_STREAM__INIT;

	uplink_link_send(l, IPC_uplink_stream, &out, fd);
}

void
uplink_link_denied(struct uplink_link *l)
{
	Ipc__UplinkDenied	 out = IPC__UPLINK_DENIED__INIT;

	uplink_link_send(l, IPC_uplink_denied, &out, -1);
}
