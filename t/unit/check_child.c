/*
 * master/workers/child.c: the life of a worker's record.  Its channel, signals
 * and what stands above it are ours.
 */
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/chan.h"
#include "common/log.h"
#include "master/workers/membudget.h"
#include "master/world.h"
#include "master/workers/child.h"

#define GRACE		1234	/* ms that sessions have */
#define PID		4242
#define EXITED(n)	((n) << 8)
#define SIGNALLED(n)	(n)
#define MANY		10000
#define NOWHERE		((void *)8)	/* a walk crashes there */

struct chan {
	chan_end_fn	*on_end;
	void		*arg;
	enum ipc_kind	 sent;
	unsigned	 nsent;
	int		 sock;
	bool		 is_too_many;
	bool		 holds, has_ended, is_lost, is_renewed;
};

static struct children	 all;
static struct world	 world;

/* Whose they are: an opaque pointer. */
static struct master	*const owner = (struct master *)&all;
static struct chan	*last;		/* made */
static unsigned		 nopen, ngone, nsettled, nearly, norphans, nstates;
static pid_t		 killed;
static unsigned		 nkilled;

/* --- in the place of channels, signals and those above --- */

struct chan *
chan_new(struct event_base *base, int sock, enum ipc_role self,
    enum ipc_role peer, chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg)
{
	ck_assert(base == world.base && self == IPC_ROLE_MASTER &&
	    peer == IPC_ROLE_WORKER && on_msg != NULL);
	ck_assert_ptr_nonnull(last = calloc(1, sizeof(*last)));
	last->on_end = on_end;
	last->arg = arg;
	last->sock = sock;
	nopen++;
	return last;
}

void
chan_free(struct chan **cp)
{
	if (*cp == NULL)
		return;
	if ((*cp)->sock != -1)
		close((*cp)->sock);
	free(*cp);
	*cp = NULL;
	nopen--;
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	ck_assert_int_eq(fd, -1);
	c->sent = kind;
	c->nsent++;
	if (kind != IPC_stop)
		return;
	c->is_too_many = ((const Ipc__Stop *)body)->is_too_many;
	ck_assert_uint_eq(((const Ipc__Stop *)body)->grace_ms, GRACE);
}

void
chan_hold(struct chan *c, bool holds)
{
	ck_assert(c->holds != holds);
	c->holds = holds;
}

int
chan_renew(struct chan *c, int sock)
{
	ck_assert(c->holds && sock != -1);
	c->has_ended = false;
	c->is_renewed = true;
	return 0;
}

bool
chan_has_ended(const struct chan *c)
{
	return c->has_ended;
}

bool
chan_is_lost(const struct chan *c)
{
	return c->is_lost;
}

int
kill(pid_t pid, int sig)
{
	ck_assert_int_eq(sig, SIGKILL);
	killed = pid;
	nkilled++;
	return 0;
}

static void
on_state(struct child *c)
{
	ck_assert_ptr_eq(c->all->world->master, owner);
	nstates++;
}

static void
on_settled(struct child *c)
{
	ck_assert_int_eq(c->state, CHILD_LEAVING);
	ck_assert_ptr_null(c->chan);
	nsettled++;
}

static void
on_early_death(struct child *c)
{
	ck_assert_int_eq(c->client, CHILD_SPARE);
	nearly++;
}

static void
on_gone(struct master *master)
{
	ck_assert_ptr_eq(master, owner);
	ngone++;
}

static void
on_orphans(struct master *master, bool is_urgent)
{
	(void)is_urgent;
	ck_assert_ptr_eq(master, owner);
	norphans++;
}

static void
on_pid(struct child *c)
{
	ck_assert(c->pid > 1 && c->process == CHILD_RUNS);
}

static const struct child_events	 child_events = {
	.on_state = on_state,
	.on_pid = on_pid,
	.on_settled = on_settled,
	.on_early_death = on_early_death
};

static const struct master_events	 events = {
	.on_child_gone = on_gone,
	.look_for_orphans = on_orphans
};

/* --- */

static void
setup(void)
{
	memset(&world, 0, sizeof(world));
	world.events = &events;
	world.master = owner;
	children_init(&all, &world, &child_events);
	world.conf.process_cgroup = CONF_CGROUP_NO;
	ck_assert_ptr_nonnull(world.base = event_base_new());
	ck_assert_ptr_nonnull(all.budget = membudget_new());
	ck_assert_ptr_nonnull(all.cgroups = cgroups_new(world.base,
	    &world.conf, NULL));
}

