/*
 * worker/rpc/rpc_operate.c: commands for other sessions, and output of theirs.
 * The other end of each channel is the test; answers are text.
 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "t/unit/rpc_stand_in.h"
#include "worker/rpc/operations.h"
#include "worker/rpc/rpc_priv.h"
#include "worker/session/link.h"

#define PIECES_MAX	(512 * 1024)

static struct env	 env;
static bool		 is_refused;	/* by the link */
static uint32_t		 ticket;	/* the last one */
static uint64_t		 timer_ms;
static int		 master = -1;	/* the other end of a channel */
static int		 worker = -1;	/* of the output */

/* --- in the place of the link and the clock --- */

int
link_operate(struct link *l, uint32_t t)
{
	ck_assert_ptr_null(l);
	tell("ask %u", t);
	ticket = t;
	return is_refused ? -1 : 0;
}

uint64_t
clock_ms(void)
{
	return 5;
}

struct timeval
clock_timeval(uint64_t ms)
{
	struct timeval	 now = { 0, 0 }, never = { 1000000, 0 };

	timer_ms = ms;
	return ms > 1000 ? never : now;
}

/* --- the tests --- */

static void
setup(void)
{
	rpc_begin_all(&env);
	ck_assert_ptr_nonnull(env.base = event_base_new());
	is_refused = false;
	timer_ms = 0;
}

static void
teardown(void)
{
	rpc_cancel_all();
	operations_on_conn_end(&rpc);
	operations_free(&rpc);
	ck_assert_ptr_null(rpc.operations);
	rpc_end_all();
	fd_close(&master);
	fd_close(&worker);
	event_base_free(env.base);
}

static void
operate(int id, const char *params)
{
	ASK(operate, rpc_operate, id, params);
}

static void
tail(int id, const char *params)
{
	ASK(operate_tail, rpc_operate_tail, id, params);
}

static void
turn(void)
{
	ck_assert_int_ne(event_base_loop(env.base, EVLOOP_NONBLOCK), -1);
}

/* The master's answer to the question with a ticket: a channel. */
static void
give_channel(uint32_t t)
{
	Ipc__Operating	 in = IPC__OPERATING__INIT;
	struct ipc_msg	 m;
	int		 pair[2];

	memset(&m, 0, sizeof(m));
	ck_assert_int_eq(fd_packet_pair(pair), 0);
	fd_close(&master);
	master = pair[0];
	m.fd = pair[1];
	in.ticket = t;
	operations_on_channel(&rpc, &in, &m);
	if (m.fd != -1)
		tell("not taken");
	fd_close(&m.fd);
	turn();
}

/* What was asked there. */
static void
ck_request(const char *what)
{
	const Ipc__CtlRequest	*in;
	struct ipc_msg		 m;
	char			 text[200];
	size_t			 i, n;

	ck_assert_int_eq(ipc_recv(master, IPC_ROLE_OPERATOR, IPC_ROLE_MASTER,
	    &m), 1);
	ck_assert_int_eq(m.kind, IPC_ctl_request);
	in = (const Ipc__CtlRequest *)m.body;
	n = (size_t)snprintf(text, sizeof(text), "%s%s", in->command,
	    in->option ? " with option" : "");
	for (i = 0; i < in->n_arg; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s",
		    in->arg[i]);
	ck_assert_str_eq(text, what);
	ipc_msg_fini(&m);
}

static void
put(enum ipc_kind kind, const void *body, int fd)
{
	ck_assert_int_eq(ipc_send(master, kind, body, fd), 0);
	turn();
}

static void
put_head(size_t n, size_t nkinds)
{
	Ipc__CtlHead	 head = IPC__CTL_HEAD__INIT;
	Ipc__CellKind	 kinds[] = { IPC__CELL_KIND__TEXT,
			    IPC__CELL_KIND__NUMBER, IPC__CELL_KIND__LIST,
			    IPC__CELL_KIND__FLAG };
	char		 names[4][2] = { "a", "b", "c", "d" };
	char		*list[] = { names[0], names[1], names[2], names[3] };

	head.n_column = n;
	head.column = list;
	head.n_kind = nkinds;
	head.kind = kinds;
	put(IPC_ctl_head, &head, -1);
}

