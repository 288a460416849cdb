/*
 * master/workers/route.c: whose session a client gets that asks for one, who of
 * several gets it, and how long those without a worker are kept.  Workers,
 * their channels and time are ours.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/limit.h"
#include "master/logs/audit.h"
#include "master/workers/child.h"
#include "master/workers/route.h"
#include "master/world.h"

#define TTL	5000		/* ms that one is kept */
#define MANY	10000
#define NOWHERE	((void *)8)	/* a walk crashes there */

struct chan {
	bool		 is_busy;
	unsigned	 resumes;
	uint32_t	 ticket;
	uint64_t	 until;
};

static struct world	 world;
static struct routes	 routes;
static struct children	 all;

static struct chan	 chans[8];
static struct child	 children[8];
static uint64_t		 now;			/* ms */
/* What the last one was told, and how often somebody was. */
static struct child	*told, *killed, *violated;
static Ipc__Verdict	 verdict;
static unsigned		 ntold, nwaits, nends;
static char		 why[64];

/* --- in the place of time, workers and the audit log --- */

int
clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	out->tv_sec = (time_t)(now / 1000);
	out->tv_nsec = (long)(now % 1000 * 1000000);
	return 0;
}

bool
chan_is_idle(const struct chan *c)
{
	return !c->is_busy;
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	const Ipc__Resume	*out = body;

	ck_assert(kind == IPC_resume && fd == 77);
	ck_assert_uint_eq(out->message.len, 5);
	ck_assert_mem_eq(out->message.data, "hello", 5);
	c->resumes++;
	c->ticket = out->ticket;
	c->until = out->until;
}

struct child *
child_by_id(struct children *cs, unsigned id)
{
	struct child	*c;

	TAILQ_FOREACH(c, &cs->list, entry)
		if (c->id == id)
			return c;
	return NULL;
}

void
child_want(struct child *c, struct route *r, struct child_list *waiting)
{
	if (c->waits_in != NULL)
		TAILQ_REMOVE(c->waits_in, c, wanted_entry);
	c->wanted = r;
	c->waits_in = waiting;
	if (waiting != NULL)
		TAILQ_INSERT_TAIL(waiting, c, wanted_entry);
}

static void
decide(struct child *c, Ipc__Verdict v, struct route *r)
{
	told = c;
	verdict = v;
	ntold++;
	child_want(c, NULL, NULL);
	if (v == IPC__VERDICT__YOURS) {
		route_free(&c->route);
		route_revive(r, c);
	}
}

void
child_kill(struct child *c)
{
	killed = c;
}

void
child_set_transcripts(struct child *c, enum child_transcripts to)
{
	c->transcripts = to;
}

void
child_violates(struct child *c, const char *what)
{
	ck_assert_str_eq(what, "resumed");
	violated = c;
}

void
child_wait_for_owner(struct child *c)
{
	(void)c;
	nwaits++;
}

void
audit(struct world *w, const struct audit_what *what)
{
	ck_assert_ptr_eq(w, &world);
	if (what->event != AUDIT_session_ended)
		return;
	nends++;
	snprintf(why, sizeof(why), "%s", what->why);
}

/* --- in the place of the file of sessions --- */

static struct record	 put;			/* the last one */
static unsigned		 nputs;

struct records_head *
records_head(struct records *t)
{
	static struct records_head	 head;

	ck_assert_ptr_eq(t, world.records);
	return &head;
}

int
records_put(struct records *t, int *slot, struct record *r)
{
	ck_assert_ptr_eq(t, world.records);
	ck_assert_int_eq(*slot, -1);
	put = *r;
	nputs++;
	return 0;
}

void
records_drop(struct records *t, int *slot)
{
	ck_assert_ptr_eq(t, world.records);
	ck_assert_int_eq(*slot, -1);
}

static const struct child_events	 child_events = { .decide = decide };

static void
on_sessions(struct master *master)
{
	ck_assert_ptr_null(master);
}

static const struct master_events	 events = {
	.on_sessions = on_sessions
};

/* --- */

static void
pass(uint64_t ms)
{
	now += ms;
	event_base_loop(world.base, EVLOOP_NONBLOCK);
}

