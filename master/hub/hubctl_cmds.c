/*
 * The requests of a control socket:
 *
 *	status			{"ok":true,"name","version","pid","started",
 *				"fleet_url","hub_url","draining","executors",
 *				"harnesses","streams","connections","tokens",
 *				"tokens_file","engine_up"}
 *	list [label] [after]	rows of environments of all hubs in their order,
 *				1000 at most; "next" in the end: ask again,
 *				after it; "silent": hubs that did not answer
 *	show environment	one row of an environment, and rows of its
 *				harnesses: {"row":{"harness":...}}
 *	hubs			rows {"name","hub_url","executors","draining",
 *				"self"}; "silent" as above
 *	ping environment	{"ok":true,"ms":N}; an error after 2 s
 *	drain [environment] [hub]
 *				the hub, this one if none is named, refuses
 *				executors from now on, and closes its own over
 *				DrainTime, those in use last; or it closes this
 *				one
 *	undrain [hub]
 *	evict environment	closes it, and its registration is not taken
 *				again: it has to show its token
 *	reload			reads the configuration, the tokens and the
 *				certificate again: all of it or nothing
 *
 * What is about an environment is done by the hub that has it; it is told who
 * asked, if that was an operator elsewhere: "by".
 *
 * A row of an environment: {"environment","labels","subject","address",
 * "registration","since","harnesses","streams","bytes_in","bytes_out"}, times
 * in Unix seconds, bytes from and to the executor.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/log.h"
#include "config.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubctl.h"
#include "master/hub/hubctl_priv.h"

#define PING_TURN	5		/* ms between two looks for a pong */

#define NO_ANSWER	"its hub does not answer, or the engine"

typedef void	 hubctl_fn(struct hubctl_client *c, const struct json *j);

static void	 hubclient_on_page(void *arg,
		    const struct hubgather_page *page);

/* --- requests to other hubs --- */

static bool
hubclient_asks_others(const struct hubctl_client *c)
{
	return !hubclient_is_guest(c) && c->ctl->hub->engine->is_shared;
}

/* Who asks for several wants to know of which one it is said. */
static void
hubclient_fail_environment(struct hubctl_client *c)
{
	char	 why[64 + sizeof(c->environment)];

	snprintf(why, sizeof(why), "%s: no such environment is attached",
	    c->environment);
	hubclient_fail(c, why);
}

/* Lines of the hub that answers, as they are; or there is none. */
void
hubclient_on_answer(void *arg, struct span text, unsigned silent)
{
	struct hubctl_client	*c = arg;

	assert(c->waiting == FOR_HUBS);
	if (text.at != NULL) {
		c->has_heard = true;
		if (buf_put(&c->answer, text.at, text.len) == -1)
			log_warn("answer on the control socket");
		hubclient_flush(c);
		return;
	}
	c->waiting = FOR_NOTHING;
	if (!c->has_heard && silent == 0 && c->environment[0] != '\0')
		hubclient_fail_environment(c);
	else if (!c->has_heard)
		hubclient_fail(c, silent > 0 ? NO_ANSWER :
		    "there is no such hub");
	hubclient_process(c);
}

/* Let the hub that has the environment, one of a name, or all do it. */
static void
hubclient_ask(struct hubctl_client *c, const char *environment,
    const char *hub)
{
	struct engine	*e = c->ctl->hub->engine;
	struct json_out	 o;
	struct buf	 b;

	assert(c->waiting == FOR_NOTHING && !hubclient_is_guest(c));
	c->waiting = FOR_HUBS;
	c->has_heard = false;
	buf_init(&b, 1024);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair(&o, "cmd", c->cmd);
	if (environment != NULL)
		json_out_pair(&o, "environment", environment);
	if (c->by[0] != '\0')
		json_out_pair(&o, "by", c->by);
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1)
		c->asked.fn(c, (struct span){ NULL, 0 }, 1);
	else
		e->ops->request(e, environment, hub, (struct span){
		    (const char *)buf_data(&b), b.len }, &c->asked);
	buf_fini(&b);
}

