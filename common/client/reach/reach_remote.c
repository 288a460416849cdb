/*
 * The harness's side of remote mode (PROTOCOL 12): request a connection from
 * the registry, claim a stream at the rendezvous, do the handshake as the
 * initiator, then exchange records.  The key pair is made for each process.
 */
#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/client/reach/reach_conn.h"
#include "common/clock.h"
#include "common/dial/registry.h"
#include "common/limit.h"
#include "common/noise/record.h"
#include "common/noise/relay.h"
#include "common/noise/stream.h"

#define PAUSE_MIN	500	/* ms; those of executors, PROTOCOL 12.3 */
#define PAUSE_MAX	5000
#define GREETING_MAX	(NOISE_REQUEST + LIMIT_RELAY_AUTHORIZATION)
#define ROOM		(STREAM_FRAME_MAX > GREETING_MAX + RELAY_ROOM ? \
			STREAM_FRAME_MAX : GREETING_MAX + RELAY_ROOM)

enum remote_state {
	REMOTE_ASKING,		/* the registry, or in a pause before */
	REMOTE_CONNECTING,	/* to the rendezvous */
	REMOTE_GREETING,	/* waits for message 2 */
	REMOTE_OPEN
};

/* In locked memory. */
struct remote {
	enum remote_state		 state;
	struct registry			 registry;
	uint8_t				 nonce[REGISTRY_NONCE];
	struct noise_identity		 self;
	struct answer_connection	 bundle;	/* of this attempt */
	struct noise_initiator		 handshake;
	struct noise_random		 random;	/* wiped after use */
	struct noise_keys		 keys;
	struct stream_id		 id;
	bool				 must_claim, must_greet, is_refused;
	struct record_writer		 out;
	struct record_reader		 in;
	struct record_cutter		 cutter;
	bool				 is_cutting;
	struct wsloop_timer		 again;
	uint64_t			 deadline, pause;	/* ms */
	uint8_t				 room[LWS_PRE + ROOM];
};

/* --- the registry --- */

static void	 on_connection(void *arg,
		    const struct registry_connection *res);

static void
reach_remote_ask(void *arg)
{
	struct reach	*r = arg;

	r->remote->state = REMOTE_ASKING;
	registry_connect(&r->remote->registry, &r->remote->self.pub,
	    on_connection, r);
}

static void	 try_again(struct reach *r, uint64_t at_least,
		    const char *fmt, ...) PRINTF(3, 4);

/* Try again after a pause, or fail if that is after the deadline. */
static void
try_again(struct reach *r, uint64_t at_least, const char *fmt, ...)
{
	struct remote	*m = r->remote;
	uint64_t	 ms = m->pause +
			    randombytes_uniform((uint32_t)m->pause / 2);
	char		 why[200];
	va_list		 ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	m->pause = m->pause * 2 < PAUSE_MAX ? m->pause * 2 : PAUSE_MAX;
	ms = ms > at_least ? ms : at_least;
	if (clock_ms() + ms >= m->deadline)
		reach_fail(r, false, "%s", why);
	else
		wsloop_timer_set(&r->loop, &m->again, ms, reach_remote_ask, r);
}

static bool
reach_remote_is_passing(const struct registry_connection *res)
{
	return (res->status == 0 && !res->is_distrusted) ||
	    res->status == 408 || res->status == 429 || res->status >= 500 ||
	    (res->status == 409 && strcmp(res->code, "environment_offline") ==
	    0);
}

static void
reach_remote_connect_to(struct reach *r)
{
	struct remote	*m = r->remote;
	uint64_t	 now = clock_ms();
	struct target	 t;

	if (target_parse(&t, m->bundle.of.url, "ws", "wss") == -1) {
		if (m->bundle.of.is_long)
			reach_fail(r, true, "the registry gave a rendezvous "
			    "URL of more than %d bytes", TARGET_PATH - 1);
		else
			reach_fail(r, false, "the registry names no "
			    "rendezvous");
		return;
	}
	m->state = REMOTE_CONNECTING;
	(void)reach_connect(r, &t, m->deadline > now ? m->deadline - now : 1,
	    (size_t)LIMIT_RELAY_MESSAGE);
}

static void
on_connection(void *arg, const struct registry_connection *res)
{
	struct reach	*r = arg;

	if (res->is_good) {
		r->remote->bundle = *res->answer;
		reach_remote_connect_to(r);
	} else if (res->status == 200) {
		reach_fail(r, false, "the registry gave no valid answer");
	} else if (res->status == 0 && !reach_remote_is_passing(res)) {
		reach_fail(r, true, "registry: %s", res->why);
	} else if (res->status == 0) {
		try_again(r, 0, "registry: %s", res->why);
	} else if (reach_remote_is_passing(res)) {
		try_again(r, res->retry_after, "the registry refused: HTTP "
		    "%u %s", res->status, res->code);
	} else {
		reach_fail(r, true, "the registry refused: HTTP %u %s",
		    res->status, res->code);
	}
}

