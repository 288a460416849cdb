/*
 * master/hub/relay/switchboard.c, hubdrain.c: whose stream a frame is of, who
 * is held up by whom, and what ends.  Websockets, timers and time are ours.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/noise/relay.h"
#include "master/hub/relay/hubdrain.h"
#include "master/hub/relay/relayhead.h"
#include "master/hub/relay/switchboard.h"
#include "t/unit/did_help.h"

#define LINKS	200
#define TIMERS	500
#define DATA(id)	"\x08\x01\x12\x01" id "\x2a\x01x"
#define RESET(id)	"\x08\x01\x12\x01" id "\x42\x03\x0a\x01x"

static struct switchboard	 b;
static struct subjects		 subjects;
static struct subject		*who;
static struct ticket		 ticket;
static uint64_t			 now;
static bool			 is_quiet, fails;

static void
tell(const char *what)
{
	if (!is_quiet)
		did("%s", what);
}

/* --- in the place of time --- */

static struct {
	struct timer	*t;
	uint64_t	 due;
} timers[TIMERS];

uint64_t
clock_ms(void)
{
	return now;
}

void
timer_init(struct timer *t, struct event_base *base, ev_fn *fn, void *arg)
{
	(void)base;
	t->fn = fn;
	t->arg = arg;
}

void
timer_stop(struct timer *t)
{
	int	 i;

	for (i = 0; i < TIMERS; i++)
		if (timers[i].t == t)
			timers[i].t = NULL;
}

bool
timer_is_set(const struct timer *t)
{
	int	 i;

	for (i = 0; i < TIMERS; i++)
		if (timers[i].t == t)
			return true;
	return false;
}

void
timer_set(struct timer *t, uint64_t ms)
{
	int	 i;

	timer_stop(t);
	for (i = 0; timers[i].t != NULL; i++)
		ck_assert_int_lt(i, TIMERS - 1);
	timers[i].t = t;
	timers[i].due = now + ms;
}

void
timer_ensure(struct timer *t, uint64_t ms)
{
	if (!timer_is_set(t))
		timer_set(t, ms);
}

static void
pass(uint64_t ms)
{
	uint64_t	 end = now + ms;
	struct timer	*t;
	int		 i, first;

	for (;;) {
		for (first = -1, i = 0; i < TIMERS; i++)
			if (timers[i].t != NULL && timers[i].due <= end &&
			    (first == -1 || timers[i].due <
			    timers[first].due))
				first = i;
		if (first == -1)
			break;
		now = timers[first].due;
		t = timers[first].t;
		timers[first].t = NULL;
		t->fn(t->arg);
	}
	now = end;
}

/* --- in the place of websockets --- */

static struct link {
	struct wslink			*l;
	const struct wslink_events	*e;
	void				*arg;
	char				 name[4];
	int				 paused;
	size_t				 queued, released;
	bool				 is_held;
	uint64_t			 heard;
} links[LINKS];
static const char	*next_name;

static struct link *
link_of(const struct wslink *l)
{
	int	 i;

	for (i = 0; i < LINKS && links[i].l != l; i++)
		;
	ck_assert_int_lt(i, LINKS);
	return &links[i];
}

static struct link *
named(const char *name)
{
	int	 i;

	for (i = 0; i < LINKS; i++)
		if (links[i].l != NULL && strcmp(links[i].name, name) == 0)
			return &links[i];
	ck_abort_msg("no %s", name);
}

void
wslinks_init(struct wslinks *all, struct event_base *base, uint64_t interval)
{
	(void)all;
	ck_assert(base == NULL && interval == 5);
}

void
wslinks_fini(struct wslinks *all)
{
	(void)all;
}

int
wslink_init(struct wslink *l, struct wslinks *all, struct hubconn **cp,
    struct span rest, const struct wslink_events *e, void *arg)
{
	int	 i;

	(void)rest;
	ck_assert(all == &b.links && *cp != NULL);
	if (fails)
		return -1;
	*cp = NULL;
	for (i = 0; links[i].l != NULL; i++)
		ck_assert_int_lt(i, LINKS - 1);
	links[i] = (struct link){ .l = l, .e = e, .arg = arg, .heard = now };
	snprintf(links[i].name, sizeof(links[i].name), "%s", next_name);
	return 0;
}

