/*
 * master/execsrvctl/control.c: which daemon is asked, how long it may take, and
 * what is made of each answer.  The socket and its packets are ours.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/ipc/ipc.h"
#include "common/rundirs.h"
#include "master/execsrvctl/control.h"
#include "t/unit/did_help.h"
#include "t/unit/said_help.h"

#define SELF	1000

struct answer {
	int		 result;	/* of ipc_recv() */
	int		 error;		/* of -1 */
	enum ipc_kind	 kind;
	const void	*body;
	int		 fd;
};

static const struct answer	*answer;
static int		 connect_error[2];	/* of each; 0: connected */
static unsigned		 nconnects, npolls, nmessages;
static unsigned		 busy;		/* connects that are put off */
static uid_t		 owner;
static const char	*own, *of_system;
static int		 own_error, send_error, peer_error;
static int		 asked_fd;
static struct control_error e;
static struct table	*t;
static int		 stream;

/* --- in the place of the system --- */

int
connect(int fd, const struct sockaddr *sa, socklen_t len)
{
	const struct sockaddr_un	*un = (const void *)sa;

	(void)len;
	if (busy > 0) {
		busy--;
		errno = EAGAIN;
		return -1;
	}
	did("%s", un->sun_path);
	asked_fd = fd;
	errno = connect_error[nconnects];
	return connect_error[nconnects++] == 0 ? 0 : -1;
}

int
poll(struct pollfd *fds, nfds_t n, int ms)
{
	ck_assert(n == 0 ? ms == 10 : fds != NULL && n == 1 &&
	    (ms == 250 || ms == -1));
	npolls++;
	if (ms == -1)
		did("for ever");
	return 0;
}

int
getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
	struct ucred	*cred = value;

	ck_assert(fd == asked_fd && level == SOL_SOCKET &&
	    name == SO_PEERCRED && *len == sizeof(*cred));
	cred->uid = owner;
	return peer_error;
}

uid_t
geteuid(void)
{
	return SELF;
}

int
rundirs_default(char **dir_out)
{
	errno = own_error;
	*dir_out = own_error == 0 ? strdup(own) : NULL;
	return own_error == 0 ? 0 : -1;
}

const char *
rundirs_system(void)
{
	return of_system;
}

int
rundirs_address(const char *dir, const char *name, struct sockaddr_un *un)
{
	memset(un, 0, sizeof(*un));
	un->sun_family = AF_UNIX;
	errno = ENAMETOOLONG;
	return snprintf(un->sun_path, sizeof(un->sun_path), "%s/%s", dir,
	    name) < (int)sizeof(un->sun_path) ? 0 : -1;
}

int
ipc_send(int sock, enum ipc_kind kind, const void *body, int fd)
{
	const Ipc__CtlRequest	*r = body;
	size_t			 i;

	ck_assert(sock == asked_fd && kind == IPC_ctl_request && fd == -1);
	did("%s%s", r->command, r->option ? " option" : "");
	for (i = 0; i < r->n_arg; i++)
		did("%s", r->arg[i]);
	errno = send_error;
	return send_error == 0 ? 0 : -1;
}

int
ipc_recv(int sock, enum ipc_role from, enum ipc_role to, struct ipc_msg *m)
{
	ck_assert(sock == asked_fd && from == IPC_ROLE_MASTER &&
	    to == IPC_ROLE_OPERATOR);
	m->kind = answer->kind;
	m->body = (ProtobufCMessage *)(uintptr_t)answer->body;
	m->fd = answer->fd;
	errno = answer->error;
	nmessages += answer->result == 1;
	return answer++->result;
}

void
ipc_msg_fini(struct ipc_msg *m)
{
	nmessages--;
	if (m->fd != -1)
		did("close %d", m->fd);
}

int
control_far_ask(const struct control_request *q, struct table **t_out,
    bool *has_output_out, struct control_error *why)
{
	ck_assert(why == &e && *t_out == NULL);
	did("far %s", q->command);
	*has_output_out = own_error == 0;
	return EXIT_OK;
}

/* --- questions --- */

static char		 column[] = "n", column_2[] = "b";
static char		*columns[] = { column, column_2 };
static Ipc__CellKind	 kinds[] = { IPC__CELL_KIND__NUMBER,
			    IPC__CELL_KIND__FLAG };
static Ipc__CtlHead	 head = IPC__CTL_HEAD__INIT;
static Ipc__CtlRow	 row = IPC__CTL_ROW__INIT;
static Ipc__CtlEnd	 end = IPC__CTL_END__INIT;
static char		 ten[] = "10", nine[] = "9", yes[] = "yes", no[] = "no";
static char		*cells[] = { ten, yes, nine, no };
static struct control_request q;

