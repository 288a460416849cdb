/*
 * A command on a server: output is written as it comes, input sent as it is
 * read, both with back-pressure.  Signals are passed on.  A stopped process
 * (^Z) answers no pings: after some 30 s the server takes the client for dead.
 */
#include "master/execsrvctl/run/run.h"

#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "master/execsrvctl/run/ending.h"
#include "master/execsrvctl/run/missed.h"
#include "master/execsrvctl/run/reason.h"
#include "common/outq.h"
#include "master/execsrvctl/term.h"

#define INPUT_CHUNK	(64 * 1024)
#define SIGNALS_MAX	3	/* unanswered, then give up the server */
#define HOLD_ABOVE	(1024 * 1024)	/* bytes of queued output */
#define HOLD_BELOW	(256 * 1024)
#define HOLD_SIGNALLED	(32 * 1024 * 1024)	/* the same after a signal */
#define STUCK_MS	1000	/* for its reader, after the end */
#define LEAVE_MS	1000	/* for a terminate or close to arrive */
#define END_OF_INPUT	"\004"	/* ^D in a terminal */
#define KEY_LEAVE	'\020'	/* ^P ^Q, as docker(1) */
#define KEY_LEAVE_2	'\021'
#define ASK_MS		10000	/* for an answer before it begins */
#define ATTACHED	(-32010) /* error: to another client */
#define FIRST_PROCESS	"p1"	/* the id that libexecsrv chooses */

enum phase {
	STARTING,
	RUNNING,
	EXITED,			/* others may hold its output open */
	CLOSED,
	FAILED			/* nothing more will come */
};

struct run {
	const struct run_options	*o;
	struct execsrv			*x;
	struct execsrv_process		*p;
	const char			*name;	/* for texts */
	char				 id[64];	/* when attached */
	bool				 tty;
	bool				 has_left;	/* detached */
	enum phase			 phase;
	int				 status;	/* to end with */
	bool				 is_status_fixed;
	bool				 may_run;	/* on the server */
	struct outq			 sinks[2];	/* output, error */
	bool				 input_open;
	bool				 is_terminal[3];	/* by fd */
	char				 last_input;
	bool				 key_held;	/* KEY_LEAVE */
	sigset_t			 signals;	/* that are caught */
	struct execsrv_overflow		 missed;
	int				 signal_fd;
	int				 early_signal;
	bool				 early_resize;
	bool				 is_signalled;	/* to end */
	uint64_t			 last_moved;	/* ms: of output */
};

static void	 run_fail(struct run *, const char *, ...) PRINTF(2, 3);

static void
run_warn(const char *text)
{
	term_restore();
	fprintf(stderr, "execsrvctl: %s\n", text);
}

/* Report a reason and end with 125. */
static void
run_fail(struct run *r, const char *fmt, ...)
{
	char	 text[1024];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	reason_cut(text);
	if (r->phase != FAILED)
		run_warn(text);
	r->phase = FAILED;
	r->status = EXIT_RUN;
}

/*
 * Whether the terminal of another client's command hung up, which then runs on
 * without one.  SIGHUP may be ignored, or come later.
 */
static bool
has_hung_up(const struct run *r, int fd)
{
	struct pollfd	 p = { .fd = fd };

	return r->o->session != NULL && r->is_terminal[fd] &&
	    poll(&p, 1, 0) == 1 && (p.revents & POLLHUP) != 0;
}

/* --- what the server says --- */

/* The command was not started. */
static void
fail_start(struct run *r, const struct execsrv_error *e)
{
	char	 text[1024];
	bool	 is_folder = r->o->cwd != NULL &&
		    strstr(e->text, "working directory:") != NULL;
	int	 status = reason_of_start(is_folder ? r->o->cwd : r->name, e,
		    text, sizeof(text));

	run_fail(r, "%s", text);
	r->status = status;
}

static void	 pass_signal(struct run *, int);
static void	 on_resize(struct run *, int);

