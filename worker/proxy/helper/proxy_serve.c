#include "worker/proxy/helper/proxy_serve.h"

#include <sys/queue.h>
#include <sys/socket.h>

#include <netinet/in.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/net/netpattern.h"
#include "common/net/sockdiag.h"
#include "common/net/tcp.h"
#include "worker/proxy/helper/proxy_conn.h"

#define LISTENERS	32	/* of a process: HTTP, SOCKS, bridges */
#define ACCEPT_TURN	32	/* connections accepted in one turn */
#define GO_ON_MS	10	/* between checks for room in the channel */

/* More than all questions and decisions that may be under way. */
#define QUEUE_MAX	(2 * (size_t)LIMIT_NET_QUEUE + LIMIT_NET_CONNECTIONS * \
			    (size_t)LIMIT_NET_DECISION)

struct listener {
	struct process	*process;
	int		 fd;
	Ipc__ProxyKind	 kind;
	uint16_t	 port;		/* of a bridge */
	struct io	 ev;
	bool		 is_on;
};

/* The network of a process. */
struct process {
	TAILQ_ENTRY(process)	 entry;
	struct proxy_server	*server;
	uint64_t		 key;
	struct proxy_net	 net;
	bool			 checks_peer;
	struct listener		 listener[LISTENERS];
	unsigned		 n;
};

struct proxy_server {
	struct event_base	*base;
	struct chan		*chan;
	struct proxy_shared	 shared;
	TAILQ_HEAD(, process)	 all;
	uint64_t		 last_key;
	struct timer		 told_ev;
	struct timer		 go_on_ev;
	int			 diag;
	uid_t			 uid;
	int			 status;	/* exit status */
};

/* --- to the worker --- */

/*
 * At the end of this turn: first the request is passed on, so that its server
 * does not wait for a processor that the worker was woken on.  The worker still
 * hears of it before any answer can be there.
 */
static void
serve_tell(struct proxy_server *s, enum ipc_kind kind, const void *body)
{
	chan_hold(s->chan, true);
	chan_send(s->chan, kind, body, -1);
	timer_fire(&s->told_ev);
}

static void
serve_on_told(void *arg)
{
	struct proxy_server	*s = arg;

	chan_hold(s->chan, false);
}

static void
serve_on_ask(void *arg, const Ipc__ProxyAsk *ask)
{
	struct process	*p = arg;
	Ipc__ProxyAsk	 out = *ask;

	out.key = p->key;
	serve_tell(p->server, IPC_proxy_ask, &out);
}

static void
serve_on_decision(void *arg, const Ipc__ProxyDecision *d)
{
	struct process		*p = arg;
	Ipc__ProxyDecision	 out = *d;

	out.key = p->key;
	serve_tell(p->server, IPC_proxy_decision, &out);
}

/* --- connections --- */

static void	 listeners_turn(struct process *p);

static void
serve_on_conn_end(void *arg)
{
	listeners_turn(arg);
}

static bool
serve_is_full(void *arg)
{
	struct process	*p = arg;

	if (chan_waiting(p->server->chan) < LIMIT_NET_QUEUE)
		return false;
	timer_ensure(&p->server->go_on_ev, GO_ON_MS);
	return true;
}

static void
on_go_on(void *arg)
{
	struct proxy_server	*s = arg;
	struct process		*p;

	TAILQ_FOREACH(p, &s->all, entry)
		proxy_conn_go_on(&p->net);
}

static const struct proxy_events	 events = {
	serve_on_ask, serve_on_decision, serve_on_conn_end, serve_is_full
};

/* Accept while there may be more connections. */
static void
listeners_turn(struct process *p)
{
	bool		 on = p->net.n < LIMIT_NET_CONNECTIONS;
	struct listener	*l;

	assert(p->n <= LISTENERS);
	for (l = p->listener; l < p->listener + p->n; l++) {
		if (l->is_on == on)
			continue;
		if (!on)
			io_stop(&l->ev);
		else if (io_start(&l->ev) == -1)
			log_warn("no memory for a listener");
		l->is_on = on;
	}
}

/* Whether a connection on loopback is one of our own user, by the kernel. */
static bool
is_of_our_user(const struct proxy_server *s, int fd,
    const struct sockaddr_in *theirs)
{
	struct sockaddr_in	 ours;
	socklen_t		 len = sizeof(ours);
	struct sockdiag		 d;

	return s->diag != -1 &&
	    getsockname(fd, (struct sockaddr *)&ours, &len) == 0 &&
	    ours.sin_family == AF_INET && theirs->sin_family == AF_INET &&
	    sockdiag_find(s->diag, (const struct sockaddr *)&ours,
	    (const struct sockaddr *)theirs, &d) == 0 && d.is_found &&
	    d.uid == s->uid;
}