/* Worker i, with a session of that identity. */
static struct route *
worker(unsigned i, const char *identity, uid_t uid)
{
	struct child	*c = &children[i];

	memset(c, 0, sizeof(*c));
	c->all = &all;
	c->chan = &chans[i];
	c->id = 100 + i;
	c->state = CHILD_GREETING;
	c->detached_ttl = TTL;
	c->peer.uid = uid;
	strcpy(c->peer.identity, identity);
	snprintf(c->peer.text, sizeof(c->peer.text), "client %u", i);
	TAILQ_INSERT_TAIL(&all.list, c, entry);
	ck_assert_ptr_nonnull(c->route = route_new(&routes, c));
	return c->route;
}

/* The same, whose client knows it. */
static struct route *
session(unsigned i, const char *identity, uid_t uid)
{
	struct route	*r = worker(i, identity, uid);

	ck_assert(!route_opened(r, false));
	children[i].state = CHILD_SERVING;
	return r;
}

static void
setup(void)
{
	memset(&world, 0, sizeof(world));
	memset(&all, 0, sizeof(all));
	world.events = &events;
	all.events = &child_events;
	now = 1000000;
	TAILQ_INIT(&all.list);
	routes_init(&routes, &world);
	ck_assert_ptr_nonnull(world.base = event_base_new());
}

static void
teardown(void)
{
	routes_fini(&routes);
	event_base_free(world.base);
}

/* Worker i hands over its client, who asks for that session. */
static void
hand(unsigned i, const struct route *r)
{
	children[i].state = CHILD_HANDING;
	route_handover(&routes, &children[i], r->id, "hello", 5, 77);
}

/* What worker i is told when its client asks for that. */
static Ipc__Verdict
ask(unsigned i, const char *id)
{
	char		 copy[ROUTE_ID_LEN + 1];
	unsigned	 before = ntold;

	snprintf(copy, sizeof(copy), "%s", id);
	children[i].state = CHILD_HANDING;
	route_handover(&routes, &children[i], copy, "hello", 5, 77);
	ck_assert_uint_eq(ntold, before + 1);
	ck_assert_ptr_eq(told, &children[i]);
	return verdict;
}

#define IS(got, wanted)	ck_assert_int_eq(got, IPC__VERDICT__##wanted)

/* --- whose --- */

START_TEST(test_ids)
{
	const struct route	*a = worker(0, "uid:1", 1);
	const struct route	*b = worker(1, "uid:1", 1);
	size_t			 i;

	ck_assert_str_ne(a->id, b->id);
	ck_assert_uint_eq(b->number, a->number + 1);
	ck_assert_uint_eq(strlen(a->id), ROUTE_ID_LEN);
	for (i = 0; i < ROUTE_ID_LEN; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23)
			ck_assert_int_eq(a->id[i], '-');
		else
			ck_assert_ptr_nonnull(strchr("0123456789abcdef",
			    a->id[i]));
}
END_TEST

START_TEST(test_whose)
{
	struct route	*r = session(0, "token:a", 1);

	worker(1, "token:a", 1);
	IS(ask(1, "no such session"), UNKNOWN);
	IS(ask(1, children[1].route->id), UNKNOWN);
	children[1].peer.uid = 2;
	IS(ask(1, r->id), UNKNOWN);
	children[1].peer.uid = 1;
	children[1].peer.uplink = 1;
	IS(ask(1, r->id), UNKNOWN);
	children[1].peer.uplink = 0;
	strcpy(children[1].peer.identity, "token:b");
	IS(ask(1, r->id), UNKNOWN);
	strcpy(children[1].peer.identity, "token:a");
	ck_assert_uint_eq(chans[0].resumes, 0);
	/* Of one that takes nothing it is not known whether it is there. */
	chans[0].is_busy = true;
	IS(ask(1, r->id), ATTACHED);
	ck_assert_uint_eq(chans[0].resumes + nwaits, 0);
}
END_TEST

START_TEST(test_asked)
{
	struct route	*r = session(0, "token:a", 1);

	worker(1, "token:a", 1);
	hand(1, r);
	ck_assert_uint_eq(ntold, 0);
	ck_assert_uint_eq(chans[0].resumes, 1);
	ck_assert_uint_eq(chans[0].ticket, children[1].id);
	ck_assert_uint_eq(chans[0].until, now + LIMIT_OFFER);
	ck_assert_uint_eq(nwaits, 1);
	ck_assert_ptr_eq(children[1].wanted, r);
	route_resumed(&children[0], children[1].id, IPC__VERDICT__TAKEN);
	ck_assert_ptr_eq(told, &children[1]);
	IS(verdict, TAKEN);
	ck_assert_str_eq(r->peer, "client 1");
}
END_TEST