static void
on_start(struct run *r, const struct execsrv_error *e)
{
	int	 sig = r->early_signal;

	if (e != NULL) {
		r->may_run = false;
		if (r->o->session == NULL)
			fail_start(r, e);
		else
			run_fail(r, "%s: %s", r->name, e->text);
		return;
	}
	if (r->phase == STARTING)
		r->phase = RUNNING;
	r->has_left |= r->o->detach;
	if (r->early_resize)
		on_resize(r, SIGWINCH);
	if (sig != 0) {
		r->early_signal = 0;
		pass_signal(r, sig);
	}
}

/* Input was refused: nobody reads it any more, or it has a hole. */
static void
on_no_input(struct run *r, const struct execsrv_error *e)
{
	r->input_open = false;
	if (e->code != 0 && r->phase == RUNNING)
		run_fail(r, "input: %s", e->text);
}

static void
run_on_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	struct run	*r = arg;

	if (what == EXECSRV_START)
		on_start(r, e);
	else if (e != NULL && (what == EXECSRV_WRITE ||
	    what == EXECSRV_CLOSE_STDIN))
		on_no_input(r, e);
}

static void
run_on_output(void *arg, enum execsrv_stream stream, const void *data,
    size_t len)
{
	struct run	*r = arg;

	/* An attached client will read the output later. */
	if (r->o->detach)
		return;
	if (outq_put(&r->sinks[stream == EXECSRV_STDERR], data, len) == -1)
		run_fail(r, "output: %s", strerror(errno));
}

static void
run_on_exited(void *arg, int exit_code, bool sandbox_denied)
{
	struct run	*r = arg;

	(void)sandbox_denied;
	assert(r->phase != CLOSED);
	r->may_run = false;
	if (r->phase == FAILED)
		return;
	r->phase = EXITED;
	r->input_open = false;
	if (r->is_status_fixed)
		return;
	r->status = exit_code;
	if (exit_code < 0 || exit_code > 255) {
		run_warn("the server does not know how the command ended");
		r->status = EXIT_RUN;
	}
}

static void
run_on_closed(void *arg)
{
	struct run	*r = arg;

	assert(r->phase != CLOSED);
	if (r->may_run)
		run_fail(r, "the server does not tell how the command ended");
	r->last_moved = clock_ms();
	if (r->phase != FAILED)
		r->phase = CLOSED;
}

static void
run_on_lost(void *arg, const struct execsrv_error *e)
{
	run_fail(arg, "%s", e->text);
}

/* --- input --- */

/* An unfinished line needs one ^D to be read, and one more for the end. */
static void
end_terminal(struct run *r)
{
	if (r->last_input != '\n')
		execsrv_process_write(r->p, END_OF_INPUT, 1);
	execsrv_process_write(r->p, END_OF_INPUT, 1);
}

static void
end_input(struct run *r)
{
	r->input_open = false;
	if (r->tty)
		end_terminal(r);
	else if (execsrv_can(r->x, "execsrvProcessCloseStdin"))
		execsrv_process_close_stdin(r->p);
	else
		run_warn("this server cannot tell the command that its "
		    "input ends");
}

/*
 * Find the keys that detach.  Return how much of the input is the command's; a
 * first key at its end waits for the next.
 */
static ssize_t
look_for_keys(struct run *r, const char *data, ssize_t n)
{
	static const char	 key = KEY_LEAVE;
	ssize_t			 i;

	assert(n > 0);
	if (r->key_held && data[0] == KEY_LEAVE_2) {
		r->has_left = true;
		return 0;
	}
	if (r->key_held)
		execsrv_process_write(r->p, &key, 1);
	for (i = 0; i + 1 < n; i++)
		if (data[i] == KEY_LEAVE && data[i + 1] == KEY_LEAVE_2) {
			r->has_left = true;
			return i;
		}
	r->key_held = data[n - 1] == KEY_LEAVE;
	return r->key_held ? n - 1 : n;
}

