/* What the files of libexecsrv share. */
#ifndef COMMON_CLIENT_CLIENT_PRIV_H
#define COMMON_CLIENT_CLIENT_PRIV_H

#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>

#include "common/buf.h"
#include "common/client/error.h"
#include "common/client/execsrv.h"
#include "common/client/launch.h"
#include "common/json/json.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "common/net/endpoint.h"
#include "common/net/ws.h"

/* --- url.c (pure) --- */

struct execsrv_address {
	union endpoint_address	 addr;
	socklen_t		 len;
	bool			 is_local;
	bool			 is_name;	/* "localhost": try IPv6, too */
	char			 host[80];	/* the Host line, with port */
	char			 path[512];	/* path and query */
};

/* The address that a URL names.  0, or -1 with the reason in e. */
int	 execsrv_address_parse(const char *text, struct execsrv_address *a,
	    struct execsrv_error *e) __attribute__((warn_unused_result));

/* --- upgrade.c (pure) --- */

#define EXECSRV_KEY_LEN		24	/* Sec-WebSocket-Key, with no NUL */
#define EXECSRV_HEAD_MAX	8192	/* of the answer */

#define EXECSRV_TOKEN_MAX	4096
#define EXECSRV_REQUEST_MAX	(1024 + EXECSRV_TOKEN_MAX)

/*
 * The request to upgrade, with a bearer token or NULL; its length, always less
 * than size.
 */
size_t	 execsrv_upgrade_request(const struct execsrv_address *u,
	    const char *key, const char *token, char *out, size_t size);

/*
 * Judge the answer, a head of len bytes with its empty line.  0, or -1 with the
 * reason in e.
 */
int	 execsrv_upgrade_judge(const char *head, size_t len, const char *key,
	    struct execsrv_error *e) __attribute__((warn_unused_result));

/* --- conn.c: bytes and frames --- */

/*
 * The first connection and all later ones go through
 *	WAITING		for the time of the next attempt
 *	CONNECTING	connect(2) is under way
 *	UPGRADING	its answer is awaited
 *	INITIALIZING	the session was asked for
 *	CATCHING_UP	what processes said meanwhile is asked for
 * to OPEN.  One that is lost does so again and again until its time is up,
 * the first is tried once: GONE.
 */
enum execsrv_state {
	EXECSRV_WAITING,
	EXECSRV_CONNECTING,
	EXECSRV_UPGRADING,
	EXECSRV_INITIALIZING,
	EXECSRV_CATCHING_UP,
	EXECSRV_OPEN,
	EXECSRV_GONE
};

/* An answer; valid during the call of its hook. */
struct execsrv_answer {
	const struct json		*json;
	uint32_t			 result;	/* token, unless: */
	const struct execsrv_error	*error;		/* or NULL */
};

typedef void execsrv_answer_fn(void *arg, const struct execsrv_answer *a);

struct execsrv_call {
	TAILQ_ENTRY(execsrv_call)	 entry;
	uint64_t			 id;
	char				*text;		/* or NULL: not kept */
	size_t				 len;
	bool				 is_sent;
	bool				 is_safe;	/* to be sent twice */
	bool				 is_ours;	/* of the recovery */
	execsrv_answer_fn		*fn;		/* or NULL */
	void				*arg;
	bool				 owns_arg;	/* malloc'ed for it */
	struct execsrv_process		*process;	/* or NULL: fn */
	enum execsrv_request		 what;
};

#define EXECSRV_READ_MAX	(1024 * 1024)	/* of process/read at once */

#define EXECSRV_PROCESS_ID	64	/* bytes of an id, with NUL */

/* A process that may have been started, and nobody was told. */
struct execsrv_orphan {
	TAILQ_ENTRY(execsrv_orphan)	 entry;
	char				 id[EXECSRV_PROCESS_ID];
};