/* Worker 1 asks for the session of worker 0, which says that. */
static Ipc__Verdict
answered(struct route *r, unsigned by, Ipc__Verdict v)
{
	unsigned	 before = ntold;

	hand(1, r);
	ck_assert_uint_eq(ntold, before);
	route_resumed(&children[by], children[1].id, v);
	ck_assert_uint_eq(ntold, before + 1);
	return verdict;
}

START_TEST(test_answers)
{
	struct route	*r = session(0, "token:a", 1), *other;

	worker(1, "token:a", 1);
	other = session(2, "token:a", 1);
	IS(answered(r, 0, IPC__VERDICT__ATTACHED), ATTACHED);
	IS(answered(r, 0, IPC__VERDICT__UNKNOWN), UNKNOWN);
	ck_assert_ptr_null(violated);
	ck_assert_str_eq(r->peer, "client 0");
	IS(answered(r, 0, IPC__VERDICT__YOURS), UNKNOWN);
	ck_assert_ptr_eq(violated, &children[0]);
	/* It still has it, so it did not give it back. */
	IS(answered(r, 0, IPC__VERDICT__RELEASED), ATTACHED);
	/* Who was not asked, and about nobody. */
	hand(1, r);
	ntold = 0;
	route_resumed(&children[2], children[1].id, IPC__VERDICT__TAKEN);
	route_resumed(&children[0], 4711, IPC__VERDICT__TAKEN);
	ck_assert_uint_eq(ntold, 0);
	/* One that was asked and has another session by now. */
	children[1].asked_id = children[2].id;
	route_resumed(&children[2], children[1].id, IPC__VERDICT__TAKEN);
	IS(verdict, UNKNOWN);
	ck_assert_str_eq(other->peer, "client 2");
}
END_TEST

/* Too late: the client was told to try again, but the owner has it. */
START_TEST(test_late)
{
	struct route	*r = session(0, "token:a", 1);

	worker(1, "token:a", 1);
	hand(1, r);
	child_want(&children[1], NULL, NULL);
	children[1].state = CHILD_GREETING;
	route_resumed(&children[0], children[1].id, IPC__VERDICT__ATTACHED);
	ck_assert_ptr_null(killed);
	route_resumed(&children[0], children[1].id, IPC__VERDICT__TAKEN);
	ck_assert_ptr_eq(killed, &children[1]);
	ck_assert_uint_eq(ntold, 0);
	killed = NULL;
	children[1].state = CHILD_SERVING;
	route_resumed(&children[0], children[1].id, IPC__VERDICT__TAKEN);
	ck_assert_ptr_null(killed);
}
END_TEST

/* --- without a worker --- */

START_TEST(test_kept)
{
	struct route	*r = session(0, "token:a", 1);
	char		 id[ROUTE_ID_LEN + 1];

	strcpy(id, r->id);
	ck_assert_uint_eq(route_count(&routes), 1);
	route_release(r, 0);
	ck_assert_uint_eq(route_count(&routes), 0);
	ck_assert(!r->attached);
	ck_assert_ptr_null(children[0].route);
	pass(TTL - 1);
	ck_assert_uint_eq(nends, 0);
	/* Whoever takes it does not lose it then. */
	worker(1, "token:a", 1);
	IS(ask(1, id), YOURS);
	ck_assert_ptr_eq(children[1].route, r);
	ck_assert_ptr_eq(r->owner, &children[1]);
	ck_assert_uint_eq(route_count(&routes), 1);
	pass(10 * TTL);
	ck_assert_uint_eq(nends, 0);
	children[1].detached_ttl = 20;
	route_release(r, 0);
	pass(20);
	ck_assert_uint_eq(nends, 1);
	ck_assert_str_eq(why, "expired: nobody resumed it");
	worker(2, "token:a", 1);
	IS(ask(2, id), UNKNOWN);
}
END_TEST

/* As long as its client asked, be it longer or shorter. */
START_TEST(test_retained)
{
	static const uint64_t	 rows[] = { TTL / 2, 3 * TTL };
	struct route		*r = session(0, "token:a", 1);

	route_release(r, rows[_i]);
	ck_assert_uint_eq(r->retain, rows[_i]);
	pass(rows[_i] - 1);
	ck_assert_uint_eq(nends, 0);
	pass(1);
	ck_assert_uint_eq(nends, 1);
}
END_TEST

