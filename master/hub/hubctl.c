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

#define CLIENTS_MAX	32
#define LINE_MAX_	8192		/* bytes of a request */
#define ANSWERS_MAX	(4 * 1024 * 1024)
#define ROWS_MAX	1000
#define PING_TURN	5		/* ms between two looks for a pong */

enum waiting { FOR_NOTHING, FOR_PONG, FOR_RELOAD };

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

/* --- clients --- */

static void
hubclient_free(struct hubctl_client *c)
{
	TAILQ_REMOVE(&c->ctl->clients, c, entry);
	c->ctl->n--;
	io_stop(&c->in);
	io_stop(&c->out);
	timer_stop(&c->timer);
	buf_fini(&c->request);
	buf_fini(&c->answer);
	fd_close(&c->fd);
	free(c);
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
	if (ctl->n >= CLIENTS_MAX || (c = calloc(1, sizeof(*c))) == NULL) {
		fd_close(&fd);
		return;
	}
	c->ctl = ctl;
	c->fd = fd;
	buf_init(&c->request, LINE_MAX_);
	buf_init(&c->answer, ANSWERS_MAX);
	io_init(&c->in, ctl->hub->base, fd, EV_READ | EV_PERSIST,
	    hubclient_on_readable, c);
	io_init(&c->out, ctl->hub->base, fd, EV_WRITE | EV_PERSIST,
	    hubclient_on_writable, c);
	timer_init(&c->timer, ctl->hub->base, hubclient_on_timer, c);
	TAILQ_INSERT_TAIL(&ctl->clients, c, entry);
	ctl->n++;
	if (io_start(&c->in) == -1)
		hubclient_free(c);
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
		json_out_key(o, "ok");
		json_out_bool(o, true);
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
	    io_start(&c->out) == -1)
		log_warn("answer on the control socket");
}

static void
hubclient_pair(struct json_out *o, const char *key, const char *text)
{
	json_out_key(o, key);
	json_out_str(o, text);
}

static void
hubclient_number(struct json_out *o, const char *key, uint64_t n)
{
	json_out_key(o, key);
	json_out_u64(o, n);
}

