#include "master/accept/child_assign.h"

#include <assert.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "common/process/envlist.h"
#include "master/accept/policy.h"
#include "master/auth/tokens.h"
#include "master/logs/audit.h"
#include "master/workers/cgroups.h"
#include "master/workers/route.h"
#include "master/world.h"

/*
 * Pass our environment, for sessions of our own user only.  A worker that does
 * not get it exits with a line in the log.
 */
static void
give_environment(struct assigner *a, struct child *c, const Ipc__Assign *given)
{
	Ipc__Environment	 out = IPC__ENVIRONMENT__INIT;

	if (given->uid != geteuid() || given->refuse != 0 ||
	    given->figures != NULL || given->asking == IPC__ASKING__ALWAYS)
		return;
	if (a->environment == -1 && (a->environment = envlist_to_file()) == -1)
		log_warn("cannot pass the environment to a worker");
	else
		chan_send(c->chan, IPC_environment, &out, a->environment);
}

static int
assign(struct assigner *a, struct child *c, int fd, Ipc__Assign *out)
{
	const struct world	*w = c->all->world;
	const struct conf	*conf;
	struct conf		 room;
	struct policy_settings	 settings;
	struct cgroups_limits	 limits;
	char			 unready[READY_WHY_MAX];

	assert(c->chan != NULL && c->client == CHILD_SPARE && c->route == NULL);
	assert(c->peer.known || c->peer.must_show || out->refuse != 0 ||
	    out->figures != NULL);
	assert(fd != -1);
	if ((conf = policy_get(w, &c->peer, &room)) == NULL)
		return -1;
	/* A client that must present a token moves to another worker. */
	if (out->refuse == 0 && out->figures == NULL && !c->peer.must_show &&
	    (c->route = route_new(a->routes, c)) == NULL) {
		log_warn("cannot create a session");
		policy_put(conf, &room);
		return -1;
	}
	if (c->route != NULL) {
		out->number = c->route->number;
		out->session_id = c->route->id;
	}
	out->peer = c->peer.text;
	out->uid = c->peer.uid;
	out->has_gid = c->peer.has_gid;
	out->gid = c->peer.gid;
	out->unready = w->events->unready(w->master, unready, sizeof(unready));
	policy_settings(w, conf, &settings);
	cgroups_limit(c->all->cgroups, conf, c->id, &c->cgroups, &limits);
	settings.s.cgroup_limit = limits.list;
	settings.s.n_cgroup_limit = limits.n;
	settings.s.as_max = limits.as_max;
	settings.s.tasks_max = limits.tasks_max;
	out->settings = &settings.s;
	out->operates = true;
	c->detached_ttl = settings.s.detached_ttl_ms;
	c->grace = settings.s.grace_ms;
	c->is_alone = settings.s.orphan_ttl_ms == 0;
	c->max_running = settings.s.max_processes;
	c->max_held = conf->max_held_per_user;
	if (settings.s.transcript != CONF_TRANSCRIPT_NONE)
		child_set_transcripts(c, CHILD_TRANSCRIPTS_WANTED);
	if (out->asking != IPC__ASKING__NEVER)
		child_set_token(c, CHILD_TOKEN_AWAITED);
	c->since = clock_ms();
	c->marks = out->marks = ptree_new_range();
	child_set_client(c, CHILD_ASSIGNED);
	child_set_state(c, CHILD_GREETING);
	/* Before the client can know the session. */
	if (c->route != NULL)
		route_record(c->route);
	give_environment(a, c, out);
	chan_send(c->chan, IPC_assign, out, fd);
	policy_put(conf, &room);
	return 0;
}

