#include "worker/proxy/proxy_link.h"

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/os/helper.h"

#define PROGRAM		"execsrv-proxy"
#define PACKET_TEXT	(LIMIT_CONTROL_MESSAGE / 2)	/* of patterns */

/* All rules of a process, which are sent at once. */
#define QUEUE_MAX	((size_t)NETRULES_LISTS * LIMIT_NET_RULES *	\
			    (NETHOST_MAX + 8) + LIMIT_NET_QUEUE)

TAILQ_HEAD(proxied_list, proxied);

struct proxy_link {
	struct helper		 helper;
	bool			(*is_ending)(const void *);
	const void		*arg;
	struct proxied_list	 all;
	uint64_t		 last_key;
};

static const char *const proxy_kept[] = {
	"ALL_PROXY", "ASAN_OPTIONS", "GCOV_PREFIX", "GCOV_PREFIX_STRIP",
	"HTTPS_PROXY", "HTTP_PROXY", "LD_LIBRARY_PATH", "LOCALDOMAIN",
	"LSAN_OPTIONS", "NO_PROXY", "RES_OPTIONS", "UBSAN_OPTIONS",
	"all_proxy", "http_proxy", "https_proxy", "no_proxy"
};

static const struct helper_program	 program = {
	.name = PROGRAM,
	.role = IPC_ROLE_PROXY,
	.queue_max = QUEUE_MAX,
	.idle_ms = LIMIT_NET_UNUSED,
	.kept = proxy_kept,
	.nkept = sizeof(proxy_kept) / sizeof(proxy_kept[0]),
};

/* --- messages: -1 is a violation --- */

static struct proxied *
proxy_link_find(struct proxy_link *l, uint64_t key)
{
	struct proxied	*p;

	TAILQ_FOREACH(p, &l->all, entry)
		if (p->key == key)
			return p;
	return NULL;
}

static void
proxied_gone(struct proxied *p, bool is_lost)
{
	struct proxy_link	*l = p->link;

	TAILQ_REMOVE(&l->all, p, entry);
	if (TAILQ_EMPTY(&l->all))
		helper_idle(&l->helper);
	p->events->on_gone(p, is_lost);
}

static bool
is_host(const char *text)
{
	return strnlen(text, NETHOST_MAX) < NETHOST_MAX;
}

static int
proxy_link_on_ask(struct proxied *p, const void *body)
{
	const Ipc__ProxyAsk	*in = body;

	if (in->id == 0 || !is_host(in->host) || in->port > UINT16_MAX ||
	    in->protocol < 0 ||
	    in->protocol > IPC__PROXY_PROTOCOL__SOCKS5_TCP)
		return -1;
	p->events->on_ask(p, in);
	return 0;
}

static int
proxy_link_on_decision(struct proxied *p, const void *body)
{
	const Ipc__ProxyDecision	*in = body;

	if (!is_host(in->host) || !is_host(in->method) ||
	    !is_host(in->client) || in->port > UINT16_MAX ||
	    strlen(in->reason) > LIMIT_NET_DECISION ||
	    in->protocol < 0 ||
	    in->protocol > IPC__PROXY_PROTOCOL__SOCKS5_TCP ||
	    in->verdict < 0 ||
	    in->verdict > IPC__PROXY_VERDICT__PROXY_ASKED ||
	    in->source < 0 || in->source > IPC__PROXY_SOURCE__PROXY_STATE)
		return -1;
	p->events->on_decision(p, in);
	return 0;
}

static int
proxy_link_on_dropped(struct proxied *p, const void *body)
{
	(void)body;
	if (!p->is_dropped)
		return -1;
	proxied_gone(p, false);
	return 0;
}

static int	(*const handlers[IPC_KINDS])(struct proxied *, const void *) = {
	[IPC_proxy_ask] = proxy_link_on_ask,
	[IPC_proxy_decision] = proxy_link_on_decision,
	[IPC_proxy_dropped] = proxy_link_on_dropped,
};

/* The process has died: so have its listeners and connections. */
static void
proxy_link_on_death(void *arg, const char *why)
{
	struct proxy_link	*l = arg;
	struct proxied		*p;

	assert(l->helper.chan == NULL);
	(void)why;
	if (!TAILQ_EMPTY(&l->all) && !l->is_ending(l->arg))
		log_warnx(PROGRAM " ended: commands with a managed network "
		    "have none any more");
	while ((p = TAILQ_FIRST(&l->all)) != NULL)
		proxied_gone(p, true);
}

static int
proxy_link_on_msg(void *arg, struct ipc_msg *m)
{
	uint64_t	 key;
	struct proxied	*p;

	/* The first member of all its messages. */
	key = ((const Ipc__ProxyDropped *)(const void *)m->body)->key;
	if ((p = proxy_link_find(arg, key)) == NULL ||
	    handlers[m->kind] == NULL)
		return -1;
	return handlers[m->kind](p, m->body);
}

static const struct helper_events	 proxy_link_events = {
	proxy_link_on_msg, proxy_link_on_death
};

/* --- networks --- */

