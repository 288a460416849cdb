/*
 * What tests of master/execsrvctl/run/run.c share: a server that takes a step
 * each time that it is listened to.
 */
#pragma once

#include <sys/eventfd.h>
#include <sys/ioctl.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/run/ending.h"
#include "master/execsrvctl/run/missed.h"
#include "master/execsrvctl/run/run.h"
#include "master/execsrvctl/term.h"
#include "t/unit/did_help.h"
#include "t/unit/said_help.h"

#define X		((struct execsrv *)8)
#define P		((struct execsrv_process *)16)

typedef void step_fn(void);

static struct run_options	 o;
static step_fn *const		*step;
static const struct execsrv_hooks *hooks;
static void			*arg;
static const char		*cannot;	/* a capability that lacks */
static struct execsrv_error	 open_error, why;
static bool			 is_open, is_broken, is_held;
static int			 ready, start_error, wait_result;
static size_t			 room;
static unsigned			 awaited;
static enum execsrv_status	 state;
static struct execsrv_process_list *list;	/* malloc'd; or NULL */
static struct execsrv_environment *environment;	/* the same */
static bool			 is_retained, is_local, is_raw;
static unsigned			 nmissed, nturns;
static const char		*folder, *session;
static int			 input[2], output[2], error[2];

/* --- in the place of the client --- */

struct execsrv *
execsrv_open(const char *url, const struct execsrv_options *how,
    struct execsrv_error *e)
{
	did("open %s %s%s%s", url, how->client_name,
	    how->resume_session != NULL ? " resume " : "",
	    how->resume_session != NULL ? how->resume_session : "");
	*e = open_error;
	return is_open ? X : NULL;
}

void
execsrv_close(struct execsrv **xp)
{
	ck_assert_ptr_eq(*xp, X);
	did("close");
	*xp = NULL;
}

int
execsrv_fd(struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	errno = EMFILE;
	return ready;
}

int
execsrv_dispatch(struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	ck_assert_ptr_nonnull(*step);
	ck_assert_uint_eq(nmissed, nturns++);	/* once in each */
	(*step++)();
	return is_broken ? -1 : 0;
}

int
execsrv_wait(struct execsrv *x, int ms)
{
	ck_assert_ptr_eq(x, X);
	ck_assert(ms > 900 && ms <= 1000);
	did("wait");
	awaited--;
	return wait_result;
}

const struct execsrv_error *
execsrv_why(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	return &why;
}

enum execsrv_status
execsrv_status(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	return state;
}

bool
execsrv_can(const struct execsrv *x, const char *name)
{
	ck_assert_ptr_eq(x, X);
	return strcmp(name, cannot) != 0;
}

bool
execsrv_is_local(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	return is_local;
}

const char *
execsrv_cwd(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	return folder;
}

const char *
execsrv_session(const struct execsrv *x)
{
	ck_assert_ptr_eq(x, X);
	return session;
}

void
execsrv_hold(struct execsrv *x, bool hold)
{
	ck_assert_ptr_eq(x, X);
	if (hold != is_held)
		did(hold ? "hold" : "go on");
	is_held = hold;
}

void
execsrv_on_note(struct execsrv *x, execsrv_note_fn *fn, void *of)
{
	ck_assert(x == X && fn == ending_on_note && of == NULL);
}

int
execsrv_close_session(struct execsrv *x, int ms, struct execsrv_error *e)
{
	ck_assert(x == X && e != NULL);
	did("end session %d", ms);
	return -1;
}

struct execsrv_environment *
execsrv_environment_info_wait(struct execsrv *x, int ms,
    struct execsrv_error *e)
{
	ck_assert(x == X && e != NULL);
	did("shell? %d", ms);
	return environment;
}

struct execsrv_retain *
execsrv_session_retain_wait(struct execsrv *x, const struct execsrv_retain *in,
    int ms, struct execsrv_error *e)
{
	ck_assert(x == X && e != NULL && in->ttl_ms == UINT64_MAX);
	did("retain %d", ms);
	return is_retained ? calloc(1, sizeof(struct execsrv_retain)) : NULL;
}

struct execsrv_process_list *
execsrv_process_list_wait(struct execsrv *x, int ms, struct execsrv_error *e)
{
	struct execsrv_process_list	*l = list;

	ck_assert_ptr_eq(x, X);
	did("list %d", ms);
	strcpy(e->text, "no list");
	if (l == NULL)
		return NULL;
	ck_assert_ptr_nonnull(l = malloc(sizeof(*l)));
	*l = *list;
	return l;
}

static struct execsrv_process *
begun(const struct execsrv_hooks *of, void *of_arg)
{
	hooks = of;
	arg = of_arg;
	errno = start_error;
	return start_error == 0 ? P : NULL;
}

struct execsrv_process *
execsrv_process_start(struct execsrv *x, const struct execsrv_start *s,
    const struct execsrv_hooks *of, void *of_arg)
{
	size_t	 i;

	ck_assert(x == X && s->inherit && s->env == o.env &&
	    s->allow_domains == o.allow_domains);
	did("start in %s sandbox %d%s%s %ux%u", s->cwd, (int)s->preset,
	    s->tty ? " tty" : "", s->pipe_stdin ? " input" : "", s->rows,
	    s->cols);
	for (i = 0; s->argv[i] != NULL; i++)
		did("%s", s->argv[i]);
	return begun(of, of_arg);
}

struct execsrv_process *
execsrv_process_attach(struct execsrv *x, const char *id,
    const struct execsrv_hooks *of, void *of_arg)
{
	ck_assert_ptr_eq(x, X);
	did("attach %.10s", id);
	return begun(of, of_arg);
}