/* Its client is told, for as long as it may come back; others are not. */
START_TEST(test_lost)
{
	struct route	*r = session(0, "token:a", 1);
	char		 id[ROUTE_ID_LEN + 1];

	strcpy(id, r->id);
	worker(1, "token:a", 1);
	worker(2, "token:b", 1);
	hand(1, r);
	route_lose(r);
	ck_assert_uint_eq(nends, 1);
	ck_assert_str_eq(why, "its worker died");
	IS(verdict, LOST);
	ck_assert_ptr_eq(told, &children[1]);
	ck_assert_ptr_null(children[0].route);
	ck_assert_uint_eq(route_count(&routes), 0);
	ck_assert_uint_eq(routes.in_state[ROUTE_KEPT], 0);
	ck_assert_uint_eq(routes.in_state[ROUTE_LOST], 1);
	IS(ask(1, id), LOST);
	IS(ask(2, id), UNKNOWN);
	pass(TTL);
	IS(ask(1, id), UNKNOWN);
	ck_assert_uint_eq(nends, 1);
	/* Nobody was told of this one. */
	r = worker(3, "token:a", 1);
	strcpy(id, r->id);
	route_lose(r);
	IS(ask(1, id), UNKNOWN);
	ck_assert_uint_eq(nends, 1);
}
END_TEST

/* What the record says, and nothing else, is what the next master knows. */
START_TEST(test_former)
{
	struct record	 rec;
	struct child	*c = &children[0];
	struct route	*r;

	memset(&rec, 0, sizeof(rec));
	rec.kind = RECORD_SESSION;
	rec.flags = RECORD_OPENED | RECORD_ATTACHED | RECORD_TRANSCRIPTS;
	rec.number = 41;
	rec.uid = 1;
	rec.client_uid = 2;
	rec.born = now + 5;
	rec.detached_ttl = TTL;
	rec.max_running = 9;
	rec.used[4] = 77;
	strcpy(rec.id, "00000000-0000-0000-0000-000000000001");
	strcpy(rec.identity, "uid:2");
	memset(c, 0, sizeof(*c));
	c->all = &all;
	c->state = CHILD_AWAITED;
	c->id = 100;
	TAILQ_INSERT_TAIL(&all.list, c, entry);
	ck_assert_ptr_nonnull(r = route_former(&routes, &rec, c));
	ck_assert_ptr_eq(r->owner, c);
	ck_assert_uint_eq(route_count_of(&routes, "uid:2"), 1);
	ck_assert_uint_eq(routes.in_state[ROUTE_ATTACHED], 1);
	ck_assert_uint_eq(c->max_running, 9);
	ck_assert_uint_eq(c->peer.uid, 1);
	ck_assert_int_eq(c->transcripts, CHILD_TRANSCRIPTS_WANTED);
	ck_assert(r->born <= now);
	/* It has not come yet: its client may try again, nobody else knows. */
	worker(1, "uid:2", 1);
	IS(ask(1, r->id), ATTACHED);
	worker(2, "uid:3", 1);
	IS(ask(2, r->id), UNKNOWN);
	/* The same twice, and an id that is none. */
	ck_assert_ptr_null(route_former(&routes, &rec, NULL));
	strcpy(rec.id, "short");
	ck_assert_ptr_null(route_former(&routes, &rec, NULL));
	/* One that owned nothing; the next session has a number of its own. */
	rec.kind = RECORD_TOMBSTONE;
	rec.number = 40;
	rec.until = now + TTL;
	strcpy(rec.id, "00000000-0000-0000-0000-000000000002");
	ck_assert_ptr_nonnull(route_former(&routes, &rec, NULL));
	IS(ask(1, rec.id), YOURS);
	ck_assert_uint_eq(children[1].route->used.transcripts, 77);
	ck_assert_uint_gt(worker(3, "uid:2", 1)->number, 41);
	c->route = NULL;
	r->owner = NULL;
}
END_TEST

