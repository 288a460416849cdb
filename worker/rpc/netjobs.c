#include "worker/rpc/netjobs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/ev.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/net/netpattern.h"
#include "common/utc.h"
#include "worker/conn/conn.h"
#include "worker/conn/note.h"
#include "worker/os/helper.h"
#include "worker/proc/proc.h"
#include "worker/proxy/proxy_env.h"
#include "worker/proxy/proxy_link.h"
#include "worker/rpc/netrefused.h"
#include "worker/sandbox/netns.h"
#include "worker/session/link.h"

#define TIMEOUT_MAX	(366ULL * 24 * 3600 * 1000)	/* ms */
#define REASON_MAX	1024	/* bytes of a reason that a client gives */

struct question;
TAILQ_HEAD(question_list, question);

struct netjobs {
	struct rpc		*rpc;
	struct proxy_link	*link;
	struct question_list	 questions;
	unsigned		 n;
	int64_t			 last_id;	/* of this connection */
	struct netrefused	 refused;
};

/* The network of a process; freed when both owners are done. */
struct net {
	struct proxied		 proxied;	/* first; is_added */
	struct sink		 sink;		/* is_sunk */
	struct rpc		*rpc;
	bool			 is_added, is_sunk;
	char			*id;		/* processId */
	size_t			 id_len;
	bool			 is_enforced;
	bool			 is_bridge;	/* for proxies that env names */
	bool			 has_socks;
	struct proxy_wish	 wish;
	uint64_t		 timeout_ms;
};

/* A question that the client has not answered. */
struct question {
	TAILQ_ENTRY(question)	 entry;
	struct net		*net;
	uint64_t		 proxy_id;
	int64_t			 id;
	struct timer		 timer;
};

struct net_opened {
	struct netns	 netns;
	struct nsset	 nsset;		/* with our namespace */
};

/* --- parameters --- */

static const char *
add_pattern(struct netrules *r, enum netrules_list l, const char *text,
    size_t len)
{
	char		 pattern[NETHOST_MAX];
	const char	*why;

	if ((why = netpattern_make(text, len, pattern)) != NULL)
		return why;
	if (l == NETRULES_DENY && netpattern_is_all(pattern))
		return "a deny rule cannot be for every domain";
	if (netrules_add(r, l, pattern) == -1)
		return errno == E2BIG ? "too many domain patterns" :
		    "out of memory";
	return NULL;
}

static const char *
read_domains(struct netrules *r, const struct proxy_settings_params *p)
{
	const struct param_pair	*d;
	const char		*why = NULL;
	size_t			 i;

	for (i = 0; i < p->domains.n && why == NULL; i++) {
		d = &p->domains.v[i];
		if (param_is(&d->value, "allow"))
			why = add_pattern(r, NETRULES_ALLOW, d->name.s,
			    d->name.len);
		else if (param_is(&d->value, "deny"))
			why = add_pattern(r, NETRULES_DENY, d->name.s,
			    d->name.len);
		else if (!param_is(&d->value, "none"))
			why = "a domain is neither allow, deny nor none";
	}
	for (i = 0; i < p->review.n && why == NULL; i++)
		why = add_pattern(r, NETRULES_REVIEW, p->review.v[i].s,
		    p->review.v[i].len);
	return why;
}

/* They have no effect on Linux. */
static const char *
check_unix_sockets(const struct param_pairs *list)
{
	size_t	 i;

	for (i = 0; i < list->n; i++) {
		if (list->v[i].name.s[0] != '/' || strlen(list->v[i].name.s) !=
		    list->v[i].name.len)
			return "a path in unixSockets is not absolute";
		if (!param_is(&list->v[i].value, "allow") &&
		    !param_is(&list->v[i].value, "deny"))
			return "a socket is neither allow nor deny";
	}
	return NULL;
}

