/*
 * master/accept/gate.c: sshd's random early drop; shares of addresses and
 * users, patience, queues.  Workers, the pool, the clock and the dice are ours.
 */
#include <sys/resource.h>
#include <sys/time.h>

#include <check.h>
#include <fcntl.h>
#include <malloc.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/linux/crowd.h"
#include "master/accept/child_assign.h"
#include "master/accept/gate.h"
#include "master/auth/userdb.h"
#include "master/parts.h"
#include "master/workers/pool.h"

static struct master	 m;
static struct child	 workers[2 * LIMIT_STARTUPS_FULL];
static unsigned		 nworkers, room;	/* had; to be had */
static struct child	*killed;		/* the last one */
static unsigned		 nkilled;
static uint64_t		 now, timer;		/* ms; the last one asked for */
static uint32_t		 drawn;
static unsigned		 crowd = 1;
static bool		 is_patient;		/* that takes long */
static bool		 is_lost;		/* assigning fails */
/* What is known of users, and who was asked for last. */
#define SLOW	4711u
static enum userdb_state user_is;
static Ipc__User	 somebody = IPC__USER__INIT;
static uid_t		 asked;
/* What the last assignment said. */
static struct {
	int		 refuse;
	const Ipc__User	*user;
	bool		 full, greeted;
	char		 message[16];
	size_t		 len;
}			 last;

/* --- in the place of clock, libsodium, pool and workers --- */

uint64_t
clock_ms(void)
{
	return now;
}

uint64_t
clock_us(void)
{
	return now * 1000;
}

unsigned
crowd_now(void)
{
	return crowd;
}

struct timeval
clock_timeval(uint64_t ms)
{
	struct timeval	 soon = { 0, 0 }, never = { 1000000, 0 };

	timer = ms;
	return is_patient && ms > 0 ? never : soon;
}

uint32_t
randombytes_uniform(const uint32_t below)
{
	ck_assert_uint_eq(below, 100);
	return drawn;
}

struct child *
pool_take(struct pool *p)
{
	(void)p;
	return nworkers < room ? &workers[nworkers++] : NULL;
}

enum userdb_state
userdb_find(struct userdb *d, uid_t uid, const Ipc__User **out)
{
	(void)d;
	ck_assert_uint_ne(uid, 0);
	asked = uid;
	*out = user_is == USERDB_KNOWN ? &somebody : NULL;
	return uid == SLOW ? USERDB_ASKED : user_is;
}

static int
assigned(struct child *c, const struct peer *p)
{
	c->peer = *p;
	c->since = now;
	return is_lost ? -1 : 0;
}

int
child_assign(struct assigner *a, struct child *c, int fd, const struct peer *p,
    int refuse, bool full, const Ipc__User *user)
{
	ck_assert_ptr_eq(a, &m.assigner);
	last.user = user;
	ck_assert_int_ne(fcntl(fd, F_GETFD), -1);
	last.refuse = refuse;
	last.full = full;
	last.greeted = false;
	return assigned(c, p);
}

int
child_assign_greeted(struct assigner *a, struct child *c, int fd,
    const struct peer *p, bool full, const void *message, size_t len,
    const Ipc__User *user)
{
	ck_assert_ptr_eq(a, &m.assigner);
	last.user = user;
	ck_assert_int_ne(fcntl(fd, F_GETFD), -1);
	last.full = full;
	last.greeted = true;
	last.len = len;
	memcpy(last.message, message, len);
	return assigned(c, p);
}

void
child_kill(struct child *c)
{
	killed = c;
	nkilled++;
	gate_leave(m.gate, c);
}

static bool
is_draining(const struct master *master)
{
	return master->drain.is_on;
}

static const struct master_events	 events = {
	.is_draining = is_draining
};

/* --- */

static void
setup(void)
{
	struct rlimit	 rl;

	/* A queue is longer than what a shell allows. */
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = rl.rlim_max;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &rl), 0);
	memset(&m, 0, sizeof(m));
	memset(workers, 0, sizeof(workers));
	memset(&last, 0, sizeof(last));
	ck_assert_ptr_nonnull(m.world.base = event_base_new());
	m.world.events = &events;
	m.world.master = &m;
	ck_assert_ptr_nonnull(m.gate = gate_new(&m.world, NULL, &m.assigner));
	room = 2 * LIMIT_STARTUPS_FULL;
	now = 1000000;
	drawn = 99;
}