int
child_assign(struct assigner *a, struct child *c, int fd, const struct peer *p,
    int refuse, bool full, const Ipc__User *user)
{
	struct world	*w = c->all->world;
	Ipc__Assign	 out = IPC__ASSIGN__INIT;
	Ipc__Figures	 figures = IPC__FIGURES__INIT;
	uint64_t	 gauges[GAUGES];

	c->peer = *p;
	out.user = (Ipc__User *)(uintptr_t)user;
	out.refuse = (uint32_t)refuse;
	if (refuse != 0 && p->why != NULL)
		out.why = (char *)(uintptr_t)p->why;
	if (p->is_metrics) {
		w->events->gauges(w->master, gauges);
		if (gauges[GAUGE_waiting] > 0)
			gauges[GAUGE_waiting]--;	/* not this one */
		figures.stat = w->stats;
		figures.n_stat = STATS;
		figures.gauge = gauges;
		figures.n_gauge = GAUGES;
		out.figures = &figures;
	}
	out.full = full;
	out.draining = w->events->is_draining(w->master);
	out.transport = p->uplink == 0 ? IPC__TRANSPORT__WEBSOCKET :
	    IPC__TRANSPORT__STREAM;
	out.strict = p->is_strict;
	/* must_show although a reload has removed all tokens: none is valid. */
	if (refuse == 0 && p->uplink == 0)
		out.asking = p->must_show ? IPC__ASKING__ALWAYS :
		    tokens_any(w->tokens) ? IPC__ASKING__IF_SHOWN :
		    IPC__ASKING__NEVER;
	return assign(a, c, fd, &out);
}

int
child_assign_greeted(struct assigner *a, struct child *c, int fd,
    const struct peer *p, bool full, const void *message, size_t len,
    const Ipc__User *user)
{
	const struct world	*w = c->all->world;
	Ipc__Assign		 out = IPC__ASSIGN__INIT;

	assert(p->known && !p->must_show);
	c->peer = *p;
	out.user = (Ipc__User *)(uintptr_t)user;
	out.full = full;
	out.draining = w->events->is_draining(w->master);
	out.transport = IPC__TRANSPORT__WEBSOCKET;
	out.greeted = true;
	out.message.data = (uint8_t *)(uintptr_t)message;
	out.message.len = len;
	return assign(a, c, fd, &out);
}

int
child_assign_stdio(struct assigner *a, struct child *c, int in, int out_fd)
{
	Ipc__Assign	 out = IPC__ASSIGN__INIT;
	Ipc__StdioOut	 second = IPC__STDIO_OUT__INIT;

	assert(in != -1 && out_fd != -1);
	c->peer.known = true;
	c->peer.uid = geteuid();
	strcpy(c->peer.text, "stdio");
	strcpy(c->peer.address, "stdio");
	strcpy(c->peer.listener, "stdio");
	peer_is_user(&c->peer);
	out.transport = IPC__TRANSPORT__STDIO;
	chan_send(c->chan, IPC_stdio_out, &second, out_fd);
	return assign(a, c, in, &out);
}

void
child_decide(struct child *c, Ipc__Verdict v, struct route *r)
{
	Ipc__Decided	 out = IPC__DECIDED__INIT;

	assert(r != NULL || (v != IPC__VERDICT__TAKEN &&
	    v != IPC__VERDICT__YOURS));
	child_want(c, NULL, NULL);
	if (c->state != CHILD_HANDING || c->chan == NULL)
		return;
	out.verdict = v;
	if (v == IPC__VERDICT__TAKEN) {
		STAT_INC(c->all->world, resumed);
		child_leaves(c);
	} else {
		child_set_state(c, CHILD_GREETING);
	}
	if (v == IPC__VERDICT__TAKEN || v == IPC__VERDICT__YOURS)
		route_audit(r, (struct audit_what){
		    .event = AUDIT_session_resumed, .peer = c->peer.text,
		    .listener = c->peer.listener });
	if (v == IPC__VERDICT__YOURS) {
		assert(r->owner == NULL && c->route != NULL);
		STAT_INC(c->all->world, resumed);
		route_free(&c->route);	/* its id was never sent */
		route_revive(r, c);
		memcpy(r->peer, c->peer.text, sizeof(r->peer));
		out.session_id = r->id;
		out.number = r->number;
		out.transcripts = r->used.transcripts;
		out.retain_ms = r->retain;
	}
	chan_send(c->chan, IPC_decided, &out, -1);
}
