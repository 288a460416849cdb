#include "worker/http/helper/http_serve.h"

#include <sys/queue.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/http/helper/http_transfer.h"

struct server {
	struct event_base	*base;
	struct chan		*chan;
	struct http_loop		*loop;
	const struct trust	*trust;
	TAILQ_HEAD(, http_transfer)	 all;
	unsigned		 n;
	uint64_t		 last_id;
	int			 status;	/* exit status */
};

/* Maximum of bytes queued: all windows, twice for the overhead of packets. */
#define QUEUE_MAX	(2 * (size_t)LIMIT_HTTP_ACTIVE * \
			    (LIMIT_HTTP_WINDOW + LIMIT_HTTP_HEAD))

/* --- to the worker --- */

static void
report_done(struct server *s, uint64_t id, const char *error, bool refused)
{
	Ipc__HttpDone	 out = IPC__HTTP_DONE__INIT;

	out.id = id;
	if (error != NULL)
		out.error = (char *)(uintptr_t)error;
	out.refused = refused;
	chan_send(s->chan, IPC_http_done, &out, -1);
}

/* End a transfer and report why. */
static void
http_serve_end(struct server *s, struct http_transfer *t, const char *error)
{
	assert(s->n > 0 && t->arg == s);
	report_done(s, t->id, error, false);
	TAILQ_REMOVE(&s->all, t, entry);
	s->n--;
	http_transfer_free(&t);
}

static void
http_serve_on_answer(struct http_transfer *t, unsigned status,
    const struct http_fields *fields)
{
	struct server		*s = t->arg;
	Ipc__HttpField		 field = IPC__HTTP_FIELD__INIT;
	Ipc__HttpAnswer		 answer = IPC__HTTP_ANSWER__INIT;
	const struct http_field	*f;

	field.id = answer.id = t->id;
	TAILQ_FOREACH(f, &fields->list, entry) {
		field.name = f->name;
		field.value = f->value;
		chan_send(s->chan, IPC_http_field, &field, -1);
	}
	answer.status = status;
	chan_send(s->chan, IPC_http_answer, &answer, -1);
}

static void
http_serve_on_piece(struct http_transfer *t, const void *data, size_t len)
{
	struct server	*s = t->arg;
	Ipc__HttpPiece	 out = IPC__HTTP_PIECE__INIT;
	size_t		 n;

	assert(t->is_answered);
	out.id = t->id;
	for (; len > 0; len -= n) {
		n = len < LIMIT_HTTP_PIECE ? len : LIMIT_HTTP_PIECE;
		out.data.data = (uint8_t *)(uintptr_t)data;
		out.data.len = n;
		chan_send(s->chan, IPC_http_piece, &out, -1);
		data = (const char *)data + n;
	}
}

static const struct http_transfer_events events = { http_serve_on_answer,
    http_serve_on_piece };

static void
on_transfer_done(void *arg, CURL *easy, CURLcode result)
{
	struct server	*s = arg;
	struct http_transfer	*t = NULL;
	const char	*error;

	curl_easy_getinfo(easy, CURLINFO_PRIVATE, &t);
	if (t != NULL && http_transfer_done(t, result, &error) == 0)
		http_serve_end(s, t, error);
}

/* --- from the worker: -1 is a protocol violation --- */

static struct http_transfer *
http_serve_find(struct server *s, uint64_t id)
{
	struct http_transfer	*t;

	TAILQ_FOREACH(t, &s->all, entry)
		if (t->id == id)
			return t;
	return NULL;
}

/* Start when the whole request has come. */
static void
maybe_start(struct server *s, struct http_transfer *t)
{
	assert(!t->is_added && t->body_got <= t->body_len);
	if (t->headers_due == 0 && t->body_got == t->body_len &&
	    http_transfer_start(t) == -1)
		http_serve_end(s, t, "out of memory");
}

static const char *
http_serve_text_of(enum http_url_result r)
{
	switch (r) {
	case HTTP_URL_BAD:
		return "url is invalid";
	case HTTP_URL_SCHEME:
		return "only supports http and https URLs";
	default:
		return "out of memory";
	}
}

static int
http_serve_on_request(struct server *s, const void *body)
{
	const Ipc__HttpRequest	*in = body;
	struct http_transfer		*t;
	enum http_url_result		 r;

	if (in->id <= s->last_id || s->n >= LIMIT_HTTP_ACTIVE ||
	    in->body > LIMIT_MESSAGE)
		return -1;
	s->last_id = in->id;
	if ((r = http_transfer_new(&t, in->method, in->url)) != HTTP_URL_OK) {
		report_done(s, in->id, http_serve_text_of(r),
		    r != HTTP_URL_MEMORY);
		return 0;
	}
	t->events = &events;
	t->arg = s;
	t->loop = s->loop;
	t->id = in->id;
	t->ca_file = s->trust->file;
	t->ca_folder = s->trust->folder;
	t->follow = in->follow;
	t->headers_due = in->headers;
	t->body_len = in->body;
	TAILQ_INSERT_TAIL(&s->all, t, entry);
	s->n++;
	if (in->body > 0 && (t->body = malloc(in->body)) == NULL)
		http_serve_end(s, t, "out of memory");
	else
		maybe_start(s, t);
	return 0;
}

