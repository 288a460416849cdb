#include "worker/http/http_link.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/os/helper.h"

#define PROGRAM	"execsrv-http"

TAILQ_HEAD(http_list, http_call);

struct http_link {
	struct event_base	*base;
	struct helper		 helper;
	struct http_list	 waiting, active;
	unsigned		 nactive;
	uint64_t		 last_id;
	size_t			 parked;	/* bytes of waiting calls */
};

typedef int	 on_fn(struct http_call *c, const void *body);

static on_fn	 on_ask, http_link_on_field, http_link_on_answer,
    http_link_on_piece, http_link_on_done;
static void	 pump(struct http_link *l);

/* The states in which each message about a call is legal. */
static const struct {
	on_fn		*fn;
	unsigned	 states;
} handlers[IPC_KINDS] = {
#define IN(state)	(1u << HTTP_##state)
	/* May cross with the last part of the body. */
	[IPC_http_ask] = { on_ask, IN(UPLOADING) | IN(AWAITING) },
	[IPC_http_field] = { http_link_on_field, IN(AWAITING) },
	[IPC_http_answer] = { http_link_on_answer, IN(AWAITING) },
	[IPC_http_piece] = { http_link_on_piece, IN(BODY) },
	[IPC_http_done] = { http_link_on_done, IN(UPLOADING) | IN(AWAITING) |
	    IN(BODY) },
#undef IN
};

/* Its environment: few variables, as it is the process most exposed. */
static const char *const kept_names[] = {
	"ALL_PROXY", "ASAN_OPTIONS", "CODEX_CA_CERTIFICATE", "GCOV_PREFIX",
	"GCOV_PREFIX_STRIP", "HTTPS_PROXY", "HTTP_PROXY", "LD_LIBRARY_PATH",
	"LOCALDOMAIN", "LSAN_OPTIONS", "NO_PROXY", "REQUEST_METHOD",
	"RES_OPTIONS", "SSL_CERT_DIR", "SSL_CERT_FILE", "UBSAN_OPTIONS",
	"all_proxy", "http_proxy", "https_proxy", "no_proxy"
};

/* Maximum of bytes queued: all windows, twice for the overhead of packets. */
#define QUEUE_MAX	(2 * (size_t)LIMIT_HTTP_ACTIVE * (LIMIT_HTTP_WINDOW + \
			    LIMIT_HTTP_HEAD + LIMIT_HTTP_LINE))

static const struct helper_program	 program = {
	.name = PROGRAM,
	.role = IPC_ROLE_HTTP,
	.queue_max = QUEUE_MAX,
	.idle_ms = LIMIT_HTTP_IDLE,
	.kept = kept_names,
	.nkept = sizeof(kept_names) / sizeof(kept_names[0]),
};

/* --- calls --- */

static void
body_free(struct http_call *c)
{
	assert(c->body == NULL || c->link->parked >= c->body_len);
	if (c->body != NULL)
		c->link->parked -= c->body_len;
	free(c->body);
	c->body = NULL;
}

/* Remove from the lists. */
static void
http_link_take_out(struct http_call *c)
{
	struct http_link	*l = c->link;

	assert(l->parked >= c->cost);
	if (c->state == HTTP_WAITING) {
		TAILQ_REMOVE(&l->waiting, c, entry);
	} else {
		TAILQ_REMOVE(&l->active, c, entry);
		if (--l->nactive == 0)
			helper_idle(&l->helper);
	}
	body_free(c);
	l->parked -= c->cost;
	timer_stop(&c->timer_ev);
}

/*
 * on_done may stop the link, which empties its lists, and on_free frees c: use
 * neither c nor a list position after this call.
 */
static void
http_link_finish(struct http_call *c, const char *error, bool refused)
{
	http_link_take_out(c);
	c->events->on_done(c, error, refused);
	c->events->on_free(c);
}

void
http_call_fail(struct http_call *c, const char *error)
{
	struct http_link	*l = c->link;
	Ipc__HttpCancel		 out = IPC__HTTP_CANCEL__INIT;

	if (c->state != HTTP_WAITING && l->helper.chan != NULL) {
		out.id = c->id;
		chan_send(l->helper.chan, IPC_http_cancel, &out, -1);
	}
	http_link_finish(c, error, false);
	pump(l);
}

