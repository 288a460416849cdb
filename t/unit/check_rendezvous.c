/*
 * master/uplink/rendezvous.c: when it connects, pauses, asks and gives up.  The
 * websocket, its streams, chance and time are ours.
 */
#include <sys/socket.h>

#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limit.h"
#include "master/uplink/carrier.h"
#include "master/uplink/rendezvous.h"
#include "master/uplink/uplink_env.h"

#define SOCK	((struct wsock *)8)
#define STREAMS	((struct carrier *)16)

static struct uplink_env	 env;
static struct rendezvous	 r;
static uint64_t			 now;		/* us */
static uint32_t			 chance;	/* UINT32_MAX: the most */
static bool			 is_full, no_streams, no_sock;
static size_t			 frame;		/* of the next one, bytes */
static size_t			 nframes;	/* that there are */
static const struct wsock_events *events;
static const struct carrier_line *line;
static void			*line_arg;
static char			 did[4000];

static void
tell(const char *what)
{
	ck_assert_uint_lt(strlen(did) + strlen(what) + 2, sizeof(did));
	strcat(did, did[0] != '\0' ? " " : "");
	strcat(did, what);
}

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

/* --- in the place of time and chance --- */

uint64_t
clock_ms(void)
{
	return now / 1000;
}

uint64_t
clock_us(void)
{
	return now;
}

uint32_t
randombytes_uniform(const uint32_t below)
{
	return chance < below ? chance : below - 1;
}

static struct {
	struct wsloop_timer	*t;
	uint64_t		 due;		/* ms */
} timers[4];

void
wsloop_timer_clear(struct wsloop *l, struct wsloop_timer *t)
{
	int	 i;

	ck_assert_ptr_eq(l, &env.loop);
	for (i = 0; i < 4; i++)
		if (timers[i].t == t)
			timers[i].t = NULL;
}

void
wsloop_timer_set(struct wsloop *l, struct wsloop_timer *t, uint64_t ms,
    void (*fn)(void *arg), void *arg)
{
	int	 i;

	wsloop_timer_clear(l, t);
	t->fn = fn;
	t->arg = arg;
	for (i = 0; timers[i].t != NULL; i++)
		ck_assert_int_lt(i, 3);
	timers[i].t = t;
	timers[i].due = now / 1000 + ms;
}

/* In how many ms a timer is due; 0: it is not set. */
static uint64_t
due(const struct wsloop_timer *t)
{
	int	 i;

	for (i = 0; i < 4; i++)
		if (timers[i].t == t)
			return timers[i].due - now / 1000;
	return 0;
}

static void
fire(struct wsloop_timer *t)
{
	now += due(t) * 1000;
	wsloop_timer_clear(&env.loop, t);
	t->fn(t->arg);
}

/* --- in the place of the websocket --- */

struct wsock *
wsock_new(struct dialer *d, const struct target *t, uint64_t ms, size_t max,
    const struct wsock_events *e, void *arg)
{
	char	 text[300];

	ck_assert(d == &env.dialer && arg == &r && ms == LIMIT_RENDEZVOUS);
	ck_assert_uint_eq(max, env.registry.kind == ANSWER_PLAIN ?
	    LIMIT_MESSAGE : LIMIT_RELAY_MESSAGE);
	events = e;
	snprintf(text, sizeof(text), "dial:%s", t->host);
	tell(text);
	return no_sock ? NULL : SOCK;
}

void
wsock_free(struct wsock **sp)
{
	if (*sp != NULL)
		tell("free");
	*sp = NULL;
}

void
wsock_set_header(struct wsock *s, const char *name, const char *value)
{
	ck_assert_ptr_eq(s, SOCK);
	tell(name);
	tell(value);
}

void
wsock_want(struct wsock *s)
{
	ck_assert_ptr_eq(s, SOCK);
	tell("want");
}

bool
wsock_is_full(struct wsock *s)
{
	ck_assert_ptr_eq(s, SOCK);
	return is_full;
}

void
wsock_send(struct wsock *s, uint8_t *data, size_t len, int flags)
{
	char	 text[40];

	(void)data;
	ck_assert(s == SOCK && flags == WSOCK_BINARY);
	snprintf(text, sizeof(text), "send:%zu", len);
	tell(text);
}

void
wsock_ping(struct wsock *s)
{
	ck_assert_ptr_eq(s, SOCK);
	tell("ping");
}

void
wsock_fail(struct wsock *s)
{
	ck_assert_ptr_eq(s, SOCK);
	tell("fail");
}

int
wsock_fd(struct wsock *s)
{
	ck_assert_ptr_eq(s, SOCK);
	return -1;
}

/* --- in the place of its streams --- */

struct carrier *
carrier_new(struct uplink_env *e, const struct carrier_line *l, void *arg)
{
	ck_assert_ptr_eq(e, &env);
	line = l;
	line_arg = arg;
	return no_streams ? NULL : STREAMS;
}