static void
teardown(void)
{
	gate_free(&m.gate);
	event_base_free(m.world.base);
}

static struct peer
a_peer(const char *user, const char *source)
{
	struct peer	 p;

	memset(&p, 0, sizeof(p));
	p.known = true;
	snprintf(p.user, sizeof(p.user), "%s", user);
	snprintf(p.source, sizeof(p.source), "%s", source);
	return p;
}

static int
a_connection(void)
{
	int	 fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert_int_ne(fd, -1);
	return fd;
}

static void
knock(const char *user, const char *source, unsigned n)
{
	struct peer	 p = a_peer(user, source);

	while (n-- > 0)
		gate_enqueue(m.gate, a_connection(), &p, 0, false);
}

/* What is due now. */
static void
turn(void)
{
	event_base_loop(m.world.base, EVLOOP_NONBLOCK | EVLOOP_ONCE);
}

#define ARE(greeting, waiting) do {					\
	ck_assert_uint_eq(gate_greeting(m.gate), greeting);		\
	ck_assert_uint_eq(gate_waiting(m.gate), waiting);		\
} while (0)
#define SOURCE	LIMIT_STARTUPS_SOURCE
#define USER	LIMIT_STARTUPS_USER
#define FULL	LIMIT_STARTUPS_FULL

static unsigned
percent(unsigned n)
{
	unsigned	 i, dropped = 0;

	for (i = 0; i < 100; i++)
		dropped += gate_drops(n, i);
	return dropped;
}

START_TEST(test_drops)
{
	unsigned	 n, p, before = 0;

	for (n = 0; n < LIMIT_STARTUPS_BEGIN; n++)
		ck_assert_uint_eq(percent(n), 0);
	ck_assert_uint_eq(percent(LIMIT_STARTUPS_BEGIN), LIMIT_STARTUPS_RATE);
	for (n = LIMIT_STARTUPS_BEGIN; n < LIMIT_STARTUPS_FULL; n++) {
		p = percent(n);
		ck_assert_uint_ge(p, before);
		ck_assert_uint_lt(p, 100);
		before = p;
	}
	ck_assert_uint_ge(before, 99);
	ck_assert_uint_eq(percent(LIMIT_STARTUPS_FULL), 100);
	ck_assert_uint_eq(percent(LIMIT_STARTUPS_FULL + 1), 100);
	ck_assert_uint_eq(percent(1000000), 100);
	ck_assert(gate_drops(55, 64) && !gate_drops(55, 65));
}
END_TEST

/* An address has its share, a user has his, and so have all together. */
START_TEST(test_shares)
{
	knock("ann", "ann 1", SOURCE);
	ARE(SOURCE, 0);
	knock("ann", "ann 1", 1);
	ARE(SOURCE, 1);
	knock("ann", "ann 2", USER - SOURCE);
	ARE(USER, 1);
	knock("ann", "ann 3", 1);
	ARE(USER, 2);
	/* Who has but one address has the share of a user. */
	knock("bob", "bob", FULL - USER);
	ARE(FULL, 2);
	knock("eve", "eve 1", 1);
	ARE(FULL, 3);
	ck_assert_uint_eq(m.world.stats[STAT_dropped], 0);
}
END_TEST

START_TEST(test_share_of_one_name)
{
	knock("bob", "bob", USER);
	ARE(USER, 0);
	knock("bob", "bob", 1);
	ARE(USER, 1);
}
END_TEST

/* Of who is gone nothing is kept, of his address or of himself. */
START_TEST(test_forgotten)
{
	struct mallinfo2	 before;
	char			 user[32], source[64];
	int			 i;

	memset(&before, 0, sizeof(before));
	for (i = 0; i < 1010; i++) {
		if (i == 10)
			before = mallinfo2();
		snprintf(user, sizeof(user), "uid %d", i);
		snprintf(source, sizeof(source), "%s 127.0.0.1", user);
		knock(user, source, 1);
		ARE(1, 0);
		gate_leave(m.gate, &workers[0]);
		ARE(0, 0);
		nworkers = 0;
	}
	ck_assert_uint_lt(mallinfo2().uordblks, before.uordblks + 10000);
}
END_TEST

