/* From a URL to an open session, and goodbye. */
#include <sys/random.h>

#include <netinet/tcp.h>

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "common/client/client_priv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/json/b64.h"
#include "common/json/uri.h"
#include "common/json/utf8.h"
#include "common/net/tcp.h"

#define CLOSE_MS	500	/* for the last bytes to leave */

static int
ms_left(uint64_t deadline)
{
	uint64_t	 now = clock_ms();

	return now >= deadline ? 0 : (int)(deadline - now);
}

/* --- the socket --- */

/* A server that vanished must not be waited for until doomsday. */
static void
connect_set_options(int fd, const struct sockaddr *to)
{
	int	 on = 1, idle = 15, interval = 5, count = 4;

	(void)!tcp_tune(fd, to);
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval,
	    sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
}

int
execsrv_socket(const struct execsrv_address *u)
{
	int	 fd;

	if ((fd = socket(u->addr.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return -1;
	if (u->addr.any.sa_family != AF_UNIX)
		connect_set_options(fd, &u->addr.any);
	if (connect(fd, &u->addr.any, u->len) == -1 &&
	    errno != EINPROGRESS && errno != EINTR)
		fd_close(&fd);
	return fd;
}

void
execsrv_url_v6(struct execsrv_address *u)
{
	in_port_t	 port = u->addr.in.sin_port;

	memset(&u->addr, 0, sizeof(u->addr));
	u->addr.in6.sin6_family = AF_INET6;
	u->addr.in6.sin6_port = port;
	u->addr.in6.sin6_addr = in6addr_loopback;
	u->len = sizeof(u->addr.in6);
}

/* --- the upgrade --- */

int
execsrv_start_upgrade(struct execsrv *x)
{
	uint8_t	 nonce[16];
	char	 request[EXECSRV_REQUEST_MAX];
	size_t	 n;
	bool	 is_sent;

	if (getrandom(nonce, sizeof(nonce), 0) != sizeof(nonce))
		return execsrv_fail(x, "no random numbers");
	b64_encode(x->key, nonce, sizeof(nonce));
	/* A new socket has room for so little. */
	n = execsrv_upgrade_request(&x->url, x->key, x->token, request,
	    sizeof(request));
	is_sent = n > 0 &&
	    send(x->fd, request, n, MSG_NOSIGNAL) == (ssize_t)n;
	sodium_memzero(request, sizeof(request));
	if (!is_sent)
		return execsrv_lose(x, "cannot send: %s", strerror(errno));
	return 0;
}

/* --- the session --- */

static void
connect_take_cwd(struct execsrv *x, const struct json *j, uint32_t tok)
{
	char	 path[PATH_MAX];

	if (tok != 0 && json_tok(j, tok)->type == JSON_STRING &&
	    uri_to_path(json_text(j, tok), json_tok(j, tok)->len, path,
	    sizeof(path)) != -1)
		x->cwd = strdup(path);
}

static const char *const	 caps[] = {
#define CAP(name, meaning)		name,
#define CAP_IF(name, meaning, when)	name,
#include "proto/cap.def"
#undef CAP
#undef CAP_IF
};

#define CAPS	(sizeof(caps) / sizeof(caps[0]))

_Static_assert(CAPS <= 32, "a bit for each");

/* A number that may be missing: 0. */
static uint64_t
number(const struct json *j, uint32_t obj, const char *key)
{
	uint32_t	 tok = json_find(j, obj, key);
	uint64_t	 n;

	return tok != 0 && json_u64(j, tok, &n) == 0 ? n : 0;
}

static void
take_overflow(struct execsrv *x, const struct json *j, uint32_t o)
{
	memset(&x->overflow, 0, sizeof(x->overflow));
	if (o == 0 || json_tok(j, o)->type != JSON_OBJECT)
		return;
	x->overflow.held_back_ms = number(j, o, "heldBackMs");
	x->overflow.dropped = number(j, o, "droppedBytes");
}

struct execsrv_overflow
execsrv_overflow(const struct execsrv *x)
{
	return x->overflow;
}

/* What initialize answers; all of it but the id is optional. */
void
execsrv_take_session(struct execsrv *x, const struct execsrv_answer *a)
{
	const struct json	*j = a->json;
	uint32_t		 info, list, tok;
	size_t			 i;

	tok = json_find(j, a->result, "sessionId");
	if (tok == 0 || json_tok(j, tok)->type != JSON_STRING) {
		execsrv_fail(x, "the server opened no session");
		return;
	}
	/* One that is too long for us cannot be resumed, that is all. */
	if (json_tok(j, tok)->len < sizeof(x->session))
		execsrv_copy_text(j, tok, x->session, sizeof(x->session));
	take_overflow(x, j, json_find(j, a->result, "execsrvOverflow"));
	if ((info = json_find(j, a->result, "environmentInfo")) == 0)
		return;
	connect_take_cwd(x, j, json_find(j, info, "cwd"));
	if ((list = json_find(j, info, "capabilities")) == 0)
		return;
	for (i = 0; i < CAPS; i++) {
		tok = json_find(j, list, caps[i]);
		if (tok != 0 && json_tok(j, tok)->type == JSON_TRUE)
			x->caps |= 1u << i;
	}
}

bool
execsrv_can(const struct execsrv *x, const char *name)
{
	size_t	 i;

	for (i = 0; i < CAPS; i++)
		if (strcmp(caps[i], name) == 0)
			return (x->caps >> i & 1) != 0;
	return false;
}

bool
execsrv_has_receipts(const struct execsrv *x)
{
	return x->reach.url != NULL && execsrv_can(x, "execsrvReceipts");
}

const char *
execsrv_session(const struct execsrv *x)
{
	return x->session[0] != '\0' ? x->session : NULL;
}

bool
execsrv_is_local(const struct execsrv *x)
{
	return x->is_local;
}

const char *
execsrv_cwd(const struct execsrv *x)
{
	return x->cwd;
}

int
execsrv_put_initialize(const struct execsrv *x, struct buf *b)
{
	struct json_out	 o;
	const char	*session;

	buf_init(b, 64 * 1024);
	json_out_init(&o, b);
	json_out_open(&o, '{');
	json_out_key(&o, "clientName");
	json_out_str(&o, x->name);
	session = x->session[0] != '\0' ? x->session : x->resume;
	if (session[0] != '\0') {
		json_out_key(&o, "resumeSessionId");
		json_out_str(&o, session);
	}
	/* Of a session of our own it is known what its server takes. */
	if (x->session[0] != '\0' && execsrv_can(x, "execsrvHold")) {
		json_out_key(&o, "execsrvHold");
		json_out_bool(&o, true);
	}
	if (x->session[0] != '\0' && execsrv_has_receipts(x)) {
		json_out_key(&o, "execsrvReceipts");
		json_out_bool(&o, true);
	}
	json_out_close(&o, '}');
	return json_out_fini(&o);
}

int
execsrv_send_initialized(struct execsrv *x)
{
	static const char	 done[] = "{\"method\":\"initialized\"}";

	return execsrv_send(x, WS_TEXT, done, strlen(done));
}

/* --- opening --- */

/* A credential is printable ASCII without blanks (RFC 6750 section 2.1). */
static int
connect_take_token(struct execsrv *x, const char *token,
    struct execsrv_error *e)
{
	size_t	 i, len = strlen(token);

	for (i = 0; i < len && token[i] > ' ' && token[i] < 0x7f; i++)
		continue;
	if (len == 0 || i < len || len > EXECSRV_TOKEN_MAX) {
		execsrv_error_set(e, 0, "the bearer token cannot be one");
		return -1;
	}
	if (sodium_init() == -1 ||
	    (x->token = sodium_malloc(len + 1)) == NULL) {
		execsrv_error_set(e, 0, "no memory to keep the bearer token");
		return -1;
	}
	memcpy(x->token, token, len + 1);
	return 0;
}

/* Another client's session: our ids are not to be those that it used. */
static int
take_session(struct execsrv *x, const char *id, struct execsrv_error *e)
{
	uint64_t	 random;
	size_t		 len = strlen(id);

	if (len == 0 || len >= sizeof(x->resume) || !utf8_is_valid(id, len)) {
		execsrv_error_set(e, 0, "that is no id of a session");
		return -1;
	}
	if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
		execsrv_error_set(e, 0, "no random numbers");
		return -1;
	}
	memcpy(x->resume, id, len + 1);
	snprintf(x->tag, sizeof(x->tag), "%016llx-",
	    (unsigned long long)random);
	return 0;
}

/* A client as the options say. */
struct execsrv *
execsrv_prepare(const struct execsrv_options *o, struct execsrv_error *e)
{
	static const struct execsrv_options	 none;
	struct execsrv				*x;

	if (o == NULL)
		o = &none;
	if ((x = execsrv_new()) == NULL || (x->name = strdup(
	    o->client_name != NULL ? o->client_name : "libexecsrv")) == NULL) {
		execsrv_error_set(e, 0, "%s", strerror(errno));
		execsrv_free(&x);
		return NULL;
	}
	if (o->connect_ms > 0)
		x->connect_ms = o->connect_ms;
	if (o->initialize_ms > 0)
		x->initialize_ms = o->initialize_ms;
	if (o->silence_ms > 0)
		x->silence_ms = o->silence_ms;
	if (o->recover_ms != 0)
		x->patience = o->recover_ms > 0 ? o->recover_ms : 0;
	if ((o->bearer_token != NULL &&
	    connect_take_token(x, o->bearer_token, e) == -1) ||
	    (o->resume_session != NULL &&
	    take_session(x, o->resume_session, e) == -1))
		execsrv_free(&x);
	return x;
}

struct execsrv *
execsrv_begin_open(struct execsrv *x, const char *where,
    const struct execsrv_options *o, struct execsrv_error *e)
{
	if ((x->where = strdup(where)) == NULL) {
		execsrv_error_set(e, 0, "%s", strerror(errno));
		execsrv_free(&x);
		return NULL;
	}
	x->attempt_at = x->clock();
	x->deadline = x->attempt_at + (uint64_t)x->connect_ms;
	if (x->fd != -1) {
		x->attempt_at = x->deadline;
		execsrv_set_state(x, EXECSRV_CONNECTING);
	}
	if (o != NULL && o->no_wait)
		return x;
	while (execsrv_status(x) == EXECSRV_OPENING)
		if (execsrv_wait(x, EXECSRV_FOREVER) == -1)
			break;
	if (execsrv_status(x) == EXECSRV_FAILED) {
		*e = x->why;
		execsrv_free(&x);
	}
	return x;
}

struct execsrv *
execsrv_open(const char *url, const struct execsrv_options *o,
    struct execsrv_error *e)
{
	struct execsrv_address	 u;
	struct execsrv		*x;

	memset(&u, 0, sizeof(u));
	if (url == NULL) {
		execsrv_error_set(e, 0, "no URL to connect to");
		return NULL;
	}
	if ((!execsrv_reach_is(url) &&
	    execsrv_address_parse(url, &u, e) == -1) ||
	    (x = execsrv_prepare(o, e)) == NULL)
		return NULL;
	x->is_local = u.is_local;
	x->url = u;
	if (execsrv_reach_is(url) &&
	    execsrv_reach_prepare(x, url, o, e) == -1) {
		execsrv_free(&x);
		return NULL;
	}
	return execsrv_begin_open(x, url, o, e);
}

/* --- closing --- */

static void
on_session_closed(void *arg, const struct execsrv_answer *a)
{
	(void)a;
	*(bool *)arg = true;
}

int
execsrv_close_session(struct execsrv *x, int timeout_ms,
    struct execsrv_error *e)
{
	uint64_t	 deadline = clock_ms() + (uint64_t)timeout_ms;
	bool		 is_closed = false;

	execsrv_hold(x, false);
	x->patience = 0;		/* what is over is not resumed */
	/* The goodbye right behind the answer is a failure to others. */
	if (execsrv_ask(x, "session/close", NULL, 0, timeout_ms,
	    on_session_closed, &is_closed, e) == -1 && !is_closed)
		return -1;
	while (ms_left(deadline) > 0 && execsrv_wait(x, ms_left(deadline)) ==
	    0)
		;
	return 0;
}

void
execsrv_close(struct execsrv **xp)
{
	static const uint8_t	 normal[2] = { 1000 >> 8, 1000 & 0xff };
	struct execsrv		*x = *xp;
	uint64_t		 deadline = clock_ms() + CLOSE_MS;

	if (x != NULL && execsrv_is_open(x) &&
	    execsrv_send(x, WS_CLOSE, normal, sizeof(normal)) == 0) {
		/* Nobody listens any more, but all that was said is sent. */
		x->held = true;
		while (x->out.len > 0 && ms_left(deadline) > 0 &&
		    execsrv_wait(x, ms_left(deadline)) == 0)
			;
		execsrv_end_child(x, true);
	}
	execsrv_free(xp);
}