static void
on_input(struct run *r)
{
	static char	 data[INPUT_CHUNK];
	size_t		 room = execsrv_process_room(r->p);
	ssize_t		 n;

	assert(room > 0 && room <= sizeof(data));
	if ((n = read(STDIN_FILENO, data, room)) == -1) {
		if (errno == EINTR || errno == EAGAIN)
			return;
		/* A terminal that hung up, or a background job: empty input. */
		if (errno != EIO) {
			run_fail(r, "input: %s", strerror(errno));
			return;
		}
		n = 0;
	}
	if (n == 0) {
		if (has_hung_up(r, STDIN_FILENO))
			r->has_left = true;
		else
			end_input(r);
		return;
	}
	r->last_input = data[n - 1];
	if (r->tty && r->o->session != NULL)
		n = look_for_keys(r, data, n);
	if (n > 0)
		execsrv_process_write(r->p, data, (size_t)n);
}

static bool
wants_input(const struct run *r)
{
	return r->input_open && !r->has_left && r->phase == RUNNING &&
	    execsrv_process_room(r->p) > 0;
}

/* --- signals --- */

static void	 run_on_stop(struct run *, int);
static void	 on_continue(struct run *, int);
static void	 run_on_hangup(struct run *, int);

static const struct {
	int		 sig;
	const char	*name;
	void		(*fn)(struct run *, int);
} signals[] = {
	{ SIGCONT,	"SIGCONT",	on_continue },
	{ SIGHUP,	"SIGHUP",	run_on_hangup },
	{ SIGINT,	"SIGINT",	pass_signal },
	{ SIGQUIT,	"SIGQUIT",	pass_signal },
	{ SIGTERM,	"SIGTERM",	pass_signal },
	{ SIGTSTP,	"SIGTSTP",	run_on_stop },
	{ SIGUSR1,	"SIGUSR1",	pass_signal },
	{ SIGUSR2,	"SIGUSR2",	pass_signal },
	{ SIGWINCH,	"SIGWINCH",	on_resize },
};

#define SIGNALS	(sizeof(signals) / sizeof(signals[0]))

/* A server without signal names can interrupt and terminate only. */
static void
send_signal(struct run *r, int sig, const char *name)
{
	if (execsrv_can(r->x, "execsrvProcessSignalName"))
		execsrv_process_signal(r->p, name);
	else if (sig == SIGINT)
		execsrv_process_signal(r->p, "interrupt");
	else if (sig != SIGUSR1 && sig != SIGUSR2)
		execsrv_process_terminate(r->p, 0);
}

static void
pass_signal(struct run *r, int sig)
{
	size_t	 i;

	switch (r->phase) {
	case STARTING:
		if (r->early_signal != 0)
			run_fail(r, "the server does not answer");
		r->early_signal = sig;
		break;
	case RUNNING:
		/* The first may wait for a connection, a second one must
		   not. */
		if (execsrv_process_awaits(r->p, EXECSRV_SIGNAL) >=
		    (execsrv_status(r->x) == EXECSRV_RECOVERING ? 1 :
		    SIGNALS_MAX)) {
			run_fail(r, "the server does not answer");
			break;
		}
		for (i = 0; i < SIGNALS && signals[i].sig != sig; i++)
			;
		assert(i < SIGNALS);
		send_signal(r, sig, signals[i].name);
		r->is_signalled |= sig != SIGUSR1 && sig != SIGUSR2;
		break;
	default:
		/* Only output is awaited: end now. */
		if (sig != SIGUSR1 && sig != SIGUSR2)
			r->phase = FAILED;
		break;
	}
}

/* The terminal hung up: a command of its own session runs on. */
static void
run_on_hangup(struct run *r, int sig)
{
	if (r->o->session != NULL)
		r->has_left = true;
	else
		pass_signal(r, sig);
}

static void
on_resize(struct run *r, int sig)
{
	uint16_t	 rows, cols;

	(void)sig;
	r->early_resize = r->phase == STARTING;
	if (r->tty && r->phase == RUNNING && term_size(&rows, &cols) == 0 &&
	    execsrv_can(r->x, "execsrvProcessResize"))
		execsrv_process_resize(r->p, rows, cols);
}

