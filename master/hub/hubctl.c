#include "master/hub/hubctl.h"

#include <sys/socket.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/json/json.h"
#include "common/json/json_out.h"
#include "common/json/utf8.h"
#include "common/limit.h"
#include "common/log.h"
#include "config.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubgather.h"

#define CLIENTS_MAX	32
#define LINE_MAX_	8192		/* bytes of a request */
#define ANSWERS_MAX	(4 * 1024 * 1024)
#define PING_TURN	5		/* ms between two looks for a pong */

#define NO_ENVIRONMENT	"no such environment is attached"

enum waiting { FOR_NOTHING, FOR_PONG, FOR_RELOAD, FOR_HUBS };

struct hubctl_client {
	TAILQ_ENTRY(hubctl_client)	 entry;
	struct hubctl			*ctl;
	int				 fd;
	struct io			 in, out;
	struct buf			 request, answer;
	enum waiting			 waiting;
	struct timer			 timer;		/* FOR_PONG */
	uint64_t			 since, number;	/* of that */
	uint32_t			 pongs;		/* likewise */
	char				 environment[ENVIRONMENT_MAX + 1];
	/* FOR_HUBS, or of another hub, which fd -1 says. */
	struct hubgather		*gather;
	struct engine_request		 asked;
	bool				 has_heard, is_late;
	struct engine_reply		 reply;
	char				 about[ENVIRONMENT_MAX + 1];
};

struct hubctl {
	struct hub			*hub;
	int				 fd;
	struct io			 io;
	TAILQ_HEAD(, hubctl_client)	 clients;
	unsigned			 n;
	const struct hubctl_events	*events;
	void				*arg;
};

typedef void	 hubctl_fn(struct hubctl_client *c, const struct json *j);

static void	 hubclient_on_readable(void *arg);
static void	 hubclient_on_writable(void *arg);
static void	 hubclient_on_timer(void *arg);
static void	 hubclient_process(struct hubctl_client *c);
static void	 hubclient_on_answer(void *arg, struct span text,
		    unsigned silent);

/* --- clients --- */

static void
hubclient_free(struct hubctl_client *c)
{
	struct engine	*e = c->ctl->hub->engine;

	TAILQ_REMOVE(&c->ctl->clients, c, entry);
	c->ctl->n--;
	hubgather_free(&c->gather);
	e->ops->cancel_request(e, &c->asked);
	io_stop(&c->in);
	io_stop(&c->out);
	timer_stop(&c->timer);
	buf_fini(&c->request);
	buf_fini(&c->answer);
	fd_close(&c->fd);
	free(c);
}