static void
hubclient_flag(struct json_out *o, const char *key, bool is)
{
	json_out_key(o, key);
	json_out_bool(o, is);
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
	hubclient_flag(&o, "ok", false);
	hubclient_pair(&o, "error", why);
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

/* The executor that a request is about, or NULL after an answer. */
static struct executor *
hubclient_executor(struct hubctl_client *c, const struct json *j)
{
	struct executor	*x;

	hubclient_text(j, "environment", c->environment,
	    sizeof(c->environment));
	if ((x = switchboard_find(&c->ctl->hub->board, c->environment)) ==
	    NULL)
		hubclient_fail(c, "no such environment is attached here");
	return x;
}

static void
hubctl_status(struct hubctl_client *c, const struct json *j)
{
	const struct hub	*h = c->ctl->hub;
	const struct hubconf	*conf = &h->site->conf;
	struct json_out		 o;

	(void)j;
	hubclient_begin(c, &o, true);
	hubclient_pair(&o, "name", h->name);
	hubclient_pair(&o, "version", PACKAGE_VERSION);
	hubclient_number(&o, "pid", (uint64_t)getpid());
	hubclient_number(&o, "started", h->started);
	hubclient_pair(&o, "fleet_url", conf->fleet_url);
	hubclient_pair(&o, "hub_url", hub_url(h));
	hubclient_flag(&o, "draining", h->drain.is_on);
	hubclient_number(&o, "executors", h->board.executors.count);
	hubclient_number(&o, "harnesses", h->board.nharness);
	hubclient_number(&o, "streams", h->board.streams.count);
	hubclient_number(&o, "connections", h->conns.n);
	hubclient_number(&o, "tokens", h->site->tokens.n);
	hubclient_pair(&o, "tokens_file", conf->tokens_file);
	hubclient_flag(&o, "engine_up", h->engine->ops->is_up(h->engine));
	hubclient_end(c, &o, true);
}

static void
hubclient_put_executor(struct hubctl_client *c, const struct executor *x)
{
	struct json_out	 o;
	char		 id[REGISTRATION_TEXT + 1];

	registration_text(x->registration, id);
	hubclient_begin(c, &o, false);
	hubclient_pair(&o, "environment", x->environment);
	hubclient_pair(&o, "labels", x->labels);
	hubclient_pair(&o, "subject", x->subject->name);
	hubclient_pair(&o, "address", x->address);
	hubclient_pair(&o, "registration", id);
	hubclient_number(&o, "since", x->since);
	hubclient_number(&o, "harnesses", x->nharness);
	hubclient_number(&o, "streams", x->nstream);
	hubclient_number(&o, "bytes_in", x->bytes_in);
	hubclient_number(&o, "bytes_out", x->bytes_out);
	hubclient_end(c, &o, false);
}

static void
hubctl_list(struct hubctl_client *c, const struct json *j)
{
	char			 label[TICKET_LABELS_MAX + 1];
	char			 after[ENVIRONMENT_MAX + 1];
	struct executor		**found;
	struct json_out		 o;
	size_t			 i, n;

	hubclient_text(j, "label", label, sizeof(label));
	hubclient_text(j, "after", after, sizeof(after));
	if ((found = switchboard_list(&c->ctl->hub->board, label, after,
	    &n)) == NULL) {
		hubclient_fail(c, "out of memory");
		return;
	}
	for (i = 0; i < n && i < ROWS_MAX; i++)
		hubclient_put_executor(c, found[i]);
	hubclient_begin(c, &o, true);
	if (n > ROWS_MAX)
		hubclient_pair(&o, "next", found[ROWS_MAX - 1]->environment);
	hubclient_end(c, &o, true);
	free(found);
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
		hubclient_pair(&o, "harness", h->subject->name);
		hubclient_pair(&o, "address", h->address);
		hubclient_number(&o, "since", h->since);
		hubclient_number(&o, "streams", h->nstream);
		hubclient_number(&o, "bytes_in", h->bytes_in);
		hubclient_number(&o, "bytes_out", h->bytes_out);
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
	hubclient_pair(&o, "name", h->name);
	hubclient_pair(&o, "hub_url", hub_url(h));
	hubclient_number(&o, "executors", h->board.executors.count);
	hubclient_flag(&o, "draining", h->drain.is_on);
	hubclient_flag(&o, "self", true);
	hubclient_end(c, &o, false);
	hubclient_ok(c);
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
		hubclient_number(&o, "ms", took);
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

static void
hubctl_drain(struct hubctl_client *c, const struct json *j)
{
	struct executor	*x;

	c->environment[0] = '\0';
	if (json_find(j, 0, "environment") == 0) {
		hubdrain_begin(&c->ctl->hub->drain);
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
	(void)j;
	c->environment[0] = '\0';
	hubdrain_end(&c->ctl->hub->drain);
	hubclient_told(c, "undrain");
	hubclient_ok(c);
}

static void
hubctl_evict(struct hubctl_client *c, const struct json *j)
{
	struct hub	*h = c->ctl->hub;
	struct executor	*x;
	uint64_t	 now = (uint64_t)time(NULL);

	if ((x = hubclient_executor(c, j)) == NULL)
		return;
	if (!replay_take(&h->evicted, registration_nonce(x->registration),
	    now + h->site->conf.ticket_lifetime / 1000, now))
		log_warnx("evict %s: no memory, it may come back",
		    c->environment);
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
} hubctl_cmds[] = {
	{ "status", hubctl_status },
	{ "list", hubctl_list },
	{ "show", hubctl_show },
	{ "hubs", hubctl_hubs },
	{ "ping", hubctl_ping },
	{ "drain", hubctl_drain },
	{ "undrain", hubctl_undrain },
	{ "evict", hubctl_evict },
	{ "reload", hubctl_reload },
};

static void
hubclient_request(struct hubctl_client *c, const struct json *j)
{
	uint32_t	 cmd = json_find(j, 0, "cmd");
	size_t		 i;

	for (i = 0; i < sizeof(hubctl_cmds) / sizeof(hubctl_cmds[0]); i++)
		if (cmd != 0 && json_is_text(j, cmd, hubctl_cmds[i].name)) {
			hubctl_cmds[i].fn(c, j);
			return;
		}
	hubclient_fail(c, "unknown request");
}

/* One request after the other, while none waits. */
static void
hubclient_process(struct hubctl_client *c)
{
	struct json	 j;
	char		*line, *end;
	size_t		 len;

	while (c->waiting == FOR_NOTHING && c->request.len > 0) {
		line = (char *)buf_data(&c->request);
		if ((end = memchr(line, '\n', c->request.len)) == NULL)
			return;
		len = (size_t)(end - line);
		json_init(&j);
		if (utf8_is_valid(line, len) && json_parse(&j, line, len) ==
		    0 && json_tok(&j, 0)->type == JSON_OBJECT)
			hubclient_request(c, &j);
		else
			hubclient_fail(c, "no JSON object");
		json_fini(&j);
		buf_drain(&c->request, len + 1);
	}
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