void
wslink_fini(struct wslink *l, uint16_t code, const char *reason)
{
	struct link	*k = link_of(l);
	char		 text[100];

	/* Who pauses it for others lets it go on before that. */
	snprintf(text, sizeof(text), "%s closed %u %s", k->name, code,
	    reason);
	tell(text);
	k->l = NULL;
}

void
wslink_send(struct wslink *l, const void *data, size_t len)
{
	struct relayhead	 h;
	struct relay_frame	 f;
	char			 text[100];
	const char		*end = (const char *)data + len, *word = end;

	ck_assert_int_eq(relayhead_read(&h, data, len), 0);
	if (h.is_reset) {
		while (word[-1] == '_' || (word[-1] >= 'a' && word[-1] <= 'z'))
			word--;
		snprintf(text, sizeof(text), "%s: reset %.*s %.*s",
		    link_of(l)->name, (int)h.id.len, h.id.at,
		    (int)(end - word), word);
	} else if (relay_decode(&f, data, len) == 0 && f.kind == RELAY_FLOW) {
		snprintf(text, sizeof(text), "%s: %s %.*s", link_of(l)->name,
		    f.seq == 1 ? "stop" : "go on", (int)h.id.len, h.id.at);
		relay_free(&f);
	} else {
		snprintf(text, sizeof(text), "%s: %.*s", link_of(l)->name,
		    (int)h.id.len, h.id.at);
	}
	tell(text);
}

size_t
wslink_queued(const struct wslink *l)
{
	return link_of(l)->queued;
}

void
wslink_hold(struct wslink *l)
{
	ck_assert(!link_of(l)->is_held);
	link_of(l)->is_held = true;
}

void
wslink_unhold(struct wslink *l)
{
	ck_assert(link_of(l)->is_held);
	link_of(l)->is_held = false;
}

size_t
wslink_release(struct wslink *l, size_t n)
{
	struct link	*k = link_of(l);

	ck_assert(k->is_held);
	if (n > k->queued)
		n = k->queued;
	k->queued -= n;
	k->released += n;
	return n;
}

void
wslink_pause(struct wslink *l)
{
	link_of(l)->paused++;
}

void
wslink_resume(struct wslink *l)
{
	ck_assert_int_gt(link_of(l)->paused, 0);
	link_of(l)->paused--;
}

uint64_t
wslink_heard(const struct wslink *l)
{
	return link_of(l)->heard;
}

/* --- executors and harnesses --- */

static void
on_attach(void *arg, const struct executor *x)
{
	(void)arg;
	(void)x;
}

static void
on_detach(void *arg, const struct executor *x, const char *why)
{
	char	 text[100];

	(void)arg;
	snprintf(text, sizeof(text), "%s detached: %s", x->environment, why);
	tell(text);
}

static void
on_harness(void *arg, const struct harness *h)
{
	(void)arg;
	ck_assert_str_eq(h->address, "address");
}

static void
on_harness_gone(void *arg, const struct harness *h, const char *why)
{
	char	 text[100];

	(void)arg;
	(void)h;
	snprintf(text, sizeof(text), "gone: %s", why);
	tell(text);
}

static const struct switchboard_events	 events = {
	on_attach, on_detach, on_harness, on_harness_gone
};
static const struct span		 none = { NULL, 0 };

static struct executor *
attach(const char *name)
{
	struct hubconn	*c = (struct hubconn *)8;

	next_name = name;
	return switchboard_attach(&b, name, &ticket, who, "address", &c,
	    none);
}

static struct harness *
join(struct executor *x, const char *name)
{
	struct hubconn	*c = (struct hubconn *)8;

	next_name = name;
	return switchboard_connect(x, &ticket, who, "address", &c, none);
}

static void
setup(void)
{
	now = 1000;
	memset(links, 0, sizeof(links));
	memset(timers, 0, sizeof(timers));
	memset(&ticket, 0, sizeof(ticket));
	is_quiet = fails = false;
	did_forget();
	subjects_init(&subjects);
	ck_assert_ptr_nonnull(who = subject_ref(&subjects, "s"));
	switchboard_init(&b, NULL, 5, &events, NULL);
}