#define HEAD		{ 1, 0, IPC_ctl_head, &head, -1 }
#define ROW		{ 1, 0, IPC_ctl_row, &row, -1 }
#define STREAM(fd)	{ 1, 0, IPC_ctl_stream, NULL, fd }
#define END		{ 1, 0, IPC_ctl_end, &end, -1 }
#define NONE		{ -1, EAGAIN, 0, NULL, -1 }

static void
setup(void)
{
	memset(&q, 0, sizeof(q));
	memset(connect_error, 0, sizeof(connect_error));
	nconnects = npolls = nmessages = busy = 0;
	owner = 0;
	own = "/own";
	of_system = "/sys";
	own_error = send_error = peer_error = 0;
	q.command = "c";
	ipc__ctl_head__init(&head);
	head.n_column = head.n_kind = 2;
	head.column = columns;
	head.kind = kinds;
	ipc__ctl_row__init(&row);
	row.n_cell = 4;
	row.cell = cells;
	ipc__ctl_end__init(&end);
	ck_assert_int_eq(unsetenv("EXECSRV_RUNTIME_DIR"), 0);
	did_forget();
}

/* Ask; the exit status and the reason, and what was done. */
static void
ck_ask(const struct answer *list, int status, const char *why,
    const char *what)
{
	answer = list;
	ck_assert_int_eq(control_ask(&q, &t, &stream, &e), status);
	ck_assert_str_eq(e.text, why);
	ck_did(what);
	ck_assert_uint_eq(nmessages, 0);
	/* The socket is closed. */
	if (q.x == NULL && nconnects > 0)
		ck_assert_int_eq(close(asked_fd), -1);
	nconnects = 0;
}

#define ASK(status, why, what, ...) \
	ck_ask((const struct answer []){ __VA_ARGS__ }, status, why, what)

static void
ck_table(const char *want)
{
	char	*text;
	size_t	 size;
	FILE	*out = open_memstream(&text, &size);

	ck_assert_int_eq(table_print_json(t, false, out), 0);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(text, want);
	free(text);
	table_free(&t);
}

#define OWN	"/own/control.sock"
#define SYS	"/sys/control.sock"
#define ASKED	OWN "; c"

START_TEST(test_answer)
{
	char	*arg[] = { ten, nine };

	/* In the order of its numbers. */
	ASK(EXIT_OK, "", ASKED, HEAD, ROW, END);
	ck_assert_int_eq(stream, -1);
	ck_table("[{\"n\":9,\"b\":false},{\"n\":10,\"b\":true}]\n");
	kinds[0] = IPC__CELL_KIND__LIST;
	kinds[1] = IPC__CELL_KIND__TEXT;
	q.option = true;
	q.arg = arg;
	q.narg = 2;
	ASK(EXIT_OK, "", ASKED " option; 10; 9", HEAD, ROW, ROW, END);
	ck_table("[{\"n\":[\"10\"],\"b\":\"yes\"},{\"n\":[\"9\"],\"b\":\"no\"},"
	    "{\"n\":[\"10\"],\"b\":\"yes\"},{\"n\":[\"9\"],\"b\":\"no\"}]\n");
	kinds[0] = IPC__CELL_KIND__NUMBER;
	kinds[1] = IPC__CELL_KIND__FLAG;
	ASK(EXIT_OK, "", ASKED " option; 10; 9", STREAM(77), END);
	ck_assert_int_eq(stream, 77);
	ck_assert_ptr_null(t);
	q.narg = 0;
	ASK(EXIT_OTHER, "the daemon's answer is empty", ASKED " option", END);
	answer = (const struct answer []){ END };
	ck_assert_int_eq(control_ask_simply("/d", "x", &t, &e), EXIT_OTHER);
	ck_assert_str_eq(e.text, "the daemon's answer is empty");
	ck_did("/d/control.sock; x");
}
END_TEST

#define BAD	"malformed answer of the daemon: Protocol error"