static void
on_continue(struct run *r, int sig)
{
	(void)sig;
	if (r->tty)
		term_raw(STDIN_FILENO);
}

/*
 * Stop the command, too.  By SIGSTOP: it leads a session of its own, an
 * orphaned process group, which SIGTSTP does not stop.
 */
static void
run_on_stop(struct run *r, int sig)
{
	bool		 by_name = execsrv_can(r->x,
			    "execsrvProcessSignalName");
	sigset_t	 set;

	if (by_name && r->phase == RUNNING)
		execsrv_process_signal(r->p, "SIGSTOP");
	term_restore();
	sigemptyset(&set);
	sigaddset(&set, sig);
	raise(sig);
	sigprocmask(SIG_UNBLOCK, &set, NULL);	/* we stop here */
	sigprocmask(SIG_BLOCK, &set, NULL);
	on_continue(r, sig);
	if (by_name && r->phase == RUNNING)
		execsrv_process_signal(r->p, "SIGCONT");
	on_resize(r, sig);
}

static void
on_signals(struct run *r)
{
	struct signalfd_siginfo	 info;
	size_t			 i;

	while (r->phase != FAILED &&
	    read(r->signal_fd, &info, sizeof(info)) == sizeof(info))
		for (i = 0; i < SIGNALS; i++)
			if (signals[i].sig == (int)info.ssi_signo)
				signals[i].fn(r, signals[i].sig);
}

/* Catch signals, except those that the caller ignores. */
static int
take_signals(struct run *r)
{
	struct sigaction	 sa;
	size_t			 i;

	assert(r->signal_fd == -1);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&r->signals);
	for (i = 0; i < SIGNALS; i++)
		if (sigaction(signals[i].sig, NULL, &sa) == 0 &&
		    sa.sa_handler != SIG_IGN)
			sigaddset(&r->signals, signals[i].sig);
	if (sigprocmask(SIG_BLOCK, &r->signals, NULL) == -1 ||
	    (r->signal_fd = signalfd(-1, &r->signals,
	    SFD_CLOEXEC | SFD_NONBLOCK)) == -1) {
		run_fail(r, "signals: %s", strerror(errno));
		return -1;
	}
	return 0;
}

/* --- the loop --- */

/* Our output is broken: end the command as if it had got SIGPIPE itself. */
static void
check_sinks(struct run *r)
{
	size_t	 i;

	for (i = 0; i < 2; i++) {
		if (r->sinks[i].error == 0 || r->is_status_fixed ||
		    r->has_left)
			continue;
		if (r->sinks[i].error == EIO &&
		    has_hung_up(r, STDOUT_FILENO + (int)i)) {
			r->has_left = true;
			continue;
		}
		r->is_status_fixed = true;
		r->status = 128 + SIGPIPE;
		if (r->sinks[i].error != EPIPE) {
			run_warn(strerror(r->sinks[i].error));
			r->status = EXIT_RUN;
		}
		execsrv_process_terminate(r->p, 0);
	}
}

static size_t
run_held(const struct run *r)
{
	return outq_held(&r->sinks[0]) + outq_held(&r->sinks[1]);
}

/* Held output hides the answer to a signal: read on for it, up to a limit. */
static void
check_hold(struct run *r)
{
	size_t	 n = run_held(r), above = HOLD_ABOVE;

	if (r->is_signalled)
		above = HOLD_SIGNALLED;
	if (n > above)
		execsrv_hold(r->x, true);
	else if (n < HOLD_BELOW || above > HOLD_ABOVE)
		execsrv_hold(r->x, false);
}

/* Return the ms that its reader still has; -1: for ever. */
static int
reader_ms(const struct run *r)
{
	uint64_t	 waited;

	if (!r->is_signalled || r->phase != CLOSED)
		return -1;
	waited = clock_ms() - r->last_moved;
	return waited < STUCK_MS ? (int)(STUCK_MS - waited) : 0;
}