/* The rows of all others; their last lines are not ours. */
static void
hubclient_on_hubs(void *arg, struct span text, unsigned silent)
{
	struct hubctl_client	*c = arg;
	struct span		 line;
	struct json_out		 o;

	assert(c->waiting == FOR_HUBS);
	while (text.at != NULL && span_cut(&text, '\n', &line))
		if (span_begins(line, "{\"row\":") &&
		    (buf_put(&c->answer, line.at, line.len) == -1 ||
		    buf_put(&c->answer, "\n", 1) == -1))
			log_warn("answer on the control socket");
	if (text.at != NULL)
		return;
	hubclient_begin(c, &o, true);
	if (silent > 0)
		json_out_pair_u64(&o, "silent", silent);
	hubclient_end(c, &o, true);
	c->waiting = FOR_NOTHING;
	c->asked.fn = hubclient_on_answer;
	hubclient_process(c);
}

/* One that may not be operated looks like one that is not there. */
static bool
hubclient_may(struct hubctl_client *c, const char *labels)
{
	if (c->far == NULL || c->far->ops->may(c->far, c->environment, labels))
		return true;
	c->far->ops->refused(c->far, c->cmd, c->environment);
	return false;
}

/* Another hub has it, or none; who is far is judged before it is asked. */
void
hubclient_on_place(void *arg, enum engine_answer answer,
    const struct engine_place *p)
{
	struct hubctl_client	*c = arg;

	assert(c->waiting == FOR_HUBS && c->far != NULL);
	c->waiting = FOR_NOTHING;
	if (p != NULL && c->far->ops->renew(c->far) &&
	    hubclient_may(c, p->labels)) {
		hubclient_ask(c, c->environment, NULL);
		return;
	}
	if (answer == ENGINE_DOWN)
		hubclient_fail(c, NO_ANSWER);
	else
		hubclient_fail_environment(c);
	hubclient_process(c);
}

/* The executor that a request is about, or NULL: it is answered, or will be. */
static struct executor *
hubclient_executor(struct hubctl_client *c, const struct json *j)
{
	struct engine	*e = c->ctl->hub->engine;
	struct executor	*x;

	json_copy_text(j, json_find(j, 0, "environment"), c->environment,
	    sizeof(c->environment));
	x = switchboard_find(&c->ctl->hub->board, c->environment);
	if (x != NULL && hubclient_may(c, x->labels))
		return x;
	if (x != NULL || !hubclient_asks_others(c) ||
	    !environment_is_valid((struct span){ c->environment,
	    strlen(c->environment) })) {
		hubclient_fail_environment(c);
	} else if (c->far == NULL) {
		hubclient_ask(c, c->environment, NULL);
	} else {
		c->waiting = FOR_HUBS;
		e->ops->where(e, c->environment, NULL, &c->find);
	}
	return NULL;
}

static void
hubctl_status(struct hubctl_client *c, const struct json *j)
{
	const struct hub	*h = c->ctl->hub;
	const struct hubconf	*conf = &h->site->conf;
	struct json_out		 o;

	(void)j;
	hubclient_begin(c, &o, true);
	json_out_pair(&o, "name", h->name);
	json_out_pair(&o, "version", PACKAGE_VERSION);
	json_out_pair_u64(&o, "pid", (uint64_t)getpid());
	json_out_pair_u64(&o, "started", h->started);
	json_out_pair(&o, "fleet_url", conf->fleet_url);
	json_out_pair(&o, "hub_url", hub_url(h));
	json_out_pair_bool(&o, "draining", h->drain.is_on);
	json_out_pair_u64(&o, "executors", h->board.executors.count);
	json_out_pair_u64(&o, "harnesses", h->board.nharness);
	json_out_pair_u64(&o, "streams", h->board.streams.count);
	json_out_pair_u64(&o, "connections", h->conns.n);
	json_out_pair_u64(&o, "tokens", h->site->tokens.n);
	json_out_pair(&o, "tokens_file", conf->tokens_file);
	json_out_pair_bool(&o, "engine_up", h->engine->ops->is_up(h->engine));
	hubclient_end(c, &o, true);
}