/* The first who waits has the place that is left, unless it is not his. */
START_TEST(test_whose_turn)
{
	is_patient = true;
	knock("ann", "ann 1", SOURCE + 2);
	knock("bob", "bob 1", 1);
	ARE(SOURCE + 1, 2);
	/* Nobody who leaves is in anybody's way twice. */
	gate_leave(m.gate, &workers[3]);
	gate_leave(m.gate, &workers[3]);
	ARE(SOURCE, 2);
	turn();
	ARE(SOURCE + 1, 1);
	ck_assert_str_eq(workers[SOURCE + 1].peer.source, "ann 1");
	gate_leave(m.gate, &workers[SOURCE]);
	turn();
	ARE(SOURCE, 1);
	m.world.state = WORLD_STOPPING;
	gate_leave(m.gate, &workers[0]);
	turn();
	ARE(SOURCE - 1, 1);
}
END_TEST

/* Two users from what reads the same, and one who is called like that. */
START_TEST(test_alike)
{
	unsigned	 i;

	is_patient = true;
	knock("ann", "an address", SOURCE);
	knock("bob", "an address", SOURCE);
	ARE(2 * SOURCE, 0);
	knock("an address", "an address 2", 1);
	ARE(2 * SOURCE + 1, 0);
	for (i = 0; i <= 2 * SOURCE; i++)
		gate_leave(m.gate, &workers[i]);
	ARE(0, 0);
	knock("ann", "another", 1);
	knock("bob", "another", 1);
	knock("an address", "another", 1);
	ARE(3, 0);
}
END_TEST

/* Who came first comes in first. */
START_TEST(test_order)
{
	struct peer	 p = a_peer("ann", "ann 1");
	int		 i;

	is_patient = true;
	knock("ann", "ann 1", SOURCE);
	for (i = 1; i <= 3; i++)
		gate_enqueue(m.gate, a_connection(), &p, 400 + i, false);
	for (i = 1; i <= 3; i++) {
		gate_leave(m.gate, &workers[i]);
		turn();
		ck_assert_int_eq(last.refuse, 400 + i);
	}
	ARE(SOURCE, 0);
}
END_TEST

/* The oldest of the address goes, when it had its moment and not before. */
START_TEST(test_patience_of_a_source)
{
	knock("bob", "bob 1", 1);
	now += 1;
	knock("ann", "ann 2", 1);
	now += 1;
	knock("ann", "ann 1", SOURCE);
	now += 100;
	knock("ann", "ann 1", 1);
	ARE(SOURCE + 2, 1);
	ck_assert_uint_eq(timer, LIMIT_STARTUPS_PATIENCE - 100);
	now += LIMIT_STARTUPS_PATIENCE - 101;
	turn();
	ck_assert_uint_eq(timer, 1);
	ck_assert_uint_eq(nkilled, 0);
	now += 1;
	turn();
	ck_assert_uint_eq(nkilled, 1);
	ck_assert_ptr_eq(killed, &workers[2]);
	ck_assert_uint_eq(m.world.stats[STAT_dropped], 1);
	turn();
	ARE(SOURCE + 2, 0);
	turn();
	ck_assert_uint_eq(nkilled, 1);
}
END_TEST

/* It is the oldest one of that user, where that user has too many. */
START_TEST(test_patience_in_a_crowd)
{
	crowd = 3;
	knock("ann", "ann 1", SOURCE + 1);
	ck_assert_uint_eq(timer, LIMIT_STARTUPS_PATIENCE);
	now += 3 * LIMIT_STARTUPS_PATIENCE - 1;
	turn();
	ck_assert_uint_eq(timer, 1);
	ck_assert_uint_eq(nkilled, 0);
	now++;
	turn();
	ck_assert_uint_eq(nkilled, 1);
	/* However large it is; and it is over. */
	crowd = 100;
	knock("ann", "ann 2", SOURCE + 1);
	now += 10 * LIMIT_STARTUPS_PATIENCE - 1;
	turn();
	ck_assert_uint_eq(nkilled, 1);
	now++;
	turn();
	ck_assert_uint_eq(nkilled, 2);
}
END_TEST

