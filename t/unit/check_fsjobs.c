/*
 * worker/rpc/fsjobs.c: file operations of a session, and who does them when.
 * Operations, agents, holders, the connection, requests and the time are ours.
 *
 * lint-ok: long, as one set of stand-ins serves every case.
 */
#include <sys/eventfd.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "worker/conn/conn.h"
#include "worker/fs/fsagent.h"
#include "worker/rpc/fsjobs.h"
#include "worker/sandbox/holder.h"

#define CONN		((struct conn *)(void *)did)
#define HELD		((uint64_t)LIMIT_FILE_HELD)
#define OPENED_FD	4711		/* that an agent has opened, not real */

struct holder {
	enum holder_state state;
	struct fsagent_line line;
	int		 sock, users;
};

/* What an agent was asked for. */
struct asked {
	struct fsagent_answer *answer;
	char		 name[16];
	int		 fd;		/* eventfd; -1: over */
	int		 op_fd;
	/* What it says next: */
	bool		 is_done;
	uint64_t	 request;
	size_t		 payload_len;
	unsigned	 nread;
};

static struct session	 session;
static struct rpc	 rpc;
static struct env	 env;
static struct holder	 plain, confined;
static struct asked	 asked[1024];
static unsigned		 nasked, ndone, nexpected;
static char		 did[1024];	/* each with a blank before */
static bool		 is_quiet;	/* does not say what it does */
static int		 run_error;	/* of operations here */
static int		 ask_error, let_error;
static bool		 too_many;	/* requests wait */
static bool		 done_ends;	/* the connection */
static size_t		 behind, queued;
static uint64_t		 now = 1000;	/* ms */

static void	 note(const char *fmt, ...) PRINTF(1, 2);

static void
note(const char *fmt, ...)
{
	size_t	 at = strlen(did);
	va_list	 ap;
	int	 n;

	if (is_quiet)
		return;
	did[at] = ' ';
	va_start(ap, fmt);
	n = vsnprintf(did + at + 1, sizeof(did) - at - 1, fmt, ap);
	va_end(ap);
	ck_assert(n > 0 && (size_t)n < sizeof(did) - at - 1);
}

/* What was done since the last time. */
#define DID(want)							\
	do {								\
		ck_assert_str_eq(did, want);				\
		did[0] = '\0';						\
	} while (0)

/* --- in the place of the time, the connection and requests --- */

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

struct timeval
clock_timeval(uint64_t ms)
{
	struct timeval	 tv = { (time_t)(ms / 1000),
			    (suseconds_t)(ms % 1000 * 1000) };

	return tv;
}

size_t
conn_behind(const struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	return behind;
}

size_t
conn_queued(const struct conn *c)
{
	ck_assert_ptr_eq(c, CONN);
	return queued;
}

void
session_expect_request(struct session *s)
{
	ck_assert_ptr_eq(s, &session);
	nexpected++;
}

struct rpc_req *
rpc_keep(struct rpc_req *req, void (*cancel)(struct rpc_req *), void *waiter)
{
	struct rpc_req	*k;

	if (too_many)
		return NULL;
	ck_assert_ptr_nonnull(k = calloc(1, sizeof(*k)));
	k->rpc = req->rpc;
	k->kept = true;
	k->cancel = cancel;
	k->waiter = waiter;
	TAILQ_INSERT_TAIL(&rpc.waiting, k, entry);
	return k;
}

/* As rpc.c and the session do it. */
static void
conn_over(void)
{
	struct rpc_req	*req;

	rpc.conn = NULL;
	while ((req = TAILQ_FIRST(&rpc.waiting)) != NULL) {
		TAILQ_REMOVE(&rpc.waiting, req, entry);
		req->cancel(req);
		free(req);
	}
	fsjobs_on_conn_end(&rpc);
}

/* --- of operations --- */

void
fsop_result_init(struct fsop_result *r)
{
	memset(r, 0, sizeof(*r));
	r->fd = r->writeback = -1;
	buf_init(&r->payload, 1024);
}

void
fsop_result_fini(struct fsop_result *r)
{
	buf_fini(&r->payload);
}

