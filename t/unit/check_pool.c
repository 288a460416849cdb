/*
 * master/workers/pool.c: how many spare workers there are, when none, and which
 * template they come from.  Workers, channels and time are ours; a template
 * is a process that only sleeps.
 */
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/ipc/chan.h"
#include "common/limit.h"
#include "master/logs/logto.h"
#include "master/workers/cgroups.h"
#include "master/workers/pool.h"
#include "master/world.h"

#define MIN	4
#define MAX	20

/* One for each template that was started. */
struct chan {
	chan_msg_fn	*on_msg;
	chan_end_fn	*on_end;
	void		*arg;
	bool		 is_open;
	unsigned	 probes, forks, last;
};

static struct world	 world;
static struct children	 children;
static struct pool	*pool;
static struct chan	 chans[8];
static unsigned		 nchans, npumps, nlost, next_id;
static uint64_t		 now;		/* ns */
static bool		 has_workers, may_again, listens;
static struct child	*forked, *exited;
static pid_t		 forked_as;
static int		 exited_with;

/* --- in the place of time, channels and workers --- */

int
clock_gettime(clockid_t id, struct timespec *out)
{
	(void)id;
	out->tv_sec = (time_t)(now / 1000000000);
	out->tv_nsec = (long)(now % 1000000000);
	return 0;
}

struct chan *
chan_new(struct event_base *base, int sock, enum ipc_role self,
    enum ipc_role peer, chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg)
{
	struct chan	*c = &chans[nchans++];

	ck_assert_uint_le(nchans, sizeof(chans) / sizeof(chans[0]));
	ck_assert(base == world.base && self == IPC_ROLE_MASTER &&
	    peer == IPC_ROLE_TEMPLATE);
	close(sock);
	*c = (struct chan){ on_msg, on_end, arg, true, 0, 0, 0 };
	return c;
}

void
chan_free(struct chan **cp)
{
	if (*cp != NULL)
		(*cp)->is_open = false;
	*cp = NULL;
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	(void)fd;
	ck_assert(c->is_open);
	c->probes += kind == IPC_probe;
	if (kind == IPC_fork) {
		c->forks++;
		c->last = ((const Ipc__Fork *)body)->id;
	}
}

struct child *
child_new(struct children *all, int *sock_out)
{
	struct child	*c;

	*sock_out = -1;
	if (!has_workers)
		return NULL;
	ck_assert_int_ne(*sock_out = dup(STDERR_FILENO), -1);
	ck_assert_ptr_nonnull(c = calloc(1, sizeof(*c)));
	c->all = all;
	c->id = ++next_id;
	c->chan = &chans[0];
	c->sock = -1;
	TAILQ_INSERT_TAIL(&children.list, c, entry);
	return c;
}

void
child_kill(struct child *c)
{
	TAILQ_REMOVE(&children.list, c, entry);
	free(c);
}

struct child *
child_by_id(struct children *all, unsigned id)
{
	struct child	*c;

	TAILQ_FOREACH(c, &all->list, entry)
		if (c->id == id)
			return c;
	return NULL;
}

static bool
is_spare(const struct child *c)
{
	return c->chan != NULL && (c->state == CHILD_STARTING ||
	    c->state == CHILD_IDLE);
}

size_t
child_count_spare(const struct children *all)
{
	const struct child	*c;
	size_t			 n = 0;

	TAILQ_FOREACH(c, &all->list, entry)
		n += is_spare(c);
	return n;
}

struct child *
child_find_idle(const struct children *all)
{
	struct child	*c;

	TAILQ_FOREACH(c, &all->list, entry)
		if (is_spare(c) && c->state == CHILD_IDLE)
			return c;
	return NULL;
}

struct child *
child_find_spare(const struct children *all)
{
	struct child	*c = child_find_idle(all);

	if (c != NULL)
		return c;
	TAILQ_FOREACH(c, &all->list, entry)
		if (is_spare(c))
			return c;
	return NULL;
}

bool
child_is_forking(const struct children *all)
{
	const struct child	*c;

	TAILQ_FOREACH(c, &all->list, entry)
		if (c->pid == 0)
			return true;
	return false;
}

