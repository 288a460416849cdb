#include "master/hub/fleet/natslink.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/json/json.h"
#include "common/json/utf8.h"
#include "common/log.h"
#include "common/repeat.h"
#include "master/hub/relay/hubdial.h"

#define READ_ROOM	(32 * 1024)
#define AGAIN_MS	250	/* before another attempt, and half as much */
#define AGAIN_MAX_MS	4000	/* of a server that takes us and fails soon */
#define STEADY_MS	10000	/* it does not */
#define BEGIN_MS	5000	/* for connecting, TLS, and the first PONG */
#define PING_MS		5000
#define DOUBT_MS	1000	/* for a PONG, once something was missed */

enum natslink_state {
	NATSLINK_APART,		/* waits before the next attempt */
	NATSLINK_NAMED,		/* waits for an address */
	NATSLINK_GREETED,	/* waits for INFO */
	NATSLINK_SECURED,	/* waits for TLS */
	NATSLINK_ASKED,		/* waits for the PONG behind CONNECT */
	NATSLINK_UP
};

struct natslink {
	struct natslink_how		 how;
	const struct natslink_events	*events;
	void				*arg;
	enum natslink_state		 state;
	size_t				 turn;		/* of servers */
	uint32_t			 again;		/* ms */
	uint64_t			 since;		/* ms: it is up */
	struct hubconn			*conn;
	struct buf			 in;
	struct span			 nonce;		/* of INFO, ours */
	char				 nonce_text[128];
	struct timer			 timer;
	unsigned			 unanswered;	/* PINGs */
	struct repeat			 said[NATSLINK_SERVERS];
	struct repeat			 denied;	/* to us */
};

static void	 natslink_on_readable(void *arg);
static void	 natslink_on_drained(void *arg);
static void	 natslink_on_broken(void *arg);
static void	 natslink_on_timer(void *arg);

static const struct hubconn_events natslink_conn_events = {
	.on_readable = natslink_on_readable,
	.on_drained = natslink_on_drained,
	.on_broken = natslink_on_broken,
};

int
natslink_parse(struct natslink_server *s, const char *url)
{
	struct endpoint	 ep;
	const char	*colon, *at;
	char		*end;
	unsigned long	 port;
	uint8_t		 address[sizeof(struct in6_addr)];

	memset(s, 0, sizeof(*s));
	if (strncmp(url, "tls://", 6) == 0)
		s->needs_tls = true;
	else if (strncmp(url, "nats://", 7) != 0)
		return -1;
	at = strstr(url, "://") + 3;
	if (strchr(at, '/') == NULL &&
	    endpoint_parse_tcp(&ep, at) == ENDPOINT_OK) {
		snprintf(s->host, sizeof(s->host), "%s", ep.host);
		s->port = ep.port;
		if (inet_pton(AF_INET, s->host, address) != 1 &&
		    inet_pton(AF_INET6, s->host, address) != 1)
			s->is_name = true;
		return s->port == 0 ? -1 : 0;
	}
	if ((colon = strchr(at, ':')) == NULL || colon == at ||
	    (size_t)(colon - at) >= sizeof(s->host) ||
	    strspn(at, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "0123456789-_.") != (size_t)(colon - at))
		return -1;
	port = strtoul(colon + 1, &end, 10);
	if (colon[1] < '1' || colon[1] > '9' || *end != '\0' ||
	    port > UINT16_MAX)
		return -1;
	memcpy(s->host, at, (size_t)(colon - at));
	s->port = (uint16_t)port;
	s->is_name = true;
	return 0;
}

/* --- connecting --- */

static const struct natslink_server *
natslink_server(const struct natslink *l)
{
	return &l->how.server[l->turn % l->how.nserver];
}