/* fd -1: another hub asks. */
static struct hubctl_client *
hubclient_new(struct hubctl *ctl, int fd)
{
	struct hubctl_client	*c;

	if (ctl->n >= CLIENTS_MAX || (c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->ctl = ctl;
	c->fd = fd;
	c->asked.fn = hubclient_on_answer;
	c->asked.arg = c;
	buf_init(&c->request, LINE_MAX_);
	buf_init(&c->answer, ANSWERS_MAX);
	timer_init(&c->timer, ctl->hub->base, hubclient_on_timer, c);
	TAILQ_INSERT_TAIL(&ctl->clients, c, entry);
	ctl->n++;
	return c;
}

static void
hubctl_on_accept(void *arg)
{
	struct hubctl		*ctl = arg;
	struct hubctl_client	*c;
	int			 fd;

	if ((fd = accept4(ctl->fd, NULL, NULL, SOCK_NONBLOCK |
	    SOCK_CLOEXEC)) == -1)
		return;
	if ((c = hubclient_new(ctl, fd)) == NULL) {
		fd_close(&fd);
		return;
	}
	io_init(&c->in, ctl->hub->base, fd, EV_READ | EV_PERSIST,
	    hubclient_on_readable, c);
	io_init(&c->out, ctl->hub->base, fd, EV_WRITE | EV_PERSIST,
	    hubclient_on_writable, c);
	if (io_start(&c->in) == -1)
		hubclient_free(c);
}

void
hubctl_guest(struct hubctl *ctl, const char *environment, struct span text,
    const struct engine_reply *r)
{
	struct hubctl_client	*c;

	/* Whoever asked is told that we did not answer. */
	if (text.len >= LINE_MAX_ || (c = hubclient_new(ctl, -1)) == NULL)
		return;
	c->reply = *r;
	snprintf(c->about, sizeof(c->about), "%s", environment);
	if (buf_put(&c->request, text.at, text.len) == -1 ||
	    buf_put(&c->request, "\n", 1) == -1)
		hubclient_free(c);
	else
		hubclient_process(c);
}

static void
hubclient_on_writable(void *arg)
{
	struct hubctl_client	*c = arg;
	ssize_t			 n;

	if ((n = send(c->fd, buf_data(&c->answer), c->answer.len,
	    MSG_NOSIGNAL)) == -1) {
		if (errno != EAGAIN && errno != EINTR)
			hubclient_free(c);
		return;
	}
	buf_drain(&c->answer, (size_t)n);
	if (c->answer.len == 0)
		io_stop(&c->out);
}

static void
hubclient_on_readable(void *arg)
{
	struct hubctl_client	*c = arg;
	ssize_t			 n;
	size_t			 room = LINE_MAX_ - c->request.len;
	void			*to;

	if (room == 0 || (to = buf_reserve(&c->request, room)) == NULL ||
	    (n = recv(c->fd, to, room, 0)) == 0 ||
	    (n == -1 && errno != EAGAIN && errno != EINTR)) {
		hubclient_free(c);
		return;
	}
	if (n == -1)
		return;
	buf_commit(&c->request, (size_t)n);
	hubclient_process(c);
}

/* --- answers --- */

static void
hubclient_begin(struct hubctl_client *c, struct json_out *o, bool is_end)
{
	json_out_init(o, &c->answer);
	json_out_shown(o);
	json_out_open(o, '{');
	if (is_end) {
		json_out_pair_bool(o, "ok", true);
	} else {
		json_out_key(o, "row");
		json_out_open(o, '{');
	}
}

static void
hubclient_end(struct hubctl_client *c, struct json_out *o, bool is_end)
{
	if (!is_end)
		json_out_close(o, '}');
	json_out_close(o, '}');
	if (json_out_fini(o) == -1 || buf_put(&c->answer, "\n", 1) == -1 ||
	    (c->fd != -1 && io_start(&c->out) == -1))
		log_warn("answer on the control socket");
}

static void
hubclient_ok(struct hubctl_client *c)
{
	struct json_out	 o;

	hubclient_begin(c, &o, true);
	hubclient_end(c, &o, true);
}

static void
hubclient_fail(struct hubctl_client *c, const char *why)
{
	struct json_out	 o;

	json_out_init(&o, &c->answer);
	json_out_shown(&o);
	json_out_open(&o, '{');
	json_out_pair_bool(&o, "ok", false);
	json_out_pair(&o, "error", why);
	hubclient_end(c, &o, true);
}

/* --- requests --- */

/* Copy a member that is a short text; "" if it is absent. */
static void
hubclient_text(const struct json *j, const char *key, char *out, size_t size)
{
	uint32_t	 i = json_find(j, 0, key);

	out[0] = '\0';
	if (i != 0 && json_tok(j, i)->type == JSON_STRING)
		snprintf(out, size, "%.*s", (int)json_tok(j, i)->len,
		    json_text(j, i));
}

/* --- requests to other hubs --- */

static bool
hubclient_asks_others(const struct hubctl_client *c)
{
	return c->fd != -1 && c->ctl->hub->engine->is_shared;
}

/* Lines of the hub that answers, as they are; or there is none. */
static void
hubclient_on_answer(void *arg, struct span text, unsigned silent)
{
	struct hubctl_client	*c = arg;

	if (text.at != NULL) {
		c->has_heard = true;
		if (buf_put(&c->answer, text.at, text.len) == -1 ||
		    io_start(&c->out) == -1)
			log_warn("answer on the control socket");
		return;
	}
	c->waiting = FOR_NOTHING;
	if (!c->has_heard)
		hubclient_fail(c, silent > 0 ? "its hub does not answer, or "
		    "the engine" : c->environment[0] != '\0' ? NO_ENVIRONMENT :
		    "there is no such hub");
	hubclient_process(c);
}

/* Let the hub that has the environment, one of a name, or all do it. */
static void
hubclient_ask(struct hubctl_client *c, const char *environment,
    const char *hub, const struct json *j)
{
	struct engine	*e = c->ctl->hub->engine;
	struct json_out	 o;
	struct buf	 b;
	char		 cmd[16];

	c->waiting = FOR_HUBS;
	c->has_heard = false;
	hubclient_text(j, "cmd", cmd, sizeof(cmd));
	buf_init(&b, 1024);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair(&o, "cmd", cmd);
	if (environment != NULL)
		json_out_pair(&o, "environment", environment);
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

/* The executor that a request is about, or NULL: it is answered, or will be. */
static struct executor *
hubclient_executor(struct hubctl_client *c, const struct json *j)
{
	struct executor	*x;

	hubclient_text(j, "environment", c->environment,
	    sizeof(c->environment));
	if ((x = switchboard_find(&c->ctl->hub->board, c->environment)) !=
	    NULL)
		return x;
	if (hubclient_asks_others(c) && environment_is_valid((struct span){
	    c->environment, strlen(c->environment) }))
		hubclient_ask(c, c->environment, NULL, j);
	else
		hubclient_fail(c, NO_ENVIRONMENT);
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

static void
hubclient_on_page(void *arg, const struct hubgather_page *page)
{
	struct hubctl_client	*c = arg;
	struct json_out		 o;
	struct span		 last;
	size_t			 i;

	for (i = 0; i < page->n; i++)
		if (buf_put(&c->answer, page->row[i].at, page->row[i].len) ==
		    -1 || buf_put(&c->answer, "\n", 1) == -1)
			log_warn("answer on the control socket");
	hubclient_begin(c, &o, true);
	if (page->has_more && page->n > 0) {
		last = hubgather_name(page->row[page->n - 1]);
		json_out_key(&o, "next");
		json_out_text(&o, last.at, last.len);
	}
	if (page->silent > 0)
		json_out_pair_u64(&o, "silent", page->silent);
	hubclient_end(c, &o, true);
	c->waiting = FOR_NOTHING;
	/* The one that was asked goes on by itself. */
	if (c->is_late)
		hubclient_process(c);
}

static void
hubctl_list(struct hubctl_client *c, const struct json *j)
{
	struct hubgather_want	 want;

	hubclient_text(j, "label", want.label, sizeof(want.label));
	hubclient_text(j, "after", want.after, sizeof(want.after));
	want.is_local = !hubclient_asks_others(c);
	c->waiting = FOR_HUBS;
	c->is_late = false;
	if (hubgather(c->ctl->hub, &want, &c->gather, hubclient_on_page, c) ==
	    -1) {
		c->waiting = FOR_NOTHING;
		hubclient_fail(c, "out of memory");
	}
	c->is_late = true;
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

	hubclient_begin(c, &o, false);
	json_out_pair(&o, "name", h->name);
	json_out_pair(&o, "hub_url", hub_url(h));
	json_out_pair_u64(&o, "executors", h->board.executors.count);
	json_out_pair_bool(&o, "draining", h->drain.is_on);
	json_out_pair_bool(&o, "self", c->fd != -1);
	hubclient_end(c, &o, false);
	if (!hubclient_asks_others(c)) {
		hubclient_ok(c);
		return;
	}
	c->asked.fn = hubclient_on_hubs;
	hubclient_ask(c, NULL, NULL, j);
}

static void
hubclient_on_timer(void *arg)
{
	struct hubctl_client	*c = arg;
	struct executor		*x = switchboard_find(&c->ctl->hub->board,
				    c->environment);
	struct json_out		 o;
	uint64_t		 took = (clock_us() - c->since) / 1000;

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
	    { NULL, NULL, 0 } });
	log_info("control: %s %s", what, c->environment);
}

/* Whether a request is for us; else another hub does it, or it is answered. */
static bool
hubclient_is_ours(struct hubctl_client *c, const struct json *j)
{
	char	 name[HUB_NAME_MAX];

	c->environment[0] = '\0';
	hubclient_text(j, "hub", name, sizeof(name));
	if (name[0] == '\0' || strcmp(name, c->ctl->hub->name) == 0)
		return true;
	if (hubclient_asks_others(c))
		hubclient_ask(c, NULL, name, j);
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
	c->environment[0] = '\0';
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

static const struct {
	const char	*name;
	hubctl_fn	*fn;
	bool		 is_for_hubs;	/* another one may ask it */
} hubctl_cmds[] = {
	{ "status", hubctl_status, false },
	{ "list", hubctl_list, true },
	{ "show", hubctl_show, true },
	{ "hubs", hubctl_hubs, true },
	{ "ping", hubctl_ping, true },
	{ "drain", hubctl_drain, true },
	{ "undrain", hubctl_undrain, true },
	{ "evict", hubctl_evict, true },
	{ "reload", hubctl_reload, false },
};

static void
hubclient_request(struct hubctl_client *c, const struct json *j)
{
	uint32_t	 cmd = json_find(j, 0, "cmd");
	size_t		 i;

	for (i = 0; i < sizeof(hubctl_cmds) / sizeof(hubctl_cmds[0]); i++)
		if (cmd != 0 && json_is_text(j, cmd, hubctl_cmds[i].name) &&
		    (c->fd != -1 || hubctl_cmds[i].is_for_hubs)) {
			hubctl_cmds[i].fn(c, j);
			return;
		}
	hubclient_fail(c, "unknown request");
}

static void
hubclient_next(struct hubctl_client *c, char *line, size_t len)
{
	struct json	 j;

	json_init(&j);
	if (utf8_is_valid(line, len) && json_parse(&j, line, len) == 0 &&
	    json_tok(&j, 0)->type == JSON_OBJECT)
		hubclient_request(c, &j);
	else
		hubclient_fail(c, "no JSON object");
	json_fini(&j);
}

/* Another hub gets all of the answer at once. */
static void
hubclient_send_back(struct hubctl_client *c)
{
	struct engine	*e = c->ctl->hub->engine;

	e->ops->rows(e, c->about, &c->reply, (struct span){
	    (const char *)buf_data(&c->answer), c->answer.len });
	hubclient_free(c);
}

/*
 * One request after the other, while none waits; one from another hub is over
 * then.
 */
static void
hubclient_process(struct hubctl_client *c)
{
	char	 line[LINE_MAX_], *end;
	size_t	 len;

	while (c->waiting == FOR_NOTHING && c->request.len > 0) {
		if ((end = memchr(buf_data(&c->request), '\n',
		    c->request.len)) == NULL)
			return;
		/* What it says may be answered late, and then go on here. */
		len = (size_t)(end - (char *)buf_data(&c->request));
		memcpy(line, buf_data(&c->request), len);
		buf_drain(&c->request, len + 1);
		hubclient_next(c, line, len);
	}
	if (c->fd == -1 && c->waiting == FOR_NOTHING)
		hubclient_send_back(c);
}

/* --- the socket --- */

struct hubctl *
hubctl_new(struct hub *h, int fd, const struct hubctl_events *e, void *arg)
{
	struct hubctl	*c;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->hub = h;
	c->fd = fd;
	c->events = e;
	c->arg = arg;
	TAILQ_INIT(&c->clients);
	io_init(&c->io, h->base, fd, EV_READ | EV_PERSIST, hubctl_on_accept,
	    c);
	if (io_start(&c->io) == -1) {
		free(c);
		return NULL;
	}
	return c;
}

void
hubctl_free(struct hubctl **cp)
{
	struct hubctl		*c = *cp;
	struct hubctl_client	*client;

	*cp = NULL;
	if (c == NULL)
		return;
	while ((client = TAILQ_FIRST(&c->clients)) != NULL)
		hubclient_free(client);
	io_stop(&c->io);
	free(c);
}