START_TEST(test_patience_of_a_user)
{
	knock("bob", "bob 1", 1);
	knock("ann", "ann 1", SOURCE);
	knock("ann", "ann 2", USER - SOURCE);
	knock("ann", "ann 3", 1);
	now += LIMIT_STARTUPS_PATIENCE;
	turn();
	ck_assert_ptr_eq(killed, &workers[1]);
	turn();
	ARE(USER + 1, 0);
}
END_TEST

/* It is the oldest of all where all places are taken. */
START_TEST(test_patience_of_all)
{
	knock("cat", "cat 1", 1);
	knock("ann", "ann", USER);
	knock("bob", "bob", FULL - USER - 1);
	knock("eve", "eve 1", 1);
	ARE(FULL, 1);
	now += LIMIT_STARTUPS_PATIENCE;
	turn();
	ck_assert_ptr_eq(killed, &workers[0]);
	turn();
	ARE(FULL, 0);
}
END_TEST

/* Of a user so many wait, and no other one suffers. */
START_TEST(test_queue)
{
	knock("ann", "ann 1", SOURCE);
	knock("ann", "ann 1", LIMIT_STARTUPS_QUEUE);
	ARE(SOURCE, LIMIT_STARTUPS_QUEUE);
	ck_assert_uint_eq(m.world.stats[STAT_dropped], 0);
	knock("ann", "ann 1", 1);
	knock("ann", "ann 2", 1);
	ARE(SOURCE, LIMIT_STARTUPS_QUEUE);
	ck_assert_uint_eq(m.world.stats[STAT_dropped], 2);
	knock("bob", "bob 1", 1);
	ARE(SOURCE + 1, LIMIT_STARTUPS_QUEUE);
}
END_TEST

/* Whom nobody knows: a short queue, of which no address has more than half. */
START_TEST(test_queue_of_the_unknown)
{
	struct peer	 p = a_peer("unknown", "192.0.2.1");
	unsigned	 i;

	p.known = false;
	drawn = 100;
	for (i = 0; i < SOURCE + FULL / 2 + 3; i++)
		gate_enqueue(m.gate, a_connection(), &p, 0, false);
	ARE(SOURCE, FULL / 2);
	ck_assert_uint_eq(m.world.stats[STAT_dropped], 3);
	/* Others take their places, and wait, unless the dice say no. */
	p = a_peer("unknown", "192.0.2.2");
	p.known = false;
	for (i = 0; i < SOURCE + 1; i++)
		gate_enqueue(m.gate, a_connection(), &p, 0, false);
	ARE(2 * SOURCE, FULL / 2 + 1);
	drawn = 0;
	gate_enqueue(m.gate, a_connection(), &p, 0, false);
	ARE(2 * SOURCE, FULL / 2 + 1);
	ck_assert_uint_eq(m.world.stats[STAT_dropped], 4);
	/* Who is known has no dice. */
	knock("unknown", "192.0.2.2", 1);
	ARE(2 * SOURCE, FULL / 2 + 2);
}
END_TEST

/* The same when others have all the places. */
START_TEST(test_unknown_behind_all)
{
	struct peer	 p = a_peer("unknown", "192.0.2.1");
	unsigned	 i;

	knock("ann", "ann", USER);
	knock("bob", "bob", FULL - USER);
	p.known = false;
	drawn = 100;
	for (i = 0; i < FULL / 2 + 1; i++)
		gate_enqueue(m.gate, a_connection(), &p, 0, false);
	ARE(FULL, FULL / 2);
}
END_TEST

/* Answers of refusal are given up at random when many are greeted. */
START_TEST(test_refused)
{
	struct peer	 p = a_peer("ann", "ann 1");

	drawn = 0;
	knock("bob", "bob 1", LIMIT_STARTUPS_BEGIN - 1);
	gate_enqueue(m.gate, a_connection(), &p, 403, false);
	ck_assert_int_eq(last.refuse, 403);
	ARE(LIMIT_STARTUPS_BEGIN, 0);
	gate_enqueue(m.gate, a_connection(), &p, 403, false);
	ARE(LIMIT_STARTUPS_BEGIN, 0);
	ck_assert_uint_eq(m.world.stats[STAT_dropped], 1);
	knock("ann", "ann 1", 1);
	ck_assert_int_eq(last.refuse, 0);
	ARE(LIMIT_STARTUPS_BEGIN + 1, 0);
}
END_TEST

