/*
 * common/dial/resolve.c: the process and its client, in a loop (wsloop.c).
 * No name here is asked of the network: they are in /etc/hosts, or no names.
 * Where the answers matter a stand-in takes the place of the process: it runs
 * where that would shed its rights, and never returns.
 */
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>

#include <check.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/dial/resolve.h"
#include "common/limit.h"
#include "t/unit/left_out.h"

#define MUST(claim)	do {						\
		if (!(claim))						\
			ck_abort_msg("%s", #claim);			\
	} while (0)

#define TICK_MS	5
#define WISHES	1000

/* What goes over the socket. */
struct question {
	uint32_t	 number;
	char		 host[256];
};
struct reply {
	uint32_t		 number;
	struct resolve_answer	 answer;
};

/* Seen by the process as well. */
static struct {
	pid_t			 pid;
	volatile unsigned	 asked;
	volatile bool		 is_hidden;
}			*shared;

struct asker {
	struct resolve_query	*query;
	unsigned		 calls;
	struct resolve_answer	 answer;
	struct asker		*cancels;	/* when it is answered */
	struct asker		*asks;
};

static struct wsloop		 loop;
static struct wsloop_timer	 tick;
static uint64_t			 ticks;
static struct resolver		*resolver;
static int			 gone;
static struct asker		 all[WISHES];

/* --- the process -----------------------------------------------------------*/

static void
put_address(struct resolve_answer *a, const char *text)
{
	snprintf(a->address[a->n++], RESOLVE_TEXT, "%s", text);
}

static void
post(int fd, const struct reply *r, size_t len)
{
	if (send(fd, r, len, MSG_NOSIGNAL) != (ssize_t)len)
		_exit(0);
}

/* What the name says is done; in the end comes 10.0.0.N, the N-th answer. */
static void
stand_in_for(int fd, const struct question *q)
{
	struct reply	 r, odd;
	char		 text[RESOLVE_TEXT];

	memset(&r, 0, sizeof(r));
	r.number = q->number;
	snprintf(text, sizeof(text), "10.0.0.%u", ++shared->asked);
	put_address(&r.answer, text);
	odd = r;
	if (strcmp(q->host, "long") == 0) {
		memset(&odd.answer.address, 'x', sizeof(odd.answer.address));
		odd.answer.n = RESOLVE_MAX;
		r = odd;
	} else if (strcmp(q->host, "many") == 0) {
		odd.answer.n = RESOLVE_MAX + 1;
		post(fd, &odd, sizeof(odd));
		odd.answer.n = SIZE_MAX;
		post(fd, &odd, sizeof(odd));
	} else if (strcmp(q->host, "other") == 0) {
		odd.number++;
		post(fd, &odd, sizeof(odd));
		odd.number = 0;
		post(fd, &odd, sizeof(odd));
		odd.number = UINT32_MAX;
		post(fd, &odd, sizeof(odd));
	} else if (strcmp(q->host, "short") == 0) {
		post(fd, &odd, sizeof(odd) - 1);
		post(fd, &odd, 4);
		post(fd, &odd, 1);
	} else if (strcmp(q->host, "twice") == 0) {
		post(fd, &r, sizeof(r));
	} else if (strcmp(q->host, "none") == 0) {
		r.answer.n = 0;
	} else if (strcmp(q->host, "dead") == 0) {
		_exit(0);
	}
	post(fd, &r, sizeof(r));
}

static int
stand_in(void)
{
	struct question	 q;
	int		 fd = STDIN_FILENO;	/* see keep_only() */

	while (recv(fd, &q, sizeof(q), 0) == (ssize_t)sizeof(q))
		stand_in_for(fd, &q);
	_exit(0);
}

static int
be_itself(void)
{
	shared->pid = getpid();
	return 0;
}

static bool
hide(const char *path)
{
	return mount("/dev/null", path, NULL, MS_BIND, NULL) == 0 ||
	    errno == ENOENT;
}

/* Without /etc/hosts, and where the only name server does not answer. */
static int
be_without_hosts(void)
{
	shared->pid = getpid();
	shared->is_hidden = unshare(CLONE_NEWUSER | CLONE_NEWNS) == 0 &&
	    mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
	    hide("/etc/hosts") && hide("/etc/resolv.conf");
	return 0;
}

/* --- the loop --------------------------------------------------------------*/

static void
on_tick(void *arg)
{
	ticks++;
	wsloop_timer_set(&loop, &tick, TICK_MS, on_tick, arg);
}

static void
turn(void)
{
	MUST(lws_service(loop.lws, 0) >= 0);
}

static uint64_t
scaled(uint64_t ms)
{
	const char	*scale = getenv("T_SCALE");

	return scale == NULL ? ms : ms * strtoul(scale, NULL, 10);
}