static const char *
net_read_settings(struct net *n, const struct network_proxy_params *p)
{
	const struct proxy_settings_params	*s = &p->proxy;
	struct netrules				*r = &n->wish.rules;
	const char				*why;

	if (!s->enabled)
		return "networkProxy.proxy is not enabled";
	if (s->all_unix)
		return "dangerouslyAllowAllUnixSockets is not implemented";
	if (s->masking || (s->providers != 0 && json_more(&n->rpc->json,
	    s->providers, json_first(s->providers))))
		return "credential masking is not implemented";
	if (!param_is(&s->mode, "full") && !param_is(&s->mode, "limited"))
		return "networkProxy.proxy.mode is neither full nor limited";
	if (p->timeout_ms.given && p->timeout_ms.n == 0)
		return "policyDecisionTimeoutMs is 0";
	if ((why = check_unix_sockets(&s->unix_sockets)) != NULL ||
	    (why = read_domains(r, s)) != NULL)
		return why;
	r->allows_local = s->local;
	r->is_limited = param_is(&s->mode, "limited");
	r->asks = p->timeout_ms.given;
	n->timeout_ms = p->timeout_ms.n < TIMEOUT_MAX ? p->timeout_ms.n :
	    TIMEOUT_MAX;
	n->has_socks = s->socks;
	n->wish.uses_upstream = s->upstream;
	return NULL;
}

static const char *
check_managed(struct rpc *rpc, const struct managed_network_params *p)
{
	uint64_t	 port;
	uint32_t	 i;

	if (p->all_unix)
		return "dangerouslyAllowAllUnixSockets is not implemented";
	for (i = p->ports == 0 ? 0 : json_first(p->ports); p->ports != 0 &&
	    json_more(&rpc->json, p->ports, i);
	    i = json_after_elem(&rpc->json, i))
		if (json_tok(&rpc->json, i)->type != JSON_NUMBER ||
		    json_u64(&rpc->json, i, &port) == -1 ||
		    port > UINT16_MAX)
			return "managedNetwork.loopbackPorts has no port";
	return NULL;
}

/* The administrator's rules, which bound those of the client. */
static const char *
add_settings(struct netrules *r, const Ipc__Settings *set, bool is_default)
{
	const char	*why = NULL, *text;
	size_t		 i;

	r->is_bound = set->n_allow_domain > 0 || set->network_managed;
	for (i = 0; i < set->n_allow_domain && why == NULL; i++) {
		text = set->allow_domain[i];
		why = add_pattern(r, NETRULES_BOUND, text, strlen(text));
		if (why == NULL && is_default)
			why = add_pattern(r, NETRULES_ALLOW, text,
			    strlen(text));
	}
	for (i = 0; i < set->n_deny_domain && why == NULL; i++) {
		text = set->deny_domain[i];
		why = add_pattern(r, NETRULES_FORBID, text, strlen(text));
	}
	return why;
}

static void
net_free(struct net *n)
{
	assert(!n->is_added && !n->is_sunk);
	netrules_fini(&n->wish.rules);
	free(n->id);
	free(n);
}

const char *
net_make(struct rpc *rpc, const struct process_start_params *p,
    bool sandboxed, struct net **out)
{
	const Ipc__Settings	*set = &rpc->env->set;
	struct net		*n;
	const char		*why;
	bool			 is_default;

	*out = NULL;
	if (p->managed.given && (why = check_managed(rpc, &p->managed)) !=
	    NULL)
		return why;
	is_default = !p->proxy.given && set->network_managed;
	if (!p->proxy.given && !(p->is_enforced && sandboxed) && !is_default)
		return NULL;
	if ((n = calloc(1, sizeof(*n))) == NULL)
		return "out of memory";
	n->rpc = rpc;
	n->is_enforced = (p->is_enforced && sandboxed) || set->network_managed;
	n->is_bridge = !p->proxy.given && !is_default;
	n->has_socks = n->wish.uses_upstream = is_default;
	n->wish.checks_peer = !n->is_enforced;
	why = add_settings(&n->wish.rules, set, is_default);
	if ((n->id = malloc(p->process_id.len + 1)) == NULL) {
		why = "out of memory";
	} else {
		memcpy(n->id, p->process_id.s, p->process_id.len);
		n->id_len = p->process_id.len;
		if (why == NULL && p->proxy.given)
			why = net_read_settings(n, &p->proxy);
	}
	if (why == NULL)
		*out = n;
	else
		net_free(n);
	return why;
}