static void
teardown(void)
{
	child_forget_all(&all);
	ck_assert_uint_eq(nopen, 0);
	ck_assert_uint_eq(all.by_pid.count, 0);
	ck_assert_uint_eq(all.by_id.count, 0);
	ck_assert_uint_eq(all.running, 0);
	children_fini(&all);
	membudget_free(&all.budget);
	cgroups_free(&all.cgroups);
	event_base_free(world.base);
}

static struct child *
start(void)
{
	struct child	*c;
	int		 sock;

	ck_assert_ptr_nonnull(c = child_new(&all, &sock));
	close(sock);
	ck_assert_int_eq(c->process, CHILD_UNKNOWN);
	ck_assert_int_eq(c->end, CHILD_STAYS);
	return c;
}

static struct child *
start_forked(void)
{
	struct child	*c = start();

	child_on_forked(c, PID, 0);
	ck_assert_int_eq(c->process, CHILD_RUNS);
	ck_assert_int_eq(c->state, CHILD_IDLE);
	ck_assert_ptr_eq(child_by_pid(&all, PID), c);
	return c;
}

static struct child *
start_serving(void)
{
	struct child	*c = start_forked();

	child_set_client(c, CHILD_ASSIGNED);
	child_set_state(c, CHILD_GREETING);
	child_set_state(c, CHILD_SERVING);
	return c;
}

/* Spare the descriptor of a worker that is not heard any more. */
static void
close_channel(struct child *c)
{
	close(c->chan->sock);
	c->chan->sock = -1;
}

/* Its channel ends. */
static void
hang_up(struct child *c, int error)
{
	c->chan->has_ended = true;
	c->chan->on_end(c->chan->arg, error);
}

/* --- life --- */

/* A session ends as its worker said: no death, its record goes with both. */
START_TEST(test_life)
{
	struct child	*c = start_serving();

	ck_assert_uint_eq(nstates, 3);
	child_leaves(c);
	ck_assert_int_eq(c->end, CHILD_LEAVES);
	ck_assert_int_eq(c->state, CHILD_LEAVING);
	child_on_exit(c, EXITED(0));
	ck_assert_int_eq(c->process, CHILD_DRAINING);
	ck_assert_uint_eq(norphans, 1);
	ck_assert_uint_eq(ngone, 0);
	hang_up(c, 0);
	ck_assert_uint_eq(nsettled, 1);
	ck_assert_uint_eq(ngone, 1);
	ck_assert_uint_eq(world.stats[STAT_deaths], 0);
	ck_assert(TAILQ_EMPTY(&all.list));
	ck_assert_uint_eq(nkilled, 0);
}
END_TEST

/* The same when the channel's end comes first. */
START_TEST(test_channel_first)
{
	struct child	*c = start_serving();

	child_leaves(c);
	hang_up(c, 0);
	ck_assert_uint_eq(nsettled, 1);
	ck_assert_uint_eq(ngone, 0);
	ck_assert_int_eq(c->process, CHILD_ENDING);
	ck_assert_ptr_eq(child_by_pid(&all, PID), c);
	ck_assert_int_eq(child_next_exit(&all), PID);
	child_on_exit(c, EXITED(0));
	ck_assert_uint_eq(ngone, 1);
	ck_assert_int_eq(child_next_exit(&all), 0);
	ck_assert_uint_eq(world.stats[STAT_deaths], 0);
}
END_TEST

/* One that was serving and said nothing has died, whatever its status. */
START_TEST(test_death)
{
	struct child	*c = start_serving();

	child_on_exit(c, EXITED(0));
	ck_assert_uint_eq(world.stats[STAT_deaths], 0);
	hang_up(c, 0);
	ck_assert_uint_eq(world.stats[STAT_deaths], 1);
	ck_assert_uint_eq(ngone, 1);
	/* By a signal: at once, and nothing is awaited of its channel. */
	c = start_serving();
	child_on_exit(c, SIGNALLED(SIGSEGV));
	ck_assert_int_eq(c->process, CHILD_REAPED);
	ck_assert_uint_eq(world.stats[STAT_deaths], 2);
	hang_up(c, 0);
	ck_assert_uint_eq(world.stats[STAT_deaths], 2);
	ck_assert_uint_eq(ngone, 2);
	ck_assert_uint_eq(nearly, 0);
}
END_TEST