struct execsrv {
	uint64_t			(*clock)(void);	/* ms; clock_ms() */
	int				 fd;
	/* For the loops of others. */
	int				 epoll, timer;	/* -1: not asked for */
	int				 watched;	/* the socket in it */
	uint32_t			 watched_for;	/* EPOLL... */
	uint64_t			 armed_for;	/* ms; 0: not armed */
	bool				 is_busy;	/* inside handle */
	bool				 is_ending;	/* the session */
	enum execsrv_state		 state;
	bool				 is_opening;	/* no session yet */
	struct execsrv_error		 why;
	bool				 is_local;
	char				 key[EXECSRV_KEY_LEN + 1];
	struct buf			 head;		/* upgrading; lines */
	bool				 is_lines;	/* no WebSocket */
	struct launched			 child;
	int				 log;		/* of it, or -1 */
	struct ws_reader		 reader;
	struct buf			 out;
	bool				 out_broken;	/* nobody reads it */
	bool				 held;
	uint64_t			 last_sent;	/* ms */
	uint64_t			 last_heard;	/* ms */
	bool				 is_pinged;	/* nothing since */
	bool				 has_pong;	/* owed to a flood */
	uint8_t				 pong[WS_CONTROL_MAX];
	size_t				 pong_len;
	/* Messages. */
	struct buf			 text;		/* one being written */
	struct json			 json;		/* one being read */
	uint64_t			 received;	/* bytes of messages */
	uint64_t			 acknowledged;	/* of them; 0: none */
	uint64_t			 last_id;
	TAILQ_HEAD(, execsrv_call)	 calls;
	execsrv_note_fn			*on_note;
	void				*note_arg;
	TAILQ_HEAD(execsrv_processes, execsrv_process) processes;
	struct execsrv_processes	 freed;		/* inside handle */
	TAILQ_HEAD(execsrv_https, execsrv_http) https;
	struct execsrv_https		 freed_https;	/* inside handle */
	TAILQ_HEAD(, execsrv_watch)	 watches;
	TAILQ_HEAD(, execsrv_transfer)	 transfers;
	bool				 has_work;	/* for one of these */
	uint64_t			 last_http, last_watch, last_file;
	uint64_t			 last_process;
	/* In ids, where another client used its own before; or empty. */
	char				 tag[24];
	/* Connecting, at first and again. */
	char				*where;		/* for reasons */
	struct execsrv_address		 url;
	struct {
		char	*url;		/* NULL: not by execsrv-reach */
		char	*environment;	/* of a registry's; or NULL */
		char	*program;
		char	*ca_file;	/* or NULL */
	}				 reach;
	char				*name;		/* of the client */
	char				*token;		/* or NULL; locked */
	int				 connect_ms, initialize_ms, silence_ms;
	char				 session[128];	/* empty: none */
	struct execsrv_overflow		 overflow;
	char				 resume[128];	/* at first, or empty */
	bool				 is_lost;	/* nobody acted yet */
	bool				 is_asked;	/* for the session */
	struct execsrv_error		 lost;		/* why */
	int				 patience;	/* ms; 0: no recovery */
	bool				 has_moved;	/* since it is there */
	uint64_t			 deadline;	/* ms: of recovery; of
							   a step of opening */
	uint64_t			 attempt_at;	/* ms: it begins, or is
							   given up */
	unsigned			 pause;		/* ms */
	unsigned			 read_max;	/* bytes of an answer */
	unsigned			 behind;	/* reads not answered */
	TAILQ_HEAD(, execsrv_orphan)	 orphans;
	size_t				 kept;		/* bytes of texts */
	/* What initialize told. */
	char				*cwd;
	uint32_t			 caps;		/* rows of cap.def */
};

/* A connection that is to be opened; or NULL. */
struct execsrv	*execsrv_new(void);

/* The end of it, without a goodbye. */
void		 execsrv_free(struct execsrv **xp);

/* It failed: the first reason stays.  Always -1, with errno EPIPE. */
int		 execsrv_fail(struct execsrv *x, const char *fmt, ...)
		    __attribute__((format(printf, 2, 3)));

/* The same for a reason that somebody else gave, with its code. */
int		 execsrv_fail_as(struct execsrv *x,
		    const struct execsrv_error *e);

/*
 * The connection did: what was on its way is settled, and another one is tried,
 * if there is a session to resume; from the loop.  Always -1, with errno EPIPE.
 */
int		 execsrv_lose(struct execsrv *x, const char *fmt, ...)
		    __attribute__((format(printf, 2, 3)));

void		 execsrv_set_state(struct execsrv *x, enum execsrv_state to);

/* Whether messages go both ways, and whether they are the caller's. */
bool		 execsrv_has_frames(const struct execsrv *x);

/*
 * Whether the server is to be told what arrived here: what execsrv-reach or a
 * rendezvous has read may still get lost with them.
 */
bool		 execsrv_has_receipts(const struct execsrv *x);
bool		 execsrv_is_open(const struct execsrv *x);

/* len bytes came from the server.  0, or -1: it failed. */
int		 execsrv_feed(struct execsrv *x, const void *data, size_t len)
		    __attribute__((warn_unused_result));