static const Ipc__ProxyList	 lists[NETRULES_LISTS] = {
	[NETRULES_ALLOW] = IPC__PROXY_LIST__CLIENT_ALLOW,
	[NETRULES_DENY] = IPC__PROXY_LIST__CLIENT_DENY,
	[NETRULES_REVIEW] = IPC__PROXY_LIST__CLIENT_REVIEW,
	[NETRULES_BOUND] = IPC__PROXY_LIST__ADMIN_ALLOW,
	[NETRULES_FORBID] = IPC__PROXY_LIST__ADMIN_DENY,
};

/* Send the patterns of a list, in as many packets as they need. */
static int
send_list(struct proxied *p, const struct netrules_patterns *from,
    Ipc__ProxyList list)
{
	Ipc__ProxyRules	 out = IPC__PROXY_RULES__INIT;
	char		*at = from->text;
	size_t		 len, sum = 0;
	unsigned	 i;

	if (from->n == 0)
		return 0;
	if ((out.pattern = calloc(from->n, sizeof(*out.pattern))) == NULL)
		return -1;
	out.key = p->key;
	out.list = list;
	for (i = 0; i < from->n; i++, at += len) {
		len = strlen(at) + 1;
		if (sum + len > PACKET_TEXT) {
			chan_send(p->link->helper.chan, IPC_proxy_rules,
			    &out, -1);
			sum = out.n_pattern = 0;
		}
		assert(out.n_pattern < from->n);
		out.pattern[out.n_pattern++] = at;
		sum += len + 4;
	}
	chan_send(p->link->helper.chan, IPC_proxy_rules, &out, -1);
	free(out.pattern);
	return 0;
}

static void
send_listeners(struct proxied *p, const struct proxy_listener *listeners,
    size_t n)
{
	Ipc__ProxyListen	 out = IPC__PROXY_LISTEN__INIT;
	size_t			 i;

	out.key = p->key;
	for (i = 0; i < n; i++) {
		out.kind = listeners[i].kind;
		out.port = listeners[i].port;
		chan_send(p->link->helper.chan, IPC_proxy_listen, &out,
		    listeners[i].fd);
	}
}

int
proxy_link_add(struct proxy_link *l, struct proxied *p,
    const struct proxied_events *events, const struct proxy_wish *w,
    const struct proxy_listener *listeners, size_t n)
{
	Ipc__ProxyAdd	 out = IPC__PROXY_ADD__INIT;
	int		 i;

	if (helper_need(&l->helper) == -1)
		return -1;
	p->link = l;
	p->events = events;
	p->key = out.key = ++l->last_key;
	p->is_dropped = false;
	out.allows_local = w->rules.allows_local;
	out.is_limited = w->rules.is_limited;
	out.asks = w->rules.asks;
	out.is_bound = w->rules.is_bound;
	out.uses_upstream = w->uses_upstream;
	out.checks_peer = w->checks_peer;
	chan_send(l->helper.chan, IPC_proxy_add, &out, -1);
	TAILQ_INSERT_TAIL(&l->all, p, entry);
	for (i = 0; i < NETRULES_LISTS; i++)
		if (send_list(p, &w->rules.list[i], lists[i]) == -1)
			fatal("rules of a network");
	send_listeners(p, listeners, n);
	return 0;
}

void
proxied_answer(struct proxied *p, uint64_t id, Ipc__ProxyVerdict verdict,
    const char *reason)
{
	Ipc__ProxyAnswer	 out = IPC__PROXY_ANSWER__INIT;

	out.key = p->key;
	out.id = id;
	out.verdict = verdict;
	out.reason = (char *)(uintptr_t)reason;
	if (p->link->helper.chan != NULL && !p->is_dropped)
		chan_send(p->link->helper.chan, IPC_proxy_answer, &out, -1);
}

void
proxied_drop(struct proxied *p)
{
	Ipc__ProxyDrop	 out = IPC__PROXY_DROP__INIT;

	assert(!p->is_dropped && p->link->helper.chan != NULL);
	p->is_dropped = true;
	out.key = p->key;
	chan_send(p->link->helper.chan, IPC_proxy_drop, &out, -1);
}

/* --- the link --- */

int
proxy_link_program(void)
{
	return helper_program(PROGRAM);
}

struct proxy_link *
proxy_link_new(struct event_base *base, int exe, unsigned session,
    bool (*is_ending)(const void *), const void *arg)
{
	struct proxy_link	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	helper_init(&l->helper, &program, base, exe, session, NULL,
	    &proxy_link_events, l);
	l->is_ending = is_ending;
	l->arg = arg;
	TAILQ_INIT(&l->all);
	return l;
}

void
proxy_link_free(struct proxy_link **lp)
{
	struct proxy_link	*l = *lp;
	struct proxied		*p;

	*lp = NULL;
	if (l == NULL)
		return;
	helper_stop(&l->helper);
	while ((p = TAILQ_FIRST(&l->all)) != NULL)
		proxied_gone(p, false);
	free(l);
}

struct helper *
proxy_link_helper(struct proxy_link *l)
{
	return &l->helper;
}