static void
on_timeout(void *arg)
{
	http_call_fail(arg, "timed out");
}

static struct http_call *
http_link_find(struct http_link *l, uint64_t id)
{
	struct http_call	*c;

	TAILQ_FOREACH(c, &l->active, entry)
		if (c->id == id)
			return c;
	return NULL;
}

/* --- the process --- */

/* The process has died: fail its calls, restart for those that wait. */
static void
http_link_on_death(void *arg, const char *why)
{
	struct http_link	*l = arg;
	struct http_call	*c;

	while ((c = TAILQ_FIRST(&l->active)) != NULL)
		http_link_finish(c, why, false);
	pump(l);
}

/* --- to the process --- */

static void
upload(struct http_call *c)
{
	struct http_link	*l = c->link;
	Ipc__HttpUpload		 out = IPC__HTTP_UPLOAD__INIT;
	size_t			 n;

	assert(c->body_sent <= c->body_len && l->helper.chan != NULL);
	out.id = c->id;
	while (c->body_sent < c->body_len && c->body_room > 0) {
		n = c->body_len - c->body_sent;
		if (n > c->body_room)
			n = c->body_room;
		if (n > LIMIT_HTTP_PIECE)
			n = LIMIT_HTTP_PIECE;
		out.data.data = (uint8_t *)c->body + c->body_sent;
		out.data.len = n;
		chan_send(l->helper.chan, IPC_http_upload, &out, -1);
		c->body_sent += n;
		c->body_room -= n;
	}
	if (c->body_sent == c->body_len) {
		body_free(c);
		c->state = HTTP_AWAITING;
	}
}

static void
activate(struct http_call *c)
{
	struct http_link	*l = c->link;
	Ipc__HttpRequest	 out = IPC__HTTP_REQUEST__INIT;
	Ipc__HttpHeader		 header = IPC__HTTP_HEADER__INIT;
	size_t			 i;

	assert(c->state == HTTP_WAITING && l->helper.chan != NULL);
	TAILQ_REMOVE(&l->waiting, c, entry);
	TAILQ_INSERT_TAIL(&l->active, c, entry);
	l->nactive++;
	c->state = HTTP_UPLOADING;
	c->id = out.id = header.id = ++l->last_id;
	c->room = c->body_room = LIMIT_HTTP_WINDOW;
	out.method = (char *)(uintptr_t)c->method;
	out.url = (char *)(uintptr_t)c->url;
	out.follow = c->follow;
	out.headers = (uint32_t)c->nheaders;
	out.body = c->body_len;
	chan_send(l->helper.chan, IPC_http_request, &out, -1);
	for (i = 0; i < c->nheaders; i++) {
		header.name = c->headers[i].name;
		header.value = c->headers[i].value;
		header.secret = c->headers[i].is_secret;
		chan_send(l->helper.chan, IPC_http_header, &header, -1);
	}
	upload(c);
}

/* Start as many waiting calls as may be active. */
static void
pump(struct http_link *l)
{
	struct http_call	*c;
	char			 why[128];

	while (l->nactive < LIMIT_HTTP_ACTIVE &&
	    (c = TAILQ_FIRST(&l->waiting)) != NULL) {
		if (helper_need(&l->helper) == 0) {
			activate(c);
			continue;
		}
		snprintf(why, sizeof(why), "execsrv-http %s: %s",
		    l->helper.exe == -1 ? "is not installed beside the worker" :
		    "cannot be started", strerror(errno));
		log_warnx("%s", why);
		http_link_finish(c, why, false);
	}
}

void
http_call_start(struct http_link *l, struct http_call *c)
{
	assert(c->events->on_done != NULL && c->events->on_free != NULL);
	c->link = l;
	c->state = HTTP_WAITING;
	TAILQ_INSERT_TAIL(&l->waiting, c, entry);
	l->parked += c->cost + (c->body != NULL ? c->body_len : 0);
	timer_init(&c->timer_ev, l->base, on_timeout, c);
	if (c->has_timeout)
		timer_set(&c->timer_ev, c->timeout_ms);
	pump(l);
}

void
http_call_took(struct http_call *c, size_t len)
{
	Ipc__HttpRoom	 out = IPC__HTTP_ROOM__INIT;

	assert(c->state == HTTP_BODY && c->link->helper.chan != NULL);
	c->owed += len;
	if (c->owed < LIMIT_HTTP_WINDOW / 2)
		return;
	out.id = c->id;
	out.bytes = (uint32_t)c->owed;
	c->room += c->owed;
	c->owed = 0;
	chan_send(c->link->helper.chan, IPC_http_room, &out, -1);
}