bool
net_is_enforced(const struct net *n)
{
	return n != NULL && n->is_enforced;
}

/* --- messages to the client --- */

static const char *const protocols[] = {
	[IPC__PROXY_PROTOCOL__PLAIN_HTTP] = "http",
	[IPC__PROXY_PROTOCOL__HTTPS_CONNECT] = "https_connect",
	[IPC__PROXY_PROTOCOL__SOCKS5_TCP] = "socks5_tcp",
};

static const char *const verdicts[] = {
	[IPC__PROXY_VERDICT__PROXY_ALLOW] = "allow",
	[IPC__PROXY_VERDICT__PROXY_DENY] = "deny",
	[IPC__PROXY_VERDICT__PROXY_ASKED] = "ask",
};

static const char *const sources[] = {
	[IPC__PROXY_SOURCE__BASELINE_POLICY] = "baseline_policy",
	[IPC__PROXY_SOURCE__DECIDER] = "decider",
	[IPC__PROXY_SOURCE__MODE_GUARD] = "mode_guard",
	[IPC__PROXY_SOURCE__PROXY_STATE] = "proxy_state",
};

/* Begin a message with an id (0: none) up to the process in its params. */
static void
net_begin(struct net *n, struct json_out *o, const char *method, int64_t id)
{
	json_out_init(o, &n->rpc->scratch);
	json_out_open(o, '{');
	if (id != 0) {
		json_out_key(o, "id");
		json_out_i64(o, id);
	}
	json_out_pair(o, "method", method);
	json_out_key(o, "params");
	json_out_open(o, '{');
	json_out_key(o, "processId");
	json_out_text(o, n->id, n->id_len);
}

/* May end the connection. */
static void
net_send(struct rpc *rpc, struct json_out *o)
{
	json_out_close(o, '}');
	json_out_close(o, '}');
	if (json_out_fini(o) == -1)
		conn_close(rpc->conn, 1011, "out of memory for a message");
	else
		conn_send(rpc->conn, (char *)buf_data(&rpc->scratch),
		    rpc->scratch.len);
	buf_drain(&rpc->scratch, rpc->scratch.len);
	buf_trim(&rpc->scratch, 65536);
}

/* Whether the client gets a message about a process now. */
static bool
has_client(const struct rpc *rpc)
{
	return rpc->conn != NULL && rpc->phase != PHASE_NEW;
}

static void
net_on_decision(struct proxied *p, const Ipc__ProxyDecision *d)
{
	struct net	*n = (struct net *)p;
	struct rpc	*rpc = n->rpc;
	struct json_out	 o;
	char		 time[UTC_MAX];

	if (d->verdict != IPC__PROXY_VERDICT__PROXY_ALLOW)
		netrefused_add(&rpc->netjobs->refused, d->host,
		    (uint16_t)d->port, d->reason);
	/* Lost while nobody listens, as in the reference. */
	if (!has_client(rpc) || conn_behind(rpc->conn) > LIMIT_NET_QUEUE)
		return;
	net_begin(n, &o, note_POLICY_DECISION, 0);
	utc_now(time);
	json_out_pair(&o, "timestamp", time);
	json_out_pair(&o, "scope", d->is_general ? "non_domain" : "domain");
	json_out_pair(&o, "decision", verdicts[d->verdict]);
	json_out_pair(&o, "source", sources[d->source]);
	json_out_pair(&o, "reason", d->reason);
	json_out_pair(&o, "protocol", protocols[d->protocol]);
	json_out_pair(&o, "host", d->host);
	json_out_pair_u64(&o, "port", d->port);
	if (d->method[0] != '\0')
		json_out_pair(&o, "method", d->method);
	json_out_pair(&o, "client", d->client);
	json_out_pair_bool(&o, "policyOverride", d->overrides);
	net_send(rpc, &o);
}

/* --- questions --- */

static void
question_end(struct question *q, Ipc__ProxyVerdict verdict,
    const char *reason)
{
	struct netjobs	*jobs = q->net->rpc->netjobs;

	assert(jobs->n > 0);
	proxied_answer(&q->net->proxied, q->proxy_id, verdict, reason);
	TAILQ_REMOVE(&jobs->questions, q, entry);
	jobs->n--;
	timer_stop(&q->timer);
	free(q);
}