void
child_on_forked(struct child *c, pid_t pid, int error)
{
	(void)error;
	forked = c;
	forked_as = pid;
}

void
child_on_exit(struct child *c, int status)
{
	exited = c;
	exited_with = status;
}

void
child_on_template_gone(struct children *all, bool again)
{
	ck_assert_ptr_eq(all, &children);
	may_again = again;
	nlost++;
}

static void
on_spare(struct master *master)
{
	ck_assert_ptr_null(master);
	npumps++;
}

static bool
has_listeners(const struct master *master)
{
	ck_assert_ptr_null(master);
	return listens;
}

static const struct master_events	 events = {
	.on_spare = on_spare,
	.has_listeners = has_listeners
};

const char *
cgroups_path(const struct cgroups *g)
{
	(void)g;
	return "";
}

int
logto_stderr(const struct world_logs *l)
{
	(void)l;
	return STDERR_FILENO;
}

/* --- */

/* Let time go on; 0: only what is due now. */
static void
pass(unsigned ms)
{
	do {
		event_base_loop(world.base, EVLOOP_NONBLOCK);
		now += ms > 0 ? 1000000 : 0;
	} while (ms-- > 0);
}

/* A template that was killed is gone. */
static void
reap(void)
{
	int	 status;
	pid_t	 pid = waitpid(-1, &status, 0);

	ck_assert_int_gt(pid, 0);
	ck_assert(pool_has(pool, pid));
	ck_assert(pool_on_exit(pool, pid, status));
}

static void
make_program(void)
{
	static const char	 text[] = "#!/bin/sh\nexec sleep 100\n";
	const char		*dir = getenv("TMPDIR");
	int			 fd;

	snprintf(world.start.worker, sizeof(world.start.worker),
	    "%s/check_pool.XXXXXX", dir != NULL ? dir : "/tmp");
	ck_assert_int_ne(fd = mkostemp(world.start.worker, O_CLOEXEC), -1);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	ck_assert_int_eq(fchmod(fd, 0700), 0);
	close(fd);
}

static void
setup(void)
{
	memset(&world, 0, sizeof(world));
	memset(&children, 0, sizeof(children));
	world.events = &events;
	now = 1000000000000;
	has_workers = true;
	TAILQ_INIT(&children.list);
	TAILQ_INIT(&children.forking);
	listens = true;
	make_program();
	world.conf.min_spare = MIN;
	world.conf.max_spare = MAX;
	ck_assert_ptr_nonnull(world.base = event_base_new());
	ck_assert_ptr_nonnull(pool = pool_new(&world, &children));
}

static void
teardown(void)
{
	pool_kill(pool);
	pool_free(&pool);
	while (!TAILQ_EMPTY(&children.list))
		child_kill(TAILQ_FIRST(&children.list));
	while (waitpid(-1, NULL, 0) > 0)
		continue;
	unlink(world.start.worker);
	event_base_free(world.base);
}

static void
answer(struct chan *c, enum ipc_kind kind, void *body)
{
	struct ipc_msg	 msg = { .kind = kind, .body = body, .fd = -1 };

	c->on_msg(c->arg, &msg);
}

/* The template's first word. */
static void
hello(struct chan *c)
{
	Ipc__Ability	 ability = IPC__ABILITY__INIT;

	ability.sandbox = (char *)(uintptr_t)"some";
	answer(c, IPC_ability, &ability);
}

static void
is_forked(struct chan *c, unsigned id, pid_t pid)
{
	Ipc__Forked	 in = IPC__FORKED__INIT;

	in.id = id;
	in.pid = pid;
	answer(c, IPC_forked, &in);
}

/* All workers that are being started are there. */
static void
settle(struct chan *t)
{
	struct child	*c;

	TAILQ_FOREACH(c, &children.list, entry)
		if (c->pid == 0) {
			if (c->state == CHILD_STARTING)
				c->state = CHILD_IDLE;
			c->pid = 2;
			is_forked(t, c->id, 2);
		}
}