/* Send a text of its own or a control frame.  0, or -1: it failed. */
int		 execsrv_send(struct execsrv *x, enum ws_opcode opcode,
		    const void *data, size_t len);

/* Hand what waits to the socket.  0, or -1: it failed. */
int		 execsrv_flush(struct execsrv *x);

/* What to poll(2) the socket for now; 0: it is best left out. */
short	 execsrv_events(const struct execsrv *x);

/* Milliseconds until execsrv_handle() wants to be called anyway, or -1. */
int	 execsrv_wait_ms(const struct execsrv *x);

/* Read, write and call hooks, as poll(2) said.  0, or -1: it failed. */
int	 execsrv_handle(struct execsrv *x, short revents)
	    __attribute__((warn_unused_result));

/* --- loop.c: one descriptor --- */

/* Something that it waits for may have changed. */
void	 execsrv_rewatch(struct execsrv *x);

/* The socket is about to be closed. */
void	 execsrv_unwatch(struct execsrv *x);

/* --- text.c --- */

/* Write a value that was read. */
void	 execsrv_put_value(struct json_out *o, const struct json *j,
	    uint32_t tok);

/* Whether it is an array or object in JSON.  0, or -1 with errno. */
int	 execsrv_check_json(const char *text, size_t len)
	    __attribute__((warn_unused_result));

/* --- call.c: messages --- */

/*
 * A request: begin, write its params to o, end.  The call belongs to the
 * connection.  NULL or -1: the connection failed, or errno EFBIG (end only);
 * then there is no call any more.
 */
struct execsrv_call *execsrv_begin(struct execsrv *x, const char *method,
		    struct json_out *o) __attribute__((warn_unused_result));
int		 execsrv_end(struct execsrv *x, struct execsrv_call *c,
		    struct json_out *o);

/*
 * Send a request with params that are JSON, or NULL for none.  fn (may be
 * NULL) is called with the answer.  0, or -1 as execsrv_end().
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

/* Send what waited for a connection. */
void		 execsrv_send_kept(struct execsrv *x);

/* What was on its way when the connection was lost. */
void		 execsrv_settle(struct execsrv *x);

/* It failed: requests that do not belong to a process end with the reason. */
void		 execsrv_fail_calls(struct execsrv *x);

/* Its answer is nobody's any more. */
void		 execsrv_forget(struct execsrv *x, execsrv_answer_fn *fn,
		    const void *arg);

/* Forget a call. */
void		 execsrv_call_free(struct execsrv *x, struct execsrv_call *c);

/* A message came. */
void		 execsrv_on_message(struct execsrv *x, char *text, size_t len);

/* The string at a token as a text with NUL, cut to size. */
void		 execsrv_copy_text(const struct json *j, uint32_t tok,
		    char *out, size_t size);

/* --- process.c, event.c, catchup.c --- */

/* A notification; whether it was one of a process. */
bool		 execsrv_process_note(struct execsrv *x, const char *method,
		    uint32_t params);

/* Its start was sent, and the answer never came. */
void		 execsrv_process_orphan(struct execsrv_process *p);

/* The answer to a request. */
void		 execsrv_process_answer(struct execsrv_process *p,
		    enum execsrv_request what, const struct execsrv_answer *a);

/* ms until somebody waited too long for a missing event, or -1. */
int		 execsrv_process_wait_ms(const struct execsrv *x);

/*
 * Ask what a process, or each, said meanwhile, and end those whose start was
 * never answered; x->behind counts the answers that are due.
 */
void		 execsrv_process_catch_up(struct execsrv *x);

/* Nobody read for a while: waiting starts anew. */
void		 execsrv_process_restart_wait(struct execsrv *x);

/* Fail when somebody did. */
void		 execsrv_process_check(struct execsrv *x);

/* The connection failed: each that has not ended is lost. */
void		 execsrv_process_lose_all(struct execsrv *x);

/* Free those that were freed inside a hook. */
void		 execsrv_process_bury(struct execsrv *x);

/* --- http.c, watch.c --- */

/* Free requests that were freed inside a hook. */
void		 execsrv_http_bury(struct execsrv *x);

/* A notification; whether it was one of these. */
bool		 execsrv_http_note(struct execsrv *x, const char *method,
		    uint32_t params);
bool		 execsrv_watch_note(struct execsrv *x, const char *method,
		    uint32_t params);

/* --- transfer.c --- */

