/*
 * master/remote/remote.c: when a process of remote mode is started again, and
 * when it registers.  Time, processes and their channels are ours.
 */
#include <sys/wait.h>

#include <check.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/limit.h"
#include "common/process/sdnotify.h"
#include "master/accept/gate.h"
#include "master/accept/listen.h"
#include "master/accept/policy.h"
#include "master/auth/runas.h"
#include "master/logs/audit.h"
#include "master/logs/logto.h"
#include "master/remote/remote.h"
#include "master/remote/remote_check.h"
#include "master/remote/remote_exec.h"

#define EXITED(status)	((status) << 8)

struct chan {
	chan_msg_fn	*on_msg;
	chan_end_fn	*on_end;
	void		*arg;
};

static struct world		 world;
static struct listeners		 listeners;
static struct remotes		 us;
static struct conf_uplink	 block;
static struct remote		*r;
static struct chan		*last;		/* made */
static struct timer		*timer;		/* set last */
static uint64_t			 now, timer_ms;
static pid_t			 pid;		/* started last */
static bool			 is_told;	/* that it is registered */
static unsigned			 nregister, nbearer, nkilled, nstopped, nlost;

/* --- in the place of time, channels and processes --- */

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

uint64_t
clock_wall_ms(void)
{
	return now;
}

struct timeval
clock_timeval(uint64_t ms)
{
	return (struct timeval){ .tv_sec = (time_t)(ms / 1000) };
}

void
timer_init(struct timer *t, struct event_base *base, ev_fn *fn, void *arg)
{
	(void)base;
	t->fn = fn;
	t->arg = arg;
}

void
timer_set(struct timer *t, uint64_t ms)
{
	timer = t;
	timer_ms = ms;
}

void
timer_stop(struct timer *t)
{
	if (timer == t)
		timer = NULL;
}

void
io_init(struct io *io, struct event_base *base, int fd, short what, ev_fn *fn,
    void *arg)
{
	(void)io;
	(void)base;
	(void)fd;
	(void)what;
	(void)fn;
	(void)arg;
}

int
io_start(struct io *io)
{
	(void)io;
	return 0;
}

void
io_stop(struct io *io)
{
	(void)io;
}

struct chan *
chan_new(struct event_base *base, int sock, enum ipc_role self,
    enum ipc_role peer, chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg)
{
	ck_assert(base == NULL && sock == -1 && self == IPC_ROLE_MASTER &&
	    peer == IPC_ROLE_UPLINK);
	ck_assert_ptr_nonnull(last = calloc(1, sizeof(*last)));
	last->on_msg = on_msg;
	last->on_end = on_end;
	last->arg = arg;
	return last;
}

void
chan_free(struct chan **cp)
{
	free(*cp);
	*cp = NULL;
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	(void)body;
	ck_assert(c == r->chan && fd == -1);
	nregister += kind == IPC_uplink_register;
	nbearer += kind == IPC_uplink_bearer;
}

pid_t
remote_exec(const struct world *w, uid_t uid, gid_t gid, int *sock_out)
{
	ck_assert(w == &world && uid == 7 && gid == 8);
	*sock_out = -1;
	return ++pid;
}

int
kill(pid_t whom, int sig)
{
	ck_assert(whom == r->pid && sig == SIGKILL);
	nkilled++;
	return 0;
}

void
audit(struct world *w, const struct audit_what *what)
{
	ck_assert_ptr_eq(w, &world);
	nlost += what->event == AUDIT_uplink_lost;
}

int
remote_find_user(const struct conf *c, const struct conf_uplink *u,
    struct runas *out, struct conf_error *e)
{
	(void)e;
	ck_assert(c == &world.conf && u == &block);
	memset(out, 0, sizeof(*out));
	return 0;
}

int
remote_find_cred(const struct conf_uplink *u, const struct cred *env,
    struct cred *out)
{
	ck_assert_ptr_eq(u, &block);
	return cred_copy(out, env);
}

void
remote_fingerprint(const struct conf *c, const struct conf_uplink *u,
    char *out, size_t size)
{
	(void)c;
	(void)u;
	snprintf(out, size, "x");
}