void
carrier_free(struct carrier **cp)
{
	if (*cp != NULL)
		tell("end");
	*cp = NULL;
}

void
carrier_on_message(struct carrier *c, uint8_t *data, size_t len,
    bool is_binary)
{
	ck_assert(c == STREAMS && data != NULL && len == 5 && is_binary);
	tell("message");
}

size_t
carrier_next(struct carrier *c, uint8_t **frame_out, bool *is_binary_out)
{
	static uint8_t	 room[1];

	ck_assert_ptr_eq(c, STREAMS);
	if (nframes == 0)
		return 0;
	nframes--;
	*frame_out = room;
	*is_binary_out = true;
	return frame;
}

void
carrier_on_proof(struct carrier *c)
{
	ck_assert_ptr_eq(c, STREAMS);
	tell("proof");
}

unsigned
carrier_streams(const struct carrier *c)
{
	(void)c;
	return 1;
}

static void
on_news(void *arg, uint64_t ms)
{
	(void)arg;
	ck_assert(ms == 0 || ms == LIMIT_RENDEZVOUS_TOLD);
}

static const struct uplink_events	 uplink_events = {
	.on_news = on_news
};

/* --- tests --- */

static void
setup(void)
{
	now = 5000000;
	memset(&env, 0, sizeof(env));
	memset(timers, 0, sizeof(timers));
	env.events = &uplink_events;
	env.registry.kind = ANSWER_NOISE;
	strcpy(env.registered.url, "wss://a.test/");
	is_full = no_streams = no_sock = false;
	chance = 0;
	nframes = 0;
	frame = 1000;
	did[0] = '\0';
	rendezvous_init(&r, &env);
}

static void
teardown(void)
{
	size_t	 i;

	rendezvous_fini(&r);
	for (i = 0; i < 4; i++)
		ck_assert_ptr_null(timers[i].t);
}

static void
connect_it(void)
{
	rendezvous_start(&r);
	ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__CONNECTING);
	events->on_open(&r);
	did[0] = '\0';
}

START_TEST(test_connects)
{
	env.registry.kind = _i == 0 ? ANSWER_NOISE : ANSWER_PLAIN;
	rendezvous_start(&r);
	ck_did(_i == 0 ? "dial:a.test x-execsrv-relay: flow" :
	    "dial:a.test");
	/* Once is enough. */
	rendezvous_start(&r);
	ck_did("");
	events->on_open(&r);
	ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__CONNECTED);
	ck_assert_uint_eq(due(&r.ping), LIMIT_RENDEZVOUS_PING);
	events->on_message(&r, (uint8_t *)did, 5, true);
	ck_did("message");
	ck_assert_uint_eq(r.bytes_in, 5);
}
END_TEST

START_TEST(test_no_streams)
{
	no_streams = true;
	rendezvous_start(&r);
	did[0] = '\0';
	events->on_open(&r);
	ck_did("fail");
	ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__CONNECTING);
}
END_TEST

START_TEST(test_no_url)
{
	if (_i == 0)
		strcpy(env.registered.url, "http://a.test/");
	else
		no_sock = true;
	rendezvous_start(&r);
	ck_did(_i == 0 ? "" : "dial:a.test");
	ck_assert_int_eq(r.has_no_url, _i == 0);
	ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__PAUSING);
}
END_TEST

/* Between half a window and all of it, which doubles up to a limit. */
START_TEST(test_pauses)
{
	uint64_t	 window = LIMIT_RENDEZVOUS_WINDOW;

	chance = _i == 0 ? 0 : UINT32_MAX;
	rendezvous_start(&r);
	for (;;) {
		events->on_end(&r, 0, "gone");
		ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__PAUSING);
		ck_assert_uint_eq(due(&r.pause), _i == 0 ? window / 2 :
		    window / 2 + window / 2);
		if (window == LIMIT_RENDEZVOUS_PAUSE)
			break;
		window = window * 2 < LIMIT_RENDEZVOUS_PAUSE ? window * 2 :
		    LIMIT_RENDEZVOUS_PAUSE;
		/* A new registration does not make it earlier. */
		did[0] = '\0';
		rendezvous_start(&r);
		ck_did("");
		fire(&r.pause);
		ck_did("dial:a.test x-execsrv-relay: flow");
	}
	fire(&r.pause);
	events->on_end(&r, 0, "gone");
	ck_assert_uint_eq(due(&r.pause), _i == 0 ? window / 2 :
	    window / 2 + window / 2);
}
END_TEST

/* A connection that was stable begins with the first window again. */
START_TEST(test_stable)
{
	r.window = LIMIT_RENDEZVOUS_PAUSE;
	connect_it();
	now += (LIMIT_RENDEZVOUS_STABLE - 1 + (uint64_t)_i) * 1000;
	events->on_end(&r, 404, "gone");
	ck_did("end free");
	ck_assert_uint_eq(r.status, 0);
	ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__PAUSING);
	ck_assert_uint_eq(due(&r.pause), _i == 0 ?
	    LIMIT_RENDEZVOUS_PAUSE / 2 : LIMIT_RENDEZVOUS_WINDOW / 2);
}
END_TEST

