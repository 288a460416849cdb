/*
 * worker/proc*.c: a process from birth to where it is forgotten, without one:
 * spawn() is ours, and what it puts out goes through pipes that we hold.
 */
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/proc/proc.h"

#define NOBODY	0x3ffffff0	/* no process has such a number */
#define TTL_MS	30

static struct env	 env;
static struct window	 window;
static struct procs	 procs;
static struct proc	*p;
static int		 out_fd, err_fd;	/* to write output to */
static pid_t		 next_pid;
static size_t		 read_size;
static bool		 has_room, spawn_fails, is_forgotten;
static int		 asked_room;
static char		 heard[256], text[256];
static struct sink	 sink;

/* --- what stands around it --- */

int
spawn(const struct spawn *s, struct spawned *out, const char **what_out)
{
	int	 one[2], two[2];

	ck_assert_uint_ne(s->mark, 0);
	if (spawn_fails) {
		*what_out = "chdir";
		errno = ENOTDIR;
		return -1;
	}
	ck_assert_int_eq(pipe2(one, O_CLOEXEC | O_NONBLOCK), 0);
	ck_assert_int_eq(pipe2(two, O_CLOEXEC | O_NONBLOCK), 0);
	out->pid = next_pid++;
	out->input = -1;
	out->output[0] = one[0];
	out->output[1] = two[0];
	out_fd = one[1];
	err_fd = two[1];
	return 0;
}

static bool
room(void *arg, const struct proc *of)
{
	ck_assert_ptr_eq(arg, &env);
	ck_assert_ptr_eq(of->procs, &procs);
	asked_room++;
	return has_room;
}

static void
reap(void *arg)
{
	ck_assert_ptr_eq(arg, &env);
}

static void
written(void *arg, struct rpc_req *req)
{
	(void)arg;
	(void)req;
	ck_abort_msg("nobody wrote");
}

static void
forgotten(void *arg)
{
	ck_assert_ptr_eq(arg, &env);
	is_forgotten = true;
}

static size_t
size_of_read(void *arg)
{
	ck_assert_ptr_eq(arg, &env);
	return read_size;
}

static const struct proc_events	 events = {
	room, size_of_read, reap, written, forgotten
};

/* --- who hears of it --- */

static void
hear(const char *what)
{
	ck_assert_uint_lt(strlen(heard) + strlen(what), sizeof(heard) - 1);
	strcat(heard, what);
}

static void
on_output(struct sink *k, const struct output *o)
{
	(void)k;
	hear(o->stream == STREAM_STDERR ? "2" : "1");
	hear(o->chunk != NULL ? "c" : "-");
	ck_assert_uint_lt(strlen(text) + o->len, sizeof(text) - 1);
	strncat(text, o->data, o->len);
}

static void
on_exited(struct sink *k)
{
	(void)k;
	hear("x");
}

static void
on_close(struct sink *k)
{
	(void)k;
	hear("C");
}

static void
on_killed(struct sink *k)
{
	(void)k;
	hear("K");
}

static const struct sink_ops	 ops = {
	.on_output = on_output,
	.on_exit = on_exited,
	.on_close = on_close,
	.on_killed = on_killed,
};

/* --- steps --- */

static struct proc *
start(const char *id)
{
	char		*argv[] = { (char *)(uintptr_t)"a program", NULL };
	struct spawn	 sp;
	const char	*what;
	struct proc	*q;

	memset(&sp, 0, sizeof(sp));
	sp.argv = argv;
	sp.cgroup = -1;
	if ((q = proc_new(&procs, id, strlen(id), &sp, &what)) == NULL)
		ck_assert_str_eq(what, "chdir");
	return q;
}

static void
put(int fd, const char *what)
{
	ck_assert_int_eq(write(fd, what, strlen(what)),
	    (ssize_t)strlen(what));
}

