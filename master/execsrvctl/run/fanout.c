/*
 * A connection for each server, so many at a time, in one loop.  Output of all
 * shares two queues; while these are long nothing is read from any server.
 */
#include "master/execsrvctl/run/fanout.h"

#include <sys/signalfd.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/outq.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/run/reason.h"

#define HOLD_ABOVE	(1024 * 1024)	/* bytes of queued output */
#define HOLD_BELOW	(256 * 1024)
#define LINE_MAX_LEN	(64 * 1024)	/* a longer one is broken */
#define LEAVE_MS	1000		/* for the session to be closed */
#define GRACE_MS	2000		/* before SIGKILL */

enum phase {
	WAITING,		/* for its turn */
	OPENING,
	RUNNING,
	CLOSED,			/* the process */
	LEAVING,		/* the session is being closed */
	OVER
};

enum result { NOT_RUN, SUCCEEDED, FAILED, NOT_REACHED };

struct task {
	struct fanout			*fanout;
	const struct fanout_target	*target;
	enum phase			 phase;
	enum result			 result;
	struct execsrv			*x;
	struct execsrv_process		*p;
	struct buf			 lines[2];	/* unfinished */
	int				 code;		/* of the exit; -1 */
	bool				 is_left;	/* it was closed */
	uint64_t			 deadline;	/* ms, to leave */
};

struct fanout {
	const struct fanout_options	*o;
	struct task			*tasks;
	struct pollfd			*fds;
	struct task			**polled;	/* whose they are */
	size_t				 next;		/* to begin with */
	size_t				 nactive;
	size_t				 results[NOT_REACHED + 1];
	struct outq			 out[2];
	bool				 is_held;
	int				 signal_fd;
	unsigned			 nsignals;
	bool				 is_stopping;	/* begin no more */
	int				 status;	/* 0: by results */
};

static void	 task_fail(struct task *, enum result, const char *, ...)
		    PRINTF(3, 4);

/* --- targets --- */

char *
fanout_name(const char *text)
{
	static const char	 remote[] = "remote:";
	const char		*at = strrchr(text, '@');
	char			*name;

	if (strncmp(text, remote, sizeof(remote) - 1) == 0 && at != NULL) {
		text += sizeof(remote) - 1;
		name = strndup(text, (size_t)(at - text));
	} else {
		name = strdup(text);
	}
	if (name != NULL)
		execsrv_printable(name);
	return name;
}

void
fanout_free_targets(struct fanout_options *o)
{
	size_t	 i;

	for (i = 0; i < o->n; i++) {
		free(o->targets[i].name);
		server_fini(&o->targets[i].server);
	}
	free(o->targets);
}

/* --- output --- */

/* Lose no line that is printed: what cannot be queued ends all. */
static void
fanout_put(struct fanout *f, bool is_error, const void *data, size_t len)
{
	if (outq_put(&f->out[is_error], data, len) == -1) {
		f->status = EXIT_RUN;
		f->is_stopping = true;
	}
}

/* Print what is in a line's buffer, with its end. */
static void
task_print_line(struct task *t, bool is_error, const char *text, size_t len)
{
	struct buf	 b;

	buf_init(&b, 2 * LINE_MAX_LEN);
	if (buf_put(&b, t->target->name, strlen(t->target->name)) == 0 &&
	    buf_put(&b, ": ", 2) == 0 && buf_put(&b, text, len) == 0 &&
	    buf_put(&b, "\n", 1) == 0)
		fanout_put(t->fanout, is_error, buf_data(&b), b.len);
	else
		t->fanout->status = EXIT_RUN;
	buf_fini(&b);
}

/* What servers say of a task goes to standard error, in its turn. */
static void
task_fail(struct task *t, enum result result, const char *fmt, ...)
{
	struct execsrv_error	 e;
	va_list			 ap;

	if (t->result != NOT_RUN)
		return;
	va_start(ap, fmt);
	vsnprintf(e.text, sizeof(e.text), fmt, ap);
	va_end(ap);
	reason_cut(e.text);
	execsrv_printable(e.text);
	t->result = result;
	t->fanout->results[result]++;
	task_print_line(t, true, e.text, strlen(e.text));
	if (t->fanout->results[FAILED] + t->fanout->results[NOT_REACHED] >
	    t->fanout->o->max_fail)
		t->fanout->is_stopping = true;
}