bool
http_link_has_room(const struct http_link *l, size_t len)
{
	return l->parked + len <= LIMIT_HTTP_PARKED;
}

/* --- from the process: -1 is a protocol violation --- */

static int
on_ask(struct http_call *c, const void *body)
{
	const Ipc__HttpAsk	*in = body;

	if (in->bytes > LIMIT_HTTP_WINDOW - c->body_room)
		return -1;
	c->body_room += in->bytes;
	upload(c);
	return 0;
}

static int
http_link_on_field(struct http_call *c, const void *body)
{
	const Ipc__HttpField	*in = body;

	c->head_len += strlen(in->name) + strlen(in->value) + 4;
	if (c->head_len > LIMIT_HTTP_HEAD)
		return -1;
	c->events->on_field(c, in->name, in->value);
	return 0;
}

static int
http_link_on_answer(struct http_call *c, const void *body)
{
	const Ipc__HttpAnswer	*in = body;

	if (in->status < 100 || in->status > 999)
		return -1;
	c->state = HTTP_BODY;
	c->events->on_answer(c, in->status);
	return 0;
}

static int
http_link_on_piece(struct http_call *c, const void *body)
{
	const Ipc__HttpPiece	*in = body;

	if (in->data.len == 0 || in->data.len > c->room ||
	    in->data.len > LIMIT_HTTP_PIECE)
		return -1;
	c->room -= in->data.len;
	c->events->on_piece(c, in->data.data, in->data.len);
	return 0;
}

static int
http_link_on_done(struct http_call *c, const void *body)
{
	const Ipc__HttpDone	*in = body;
	struct http_link	*l = c->link;
	bool			 is_error = in->error[0] != '\0';

	/* An end without an answer, or a refusal after one. */
	if ((!is_error && c->state != HTTP_BODY) ||
	    (in->refused && (!is_error || c->state == HTTP_BODY)))
		return -1;
	http_link_finish(c, is_error ? in->error : NULL, in->refused);
	pump(l);
	return 0;
}

/* Return the call id, the first member of all messages about calls. */
static uint64_t
id_of(const struct ipc_msg *m)
{
	const ProtobufCFieldDescriptor	*id;
	uint64_t			 n;

	id = &ipc_rows[m->kind].type->fields[0];
	assert(id->id == 1 && id->type == PROTOBUF_C_TYPE_UINT64);
	memcpy(&n, (const char *)m->body + id->offset, sizeof(n));
	return n;
}

static int
http_link_on_msg(void *arg, struct ipc_msg *m)
{
	struct http_link	*l = arg;
	uint64_t		 id;
	struct http_call	*c;

	id = id_of(m);
	c = http_link_find(l, id);
	/* A message about a cancelled call may be in flight. */
	if (c == NULL && id != 0 && id <= l->last_id)
		return 0;
	if (c == NULL || (handlers[m->kind].states & (1u << c->state)) == 0)
		return -1;
	return handlers[m->kind].fn(c, m->body);
}

static const struct helper_events	 http_link_events = {
	http_link_on_msg, http_link_on_death
};

/* --- the link --- */

int
http_link_program(void)
{
	return helper_program(PROGRAM);
}

struct http_link *
http_link_new(struct event_base *base, int exe,
    const struct scgroup *limited, unsigned session)
{
	struct http_link	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->base = base;
	TAILQ_INIT(&l->waiting);
	TAILQ_INIT(&l->active);
	helper_init(&l->helper, &program, base, exe, session, limited,
	    &http_link_events, l);
	return l;
}

void
http_link_stop(struct http_link *l)
{
	struct http_call	*c;

	helper_stop(&l->helper);
	while ((c = TAILQ_FIRST(&l->active)) != NULL ||
	    (c = TAILQ_FIRST(&l->waiting)) != NULL) {
		http_link_take_out(c);
		c->events->on_free(c);
	}
}

void
http_link_free(struct http_link **lp)
{
	struct http_link	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	http_link_stop(l);
	free(l);
}

struct helper *
http_link_helper(struct http_link *l)
{
	return &l->helper;
}