static void
teardown(void)
{
	int	 i;

	is_quiet = true;
	switchboard_fini(&b, 1001, "over");
	for (i = 0; i < TIMERS; i++)
		ck_assert_ptr_null(timers[i].t);
	for (i = 0; i < LINKS; i++)
		ck_assert_ptr_null(links[i].l);
	ck_assert_uint_eq(who->executors + who->harnesses, 0);
	ck_assert_uint_eq(who->refs, 1);
	subject_unref(&who);
	subjects_fini(&subjects);
}

static void
hear_bytes(const char *name, const char *data, size_t len)
{
	struct link	*k = named(name);

	k->e->on_message(k->arg, (const uint8_t *)data, len);
}
#define hear(name, frame)	hear_bytes(name, frame, sizeof(frame) - 1)

static void
drained(const char *name, size_t queued)
{
	struct link	*k = named(name);

	k->queued = queued;
	k->e->on_drained(k->arg);
}

/* --- streams --- */

/* A stream is of the first harness that names it, and of no other. */
START_TEST(test_streams)
{
	struct executor	*x = attach("x"), *y = attach("y");

	join(x, "a");
	join(x, "b");
	join(y, "c");
	hear("a", DATA("1"));
	hear("x", DATA("1"));
	ck_did("x: 1; a: 1");
	hear("b", DATA("1"));
	hear("b", RESET("1"));
	hear("y", DATA("1"));
	hear("x", DATA("2"));
	ck_did("");
	ck_assert_uint_eq(b.counts.dropped, 4);
	/* Ids of another executor are others. */
	hear("c", DATA("1"));
	hear("y", DATA("1"));
	ck_did("y: 1; c: 1");
	ck_assert_uint_eq(b.counts.frames, 4);
	ck_assert_uint_eq(b.counts.bytes, 4 * (sizeof(DATA("1")) - 1));
	ck_assert_uint_eq(b.counts.streams_opened, 2);
	/* Once it is reset it is nobody's. */
	hear("x", RESET("1"));
	ck_did("a: reset 1 x");
	hear("b", DATA("1"));
	hear("x", DATA("1"));
	ck_did("x: 1; b: 1");
	hear("b", RESET("1"));
	ck_did("x: reset 1 x");
	hear("x", DATA("1"));
	/* A reset claims none. */
	hear("a", RESET("3"));
	ck_did("");
	ck_assert_uint_eq(x->nstream, 0);
	ck_assert_uint_eq(b.counts.dropped, 6);
}
END_TEST

/* One that an executor might drop is followed by one that it does not. */
START_TEST(test_odd_reset)
{
	join(attach("x"), "a");
	hear("a", DATA("1"));
	hear("a", "\x08\x02\x12\x01" "1\x42\x03\x0a\x01x");
	ck_did("x: 1; x: reset 1 x; x: reset 1 harness_disconnected");
}
END_TEST

START_TEST(test_no_frame)
{
	struct link	*x, *a;

	join(attach("x"), "a");
	x = named("x");
	a = named("a");
	hear("a", "\x12");
	hear("x", "\x12");
	ck_assert_uint_eq(b.counts.dropped, 2);
	x->e->on_text(x->arg, (const uint8_t *)DATA("1"), 7);
	a->e->on_text(a->arg, (const uint8_t *)DATA("1"), 7);
	ck_assert_uint_eq(b.counts.dropped, 4);
	ck_did("");
}
END_TEST