/* What is due now. */
static void
turn(void)
{
	ck_assert_int_ne(event_base_loop(env.base, EVLOOP_NONBLOCK), -1);
}

static void
close_pipes(void)
{
	fd_close(&out_fd);
	fd_close(&err_fd);
	turn();
}

/* The client has all of it. */
static void
read_all(struct proc *q)
{
	retain_ack(&q->retain, q->retain.next_seq);
	ck_assert_uint_eq(q->retain.unread_cost, 0);
}

static void
setup(void)
{
	signal(SIGPIPE, SIG_IGN);
	memset(&env, 0, sizeof(env));
	env.base = event_base_new();
	ck_assert_ptr_nonnull(env.base);
	env.set.closed_ttl_ms = TTL_MS;
	window_init(&window);
	procs_init(&procs, &env, &window, &events, &env);
	next_pid = NOBODY;
	out_fd = err_fd = -1;
	has_room = true;
	read_size = LIMIT_READ_CHUNK;
	spawn_fails = is_forgotten = false;
	asked_room = 0;
	heard[0] = text[0] = '\0';
	procs_on_client(&procs, false);
	ck_assert_ptr_nonnull(p = start("one"));
	sink_add(&p->sinks, &sink, &ops);
}

static void
teardown(void)
{
	fd_close(&out_fd);
	fd_close(&err_fd);
	procs_fini(&procs);
	ck_assert_uint_eq(procs.known, 0);
	ck_assert_uint_eq(window.memory, 0);
	window_fini(&window);
	event_base_free(env.base);
}

/* --- */

START_TEST(test_life)
{
	ck_assert_ptr_eq(procs_find(&procs, "one", 3), p);
	ck_assert_ptr_eq(procs_find_pid(&procs, NOBODY), p);
	ck_assert_int_eq(p->state, PROC_RUNNING);
	ck_assert_str_eq(p->command, "a?program");
	put(out_fd, "out ");
	put(err_fd, "err ");
	turn();
	ck_assert_uint_eq(p->bytes_out, 8);
	ck_assert_uint_eq(procs.bytes_out, 8);
	/* Others may still hold its output. */
	proc_on_exit(p, W_EXITCODE(3, 0));
	ck_assert_int_eq(p->state, PROC_EXITED);
	ck_assert_int_eq(p->exit_code, 3);
	ck_assert_uint_eq(procs.running, 0);
	ck_assert_ptr_null(procs_find_pid(&procs, NOBODY));
	put(out_fd, "late");
	turn();
	close_pipes();
	ck_assert_int_eq(p->state, PROC_CLOSED);
	ck_assert(strcmp(heard, "1c2cx1cC") == 0 ||
	    strcmp(heard, "2c1cx1cC") == 0);
	ck_assert_uint_eq(strlen(text), 12);
	/* Two pieces, the exit, the last piece, the close. */
	ck_assert_uint_eq(p->retain.exit_seq, 3);
	ck_assert_uint_eq(p->retain.next_seq, 6);
	ck_assert(!p->unreported);
}
END_TEST

static const struct {
	int	 status, code;
} codes[] = {
	{ W_EXITCODE(0, 0), 0 },
	{ W_EXITCODE(255, 0), 255 },
	{ W_EXITCODE(0, SIGKILL), 137 },
	{ W_EXITCODE(0, SIGSEGV) | WCOREFLAG, 139 },
};

START_TEST(test_code)
{
	close_pipes();
	ck_assert_int_eq(p->state, PROC_RUNNING);
	proc_on_exit(p, codes[_i].status);
	ck_assert_int_eq(p->exit_code, codes[_i].code);
	ck_assert_int_eq(p->state, PROC_CLOSED);
	ck_assert_str_eq(heard, "xC");
}
END_TEST

START_TEST(test_no_start)
{
	spawn_fails = true;
	ck_assert_ptr_null(start("two"));
	ck_assert_int_eq(errno, ENOTDIR);
	ck_assert_uint_eq(procs.known, 1);
	ck_assert_uint_eq(procs.started, 1);
	ck_assert_ptr_null(procs_find(&procs, "two", 3));
}
END_TEST