void
fsop_run(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	ck_assert(how->nonblock && how->max_out == LIMIT_FILE_QUICK);
	note("run-%s", op->path);
	r->error = run_error;
}

void
fsop_read_opened(struct fsop_result *r)
{
	ck_assert_int_eq(r->fd, OPENED_FD);
	r->fd = -1;
	note("read");
}

/* --- of agents --- */

void
fsagent_answer_init(struct fsagent_answer *a)
{
	memset(a, 0, sizeof(*a));
	fsop_result_init(&a->r);
}

void
fsagent_answer_fini(struct fsagent_answer *a)
{
	fsop_result_fini(&a->r);
}

int
fsagent_data(const struct fsop *op)
{
	ck_assert_uint_gt(op->len, FSAGENT_INLINE);
	return open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static struct asked *
find_asked(const struct fsagent_answer *a, int fd)
{
	unsigned	 i;

	for (i = 0; i < nasked; i++)
		if (asked[i].answer == a && asked[i].fd == fd)
			return &asked[i];
	ck_abort_msg("not asked");
	return NULL;
}

int
fsagent_ask(int sock, const struct fsop *op, int data,
    struct fsagent_line *line, const struct fsagent_answer *a)
{
	struct asked	*k = &asked[nasked];

	ck_assert(line == &plain.line || line == &confined.line);
	ck_assert_int_eq(sock,
	    line == &plain.line ? plain.sock : confined.sock);
	ck_assert(data == -1 || op->data == NULL);
	if (ask_error != 0) {
		note("ask-fails");
		errno = ask_error;
		return -1;
	}
	ck_assert_uint_lt(nasked++, 1023);
	memset(k, 0, sizeof(*k));
	k->answer = (struct fsagent_answer *)(uintptr_t)a;
	snprintf(k->name, sizeof(k->name), "%.15s", op->path);
	k->op_fd = op->fd;
	k->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ck_assert_int_ne(k->fd, -1);
	note("ask-%s", k->name);
	return k->fd;
}

void
fsagent_end(struct fsagent_line *line, const struct fsagent_answer *a, int *fd)
{
	struct asked	*k;

	ck_assert_ptr_nonnull(line);
	if (*fd == -1)
		return;
	k = find_asked(a, *fd);
	if (!k->is_done)
		note("stop-%s", k->name);
	k->fd = -1;
	fd_close(fd);
}

int
fsagent_answer_read(struct fsagent_answer *a, int fd)
{
	struct asked	*k = find_asked(a, fd);
	uint64_t	 n;

	ck_assert_int_eq(read(fd, &n, sizeof(n)), sizeof(n));
	k->nread++;
	a->payload_len = k->payload_len;
	a->request = k->request;
	k->request = 0;
	return k->is_done ? 1 : 0;
}

int
fsagent_grant(struct fsagent_answer *a, int fd)
{
	struct asked	*k = find_asked(a, fd);

	ck_assert_uint_gt(a->request, 0);
	note("let-%s", k->name);
	a->request = 0;
	if (let_error == 0)
		return 0;
	errno = let_error;
	return -1;
}

/* --- of holders --- */

struct holder *
holder_get(struct holders *hs, const struct plan *plan)
{
	ck_assert(hs == rpc.holders && plan == NULL);
	return &plain;
}

enum holder_state
holder_state(const struct holder *h)
{
	return h->state;
}

const char *
holder_why(const struct holder *h)
{
	ck_assert_int_eq(h->state, HOLDER_FAILED);
	return "no namespaces";
}

int
holder_sock(const struct holder *h)
{
	ck_assert_int_eq(h->state, HOLDER_READY);
	return h->sock;
}

struct fsagent_line *
holder_line(struct holder *h)
{
	return &h->line;
}

void
holder_use(struct holder *h, bool more)
{
	h->users += more ? 1 : -1;
	ck_assert_int_ge(h->users, 0);
}

/* --- */

static void
setup(void)
{
	ck_assert_ptr_nonnull(env.base = event_base_new());
	rpc.session = &session;
	rpc.env = &env;
	rpc.conn = CONN;
	rpc.holders = (struct holders *)(void *)asked;
	TAILQ_INIT(&rpc.waiting);
	plain.sock = 77;
	confined.sock = 78;
	plain.state = confined.state = HOLDER_READY;
	run_error = EAGAIN;
}

static void
teardown(void)
{
	is_quiet = true;
	conn_over();
	ck_assert(!fsjobs_running(&rpc));
	ck_assert_int_eq(plain.users, 0);
	ck_assert_int_eq(confined.users, 0);
	fsjobs_free(&rpc);
	event_base_free(env.base);
}

static const char *
error_name(int error)
{
	return error == ENOENT ? "ENOENT" : error == EACCES ? "EACCES" :
	    error == EPIPE ? "EPIPE" : "?";
}

static void
on_done(struct rpc_req *req, const struct fsop *op, struct fsop_result *r,
    void *arg)
{
	struct handle	*h = arg;

	ndone++;
	note("%s-%s%s", r->why == FSWHY_BUSY ? "busy" : r->why == FSWHY_DIED ?
	    "died" : r->why == FSWHY_NO_SANDBOX ? "no-sandbox" :
	    r->error == 0 ? "done" : error_name(r->error), op->path,
	    req == NULL ? "-alone" : "");
	if (r->why == FSWHY_NO_SANDBOX)
		note("(%.*s)", (int)r->payload.len,
		    (char *)buf_data(&r->payload));
	if (r->why != FSWHY_BUSY)
		ck_assert_ptr_null(op->data);
	if (h != NULL && op->kind == FSOP_OPEN && r->error == 0 &&
	    r->fd != -1) {
		h->fd = r->fd;
		r->fd = -1;
	}
	if (req != NULL && req->kept) {
		TAILQ_REMOVE(&rpc.waiting, req, entry);
		free(req);
	}
	if (done_ends) {
		done_ends = false;
		conn_over();
	}
}

static void
run_op(enum fsop_kind kind, const char *name, struct holder *of,
    struct handle *h, uint64_t len)
{
	struct rpc_req	 req = { .rpc = &rpc };
	struct fsop	 op;

	memset(&op, 0, sizeof(op));
	op.kind = kind;
	op.fd = -1;
	snprintf(op.path, sizeof(op.path), "%s", name);
	if (kind == FSOP_PWRITE) {
		op.data = asked;
		op.len = len;
	}
	fsjobs_run(&rpc, &req, &op, of, h, on_done, h);
}

static void
run(const char *name)
{
	run_op(FSOP_STAT, name, &confined, NULL, 0);
}

static void
run_many(unsigned n)
{
	while (n-- > 0)
		run("x");
}

static void
turn(void)
{
	ck_assert_int_ne(event_base_loop(env.base, EVLOOP_ONCE), -1);
}

/* Everything that can happen now. */
static void
settle(void)
{
	int	 i;

	for (i = 0; i < 5; i++)
		ck_assert_int_ne(event_base_loop(env.base,
		    EVLOOP_ONCE | EVLOOP_NONBLOCK), -1);
}

static struct asked *
by_name(const char *name)
{
	unsigned	 i;

	for (i = 0; i < nasked; i++)
		if (asked[i].fd != -1 && strcmp(asked[i].name, name) == 0)
			return &asked[i];
	ck_abort_msg("%s is not under way", name);
	return NULL;
}

static void
poke(struct asked *k)
{
	uint64_t	 one = 1;

	ck_assert_int_eq(write(k->fd, &one, sizeof(one)), sizeof(one));
	settle();
}

static void
answer(const char *name)
{
	struct asked	*k = by_name(name);

	k->is_done = true;
	poke(k);
}

static void
wish(const char *name, uint64_t bytes)
{
	struct asked	*k = by_name(name);

	k->request = bytes;
	poke(k);
}

/* --- where it is done --- */

START_TEST(test_here)
{
	run_error = _i == 0 ? 0 : ENOENT;
	run_op(FSOP_STAT, "a", NULL, NULL, 0);
	DID(_i == 0 ? " run-a done-a" : " run-a ENOENT-a");
	ck_assert(!fsjobs_running(&rpc));
	ck_assert_uint_eq(nasked, 0);
}
END_TEST

/* What may take time; what is done in a sandbox. */
START_TEST(test_agent)
{
	struct holder	*h = _i == 0 ? &plain : &confined;

	run_op(FSOP_STAT, "a", _i == 0 ? NULL : &confined, NULL, 0);
	DID(_i == 0 ? " run-a ask-a" : " ask-a");
	ck_assert(fsjobs_running(&rpc));
	ck_assert_int_eq(h->users, 1);
	poke(by_name("a"));
	DID("");
	ck_assert_uint_eq(nexpected, 0);
	answer("a");
	DID(" done-a");
	ck_assert(!fsjobs_running(&rpc));
	ck_assert_int_eq(h->users, 0);
	ck_assert_uint_eq(nexpected, 1);
}
END_TEST

/* A small file comes as one that is open. */
START_TEST(test_opened)
{
	run_op(_i == 0 ? FSOP_READ : FSOP_OPEN, "a", &confined, NULL, 0);
	by_name("a")->answer->r.fd = OPENED_FD;
	answer("a");
	DID(_i == 0 ? " ask-a read done-a" : " ask-a done-a");
}
END_TEST

START_TEST(test_starting)
{
	confined.state = HOLDER_STARTING;
	run("a");
	run("b");
	run_op(FSOP_STAT, "c", NULL, NULL, 0);
	DID(" run-c ask-c");
	confined.state = _i == 0 ? HOLDER_READY : HOLDER_FAILED;
	fsjobs_holder_changed(&rpc);
	DID(_i == 0 ? " ask-a ask-b" : " no-sandbox-a (no namespaces) "
	    "no-sandbox-b (no namespaces)");
}
END_TEST

/* The agent is behind: it is asked again soon.  Or it is gone. */
START_TEST(test_ask_fails)
{
	ask_error = _i == 0 ? EAGAIN : EPIPE;
	run("a");
	DID(_i == 0 ? " ask-fails" : " ask-fails EPIPE-a");
	ask_error = 0;
	if (_i > 0)
		return;
	turn();
	DID(" ask-a");
}
END_TEST

/* --- handles --- */

static struct handle *
handle_make(const char *id)
{
	struct handle	*h = handle_add(&rpc, id, strlen(id));

	ck_assert_ptr_nonnull(h);
	h->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	ck_assert_int_ne(h->fd, -1);
	return h;
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* Those of one handle go one after the other, others meanwhile. */
START_TEST(test_order)
{
	struct handle	*h = handle_make("h"), *other = handle_make("o");

	run_op(FSOP_PREAD, "a", NULL, h, 0);
	run_op(FSOP_PREAD, "b", NULL, h, 0);
	run_op(FSOP_PREAD, "c", NULL, h, 0);
	run_op(FSOP_PREAD, "d", NULL, other, 0);
	run("e");
	DID(" ask-a ask-d ask-e");
	ck_assert_int_eq(by_name("a")->op_fd, h->fd);
	ck_assert_int_eq(by_name("d")->op_fd, other->fd);
	answer("d");
	DID(" done-d");
	answer("a");
	DID(" done-a ask-b");
	answer("b");
	DID(" done-b ask-c");
	ck_assert_int_eq(by_name("c")->op_fd, h->fd);
}
END_TEST

/* A local one is read here, unless something is under way for it. */
START_TEST(test_local)
{
	struct handle	*h = handle_make("h");

	h->is_local = true;
	run_error = 0;
	run_op(FSOP_PREAD, "a", NULL, h, 0);
	DID(" run-a done-a");
	run_error = EAGAIN;
	run_op(FSOP_PREAD, "b", NULL, h, 0);
	DID(" run-b ask-b");
	run_error = 0;
	run_op(FSOP_PREAD, "c", NULL, h, 0);
	DID("");
	answer("b");
	DID(" done-b ask-c");
}
END_TEST

/* What was asked for before it was open is for what was opened, or fails. */
START_TEST(test_open)
{
	struct handle	*h = handle_add(&rpc, "h", 1);
	int		 fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	ck_assert(h != NULL && fd != -1);
	run_op(FSOP_OPEN, "a", &confined, h, 0);
	run_op(FSOP_PREAD, "b", &confined, h, 0);
	run_op(FSOP_PREAD, "c", &confined, h, 0);
	DID(" ask-a");
	if (_i == 0)
		by_name("a")->answer->r.fd = fd;
	else
		by_name("a")->answer->r.error = EACCES;
	answer("a");
	DID(_i == 0 ? " done-a ask-b" : " EACCES-a ENOENT-b ENOENT-c");
	if (_i == 0)
		ck_assert_int_eq(by_name("b")->op_fd, fd);
	else
		close(fd);
}
END_TEST

/* It goes with the last operation for it. */
START_TEST(test_close)
{
	struct handle	*h = handle_make("h");
	int		 fd = h->fd;

	run_op(FSOP_PREAD, "a", NULL, h, 0);
	run_op(FSOP_PREAD, "b", NULL, h, 0);
	handle_close(&rpc, h);
	ck_assert_ptr_null(handle_find(&rpc, "h", 1));
	ck_assert(is_open(fd));
	answer("a");
	DID(" ask-a done-a ask-b");
	ck_assert(is_open(fd));
	answer("b");
	DID(" done-b");
	ck_assert(!is_open(fd));
	h = handle_make("h");
	fd = h->fd;
	handle_close(&rpc, h);
	ck_assert(!is_open(fd));
}
END_TEST

START_TEST(test_handles)
{
	struct handle	*h;
	char		 id[HANDLE_ID_MAX];
	int		 i;

	ck_assert_ptr_null(handle_find(&rpc, "1", 1));
	for (i = 0; i < LIMIT_FILE_HANDLES; i++) {
		snprintf(id, sizeof(id), "%d", i);
		ck_assert_ptr_nonnull(handle_add(&rpc, id, strlen(id)));
	}
	errno = 0;
	ck_assert_ptr_null(handle_add(&rpc, "1", 1));
	ck_assert_int_eq(errno, EEXIST);
	ck_assert_ptr_null(handle_add(&rpc, "x", 1));
	ck_assert_int_eq(errno, EMFILE);
	ck_assert_ptr_nonnull(h = handle_find(&rpc, "1", 1));
	handle_close(&rpc, h);
	ck_assert_ptr_nonnull(handle_add(&rpc, "x", 1));
}
END_TEST

/* --- limits --- */

START_TEST(test_running)
{
	is_quiet = true;
	run_many(LIMIT_FILE_JOBS);
	is_quiet = false;
	ck_assert_uint_eq(nasked, LIMIT_FILE_JOBS);
	run("a");
	run("b");
	DID("");
	answer("x");
	DID(" done-x ask-a");
	answer("x");
	DID(" done-x ask-b");
}
END_TEST

/* Those that hang do not count, up to another limit. */
START_TEST(test_stuck)
{
	is_quiet = true;
	run_many(LIMIT_FILE_STUCK + 1);
	ck_assert_uint_eq(nasked, LIMIT_FILE_JOBS);
	now += 999;
	fsjobs_holder_changed(&rpc);
	ck_assert_uint_eq(nasked, LIMIT_FILE_JOBS);
	now += 1;
	/* By itself, too. */
	turn();
	ck_assert_uint_eq(nasked, 2 * LIMIT_FILE_JOBS);
	while (nasked < LIMIT_FILE_STUCK) {
		now += 1000;
		fsjobs_holder_changed(&rpc);
	}
	now += 1000;
	fsjobs_holder_changed(&rpc);
	ck_assert_uint_eq(nasked, LIMIT_FILE_STUCK);
	answer("x");
	ck_assert_uint_eq(nasked, LIMIT_FILE_STUCK + 1);
}
END_TEST

START_TEST(test_waiting)
{
	is_quiet = true;
	confined.state = HOLDER_STARTING;
	run_many(LIMIT_FILE_WAITING);
	ck_assert_uint_eq(ndone, 0);
	is_quiet = false;
	run("a");
	run_op(FSOP_STAT, "b", NULL, NULL, 0);
	DID(" busy-a run-b busy-b");
	run_error = 0;
	run_op(FSOP_STAT, "c", NULL, NULL, 0);
	DID(" run-c done-c");
}
END_TEST

/* What is written and waits, short or long. */
START_TEST(test_data)
{
	run_op(FSOP_PWRITE, "a", &confined, NULL,
	    (uint64_t)LIMIT_FILE_DATA - 9);
	run_op(FSOP_PWRITE, "b", &confined, NULL, 9);
	run_op(FSOP_PWRITE, "c", &confined, NULL, 1);
	run("d");
	DID(" ask-a ask-b busy-c ask-d");
	answer("b");
	run_op(FSOP_PWRITE, "e", &confined, NULL, 10);
	run_op(FSOP_PWRITE, "f", &confined, NULL, 9);
	DID(" done-b busy-e ask-f");
}
END_TEST

/* Nothing more can wait: it is answered, and who waits hears of it. */
START_TEST(test_too_many)
{
	too_many = true;
	run("a");
	DID(" busy-a-alone");
	ck_assert_uint_eq(nasked, 0);
}
END_TEST

/* --- what agents may hold --- */

/* In the order of their wishes, even when a later one would fit. */
START_TEST(test_hold)
{
	run("a");
	run("b");
	run("c");
	run("d");
	did[0] = '\0';
	wish("a", HELD / 2);
	DID(" let-a");
	wish("b", HELD / 2);
	DID(" let-b");
	wish("c", 2);
	wish("d", 1);
	DID("");
	answer("b");
	DID(" done-b let-c let-d");
}
END_TEST

START_TEST(test_hold_in_order)
{
	run("a");
	run("b");
	run("c");
	did[0] = '\0';
	wish("a", HELD - 10);
	wish("b", 11);
	wish("c", 10);
	DID(" let-a");
	answer("a");
	DID(" done-a let-b let-c");
}
END_TEST

/* What it was allowed before is given up meanwhile. */
START_TEST(test_hold_more)
{
	run("a");
	run("b");
	did[0] = '\0';
	wish("a", HELD);
	DID(" let-a");
	wish("b", 1);
	DID("");
	wish("a", HELD - 1);
	DID(" let-b let-a");
}
END_TEST

/* What those hold that hang counts less, up to another limit. */
START_TEST(test_hold_stuck)
{
	run("a");
	run("b");
	run("c");
	run("d");
	did[0] = '\0';
	wish("a", HELD);
	wish("b", HELD);
	DID(" let-a");
	now += 999;
	turn();
	DID("");
	now += 1;
	turn();
	DID(" let-b");
	wish("c", HELD);
	DID("");
	now += 1000;
	turn();
	DID(" let-c");
	/* Too much, however long they take. */
	wish("d", (uint64_t)LIMIT_FILE_HELD_STUCK - 3 * HELD + 1);
	now += 1000;
	turn();
	DID("");
	answer("a");
	DID(" done-a let-d");
}
END_TEST

START_TEST(test_hold_fails)
{
	run("a");
	run("b");
	did[0] = '\0';
	let_error = EPIPE;
	wish("a", HELD);
	DID(" let-a stop-a EPIPE-a");
	let_error = 0;
	wish("b", HELD);
	DID(" let-b");
}
END_TEST

/* One that waits for that leaves its place among the running. */
START_TEST(test_hold_and_running)
{
	run("a");
	run("b");
	is_quiet = true;
	run_many(LIMIT_FILE_JOBS - 2);
	is_quiet = false;
	run("c");
	did[0] = '\0';
	wish("a", HELD);
	DID(" let-a");
	wish("b", HELD);
	DID(" ask-c");
}
END_TEST

/* --- answers that wait for the client --- */

START_TEST(test_behind)
{
	run("a");
	did[0] = '\0';
	behind = LIMIT_OUT_CHILDREN;
	answer("a");
	ck_assert_uint_eq(by_name("a")->nread, 0);
	fsjobs_unhold(&rpc);
	settle();
	ck_assert_uint_eq(by_name("a")->nread, 0);
	behind--;
	fsjobs_unhold(&rpc);
	settle();
	DID(" done-a");
}
END_TEST

/* Long ones come one after the other, short ones in between. */
START_TEST(test_long)
{
	run("a");
	run("b");
	run("c");
	did[0] = '\0';
	by_name("a")->payload_len = by_name("b")->payload_len =
	    LIMIT_FILE_QUICK + 1;
	poke(by_name("a"));
	poke(by_name("b"));
	poke(by_name("b"));
	poke(by_name("a"));
	ck_assert_uint_eq(by_name("a")->nread, 2);
	ck_assert_uint_eq(by_name("b")->nread, 1);
	answer("b");
	DID("");
	answer("c");
	DID(" done-c");
	answer("a");
	DID(" done-a done-b");
}
END_TEST

/* The rest of a long one is read when hardly anything waits any more. */
START_TEST(test_long_queued)
{
	run("a");
	did[0] = '\0';
	by_name("a")->payload_len = LIMIT_FILE_QUICK + 1;
	poke(by_name("a"));
	queued = LIMIT_OUT_CHILDREN;
	answer("a");
	DID("");
	queued--;
	fsjobs_unhold(&rpc);
	settle();
	DID(" done-a");
}
END_TEST

/* --- the end of the connection --- */

/* All hear of it in their order; what has not begun does not begin. */
START_TEST(test_cancel)
{
	struct handle	*h = handle_make("h");
	int		 fd = h->fd;

	run_op(FSOP_PREAD, "a", NULL, h, 0);
	run_op(FSOP_PREAD, "b", NULL, h, 0);
	run("c");
	DID(" ask-a ask-c");
	wish("c", HELD);
	did[0] = '\0';
	conn_over();
	DID(" stop-a died-a-alone died-b-alone stop-c died-c-alone");
	ck_assert(!fsjobs_running(&rpc));
	ck_assert(!is_open(fd));
	ck_assert_ptr_null(handle_find(&rpc, "h", 1));
	/* The next connection has all the room. */
	rpc.conn = CONN;
	run("d");
	wish("d", HELD);
	DID(" ask-d let-d");
}
END_TEST

/* An answer ends it. */
START_TEST(test_answer_ends)
{
	struct handle	*h = handle_make("h");

	run_op(FSOP_PREAD, "a", NULL, h, 0);
	run_op(FSOP_PREAD, "b", NULL, h, 0);
	run("c");
	did[0] = '\0';
	done_ends = true;
	answer("a");
	DID(" done-a died-b-alone stop-c died-c-alone");
}
END_TEST

/* So does one of those that are to be started. */
START_TEST(test_error_ends)
{
	confined.state = HOLDER_STARTING;
	run("a");
	run("b");
	run("c");
	confined.state = HOLDER_FAILED;
	done_ends = true;
	fsjobs_holder_changed(&rpc);
	DID(" no-sandbox-a (no namespaces) died-b-alone died-c-alone");
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("fsjobs");
	TCase	*t = tcase_create("fsjobs");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_here, 0, 2);
	tcase_add_loop_test(t, test_agent, 0, 2);
	tcase_add_loop_test(t, test_opened, 0, 2);
	tcase_add_loop_test(t, test_starting, 0, 2);
	tcase_add_loop_test(t, test_ask_fails, 0, 2);
	tcase_add_test(t, test_order);
	tcase_add_test(t, test_local);
	tcase_add_loop_test(t, test_open, 0, 2);
	tcase_add_test(t, test_close);
	tcase_add_test(t, test_handles);
	tcase_add_test(t, test_running);
	tcase_add_test(t, test_stuck);
	tcase_add_test(t, test_waiting);
	tcase_add_test(t, test_data);
	tcase_add_test(t, test_too_many);
	tcase_add_test(t, test_hold);
	tcase_add_test(t, test_hold_in_order);
	tcase_add_test(t, test_hold_more);
	tcase_add_test(t, test_hold_stuck);
	tcase_add_test(t, test_hold_fails);
	tcase_add_test(t, test_hold_and_running);
	tcase_add_test(t, test_behind);
	tcase_add_test(t, test_long);
	tcase_add_test(t, test_long_queued);
	tcase_add_test(t, test_cancel);
	tcase_add_test(t, test_answer_ends);
	tcase_add_test(t, test_error_ends);
	suite_add_tcase(suite, t);
	r = srunner_create(suite);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