START_TEST(test_most_streams)
{
	struct executor	*x = attach("x");
	char		 frame[] = DATA("1");
	int		 i;

	join(x, "a");
	join(x, "b");
	is_quiet = true;
	for (i = 0; i < LIMIT_STREAMS; i++) {
		frame[4] = (char)(i + 1);
		hear_bytes(i % 2 == 0 ? "a" : "b", frame, sizeof(frame) - 1);
	}
	is_quiet = false;
	ck_assert_uint_eq(x->nstream, LIMIT_STREAMS);
	ck_assert_uint_eq(b.counts.streams_refused, 0);
	hear("a", DATA("\xff"));
	ck_assert_uint_eq(b.counts.streams_refused, 1);
	ck_did("a: reset \xff too_many_streams");
	hear("a", RESET("\1"));
	hear("b", DATA("\xff"));
	ck_did("x: reset \1 x; x: \xff");
	ck_assert_uint_eq(x->nstream, LIMIT_STREAMS);
}
END_TEST

/* --- ends --- */

START_TEST(test_harness_ends)
{
	struct executor	*x = attach("x");
	struct link	*a;

	join(x, "a");
	join(x, "b");
	hear("a", DATA("1"));
	hear("b", DATA("2"));
	did_forget();
	a = named("a");
	a->e->on_end(a->arg, "closed");
	ck_did("gone: closed; x: reset 1 harness_disconnected; "
	    "a closed 0 closed");
	hear("x", DATA("1"));
	hear("x", DATA("2"));
	ck_did("b: 2");
	ck_assert_uint_eq(x->nharness, 1);
	ck_assert_uint_eq(b.nharness, 1);
	ck_assert_uint_eq(who->harnesses, 1);
}
END_TEST

START_TEST(test_executor_ends)
{
	struct executor	*x = attach("x");
	struct link	*k;

	join(x, "a");
	hear("a", DATA("1"));
	did_forget();
	if (_i == 0) {
		k = named("x");
		k->e->on_end(k->arg, "silent");
	} else {
		ck_assert_ptr_ne(attach("x"), NULL);
	}
	ck_did(_i == 0 ? "x detached: silent; "
	    "a: reset 1 executor_disconnected; gone: executor disconnected; "
	    "a closed 1001 executor disconnected; x closed 0 silent" :
	    "x detached: replaced; a: reset 1 executor_disconnected; "
	    "gone: executor disconnected; "
	    "a closed 1001 executor disconnected; x closed 1008 replaced");
	ck_assert_uint_eq(who->executors, (unsigned)_i);
	ck_assert_uint_eq(b.executors.count, (size_t)_i);
}
END_TEST

START_TEST(test_no_memory)
{
	struct executor	*x = attach("x");

	fails = true;
	ck_assert_ptr_null(join(x, "a"));
	ck_assert_ptr_null(attach("y"));
	ck_assert_ptr_null(switchboard_find(&b, "y"));
	ck_assert_uint_eq(x->nharness + who->harnesses, 0);
	ck_assert_uint_eq(who->executors, 1);
}
END_TEST

START_TEST(test_list)
{
	struct executor	**list;
	size_t		 n;

	snprintf(ticket.labels, sizeof(ticket.labels), "p,q");
	attach("b");
	attach("a");
	ticket.labels[0] = '\0';
	attach("c");
	list = switchboard_list(&b, "", "a", &n);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(list[0]->environment, "b");
	ck_assert_str_eq(list[1]->environment, "c");
	free(list);
	list = switchboard_list(&b, "q", "", &n);
	ck_assert_uint_eq(n, 2);
	ck_assert_str_eq(list[0]->environment, "a");
	ck_assert_str_eq(list[0]->labels, "p,q");
	free(list);
}
END_TEST

/* --- who reads slowly --- */

/* An executor of ours is told to stop that stream, and no other. */
START_TEST(test_flow)
{
	struct executor	*x = attach("x");

	x->takes_flow = _i == 0;
	join(x, "a");
	hear("a", DATA("1"));
	hear("a", DATA("2"));
	did_forget();
	named("a")->queued = LIMIT_HUB_STOP;
	hear("x", DATA("1"));
	ck_did("a: 1");
	named("a")->queued = LIMIT_HUB_STOP + 1;
	hear("x", DATA("1"));
	hear("x", DATA("1"));
	if (_i == 1) {
		ck_did("a: 1; a: 1");
		return;
	}
	ck_did("a: 1; x: stop 1; a: 1");
	drained("a", LIMIT_HUB_STOP / 2 + 1);
	ck_did("");
	drained("a", LIMIT_HUB_STOP / 2);
	ck_did("x: go on 1");
	ck_assert_uint_eq(b.counts.stops, 1);
	ck_assert_int_eq(named("x")->paused, 0);
	/* One that ends while it is stopped needs nothing more. */
	named("a")->queued = LIMIT_HUB_STOP + 1;
	hear("x", DATA("2"));
	hear("x", RESET("2"));
	drained("a", 0);
	ck_did("a: 2; x: stop 2; a: reset 2 x");
}
END_TEST