/* What has no room stays in the pipe, and nobody asks again and again. */
START_TEST(test_room)
{
	has_room = false;
	put(out_fd, "waits");
	turn();
	turn();
	ck_assert_int_eq(asked_room, 1);
	ck_assert(procs.is_held);
	procs_unhold(&procs);
	turn();
	ck_assert_str_eq(heard, "");
	ck_assert(procs.is_held);
	has_room = true;
	procs_unhold(&procs);
	turn();
	ck_assert_str_eq(text, "waits");
	ck_assert(!procs.is_held);
	asked_room = 0;
	procs_unhold(&procs);
	ck_assert_int_eq(asked_room, 0);
}
END_TEST

static bool
always(const struct sink *k)
{
	(void)k;
	return true;
}

START_TEST(test_full_sink)
{
	static const struct sink_ops	 full = { .is_full = always };
	struct sink			 k = { .ops = NULL };

	sink_add(&p->sinks, &k, &full);
	put(out_fd, "waits");
	turn();
	ck_assert_str_eq(heard, "");
	ck_assert_int_eq(asked_room, 0);
	sink_remove(&k);
	procs_unhold(&procs);
	turn();
	ck_assert_str_eq(text, "waits");
}
END_TEST

/* Small pieces in quick succession, until it is paced. */
static void
pace(struct proc *q, int fd)
{
	unsigned	 i;

	for (i = 0; i < 100000 && !q->streams[0].paced; i++) {
		put(fd, "x");
		turn();
	}
	ck_assert(q->streams[0].paced);
}

/* The pause of another one does not end what holds it back. */
START_TEST(test_paced_and_full)
{
	static const struct sink_ops	 full = { .is_full = always };
	struct sink			 k = { .ops = NULL };
	struct proc			*q;
	struct stream			*st = &p->streams[0];
	int				 out = out_fd, err = err_fd;
	uint64_t			 bytes, more;
	unsigned			 i;

	sink_remove(&sink);
	pace(p, out);
	sink_add(&p->sinks, &k, &full);
	put(out, "waits");
	for (i = 0; i < 10000 && !st->held; i++) {
		turn();
		usleep(100);
	}
	ck_assert(st->held);
	bytes = p->bytes_out;
	ck_assert_ptr_nonnull(q = start("two"));
	pace(q, out_fd);
	more = q->bytes_out + 4;
	put(out_fd, "more");
	for (i = 0; i < 10000 && q->bytes_out < more; i++) {
		turn();
		usleep(100);
	}
	ck_assert_uint_eq(q->bytes_out, more);
	turn();
	ck_assert(st->held);
	ck_assert_uint_eq(p->bytes_out, bytes);
	sink_remove(&k);
	procs_unhold(&procs);
	turn();
	ck_assert_uint_eq(p->bytes_out, bytes + 5);
	close(out);
	close(err);
}
END_TEST

/* Nobody is told: small pieces go into one chunk. */
START_TEST(test_no_client)
{
	put(out_fd, "told ");
	turn();
	procs_on_client_lost(&procs);
	put(out_fd, "kept ");
	turn();
	put(out_fd, "too");
	turn();
	ck_assert_str_eq(heard, "1c1c1-");
	ck_assert_str_eq(text, "told kept too");
	ck_assert_uint_eq(p->retain.count, 2);
	proc_on_exit(p, 0);
	close_pipes();
	ck_assert(p->unreported);
}
END_TEST

static void
wait_ms(unsigned ms)
{
	struct timeval	 tv = { 0, (suseconds_t)ms * 1000 };

	ck_assert_int_eq(event_base_loopexit(env.base, &tv), 0);
	ck_assert_int_ne(event_base_dispatch(env.base), -1);
}