static struct child *
take(void)
{
	struct child	*c = pool_take(pool);

	if (c != NULL)
		c->state = CHILD_GREETING;
	return c;
}

#define TAKE(n)	for (size_t k = (n); k > 0; k--) \
				ck_assert_ptr_nonnull(take())
#define SPARE(n)	ck_assert_uint_eq(child_count_spare(&children), n)

/* --- how many --- */

START_TEST(test_start)
{
	SPARE(0);
	ck_assert_uint_eq(chans[0].probes, 1);
	ck_assert_str_eq(pool_sandbox(pool), "not known yet");
	pass(0);
	SPARE(MIN);
	ck_assert_uint_eq(chans[0].forks, MIN);
	ck_assert_uint_ge(npumps, 1);
	hello(&chans[0]);
	ck_assert_str_eq(pool_sandbox(pool), "some");
	pass(5000);
	SPARE(MIN);
}
END_TEST

/* In a quiet moment, or when half of them are gone. */
START_TEST(test_made_up_for)
{
	hello(&chans[0]);
	pass(0);
	take();
	SPARE(MIN - 1);
	pass(19);
	SPARE(MIN - 1);
	pass(3);
	SPARE(MIN);
	take();
	take();
	pass(0);
	SPARE(MIN / 2);
	take();
	pass(0);
	SPARE(MIN);
}
END_TEST

/* A rush doubles what is kept, up to a limit; later half of it goes again. */
START_TEST(test_rush)
{
	hello(&chans[0]);
	pass(0);
	TAKE(MIN + 1);
	pass(0);
	SPARE(2 * MIN);
	settle(&chans[0]);
	pass(998);
	SPARE(2 * MIN);
	pass(2);
	SPARE(MIN);
	TAKE(100);
	pass(0);
	SPARE(MAX);
	settle(&chans[0]);
	pass(1001);
	SPARE(MAX / 2);
	pass(1001);
	SPARE(MAX / 4);
	pass(1001);
	SPARE(MIN);
	pass(5000);
	SPARE(MIN);
	/* Those that a slow template starts after all that go as well. */
	TAKE(MIN + 1);
	pass(5000);
	SPARE(2 * MIN);
	settle(&chans[0]);
	pass(1001);
	SPARE(MIN);
}
END_TEST

/* Who has no worker waiting takes what there is when one is needed. */
START_TEST(test_no_spare)
{
	world.conf.min_spare = 0;
	pool_reload(pool);
	hello(&chans[0]);
	pass(30);
	SPARE(0);
	ck_assert_ptr_nonnull(take());
	pass(30);
	SPARE(1);
	world.conf.max_spare = 0;
	take();
	take();
	pass(1900);
	settle(&chans[0]);
	pass(2000);
	SPARE(0);
	/* Who had none is looked for a second later. */
	has_workers = false;
	ck_assert_ptr_null(pool_take(pool));
	npumps = 0;
	pass(999);
	ck_assert_uint_eq(npumps, 0);
	pass(1);
	ck_assert_uint_eq(npumps, 1);
}
END_TEST

START_TEST(test_reload)
{
	hello(&chans[0]);
	pass(0);
	settle(&chans[0]);
	world.conf.min_spare = MIN + 2;
	pool_reload(pool);
	pass(1);
	SPARE(MIN + 2);
	settle(&chans[0]);
	world.conf.min_spare = 1;
	pool_reload(pool);
	pass(1);
	SPARE(1);
	/* On standard input only there is one client, and he has come. */
	listens = false;
	pool_reload(pool);
	pass(1);
	SPARE(0);
}
END_TEST

/* --- when none --- */