START_TEST(test_stall)
{
	struct executor	*x = attach("x");

	join(x, "a");
	hear("a", DATA("1"));
	named("a")->queued = LIMIT_HUB_UNSENT;
	hear("x", DATA("1"));
	ck_assert_int_eq(named("x")->paused, 0);
	named("a")->queued = LIMIT_HUB_UNSENT + 1;
	hear("x", DATA("1"));
	hear("x", DATA("1"));
	ck_assert_int_eq(named("x")->paused, 1);
	did_forget();
	pass(LIMIT_HUB_STALL - 1);
	ck_did("");
	if (_i == 0) {
		drained("a", LIMIT_HUB_UNSENT / 2 + 1);
		ck_assert_int_eq(named("x")->paused, 1);
		drained("a", LIMIT_HUB_UNSENT / 2);
		ck_assert_int_eq(named("x")->paused, 0);
		pass(LIMIT_HUB_STALL);
		ck_did("");
	} else if (_i == 1) {
		pass(1);
		ck_did("gone: too slow; x: reset 1 harness_too_slow; "
		    "a closed 0 too slow");
		ck_assert_uint_eq(b.counts.stalls, 1);
	} else {
		named("a")->e->on_end(named("a")->arg, "closed");
	}
	ck_assert_int_eq(named("x")->paused, 0);
}
END_TEST

/* An executor that reads slowly holds up its own harnesses. */
START_TEST(test_full)
{
	struct executor	*x = attach("x");

	join(x, "a");
	join(x, "b");
	join(attach("y"), "c");
	named("x")->queued = LIMIT_HUB_UNSENT;
	hear("a", DATA("1"));
	ck_assert(!x->is_full);
	named("x")->queued = LIMIT_HUB_UNSENT + 1;
	hear("a", DATA("1"));
	ck_assert(x->is_full);
	join(x, "d");
	ck_assert_int_eq(named("a")->paused, 1);
	ck_assert_int_eq(named("b")->paused, 1);
	ck_assert_int_eq(named("d")->paused, 1);
	ck_assert_int_eq(named("c")->paused, 0);
	/* Who has sent last is the last one to be read. */
	ck_assert_ptr_null(TAILQ_NEXT(
	    (struct harness *)named("a")->arg, entry));
	drained("x", LIMIT_HUB_UNSENT / 2 + 1);
	ck_assert_int_eq(named("b")->paused, 1);
	drained("x", LIMIT_HUB_UNSENT / 2);
	ck_assert_int_eq(named("a")->paused, 0);
	ck_assert_int_eq(named("b")->paused, 0);
	ck_assert_int_eq(named("d")->paused, 0);
}
END_TEST

/* --- rates --- */

/* Of what it sends: a second's worth at once, then it is not read. */
START_TEST(test_rate_up)
{
	static char	 frame[4096] = "\x08\x01\x12\x01" "1\x2a\xf8\x1f";

	ticket.rate = 4;
	join(attach("x"), "a");
	hear_bytes("a", frame, 4096);
	ck_assert_int_eq(named("a")->paused, 0);
	hear_bytes("a", frame, 4096);
	ck_assert_int_eq(named("a")->paused, 1);
	hear_bytes("a", frame, 4096);
	ck_assert_int_eq(named("a")->paused, 1);
	pass(1000);
	ck_assert_int_eq(named("a")->paused, 1);
	pass(1);
	ck_assert_int_eq(named("a")->paused, 0);
}
END_TEST