void
sdnotify_uplink(struct sdnotify *n, unsigned number, bool is_registered,
    const char *state, void (*again)(void *), void *arg)
{
	(void)again;
	ck_assert(n == NULL && number == 1 && arg == &us && state[0] != '\0');
	is_told = is_registered;
}

int
logto_stderr(const struct world_logs *l)
{
	(void)l;
	ck_abort_msg("there is no log file");
	return -1;
}

int
policy_admit(struct world *w, const struct routes *rs, struct peer *p,
    bool *full)
{
	(void)w;
	(void)rs;
	(void)p;
	(void)full;
	ck_abort_msg("nobody came");
	return 0;
}

void
gate_enqueue(struct gate *g, int fd, const struct peer *p, int refuse,
    bool is_full)
{
	(void)g;
	(void)fd;
	(void)p;
	(void)refuse;
	(void)is_full;
	ck_abort_msg("nobody came");
}

int
remote_stdin_watch(struct remote_stdin *in, struct event_base *base,
    const struct remote_stdin_events *ev, void *arg)
{
	(void)in;
	(void)base;
	(void)ev;
	(void)arg;
	ck_abort_msg("nobody asked for it");
	return -1;
}

static void
on_fail(struct master *master, const char *why)
{
	ck_assert(master == NULL && why[0] != '\0');
	nstopped++;
}

static const struct master_events	 events = { .fail = on_fail };

/* --- */

static void
setup(void)
{
	static char	 empty[] = "", label[] = "l", environment[] = "e",
			 url[] = "https://h.invalid/", token[] = "t";
	struct cred	 env = { .source = CRED_API_KEY, .token = token };

	memset(&world, 0, sizeof(world));
	memset(&us, 0, sizeof(us));
	memset(&block, 0, sizeof(block));
	world.events = &events;
	world.state = WORLD_SERVING;
	us.world = &world;
	us.listeners = &listeners;
	us.uid = 7;
	us.gid = 8;
	TAILQ_INIT(&us.list);
	TAILQ_INIT(&listeners.list);
	block.label = label;
	block.environment = environment;
	block.url = url;
	block.forward = block.ca_file = block.name = empty;
	world.conf.uplink_ca_file = empty;
	world.conf.uplink = &block;
	world.conf.nuplink = 1;
	now = 1000000;
	pid = 100;
	timer = NULL;
	nregister = nbearer = nkilled = nstopped = nlost = 0;
	ck_assert_int_eq(remote_init(&us, &env), 0);
	ck_assert_ptr_nonnull(r = TAILQ_FIRST(&us.list));
	remote_start_all(&us);
	ck_assert_int_eq(r->state, REMOTE_REGISTERING);
	ck_assert_uint_eq(nregister, 1);
	ck_assert_uint_eq(nbearer, 1);
}

static void
teardown(void)
{
	remote_free_all(&us);
}

/* Its timer goes off, when it does. */
static void
wake(void)
{
	ck_assert_ptr_eq(timer, &r->timer_ev);
	now += timer_ms;
	timer = NULL;
	r->timer_ev.fn(r->timer_ev.arg);
}

static void
hear(enum ipc_kind kind, void *body)
{
	struct ipc_msg	 msg = { .kind = kind, .body = body, .fd = -1 };

	r->chan->on_msg(r->chan->arg, &msg);
}

static void
answer(Ipc__Registration result, unsigned status)
{
	Ipc__UplinkAnswer	 in = IPC__UPLINK_ANSWER__INIT;

	in.result = result;
	in.status = status;
	hear(IPC_uplink_answer, &in);
}

static void
connected(void)
{
	Ipc__UplinkStatus	 in = IPC__UPLINK_STATUS__INIT;

	in.phase = IPC__UPLINK_PHASE__CONNECTED;
	in.streams = 3;
	hear(IPC_uplink_status, &in);
}

/* Its channel ends, and then it. */
static void
die(void)
{
	r->chan->on_end(r->chan->arg, 0);
	ck_assert_int_eq(r->state, REMOTE_STOPPED);
	ck_assert_ptr_null(r->chan);
	ck_assert(remote_on_exit(&us, r->pid, SIGKILL));
	ck_assert_int_eq(r->pid, 0);
}