/* A record in which no two numbers are the same. */
static struct record
record_of(enum record_kind kind, const struct child *c)
{
	struct record	 rec;

	memset(&rec, 0, sizeof(rec));
	rec.kind = kind;
	rec.flags = RECORD_OPENED;
	rec.number = 41;
	rec.uid = 1;
	rec.client_uid = 2;
	rec.uplink = 3;
	rec.born = now - 5;
	rec.used[0] = 10;
	rec.used[1] = 11;
	rec.used[2] = 12;
	rec.used[3] = 13;
	rec.used[4] = 14;
	rec.transcripts = 15;
	rec.retain = 28;
	strcpy(rec.id, "00000000-0000-0000-0000-000000000001");
	strcpy(rec.identity, "uid:2");
	strcpy(rec.peer, "from somewhere");
	strcpy(rec.transcript, "/a/file");
	if (c == NULL) {
		rec.until = now + TTL;
		return rec;
	}
	rec.flags |= RECORD_ATTACHED | RECORD_TRANSCRIPTS;
	rec.child = c->id;
	rec.pid = c->pid;
	rec.started = 20;
	rec.marks = 21;
	rec.detached_ttl = 22;
	rec.grace = 23;
	rec.max_held = 24;
	rec.max_running = 25;
	rec.group_v2 = 26;
	rec.group_v1 = 27;
	return rec;
}

/* What is known of a session comes back from its record, and goes there. */
START_TEST(test_record)
{
	struct child	*c = _i == RECORD_SESSION ? &children[0] : NULL;
	struct record	 rec;
	struct route	*r;
	char		 longer[sizeof(rec.transcript) + 1];

	world.records = (struct records *)&put;
	memset(&children[0], 0, sizeof(children[0]));
	children[0].all = &all;
	children[0].state = CHILD_AWAITED;
	children[0].id = 100;
	children[0].pid = 101;
	rec = record_of((enum record_kind)_i, c);
	nputs = 0;
	ck_assert_ptr_nonnull(r = route_former(&routes, &rec, c));
	ck_assert_uint_eq(nputs, 1);
	ck_assert_mem_eq(&put, &rec, sizeof(rec));
	if (c != NULL) {
		ck_assert(c->peer.known && c->route == r);
		ck_assert(c->peer.uid == 1 && c->peer.client_uid == 2);
		ck_assert_uint_eq(c->peer.uplink, 3);
		ck_assert_str_eq(c->peer.identity, "uid:2");
		ck_assert_str_eq(c->peer.text, "from somewhere");
		c->transcripts = CHILD_TRANSCRIPTS_NONE;
		route_record(r);
		ck_assert_uint_eq(put.flags, RECORD_OPENED | RECORD_ATTACHED);
	}
	/* A name with its NUL fits, or is left out. */
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	free(r->transcript);
	ck_assert_ptr_nonnull(r->transcript = strdup(longer));
	route_record(r);
	ck_assert_str_eq(put.transcript, "");
	r->transcript[sizeof(rec.transcript) - 1] = '\0';
	route_record(r);
	ck_assert_str_eq(put.transcript, r->transcript);
	if (c != NULL) {
		c->route = NULL;
		r->owner = NULL;
	}
}
END_TEST

/* Two ask for one that is given back: the first has it. */
START_TEST(test_released_meanwhile)
{
	struct route	*r = session(0, "token:a", 1);

	worker(1, "token:a", 1);
	worker(2, "token:a", 1);
	worker(3, "token:a", 1);
	hand(1, r);
	hand(2, r);
	hand(3, r);
	/* The owner says of one that it has given it back. */
	child_want(&children[1], NULL, NULL);
	child_want(&children[2], NULL, NULL);
	route_release(r, 0);
	ck_assert_ptr_eq(told, &children[3]);
	IS(verdict, YOURS);
	child_want(&children[1], r, &r->waiting);
	child_want(&children[2], r, &r->waiting);
	route_resumed(&children[0], children[1].id, IPC__VERDICT__RELEASED);
	ck_assert_ptr_eq(told, &children[1]);
	IS(verdict, ATTACHED);
	ck_assert_ptr_eq(r->owner, &children[3]);
	/* One that it is gone with is unknown. */
	route_on_owner_gone(r, "its worker died");
	ck_assert_ptr_eq(told, &children[2]);
	IS(verdict, UNKNOWN);
	ck_assert_ptr_null(children[3].route);
	ck_assert_uint_eq(world.stats[STAT_ended], 1);
	ck_assert_str_eq(why, "its worker died");
}
END_TEST

START_TEST(test_released_first)
{
	struct route	*r = session(0, "token:a", 1);

	worker(1, "token:a", 1);
	worker(2, "token:a", 1);
	hand(1, r);
	hand(2, r);
	route_release(r, 0);
	ck_assert_uint_eq(ntold, 2);
	ck_assert_ptr_eq(r->owner, &children[1]);
	ck_assert_ptr_eq(told, &children[2]);
	IS(verdict, ATTACHED);
}
END_TEST