/* --- the handshake --- */

/* Make a stream id: a UUID, version 4. */
static void
choose_id(struct stream_id *id)
{
	uint8_t	 b[16];

	randombytes_buf(b, sizeof(b));
	b[6] = (b[6] & 0x0f) | 0x40;
	b[8] = (b[8] & 0x3f) | 0x80;
	id->len = (size_t)snprintf(id->text, sizeof(id->text),
	    "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
	    "%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5],
	    b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

static struct relay_frame
frame_of(const struct remote *m, enum relay_kind kind)
{
	struct relay_frame	 f;

	memset(&f, 0, sizeof(f));
	f.kind = kind;
	f.id.at = m->id.text;
	f.id.len = m->id.len;
	return f;
}

/* Write the frame that claims the id at the rendezvous. */
static ssize_t
put_claim(struct remote *m)
{
	struct relay_frame	 f = frame_of(m, RELAY_RESUME);

	assert(m->state == REMOTE_GREETING && m->must_claim);
	m->must_claim = false;
	return relay_encode(&f, m->room + LWS_PRE, ROOM);
}

/* Write message 1.  Its length, or -1 with errno. */
static ssize_t
put_initialize(struct remote *m)
{
	struct relay_frame	 f = frame_of(m, RELAY_HANDSHAKE);
	struct noise_name	 name;
	uint8_t			 message[GREETING_MAX];
	size_t			 len = strlen(m->bundle.authorization);
	int			 n;

	assert(m->state == REMOTE_GREETING && !m->must_claim);
	m->must_greet = false;
	name.environment.at = m->registry.environment;
	name.environment.len = strlen(name.environment.at);
	name.registration.at = m->bundle.of.id;
	name.registration.len = strlen(name.registration.at);
	name.stream = f.id;
	noise_random_fill(&m->random);
	n = noise_request(&m->handshake, &m->self, &m->bundle.executor, &name,
	    &m->random, m->bundle.authorization, len, message);
	sodium_memzero(&m->random, sizeof(m->random));
	sodium_memzero(m->bundle.authorization, len);
	if (n == -1)
		return -1;
	f.payload = message;
	f.len = (size_t)n;
	return relay_encode(&f, m->room + LWS_PRE, ROOM);
}

static void
reach_remote_on_open(struct reach *r)
{
	struct remote	*m = r->remote;

	assert(m->state == REMOTE_CONNECTING);
	m->state = REMOTE_GREETING;
	m->must_claim = m->must_greet = true;
	m->is_refused = false;
	choose_id(&m->id);
	reach_want(r);
}

/* Message 2; with a payload it is a rejection. */
static void
reach_remote_on_handshake(struct reach *r, const struct relay_frame *f)
{
	struct remote	*m = r->remote;
	uint8_t		 words[sizeof(STREAM_REJECTION)];
	int		 n;

	if (m->state != REMOTE_GREETING || m->must_greet) {
		reach_fail(r, false, "unexpected handshake");
		return;
	}
	n = noise_take_response(&m->handshake, &m->self, f->payload, f->len,
	    words, sizeof(words), &m->keys);
	if (n == -1) {
		reach_fail(r, false, "the peer has not the executor's key "
		    "that the registry names");
		return;
	}
	if (n > 0) {
		reach_fail(r, true, "the registry rejects the executor's "
		    "credential");
	} else if (record_writer_init(&m->out, m->keys.send) == -1 ||
	    record_reader_init(&m->in, m->keys.receive) == -1) {
		reach_fail(r, false, "out of memory");
	} else {
		m->state = REMOTE_OPEN;
		reach_ready(r);
	}
	sodium_memzero(&m->keys, sizeof(m->keys));
}

/* --- records --- */

static void
reach_remote_deliver(struct reach *r)
{
	uint8_t	*data;
	size_t	 len;

	while (!r->is_ending && !stdio_peer_is_full(&r->stdio_peer) &&
	    record_first(&r->remote->in, &data, &len)) {
		reach_deliver(r, data, len);
		record_drop(&r->remote->in);
	}
}

static void
reach_remote_on_data(struct reach *r, const struct relay_frame *f)
{
	if (r->remote->state != REMOTE_OPEN)
		reach_fail(r, false, "data before the handshake");
	else if (record_put(&r->remote->in, f->seq, f->payload, f->len) == -1)
		reach_fail(r, false, "record out of order: %s",
		    strerror(errno));
	else
		reach_remote_deliver(r);
}

static void
on_reset(struct reach *r)
{
	if (r->remote->state == REMOTE_OPEN) {
		reach_fail(r, false, "the environment ended the stream");
		return;
	}
	r->remote->is_refused = true;
	wsock_fail(r->sock);
}

static void
reach_remote_on_message(struct reach *r, uint8_t *data, size_t len,
    bool is_binary)
{
	struct remote		*m = r->remote;
	struct relay_frame	 f;

	if (!is_binary || relay_decode(&f, data, len) == -1)
		return;
	if (f.id.len != m->id.len ||
	    memcmp(f.id.at, m->id.text, f.id.len) != 0) {
		relay_free(&f);
		return;
	}
	if (f.kind == RELAY_HANDSHAKE)
		reach_remote_on_handshake(r, &f);
	else if (f.kind == RELAY_DATA)
		reach_remote_on_data(r, &f);
	else if (f.kind == RELAY_RESET)
		on_reset(r);
	relay_free(&f);
}

/* Write the next record of a message: its length; 0: none; -1 with errno. */
static ssize_t
put_record(struct reach *r)
{
	struct remote		*m = r->remote;
	struct relay_frame	 f = frame_of(m, RELAY_DATA);
	uint8_t			 sealed[RECORD_SEALED_MAX];
	const uint8_t		*data;
	size_t			 len;
	int			 n = 0;

	assert(m->state == REMOTE_OPEN);
	while (n == 0) {
		if (!stdio_peer_first(&r->stdio_peer, &data, &len))
			return 0;
		if (!m->is_cutting && record_cut(&m->cutter, data, len) == -1)
			return -1;
		m->is_cutting = true;
		if ((n = record_seal(&m->out, &m->cutter, sealed, &f.seq)) ==
		    -1)
			return -1;
		if (n == 0) {
			m->is_cutting = false;
			stdio_peer_drop(&r->stdio_peer);
		}
	}
	f.payload = sealed;
	f.len = (size_t)n;
	return relay_encode(&f, m->room + LWS_PRE, ROOM);
}

static bool
reach_remote_send_frame(struct reach *r)
{
	struct remote	*m = r->remote;
	ssize_t		 n = 0;

	if (m->state == REMOTE_GREETING && m->must_claim)
		n = put_claim(m);
	else if (m->state == REMOTE_GREETING && m->must_greet)
		n = put_initialize(m);
	else if (m->state == REMOTE_OPEN)
		n = put_record(r);
	if (n == -1)
		reach_fail(r, false, "the stream failed: %s",
		    strerror(errno));
	else if (n > 0)
		wsock_send(r->sock, m->room + LWS_PRE, (size_t)n,
		    WSOCK_BINARY);
	return n > 0;
}

/* --- beginning and end --- */

static bool
reach_remote_on_end(struct reach *r, unsigned status, const char *why)
{
	if (r->remote->state == REMOTE_OPEN || wsock_is_distrusted(r->sock))
		return false;
	if (r->remote->is_refused)
		try_again(r, 0, "the environment refused the stream");
	else if (status != 0)
		try_again(r, 0, "the rendezvous refused: HTTP %u", status);
	else
		try_again(r, 0, "rendezvous: %s", why);
	reach_disconnect(r);		/* frees why: last */
	return true;
}

static int
make_key(struct remote *m)
{
	int	 r;

	noise_random_fill(&m->random);
	r = noise_identity_make(&m->self, m->random.dh, m->random.kem);
	sodium_memzero(&m->random, sizeof(m->random));
	return r;
}

static int
reach_remote_start(struct reach *r)
{
	struct remote	*m;
	const char	*why;

	assert(r->remote == NULL);
	if ((m = r->remote = sodium_malloc(sizeof(*m))) == NULL) {
		reach_fail(r, false, "out of memory");
		return -1;
	}
	memset(m, 0, sizeof(*m));
	m->pause = PAUSE_MIN;
	/* Before the library's own timeout, to report the reason. */
	m->deadline = clock_ms() + r->reach_target.connect_ms -
	    r->reach_target.connect_ms / 10;
	if (registry_init(&m->registry, &r->dialer, r->reach_target.url,
	    ANSWER_NOISE, r->reach_target.environment, "", m->nonce) == -1) {
		reach_fail(r, true, "not a valid registry URL or environment "
		    "id");
		return -1;
	}
	if ((why = dialer_trouble(&r->dialer, &m->registry.base)) != NULL) {
		reach_fail(r, true, "%s: %s", m->registry.base.host, why);
		return -1;
	}
	if (registry_set_bearer(&m->registry, r->reach_target.token) == -1 ||
	    make_key(m) == -1) {
		reach_fail(r, false, "cannot make a key: %s", strerror(errno));
		return -1;
	}
	reach_remote_ask(r);
	return 0;
}

static void
reach_remote_fini(struct reach *r)
{
	struct remote	*m = r->remote;

	if (m == NULL)
		return;
	wsloop_timer_clear(&r->loop, &m->again);
	/* NULL: registry_init() was not called. */
	if (m->registry.dialer != NULL)
		registry_fini(&m->registry);
	record_writer_fini(&m->out);
	record_reader_fini(&m->in);
	sodium_free(m);
}

const struct reach_ops	 reach_remote_ops = {
	reach_remote_start, reach_remote_fini, reach_remote_on_open,
	    reach_remote_on_message, reach_remote_send_frame,
	    reach_remote_deliver, reach_remote_on_end
};