/* What the one before had says nothing of the next one. */
START_TEST(test_lost)
{
	answer(IPC__REGISTRATION__REGISTERED, 0);
	ck_assert_str_eq(remote_state_name(r), "registered");
	connected();
	ck_assert_str_eq(remote_state_name(r), "connected");
	ck_assert(is_told);
	ck_assert_uint_eq(r->streams, 3);
	r->chan->on_end(r->chan->arg, 0);
	ck_assert_uint_eq(nkilled, 1);
	ck_assert_str_eq(remote_state_name(r), "stopped");
	ck_assert(!is_told);
	ck_assert_uint_eq(r->streams, 0);
	ck_assert_uint_eq(r->restarts, 1);
	ck_assert_uint_eq(nlost, 1);
	/* Not before the first is gone. */
	wake();
	ck_assert_int_eq(r->state, REMOTE_STOPPED);
	ck_assert_uint_eq(timer_ms, LIMIT_UPLINK_SPACING);
	ck_assert(remote_on_exit(&us, 101, SIGKILL));
	wake();
	ck_assert_int_eq(r->pid, 102);
	ck_assert_int_eq(r->state, REMOTE_REGISTERING);
	answer(IPC__REGISTRATION__REGISTERED, 0);
	ck_assert_str_eq(remote_state_name(r), "registered");
}
END_TEST

/* The registry hears of one no oftener than once in LIMIT_UPLINK_SPACING. */
START_TEST(test_dies_registering)
{
	uint64_t	 most = 0;
	unsigned	 i;

	now += 10 * LIMIT_UPLINK_RETRY_MAX;
	for (i = 0; i < 8; i++) {
		die();
		ck_assert_uint_ge(timer_ms, LIMIT_UPLINK_SPACING);
		ck_assert_uint_ge(timer_ms, most);
		ck_assert_uint_le(timer_ms, LIMIT_UPLINK_RETRY_MAX);
		most = timer_ms;
		wake();
		ck_assert_int_eq(r->state, REMOTE_REGISTERING);
		ck_assert_uint_eq(nregister, i + 2);
	}
	ck_assert_uint_eq(most, LIMIT_UPLINK_RETRY_MAX);
	/* Once it is registered the pauses are short again. */
	answer(IPC__REGISTRATION__REGISTERED, 0);
	now += LIMIT_UPLINK_SPACING;
	die();
	ck_assert_uint_eq(timer_ms, LIMIT_UPLINK_RETRY);
}
END_TEST

/* Before its channel ends; with settings that no other could use either. */
START_TEST(test_exits)
{
	ck_assert(!remote_on_exit(&us, 99, EXITED(0)));
	ck_assert(remote_on_exit(&us, r->pid, EXITED(0)));
	ck_assert_int_eq(r->state, REMOTE_STOPPED);
	wake();
	ck_assert(remote_on_exit(&us, r->pid, EXITED(2)));
	ck_assert_int_eq(r->state, REMOTE_REFUSED);
	ck_assert_ptr_null(timer);
	ck_assert_uint_eq(nstopped, 1);
}
END_TEST

START_TEST(test_stopping)
{
	world.state = WORLD_STOPPING;
	die();
	ck_assert_ptr_null(timer);
	ck_assert_uint_eq(r->restarts, 0);
	ck_assert_uint_eq(nlost, 0);
	ck_assert(remote_is_gone(&us));
}
END_TEST

/* Another answer may follow two refusals, but not three. */
START_TEST(test_denied)
{
	unsigned	 i;

	for (i = 1; i < 3; i++) {
		answer(IPC__REGISTRATION__REFUSED, 401);
		ck_assert_int_eq(r->state, REMOTE_WAITING);
		wake();
		ck_assert_uint_eq(nregister, i + 1);
	}
	/* Others in between do not count. */
	answer(IPC__REGISTRATION__REFUSED, 503);
	ck_assert_int_eq(r->state, REMOTE_WAITING);
	wake();
	answer(IPC__REGISTRATION__REFUSED, 403);
	ck_assert_int_eq(r->state, REMOTE_REFUSED);
	ck_assert_uint_eq(nstopped, 1);
	ck_assert_ptr_null(timer);
	/* An answer to nothing. */
	answer(IPC__REGISTRATION__REGISTERED, 0);
	ck_assert_int_eq(r->state, REMOTE_REFUSED);
}
END_TEST