static void
task_put(struct task *t, bool is_error, const char *data, size_t len)
{
	struct buf	*b = &t->lines[is_error];
	const char	*end;
	size_t		 n;

	assert(b->len < LINE_MAX_LEN);
	while (len > 0) {
		end = memchr(data, '\n', len);
		n = end != NULL ? (size_t)(end - data) : len;
		if (n > LINE_MAX_LEN - b->len) {
			n = LINE_MAX_LEN - b->len;
			end = NULL;
		}
		if (buf_put(b, data, n) == -1) {
			t->fanout->status = EXIT_RUN;
			return;
		}
		data += n;
		len -= n;
		if (end != NULL || b->len == LINE_MAX_LEN) {
			task_print_line(t, is_error, b->len == 0 ? "" :
			    (char *)buf_data(b), b->len);
			buf_drain(b, b->len);
		}
		if (end != NULL) {
			data++;
			len--;
		}
	}
}

/* --- the process --- */

static void
task_on_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	struct task	*t = arg;

	if (what != EXECSRV_START || e == NULL)
		return;
	assert(t->phase == RUNNING);
	task_fail(t, NOT_REACHED, "%s", e->text);
	t->phase = CLOSED;
}

static void
task_on_output(void *arg, enum execsrv_stream stream, const void *data,
    size_t len)
{
	task_put(arg, stream == EXECSRV_STDERR, data, len);
}

static void
task_on_exited(void *arg, int exit_code, bool sandbox_denied)
{
	struct task	*t = arg;

	(void)sandbox_denied;
	t->code = exit_code;
}

static void
task_flush(struct task *t)
{
	size_t	 i;

	for (i = 0; i < 2; i++) {
		if (t->lines[i].len > 0)
			task_print_line(t, i == 1,
			    (char *)buf_data(&t->lines[i]), t->lines[i].len);
		buf_fini(&t->lines[i]);
	}
}

static void
task_on_closed(void *arg)
{
	struct task	*t = arg;

	assert(t->phase == RUNNING);
	task_flush(t);
	if (t->code == 0 && t->result == NOT_RUN) {
		t->result = SUCCEEDED;
		t->fanout->results[SUCCEEDED]++;
	} else if (t->code > 0) {
		task_fail(t, FAILED, "exit status %d", t->code);
	} else {
		task_fail(t, NOT_REACHED, "the server does not tell how the "
		    "command ended");
	}
	t->phase = CLOSED;
}

static void
task_on_lost(void *arg, const struct execsrv_error *e)
{
	struct task	*t = arg;

	assert(t->phase == RUNNING);
	task_flush(t);
	task_fail(t, NOT_REACHED, "%s", e->text);
	t->phase = CLOSED;
}

static const struct execsrv_hooks	 task_hooks = {
	.on_answer = task_on_answer, .on_output = task_on_output,
	.on_exited = task_on_exited, .on_closed = task_on_closed,
	.on_lost = task_on_lost,
};

/* --- a task --- */

static void
task_open(struct task *t)
{
	const struct run_options	*o = t->fanout->o->run;
	const struct server		*s = &t->target->server;
	struct execsrv_options		 how = o->how;
	struct execsrv_error		 e;

	assert(t->phase == WAITING);
	how.no_wait = true;
	server_set_how(s, &how);
	t->phase = OPENING;
	t->fanout->nactive++;
	if ((t->x = execsrv_open(s->url, &how, &e)) == NULL)
		task_fail(t, NOT_REACHED, "%s", e.text);
	else if (execsrv_fd(t->x) == -1)
		task_fail(t, NOT_REACHED, "%s", strerror(errno));
	else
		return;
	t->phase = CLOSED;
}

