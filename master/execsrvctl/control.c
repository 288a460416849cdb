#include "master/execsrvctl/control.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/rundirs.h"

#define CONTROL_SOCKET	"control.sock"
#define NO_DAEMON	"no daemon runs ("
#define ANSWER_MS	2000	/* of silence */
#define TURN_MS		250
#define RETRY_MS	10	/* the listen queue is full */
#define COLUMNS_MAX	256

static int	 control_fail(struct control_error *, int, const char *, ...)
		    PRINTF(3, 4);

static int
control_fail(struct control_error *e, int status, const char *fmt, ...)
{
	va_list	 ap;
	char	*line, *end;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	for (line = e->text; line != NULL; line = end) {
		if ((end = strchr(line, '\n')) != NULL)
			*end = '\0';
		execsrv_printable(line);
		if (end != NULL)
			*end++ = '\n';
	}
	return status;
}

void
control_complain(const struct control_error *e)
{
	const char	*line = e->text;
	size_t		 len;

	while (*line != '\0') {
		len = strcspn(line, "\n");
		fprintf(stderr, "execsrvctl: %.*s\n", (int)len, line);
		line += len + (line[len] == '\n');
	}
}

/* --- the socket --- */

/*
 * Time is counted in turns here, not by a clock, so that a daemon has its time
 * even if the whole machine stood still.
 */