static void
listener_on_ready(void *arg)
{
	struct listener		*l = arg;
	struct process		*p = l->process;
	struct sockaddr_in	 from;
	socklen_t		 len;
	int			 fd, i;

	assert(l->fd != -1 && l->is_on);
	for (i = 0; i < ACCEPT_TURN && p->net.n < LIMIT_NET_CONNECTIONS;
	    i++) {
		memset(&from, 0, sizeof(from));
		len = sizeof(from);
		if ((fd = accept4(l->fd, (struct sockaddr *)&from, &len,
		    SOCK_CLOEXEC | SOCK_NONBLOCK)) == -1)
			break;
		if (p->checks_peer && !is_of_our_user(p->server, fd, &from)) {
			log_info("a connection of another user was refused");
			fd_close(&fd);
		} else if (proxy_conn_start(&p->net, fd, &from, l->kind,
		    l->port) == -1) {
			fd_close(&fd);
		}
	}
	listeners_turn(p);
}

/* --- from the worker: -1 is a protocol violation --- */

static struct process *
proxied_find(struct proxy_server *s, uint64_t key)
{
	struct process	*p;

	TAILQ_FOREACH(p, &s->all, entry)
		if (p->key == key)
			return p;
	return NULL;
}

static void
proxied_free(struct process *p)
{
	unsigned	 i;

	for (i = 0; i < p->n; i++) {
		io_stop(&p->listener[i].ev);
		fd_close(&p->listener[i].fd);
	}
	proxy_conn_end_all(&p->net);
	netrules_fini(&p->net.rules);
	TAILQ_REMOVE(&p->server->all, p, entry);
	free(p);
}

static int
serve_on_add(struct proxy_server *s, struct ipc_msg *m)
{
	const Ipc__ProxyAdd	*in = (const Ipc__ProxyAdd *)m->body;
	struct process		*p;

	if (in->key <= s->last_key)
		return -1;
	s->last_key = in->key;
	if ((p = calloc(1, sizeof(*p))) == NULL)
		fatal("the network of a process");
	p->server = s;
	p->key = in->key;
	p->checks_peer = in->checks_peer;
	p->net.shared = &s->shared;
	p->net.events = &events;
	p->net.arg = p;
	p->net.rules.allows_local = in->allows_local;
	p->net.rules.is_limited = in->is_limited;
	p->net.rules.asks = in->asks;
	p->net.rules.is_bound = in->is_bound;
	p->net.uses_upstream = in->uses_upstream;
	TAILQ_INIT(&p->net.conns);
	TAILQ_INSERT_TAIL(&s->all, p, entry);
	return 0;
}

static const enum netrules_list	 lists[] = {
	[IPC__PROXY_LIST__CLIENT_ALLOW] = NETRULES_ALLOW,
	[IPC__PROXY_LIST__CLIENT_DENY] = NETRULES_DENY,
	[IPC__PROXY_LIST__CLIENT_REVIEW] = NETRULES_REVIEW,
	[IPC__PROXY_LIST__ADMIN_ALLOW] = NETRULES_BOUND,
	[IPC__PROXY_LIST__ADMIN_DENY] = NETRULES_FORBID,
};

static int
serve_on_rules(struct proxy_server *s, struct ipc_msg *m)
{
	const Ipc__ProxyRules	*in = (const Ipc__ProxyRules *)m->body;
	struct process		*p;
	char			 text[NETHOST_MAX];
	size_t			 i;

	if ((p = proxied_find(s, in->key)) == NULL || p->n > 0 ||
	    (unsigned)in->list >= sizeof(lists) / sizeof(lists[0]))
		return -1;
	for (i = 0; i < in->n_pattern; i++)
		if (netpattern_make(in->pattern[i], strlen(in->pattern[i]),
		    text) != NULL ||
		    netrules_add(&p->net.rules, lists[in->list], text) == -1)
			return -1;
	return 0;
}