static void
task_start(struct task *t)
{
	struct run_options	 o = *t->fanout->o->run;
	struct execsrv_start	 s = { .argv = o.argv, .inherit = true };
	const char		**env;
	int			 error;

	assert(t->phase == OPENING && t->p == NULL);
	if ((env = run_defaults(&o, &t->target->server)) != NULL) {
		s.env = env;
		s.preset = o.sandbox;
		s.allow_domains = o.allow_domains;
		s.cwd = o.cwd != NULL ? o.cwd : execsrv_cwd(t->x);
		if (s.cwd == NULL)
			s.cwd = "/";
		t->phase = RUNNING;
		t->p = execsrv_process_start(t->x, &s, &task_hooks, t);
	}
	error = errno;
	free(env);
	errno = error;
	if (t->p != NULL)
		return;
	task_fail(t, NOT_REACHED, "%s", errno == EPIPE ?
	    execsrv_why(t->x)->text : errno == EILSEQ ?
	    "the command or its environment is not UTF-8" : strerror(errno));
	t->phase = CLOSED;
}

static void
task_on_left(void *arg, const char *result, size_t len,
    const struct execsrv_error *e)
{
	struct task	*t = arg;

	(void)result;
	(void)len;
	(void)e;
	t->is_left = true;
}

/* Nobody will resume the session: end it. */
static void
task_leave(struct task *t)
{
	assert(t->phase == CLOSED);
	t->phase = LEAVING;
	t->deadline = clock_ms() + LEAVE_MS;
	t->is_left = t->x == NULL ||
	    execsrv_status(t->x) != EXECSRV_CONNECTED ||
	    !execsrv_can(t->x, "execsrvSessionClose") ||
	    execsrv_call_json(t->x, "session/close", NULL, 0, task_on_left,
	    t) == -1;
}

static void
task_end(struct task *t)
{
	assert(t->phase > WAITING && t->phase < OVER);
	assert(t->fanout->nactive > 0);
	execsrv_process_free(&t->p);
	execsrv_close(&t->x);
	buf_fini(&t->lines[0]);
	buf_fini(&t->lines[1]);
	t->phase = OVER;
	t->fanout->nactive--;
}

/* Go on as far as it can. */
static void
task_step(struct task *t)
{
	enum execsrv_status	 status = t->x != NULL ?
				    execsrv_status(t->x) : EXECSRV_FAILED;

	if (t->phase == OPENING && status == EXECSRV_CONNECTED) {
		task_start(t);
	} else if (t->phase < CLOSED && status == EXECSRV_FAILED) {
		task_fail(t, NOT_REACHED, "%s", execsrv_why(t->x)->text);
		t->phase = CLOSED;
	}
	if (t->phase == CLOSED)
		task_leave(t);
	if (t->phase == LEAVING && (t->is_left || status == EXECSRV_FAILED ||
	    clock_ms() >= t->deadline))
		task_end(t);
}

/* --- signals --- */

static const int	 fanout_signals[] = {
	SIGHUP, SIGINT, SIGQUIT, SIGTERM
};

/* The first time as the caller's; then for good. */
static void
fanout_stop(struct fanout *f, const char *name)
{
	struct task	*t;

	f->is_stopping = true;
	for (t = f->tasks; t < f->tasks + f->next; t++) {
		if (t->phase == OPENING) {
			task_fail(t, NOT_REACHED, "interrupted");
			t->phase = CLOSED;
		} else if (t->phase != RUNNING) {
			continue;
		} else if (f->nsignals == 1 &&
		    execsrv_can(t->x, "execsrvProcessSignalName")) {
			execsrv_process_signal(t->p, name);
		} else {
			execsrv_process_terminate(t->p, f->nsignals == 1 ?
			    GRACE_MS : 0);
		}
	}
}