/* However much it owes, not longer than a slow one may hold up others. */
START_TEST(test_rate_most)
{
	static char	 frame[16384] = "\x08\x01\x12\x01" "1\x2a\xf8\x7f";

	ticket.rate = 1;
	join(attach("x"), "a");
	hear_bytes("a", frame, sizeof(frame));
	pass(LIMIT_HUB_STALL - 1);
	ck_assert_int_eq(named("a")->paused, 1);
	pass(1);
	ck_assert_int_eq(named("a")->paused, 0);
}
END_TEST

/* Of what it is sent: it is kept here, and goes at that rate. */
START_TEST(test_rate_down)
{
	static char	 frame[4096] = "\x08\x01\x12\x01" "1\x2a\xf8\x1f";
	struct executor	*x = attach("x");

	ticket.rate = 4;
	join(x, "a");
	hear("a", DATA("1"));
	pass(1000);
	hear_bytes("x", frame, 4096);
	ck_assert(!named("a")->is_held);
	named("a")->queued = 4096;
	hear_bytes("x", frame, 4096);
	ck_assert(named("a")->is_held);
	/* What waits is counted when it goes. */
	pass(1010);
	ck_assert_uint_gt(named("a")->released, 3900);
	ck_assert_uint_le(named("a")->released, 4096);
	pass(2000);
	ck_assert_uint_eq(named("a")->released, 4096);
	ck_assert(!named("a")->is_held);
	ck_assert_uint_eq(named("a")->paused + named("x")->paused, 0);
}
END_TEST

/* --- emptying a hub --- */

static struct hubdrain	 drain;

static void
begin(uint64_t ms)
{
	hubdrain_init(&drain, NULL, &b);
	hubdrain_begin(&drain, ms);
	ck_assert(drain.is_on);
}

static bool
is_there(const char *name)
{
	return switchboard_find(&b, name) != NULL;
}

/* Evenly; those without a harness first, those in use last. */
START_TEST(test_drain)
{
	is_quiet = true;
	join(attach("p"), "a");
	attach("q");
	join(attach("r"), "c");
	attach("s");
	begin(4000);
	hubdrain_begin(&drain, 1);
	pass(0);
	ck_assert_uint_eq(b.executors.count, 3);
	/* r is in use until almost the end. */
	while (now < 1000 + 3000) {
		named("c")->heard = now;
		pass(250);
	}
	ck_assert_uint_eq(b.executors.count, 1);
	ck_assert(is_there("r"));
	named("c")->heard = now;
	pass(999);
	ck_assert(is_there("r"));
	pass(1);
	ck_assert_uint_eq(b.executors.count, 0);
	hubdrain_end(&drain);
}
END_TEST

/* In use is one of which something came less than 2 s ago. */
START_TEST(test_drain_use)
{
	is_quiet = true;
	join(attach("p"), "a");
	now += 10000;
	named(_i < 2 ? "p" : "a")->heard = now - 2000 + _i % 2;
	begin(100000);
	pass(0);
	ck_assert_int_eq(is_there("p"), _i % 2 == 1);
	pass(250);
	ck_assert(!is_there("p"));
	hubdrain_end(&drain);
	ck_assert(!drain.is_on);
}
END_TEST

START_TEST(test_drain_why)
{
	attach("p");
	begin(0);
	pass(0);
	ck_did("p detached: drained; p closed 1012 drained");
	hubdrain_end(&drain);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("switchboard");
	TCase	*t = tcase_create("switchboard");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_streams);
	tcase_add_test(t, test_odd_reset);
	tcase_add_test(t, test_no_frame);
	tcase_add_test(t, test_most_streams);
	tcase_add_test(t, test_harness_ends);
	tcase_add_loop_test(t, test_executor_ends, 0, 2);
	tcase_add_test(t, test_no_memory);
	tcase_add_test(t, test_list);
	tcase_add_loop_test(t, test_flow, 0, 2);
	tcase_add_loop_test(t, test_stall, 0, 3);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_rate_up);
	tcase_add_test(t, test_rate_most);
	tcase_add_test(t, test_rate_down);
	tcase_add_test(t, test_drain);
	tcase_add_loop_test(t, test_drain_use, 0, 4);
	tcase_add_test(t, test_drain_why);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