static void
question_refuse(struct question *q)
{
	question_end(q, IPC__PROXY_VERDICT__PROXY_DENY,
	    net_reason_word(NET_UNLISTED));
}

static void
question_on_timeout(void *arg)
{
	question_refuse(arg);
}

static void
net_on_ask(struct proxied *p, const Ipc__ProxyAsk *ask)
{
	struct net	*n = (struct net *)p;
	struct netjobs	*jobs = n->rpc->netjobs;
	struct question	*q;
	struct json_out	 o;

	if (!has_client(n->rpc) || jobs->n >= LIMIT_NET_QUESTIONS ||
	    p->is_dropped || !n->wish.rules.asks ||
	    (q = calloc(1, sizeof(*q))) == NULL) {
		proxied_answer(p, ask->id, IPC__PROXY_VERDICT__PROXY_DENY,
		    net_reason_word(NET_UNLISTED));
		return;
	}
	q->net = n;
	q->proxy_id = ask->id;
	q->id = ++jobs->last_id;
	timer_init(&q->timer, n->rpc->env->base, question_on_timeout, q);
	timer_set(&q->timer, n->timeout_ms + LIMIT_NET_MARGIN);
	TAILQ_INSERT_TAIL(&jobs->questions, q, entry);
	jobs->n++;
	net_begin(n, &o, "network/policyRequest", q->id);
	json_out_key(&o, "request");
	json_out_open(&o, '{');
	json_out_pair(&o, "protocol", protocols[ask->protocol]);
	json_out_pair(&o, "host", ask->host);
	json_out_pair_u64(&o, "port", ask->port);
	json_out_close(&o, '}');
	net_send(n->rpc, &o);
}

/* Read {"decision": {"type": T, "reason": R}}.  0, or -1: not understood. */
static int
read_answer(const struct json *j, uint32_t result,
    Ipc__ProxyVerdict *verdict_out, char reason[REASON_MAX])
{
	uint32_t	 d, tok;
	size_t		 len;

	if (result == 0 || (d = json_find(j, result, "decision")) == 0 ||
	    (tok = json_find(j, d, "type")) == 0)
		return -1;
	reason[0] = '\0';
	if (json_is_text(j, tok, "allow")) {
		*verdict_out = IPC__PROXY_VERDICT__PROXY_ALLOW;
		return 0;
	}
	if (json_is_text(j, tok, "deny"))
		*verdict_out = IPC__PROXY_VERDICT__PROXY_DENY;
	else if (json_is_text(j, tok, "ask"))
		*verdict_out = IPC__PROXY_VERDICT__PROXY_ASKED;
	else
		return -1;
	if ((tok = json_find(j, d, "reason")) == 0 ||
	    json_tok(j, tok)->type != JSON_STRING)
		return -1;
	len = json_tok(j, tok)->len;
	if (len >= REASON_MAX)
		len = REASON_MAX - 1;
	memcpy(reason, json_text(j, tok), len);
	reason[len] = '\0';
	if (reason[0] == '\0')
		strcpy(reason, net_reason_word(NET_POLICY));
	return 0;
}

/* The client has answered.  False: it never was asked with this id. */
static bool
netjobs_answer(struct rpc *rpc, int64_t id, uint32_t result)
{
	struct netjobs		*jobs = rpc->netjobs;
	struct question		*q;
	Ipc__ProxyVerdict	 verdict;
	char			 reason[REASON_MAX];

	if (jobs == NULL || id < 1 || id > jobs->last_id)
		return false;
	TAILQ_FOREACH(q, &jobs->questions, entry)
		if (q->id == id)
			break;
	/* Too late, or a second time. */
	if (q == NULL)
		return true;
	if (read_answer(&rpc->json, result, &verdict, reason) == -1)
		question_refuse(q);
	else
		question_end(q, verdict, reason);
	return true;
}