enum { FD_SERVER, FD_SIGNALS, FD_INPUT, FD_SINKS, FDS = FD_SINKS + 2 };

static void
prepare(const struct run *r, struct pollfd fds[FDS])
{
	size_t	 i;

	memset(fds, 0, FDS * sizeof(fds[0]));
	fds[FD_SERVER].events = POLLIN;
	fds[FD_SERVER].fd = r->phase == CLOSED ? -1 : execsrv_fd(r->x);
	fds[FD_SIGNALS].fd = r->signal_fd;
	fds[FD_SIGNALS].events = POLLIN;
	fds[FD_INPUT].fd = wants_input(r) ? STDIN_FILENO : -1;
	fds[FD_INPUT].events = POLLIN;
	for (i = 0; i < 2; i++) {
		fds[FD_SINKS + i].fd = outq_held(&r->sinks[i]) > 0 ?
		    r->sinks[i].fd : -1;
		fds[FD_SINKS + i].events = POLLOUT;
	}
}

static void
run_turn(struct run *r)
{
	struct pollfd	 fds[FDS];
	size_t		 i;

	prepare(r, fds);
	if (poll(fds, FDS, reader_ms(r)) == -1)
		return;
	if (fds[FD_SIGNALS].revents != 0)
		on_signals(r);
	for (i = 0; i < 2; i++)
		if (fds[FD_SINKS + i].revents != 0) {
			outq_on_room(&r->sinks[i]);
			r->last_moved = clock_ms();
		}
	if (fds[FD_INPUT].revents != 0 && wants_input(r))
		on_input(r);
	if (r->phase < CLOSED && fds[FD_SERVER].revents != 0 &&
	    execsrv_dispatch(r->x) == -1 &&
	    r->phase < CLOSED)
		run_fail(r, "%s", execsrv_why(r->x)->text);
	missed_report(r->x, &r->missed);
	check_sinks(r);
	check_hold(r);
}

static bool
is_done(const struct run *r)
{
	return r->phase == FAILED || r->has_left || (r->phase == CLOSED &&
	    (run_held(r) == 0 || reader_ms(r) == 0));
}

/* Terminate what still runs, if the server can be told. */
static void
run_leave(struct run *r)
{
	uint64_t	 deadline = clock_ms() + LEAVE_MS, now;

	assert(r->p != NULL && is_done(r));
	execsrv_hold(r->x, false);
	if (r->may_run && !r->has_left && r->o->session == NULL &&
	    execsrv_process_terminate(r->p, 0) == 0)
		while (execsrv_process_awaits(r->p, EXECSRV_TERMINATE) > 0 &&
		    (now = clock_ms()) < deadline &&
		    execsrv_wait(r->x, (int)(deadline - now)) == 0)
			;
	execsrv_process_free(&r->p);
}

/* Whether the session has something to attach to. */
static bool
run_is_wanted(struct run *r)
{
	struct execsrv_process_list	*list;
	struct execsrv_error		 e;
	bool				 wanted = r->has_left || r->may_run;
	size_t				 i;

	if (r->o->session == NULL)
		return r->has_left;
	/* What may still run is another client's. */
	if (wanted || !execsrv_can(r->x, "execsrvProcessList"))
		return true;
	if ((list = execsrv_process_list_wait(r->x, ASK_MS, &e)) == NULL)
		return true;
	for (i = 0; i < list->nprocesses; i++)
		wanted |= strcmp(list->processes[i].id, r->id) != 0;
	free(list);
	return wanted;
}

/* Nobody will resume the session: end it, with what the command left. */
static void
run_end_session(struct run *r)
{
	struct execsrv_error	 e;

	if (run_is_wanted(r))
		return;
	/* After a failure the server ends it later by itself. */
	if (execsrv_can(r->x, "execsrvSessionClose"))
		execsrv_close_session(r->x, LEAVE_MS, &e);
}

/* --- the beginning --- */