static void
put_row(size_t n)
{
	Ipc__CtlRow	 row = IPC__CTL_ROW__INIT;
	char		 cells[4][2] = { "1", "2", "3", "4" };
	char		*list[] = { cells[0], cells[1], cells[2], cells[3] };

	row.n_cell = n;
	row.cell = list;
	put(IPC_ctl_row, &row, -1);
}

/* Output of a worker, read by the next session/tail. */
static void
put_stream(void)
{
	Ipc__CtlStream	 out = IPC__CTL_STREAM__INIT;
	int		 pair[2], size = 4 << 20;

	ck_assert_int_eq(fd_packet_pair(pair), 0);
	ck_assert_int_eq(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size,
	    sizeof(size)), 0);
	fd_close(&worker);
	worker = pair[0];
	put(IPC_ctl_stream, &out, pair[1]);
	fd_close(&pair[1]);
}

static void
put_end(const char *error, uint32_t code)
{
	Ipc__CtlEnd	 end = IPC__CTL_END__INIT;

	end.error = (char *)(uintptr_t)error;
	end.exit_code = code;
	put(IPC_ctl_end, &end, -1);
}

static void
put_piece(uint64_t seq, Ipc__TailStream stream, const void *data, size_t len)
{
	Ipc__TailPiece	 p = IPC__TAIL_PIECE__INIT;

	p.seq = seq;
	p.stream = stream;
	p.data.data = (uint8_t *)(uintptr_t)data;
	p.data.len = len;
	ck_assert_int_eq(ipc_send(worker, IPC_tail_piece, &p, -1), 0);
}

/* Whether nobody has the other end. */
static bool
is_left(int fd)
{
	char	 unread[100];
	ssize_t	 n;

	while ((n = recv(fd, unread, sizeof(unread), MSG_DONTWAIT)) > 0)
		continue;
	return n == 0;
}

#define RESULT(id, columns, rows, code, error, output)			\
	#id " {\"columns\":[" columns "],\"rows\":[" rows		\
	"],\"exitCode\":" #code ",\"error\":\"" error			\
	"\",\"hasOutput\":" #output "}; "

START_TEST(test_command)
{
	operate(1, "{\"command\":\"ps\",\"arguments\":[\"x\",\"y\"],"
	    "\"option\":true}");
	DID("ask 1; ");
	give_channel(1);
	ck_request("ps with option x y");
	put_head(4, 4);
	put_row(4);
	DID("");
	put_end("", 0);
	DID(RESULT(1, "{\"name\":\"a\",\"kind\":\"text\"},"
	    "{\"name\":\"b\",\"kind\":\"number\"},{\"name\":\"c\",\"kind\":"
	    "\"list\"},{\"name\":\"d\",\"kind\":\"flag\"}",
	    "[\"1\",\"2\",\"3\",\"4\"]", 0, "", false));
	ck_assert(is_left(master));
	/* Several rows in a message; nothing but an error. */
	operate(2, "{\"command\":\"status\"}");
	give_channel(2);
	ck_request("status");
	put_head(2, 2);
	put_row(4);
	put_row(0);
	put_end("no", 3);
	DID("ask 2; " RESULT(2, "{\"name\":\"a\",\"kind\":\"text\"},"
	    "{\"name\":\"b\",\"kind\":\"number\"}",
	    "[\"1\",\"2\"],[\"3\",\"4\"]", 3, "no", false));
	operate(3, "{\"command\":\"status\"}");
	give_channel(3);
	put_end("gone", 1);
	DID("ask 3; " RESULT(3, "", "", 1, "gone", false));
}
END_TEST

START_TEST(test_refused)
{
	Ipc__OperateRefused	 in = IPC__OPERATE_REFUSED__INIT;

	operations_on_refused(&rpc, &in);
	operations_on_orphaned(&rpc);
	operations_on_conn_end(&rpc);
	operate(1, "{\"command\":\"ps\",\"arguments\":[\"x\\u0000\"]}");
	DID("1 PARAMS: an argument has a NUL in it; ");
	may_keep = false;
	operate(2, "{\"command\":\"ps\"}");
	DID("2 TOO_MANY: too many wait; ");
	may_keep = is_refused = true;
	operate(3, "{\"command\":\"ps\"}");
	DID("ask 1; 3 FAILED: the server cannot do that now; ");
	is_refused = false;
	operate(4, "{\"command\":\"ps\"}");
	operate(5, "{\"command\":\"ps\"}");
	in.ticket = 2;
	in.why = (char *)(uintptr_t)"too many operators";
	operations_on_refused(&rpc, &in);
	operations_on_refused(&rpc, &in);
	DID("ask 2; ask 3; 4 FAILED: too many operators; ");
	give_channel(3);
	/* It was answered. */
	in.ticket = 3;
	operations_on_refused(&rpc, &in);
	give_channel(3);
	DID("not taken; 5 FAILED: the server does not answer; ");
	/* Its client is gone. */
	rpc_cancel_all();
	give_channel(3);
	DID("not taken; ");
}
END_TEST