/* Go on with those that were told to. */
void		 execsrv_transfer_work(struct execsrv *x);

/* Free one, whoever still holds it. */
void		 execsrv_transfer_destroy(struct execsrv_transfer *t);

/* The connection they belong to is gone: they end. */
void		 execsrv_http_lost(struct execsrv *x);
void		 execsrv_watch_lost(struct execsrv *x);

/* --- lines.c --- */

/* Send a text as a line, its line breaks as blanks.  0, or -1: it failed. */
int		 execsrv_put_line(struct execsrv *x, const void *data,
		    size_t len);

#define EXECSRV_LINE_MAX	((size_t)LIMIT_MESSAGE + LIMIT_FRAGMENT)

/* As execsrv_feed(), of lines. */
int		 execsrv_feed_lines(struct execsrv *x, const void *data,
		    size_t len) __attribute__((warn_unused_result));

/* --- reach.c --- */

/* Whether a URL is one of execsrv-reach. */
bool		 execsrv_reach_is(const char *url);

/* What it takes to reach it.  0, or -1 with the reason in e. */
int		 execsrv_reach_prepare(struct execsrv *x, const char *url,
		    const struct execsrv_options *o, struct execsrv_error *e)
		    __attribute__((warn_unused_result));
void		 execsrv_reach_fini(struct execsrv *x);

/* Start it.  0, or -1 with errno. */
int		 execsrv_reach_start(struct execsrv *x);

/* Say what is to be reached.  0, or -1: it failed, as the next. */
int		 execsrv_reach_ask(struct execsrv *x);

/* It answers that. */
int		 execsrv_reach_answer(struct execsrv *x, char *text,
		    size_t len);

/* Whether a message is its reason to end; it is acted on then. */
bool		 execsrv_reach_error(struct execsrv *x, const struct json *j);

/* --- spawn.c --- */

/*
 * As execsrv_spawn_local(); is_server: one of ours, by its path, whose last
 * words are kept.
 */
struct execsrv	*execsrv_spawn_open(const char *const *argv, bool is_server,
		    const struct execsrv_options *o, struct execsrv_error *e);

/*
 * Start a command with one socket, x->fd, as its standard input and output.
 * 0, or -1 with errno.
 */
int		 execsrv_start_child(struct execsrv *x,
		    const char *const *argv, char **env, bool is_server);

/* It failed: what its server said last may be why. */
void		 execsrv_add_last_words(struct execsrv *x);

/* The command, if there is one, ends: with its input, or at once. */
void		 execsrv_end_child(struct execsrv *x, bool is_patient);

/* --- connect.c --- */

/* A client without a connection, as the options say.  NULL: why is in e. */
struct execsrv	*execsrv_prepare(const struct execsrv_options *o,
		    struct execsrv_error *e);

/*
 * Open what was prepared; where is for reasons.  A socket that it has already
 * is used.  x, or NULL with the reason in e: then it is freed.
 */
struct execsrv	*execsrv_begin_open(struct execsrv *x, const char *where,
		    const struct execsrv_options *o, struct execsrv_error *e);

/* A socket that connects, or has; -1 with errno. */
int		 execsrv_socket(const struct execsrv_address *u);

/* The same for the IPv6 address of this machine. */
void		 execsrv_url_v6(struct execsrv_address *u);

/* Send the request to upgrade.  0, or -1: it failed. */
int		 execsrv_start_upgrade(struct execsrv *x);

/* Learn from the answer to the first initialize, or fail. */
void		 execsrv_take_session(struct execsrv *x,
		    const struct execsrv_answer *a);

/* And what follows that answer.  As execsrv_send(). */
int		 execsrv_send_initialized(struct execsrv *x);

/* What initialize is asked with, in b, which the caller ends; -1: errno. */
int		 execsrv_put_initialize(const struct execsrv *x,
		    struct buf *b);

/* --- recover.c --- */

/* Of silence, while it is asked what processes said meanwhile. */
#define EXECSRV_CATCH_UP_MS	10000

/* A lost connection: settle, and begin again or fail. */
void		 execsrv_recover(struct execsrv *x);

/* Go on with it, as poll(2) or the time says. */
void		 execsrv_recover_step(struct execsrv *x, short revents);
/* After what came was handled: whether it goes on by itself. */
void		 execsrv_recover_check(struct execsrv *x);
short		 execsrv_recover_events(const struct execsrv *x);
int		 execsrv_recover_wait_ms(const struct execsrv *x);

#endif