void
netjobs_on_conn(struct rpc *rpc, bool is_new)
{
	struct question	*q;

	if (rpc->netjobs == NULL)
		return;
	if (is_new)
		rpc->netjobs->last_id = 0;
	while ((q = TAILQ_FIRST(&rpc->netjobs->questions)) != NULL)
		question_refuse(q);
}

/* --- processes --- */

/* Refuse the questions of a network. */
static void
refuse_questions(struct net *n)
{
	struct question	*q, *next;

	for (q = TAILQ_FIRST(&n->rpc->netjobs->questions); q != NULL;
	    q = next) {
		next = TAILQ_NEXT(q, entry);
		if (q->net == n)
			question_refuse(q);
	}
}

static void
net_close(struct net *n)
{
	if (!n->is_added || n->proxied.is_dropped)
		return;
	refuse_questions(n);
	proxied_drop(&n->proxied);
}

static void
net_on_gone(struct proxied *p, bool is_lost)
{
	struct net	*n = (struct net *)p;

	assert(n->is_added);
	(void)is_lost;
	n->is_added = false;
	/* Nobody is there to hear it; this only forgets them. */
	refuse_questions(n);
	if (!n->is_sunk)
		net_free(n);
}

static const struct proxied_events	 proxied_events = {
	net_on_ask, net_on_decision, net_on_gone
};

static struct net *
net_of(struct sink *k)
{
	return (struct net *)(void *)((char *)k - offsetof(struct net, sink));
}

/* The process is closed: so is its network. */
static void
net_on_close(struct sink *k)
{
	net_close(net_of(k));
}

static void
net_on_forgotten(struct sink *k)
{
	struct net	*n = net_of(k);

	assert(n->is_sunk);
	n->is_sunk = false;
	net_close(n);
	if (!n->is_added)
		net_free(n);
}

static const struct sink_ops	 net_sink_ops = {
	.on_close = net_on_close,
	.on_gone = net_on_forgotten,
};

void
net_attach(struct net *n, struct proc *p)
{
	assert(!n->is_sunk);
	if (!n->is_added) {
		net_free(n);
		return;
	}
	n->is_sunk = true;
	sink_add(&p->sinks, &n->sink, &net_sink_ops);
}

void
net_cancel(struct net *n)
{
	if (n == NULL)
		return;
	if (n->is_added)
		net_close(n);		/* freed by net_on_gone() */
	else
		net_free(n);
}

/* --- before the start --- */

/* Set the listeners for ns and the environment.  Their number, or -1. */
static int
describe(struct net *n, const struct netns *ns, char ***envp,
    const uint16_t *bridged, struct proxy_listener *out)
{
	struct proxy_ports	 ports;
	uint16_t		 inner[NETNS_LISTENERS];
	size_t			 i;

	assert(ns->n == (n->has_socks ? 2U : 1U) || n->is_bridge);
	memset(&ports, 0, sizeof(ports));
	for (i = 0; i < ns->n; i++) {
		out[i].fd = ns->listener[i].fd;
		inner[i] = ns->listener[i].port;
		out[i].kind = n->is_bridge ? IPC__PROXY_KIND__PROXY_BRIDGE :
		    i == 0 ? IPC__PROXY_KIND__PROXY_HTTP :
		    IPC__PROXY_KIND__PROXY_SOCKS;
		out[i].port = n->is_bridge ? bridged[i] : 0;
	}
	if (n->is_bridge)
		return proxy_env_change(*envp, bridged, inner, ns->n);
	ports.http = inner[0];
	ports.socks = n->has_socks ? inner[1] : 0;
	ports.allows_local = n->wish.rules.allows_local;
	return proxy_env_set(envp, &ports);
}

static void
netjobs_tell_master(void *arg, const struct netrefused_row *row,
    uint64_t count)
{
	struct rpc	*rpc = arg;
	Ipc__NetRefused	 out = IPC__NET_REFUSED__INIT;

	out.host = (char *)(uintptr_t)row->host;
	out.port = row->port;
	out.why = (char *)(uintptr_t)row->why;
	out.count = count;
	link_net_refused(rpc->link, &out);
}