void
execsrv_process_free(struct execsrv_process **pp)
{
	ck_assert_ptr_eq(*pp, P);
	*pp = NULL;
	did("free");
}

int
execsrv_process_write(struct execsrv_process *p, const void *data, size_t len)
{
	const char	*text = data;

	ck_assert_ptr_eq(p, P);
	if (len == 1 && text[0] < ' ')
		did("write ^%c", text[0] + '@');
	else
		did("write %.*s", (int)len, text);
	return 0;
}

int
execsrv_process_close_stdin(struct execsrv_process *p)
{
	ck_assert_ptr_eq(p, P);
	did("end input");
	return 0;
}

int
execsrv_process_signal(struct execsrv_process *p, const char *name)
{
	ck_assert_ptr_eq(p, P);
	did("signal %s", name);
	return 0;
}

int
execsrv_process_terminate(struct execsrv_process *p, unsigned grace)
{
	ck_assert(p == P && grace == 0);
	did("terminate");
	return 0;
}

int
execsrv_process_resize(struct execsrv_process *p, uint16_t rows, uint16_t cols)
{
	ck_assert_ptr_eq(p, P);
	did("size %ux%u", rows, cols);
	return 0;
}

size_t
execsrv_process_room(const struct execsrv_process *p)
{
	ck_assert_ptr_eq(p, P);
	return room;
}

unsigned
execsrv_process_awaits(const struct execsrv_process *p,
    enum execsrv_request what)
{
	ck_assert_ptr_eq(p, P);
	ck_assert(what == EXECSRV_SIGNAL || what == EXECSRV_TERMINATE);
	return awaited;
}

/* --- of the house --- */

void
ending_on_note(void *of, const char *method, const char *params, size_t len)
{
	(void)of;
	(void)method;
	(void)params;
	(void)len;
}

void
ending_hint(const struct execsrv *x, const char *url)
{
	ck_assert_ptr_eq(x, X);
	did("hint %s", url);
}

void
missed_report(const struct execsrv *x, struct execsrv_overflow *said)
{
	ck_assert(x == X && said != NULL);
	nmissed++;
}

void
term_raw(int fd)
{
	did("raw %d", fd);
	is_raw = true;
}

void
term_restore(void)
{
	is_raw = false;
}

int
term_size(uint16_t *rows, uint16_t *cols)
{
	*rows = 24;
	*cols = 80;
	return 0;
}

/* --- steps of the server --- */

static void
started(void)
{
	hooks->on_answer(arg, EXECSRV_START, NULL);
}

static void
exited(void)
{
	hooks->on_exited(arg, 3, false);
}

static void
closed(void)
{
	hooks->on_closed(arg);
}

static void
nothing(void)
{
}

static void
both(void)
{
	hooks->on_output(arg, EXECSRV_STDOUT, "out", 3);
	hooks->on_output(arg, EXECSRV_STDERR, "err", 3);
	hooks->on_output(arg, EXECSRV_PTY, "pty", 3);
}

static void
lost(void)
{
	struct execsrv_error	 e = { .text = "it is lost (os error 5)" };

	hooks->on_lost(arg, &e);
	hooks->on_lost(arg, &e);
}

static void
refused(void)
{
	hooks->on_answer(arg, EXECSRV_START, &why);
}

/* --- a run --- */

static void
pair(int fd[2], int there)
{
	int	 end;

	ck_assert_int_eq(pipe(fd), 0);
	end = there == STDIN_FILENO ? 0 : 1;
	ck_assert_int_eq(dup2(fd[end], there), there);
	ck_assert_int_eq(close(fd[end]), 0);
	fd[end] = there;
}

static void
setup(void)
{
	static const char *const	 argv[] = { "c", "-x", NULL };

	memset(&o, 0, sizeof(o));
	o.url = "U";
	o.how.client_name = "me";
	o.argv = argv;
	o.cwd = "/w";
	memset(&open_error, 0, sizeof(open_error));
	memset(&why, 0, sizeof(why));
	cannot = "";
	is_open = is_retained = true;
	is_broken = is_held = is_local = false;
	start_error = wait_result = 0;
	room = 64 * 1024;
	awaited = 0;
	state = EXECSRV_CONNECTED;
	list = NULL;
	environment = NULL;
	folder = NULL;
	session = "s";
	ck_assert_int_ne(ready = eventfd(1, EFD_NONBLOCK), -1);
	did_forget();
	said_begin();
	pair(input, STDIN_FILENO);
	pair(output, STDOUT_FILENO);
	pair(error, STDERR_FILENO);
}

#define RUN(...)	run_with((step_fn *const []){ __VA_ARGS__, NULL })

static int
run_with(step_fn *const *steps)
{
	int	 status;

	step = steps;
	nmissed = nturns = 0;
	status = run_command(&o);
	ck_assert(!is_raw);
	return status;
}

static void
put(const char *text)
{
	ck_assert_int_eq(write(input[1], text, strlen(text)), strlen(text));
}

/* What came of both, so far. */
static void
ck_read(const char *out, const char *err)
{
	char	 text[100];
	int	 n = 0;

	ck_assert_int_eq(ioctl(output[0], FIONREAD, &n), 0);
	ck_assert_uint_lt((size_t)n, sizeof(text));
	ck_assert_int_eq(n > 0 ? read(output[0], text, (size_t)n) : 0, n);
	text[n] = '\0';
	ck_assert_str_eq(text, out);
	ck_assert_int_eq(ioctl(error[0], FIONREAD, &n), 0);
	ck_assert_uint_lt((size_t)n, sizeof(text));
	ck_assert_int_eq(n > 0 ? read(error[0], text, (size_t)n) : 0, n);
	text[n] = '\0';
	ck_assert_str_eq(text, err);
}