/* Whether input is empty: /dev/null needs no pipe. */
static bool
is_null_device(int fd)
{
	struct stat	 st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) &&
	    st.st_rdev == makedev(1, 3);
}

/* Where to run: as told; here, on this machine; where the server is. */
static const char *
choose_cwd(const struct run *r, char here[PATH_MAX])
{
	if (r->o->cwd != NULL)
		return r->o->cwd;
	if (execsrv_is_local(r->x) && getcwd(here, PATH_MAX) != NULL)
		return here;
	return execsrv_cwd(r->x) != NULL ? execsrv_cwd(r->x) : "/";
}

static const struct execsrv_hooks	 hooks = {
	.on_answer = run_on_answer, .on_output = run_on_output,
	.on_exited = run_on_exited, .on_closed = run_on_closed,
	.on_lost = run_on_lost,
};

/* Find the user's shell on any server. */
static void
choose_shell(struct run *r, char shell[PATH_MAX])
{
	struct execsrv_environment	*env;
	struct execsrv_error		 e;

	snprintf(shell, PATH_MAX, "/bin/sh");
	env = execsrv_environment_info_wait(r->x, ASK_MS, &e);
	if (env != NULL && env->shell != NULL && env->shell[0] == '/')
		snprintf(shell, PATH_MAX, "%s", env->shell);
	free(env);
}

/* Ask to retain the session for as long as the server allows. */
static void
retain(struct run *r)
{
	static const struct execsrv_retain	 most = {
		.ttl_ms = UINT64_MAX
	};
	struct execsrv_retain			*got = NULL;
	struct execsrv_error			 e;

	if (execsrv_can(r->x, "execsrvSessionRetain"))
		got = execsrv_session_retain_wait(r->x, &most, ASK_MS, &e);
	if (got == NULL)
		run_warn("the server keeps the session for a short time only");
	free(got);
}

static int
run_start(struct run *r)
{
	struct execsrv_start	 s = { .inherit = true };
	char			 here[PATH_MAX], shell[PATH_MAX];
	const char		*login[] = { shell, "-l", NULL };

	s.argv = r->o->argv;
	if (s.argv == NULL) {
		choose_shell(r, shell);
		s.argv = login;
	}
	if (r->o->detach)
		retain(r);
	r->name = s.argv[0];
	s.preset = r->o->sandbox;
	s.allow_domains = r->o->allow_domains;
	s.env = r->o->env;
	s.tty = r->tty;
	s.cwd = choose_cwd(r, here);
	s.pipe_stdin = !s.tty && !r->o->detach &&
	    !is_null_device(STDIN_FILENO);
	if (s.tty)
		(void)term_size(&s.rows, &s.cols);
	r->input_open = s.tty || s.pipe_stdin;
	r->last_input = '\n';
	if ((r->p = execsrv_process_start(r->x, &s, &hooks, r)) != NULL) {
		r->may_run = true;
		return 0;
	}
	if (errno == EPIPE)
		run_fail(r, "%s", execsrv_why(r->x)->text);
	else if (errno == EILSEQ)
		run_fail(r, "the command or its environment is not UTF-8");
	else if (s.cwd[0] != '/')
		run_fail(r, "%s: not an absolute path", s.cwd);
	else
		run_fail(r, "%s: %s", r->name, strerror(errno));
	return -1;
}

/* --- another client's command --- */

static int
set_process(struct run *r, const char *id)
{
	if (strlen(id) >= sizeof(r->id)) {
		run_fail(r, "%s: name too long", id);
		return -1;
	}
	memcpy(r->id, id, strlen(id) + 1);
	return 0;
}