static void
hubclient_put_executor(struct hubctl_client *c, const struct executor *x)
{
	struct json_out	 o;

	hubclient_begin(c, &o, false);
	hubgather_put(&o, x);
	hubclient_end(c, &o, false);
}

static int
hubclient_gather(struct hubctl_client *c)
{
	c->waiting = FOR_HUBS;
	return hubgather(c->ctl->hub, &c->want, &c->gather,
	    hubclient_on_page, c);
}

/* Put the rows that it may see.  Returns the name of the last one. */
static struct span
hubclient_put_page(struct hubctl_client *c, const struct hubgather_page *page)
{
	struct span	 last = { NULL, 0 };
	size_t		 i;
	int		 r;

	if (c->far != NULL && !c->far->ops->renew(c->far))
		return last;
	for (i = 0; i < page->n; i++) {
		if (c->far != NULL)
			r = c->far->ops->put(c->far, page->row[i], &c->answer);
		else
			r = buf_put(&c->answer, page->row[i].at,
			    page->row[i].len) == -1 ? -1 : 1;
		if (r == 1)
			last = hubgather_name(page->row[i]);
		if (r == -1 || (r == 1 && buf_put(&c->answer, "\n", 1) == -1))
			log_warn("answer on the control socket");
	}
	return last;
}

static void
hubclient_on_page(void *arg, const struct hubgather_page *page)
{
	struct hubctl_client	*c = arg;
	struct json_out		 o;
	struct span		 last = hubclient_put_page(c, page), name;

	assert(c->waiting == FOR_HUBS && c->gather == NULL);
	/* Nobody is told a name that it may not see, so go on behind it. */
	if (page->has_more && page->n > 0 && last.at == NULL &&
	    (c->far == NULL || c->far->ops->renew(c->far))) {
		name = hubgather_name(page->row[page->n - 1]);
		snprintf(c->want.after, sizeof(c->want.after), "%.*s",
		    (int)name.len, name.at);
		if (hubclient_gather(c) == 0)
			return;
		log_warn("answer on the control socket");
	}
	hubclient_begin(c, &o, true);
	if (page->has_more && last.at != NULL) {
		json_out_key(&o, "next");
		json_out_text(&o, last.at, last.len);
	}
	if (page->silent > 0)
		json_out_pair_u64(&o, "silent", page->silent);
	hubclient_end(c, &o, true);
	c->waiting = FOR_NOTHING;
	hubclient_process(c);
}

static void
hubctl_list(struct hubctl_client *c, const struct json *j)
{
	json_copy_text(j, json_find(j, 0, "label"), c->want.label,
	    sizeof(c->want.label));
	json_copy_text(j, json_find(j, 0, "after"), c->want.after,
	    sizeof(c->want.after));
	c->want.is_local = !hubclient_asks_others(c);
	if (hubclient_gather(c) == -1) {
		c->waiting = FOR_NOTHING;
		hubclient_fail(c, "out of memory");
	}
}

static void
hubctl_show(struct hubctl_client *c, const struct json *j)
{
	struct executor	*x;
	struct harness	*h;
	struct json_out	 o;

	if ((x = hubclient_executor(c, j)) == NULL)
		return;
	hubclient_put_executor(c, x);
	TAILQ_FOREACH(h, &x->harnesses, entry) {
		hubclient_begin(c, &o, false);
		json_out_pair(&o, "harness", h->subject->name);
		json_out_pair(&o, "address", h->address);
		json_out_pair_u64(&o, "since", h->since);
		json_out_pair_u64(&o, "streams", h->nstream);
		json_out_pair_u64(&o, "bytes_in", h->bytes_in);
		json_out_pair_u64(&o, "bytes_out", h->bytes_out);
		hubclient_end(c, &o, false);
	}
	hubclient_ok(c);
}

