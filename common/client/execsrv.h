/*
 * libexecsrv: a client of an exec server.  One struct execsrv is one
 * connection and its session.
 *
 * Everything happens inside the calls: no threads, no globals, no signals,
 * nothing is printed.  What the server sends arrives as hooks, called from
 * execsrv_poll(), execsrv_handle(), execsrv_ask() and execsrv_close_session().
 * Inside a hook all calls are allowed but these four, execsrv_close() and
 * execsrv_process_free().
 *
 * A connection that is lost is made anew, and its session resumed
 * (execsrv_set_patience()): meanwhile calls wait, afterwards processes go on
 * without a byte lost or twice.  What was on its way and not answered: input
 * is sent again, which the server knows by its number; other requests end with
 * an error, since nobody knows whether they were done; a process whose start
 * was not answered is ended.
 *
 * What failed stays failed: every call then returns -1, and execsrv_why() says
 * what happened.  Nothing a server sends does worse.
 *
 * In a loop of one's own:
 *	pfd.events = execsrv_events(x);
 *	pfd.fd = pfd.events == 0 ? -1 : execsrv_fd(x);
 *	poll(&pfd, 1, execsrv_wait_ms(x));
 *	execsrv_handle(x, pfd.revents);
 */
#ifndef COMMON_CLIENT_EXECSRV_H
#define COMMON_CLIENT_EXECSRV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json.h"

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

/*
 * Connect to ws://IP:PORT (numeric, or localhost; a path and query may follow)
 * or unix:PATH, upgrade, and open a new session under the name of the client.
 * Takes at most 10 s.  NULL with the reason in e.
 */
struct execsrv	*execsrv_open(const char *url, const char *name,
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
 * Say goodbye, close, free the processes and forget the pointer.  Waits a
 * moment for what was sent, never for an answer.  *xp may be NULL.
 */
void		 execsrv_close(struct execsrv **xp);

/*
 * How long to try for another connection, ms (25 s unless said); 0: not at all.
 * A server that answers, but does not let us in or knows no such session, is
 * not asked again.
 */
void		 execsrv_set_patience(struct execsrv *x, int ms);

/* Whether there is no connection at the moment. */
bool		 execsrv_is_recovering(const struct execsrv *x);

/* Why it failed; an empty text when it has not. */
const struct execsrv_error *execsrv_why(const struct execsrv *x);

/*
 * The socket, non-blocking; for poll(2) only.  Another one after a recovery, -1
 * between two.
 */
int		 execsrv_fd(const struct execsrv *x);

/* What to poll(2) for now; 0: the socket is best left out. */
short		 execsrv_events(const struct execsrv *x);

/* Milliseconds until execsrv_handle() wants to be called anyway, or -1. */
int		 execsrv_wait_ms(const struct execsrv *x);

/* Read, write and call hooks, as poll(2) said.  0, or -1: it failed. */
int		 execsrv_handle(struct execsrv *x, short revents)
		    __attribute__((warn_unused_result));

/*
 * Wait for something to happen, at most timeout_ms (-1: for ever), and handle
 * it.  0, also when a signal came, or -1: it failed.
 */
int		 execsrv_poll(struct execsrv *x, int timeout_ms)
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

/* --- calls --- */

/* An answer; valid during the call of its hook. */
struct execsrv_answer {
	const struct json		*json;
	uint32_t			 result;	/* token, unless: */
	const struct execsrv_error	*error;		/* or NULL */
};

typedef void execsrv_answer_fn(void *arg, const struct execsrv_answer *a);

/*
 * Send a request.  params: its JSON, or NULL for none.  fn (may be NULL) is
 * called with the answer.  0, or -1: the connection failed; a message that
 * nobody would take (more than 64 MiB) is EFBIG and harms nothing.  Sent is
 * sent later when the server is slow; more than 128 MiB that wait for it
 * are too much, and the connection has failed.
 */
int		 execsrv_call(struct execsrv *x, const char *method,
		    const char *params, size_t len, execsrv_answer_fn *fn,
		    void *arg) __attribute__((warn_unused_result));

/*
 * The same, waiting for the answer.  0: fn was called; -1 with the reason in
 * e: the server's error, its silence for timeout_ms, a failed connection.
 * Not while held: the answer would not be read.
 */
int		 execsrv_ask(struct execsrv *x, const char *method,
		    const char *params, size_t len, int timeout_ms,
		    execsrv_answer_fn *fn, void *arg, struct execsrv_error *e)
		    __attribute__((warn_unused_result));

/* Notifications that do not belong to a process.  params: token, or 0. */
typedef void execsrv_note_fn(void *arg, const char *method,
	    const struct json *json, uint32_t params);
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

#endif