static void
fanout_on_signals(struct fanout *f)
{
	struct signalfd_siginfo	 info;
	const char		*name;

	while (read(f->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (++f->nsignals > 2) {
			f->status = 128 + (int)info.ssi_signo;
			break;
		}
		name = info.ssi_signo == SIGINT ? "SIGINT" :
		    info.ssi_signo == SIGQUIT ? "SIGQUIT" :
		    info.ssi_signo == SIGHUP ? "SIGHUP" : "SIGTERM";
		fanout_stop(f, name);
	}
}

/* Catch signals, except those that the caller ignores. */
static int
fanout_take_signals(struct fanout *f)
{
	struct sigaction	 sa;
	sigset_t		 set;
	size_t			 i;

	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	for (i = 0; i < sizeof(fanout_signals) / sizeof(fanout_signals[0]);
	    i++)
		if (sigaction(fanout_signals[i], NULL, &sa) == 0 &&
		    sa.sa_handler != SIG_IGN)
			sigaddset(&set, fanout_signals[i]);
	if (sigprocmask(SIG_BLOCK, &set, NULL) == -1)
		return -1;
	f->signal_fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return f->signal_fd == -1 ? -1 : 0;
}

/* --- the loop --- */

enum { FD_SIGNALS, FD_OUT, FD_TASKS = FD_OUT + 2 };

static size_t
fanout_held(const struct fanout *f)
{
	return outq_held(&f->out[0]) + outq_held(&f->out[1]);
}

/* Reading the answers to a signal may not wait for a slow reader. */
static void
fanout_check_hold(struct fanout *f)
{
	size_t		 held = fanout_held(f);
	bool		 was_held = f->is_held;
	struct task	*t;

	if (held < HOLD_BELOW || f->nsignals > 0)
		f->is_held = false;
	else if (held > HOLD_ABOVE)
		f->is_held = true;
	if (f->is_held == was_held)
		return;
	for (t = f->tasks; t < f->tasks + f->next; t++)
		if (t->phase == RUNNING)
			execsrv_hold(t->x, f->is_held);
}

/* Our output is broken: end as if the command had got SIGPIPE itself. */
static void
fanout_check_output(struct fanout *f)
{
	size_t	 i;

	for (i = 0; i < 2; i++) {
		if (f->out[i].error == 0 || f->status != EXIT_OK)
			continue;
		f->status = f->out[i].error == EPIPE ? 128 + SIGPIPE :
		    EXIT_RUN;
		f->nsignals = 1;
		fanout_stop(f, "SIGTERM");
	}
}

static size_t
fanout_prepare(struct fanout *f)
{
	struct task	*t;
	size_t		 i, n = FD_TASKS;

	f->fds[FD_SIGNALS] = (struct pollfd){ .fd = f->signal_fd,
	    .events = POLLIN };
	for (i = 0; i < 2; i++)
		f->fds[FD_OUT + i] = (struct pollfd){
		    .fd = outq_held(&f->out[i]) > 0 ? f->out[i].fd : -1,
		    .events = POLLOUT };
	for (t = f->tasks; t < f->tasks + f->next; t++)
		if (t->phase != OVER) {
			f->polled[n] = t;
			f->fds[n++] = (struct pollfd){
			    .fd = execsrv_fd(t->x), .events = POLLIN };
		}
	return n;
}

/* Until the first task has to have left, or for ever. */
static int
fanout_wait_ms(const struct fanout *f, size_t n)
{
	uint64_t	 now = clock_ms();
	int		 least = -1, ms;
	size_t		 i;

	for (i = FD_TASKS; i < n; i++) {
		if (f->polled[i]->phase != LEAVING)
			continue;
		ms = f->polled[i]->deadline > now ?
		    (int)(f->polled[i]->deadline - now) : 0;
		if (least == -1 || ms < least)
			least = ms;
	}
	return least;
}

static void
begin_more(struct fanout *f)
{
	struct task	*t;

	while (!f->is_stopping && f->next < f->o->n &&
	    f->nactive < f->o->parallel) {
		t = &f->tasks[f->next++];
		task_open(t);
		task_step(t);
	}
}

static void
fanout_turn(struct fanout *f)
{
	size_t	 i, n = fanout_prepare(f);

	if (poll(f->fds, n, fanout_wait_ms(f, n)) == -1)
		return;
	if (f->fds[FD_SIGNALS].revents != 0)
		fanout_on_signals(f);
	for (i = 0; i < 2; i++)
		if (f->fds[FD_OUT + i].revents != 0)
			outq_on_room(&f->out[i]);
	for (i = FD_TASKS; i < n; i++) {
		/* A failed one says why in its hooks, or by its status. */
		if (f->fds[i].revents != 0 && f->polled[i]->phase != OVER)
			(void)execsrv_dispatch(f->polled[i]->x);
		task_step(f->polled[i]);
	}
	fanout_check_output(f);
	fanout_check_hold(f);
}

static void
fanout_run(struct fanout *f)
{
	for (;;) {
		begin_more(f);
		if (f->nsignals > 2 || f->status == EXIT_RUN ||
		    (f->nactive == 0 && (f->is_stopping ||
		    f->next == f->o->n)))
			break;
		fanout_turn(f);
	}
}

/* --- the end --- */

static int
fanout_summary(struct fanout *f)
{
	const size_t	*n = f->results;
	char		 text[256];
	int		 len;

	assert(n[SUCCEEDED] + n[FAILED] + n[NOT_REACHED] <= f->o->n);
	len = snprintf(text, sizeof(text), "execsrvctl: %zu of %zu succeeded, "
	    "%zu failed, %zu did not run to the end, %zu were left out\n",
	    n[SUCCEEDED], f->o->n, n[FAILED], n[NOT_REACHED], f->o->n -
	    n[SUCCEEDED] - n[FAILED] - n[NOT_REACHED]);
	fanout_put(f, true, text, (size_t)len);
	if (f->status != EXIT_OK)
		return f->status;
	if (n[SUCCEEDED] + n[FAILED] < f->o->n)
		return EXIT_NOT_ALL;
	return n[FAILED] > 0 ? EXIT_SOME_FAILED : EXIT_OK;
}

/* Write what is queued, as long as its readers take it, or until a signal. */
static void
fanout_drain(struct fanout *f)
{
	struct pollfd	 fds[3];
	size_t		 i;

	while (fanout_held(f) > 0) {
		fds[2] = (struct pollfd){ .fd = f->signal_fd,
		    .events = POLLIN };
		for (i = 0; i < 2; i++)
			fds[i] = (struct pollfd){ .events = POLLOUT,
			    .fd = outq_held(&f->out[i]) > 0 ? f->out[i].fd :
			    -1 };
		if (poll(fds, 3, -1) == -1 || fds[2].revents != 0)
			break;
		for (i = 0; i < 2; i++)
			if (fds[i].revents != 0)
				outq_on_room(&f->out[i]);
	}
}

static int
fanout_new(struct fanout *f)
{
	size_t	 i, n = f->o->n;

	if ((f->tasks = calloc(n + 1, sizeof(*f->tasks))) == NULL ||
	    (f->fds = calloc(n + FD_TASKS, sizeof(*f->fds))) == NULL ||
	    (f->polled = calloc(n + FD_TASKS, sizeof(*f->polled))) == NULL ||
	    fanout_take_signals(f) == -1)
		return -1;
	for (i = 0; i < n; i++) {
		f->tasks[i].fanout = f;
		f->tasks[i].target = &f->o->targets[i];
		f->tasks[i].code = -1;
		buf_init(&f->tasks[i].lines[0], LINE_MAX_LEN);
		buf_init(&f->tasks[i].lines[1], LINE_MAX_LEN);
	}
	return 0;
}

int
fanout_command(const struct fanout_options *o)
{
	struct fanout	 f = { .o = o, .signal_fd = -1 };
	struct task	*t;
	int		 status = EXIT_RUN;

	assert(o->parallel > 0);
	outq_init(&f.out[0], STDOUT_FILENO);
	outq_init(&f.out[1], STDERR_FILENO);
	if (fanout_new(&f) == 0) {
		fanout_run(&f);
		status = fanout_summary(&f);
		fanout_drain(&f);
	} else {
		perror("execsrvctl");
	}
	for (t = f.tasks; t != NULL && t < f.tasks + f.next; t++)
		if (t->phase != OVER)
			task_end(t);
	outq_fini(&f.out[0]);
	outq_fini(&f.out[1]);
	fd_close(&f.signal_fd);
	free(f.tasks);
	free(f.fds);
	free(f.polled);
	return status;
}