/* It is forgotten after a while, by whom it was told. */
START_TEST(test_forget)
{
	put(out_fd, "x");
	turn();
	proc_on_exit(p, 0);
	close_pipes();
	ck_assert(!is_forgotten);
	wait_ms(TTL_MS * 3);
	ck_assert(is_forgotten);
	ck_assert_uint_eq(procs.known, 0);
}
END_TEST

/* But not while somebody may come back who has not read, or heard, it. */
START_TEST(test_keep)
{
	if (_i == 0) {
		put(out_fd, "x");
		turn();
	}
	if (_i == 0) {
		proc_on_exit(p, 0);
		close_pipes();
		procs_on_client_lost(&procs);
	} else {
		procs_on_client_lost(&procs);
		proc_on_exit(p, 0);
		close_pipes();
	}
	wait_ms(TTL_MS * 3);
	ck_assert(!is_forgotten);
	procs_on_client(&procs, false);
	wait_ms(TTL_MS * 3);
	ck_assert(is_forgotten);
}
END_TEST

/* Nor while who came back may go on to read it. */
START_TEST(test_keep_for_reader)
{
	procs_on_client_lost(&procs);
	put(out_fd, "x");
	turn();
	proc_on_exit(p, 0);
	close_pipes();
	env.set.closed_ttl_ms = 600000;
	procs_on_client(&procs, false);
	if (_i == 1) {
		procs.client_since = 0;		/* long ago */
		proc_was_read(p);
	}
	wait_ms(TTL_MS * 3);
	ck_assert(!is_forgotten);
}
END_TEST

/* Nor just after the last of it was read: the reader asks for the end. */
START_TEST(test_keep_for_end)
{
	put(out_fd, "x");
	turn();
	proc_on_exit(p, 0);
	close_pipes();
	env.set.closed_ttl_ms = 600000;
	proc_was_read(p);
	window_sent(&window, TAILQ_FIRST(&p->retain.chunks), 1);
	window_ack(&window, 1);
	ck_assert_uint_eq(p->retain.unread_cost, 0);
	wait_ms(TTL_MS * 3);
	ck_assert(!is_forgotten);
}
END_TEST

/* Ended processes make room for others, but for what is not read yet. */
START_TEST(test_many)
{
	unsigned	 i;
	char		 id[32];
	struct proc	*q;

	env.set.closed_ttl_ms = 600000;
	put(out_fd, "not read");
	turn();
	proc_on_exit(p, 0);
	close_pipes();
	for (i = 0; i < LIMIT_CLOSED_PROCESSES + 5; i++) {
		snprintf(id, sizeof(id), "p%u", i);
		ck_assert_ptr_nonnull(q = start(id));
		proc_on_exit(q, 0);
		close_pipes();
	}
	ck_assert_uint_eq(procs.known, LIMIT_CLOSED_PROCESSES);
	ck_assert_ptr_eq(procs_find(&procs, "one", 3), p);
	ck_assert_ptr_null(procs_find(&procs, "p0", 2));
	ck_assert_ptr_nonnull(procs_find(&procs, id, strlen(id)));
}
END_TEST

/* Its descendants may hold the pipes: they are not waited for. */
START_TEST(test_terminate)
{
	int	 i;

	put(out_fd, "last words");
	ck_assert(proc_terminate(p, 0));
	ck_assert_str_eq(heard, "");
	proc_on_exit(p, W_EXITCODE(0, SIGKILL));
	ck_assert_str_eq(text, "last words");
	ck_assert_str_eq(heard, "1cxC");
	ck_assert(!proc_terminate(p, 0));
	for (i = 0; i < 200 && strchr(heard, 'K') == NULL; i++)
		wait_ms(5);
	ck_assert_str_eq(heard, "1cxCK");
	wait_ms(TTL_MS * 3);
	ck_assert(is_forgotten);
}
END_TEST