static const struct {
	unsigned	 status;
	bool		 is_stale;
} refusals[] = {
	{ 399, false }, { 400, true }, { 499, true }, { 500, false }
};

/* One that is refused needs another registration, and a pause after it. */
START_TEST(test_refused)
{
	rendezvous_start(&r);
	events->on_end(&r, refusals[_i].status, "refused");
	ck_assert_uint_eq(r.status, refusals[_i].status);
	ck_assert_int_eq(r.phase, refusals[_i].is_stale ?
	    IPC__UPLINK_PHASE__STALE : IPC__UPLINK_PHASE__PAUSING);
	if (!refusals[_i].is_stale)
		return;
	did[0] = '\0';
	rendezvous_start(&r);
	ck_did("");
	ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__PAUSING);
	ck_assert_uint_eq(due(&r.pause), LIMIT_RENDEZVOUS_WINDOW / 2);
	fire(&r.pause);
	ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__CONNECTING);
}
END_TEST

/* Without Noise each connection needs one. */
START_TEST(test_plain)
{
	env.registry.kind = ANSWER_PLAIN;
	r.window = LIMIT_RENDEZVOUS_PAUSE;
	connect_it();
	events->on_end(&r, 0, "gone");
	ck_assert_int_eq(r.phase, IPC__UPLINK_PHASE__STALE);
	ck_assert_uint_eq(r.window, LIMIT_RENDEZVOUS_WINDOW);
}
END_TEST

/* --- what is sent --- */

START_TEST(test_turn)
{
	connect_it();
	nframes = 2;
	frame = 1;
	line->want(line_arg);
	line->want(line_arg);
	ck_did("want");
	ck_assert_uint_eq(due(&r.stuck), LIMIT_RENDEZVOUS_PONG);
	is_full = true;
	events->on_writable(&r);
	ck_did("want");
	ck_assert_uint_eq(r.bytes_out, 0);
	is_full = false;
	events->on_writable(&r);
	ck_did("send:1 send:1");
	ck_assert_uint_eq(due(&r.stuck), 0);
	ck_assert_uint_eq(line->sent(line_arg), 2);
}
END_TEST

/* A ping in time, and an answer to it in time. */
START_TEST(test_pings)
{
	connect_it();
	fire(&r.ping);
	ck_did("want");
	events->on_writable(&r);
	ck_did("ping");
	ck_assert_uint_eq(due(&r.ping), LIMIT_RENDEZVOUS_PING);
	ck_assert_uint_eq(due(&r.pong), LIMIT_RENDEZVOUS_PONG);
	if (_i == 0) {
		events->on_pong(&r);
		ck_did("want proof");
		ck_assert_uint_eq(due(&r.pong), 0);
		/* One that nobody asked for proves nothing. */
		events->on_pong(&r);
		ck_did("");
	} else {
		fire(&r.pong);
		ck_did("fail");
	}
}
END_TEST

START_TEST(test_stuck)
{
	connect_it();
	line->want(line_arg);
	did[0] = '\0';
	fire(&r.stuck);
	ck_did("fail");
}
END_TEST

/* The last LIMIT_UNPROVEN bytes count as read; for others it is asked. */
START_TEST(test_has_read)
{
	uint64_t	 read;

	connect_it();
	fire(&r.ping);
	events->on_writable(&r);
	events->on_pong(&r);
	events->on_writable(&r);
	ck_assert(!r.inflight.is_asked && !r.is_writing);
	did[0] = '\0';
	read = r.bytes_out;
	r.bytes_out += LIMIT_UNPROVEN;
	ck_assert(line->has_read(line_arg, r.bytes_out));
	ck_did("");
	r.bytes_out++;
	ck_assert(line->has_read(line_arg, read));
	ck_assert(!line->has_read(line_arg, read + 1));
	ck_did("want");
	events->on_writable(&r);
	ck_did("ping");
	events->on_pong(&r);
	ck_assert(line->has_read(line_arg, r.bytes_out));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("rendezvous");
	TCase	*t = tcase_create("rendezvous");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_connects, 0, 2);
	tcase_add_test(t, test_no_streams);
	tcase_add_loop_test(t, test_no_url, 0, 2);
	tcase_add_loop_test(t, test_pauses, 0, 2);
	tcase_add_loop_test(t, test_stable, 0, 2);
	tcase_add_loop_test(t, test_refused, 0, 4);
	tcase_add_test(t, test_plain);
	tcase_add_test(t, test_turn);
	tcase_add_loop_test(t, test_pings, 0, 2);
	tcase_add_test(t, test_stuck);
	tcase_add_test(t, test_has_read);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
