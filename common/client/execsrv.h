/*
 * libexecsrv: a client of an exec server.  One struct execsrv is one
 * connection and its session.
 *
 * Everything happens inside the calls: no threads, no globals, no signals,
 * nothing is printed.  A connection and all that belongs to it may be used by
 * one thread at a time; different connections have nothing in common.
 *
 * What the server sends arrives as hooks, called from execsrv_dispatch(),
 * execsrv_wait() and the calls that wait for an answer (those with a
 * timeout_ms), and from nowhere else.  Inside a hook all calls are allowed but
 * these, execsrv_close() and execsrv_process_free().
 *
 * A connection that is lost is made anew, and its session resumed
 * (recover_ms): meanwhile calls wait, afterwards processes go on without a
 * byte lost or twice.  What was on its way and not answered: input is sent
 * again, which the server knows by its number; other requests that change
 * something end with an error, since nobody knows whether they were done; a
 * process whose start was not answered is ended.
 *
 * What failed stays failed: every call then returns -1, and execsrv_why() says
 * what happened.  Nothing a server sends does worse.
 *
 * Three ways to drive it:
 *	blocking: execsrv_wait() in a loop, or calls that wait;
 *	any poll loop: execsrv_fd() for reading, then execsrv_dispatch();
 *	libevent: the same,
 *		event_new(base, execsrv_fd(x), EV_READ | EV_PERSIST, cb, x)
 *	where cb calls execsrv_dispatch().
 *
 * Texts are NUL-terminated UTF-8.  Structs that the caller fills belong to
 * the caller and are not looked at after the call; set all members that are
 * not used to 0, as initializers with names do.
 */
#ifndef EXECSRV_H
#define EXECSRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is declared here, and nothing else, is exported. */
#pragma GCC visibility push(default)

struct execsrv;
struct execsrv_process;

struct execsrv_error {
	int64_t	 code;		/* of a JSON-RPC error; 0: something else */
	char	 text[512];	/* one printable line, whoever wrote it */
};

/*
 * Make a text one printable line, in place: control characters, those that
 * change the direction of writing and what is not UTF-8 become '?'.  The
 * number of characters left.
 */
size_t		 execsrv_printable(char *text);

/* --- connections --- */

#define EXECSRV_FOREVER	(-1)		/* for members and arguments in ms */

struct execsrv_options {
	const char	*client_name;	/* NULL: "libexecsrv" */
	/*
	 * Sent as "Authorization: Bearer", by TCP without encryption; NULL:
	 * none.  The copy that is kept for another connection is in locked
	 * memory and wiped; no error text has it.
	 */
	const char	*bearer_token;
	int		 connect_ms;	/* to connect and upgrade; 0: 10 s */
	int		 initialize_ms;	/* to open the session; 0: 10 s */
	/*
	 * How long to try for another connection when one is lost; 0: 25 s,
	 * below 0: not at all.  A server that answers, but does not let us in
	 * or knows no such session, is not asked again.
	 */
	int		 recover_ms;
};

/*
 * Connect to ws://IP:PORT (numeric, or localhost; a path and query may follow)
 * or unix:PATH, upgrade, and open a new session.  o may be NULL.  Waits at most
 * as long as connect_ms and initialize_ms say.  The caller's, for
 * execsrv_close(); NULL with the reason in e.
 */
struct execsrv	*execsrv_open(const char *url, const struct execsrv_options *o,
		    struct execsrv_error *e);

/*
 * Ask the server to end the session: what still runs in it is told to end and
 * then killed, and nobody can resume it.  Only for servers that announce the
 * capability execsrvSessionClose; sessions of others, and those just left with
 * execsrv_close(), end when the server gives up waiting for a resume.  Waits
 * for the answer and the server's goodbye, at most timeout_ms, held or not;
 * events may come meanwhile.  execsrv_close() should follow: nothing else can
 * be asked any more.  0: it was answered; -1 with the reason in e: the server's
 * error, its silence, a failed connection.
 */
int		 execsrv_close_session(struct execsrv *x, int timeout_ms,
		    struct execsrv_error *e);

/*
 * Say goodbye, close, free all that belongs to it and forget the pointer.
 * Requests that were not answered never will be.  Waits a moment for what was
 * sent, never for an answer.  *xp may be NULL.
 */
void		 execsrv_close(struct execsrv **xp);

enum execsrv_status {
	EXECSRV_CONNECTED,
	EXECSRV_RECOVERING,	/* there is no connection at the moment */
	EXECSRV_FAILED		/* for good: execsrv_why() */
};

enum execsrv_status execsrv_status(const struct execsrv *x);

/* Why it failed; an empty text when it has not.  x's. */
const struct execsrv_error *execsrv_why(const struct execsrv *x);

/* --- the loop --- */

/*
 * The descriptor for poll(2), epoll(7), select(2) or libevent: when it is
 * readable, call execsrv_dispatch().  The same one as long as x lives, which
 * owns it; nothing else may be done with it.  -1 with errno (EMFILE, ENFILE,
 * ENOMEM): it cannot be made, and may be asked for again.
 */
int		 execsrv_fd(struct execsrv *x);