static void
natslink_set_state(struct natslink *l, enum natslink_state to)
{
	bool	 was_up = l->state == NATSLINK_UP;

	assert(to == NATSLINK_APART || to == l->state + 1 ||
	    (l->state == NATSLINK_APART && to == NATSLINK_GREETED) ||
	    (l->state == NATSLINK_GREETED && to == NATSLINK_ASKED));
	l->state = to;
	if (to == NATSLINK_UP) {
		l->since = clock_ms();
		repeat_end(&l->said[l->turn % l->how.nserver]);
		l->events->on_up(l->arg);
	} else if (was_up) {
		l->events->on_down(l->arg);
	}
}

/* About how many ms to wait.  All that we have is claimed again each time. */
static uint32_t
natslink_pause(struct natslink *l)
{
	if (l->state != NATSLINK_UP)
		return l->again;
	if (clock_ms() - l->since >= STEADY_MS)
		l->again = AGAIN_MS;
	else if (l->again < AGAIN_MAX_MS)
		l->again *= 2;
	return l->again;
}

/* Give it up and try the next one, a little later. */
static void
natslink_fail(struct natslink *l, const char *why)
{
	uint32_t	 pause;

	if (repeat_is_due(&l->said[l->turn % l->how.nserver], why,
	    clock_ms()))
		log_warnx("engine %s:%u: %s", natslink_server(l)->host,
		    natslink_server(l)->port, why);
	hubconn_free(&l->conn);
	sodium_memzero(l->nonce_text, sizeof(l->nonce_text));
	l->nonce = (struct span){ NULL, 0 };
	buf_fini(&l->in);
	l->unanswered = 0;
	l->turn++;
	pause = natslink_pause(l);
	timer_set(&l->timer, pause / 2 + randombytes_uniform(pause));
	natslink_set_state(l, NATSLINK_APART);
}

static void
natslink_connect(struct natslink *l, const char *host)
{
	assert(l->conn == NULL && l->in.len == 0);
	if (hubdial(l->how.conns, host, natslink_server(l)->port,
	    &l->conn) == -1) {
		natslink_fail(l, strerror(errno));
		return;
	}
	hubconn_own(l->conn, &natslink_conn_events, l);
	timer_set(&l->timer, BEGIN_MS);
	natslink_set_state(l, NATSLINK_GREETED);
}

static void
natslink_on_name(void *arg, const char *address)
{
	struct natslink	*l = arg;

	if (l->state != NATSLINK_NAMED)
		return;
	if (address[0] == '\0')
		natslink_fail(l, "there is no such host");
	else
		natslink_connect(l, address);
}

static void
natslink_begin(struct natslink *l)
{
	const struct natslink_server	*s = natslink_server(l);

	assert(l->state == NATSLINK_APART);
	if (!s->is_name) {
		natslink_connect(l, s->host);
	} else if (hubnames_ask(l->how.names, s->host) == -1) {
		natslink_fail(l, "names cannot be looked up");
	} else {
		natslink_set_state(l, NATSLINK_NAMED);
		timer_set(&l->timer, BEGIN_MS);
	}
}

/* --- greeting --- */

static void
natslink_introduce(struct natslink *l)
{
	struct buf	 b;

	assert(hubconn_is_secure(l->conn) == (l->state == NATSLINK_SECURED));
	buf_init(&b, 64 * 1024);
	if (natscred_connect(l->how.cred, l->nonce, l->how.name, &b) == -1 ||
	    buf_put(&b, "PING\r\n", 6) == -1) {
		buf_fini(&b);
		natslink_fail(l, strerror(ENOMEM));
		return;
	}
	natslink_set_state(l, NATSLINK_ASKED);
	hubconn_write(l->conn, &(struct iovec){ buf_data(&b), b.len }, 1);
	sodium_memzero(b.base, b.cap);
	buf_fini(&b);
}

static bool
natslink_is_set(const struct json *j, const char *key)
{
	uint32_t	 i = json_find(j, 0, key);

	return i != 0 && json_tok(j, i)->type == JSON_TRUE;
}