/* Five that die within ten seconds: none for a second. */
START_TEST(test_throttled)
{
	unsigned	 i;

	hello(&chans[0]);
	pass(0);
	for (i = 0; i < 5; i++) {
		settle(&chans[0]);
		pass(2499);
		pool_on_death(pool);
	}
	TAKE(3);
	pass(500);
	SPARE(1);
	while (!TAILQ_EMPTY(&children.list))
		child_kill(TAILQ_FIRST(&children.list));
	ck_assert_ptr_null(pool_take(pool));
	pass(498);
	SPARE(0);
	ck_assert_ptr_null(pool_take(pool));
	npumps = 0;
	pass(2);
	SPARE(MIN);
	/* Who waits for one is looked for. */
	ck_assert_uint_eq(npumps, 1);
	pool_on_death(pool);
	while (!TAILQ_EMPTY(&children.list))
		child_kill(TAILQ_FIRST(&children.list));
	ck_assert_ptr_null(pool_take(pool));
}
END_TEST

START_TEST(test_not_throttled)
{
	unsigned	 i;

	hello(&chans[0]);
	pass(0);
	for (i = 0; i < 20; i++) {
		while (!TAILQ_EMPTY(&children.list))
		child_kill(TAILQ_FIRST(&children.list));
		pool_on_death(pool);
		ck_assert_ptr_nonnull(take());
		pass(500);
		settle(&chans[0]);
		pass(2002);
	}
	TAKE(MIN + 1);
	pass(10001);
	for (i = 0; i < 4; i++)
		pool_on_death(pool);
	TAKE(2 * MAX);
}
END_TEST

/* One that nobody had is made up for, whatever became of it. */
START_TEST(test_gone)
{
	struct child	*c;
	unsigned	 i;

	hello(&chans[0]);
	pass(0);
	for (i = 0; i < 2; i++) {
		c = TAILQ_FIRST(&children.list);
		c->client = i == 0 ? CHILD_SPARE : CHILD_ASSIGNED;
		pool_on_child_gone(pool, c);
		child_kill(c);
		pass(100);
		SPARE(i == 0 ? MIN : MIN - 1);
	}
	/* Where none can be made it is tried again. */
	has_workers = false;
	take();
	pass(100);
	SPARE(MIN - 2);
	has_workers = true;
	pass(800);
	SPARE(MIN - 2);
	pass(200);
	SPARE(MIN);
	pool_stop(pool);
	ck_assert(!chans[0].is_open);
	TAKE(MIN);
	ck_assert_ptr_null(pool_take(pool));
	pass(5000);
	SPARE(0);
}
END_TEST

/* --- the template --- */

/* One that dies again and again is started anew after longer and longer. */
START_TEST(test_template_dies)
{
	static const unsigned	 pauses[] = { 50, 100, 200, 400, 800, 1000,
				    1000 };
	unsigned		 i;

	for (i = 0; i < sizeof(pauses) / sizeof(pauses[0]); i++) {
		while (!TAILQ_EMPTY(&children.list))
		child_kill(TAILQ_FIRST(&children.list));
		chans[i].on_end(chans[i].arg, 0);
		/* Who wants a worker meanwhile does not make it later. */
		ck_assert_ptr_null(take());
		pass(pauses[i] - 2);
		ck_assert_uint_eq(nchans, i + 1);
		pass(3);
		ck_assert_uint_eq(nchans, i + 2);
	}
}
END_TEST

/* It is started anew, at once if the last one worked for a while. */
START_TEST(test_template_gone)
{
	ck_assert(!pool_is_broken(pool));
	chans[0].on_end(chans[0].arg, 0);
	ck_assert(pool_is_broken(pool));
	ck_assert_uint_eq(nlost, 1);
	ck_assert(!chans[0].is_open);
	reap();
	ck_assert(pool_is_gone(pool));
	ck_assert_ptr_null(pool_take(pool));
	pass(48);
	ck_assert_uint_eq(nchans, 1);
	pass(3);
	ck_assert_uint_eq(nchans, 2);
	ck_assert_uint_eq(chans[1].probes, 1);
	ck_assert(pool_is_broken(pool));
	hello(&chans[1]);
	ck_assert(!pool_is_broken(pool));
	/* One that worked for a while is nothing to worry about. */
	settle(&chans[1]);
	pass(5000);
	chans[1].on_end(chans[1].arg, 0);
	ck_assert(!pool_is_broken(pool));
	pass(1);
	ck_assert_uint_eq(nchans, 3);
}
END_TEST