START_TEST(test_malformed)
{
	static char	*many[257];
	static Ipc__CellKind many_kinds[257];
	size_t		 i;

	ASK(EXIT_OTHER, BAD, ASKED, ROW);
	ASK(EXIT_OTHER, BAD, ASKED, HEAD, HEAD);
	table_free(&t);
	row.n_cell = 3;
	ASK(EXIT_OTHER, BAD, ASKED, HEAD, ROW);
	table_free(&t);
	head.n_kind = 1;
	ASK(EXIT_OTHER, BAD, ASKED, HEAD);
	for (i = 0; i < 257; i++)
		many[i] = column;
	head.column = many;
	head.kind = many_kinds;
	head.n_column = head.n_kind = 257;
	ASK(EXIT_OTHER, BAD, ASKED, HEAD);
	head.n_column = head.n_kind = 256;
	ASK(EXIT_OK, "", ASKED, HEAD, END);
	table_free(&t);
	head.n_column = head.n_kind = 0;
	ASK(EXIT_OTHER, BAD, ASKED, HEAD, ROW);
	table_free(&t);
	/* Two streams, one that was lost, one that nobody wants. */
	ASK(EXIT_OTHER, BAD, ASKED "; close 78", STREAM(77), STREAM(78));
	ck_assert_int_eq(stream, 77);
	ASK(EXIT_OTHER, "malformed answer of the daemon: Too many open files",
	    ASKED, STREAM(-1));
	answer = (const struct answer []){ STREAM(77) };
	ck_assert_int_eq(control_ask_simply(NULL, "c", &t, &e), EXIT_OTHER);
	ck_assert_str_eq(e.text, BAD);
	ck_did(ASKED "; close 77");
	nconnects = 0;
	ASK(EXIT_OTHER, "malformed answer of the daemon: Input/output error",
	    ASKED, { -1, EIO, 0, NULL, -1 });
	ASK(EXIT_OTHER, "the daemon closed the connection", ASKED,
	    { 0, 0, 0, NULL, -1 });
}
END_TEST

/* The daemon's own refusals. */
START_TEST(test_refused)
{
	static char	 why[] = "no\033way\nat all", process[] =
			    "no such process";
	char		*arg[] = { ten, nine };

	end.exit_code = 255;
	ASK(255, "the daemon refused", ASKED, END);
	end.error = why;
	ASK(255, "no?way\nat all", ASKED, HEAD, END);
	table_free(&t);
	end.exit_code = 256;
	ASK(EXIT_OTHER, "no?way\nat all", ASKED, END);
	/* It does not have the name. */
	q.arg = arg;
	q.narg = 1;
	end.exit_code = EXIT_OTHER;
	end.error = process;
	ASK(EXIT_OTHER, "no such process", ASKED "; 10", END);
	q.narg = 2;
	ASK(EXIT_OTHER, "no such process: 9", ASKED "; 10; 9", END);
	end.exit_code = EXIT_UNKNOWN;
	ASK(EXIT_UNKNOWN, "no such process", ASKED "; 10; 9", END);
}
END_TEST

static void
on_row(void *arg, char *const *cell, size_t n)
{
	ck_assert(arg == &q && n == 2);
	did("row %s %s", cell[0], cell[1]);
}

/* It is silent for 2 s, counted in turns, after each of its messages. */
START_TEST(test_silence)
{
	ASK(EXIT_UNKNOWN, "the daemon does not answer", ASKED, NONE, NONE,
	    NONE, NONE, NONE, NONE, NONE, NONE, NONE);
	ck_assert_uint_eq(npolls, 8);
	npolls = 0;
	ASK(EXIT_UNKNOWN, "the daemon does not answer", ASKED, NONE, NONE,
	    NONE, NONE, NONE, NONE, NONE, NONE, HEAD, NONE, NONE, NONE, NONE,
	    NONE, NONE, NONE, NONE, NONE);
	ck_assert_uint_eq(npolls, 16);
	table_free(&t);
	npolls = 0;
	q.is_patient = true;
	q.on_row = on_row;
	q.arg_of_row = &q;
	ASK(EXIT_OK, "", ASKED "; for ever; row 10 yes; row 9 no; for ever",
	    NONE, HEAD, NONE, ROW, NONE, END);
	ck_table("[]\n");
	ASK(EXIT_UNKNOWN, "the daemon does not answer", ASKED, NONE, NONE,
	    NONE, NONE, NONE, NONE, NONE, NONE, NONE);
}
END_TEST

/* --- which daemon --- */

#define NO_DAEMON	"no daemon runs ("

START_TEST(test_place)
{
	q.dir = "/d";
	ck_assert_int_eq(setenv("EXECSRV_RUNTIME_DIR", "/env", 1), 0);
	ASK(EXIT_OTHER, "the daemon's answer is empty", "/d/control.sock; c",
	    END);
	q.dir = NULL;
	ASK(EXIT_OTHER, "the daemon's answer is empty", "/env/control.sock; c",
	    END);
	ck_assert_int_eq(setenv("EXECSRV_RUNTIME_DIR", "", 1), 0);
	ASK(EXIT_OTHER, "the daemon's answer is empty", ASKED, END);
	connect_error[0] = ENOENT;
	ASK(EXIT_OTHER, "the daemon's answer is empty", OWN "; " SYS "; c",
	    END);
	connect_error[1] = ECONNREFUSED;
	ASK(EXIT_NO_DAEMON, NO_DAEMON OWN ": No such file or directory; "
	    SYS ": Connection refused)", OWN "; " SYS, END);
	own = of_system;
	connect_error[1] = ENOENT;
	ASK(EXIT_NO_DAEMON, NO_DAEMON SYS ": No such file or directory)",
	    SYS "; " SYS, END);
	connect_error[1] = EACCES;
	ASK(EXIT_UNKNOWN, SYS ": Permission denied", SYS "; " SYS, END);
	ck_assert_str_eq(e.closed, "/sys");
	own_error = ENOMEM;
	ASK(EXIT_OTHER, "Cannot allocate memory", "", END);
	ck_assert_str_eq(e.closed, "");
}
END_TEST