/* What matters of INFO.  NULL, or what is wrong. */
static const char *
natslink_read_info(struct natslink *l, struct span text, bool *wants_tls_out)
{
	struct json	 j;
	const char	*why = "its INFO is malformed";
	uint32_t	 i;

	json_init(&j);
	if (!utf8_is_valid(text.at, text.len) ||
	    json_parse(&j, (char *)(uintptr_t)text.at, text.len) == -1 ||
	    json_tok(&j, 0)->type != JSON_OBJECT)
		goto out;
	if ((i = json_find(&j, 0, "nonce")) != 0 &&
	    json_tok(&j, i)->type == JSON_STRING &&
	    json_tok(&j, i)->len < sizeof(l->nonce_text)) {
		memcpy(l->nonce_text, json_text(&j, i), json_tok(&j, i)->len);
		l->nonce = (struct span){ l->nonce_text, json_tok(&j, i)->len };
	}
	why = "it knows no headers: too old";
	if (!natslink_is_set(&j, "headers"))
		goto out;
	*wants_tls_out = natslink_is_set(&j, "tls_required") ||
	    (natslink_server(l)->needs_tls &&
	    natslink_is_set(&j, "tls_available"));
	why = !*wants_tls_out && natslink_server(l)->needs_tls ?
	    "it has no TLS" : *wants_tls_out && l->how.tls == NULL ?
	    "it wants TLS: CaFile is needed" : NULL;
 out:
	json_fini(&j);
	return why;
}

static void
natslink_on_info(struct natslink *l, struct span text)
{
	const char	*why;
	bool		 wants_tls = false;

	/* Later ones tell of other servers. */
	if (l->state != NATSLINK_GREETED)
		return;
	if ((why = natslink_read_info(l, text, &wants_tls)) != NULL) {
		natslink_fail(l, why);
	} else if (!wants_tls) {
		natslink_introduce(l);
	} else if (hubconn_secure(l->conn, l->how.tls,
	    natslink_server(l)->host) == -1) {
		natslink_fail(l, "TLS");
	} else {
		natslink_set_state(l, NATSLINK_SECURED);
	}
}

/* --- what it sends --- */

/* False: the connection is over. */
static bool
natslink_take(struct natslink *l, const struct natswire *w)
{
	char	 why[128];

	switch (w->op) {
	case NATSWIRE_INFO:
		natslink_on_info(l, w->data);
		break;
	case NATSWIRE_PING:
		hubconn_write(l->conn, &(struct iovec){
		    (void *)(uintptr_t)"PONG\r\n", 6 }, 1);
		break;
	case NATSWIRE_PONG:
		l->unanswered = 0;
		if (l->state == NATSLINK_ASKED) {
			timer_set(&l->timer, PING_MS);
			natslink_set_state(l, NATSLINK_UP);
		}
		break;
	case NATSWIRE_MSG:
		if (l->state == NATSLINK_UP)
			l->events->on_message(l->arg, w);
		break;
	case NATSWIRE_ERR:
		snprintf(why, sizeof(why), "it says %.*s", (int)w->data.len,
		    w->data.at);
		if (l->state == NATSLINK_UP &&
		    span_begins(w->data, "'Permissions Violation")) {
			if (repeat_is_due(&l->denied, "", clock_ms()))
				log_warnx("engine: %s", why);
			break;
		}
		natslink_fail(l, why);
		break;
	case NATSWIRE_OK:
		break;
	default:
		natslink_fail(l, "what it sends is no NATS");
		break;
	}
	return l->conn != NULL;
}

static void
natslink_process(struct natslink *l)
{
	struct natswire	 w;
	size_t		 n;

	for (;;) {
		/* What came behind INFO is not covered by TLS. */
		if (l->state == NATSLINK_SECURED && l->in.len > 0) {
			natslink_fail(l, "it sent something before TLS");
			return;
		}
		n = natswire_read((const char *)buf_data(&l->in), l->in.len,
		    &w);
		if (w.op == NATSWIRE_PART)
			break;
		if (!natslink_take(l, &w))
			return;
		buf_drain(&l->in, n);
	}
	buf_trim(&l->in, 0);
}