/* It is tried again where that is set, and for others the server goes on. */
START_TEST(test_refused)
{
	world.conf.uplink_retry = 60000;
	answer(IPC__REGISTRATION__REFUSED, 404);
	ck_assert_int_eq(r->state, REMOTE_REFUSED);
	ck_assert_uint_eq(nstopped, 0);
	ck_assert_uint_eq(timer_ms, 60000);
	wake();
	world.conf.uplink_retry = 0;
	world.start.is_stdio = true;
	answer(IPC__REGISTRATION__NONSENSE, 200);
	ck_assert_int_eq(r->state, REMOTE_REFUSED);
	ck_assert_uint_eq(nstopped, 0);
}
END_TEST

/* A registration that is not valid any more; a message out of turn. */
START_TEST(test_stale)
{
	Ipc__UplinkStatus	 in = IPC__UPLINK_STATUS__INIT;
	Ipc__UplinkOrphan	 orphan = IPC__UPLINK_ORPHAN__INIT;

	in.phase = IPC__UPLINK_PHASE__STALE;
	hear(IPC_uplink_status, &in);
	ck_assert_int_eq(r->state, REMOTE_REGISTERING);
	answer(IPC__REGISTRATION__REGISTERED, 0);
	hear(IPC_uplink_status, &in);
	ck_assert_int_eq(r->state, REMOTE_WAITING);
	ck_assert_uint_eq(timer_ms, LIMIT_UPLINK_SPACING);
	ck_assert_uint_eq(nkilled, 0);
	hear(IPC_uplink_orphan, &orphan);
	ck_assert_uint_eq(nkilled, 1);
	ck_assert_uint_eq(world.stats[STAT_violations], 1);
}
END_TEST

/* What an operator is told of what is wrong, the registry's before others. */
START_TEST(test_trouble)
{
	static const struct {
		Ipc__Registration	 result;
		unsigned		 status, refusal;
		bool			 has_no_url, has_bad_settings;
		const char		*text;
	} rows[] = {
		{ IPC__REGISTRATION__REGISTERED, 200, 0, false, false, "" },
		{ IPC__REGISTRATION__REGISTERED, 200, 403, true, false,
		  "rendezvous: status 403" },
		{ IPC__REGISTRATION__REGISTERED, 200, 0, true, false,
		  "rendezvous: URL cannot be used" },
		{ IPC__REGISTRATION__REGISTERED, 200, 403, true, true,
		  "settings cannot be used" },
		{ IPC__REGISTRATION__CONTENDED, 503, 0, false, false,
		  "busy, status 503" },
		{ IPC__REGISTRATION__NONSENSE, 200, 0, false, false,
		  "not a valid answer" },
		{ IPC__REGISTRATION__REFUSED, 400, 0, false, false,
		  "status 400" },
		{ IPC__REGISTRATION__REFUSED, 401, 0, false, false,
		  "authentication failed, status 401" },
		{ IPC__REGISTRATION__REFUSED, 403, 0, false, false,
		  "authentication failed, status 403" },
		{ IPC__REGISTRATION__REFUSED, 402, 0, false, false,
		  "status 402" },
		{ IPC__REGISTRATION__UNREACHED, 0, 0, false, false,
		  "no answer from the registry" },
	};
	struct remote	 one;
	char		 text[100];
	size_t		 i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(&one, 0, sizeof(one));
		one.result = rows[i].result;
		one.status = rows[i].status;
		one.refusal = rows[i].refusal;
		one.has_no_url = rows[i].has_no_url;
		one.has_bad_settings = rows[i].has_bad_settings;
		remote_trouble(&one, text, sizeof(text));
		ck_assert_str_eq(text, rows[i].text);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("remote");
	TCase	*t = tcase_create("remote");
	SRunner	*run;
	int	 failed;

	if (sodium_init() == -1)
		return 1;
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_lost);
	tcase_add_test(t, test_dies_registering);
	tcase_add_test(t, test_exits);
	tcase_add_test(t, test_stopping);
	tcase_add_test(t, test_denied);
	tcase_add_test(t, test_trouble);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_stale);
	suite_add_tcase(s, t);
	run = srunner_create(s);
	srunner_run_all(run, CK_NORMAL);
	failed = srunner_ntests_failed(run);
	srunner_free(run);
	return failed != 0;
}