#define WAIT(claim)	do {						\
		uint64_t until_ = clock_ms() + scaled(30000);		\
									\
		while (!(claim)) {					\
			turn();						\
			if (clock_ms() > until_)			\
				ck_abort_msg("never: %s", #claim);	\
		}							\
	} while (0)

/* Time for what must not come. */
static void
idle(void)
{
	uint64_t	 until = ticks + 6;

	while (ticks < until)
		turn();
}

static void
on_gone(void *arg)
{
	++*(int *)arg;
}

static void
start(int (*process)(void))
{
	ck_assert_ptr_nonnull(resolver = resolver_start(process));
	ck_assert_int_eq(wsloop_init(&loop), 0);
	ck_assert_int_eq(resolver_attach(resolver, &loop, on_gone,
	    &gone), 0);
	wsloop_timer_set(&loop, &tick, TICK_MS, on_tick, NULL);
}

static void
setup(void)
{
	shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne((void *)shared, MAP_FAILED);
	memset(all, 0, sizeof(all));
}

static void
teardown(void)
{
	resolver_free(&resolver);
	ck_assert_ptr_null(resolver);
	resolver_free(&resolver);
	idle();
	wsloop_timer_clear(&loop, &tick);
	wsloop_fini(&loop);
}

/* --- who asks --------------------------------------------------------------*/

static void	 ask(struct asker *a, const char *host);

static void
on_answer(void *arg, const struct resolve_answer *answer)
{
	struct asker	*a = arg;

	MUST(a >= all && a < all + WISHES);
	a->query = NULL;
	a->calls++;
	a->answer = *answer;
	if (a->cancels != NULL)
		resolve_cancel(&a->cancels->query);
	if (a->asks != NULL)
		ask(a->asks, "localhost");
}

static void
ask(struct asker *a, const char *host)
{
	a->query = resolve(resolver, host, on_answer, a);
	MUST(a->query != NULL);
	/* Never from within. */
	MUST(a->calls == 0);
}

static void
ck_answer(const struct asker *a, const char *address)
{
	ck_assert_uint_eq(a->calls, 1);
	ck_assert_uint_ge(a->answer.n, 1);
	ck_assert_str_eq(a->answer.address[0], address);
}

/* --- tests -----------------------------------------------------------------*/

START_TEST(test_numbers)
{
	static const char *const	 numbers[] = {
		"127.0.0.1", "0.0.0.0", "255.255.255.255", "::1", "::",
		"2001:db8::1", "FE80::A", "::ffff:10.1.2.3",
		"1111:2222:3333:4444:5555:6666:255.255.255.255"
	};
	size_t				 i, n = sizeof(numbers) /
					    sizeof(numbers[0]);

	start(stand_in);
	for (i = 0; i < n; i++)
		ask(&all[i], numbers[i]);
	WAIT(all[n - 1].calls == 1);
	for (i = 0; i < n; i++) {
		ck_answer(&all[i], numbers[i]);
		ck_assert_uint_eq(all[i].answer.n, 1);
	}
	/* Nobody was asked. */
	ck_assert_uint_eq(shared->asked, 0);
	idle();
	ck_assert_uint_eq(all[0].calls, 1);
}
END_TEST

START_TEST(test_localhost)
{
	size_t	 i;
	bool	 is_there = false;

	start(be_itself);
	ask(&all[0], "localhost");
	ask(&all[1], "127.1");
	WAIT(all[0].calls == 1 && all[1].calls == 1);
	ck_assert(all[0].answer.n >= 1 && all[0].answer.n <= RESOLVE_MAX);
	for (i = 0; i < all[0].answer.n; i++)
		is_there |= strcmp(all[0].answer.address[i], "127.0.0.1") ==
		    0 || strcmp(all[0].answer.address[i], "::1") == 0;
	ck_assert(is_there);
	ck_answer(&all[1], "127.0.0.1");
	/* Now it is known. */
	ck_assert_int_eq(kill(shared->pid, SIGSTOP), 0);
	ask(&all[2], "localhost");
	WAIT(all[2].calls == 1);
	ck_assert_mem_eq(&all[2].answer, &all[0].answer,
	    sizeof(all[0].answer));
	ck_assert_int_eq(kill(shared->pid, SIGCONT), 0);
}
END_TEST

START_TEST(test_without_hosts)
{
	start(be_without_hosts);
	ask(&all[0], "LocalHost");
	WAIT(all[0].calls == 1);
	if (!shared->is_hidden)
		left_out("/etc/hosts cannot be hidden");
	else
		ck_answer(&all[0], "::1");
}
END_TEST