/*
 * Orphans that bear its mark come from somebody who is too fast to be seen: as
 * long as there are new ones it is not over, however many looks find nobody.
 */
START_TEST(test_orphans)
{
	int	 i;

	ck_assert(proc_terminate(p, 0));
	proc_on_exit(p, W_EXITCODE(0, SIGKILL));
	ck_assert_str_eq(heard, "xC");
	for (i = 0; i < 10; i++) {
		procs_on_orphan(&procs, p->descendants.mark);
		ck_assert_int_eq(event_base_loop(env.base, EVLOOP_ONCE), 0);
	}
	ck_assert_str_eq(heard, "xC");
	/* Those of others are none of its business. */
	for (i = 0; i < 10 && strchr(heard, 'K') == NULL; i++) {
		procs_on_orphan(&procs, p->descendants.mark + 1);
		ck_assert_int_eq(event_base_loop(env.base, EVLOOP_ONCE), 0);
	}
	ck_assert_str_eq(heard, "xCK");
}
END_TEST

START_TEST(test_grace)
{
	ck_assert(proc_terminate(p, 60000));
	proc_on_exit(p, W_EXITCODE(0, SIGTERM));
	ck_assert_str_eq(heard, "xC");
	ck_assert_int_eq(p->exit_code, 128 + SIGTERM);
}
END_TEST

/* Who reads in parts is not sent what is new meanwhile. */
START_TEST(test_hold)
{
	procs_on_client_lost(&procs);
	procs_on_client(&procs, true);
	ck_assert(p->is_held);
	ck_assert(p->retain.catching_up);
	proc_was_read(p);
	procs_release_unread(&procs);
	ck_assert(p->is_held);
	proc_hold(p, false);
	ck_assert(!p->is_held);
	/* The next one never asks. */
	procs_on_client(&procs, true);
	ck_assert(p->is_held);
	procs_release_unread(&procs);
	ck_assert(!p->is_held);
	read_all(p);
}
END_TEST

START_TEST(test_resize)
{
	ck_assert_int_eq(proc_resize(p, 24, 80), -1);
	ck_assert_int_eq(errno, ENOTTY);
}
END_TEST

/* What read(2) cannot do is told where the rest should be. */
START_TEST(test_read_fails)
{
	int	 folder = open("/", O_RDONLY | O_CLOEXEC), i;

	ck_assert_int_ge(folder, 0);
	ck_assert_int_eq(dup3(folder, p->streams[0].fd, O_CLOEXEC),
	    p->streams[0].fd);
	fd_close(&folder);
	/* Of a folder nothing can be read, and epoll(7) does not take it. */
	for (i = 0; i < 20 && p->streams[0].fd != -1; i++) {
		event_active(&p->streams[0].read_ev.ev, EV_READ, 0);
		turn();
	}
	ck_assert_int_eq(p->lost, EISDIR);
	ck_assert_ptr_nonnull(strstr(text, "could not be read"));
	ck_assert_int_eq(p->streams[0].fd, -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proc");
	TCase	*t = tcase_create("proc");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_life);
	tcase_add_loop_test(t, test_code, 0,
	    sizeof(codes) / sizeof(codes[0]));
	tcase_add_test(t, test_no_start);
	tcase_add_test(t, test_room);
	tcase_add_test(t, test_full_sink);
	tcase_add_test(t, test_paced_and_full);
	tcase_add_test(t, test_no_client);
	tcase_add_test(t, test_forget);
	tcase_add_loop_test(t, test_keep, 0, 2);
	tcase_add_loop_test(t, test_keep_for_reader, 0, 2);
	tcase_add_test(t, test_keep_for_end);
	tcase_add_test(t, test_many);
	tcase_add_test(t, test_terminate);
	tcase_add_test(t, test_orphans);
	tcase_add_test(t, test_grace);
	tcase_add_test(t, test_hold);
	tcase_add_test(t, test_resize);
	tcase_add_test(t, test_read_fails);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