static int
serve_on_listen(struct proxy_server *s, struct ipc_msg *m)
{
	const Ipc__ProxyListen	*in = (const Ipc__ProxyListen *)m->body;
	struct sockaddr_storage	 at;
	socklen_t		 len = sizeof(at);
	struct process		*p;
	struct listener		*l;

	if ((p = proxied_find(s, in->key)) == NULL || p->n == LISTENERS ||
	    in->port > UINT16_MAX)
		return -1;
	/* Lost for want of descriptors: that process has no network. */
	if (m->fd == -1)
		return 0;
	l = &p->listener[p->n];
	/* Accepted sockets are as their listener. */
	if (fd_nonblock(m->fd, 1) == -1 || getsockname(m->fd,
	    (struct sockaddr *)&at, &len) == -1 ||
	    tcp_tune(m->fd, (struct sockaddr *)&at) == -1)
		return -1;
	l->process = p;
	l->fd = m->fd;
	m->fd = -1;
	l->kind = in->kind;
	l->port = (uint16_t)in->port;
	io_init(&l->ev, s->base, l->fd, EV_READ | EV_PERSIST,
	    listener_on_ready, l);
	p->n++;
	listeners_turn(p);
	return 0;
}

static int
serve_on_drop(struct proxy_server *s, struct ipc_msg *m)
{
	const Ipc__ProxyDrop	*in = (const Ipc__ProxyDrop *)m->body;
	Ipc__ProxyDropped	 out = IPC__PROXY_DROPPED__INIT;
	struct process		*p;

	if ((p = proxied_find(s, in->key)) == NULL)
		return -1;
	proxied_free(p);
	out.key = in->key;
	chan_send(s->chan, IPC_proxy_dropped, &out, -1);
	return 0;
}

static int
serve_on_answer(struct proxy_server *s, struct ipc_msg *m)
{
	const Ipc__ProxyAnswer	*in = (const Ipc__ProxyAnswer *)m->body;
	struct process		*p;

	if ((p = proxied_find(s, in->key)) == NULL || in->id == 0 ||
	    in->id > s->shared.last_question)
		return -1;
	proxy_conn_answer(&p->net, in->id, in->verdict, in->reason);
	return 0;
}

typedef int	 serve_fn(struct proxy_server *s, struct ipc_msg *m);

static serve_fn *const handlers[IPC_KINDS] = {
	[IPC_proxy_add] = serve_on_add,
	[IPC_proxy_rules] = serve_on_rules,
	[IPC_proxy_listen] = serve_on_listen,
	[IPC_proxy_drop] = serve_on_drop,
	[IPC_proxy_answer] = serve_on_answer,
};

static void
proxy_serve_leave(struct proxy_server *s, int status)
{
	s->status = status;
	event_base_loopbreak(s->base);
}

static void
proxy_serve_on_msg(void *arg, struct ipc_msg *m)
{
	struct proxy_server	*s = arg;

	if (handlers[m->kind] != NULL && handlers[m->kind](s, m) == 0)
		return;
	log_warnx("unexpected message %s from the worker",
	    ipc_rows[m->kind].name);
	proxy_serve_leave(s, 1);
}

/* The worker has closed the channel. */
static void
proxy_serve_on_end(void *arg, int error)
{
	if (error != 0)
		log_warnx("channel: %s", strerror(error));
	proxy_serve_leave(arg, error != 0);
}

int
proxy_serve(int sock, const struct proxy_env *upstream, int diag)
{
	struct proxy_server	 s;
	struct process		*p;

	memset(&s, 0, sizeof(s));
	TAILQ_INIT(&s.all);
	s.diag = diag;
	s.uid = geteuid();
	s.shared.upstream = *upstream;
	if (pipe2(s.shared.pipe, O_CLOEXEC | O_NONBLOCK) == -1)
		fatal("pipe");
	fd_widen(s.shared.pipe[1]);
	if ((s.base = event_base_new()) == NULL ||
	    (s.shared.scratch = malloc(LIMIT_NET_BUFFER)) == NULL ||
	    (s.shared.names = proxy_names_new(s.base)) == NULL ||
	    (s.chan = chan_new(s.base, sock, IPC_ROLE_PROXY, IPC_ROLE_WORKER,
	    proxy_serve_on_msg, proxy_serve_on_end, &s)) == NULL)
		fatal("event loop");
	s.shared.base = s.base;
	timer_init(&s.told_ev, s.base, serve_on_told, &s);
	timer_init(&s.go_on_ev, s.base, on_go_on, &s);
	chan_set_limit(s.chan, QUEUE_MAX);
	if (event_base_dispatch(s.base) == -1)
		fatalx("event loop");
	while ((p = TAILQ_FIRST(&s.all)) != NULL)
		proxied_free(p);
	timer_stop(&s.told_ev);
	timer_stop(&s.go_on_ev);
	proxy_names_free(&s.shared.names);
	chan_free(&s.chan);
	free(s.shared.scratch);
	fd_close(&s.shared.pipe[0]);
	fd_close(&s.shared.pipe[1]);
	event_base_free(s.base);
	return s.status;
}