/* A spare one that leaves is no death; one that is killed is, and early. */
START_TEST(test_spare)
{
	struct child	*c = start_forked();

	child_on_exit(c, EXITED(0));
	hang_up(c, 0);
	ck_assert_uint_eq(world.stats[STAT_deaths], 0);
	ck_assert_uint_eq(norphans, 0);
	c = start_forked();
	child_on_exit(c, SIGNALLED(SIGKILL));
	hang_up(c, 0);
	ck_assert_uint_eq(world.stats[STAT_deaths], 1);
	ck_assert_uint_eq(nearly, 1);
	ck_assert_uint_eq(norphans, 1);
}
END_TEST

/* --- the number of its process --- */

/* After its end the number may be another process's. */
START_TEST(test_number)
{
	struct child	*c = start_serving(), *other = start();

	child_on_exit(c, SIGNALLED(SIGKILL));
	ck_assert_ptr_null(child_by_pid(&all, PID));
	child_on_forked(other, PID, 0);
	ck_assert_ptr_eq(child_by_pid(&all, PID), other);
	hang_up(c, 0);
	ck_assert_ptr_eq(child_by_pid(&all, PID), other);
	child_kill(other);
	ck_assert_int_eq(killed, PID);
}
END_TEST

/* Killed before its number is known: then, if it is not gone already. */
START_TEST(test_early)
{
	struct child	*c = start();

	child_kill(c);
	ck_assert_uint_eq(nkilled, 0);
	ck_assert_int_eq(c->end, CHILD_KILLED);
	ck_assert_int_eq(c->state, CHILD_LEAVING);
	child_on_forked(c, PID, 0);
	ck_assert_uint_eq(nkilled, 1);
	ck_assert_int_eq(killed, PID);
	/* One that leaves by itself does not need that. */
	c = start();
	child_set_client(c, CHILD_ASSIGNED);
	child_set_state(c, CHILD_GREETING);
	child_set_state(c, CHILD_SERVING);
	child_leaves(c);
	child_on_forked(c, PID + 1, 0);
	ck_assert_uint_eq(nkilled, 1);
}
END_TEST

/* There will be no process: without a template, or as it says. */
START_TEST(test_never)
{
	struct child	*c = start(), *forked = start_forked();

	child_on_template_gone(&all, true);
	ck_assert_uint_eq(ngone, 1);
	ck_assert_ptr_eq(TAILQ_FIRST(&all.list), forked);
	c = start();
	child_on_forked(c, 0, 11);
	ck_assert_uint_eq(ngone, 2);
	ck_assert_uint_eq(nsettled, 2);
}
END_TEST

/* Before it has a process; with a client. */
static struct child *
start_greeting(void)
{
	struct child	*c = start();

	child_set_client(c, CHILD_ASSIGNED);
	child_set_state(c, CHILD_GREETING);
	return c;
}

/*
 * A client does not notice that the template died: neither if that is heard
 * of first by the worker's channel, nor if that was never used.
 */
START_TEST(test_again)
{
	struct child	*c = start_greeting();
	struct chan	*chan = last;

	if (_i == 1)
		hang_up(c, 0);
	ck_assert_uint_eq(ngone, 0);
	child_on_template_gone(&all, true);
	ck_assert_uint_eq(ngone, 0);
	ck_assert(chan->is_renewed && chan->holds && c->chan == chan);
	ck_assert_int_ne(c->sock, -1);
	ck_assert_int_eq(c->state, CHILD_GREETING);
	/* The next one dies as well. */
	child_on_template_gone(&all, true);
	ck_assert_uint_eq(ngone, 0);
	ck_assert_int_ne(c->sock, -1);
	close(c->sock);
	c->sock = -1;
	child_on_forked(c, PID, 0);
	ck_assert(!chan->holds);
	ck_assert_int_eq(c->process, CHILD_RUNS);
	hang_up(c, 0);
	ck_assert_uint_eq(nsettled, 1);
}
END_TEST

/* For some it cannot be done, or makes no sense. */
START_TEST(test_not_again)
{
	struct child	*c = start_greeting();

	if (_i == 1)
		child_kill(c);
	else if (_i == 2)
		last->is_lost = true;
	child_on_template_gone(&all, _i != 0);
	ck_assert_uint_eq(ngone, 1);
	ck_assert(TAILQ_EMPTY(&all.list));
}
END_TEST