static const struct {
	int		 error, status;
	const char	*why, *closed;
} places[] = {
	{ ENOENT, EXIT_NO_DAEMON, NO_DAEMON "/d/control.sock: No such file "
	    "or directory)", "" },
	{ ECONNREFUSED, EXIT_NO_DAEMON, NO_DAEMON "/d/control.sock: "
	    "Connection refused)", "" },
	{ ETIMEDOUT, EXIT_UNKNOWN, "/d/control.sock: the daemon does not "
	    "answer", "" },
	{ EACCES, EXIT_UNKNOWN, "/d/control.sock: Permission denied", "/d" },
	{ EPERM, EXIT_UNKNOWN, "/d/control.sock: Operation not permitted",
	    "/d" },
	{ EMFILE, EXIT_OTHER, "/d/control.sock: Too many open files", "" },
};

START_TEST(test_connect)
{
	q.dir = "/d";
	connect_error[0] = places[_i].error;
	ASK(places[_i].status, places[_i].why, "/d/control.sock", END);
	ck_assert_str_eq(e.closed, places[_i].closed);
}
END_TEST

#define SOCKET	"/control.sock"
#define LONG	"/0123456789012345678901234567890123456789012345678901234567"\
		"89012345678901234567890123456789012"	/* it just fits */

/* Its queue is full: for 2 s. */
START_TEST(test_busy)
{
	q.dir = "/d";
	busy = 200;
	ASK(EXIT_OTHER, "the daemon's answer is empty", "/d/control.sock; c",
	    END);
	ck_assert_uint_eq(npolls, 200);
	busy = 201;
	ASK(EXIT_UNKNOWN, "/d/control.sock: the daemon does not answer", "",
	    END);
	busy = 0;
	q.dir = LONG;
	connect_error[0] = EPERM;
	ASK(EXIT_UNKNOWN, LONG SOCKET ": Operation not permitted",
	    LONG SOCKET, END);
	q.dir = LONG "x";
	ASK(EXIT_OTHER, LONG "x" SOCKET ": File name too long", "", END);
	connect_error[0] = 0;
	send_error = EMSGSIZE;
	q.dir = "/d";
	ASK(EXIT_OTHER, "cannot ask the daemon: Message too long",
	    "/d/control.sock; c", END);
}
END_TEST

/* Only one's own, or root's, unless it is named. */
START_TEST(test_owner)
{
	owner = SELF;
	ASK(EXIT_OTHER, "the daemon's answer is empty", ASKED, END);
	owner = SELF + 1;
	ASK(EXIT_UNKNOWN, "/own: that is another user's daemon", OWN, END);
	q.dir = "/d";
	ASK(EXIT_OTHER, "the daemon's answer is empty", "/d/control.sock; c",
	    END);
	q.dir = NULL;
	owner = 0;
	peer_error = -1;
	ASK(EXIT_UNKNOWN, "/own: that is another user's daemon", OWN, END);
}
END_TEST

START_TEST(test_far)
{
	q.x = (struct execsrv *)8;
	ASK(EXIT_OK, "", "far c", END);
	ck_assert_int_eq(stream, CONTROL_FAR);
	ck_assert_int_eq(control_ask(&q, &t, NULL, &e), EXIT_OTHER);
	ck_assert_str_eq(e.text, "the daemon's answer is empty");
	ck_did("far c");
	own_error = 1;
	ASK(EXIT_OTHER, "the daemon's answer is empty", "far c", END);
	ck_assert_int_eq(stream, -1);
}
END_TEST

START_TEST(test_complain)
{
	said_begin();
	strcpy(e.text, "");
	control_complain(&e);
	ck_said("", "");
	strcpy(e.text, "a\n\nb\n");
	control_complain(&e);
	ck_said("execsrvctl: a\nexecsrvctl: \nexecsrvctl: b\n", "");
	said_end();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("control");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_answer);
	tcase_add_test(tc, test_malformed);
	tcase_add_test(tc, test_refused);
	tcase_add_test(tc, test_silence);
	tcase_add_test(tc, test_place);
	tcase_add_loop_test(tc, test_connect, 0, 6);
	tcase_add_test(tc, test_busy);
	tcase_add_test(tc, test_owner);
	tcase_add_test(tc, test_far);
	tcase_add_test(tc, test_complain);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