static void
natslink_on_readable(void *arg)
{
	struct natslink	*l = arg;
	void		*room;
	ssize_t		 n;

	assert(l->conn != NULL && l->state >= NATSLINK_GREETED);
	if ((room = buf_reserve(&l->in, READ_ROOM)) == NULL) {
		natslink_fail(l, strerror(errno));
		return;
	}
	if ((n = hubconn_read(l->conn, room, READ_ROOM)) == -1) {
		natslink_fail(l, l->state == NATSLINK_SECURED ?
		    "TLS: its certificate is not good for its name, or by "
		    "CaFile" : l->state == NATSLINK_GREETED ?
		    "no connection" : "the connection is lost");
		return;
	}
	buf_commit(&l->in, (size_t)n);
	if (l->state == NATSLINK_SECURED && hubconn_is_secure(l->conn))
		natslink_introduce(l);
	if (l->in.len > 0)
		natslink_process(l);
}

static void
natslink_on_drained(void *arg)
{
	struct natslink	*l = arg;

	if (l->state == NATSLINK_UP)
		l->events->on_drained(l->arg);
}

static void
natslink_on_broken(void *arg)
{
	natslink_fail(arg, "the connection is lost");
}

/* --- whether it lives --- */

static void
natslink_ping(struct natslink *l, uint64_t next)
{
	assert(l->state == NATSLINK_UP && l->unanswered == 0);
	l->unanswered++;
	timer_set(&l->timer, next);
	hubconn_write(l->conn, &(struct iovec){
	    (void *)(uintptr_t)"PING\r\n", 6 }, 1);
}

static void
natslink_on_timer(void *arg)
{
	struct natslink	*l = arg;

	if (l->state == NATSLINK_APART)
		natslink_begin(l);
	else if (l->state != NATSLINK_UP || l->unanswered > 0)
		natslink_fail(l, "it does not answer");
	else
		natslink_ping(l, PING_MS);
}

void
natslink_doubt(struct natslink *l)
{
	if (l->state == NATSLINK_UP && l->unanswered == 0)
		natslink_ping(l, DOUBT_MS);
}

bool
natslink_is_up(const struct natslink *l)
{
	return l->state == NATSLINK_UP;
}

struct event_base *
natslink_base(const struct natslink *l)
{
	return l->how.base;
}

/* --- sending --- */

void
natslink_send(struct natslink *l, const struct buf *b)
{
	if (l->state == NATSLINK_UP && b->len > 0)
		hubconn_write(l->conn, &(struct iovec){ buf_data(b), b->len },
		    1);
}

size_t
natslink_queued(const struct natslink *l)
{
	return l->conn == NULL ? 0 : hubconn_queued(l->conn);
}

/* --- life --- */

struct natslink *
natslink_new(const struct natslink_how *how, const struct natslink_events *e,
    void *arg)
{
	struct natslink	*l;

	assert(how->nserver > 0 && how->nserver <= NATSLINK_SERVERS);
	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->events = e;
	l->arg = arg;
	l->how = *how;
	l->again = AGAIN_MS;
	/* Not all hubs begin with the same one. */
	l->turn = randombytes_uniform((uint32_t)how->nserver);
	buf_init(&l->in, 2 * NATSWIRE_DATA_MAX);
	timer_init(&l->timer, how->base, natslink_on_timer, l);
	if (how->names != NULL && hubnames_attach(how->names, how->base,
	    natslink_on_name, l) == -1) {
		free(l);
		return NULL;
	}
	timer_set(&l->timer, 0);
	return l;
}

void
natslink_free(struct natslink **lp)
{
	struct natslink	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	timer_stop(&l->timer);
	/* What we said last is to be sent. */
	if (l->state == NATSLINK_UP)
		hubconn_finish(&l->conn);
	hubconn_free(&l->conn);
	buf_fini(&l->in);
	hubnames_free(&l->how.names);
	natscred_free(&l->how.cred);
	SSL_CTX_free(l->how.tls);
	free(l);
}
