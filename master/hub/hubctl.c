/* The control socket: its clients. */
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json/utf8.h"
#include "common/log.h"
#include "master/hub/hubctl.h"
#include "master/hub/hubctl_priv.h"

#define CLIENTS_MAX	32
#define FAR_MAX		128
#define LINE_MAX_	8192		/* bytes of a request */
#define ANSWERS_MAX	(4 * 1024 * 1024)

static void	 hubclient_on_readable(void *arg);
static void	 hubclient_on_writable(void *arg);

/* --- clients --- */

static void
hubclient_free(struct hubctl_client *c)
{
	struct engine	*e = c->ctl->hub->engine;

	TAILQ_REMOVE(&c->ctl->clients, c, entry);
	assert(c->far != NULL ? c->ctl->nfar > 0 : c->ctl->n > 0);
	if (c->far != NULL) {
		c->ctl->nfar--;
		c->far->ops->free(c->far);
	} else {
		c->ctl->n--;
	}
	hubgather_free(&c->gather);
	e->ops->cancel_request(e, &c->asked);
	e->ops->cancel(e, &c->find);
	io_stop(&c->in);
	io_stop(&c->out);
	timer_stop(&c->timer);
	buf_fini(&c->request);
	buf_fini(&c->answer);
	fd_close(&c->fd);
	free(c);
}

static struct hubctl_client *
hubclient_new(struct hubctl *ctl, int fd, struct hubctl_far *far)
{
	struct hubctl_client	*c;
	unsigned		*n = far != NULL ? &ctl->nfar : &ctl->n;

	assert(fd == -1 || far == NULL);
	/* Those who are far do not keep the others out. */
	if (*n >= (far != NULL ? FAR_MAX : CLIENTS_MAX) ||
	    (c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->ctl = ctl;
	c->fd = fd;
	c->far = far;
	c->asked.fn = hubclient_on_answer;
	c->asked.arg = c;
	c->find.fn = hubclient_on_place;
	c->find.arg = c;
	buf_init(&c->request, LINE_MAX_);
	buf_init(&c->answer, ANSWERS_MAX);
	timer_init(&c->timer, ctl->hub->base, hubclient_on_timer, c);
	TAILQ_INSERT_TAIL(&ctl->clients, c, entry);
	++*n;
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
	if ((c = hubclient_new(ctl, fd, NULL)) == NULL) {
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
	if (text.len >= LINE_MAX_ ||
	    (c = hubclient_new(ctl, -1, NULL)) == NULL)
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

	assert(c->fd != -1 && c->request.len <= LINE_MAX_);
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

bool
hubclient_is_guest(const struct hubctl_client *c)
{
	return c->fd == -1 && c->far == NULL;
}

void
hubclient_flush(struct hubctl_client *c)
{
	if (c->far != NULL)
		c->far->ops->send(c->far, &c->answer);
	else if (c->fd != -1 && io_start(&c->out) == -1)
		log_warn("answer on the control socket");
}

void
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

void
hubclient_end(struct hubctl_client *c, struct json_out *o, bool is_end)
{
	if (!is_end)
		json_out_close(o, '}');
	json_out_close(o, '}');
	if (json_out_fini(o) == -1 || buf_put(&c->answer, "\n", 1) == -1)
		log_warn("answer on the control socket");
	hubclient_flush(c);
}

void
hubclient_ok(struct hubctl_client *c)
{
	struct json_out	 o;

	hubclient_begin(c, &o, true);
	hubclient_end(c, &o, true);
}

void
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

	assert(c->gather == NULL && c->reply.subject[0] != '\0');
	e->ops->rows(e, c->about, &c->reply, (struct span){
	    (const char *)buf_data(&c->answer), c->answer.len });
	hubclient_free(c);
}

/*
 * One request after the other, while none waits; one from another hub is over
 * then.
 */
void
hubclient_process(struct hubctl_client *c)
{
	char	 line[LINE_MAX_], *end;
	size_t	 len;
	unsigned wait;

	if (c->is_processing)
		return;		/* what was asked was answered at once */
	c->is_processing = true;
	while (c->waiting == FOR_NOTHING && c->request.len > 0 &&
	    (end = memchr(buf_data(&c->request), '\n', c->request.len)) !=
	    NULL) {
		if (c->far != NULL && (wait = c->far->ops->wait(c->far)) > 0) {
			c->waiting = FOR_TURN;
			timer_set(&c->timer, wait * 1000);
			break;
		}
		/* What it says may be answered late, and then go on here. */
		len = (size_t)(end - (char *)buf_data(&c->request));
		assert(len < sizeof(line));
		memcpy(line, buf_data(&c->request), len);
		buf_drain(&c->request, len + 1);
		hubclient_next(c, line, len);
	}
	c->is_processing = false;
	if (hubclient_is_guest(c) && c->waiting == FOR_NOTHING)
		hubclient_send_back(c);
}

/* --- operators elsewhere --- */

int
hubctl_join(struct hubctl *ctl, struct hubctl_far *far)
{
	return (far->client = hubclient_new(ctl, -1, far)) != NULL ? 0 : -1;
}

void
hubctl_leave(struct hubctl_far *far)
{
	hubclient_free(far->client);
}

void
hubctl_said(struct hubctl_far *far, const void *data, size_t len)
{
	struct hubctl_client	*c = far->client;

	if (len >= LINE_MAX_ - c->request.len ||
	    buf_put(&c->request, data, len) == -1 ||
	    buf_put(&c->request, "\n", 1) == -1)
		hubclient_fail(c, "too much is asked at once");
	else
		hubclient_process(c);
}

bool
hubctl_is_busy(const struct hubctl_far *far)
{
	return far->client->waiting != FOR_NOTHING;
}

unsigned
hubctl_count(const struct hubctl *ctl, const char *name)
{
	const struct hubctl_client	*c;
	unsigned			 n = 0;

	TAILQ_FOREACH(c, &ctl->clients, entry)
		n += c->far != NULL && strcmp(c->far->name, name) == 0;
	return n;
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