/* No host, and no reason to go to the network about it. */
START_TEST(test_unknown)
{
	char	 label[65], host[256];
	size_t	 i;

	memset(label, 'l', sizeof(label));
	label[64] = '\0';
	memset(host, 'h', sizeof(host));
	host[255] = '\0';
	start(be_itself);
	ask(&all[0], label);
	ask(&all[1], host);
	ask(&all[2], "a..b");
	ask(&all[3], "");
	ask(&all[4], "a b");
	ask(&all[5], "[::1]");
	ask(&all[6], "localhost");
	WAIT(all[6].calls == 1);
	for (i = 0; i < 6; i++) {
		ck_assert_uint_eq(all[i].calls, 1);
		ck_assert_uint_eq(all[i].answer.n, 0);
	}
	ck_assert_uint_ge(all[6].answer.n, 1);
}
END_TEST

START_TEST(test_too_long)
{
	char	 host[4096];

	start(be_itself);
	memset(host, 'h', sizeof(host));
	host[256] = '\0';
	ck_assert_ptr_null(resolve(resolver, host, on_answer, &all[0]));
	ck_assert_int_eq(errno, ENAMETOOLONG);
	host[256] = 'h';
	host[sizeof(host) - 1] = '\0';
	ck_assert_ptr_null(resolve(resolver, host, on_answer, &all[0]));
	ask(&all[1], "localhost");
	WAIT(all[1].calls == 1);
	ck_assert_uint_eq(all[0].calls, 0);
}
END_TEST

/* --- answers ---------------------------------------------------------------*/

/* A process that parses what strangers sent may say anything. */
START_TEST(test_odd_answers)
{
	static const char *const	 hosts[] = {
		"many", "other", "short", "twice"
	};
	size_t				 i;
	char				 want[RESOLVE_TEXT];

	start(stand_in);
	for (i = 0; i < 4; i++) {
		ask(&all[i], hosts[i]);
		WAIT(all[i].calls == 1);
		snprintf(want, sizeof(want), "10.0.0.%zu", i + 1);
		ck_answer(&all[i], want);
	}
	ask(&all[4], "last");
	WAIT(all[4].calls == 1);
	idle();
	for (i = 0; i < 5; i++)
		ck_assert_uint_eq(all[i].calls, 1);
}
END_TEST

/* They are used as strings. */
START_TEST(test_endless_addresses)
{
	size_t	 i;

	start(stand_in);
	ask(&all[0], "long");
	ask(&all[1], "last");
	WAIT(all[1].calls == 1);
	for (i = 0; all[0].calls > 0 && i < all[0].answer.n; i++)
		ck_assert_ptr_nonnull(memchr(all[0].answer.address[i], '\0',
		    RESOLVE_TEXT));
}
END_TEST

/* Four names are kept, for a while; none that was not found. */
START_TEST(test_known)
{
	static const char *const	 hosts[] = { "a", "b", "c", "d" };
	size_t				 i;

	start(stand_in);
	for (i = 0; i < 4; i++)
		ask(&all[i], hosts[i]);
	WAIT(all[3].calls == 1);
	ck_assert_uint_eq(shared->asked, 4);
	for (i = 0; i < 4; i++)
		ask(&all[4 + i], hosts[i]);
	WAIT(all[7].calls == 1);
	ck_answer(&all[4], "10.0.0.1");
	ck_answer(&all[7], "10.0.0.4");
	ck_assert_uint_eq(shared->asked, 4);
	/* The fifth takes the place of the first. */
	ask(&all[8], "e");
	WAIT(all[8].calls == 1);
	ask(&all[9], "a");
	ask(&all[10], "d");
	WAIT(all[9].calls == 1 && all[10].calls == 1);
	ck_answer(&all[9], "10.0.0.6");
	ck_answer(&all[10], "10.0.0.4");
	ask(&all[11], "none");
	WAIT(all[11].calls == 1);
	ck_assert_uint_eq(all[11].answer.n, 0);
	ask(&all[12], "none");
	WAIT(all[12].calls == 1);
	ck_assert_uint_eq(shared->asked, 8);
}
END_TEST

/*
 * Without it nobody new is found, and the owner is told; what it said before
 * is known for good.
 */
START_TEST(test_dead)
{
	start(stand_in);
	ask(&all[0], "a");
	WAIT(all[0].calls == 1);
	ask(&all[1], "dead");
	ask(&all[2], "x");
	WAIT(gone > 0 && all[1].calls == 1 && all[2].calls == 1);
	ck_assert_uint_eq(all[1].answer.n, 0);
	ck_assert_uint_eq(all[2].answer.n, 0);
	ck_assert(resolver_is_gone(resolver));
	/* Too late. */
	ask(&all[3], "x");
	ask(&all[4], "127.0.0.1");
	ask(&all[5], "a");
	WAIT(all[3].calls == 1 && all[4].calls == 1 && all[5].calls == 1);
	ck_assert_uint_eq(all[3].answer.n, 0);
	ck_answer(&all[4], "127.0.0.1");
	ck_answer(&all[5], all[0].answer.address[0]);
	idle();
	ck_assert_int_eq(gone, 1);
	ck_assert(!loop.is_over);
}
END_TEST