/* It was forked and has died before that was told. */
START_TEST(test_dead_already)
{
	struct child	*c = start_greeting();

	hang_up(c, 0);
	ck_assert_uint_eq(nsettled, 0);
	child_on_forked(c, PID, 0);
	ck_assert_uint_eq(nsettled, 1);
	ck_assert_int_eq(c->process, CHILD_ENDING);
	child_on_exit(c, SIGNALLED(SIGKILL));
	ck_assert_uint_eq(ngone, 1);
}
END_TEST

/* --- ends --- */

START_TEST(test_stop)
{
	struct child	*c = start_serving(), *spare;
	struct chan	*chan = last;

	c->grace = GRACE;
	child_stop(c, true);
	ck_assert_int_eq(c->end, CHILD_STOPS);
	ck_assert_int_eq(c->state, CHILD_SERVING);
	ck_assert(chan->sent == IPC_stop && chan->is_too_many);
	child_stop(c, false);
	ck_assert_uint_eq(chan->nsent, 2);
	child_leaves(c);
	ck_assert_int_eq(c->end, CHILD_LEAVES);
	/* Without a session it is killed. */
	spare = start();
	child_on_forked(spare, PID + 1, 0);
	child_stop(spare, false);
	ck_assert_int_eq(killed, PID + 1);
	ck_assert_int_eq(spare->end, CHILD_KILLED);
	child_on_exit(spare, SIGNALLED(SIGKILL));
	ck_assert_uint_eq(world.stats[STAT_deaths], 0);
}
END_TEST

/* What a killed worker said before is read, and does not undo that. */
START_TEST(test_killed)
{
	struct child	*c = start_serving();

	child_kill(c);
	ck_assert_int_eq(c->state, CHILD_SERVING);
	ck_assert_uint_eq(nkilled, 1);
	child_leaves(c);
	ck_assert_int_eq(c->end, CHILD_KILLED);
	ck_assert_int_eq(c->state, CHILD_LEAVING);
	child_on_exit(c, SIGNALLED(SIGKILL));
	ck_assert_uint_eq(world.stats[STAT_deaths], 0);
	child_kill(c);
	ck_assert_uint_eq(nkilled, 1);
}
END_TEST

/*
 * One that turned its client away, or was not wanted any more, and takes too
 * long to exit is killed by us: it did not die by itself.
 */
START_TEST(test_overdue)
{
	struct child	*c = start_forked();

	if (_i == 1) {
		child_set_client(c, CHILD_ASSIGNED);
		child_set_state(c, CHILD_GREETING);
	}
	hang_up(c, 0);
	ck_assert_int_eq(c->state, CHILD_LEAVING);
	ck_assert(timer_is_set(&c->kill_ev));
	ck_assert_uint_eq(nkilled, 0);
	timer_fire(&c->kill_ev);
	ck_assert_int_eq(event_base_loop(world.base, EVLOOP_ONCE), 0);
	ck_assert_uint_eq(nkilled, 1);
	ck_assert_int_eq(killed, PID);
	ck_assert_uint_eq(ngone, 0);
	child_on_exit(c, SIGNALLED(SIGKILL));
	ck_assert_uint_eq(ngone, 1);
	ck_assert_uint_eq(world.stats[STAT_deaths], 0);
	ck_assert_uint_eq(nearly, 0);
}
END_TEST

/* One that has not come yet is there until its process has ended. */
START_TEST(test_awaited_killed)
{
	struct child	*c = child_former(&all, 7, PID, -1);

	ck_assert_ptr_nonnull(c);
	child_kill(c);
	ck_assert_uint_eq(nkilled, 1);
	ck_assert_int_eq(c->state, CHILD_AWAITED);
	ck_assert_int_eq(c->end, CHILD_KILLED);
	child_on_exit(c, SIGNALLED(SIGKILL));
	ck_assert_uint_eq(nsettled, 1);
	ck_assert_ptr_null(child_by_id(&all, 7));
}
END_TEST

/* A message that is none costs it its life. */
START_TEST(test_violation)
{
	struct child	*c = start_forked();

	hang_up(c, EPROTO);
	ck_assert_int_eq(c->end, CHILD_KILLED);
	ck_assert_uint_eq(nkilled, 1);
	ck_assert_uint_eq(nearly, 1);
	ck_assert_uint_eq(world.stats[STAT_violations], 1);
	ck_assert_uint_eq(nsettled, 1);
}
END_TEST

/* --- moves --- */

enum question { STATE, CLIENT, TOKEN, TAPE };