/*
 * Read, write and call hooks; never blocks.  0, or -1: it failed, and the
 * descriptor is readable from now on: leave it out.
 */
int		 execsrv_dispatch(struct execsrv *x)
		    __attribute__((warn_unused_result));

/*
 * Wait for something to happen, at most timeout_ms (EXECSRV_FOREVER), and
 * handle it.  0, also when time is up or a signal came, or -1: it failed.
 */
int		 execsrv_wait(struct execsrv *x, int timeout_ms)
		    __attribute__((warn_unused_result));

/*
 * While held nothing more is read, so that a server with much to say waits;
 * a little that was read already may still arrive.
 */
void		 execsrv_hold(struct execsrv *x, bool hold);

/* --- what the server told about itself --- */

/* Whether it announced a capability. */
bool		 execsrv_can(const struct execsrv *x, const char *name);

/* Whether it is on this machine. */
bool		 execsrv_is_local(const struct execsrv *x);

/* The folder it was started in, or NULL. */
const char	*execsrv_cwd(const struct execsrv *x);

/* --- any method --- */

/*
 * Send a request that this library may not know.  params: a JSON object or
 * array of len bytes, or NULL for none.  fn (may be NULL) is called once with
 * the result as JSON, which is valid during the call, or with an error and
 * neither.  0, or -1 with errno: EINVAL (no such JSON), EFBIG (more than 64 MiB,
 * which nobody would take), EPIPE: the connection failed.  Sent is sent later
 * when the server is slow; more than 128 MiB that wait for it are too much, and
 * the connection has failed.
 */
typedef void execsrv_json_fn(void *arg, const char *result, size_t len,
	    const struct execsrv_error *e);

int		 execsrv_call_json(struct execsrv *x, const char *method,
		    const char *params, size_t len, execsrv_json_fn *fn,
		    void *arg) __attribute__((warn_unused_result));

/*
 * Notifications that nothing here knows.  params: JSON, or NULL and 0; valid
 * during the call.
 */
typedef void execsrv_note_fn(void *arg, const char *method,
	    const char *params, size_t len);

void		 execsrv_on_note(struct execsrv *x, execsrv_note_fn *fn,
		    void *arg);

/* --- processes --- */

enum execsrv_stream { EXECSRV_STDOUT, EXECSRV_STDERR, EXECSRV_PTY };

/* What was asked of a process, for the hook that hears of the answer. */
enum execsrv_request {
	EXECSRV_START,
	EXECSRV_WRITE,
	EXECSRV_CLOSE_STDIN,
	EXECSRV_SIGNAL,
	EXECSRV_TERMINATE,
	EXECSRV_RESIZE
};

/*
 * Hooks of a process, each may be NULL.  Output, exit and close come in the
 * order of their numbers, whatever the order they arrived in; on_closed is the
 * last.  They may come before the answer to EXECSRV_START.
 */
struct execsrv_hooks {
	/* An answer; e is NULL if it was done.  Input that the process does
	   not take is an error with code 0. */
	void	(*on_answer)(void *arg, enum execsrv_request what,
		    const struct execsrv_error *e);
	void	(*on_output)(void *arg, enum execsrv_stream stream,
		    const void *data, size_t len);
	void	(*on_exited)(void *arg, int exit_code);
	void	(*on_closed)(void *arg);
	/* After a recovery: what it said meanwhile is not to be had any more.
	   The last, too. */
	void	(*on_lost)(void *arg, const struct execsrv_error *e);
};

struct execsrv_start {
	const char *const	*argv;		/* ended by NULL */
	const char *const	*env;		/* NAME=VALUE, ended by NULL */
	bool			 inherit;	/* the server's variables too */
	const char		*cwd;		/* absolute */
	bool			 tty;
	bool			 pipe_stdin;
	uint16_t		 rows, cols;	/* 0: the server's choice */
};

/*
 * Ask for a process; whether it runs on_answer will tell.  NULL with errno:
 * EILSEQ (text that is not UTF-8), EINVAL (argv is empty, cwd is not absolute,
 * a variable without name), EFBIG, ENOMEM, EPIPE (the connection failed).
 */
struct execsrv_process *execsrv_process_start(struct execsrv *x,
		    const struct execsrv_start *s,
		    const struct execsrv_hooks *hooks, void *arg)
		    __attribute__((warn_unused_result));

/* Forget it: no more hooks.  It goes on until its session ends. */
void		 execsrv_process_free(struct execsrv_process **pp);

/*
 * Requests.  0: sent, on_answer follows; -1: the connection failed.  Input is
 * sent in chunks of at most 64 KiB, an answer for each.
 */
int		 execsrv_process_write(struct execsrv_process *p,
		    const void *data, size_t len);
int		 execsrv_process_close_stdin(struct execsrv_process *p);
int		 execsrv_process_signal(struct execsrv_process *p,
		    const char *name);
int		 execsrv_process_terminate(struct execsrv_process *p);
int		 execsrv_process_resize(struct execsrv_process *p,
		    uint16_t rows, uint16_t cols);

/* How many requests of a kind are not answered yet. */
unsigned	 execsrv_process_awaits(const struct execsrv_process *p,
		    enum execsrv_request what);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