/* Only who asked that owner hears of it; its word comes when it is gone. */
START_TEST(test_word_of_release)
{
	struct route	*r = session(0, "token:a", 1);

	worker(1, "token:a", 1);
	children[1].state = CHILD_HANDING;
	child_want(&children[1], r, &r->waiting);
	children[1].asked_id = 4711;
	route_release(r, 0);
	ck_assert_uint_eq(ntold, 0);
	children[1].asked_id = children[0].id;
	route_resumed(&children[0], children[1].id, IPC__VERDICT__RELEASED);
	IS(verdict, YOURS);
	ck_assert_ptr_eq(r->owner, &children[1]);
}
END_TEST

/* Those for session/operate alone count for themselves. */
START_TEST(test_operators)
{
	struct route	*a = worker(0, "uid:1", 1);
	struct route	*b = session(1, "uid:1", 1);

	ck_assert(!route_opened(a, true));
	ck_assert(route_opened(a, false));	/* too late */
	ck_assert(a->operates && !b->operates);
	ck_assert_uint_eq(route_count(&routes), 1);
	ck_assert_uint_eq(route_count_of(&routes, "uid:1"), 1);
	ck_assert_uint_eq(route_operators(&routes), 1);
	ck_assert_uint_eq(route_operators_of(&routes, "uid:1"), 1);
	ck_assert_uint_eq(route_operators_of(&routes, "uid:2"), 0);
	ck_assert_uint_eq(routes.in_state[ROUTE_ATTACHED], 2);
	route_detached(a);
	ck_assert_uint_eq(route_count(&routes), 1);
	ck_assert_uint_eq(route_operators(&routes), 1);
	route_free(&children[0].route);
	ck_assert_uint_eq(route_count(&routes), 1);
	ck_assert_uint_eq(route_operators(&routes), 0);
	ck_assert_uint_eq(route_operators_of(&routes, "uid:1"), 0);
}
END_TEST

/* What state a session is in, and how many are. */
START_TEST(test_states)
{
	struct route	*a = worker(0, "uid:1", 1);
	struct route	*b = session(1, "uid:1", 1);
	const size_t	*n = routes.in_state;

	ck_assert_int_eq(a->state, ROUTE_NEW);
	ck_assert_uint_eq(route_count(&routes), 1);
	ck_assert(!route_opened(a, false));
	ck_assert(route_opened(a, false));
	ck_assert_int_eq(a->state, ROUTE_ATTACHED);
	ck_assert_uint_eq(n[ROUTE_ATTACHED], 2);
	route_detached(a);
	ck_assert_int_eq(a->state, ROUTE_DETACHED);
	ck_assert_uint_eq(route_count(&routes), 2);
	route_attached(a);
	ck_assert_int_eq(a->state, ROUTE_ATTACHED);
	route_release(b, 0);
	ck_assert_int_eq(b->state, ROUTE_KEPT);
	ck_assert_uint_eq(route_count(&routes), 1);
	ck_assert_uint_eq(route_count_of(&routes, "uid:1"), 1);
	route_revive(b, &children[1]);
	ck_assert_int_eq(b->state, ROUTE_DETACHED);
	route_free(&a);
	ck_assert_uint_eq(n[ROUTE_NEW] + n[ROUTE_ATTACHED] + n[ROUTE_KEPT], 0);
	ck_assert_uint_eq(n[ROUTE_DETACHED], 1);
	ck_assert_uint_eq(route_count_of(&routes, "uid:1"), 1);
}
END_TEST

/*
 * With many sessions and tombstones one comes and goes without a look at the
 * others: from one of them, in the middle, nothing leads on.
 */