static void
set(struct child *c, enum question q, int to)
{
	switch (q) {
	case STATE:
		child_set_state(c, (enum child_state)to);
		break;
	case CLIENT:
		child_set_client(c, (enum child_client)to);
		break;
	case TOKEN:
		child_set_token(c, (enum child_token)to);
		break;
	case TAPE:
		child_set_transcripts(c, (enum child_transcripts)to);
		break;
	}
}

/* A way to go, and then one step that is a fault of ours. */
static const struct {
	enum question	 q;
	int		 way[3];	/* ended by -1 */
	int		 wrong;
} moves[] = {
	{ STATE, { -1 }, CHILD_SERVING },
	{ STATE, { -1 }, CHILD_HANDING },
	{ STATE, { CHILD_IDLE, -1 }, CHILD_STARTING },
	{ STATE, { CHILD_IDLE, CHILD_GREETING, -1 }, CHILD_IDLE },
	{ STATE, { CHILD_GREETING, CHILD_SERVING, -1 }, CHILD_GREETING },
	{ STATE, { CHILD_GREETING, CHILD_LEAVING, -1 }, CHILD_GREETING },
	{ CLIENT, { -1 }, CHILD_TURNED_AWAY },
	{ CLIENT, { CHILD_ASSIGNED, -1 }, CHILD_SPARE },
	{ CLIENT, { CHILD_ASSIGNED, CHILD_TURNED_AWAY, -1 }, CHILD_ASSIGNED },
	{ TOKEN, { -1 }, CHILD_TOKEN_GOOD },
	{ TOKEN, { CHILD_TOKEN_AWAITED, CHILD_TOKEN_REFUSED, -1 },
	    CHILD_TOKEN_AWAITED },
	{ TOKEN, { CHILD_TOKEN_AWAITED, CHILD_TOKEN_REFUSED, -1 },
	    CHILD_TOKEN_GOOD },
	{ TAPE, { -1 }, CHILD_TRANSCRIPTS_REFUSED },
	{ TAPE, { CHILD_TRANSCRIPTS_WANTED, CHILD_TRANSCRIPTS_REFUSED, -1 },
	    CHILD_TRANSCRIPTS_WANTED }
};

static struct child *
go(int n)
{
	struct child	*c = start();
	int		 i;

	for (i = 0; moves[n].way[i] != -1; i++)
		set(c, moves[n].q, moves[n].way[i]);
	/* To stay is no move that could be wrong. */
	if (i > 0)
		set(c, moves[n].q, moves[n].way[i - 1]);
	return c;
}

START_TEST(test_legal)
{
	go(_i);
}
END_TEST

/* Ends with status 1: fatalx(). */
START_TEST(test_illegal)
{
	struct child	*c = go(_i);

	set(c, moves[_i].q, moves[_i].wrong);
}
END_TEST

/* --- all of them --- */

#define COUNT(state)	all.in_state[CHILD_##state]

/* One that waits is taken before one that is being started, the oldest. */
START_TEST(test_spares)
{
	struct child	*a = start(), *b = start(), *c = start(), *other;

	ck_assert_uint_eq(child_count_spare(&all), 3);
	ck_assert_ptr_null(child_find_idle(&all));
	ck_assert_ptr_eq(child_find_spare(&all), a);
	child_on_forked(c, PID, 0);
	ck_assert_ptr_eq(child_find_spare(&all), c);
	child_on_forked(b, PID + 1, 0);
	ck_assert(child_is_forking(&all));
	ck_assert_ptr_eq(child_find_idle(&all), c);
	child_kill(c);
	ck_assert_ptr_eq(child_find_idle(&all), b);
	child_set_client(b, CHILD_ASSIGNED);
	child_set_state(b, CHILD_GREETING);
	ck_assert_ptr_null(child_find_idle(&all));
	ck_assert_uint_eq(child_count_spare(&all), 1);
	/* It is given a client before the template has told of it. */
	child_set_client(a, CHILD_ASSIGNED);
	child_set_state(a, CHILD_GREETING);
	ck_assert_ptr_null(child_find_spare(&all));
	child_on_forked(a, PID + 2, 0);
	ck_assert(!child_is_forking(&all));
	ck_assert_uint_eq(COUNT(GREETING), 2);
	ck_assert_uint_eq(COUNT(LEAVING), 1);
	other = start();
	ck_assert_ptr_eq(child_find_spare(&all), other);
	ck_assert_ptr_eq(child_by_id(&all, other->id), other);
	ck_assert_ptr_null(child_by_id(&all, other->id + 1));
}
END_TEST