/* A descriptor that could not be received. */
START_TEST(test_no_channel)
{
	Ipc__Operating	 in = IPC__OPERATING__INIT;
	struct ipc_msg	 m;

	memset(&m, 0, sizeof(m));
	m.fd = -1;
	operate(1, "{\"command\":\"ps\"}");
	in.ticket = ticket;
	operations_on_channel(&rpc, &in, &m);
	DID("ask 1; 1 FAILED: out of descriptors or memory; ");
}
END_TEST

/* The server ends: what it was asked, but not what it answers already. */
START_TEST(test_orphaned)
{
	operate(1, "{\"command\":\"ps\"}");
	operate(2, "{\"command\":\"ps\"}");
	operate(3, "{\"command\":\"ps\"}");
	give_channel(2);
	did[0] = '\0';
	operations_on_orphaned(&rpc);
	DID("1 FAILED: the server does not answer; "
	    "3 FAILED: the server does not answer; ");
	fd_close(&master);
	turn();
	DID("2 FAILED: the server does not answer; ");
}
END_TEST

#define MALFORMED	"1 FAILED: the server's answer is malformed; "

START_TEST(test_malformed)
{
	operate(1, "{\"command\":\"ps\"}");
	did[0] = '\0';
	give_channel(1);
	switch (_i) {
	case 0:			/* rows first */
		put_row(1);
		break;
	case 1:			/* not whole */
		put_head(2, 2);
		put_row(3);
		break;
	case 2:			/* two heads */
		put_head(1, 1);
		put_head(1, 1);
		break;
	case 3:
		put_head(2, 1);
		break;
	case 4:
		put_head(1, 2);
		break;
	}
	DID(MALFORMED);
	ck_assert(is_left(master));
}
END_TEST

/* A kind of cell that is none of ours. */
START_TEST(test_kind)
{
	Ipc__CtlHead	 head = IPC__CTL_HEAD__INIT;
	Ipc__CellKind	 kind = (Ipc__CellKind)4;
	char		 name[] = "a", *list[] = { name };

	operate(1, "{\"command\":\"ps\"}");
	did[0] = '\0';
	give_channel(1);
	head.n_column = head.n_kind = 1;
	head.column = list;
	head.kind = &kind;
	put(IPC_ctl_head, &head, -1);
	DID(MALFORMED);
}
END_TEST

/* --- output --- */

#define NO_OUTPUT							\
	"MALFORMED: there is no output to read: session/operate first; "

static void
begin_output(void)
{
	operate(9, "{\"command\":\"tail\"}");
	give_channel(ticket);
	put_stream();
	put_end("", 0);
	ck_assert_ptr_nonnull(strstr(did, "\"hasOutput\":true"));
	did[0] = '\0';
}

START_TEST(test_output)
{
	tail(1, "{}");
	DID("1 " NO_OUTPUT);
	begin_output();
	put_piece(7, IPC__TAIL_STREAM__OUTPUT, "hi", 2);
	put_piece(8, IPC__TAIL_STREAM__ERRORS, "oh", 2);
	put_piece(9, IPC__TAIL_STREAM__TERMINAL, "", 0);
	tail(2, "{\"waitMs\":5000}");
	ck_assert_uint_eq(timer_ms, 5000);
	DID("");
	tail(3, "{}");
	DID("3 MALFORMED: one session/tail at a time; ");
	turn();
	DID("2 {\"pieces\":[{\"seq\":7,\"stream\":\"stdout\",\"chunk\":"
	    "\"aGk=\"},{\"seq\":8,\"stream\":\"stderr\",\"chunk\":\"b2g=\"},"
	    "{\"seq\":9,\"stream\":\"pty\",\"chunk\":\"\"}],"
	    "\"isOver\":false}; ");
	/* Nobody waits: it stays there. */
	put_piece(10, (Ipc__TailStream)3, "x", 1);
	turn();
	DID("");
	tail(4, "{\"waitMs\":5000}");
	turn();
	DID("4 {\"pieces\":[{\"seq\":10,\"stream\":\"stdout\",\"chunk\":"
	    "\"eA==\"}],\"isOver\":false}; ");
	/* In vain, for its time. */
	tail(5, "{\"waitMs\":200}");
	ck_assert_uint_eq(timer_ms, 200);
	turn();
	DID("5 {\"pieces\":[],\"isOver\":false}; ");
	/* The end; what came before it first. */
	put_piece(11, IPC__TAIL_STREAM__OUTPUT, "y", 1);
	fd_close(&worker);
	tail(6, "{\"waitMs\":5000}");
	turn();
	DID("6 {\"pieces\":[{\"seq\":11,\"stream\":\"stdout\",\"chunk\":"
	    "\"eQ==\"}],\"isOver\":false}; ");
	tail(7, "{\"waitMs\":5000}");
	turn();
	DID("7 {\"pieces\":[],\"isOver\":true}; ");
	tail(8, "{}");
	DID("8 " NO_OUTPUT);
}
END_TEST