START_TEST(test_flat)
{
	static struct child	 owners[MANY];
	struct route	*r, *middle = NULL, *kept = NULL, old, old_kept;
	int		 i;

	for (i = 0; i < MANY; i++) {
		owners[i] = children[7];
		owners[i].all = &all;
		strcpy(owners[i].peer.identity, "uid:1");
		ck_assert_ptr_nonnull(r = owners[i].route =
		    route_new(&routes, &owners[i]));
		route_opened(r, false);
		if (i == MANY / 2)
			middle = r;
	}
	for (i = 0; i < LIMIT_KEPT; i++) {
		r = session(0, "uid:2", 2);
		TAILQ_REMOVE(&all.list, &children[0], entry);
		route_release(r, 0);
		if (i == LIMIT_KEPT / 2)
			kept = r;
	}
	old = *middle;
	old_kept = *kept;
	middle->entry.tqe_next = kept->entry.tqe_next = NOWHERE;
	middle->entry.tqe_prev = kept->entry.tqe_prev = NOWHERE;
	kept->kept_entry.tqe_next = NOWHERE;
	kept->kept_entry.tqe_prev = NOWHERE;
	for (i = 0; i < 10; i++) {
		ck_assert_uint_eq(route_count(&routes), MANY);
		ck_assert_uint_eq(route_count_of(&routes, "uid:1"), MANY);
		ck_assert_uint_eq(route_count_of(&routes, "uid:3"), 0);
		r = session(1, "uid:3", 3);
		ck_assert_uint_eq(route_count_of(&routes, "uid:3"), 1);
		route_detached(r);
		route_attached(r);
		route_release(r, 0);
		IS((worker(2, "uid:3", 3), ask(2, r->id)), YOURS);
		route_on_owner_gone(r, "closed");
		/* The oldest one of this user goes. */
		r = session(3, "uid:2", 2);
		route_release(r, 0);
		ck_assert_uint_eq(routes.in_state[ROUTE_KEPT], LIMIT_KEPT);
		memset(&all.list, 0, sizeof(all.list));
		TAILQ_INIT(&all.list);
	}
	middle->entry = old.entry;
	kept->entry = old_kept.entry;
	kept->kept_entry = old_kept.kept_entry;
	ck_assert_uint_eq(nends, 20);
}
END_TEST

/* So many of one user are kept; then the oldest go. */
START_TEST(test_bound)
{
	struct route	*first, *others;
	unsigned	 i;

	others = session(0, "uid:2", 2);
	route_release(others, 0);
	TAILQ_REMOVE(&all.list, &children[0], entry);
	first = session(0, "uid:1", 1);
	route_release(first, 0);
	TAILQ_REMOVE(&all.list, &children[0], entry);
	for (i = 1; i < LIMIT_KEPT + 3; i++) {
		route_release(session(0, "uid:1", 1), 0);
		TAILQ_REMOVE(&all.list, &children[0], entry);
	}
	ck_assert_uint_eq(nends, 3);
	ck_assert_str_eq(why, "too many detached sessions");
	ck_assert_ptr_eq(TAILQ_FIRST(&routes.list), others);
	ck_assert_ptr_ne(TAILQ_NEXT(others, entry), first);
	ck_assert_uint_eq(routes.by_id.count, LIMIT_KEPT + 1);
}
END_TEST

START_TEST(test_counts)
{
	struct route	*r = session(0, "uid:1", 1);
	Ipc__Used	 used = IPC__USED__INIT;

	session(1, "uid:2", 2);
	session(2, "uid:1", 1);
	worker(3, "uid:1", 1);
	ck_assert_uint_eq(route_count(&routes), 3);
	ck_assert_uint_eq(route_count_of(&routes, "uid:1"), 2);
	used.processes = 1;
	used.bytes_in = 2;
	used.bytes_out = 3;
	used.cpu_ms = 4;
	used.transcripts = 5;
	route_used(r, &used);
	route_used(r, NULL);
	route_used(r, &used);
	ck_assert(r->used.processes == 2 && r->used.bytes_in == 4 &&
	    r->used.bytes_out == 6 && r->used.cpu_ms == 8 &&
	    r->used.transcripts == 10);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("route");
	TCase	*t = tcase_create("route");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_ids);
	tcase_add_test(t, test_whose);
	tcase_add_test(t, test_asked);
	tcase_add_test(t, test_answers);
	tcase_add_test(t, test_late);
	tcase_add_test(t, test_kept);
	tcase_add_loop_test(t, test_retained, 0, 2);
	tcase_add_test(t, test_lost);
	tcase_add_test(t, test_former);
	tcase_add_loop_test(t, test_record, RECORD_SESSION, RECORD_LOST + 1);
	tcase_add_test(t, test_released_meanwhile);
	tcase_add_test(t, test_released_first);
	tcase_add_test(t, test_word_of_release);
	tcase_add_test(t, test_operators);
	tcase_add_test(t, test_states);
	tcase_add_test(t, test_flat);
	tcase_add_test(t, test_bound);
	tcase_add_test(t, test_counts);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