START_TEST(test_running)
{
	struct child	*a = start(), *b = start();

	child_set_running(a, 5);
	child_set_running(b, 3);
	child_set_running(a, 1);
	ck_assert_uint_eq(all.running, 4);
	child_kill(b);
	ck_assert_uint_eq(b->running, 0);
	ck_assert_uint_eq(all.running, 1);
}
END_TEST

/* Those who wait for a session, in the order in which they came. */
START_TEST(test_wanted)
{
	struct child		*a = start(), *b = start();
	struct child_list	 list = TAILQ_HEAD_INITIALIZER(list);
	child_want(b, NOWHERE, &list);
	child_want(a, NOWHERE, &list);
	ck_assert_ptr_eq(TAILQ_FIRST(&list), b);
	ck_assert_ptr_eq(TAILQ_NEXT(b, wanted_entry), a);
	child_want(b, NULL, NULL);
	ck_assert_ptr_null(b->wanted);
	ck_assert_ptr_eq(TAILQ_FIRST(&list), a);
	hang_up(a, 0);
	ck_assert(TAILQ_EMPTY(&list));
}
END_TEST

/*
 * With many sessions a worker comes and goes without a look at the others: from
 * one of them, in the middle, nothing leads on.
 */
START_TEST(test_flat)
{
	struct child	*c, *middle = NULL, old;
	int		 i;

	for (i = 0; i < MANY; i++) {
		close_channel(c = start());
		child_on_forked(c, PID + i, 0);
		child_set_client(c, CHILD_ASSIGNED);
		child_set_state(c, CHILD_GREETING);
		child_set_state(c, CHILD_SERVING);
		child_set_running(c, 1);
		if (i == MANY / 2)
			middle = c;
	}
	old = *middle;
	middle->entry.tqe_next = NOWHERE;
	middle->entry.tqe_prev = NOWHERE;
	for (i = 0; i < 10; i++) {
		ck_assert_uint_eq(child_count_spare(&all), 0);
		ck_assert_ptr_null(child_find_spare(&all));
		c = start();
		ck_assert(child_is_forking(&all));
		ck_assert_ptr_eq(child_find_spare(&all), c);
		child_on_forked(c, PID + MANY, 0);
		ck_assert(!child_is_forking(&all));
		ck_assert_ptr_eq(child_by_id(&all, c->id), c);
		ck_assert_ptr_eq(child_by_pid(&all, PID + MANY), c);
		child_set_client(c, CHILD_ASSIGNED);
		child_set_state(c, CHILD_GREETING);
		child_set_state(c, CHILD_SERVING);
		child_set_running(c, 7);
		ck_assert_uint_eq(COUNT(SERVING), MANY + 1);
		ck_assert_uint_eq(all.running, MANY + 7);
		child_leaves(c);
		hang_up(c, 0);
		child_on_exit(c, EXITED(0));
		ck_assert_uint_eq(COUNT(SERVING), MANY);
		ck_assert_uint_eq(all.running, MANY);
		child_on_template_gone(&all, true);
	}
	middle->entry = old.entry;
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("child");
	TCase	*t = tcase_create("child");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_life);
	tcase_add_test(t, test_channel_first);
	tcase_add_test(t, test_death);
	tcase_add_test(t, test_spare);
	tcase_add_test(t, test_number);
	tcase_add_test(t, test_early);
	tcase_add_test(t, test_never);
	tcase_add_loop_test(t, test_again, 0, 2);
	tcase_add_loop_test(t, test_not_again, 0, 3);
	tcase_add_test(t, test_dead_already);
	tcase_add_test(t, test_stop);
	tcase_add_test(t, test_killed);
	tcase_add_loop_test(t, test_overdue, 0, 2);
	tcase_add_test(t, test_awaited_killed);
	tcase_add_test(t, test_violation);
	tcase_add_test(t, test_spares);
	tcase_add_test(t, test_running);
	tcase_add_test(t, test_wanted);
	tcase_add_test(t, test_flat);
	tcase_add_loop_test(t, test_legal, 0,
	    (int)(sizeof(moves) / sizeof(moves[0])));
	tcase_add_loop_exit_test(t, test_illegal, 1, 0,
	    (int)(sizeof(moves) / sizeof(moves[0])));
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