static int
control_connect_to(int fd, const struct sockaddr_un *un)
{
	int	 left = ANSWER_MS / RETRY_MS;

	while (connect(fd, (const struct sockaddr *)un, sizeof(*un)) == -1) {
		if (errno != EAGAIN && errno != EINTR)
			return -1;
		if (left-- == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		poll(NULL, 0, RETRY_MS);
	}
	return 0;
}

/* Explain the errno of a failed connect(2). */
static int
control_judge(int error, const char *dir, struct control_error *e)
{
	switch (error) {
	case ENOENT:
	case ECONNREFUSED:
		return control_fail(e, EXIT_NO_DAEMON,
		    NO_DAEMON "%s/%s: %s)", dir, CONTROL_SOCKET,
		    strerror(error));
	case ETIMEDOUT:
		return control_fail(e, EXIT_UNKNOWN,
		    "%s/%s: the daemon does not "
		    "answer", dir, CONTROL_SOCKET);
	default:
		if (error == EACCES || error == EPERM)
			snprintf(e->closed, sizeof(e->closed), "%s", dir);
		return control_fail(e, error == EACCES || error == EPERM ?
		    EXIT_UNKNOWN : EXIT_OTHER, "%s/%s: %s", dir,
		    CONTROL_SOCKET, strerror(error));
	}
}

static int
open_control(const char *dir, int *fd_out, struct control_error *e)
{
	struct sockaddr_un	 un;
	int			 n;

	if (rundirs_address(dir, CONTROL_SOCKET, &un) == -1 ||
	    (*fd_out = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return control_judge(errno, dir, e);
	if (control_connect_to(*fd_out, &un) == -1) {
		n = errno;
		fd_close(fd_out);
		return control_judge(n, dir, e);
	}
	return EXIT_OK;
}

/*
 * Whether the daemon there is the caller's or root's.  The default below /tmp
 * could be anybody's, and "run" sends its input to the address in the answer.
 */
static bool
control_is_trusted(int fd)
{
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	    (cred.uid == 0 || cred.uid == geteuid());
}

static int
open_own(int *fd_out, struct control_error *e)
{
	char	*dir;
	int	 status;

	if (rundirs_default(&dir) == -1)
		return control_fail(e, EXIT_OTHER, "%s", strerror(errno));
	status = open_control(dir, fd_out, e);
	if (status == EXIT_OK && !control_is_trusted(*fd_out)) {
		fd_close(fd_out);
		status = control_fail(e, EXIT_UNKNOWN,
		    "%s: that is another user's "
		    "daemon", dir);
	}
	free(dir);
	return status;
}

/* There is none in either place: name both, if they are two. */
static int
fail_in_both(struct control_error *e, const struct control_error *e2)
{
	struct control_error	 first = *e;

	assert(strncmp(e2->text, NO_DAEMON, strlen(NO_DAEMON)) == 0);
	if (strcmp(first.text, e2->text) == 0)
		return EXIT_NO_DAEMON;
	return control_fail(e, EXIT_NO_DAEMON, "%.*s; %s",
	    (int)strlen(first.text) - 1, first.text,
	    e2->text + strlen(NO_DAEMON));
}

static int
open_any(const char *dir, int *fd_out, struct control_error *e)
{
	const char		*env = getenv("EXECSRV_RUNTIME_DIR");
	struct control_error	 e2 = { .text = "" };
	int			 status;

	if (dir == NULL && env != NULL && env[0] != '\0')
		dir = env;
	if (dir != NULL)
		return open_control(dir, fd_out, e);
	if ((status = open_own(fd_out, e)) != EXIT_NO_DAEMON)
		return status;
	status = open_control(rundirs_system(), fd_out, &e2);
	if (status == EXIT_NO_DAEMON)
		return fail_in_both(e, &e2);
	*e = e2;
	return status;
}

/* --- the answer --- */

static int
control_on_head(const Ipc__CtlHead *head, struct table **t_out)
{
	enum table_kind	 kinds[COLUMNS_MAX];
	size_t		 i;

	if (*t_out != NULL || head->n_column != head->n_kind ||
	    head->n_column > COLUMNS_MAX) {
		errno = EPROTO;
		return -1;
	}
	for (i = 0; i < head->n_kind; i++)
		switch (head->kind[i]) {
		case IPC__CELL_KIND__NUMBER:
			kinds[i] = TABLE_NUMBER;
			break;
		case IPC__CELL_KIND__LIST:
			kinds[i] = TABLE_LIST;
			break;
		case IPC__CELL_KIND__FLAG:
			kinds[i] = TABLE_FLAG;
			break;
		default:
			kinds[i] = TABLE_TEXT;
			break;
		}
	*t_out = table_new(head->n_column, head->column, kinds);
	return *t_out == NULL ? -1 : 0;
}

/* Read a message of rows: the cells of one after the other. */
static int
on_rows(const struct control_request *q, const Ipc__CtlRow *rows,
    struct table *t)
{
	size_t	 i, n = t != NULL ? table_columns(t) : 0;

	if (n == 0 || rows->n_cell % n != 0) {
		errno = EPROTO;
		return -1;
	}
	for (i = 0; i < rows->n_cell; i += n)
		if (q->on_row != NULL)
			q->on_row(q->arg_of_row, rows->cell + i, n);
		else if (table_add(t, n, rows->cell + i) == -1)
			return -1;
	return 0;
}

static int
control_on_stream(struct ipc_msg *m, int *stream_out)
{
	if (stream_out == NULL || *stream_out != -1 || m->fd == -1) {
		errno = m->fd == -1 ? EMFILE : EPROTO;
		return -1;
	}
	*stream_out = m->fd;
	m->fd = -1;
	return 0;
}

/* Read one message.  1: more follow; 0: the end, with its status; -1. */
static int
control_on_message(const struct control_request *q, struct ipc_msg *m,
    struct table **t_out, int *stream_out, int *status_out,
    struct control_error *e)
{
	const Ipc__CtlEnd	*end;

	switch (m->kind) {
	case IPC_ctl_head:
		return control_on_head((const Ipc__CtlHead *)m->body, t_out) ==
		    -1 ? -1 : 1;
	case IPC_ctl_row:
		return on_rows(q, (const Ipc__CtlRow *)m->body, *t_out) ==
		    -1 ? -1 : 1;
	case IPC_ctl_stream:
		return control_on_stream(m, stream_out) == -1 ? -1 : 1;
	default:
		end = (const Ipc__CtlEnd *)m->body;
		*status_out = end->exit_code < 256 ? (int)end->exit_code :
		    EXIT_OTHER;
		if (end->exit_code != 0)
			control_fail(e, 0, "%s", end->error[0] != '\0' ?
			    end->error :
			    "the daemon refused");
		return 0;
	}
}

static int
control_read_answer(int fd, const struct control_request *q,
    struct table **t_out, int *stream_out, struct control_error *e)
{
	struct pollfd	 pfd = { .fd = fd, .events = POLLIN };
	struct ipc_msg	 m;
	int		 r, left = ANSWER_MS / TURN_MS, status = EXIT_OTHER;
	bool		 waits = false;

	for (;;) {
		r = ipc_recv(fd, IPC_ROLE_MASTER, IPC_ROLE_OPERATOR, &m);
		if (r == 0)
			return control_fail(e, EXIT_OTHER, "the daemon closed "
			    "the connection");
		if (r == 1) {
			left = ANSWER_MS / TURN_MS;
			waits = q->is_patient;
			r = control_on_message(q, &m, t_out, stream_out,
			    &status, e);
			ipc_msg_fini(&m);
			if (r == 0)
				return status;
			if (r == 1)
				continue;
		}
		if (errno != EAGAIN)
			return control_fail(e, EXIT_OTHER,
			    "malformed answer of the daemon: %s",
			    strerror(errno));
		if (!waits && left == 0)
			return control_fail(e, EXIT_UNKNOWN,
			    "the daemon does not answer");
		if (poll(&pfd, 1, waits ? -1 : TURN_MS) == 0)
			left--;
	}
}

/* Ask the daemon of a run directory. */
static int
control_ask_near(const struct control_request *q, struct table **t_out,
    int *stream_out, struct control_error *e)
{
	Ipc__CtlRequest	 request = IPC__CTL_REQUEST__INIT;
	int		 fd, status;

	if ((status = open_any(q->dir, &fd, e)) != EXIT_OK)
		return status;
	request.command = (char *)(uintptr_t)q->command;
	request.arg = q->arg;
	request.n_arg = q->narg;
	request.option = q->option;
	/* The first packet always fits into the buffer. */
	if (ipc_send(fd, IPC_ctl_request, &request, -1) == -1)
		status = control_fail(e, EXIT_OTHER,
		    "cannot ask the daemon: %s", strerror(errno));
	else
		status = control_read_answer(fd, q, t_out, stream_out, e);
	fd_close(&fd);
	return status;
}

int
control_ask(const struct control_request *q, struct table **t_out,
    int *stream_out, struct control_error *e)
{
	bool	 has_output;
	int	 status;

	*t_out = NULL;
	if (stream_out != NULL)
		*stream_out = -1;
	e->text[0] = e->closed[0] = '\0';
	if (q->x == NULL) {
		status = control_ask_near(q, t_out, stream_out, e);
	} else {
		status = control_far_ask(q, t_out, &has_output, e);
		if (has_output && stream_out != NULL)
			*stream_out = CONTROL_FAR;
	}
	if (status == EXIT_OK && *t_out == NULL &&
	    (stream_out == NULL || *stream_out == -1))
		status = control_fail(e, EXIT_OTHER,
		    "the daemon's answer is empty");
	/* The daemon's words are also for its logs, which have the name. */
	if (status == EXIT_OTHER && q->narg > 1 &&
	    strcmp(e->text, "no such process") == 0)
		control_fail(e, status, "no such process: %s", q->arg[1]);
	/* Rows come in the order in which workers answer. */
	if (status == EXIT_OK && *t_out != NULL && table_sort(*t_out) == -1)
		status = control_fail(e, EXIT_OTHER, "%s", strerror(errno));
	return status;
}

int
control_ask_simply(const char *dir, const char *command,
    struct table **t_out, struct control_error *e)
{
	struct control_request	 q = { .dir = dir, .command = command };

	return control_ask(&q, t_out, NULL, e);
}