/* Find the process to attach to: the one that is named, or the only one. */
static int
choose_process(struct run *r, const struct execsrv_process_list *list)
{
	const struct execsrv_process_info	*info, *found = NULL;

	for (info = list->processes;
	    info < list->processes + list->nprocesses; info++)
		if (r->o->process == NULL ?
		    list->nprocesses == 1 :
		    strcmp(info->id, r->o->process) == 0)
			found = info;
	if (found == NULL && r->o->process != NULL)
		run_fail(r, "%s: no such process in that session",
		    r->o->process);
	else if (found == NULL && list->nprocesses == 0)
		run_fail(r, "%s: has no process", r->o->session);
	else if (found == NULL)
		run_fail(r, "%s: has %zu processes; name one of them: %s/%s",
		    r->o->session, list->nprocesses, r->o->session,
		    list->processes[0].id);
	if (found == NULL || set_process(r, found->id) == -1)
		return -1;
	r->tty = found->tty;
	return 0;
}

static int
find_process(struct run *r)
{
	struct execsrv_process_list	*list;
	struct execsrv_error		 e;
	int				 chosen;

	/* The stock server has no process/list. */
	if (!execsrv_can(r->x, "execsrvProcessList"))
		return set_process(r, r->o->process != NULL ? r->o->process :
		    FIRST_PROCESS);
	list = execsrv_process_list_wait(r->x, ASK_MS, &e);
	if (list == NULL) {
		run_fail(r, "%s: %s", r->o->session, e.text);
		return -1;
	}
	chosen = choose_process(r, list);
	free(list);
	return chosen;
}

static int
attach(struct run *r)
{
	if (find_process(r) == -1)
		return -1;
	r->name = r->id;
	r->may_run = r->input_open = r->early_resize = true;
	r->last_input = '\n';
	if ((r->p = execsrv_process_attach(r->x, r->id, &hooks, r)) != NULL)
		return 0;
	run_fail(r, "%s: %s", r->id, strerror(errno));
	return -1;
}

static int
run_begin(struct run *r)
{
	int	 fd;

	assert(r->phase == STARTING && r->p == NULL);
	r->tty = r->o->tty;
	for (fd = 0; fd < 3; fd++)
		r->is_terminal[fd] = isatty(fd) == 1;
	if (take_signals(r) == -1)
		return -1;
	return r->o->session != NULL ? attach(r) : run_start(r);
}

/* Detached: print the session's id, or how to attach again. */
static void
report_left(struct run *r)
{
	const char	*id = execsrv_session(r->x);

	term_restore();
	if (r->o->session != NULL)
		fprintf(stderr, "\nexecsrvctl: detached; \"attach %s\" again\n",
		    r->o->session);
	else if (id == NULL)
		run_fail(r, "the session's id is too long");
	else if (puts(id) == EOF || fflush(stdout) == EOF)
		run_fail(r, "output: %s", strerror(errno));
}

int
run_command(const struct run_options *o)
{
	struct run		 r = { .o = o, .signal_fd = -1 };
	struct execsrv_options	 how = o->how;
	struct execsrv_error	 e;

	how.resume_session = o->session;
	if ((r.x = execsrv_open(o->url, &how, &e)) == NULL) {
		run_warn(e.text);
		if (e.code == ATTACHED)
			run_warn("\"attach --take\" takes it from its client, "
			    "\"tail -f\" shows its output");
		return EXIT_RUN;
	}
	if (execsrv_fd(r.x) == -1) {
		run_warn(strerror(errno));
		execsrv_close(&r.x);
		return EXIT_RUN;
	}
	execsrv_on_note(r.x, ending_on_note, NULL);
	outq_init(&r.sinks[0], STDOUT_FILENO);
	outq_init(&r.sinks[1], STDERR_FILENO);
	if (run_begin(&r) == 0) {
		if (r.tty && !o->detach)
			term_raw(STDIN_FILENO);
		while (!is_done(&r))
			run_turn(&r);
		if (r.has_left)
			report_left(&r);
		else if (r.phase == FAILED && r.may_run)
			ending_hint(r.x, o->url);
		run_leave(&r);
	}
	run_end_session(&r);
	execsrv_close(&r.x);
	term_restore();
	outq_fini(&r.sinks[0]);
	outq_fini(&r.sinks[1]);
	fd_close(&r.signal_fd);
	return r.status;
}