/* --- cancelling ------------------------------------------------------------*/

START_TEST(test_cancel)
{
	struct resolve_query	*none = NULL;
	size_t			 i;

	resolve_cancel(&none);
	start(stand_in);
	for (i = 0; i < 100; i++)
		ask(&all[i], i % 3 == 0 ? "::1" : "x");
	for (i = 0; i < 100; i += 2) {
		resolve_cancel(&all[i].query);
		ck_assert_ptr_null(all[i].query);
	}
	WAIT(all[99].calls == 1 && all[97].calls == 1);
	idle();
	for (i = 0; i < 100; i++)
		ck_assert_uint_eq(all[i].calls, i % 2);
}
END_TEST

/* From within an answer: those before and after, and a new query. */
START_TEST(test_within)
{
	start(stand_in);
	all[0].cancels = &all[2];
	all[1].cancels = &all[3];
	all[1].asks = &all[5];
	all[4].cancels = &all[6];
	all[5].asks = &all[7];
	ask(&all[0], "::1");
	ask(&all[1], "x");
	ask(&all[2], "y");
	ask(&all[3], "::2");
	ask(&all[4], "z");
	ask(&all[6], "w");
	WAIT(all[4].calls == 1 && all[7].calls == 1);
	idle();
	ck_assert_uint_eq(all[0].calls, 1);
	ck_assert_uint_eq(all[1].calls, 1);
	ck_assert_uint_eq(all[2].calls, 0);
	ck_assert_uint_eq(all[5].calls, 1);
	ck_assert_uint_eq(all[6].calls, 0);
	ck_assert_uint_eq(all[7].calls, 1);
}
END_TEST

/* Those that wait when it is freed are never answered. */
START_TEST(test_freed)
{
	size_t	 i;

	start(stand_in);
	for (i = 0; i < 100; i++)
		ask(&all[i], i % 2 == 0 ? "::1" : "x");
	resolver_free(&resolver);
	idle();
	for (i = 0; i < 100; i++)
		ck_assert_uint_eq(all[i].calls, 0);
}
END_TEST

/* --- many ------------------------------------------------------------------*/

static size_t
answers(void)
{
	size_t	 i, n = 0;

	for (i = 0; i < WISHES; i++)
		n += all[i].calls;
	return n;
}

/*
 * 1000 at once while it does not listen: each is answered once, or refused at
 * once; as many as an uplink can have at a time are not refused.
 */
START_TEST(test_many)
{
	size_t	 i, refused = 0;

	start(be_itself);
	ask(&all[0], "localhost");
	WAIT(all[0].calls == 1);
	ck_assert_int_eq(kill(shared->pid, SIGSTOP), 0);
	for (i = 1; i < WISHES; i++) {
		errno = 0;
		all[i].query = resolve(resolver, "127.1", on_answer, &all[i]);
		if (all[i].query == NULL) {
			ck_assert_int_eq(errno, EAGAIN);
			refused++;
		}
	}
	ck_assert_uint_ge(WISHES - refused, LIMIT_STREAMS);
	idle();
	ck_assert_int_eq(kill(shared->pid, SIGCONT), 0);
	/* It stops a moment after it was told: any of them may be refused. */
	WAIT(answers() + refused >= WISHES);
	idle();
	for (i = 0; i < WISHES; i++) {
		ck_assert_uint_le(all[i].calls, 1);
		ck_assert_ptr_null(all[i].query);
	}
	ck_assert_uint_eq(answers() + refused, WISHES);
	/* There is room again. */
	memset(all, 0, sizeof(all));
	ask(&all[0], "a..b");
	WAIT(all[0].calls == 1);
}
END_TEST

/* One after another. */
START_TEST(test_often)
{
	size_t	 i;

	start(stand_in);
	for (i = 0; i < WISHES; i++) {
		ask(&all[i], "none");
		WAIT(all[i].calls == 1);
	}
	ck_assert_uint_eq(shared->asked, WISHES);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("resolve");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_numbers);
	tcase_add_test(tc, test_localhost);
	tcase_add_test(tc, test_without_hosts);
	tcase_add_test(tc, test_unknown);
	tcase_add_test(tc, test_too_long);
	tcase_add_test(tc, test_odd_answers);
	tcase_add_test(tc, test_endless_addresses);
	tcase_add_test(tc, test_known);
	tcase_add_test(tc, test_dead);
	tcase_add_test(tc, test_cancel);
	tcase_add_test(tc, test_within);
	tcase_add_test(tc, test_freed);
	tcase_add_test(tc, test_many);
	tcase_add_test(tc, test_often);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