/* The next one forks those that have a client already. */
START_TEST(test_asked_again)
{
	struct child	 c = { .id = 77 };

	hello(&chans[0]);
	pass(0);
	settle(&chans[0]);
	pass(5000);
	ck_assert_int_ne(c.sock = dup(STDERR_FILENO), -1);
	TAILQ_INSERT_TAIL(&children.forking, &c, process_entry);
	chans[0].on_end(chans[0].arg, 0);
	ck_assert(may_again && c.sock != -1);
	pass(1);
	ck_assert_uint_eq(nchans, 2);
	ck_assert_uint_eq(chans[1].forks, 1);
	ck_assert_uint_eq(chans[1].last, 77);
	ck_assert_int_eq(c.sock, -1);
	/* Not a second time. */
	take();
	pass(30);
	ck_assert_uint_eq(chans[1].forks, 2);
	ck_assert_uint_ne(chans[1].last, 77);
}
END_TEST

START_TEST(test_template_silent)
{
	pass(29998);
	ck_assert(chans[0].is_open);
	pass(2);
	ck_assert_uint_eq(nlost, 1);
	ck_assert_uint_eq(nchans, 2);
	ck_assert(pool_is_broken(pool));
}
END_TEST

/* It has two seconds for each answer, from its last one on. */
START_TEST(test_template_hangs)
{
	hello(&chans[0]);
	pass(0);
	pass(1500);
	ck_assert(pool_is_broken(pool));
	is_forked(&chans[0], 1, 2);
	ck_assert(!pool_is_broken(pool));
	pass(499);
	ck_assert(!pool_is_broken(pool));
	pass(1);
	ck_assert(pool_is_broken(pool));
	pass(1498);
	ck_assert(chans[0].is_open);
	pass(3);
	ck_assert(!chans[0].is_open);
	ck_assert_uint_eq(nlost, 1);
	ck_assert(pool_is_broken(pool));
}
END_TEST

/* One that has answered everything is not waited for. */
START_TEST(test_template_idle)
{
	hello(&chans[0]);
	pass(0);
	settle(&chans[0]);
	pass(60000);
	ck_assert(chans[0].is_open && !pool_is_broken(pool));
	take();
	pass(30);
	pass(1900);
	ck_assert(chans[0].is_open);
	pass(200);
	ck_assert(!chans[0].is_open);
}
END_TEST

static void
use_up(void)
{
	world.conf.template_max_forks = MIN + 1;
	hello(&chans[0]);
	pass(0);
	settle(&chans[0]);
	take();
	pass(30);
	ck_assert_uint_eq(chans[0].forks, MIN + 1);
}

/* After so many forks another one takes its place, when that is ready. */
START_TEST(test_template_follows)
{
	unsigned	 i;

	use_up();
	take();
	pass(900);
	ck_assert_uint_eq(nchans, 1);
	pass(100);
	take();
	pass(30);
	ck_assert_uint_eq(nchans, 2);
	/* Until then the old one works, and then until it has answered. */
	ck_assert_uint_eq(chans[0].forks, MIN + 3);
	ck_assert_uint_eq(chans[1].forks, 0);
	pass(30);
	take();
	pass(30);
	ck_assert_uint_eq(nchans, 2);
	hello(&chans[1]);
	ck_assert(chans[0].is_open);
	take();
	pass(30);
	ck_assert_uint_eq(chans[0].forks, MIN + 4);
	ck_assert_uint_eq(chans[1].forks, 1);
	if (_i == 1) {
		/* What it was asked for nobody else may be. */
		chans[1].on_end(chans[1].arg, 0);
		ck_assert(nlost == 1 && !may_again);
		return;
	}
	for (i = 0; i < 4; i++) {
		ck_assert(chans[0].is_open);
		is_forked(&chans[0], chans[0].last, 7);
	}
	ck_assert(!chans[0].is_open);
	ck_assert(chans[1].is_open);
	ck_assert_uint_eq(nlost, 0);
	ck_assert_uint_eq(nchans, 2);
}
END_TEST