/* As much as an answer may have; the rest is in the next. */
START_TEST(test_much)
{
	static uint8_t	 data[PIECES_MAX / 8 - 1];
	int		 i;

	/* Each counts as a byte more. */
	begin_output();
	for (i = 0; i < 10; i++)
		put_piece((uint64_t)i, IPC__TAIL_STREAM__OUTPUT, data,
		    i < 8 ? sizeof(data) : 0);
	tail(1, "{\"waitMs\":5000}");
	turn();
	DID("1 long; ");
	ck_assert_ptr_nonnull(strstr(answer, "\"seq\":7,"));
	ck_assert_ptr_null(strstr(answer, "\"seq\":8,"));
	tail(2, "{\"waitMs\":5000}");
	turn();
	DID("2 {\"pieces\":[{\"seq\":8,\"stream\":\"stdout\",\"chunk\":"
	    "\"\"},{\"seq\":9,\"stream\":\"stdout\",\"chunk\":\"\"}],"
	    "\"isOver\":false}; ");
}
END_TEST

/* Other output replaces it, but not while it is being read. */
START_TEST(test_replaced)
{
	int	 first;

	begin_output();
	first = worker;
	worker = -1;
	begin_output();
	ck_assert(is_left(first));
	fd_close(&first);
	tail(1, "{\"waitMs\":5000}");
	first = worker;
	worker = -1;
	operate(2, "{\"command\":\"tail\"}");
	give_channel(ticket);
	put_stream();
	did[0] = '\0';
	put_end("", 0);
	DID(RESULT(2, "", "", 0, "", false));
	ck_assert(is_left(worker) && !is_left(first));
	fd_close(&worker);
	worker = first;
	put_piece(1, IPC__TAIL_STREAM__OUTPUT, "x", 1);
	turn();
	DID("1 {\"pieces\":[{\"seq\":1,\"stream\":\"stdout\",\"chunk\":"
	    "\"eA==\"}],\"isOver\":false}; ");
}
END_TEST

/* The last of two streams in one answer counts; the client goes. */
START_TEST(test_left)
{
	int	 first;

	operate(1, "{\"command\":\"tail\"}");
	give_channel(ticket);
	put_stream();
	first = worker;
	worker = -1;
	put_stream();
	ck_assert(is_left(first) && !is_left(worker));
	fd_close(&first);
	put_end("", 0);
	tail(2, "{\"waitMs\":5000}");
	rpc_cancel_all();
	operations_on_conn_end(&rpc);
	ck_assert(is_left(worker));
	did[0] = '\0';
	turn();
	tail(3, "{}");
	DID("3 " NO_OUTPUT);
	/* With an answer under way. */
	operate(4, "{\"command\":\"tail\"}");
	give_channel(ticket);
	put_stream();
	rpc_cancel_all();
	ck_assert(is_left(worker) && is_left(master));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("operate");
	TCase	*t = tcase_create("operate");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_command);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_no_channel);
	tcase_add_test(t, test_orphaned);
	tcase_add_loop_test(t, test_malformed, 0, 5);
	tcase_add_test(t, test_kind);
	tcase_add_test(t, test_output);
	tcase_add_test(t, test_much);
	tcase_add_test(t, test_replaced);
	tcase_add_test(t, test_left);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