/* What is said of a client goes with it; who drains takes nothing new. */
START_TEST(test_passed_on)
{
	struct peer	 p = a_peer("ann", "ann 1");

	gate_admit(m.gate, a_connection(), &p, false, "hello", 5);
	ck_assert(last.greeted && !last.full);
	ck_assert_uint_eq(last.len, 5);
	ck_assert_mem_eq(last.message, "hello", 5);
	gate_admit(m.gate, a_connection(), &p, true, "", 0);
	ck_assert(last.full && last.len == 0);
	gate_enqueue(m.gate, a_connection(), &p, 0, true);
	ck_assert(!last.greeted && last.full);
	knock("ann", "ann 1", 1);
	ck_assert(!last.full);
	m.drain.is_on = true;
	knock("ann", "ann 1", 1);
	ck_assert(last.full);
}
END_TEST

/* Without workers all wait; one that is lost gives its place back. */
START_TEST(test_no_workers)
{
	room = 0;
	knock("ann", "ann 1", 3);
	ARE(0, 3);
	room = 2;
	gate_pump(m.gate);
	ARE(2, 1);
	is_lost = true;
	room = 3;
	gate_pump(m.gate);
	ARE(2, 0);
	is_lost = false;
	room = FULL;
	knock("ann", "ann 1", SOURCE - 2);
	ARE(SOURCE, 0);
}
END_TEST

/*
 * Under root a worker is told who the user is.  A connection waits while that
 * is not known, others pass it; if it cannot be known it is refused.
 */
START_TEST(test_users)
{
	struct peer	 p = a_peer("uid 1", "a"), slow = a_peer("uid 2", "b");

	p.uid = 1000;
	slow.uid = SLOW;
	user_is = USERDB_KNOWN;
	gate_enqueue(m.gate, a_connection(), &p, 0, false);
	ck_assert_uint_eq(asked, 0);
	ck_assert_ptr_null(last.user);
	m.world.start.is_root = true;
	gate_enqueue(m.gate, a_connection(), &slow, 0, false);
	ARE(1, 1);
	gate_enqueue(m.gate, a_connection(), &p, 0, false);
	ARE(2, 1);
	ck_assert_ptr_eq(last.user, &somebody);
	ck_assert_int_eq(last.refuse, 0);
	/* Nobody to become. */
	asked = 0;
	p.uid = 0;
	gate_enqueue(m.gate, a_connection(), &p, 0, false);
	p.uid = 1000;
	gate_enqueue(m.gate, a_connection(), &p, 403, false);
	ck_assert_int_eq(last.refuse, 403);
	p.must_show = true;
	gate_enqueue(m.gate, a_connection(), &p, 0, false);
	p.must_show = false;
	ck_assert_ptr_null(last.user);
	ARE(5, 1);
	user_is = USERDB_FAILED;
	gate_enqueue(m.gate, a_connection(), &p, 0, false);
	ck_assert_int_eq(last.refuse, 503);
	ck_assert_ptr_null(last.user);
	ARE(6, 1);
	/* An upgraded connection cannot be refused by HTTP any more. */
	gate_admit(m.gate, a_connection(), &p, false, "x", 1);
	ARE(6, 1);
	ck_assert_uint_eq(m.world.stats[STAT_dropped], 1);
	ck_assert(!last.greeted);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("gate");
	TCase	*t = tcase_create("gate");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 10);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_drops);
	tcase_add_test(t, test_users);
	tcase_add_test(t, test_shares);
	tcase_add_test(t, test_share_of_one_name);
	tcase_add_test(t, test_forgotten);
	tcase_add_test(t, test_whose_turn);
	tcase_add_test(t, test_alike);
	tcase_add_test(t, test_order);
	tcase_add_test(t, test_patience_of_a_source);
	tcase_add_test(t, test_patience_in_a_crowd);
	tcase_add_test(t, test_patience_of_a_user);
	tcase_add_test(t, test_patience_of_all);
	tcase_add_test(t, test_queue);
	tcase_add_test(t, test_queue_of_the_unknown);
	tcase_add_test(t, test_unknown_behind_all);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_passed_on);
	tcase_add_test(t, test_no_workers);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