/* It has ten seconds for that; else the old one stays. */
START_TEST(test_template_does_not_follow)
{
	unsigned	 i;

	use_up();
	settle(&chans[0]);
	pass(1000);
	take();
	pass(30);
	settle(&chans[0]);
	ck_assert_uint_eq(nchans, 2);
	pass(9900);
	ck_assert(chans[1].is_open);
	pass(100);
	ck_assert(!chans[1].is_open && chans[0].is_open);
	reap();
	ck_assert_uint_eq(nlost, 0);
	ck_assert(!pool_is_broken(pool));
	/* It has so many forks again. */
	for (i = 0; i < MIN + 1; i++) {
		ck_assert_uint_eq(nchans, 2);
		take();
		pass(30);
		settle(&chans[0]);
	}
	take();
	pass(30);
	ck_assert_uint_eq(nchans, 3);
}
END_TEST

/* None follows one that never answered. */
START_TEST(test_template_first)
{
	world.conf.template_max_forks = 1;
	pass(2000);
	take();
	pass(2000);
	ck_assert_uint_eq(nchans, 1);
	hello(&chans[0]);
	take();
	pass(30);
	ck_assert_uint_eq(nchans, 2);
}
END_TEST

/* Nor any one where it may work for ever. */
START_TEST(test_template_for_ever)
{
	unsigned	 i;

	hello(&chans[0]);
	world.conf.template_max_forks = 0;
	for (i = 0; i < 1000; i++) {
		take();
		pass(30);
		settle(&chans[0]);
	}
	ck_assert_uint_eq(nchans, 1);
}
END_TEST

/* Who ended before the template told of him is not forgotten. */
START_TEST(test_early_end)
{
	struct child	*c;

	hello(&chans[0]);
	pass(0);
	ck_assert(!pool_on_exit(pool, 4711, 9));
	ck_assert(!pool_on_exit(pool, 4712, 10));
	c = TAILQ_FIRST(&children.list);
	is_forked(&chans[0], c->id, 4711);
	ck_assert_ptr_eq(forked, c);
	ck_assert_int_eq(forked_as, 4711);
	ck_assert_ptr_eq(exited, c);
	ck_assert_int_eq(exited_with, 9);
	/* Once. */
	exited = NULL;
	is_forked(&chans[0], TAILQ_NEXT(c, entry)->id, 4711);
	ck_assert_ptr_null(exited);
	is_forked(&chans[0], TAILQ_NEXT(c, entry)->id, 4712);
	ck_assert_int_eq(exited_with, 10);
	/* Where nobody is waited for it was none of ours. */
	TAILQ_FOREACH(c, &children.list, entry)
		c->pid = 1;
	ck_assert(!pool_on_exit(pool, 4713, 0));
	exited = NULL;
	is_forked(&chans[0], TAILQ_FIRST(&children.list)->id, 4713);
	ck_assert_ptr_null(exited);
}
END_TEST

static Suite *
pool_suite(void)
{
	Suite	*s = suite_create("pool");
	TCase	*t = tcase_create("pool");

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_start);
	tcase_add_test(t, test_made_up_for);
	tcase_add_test(t, test_rush);
	tcase_add_test(t, test_no_spare);
	tcase_add_test(t, test_reload);
	tcase_add_test(t, test_throttled);
	tcase_add_test(t, test_not_throttled);
	tcase_add_test(t, test_gone);
	tcase_add_test(t, test_template_dies);
	tcase_add_test(t, test_template_gone);
	tcase_add_test(t, test_asked_again);
	tcase_add_test(t, test_template_silent);
	tcase_add_test(t, test_template_hangs);
	tcase_add_test(t, test_template_idle);
	tcase_add_loop_test(t, test_template_follows, 0, 2);
	tcase_add_test(t, test_template_does_not_follow);
	tcase_add_test(t, test_template_first);
	tcase_add_test(t, test_template_for_ever);
	tcase_add_test(t, test_early_end);
	suite_add_tcase(s, t);
	return s;
}

int
main(void)
{
	SRunner	*r = srunner_create(pool_suite());
	int	 failed;

	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