static int
http_serve_on_header(struct server *s, const void *body)
{
	const Ipc__HttpHeader	*in = body;
	struct http_transfer		*t;

	if ((t = http_serve_find(s, in->id)) == NULL)
		return 0;
	if (t->headers_due == 0)
		return -1;
	t->headers_due--;
	if (http_fields_add(&t->headers, in->name, in->value, in->secret) == -1)
		http_serve_end(s, t, "out of memory");
	else
		maybe_start(s, t);
	return 0;
}

/* Ask for more of the body in steps of half a window. */
static void
http_serve_ask(struct server *s, struct http_transfer *t, uint32_t got)
{
	Ipc__HttpAsk	 out = IPC__HTTP_ASK__INIT;

	assert(t->body_got <= t->body_len);
	t->owed += got;
	if (t->owed < LIMIT_HTTP_WINDOW / 2 || t->body_got == t->body_len)
		return;
	out.id = t->id;
	out.bytes = t->owed;
	t->owed = 0;
	chan_send(s->chan, IPC_http_ask, &out, -1);
}

static int
on_upload(struct server *s, const void *body)
{
	const Ipc__HttpUpload	*in = body;
	struct http_transfer		*t;

	if ((t = http_serve_find(s, in->id)) == NULL)
		return 0;
	if (t->headers_due > 0 || in->data.len == 0 ||
	    in->data.len > t->body_len - t->body_got)
		return -1;
	memcpy(t->body + t->body_got, in->data.data, in->data.len);
	t->body_got += in->data.len;
	http_serve_ask(s, t, (uint32_t)in->data.len);
	maybe_start(s, t);
	return 0;
}

static int
http_serve_on_room(struct server *s, const void *body)
{
	const Ipc__HttpRoom	*in = body;
	struct http_transfer		*t;

	if ((t = http_serve_find(s, in->id)) == NULL)
		return 0;
	if (in->bytes > LIMIT_HTTP_WINDOW - t->room)
		return -1;
	http_transfer_give_room(t, in->bytes);
	return 0;
}

static int
http_serve_on_cancel(struct server *s, const void *body)
{
	const Ipc__HttpCancel	*in = body;
	struct http_transfer		*t;

	if ((t = http_serve_find(s, in->id)) == NULL)
		return 0;
	TAILQ_REMOVE(&s->all, t, entry);
	s->n--;
	http_transfer_free(&t);
	return 0;
}

typedef int	 on_fn(struct server *s, const void *body);

static on_fn *const handlers[IPC_KINDS] = {
	[IPC_http_request] = http_serve_on_request,
	[IPC_http_header] = http_serve_on_header,
	[IPC_http_upload] = on_upload,
	[IPC_http_room] = http_serve_on_room,
	[IPC_http_cancel] = http_serve_on_cancel,
};

static void
http_serve_leave(struct server *s, int status)
{
	s->status = status;
	event_base_loopbreak(s->base);
}

static void
http_serve_on_msg(void *arg, struct ipc_msg *m)
{
	struct server	*s = arg;

	if (handlers[m->kind](s, m->body) == 0)
		return;
	log_warnx("unexpected message %s from the worker",
	    ipc_rows[m->kind].name);
	http_serve_leave(s, 1);
}

/* The worker has closed the channel. */
static void
http_serve_on_end(void *arg, int error)
{
	if (error != 0)
		log_warnx("channel: %s", strerror(error));
	http_serve_leave(arg, error != 0);
}

int
http_serve(int sock, const struct trust *trust)
{
	struct server	 s;
	struct http_transfer	*t;

	memset(&s, 0, sizeof(s));
	s.trust = trust;
	TAILQ_INIT(&s.all);
	if ((s.base = event_base_new()) == NULL ||
	    (s.loop = http_loop_new(s.base, on_transfer_done, &s)) == NULL ||
	    (s.chan = chan_new(s.base, sock, IPC_ROLE_HTTP, IPC_ROLE_WORKER,
	    http_serve_on_msg, http_serve_on_end, &s)) == NULL)
		fatal("event loop");
	chan_set_limit(s.chan, QUEUE_MAX);
	if (event_base_dispatch(s.base) == -1)
		fatalx("event loop");
	while ((t = TAILQ_FIRST(&s.all)) != NULL) {
		TAILQ_REMOVE(&s.all, t, entry);
		http_transfer_free(&t);
	}
	chan_free(&s.chan);
	http_loop_free(&s.loop);
	event_base_free(s.base);
	return s.status;
}