static void
hubctl_hubs(struct hubctl_client *c, const struct json *j)
{
	const struct hub	*h = c->ctl->hub;
	struct json_out		 o;

	(void)j;
	hubclient_begin(c, &o, false);
	json_out_pair(&o, "name", h->name);
	json_out_pair(&o, "hub_url", hub_url(h));
	json_out_pair_u64(&o, "executors", h->board.executors.count);
	json_out_pair_bool(&o, "draining", h->drain.is_on);
	json_out_pair_bool(&o, "self", !hubclient_is_guest(c));
	hubclient_end(c, &o, false);
	if (!hubclient_asks_others(c)) {
		hubclient_ok(c);
		return;
	}
	c->asked.fn = hubclient_on_hubs;
	hubclient_ask(c, NULL, NULL);
}

void
hubclient_on_timer(void *arg)
{
	struct hubctl_client	*c = arg;
	struct executor		*x = switchboard_find(&c->ctl->hub->board,
				    c->environment);
	struct json_out		 o;
	uint64_t		 took = (clock_us() - c->since) / 1000;

	assert(c->waiting == FOR_TURN || c->waiting == FOR_PONG);
	if (c->waiting == FOR_TURN) {
		c->waiting = FOR_NOTHING;
		hubclient_process(c);
		return;
	}
	if (x != NULL && x->number == c->number &&
	    wslink_pongs(&x->link) == c->pongs &&
	    took < LIMIT_HUB_PROBE) {
		timer_set(&c->timer, PING_TURN);
		return;
	}
	c->waiting = FOR_NOTHING;
	if (x != NULL && x->number == c->number && took < LIMIT_HUB_PROBE) {
		hubclient_begin(c, &o, true);
		json_out_pair_u64(&o, "ms", took);
		hubclient_end(c, &o, true);
	} else {
		hubclient_fail(c, x == NULL || x->number != c->number ?
		    "it was closed meanwhile" : "no answer");
	}
	hubclient_process(c);
}

static void
hubctl_ping(struct hubctl_client *c, const struct json *j)
{
	struct executor	*x;

	if ((x = hubclient_executor(c, j)) == NULL)
		return;
	c->waiting = FOR_PONG;
	c->number = x->number;
	c->since = clock_us();
	c->pongs = wslink_pongs(&x->link);
	wslink_ping(&x->link);
	timer_set(&c->timer, PING_TURN);
}

static void
hubclient_told(struct hubctl_client *c, const char *what)
{
	hubaudit(c->ctl->hub, "control", (const struct hubaudit_item[]){
	    { "request", what, 0 },
	    { "environment", c->environment, 0 },
	    { c->by[0] != '\0' ? "subject" : NULL, c->by, 0 },
	    { NULL, NULL, 0 } });
	log_info("control: %s%s%s%s%s", what, c->environment[0] != '\0' ?
	    " " : "", c->environment, c->by[0] != '\0' ? " by " : "", c->by);
}

/* Whether a request is for us; else another hub does it, or it is answered. */
static bool
hubclient_is_ours(struct hubctl_client *c, const struct json *j)
{
	char	 name[HUB_NAME_MAX];

	json_copy_text(j, json_find(j, 0, "hub"), name, sizeof(name));
	if (name[0] == '\0' || strcmp(name, c->ctl->hub->name) == 0)
		return true;
	if (hubclient_asks_others(c))
		hubclient_ask(c, NULL, name);
	else
		hubclient_fail(c, "there is no such hub");
	return false;
}

static void
hubctl_drain(struct hubctl_client *c, const struct json *j)
{
	struct hub	*h = c->ctl->hub;
	struct executor	*x;

	if (json_find(j, 0, "environment") == 0) {
		if (!hubclient_is_ours(c, j))
			return;
		hubdrain_begin(&h->drain, h->site->conf.drain_time);
	} else {
		if ((x = hubclient_executor(c, j)) == NULL)
			return;
		switchboard_detach(x, WSLINK_RESTART, "drained");
	}
	hubclient_told(c, "drain");
	hubclient_ok(c);
}

static void
hubctl_undrain(struct hubctl_client *c, const struct json *j)
{
	if (!hubclient_is_ours(c, j))
		return;
	hubdrain_end(&c->ctl->hub->drain);
	hubclient_told(c, "undrain");
	hubclient_ok(c);
}