const struct netrefused_row *
netjobs_refused(const struct rpc *rpc, unsigned *n_out)
{
	*n_out = rpc->netjobs != NULL ? rpc->netjobs->refused.n : 0;
	return rpc->netjobs != NULL ? rpc->netjobs->refused.row : NULL;
}

void
netjobs_flush(struct rpc *rpc)
{
	if (rpc->netjobs != NULL)
		netrefused_flush(&rpc->netjobs->refused);
}

static bool
netjobs_is_ending(const void *arg)
{
	return session_is_closing(arg);
}

static struct proxy_link *
link_of(struct rpc *rpc)
{
	struct netjobs	*jobs = rpc->netjobs;

	if (jobs != NULL)
		return jobs->link;
	if ((jobs = calloc(1, sizeof(*jobs))) == NULL)
		return NULL;
	if ((jobs->link = proxy_link_new(rpc->env->base, rpc->proxy_exe,
	    rpc->env->number, netjobs_is_ending, rpc->session)) == NULL) {
		free(jobs);
		return NULL;
	}
	jobs->rpc = rpc;
	TAILQ_INIT(&jobs->questions);
	netrefused_init(&jobs->refused, rpc->env->base, netjobs_tell_master,
	    rpc);
	rpc->netjobs = jobs;
	rpc->on_answer = netjobs_answer;
	return jobs->link;
}

int
net_open(struct net *n, char ***envp, struct spawn *sp,
    struct net_opened **out)
{
	struct proxy_listener	 listeners[NETNS_LISTENERS];
	uint16_t		 bridged[NETNS_LISTENERS];
	struct proxy_link	*link;
	size_t			 want = n->has_socks ? 2 : 1;
	int			 user = -1;

	assert(!n->is_added && !n->is_sunk);
	*out = NULL;
	/* Another proxy would not know the administrator's rules. */
	if (n->is_bridge && (n->wish.rules.is_bound || (want =
	    proxy_env_find(*envp, bridged, NETNS_LISTENERS)) == 0)) {
		sp->refused = true;
		return 0;
	}
	if (n->is_enforced) {
		/* Landlock alone cannot enforce it. */
		errno = EOPNOTSUPP;
		if (sp->nsset == NULL ||
		    (user = sp->nsset->fds[NSSET_USER]) == -1)
			return -1;
	}
	if ((link = link_of(n->rpc)) == NULL ||
	    (*out = calloc(1, sizeof(**out))) == NULL)
		return -1;
	netns_init(&(*out)->netns);
	if (netns_make(&(*out)->netns, user, want) == -1 ||
	    describe(n, &(*out)->netns, envp, bridged, listeners) == -1 ||
	    proxy_link_add(link, &n->proxied, &proxied_events, &n->wish,
	    listeners, want) == -1)
		return -1;
	n->is_added = true;
	sp->envp = *envp;
	if (n->is_enforced) {
		(*out)->nsset = *sp->nsset;
		(*out)->nsset.fds[NSSET_NET] = (*out)->netns.ns;
		(*out)->nsset.net_off = false;
		(*out)->nsset.is_managed = true;
		sp->nsset = &(*out)->nsset;
	}
	return 0;
}

void
net_opened_fini(struct net_opened **op)
{
	if (*op != NULL)
		netns_fini(&(*op)->netns);
	free(*op);
	*op = NULL;
}

/* --- the helper --- */

bool
netjobs_can(const struct rpc *rpc)
{
	return rpc->proxy_exe != -1;
}

bool
netjobs_has(const struct rpc *rpc, pid_t pid)
{
	return rpc->netjobs != NULL &&
	    proxy_link_helper(rpc->netjobs->link)->pid == pid;
}

void
netjobs_reaped(struct rpc *rpc, pid_t pid, int status)
{
	if (rpc->netjobs != NULL)
		helper_reaped(proxy_link_helper(rpc->netjobs->link), pid,
		    status, netjobs_is_ending(rpc->session));
}

void
netjobs_free(struct rpc *rpc)
{
	struct netjobs	*jobs = rpc->netjobs;

	if (jobs == NULL)
		return;
	proxy_link_free(&jobs->link);
	netrefused_fini(&jobs->refused);
	free(jobs);
	rpc->netjobs = NULL;
}