void
hubctl_evicted(struct hub *h, const uint8_t *registration)
{
	const uint8_t	*nonce = registration_nonce(registration);
	uint64_t	 now = (uint64_t)time(NULL);

	if (!replay_has(&h->evicted, nonce) && !replay_take(&h->evicted,
	    nonce, now + h->site->conf.ticket_lifetime / 1000, now))
		log_warnx("evict: no memory, it may come back");
}

static void
hubctl_evict(struct hubctl_client *c, const struct json *j)
{
	struct hub	*h = c->ctl->hub;
	struct executor	*x;

	if ((x = hubclient_executor(c, j)) == NULL)
		return;
	hubctl_evicted(h, x->registration);
	h->engine->ops->evict(h->engine, x->registration);
	switchboard_detach(x, WSLINK_POLICY, "evicted");
	hubclient_told(c, "evict");
	hubclient_ok(c);
}

static void
hubctl_reload(struct hubctl_client *c, const struct json *j)
{
	(void)j;
	assert(c->fd != -1);
	c->waiting = FOR_RELOAD;
	hubclient_told(c, "reload");
	c->ctl->events->reload(c->ctl->arg);
}

void
hubctl_reloaded(struct hubctl *ctl, const char *why)
{
	struct hubctl_client	*c, *next;

	for (c = TAILQ_FIRST(&ctl->clients); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		if (c->waiting != FOR_RELOAD)
			continue;
		c->waiting = FOR_NOTHING;
		if (why == NULL)
			hubclient_ok(c);
		else
			hubclient_fail(c, why);
		hubclient_process(c);
	}
}

static const struct hubctl_cmd {
	const char	*name;
	hubctl_fn	*fn;
	enum hubctl_kind kind;	/* HUBCTL_NEVER: on this machine only */
} hubctl_cmds[] = {
	{ "status", hubctl_status, HUBCTL_NEVER },
	{ "list", hubctl_list, HUBCTL_LIST },
	{ "show", hubctl_show, HUBCTL_ENVIRONMENT },
	{ "hubs", hubctl_hubs, HUBCTL_HUB },
	{ "ping", hubctl_ping, HUBCTL_ENVIRONMENT },
	{ "drain", hubctl_drain, HUBCTL_EITHER },
	{ "undrain", hubctl_undrain, HUBCTL_HUB },
	{ "evict", hubctl_evict, HUBCTL_ENVIRONMENT },
	{ "reload", hubctl_reload, HUBCTL_NEVER },
};

/* Whether whoever is not on this machine may ask that; else it is answered. */
static bool
hubclient_may_ask(struct hubctl_client *c, const struct hubctl_cmd *cmd,
    const struct json *j)
{
	enum hubctl_kind	 kind = cmd->kind;
	const char		*why;

	if (kind == HUBCTL_EITHER)
		kind = json_find(j, 0, "environment") != 0 ?
		    HUBCTL_ENVIRONMENT : HUBCTL_HUB;
	if (c->fd != -1)
		return true;
	if (c->far != NULL)
		why = c->far->ops->why_not(c->far, kind);
	else
		why = kind == HUBCTL_NEVER ? "unknown request" : NULL;
	if (why == NULL)
		return true;
	if (c->far != NULL)
		c->far->ops->refused(c->far, c->cmd, "");
	hubclient_fail(c, why);
	return false;
}

void
hubclient_request(struct hubctl_client *c, const struct json *j)
{
	size_t	 i;

	assert(c->waiting == FOR_NOTHING);
	json_copy_text(j, json_find(j, 0, "cmd"), c->cmd, sizeof(c->cmd));
	c->by[0] = c->environment[0] = '\0';
	if (hubclient_is_guest(c))
		json_copy_text(j, json_find(j, 0, "by"), c->by, sizeof(c->by));
	if (c->far != NULL)
		snprintf(c->by, sizeof(c->by), "%s", c->far->name);
	for (i = 0; i < sizeof(hubctl_cmds) / sizeof(hubctl_cmds[0]); i++)
		if (strcmp(c->cmd, hubctl_cmds[i].name) == 0) {
			if (hubclient_may_ask(c, &hubctl_cmds[i], j))
				hubctl_cmds[i].fn(c, j);
			return;
		}
	hubclient_fail(c, "unknown request");
}
