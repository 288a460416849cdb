/* What the files of libexecsrv share. */
#ifndef COMMON_CLIENT_CLIENT_PRIV_H
#define COMMON_CLIENT_CLIENT_PRIV_H

#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/json_out.h"
#include "common/ws.h"

/* --- url.c (pure) --- */

struct execsrv_url {
	union {
		struct sockaddr		 any;
		struct sockaddr_in	 in;
		struct sockaddr_in6	 in6;
		struct sockaddr_un	 un;
	}		 addr;
	socklen_t	 len;
	bool		 is_local;
	bool		 is_name;	/* "localhost": IPv6 is worth a try */
	char		 host[64];	/* for the Host line, with port */
	char		 path[512];	/* path and query */
};

/* Read a URL.  0, or -1 with the reason in e. */
int	 execsrv_url_parse(const char *text, struct execsrv_url *u,
	    struct execsrv_error *e) __attribute__((warn_unused_result));

/* --- upgrade.c (pure) --- */

#define EXECSRV_KEY_LEN		24	/* Sec-WebSocket-Key, with no NUL */
#define EXECSRV_HEAD_MAX	8192	/* of the answer */

/* The request to upgrade; its length, always less than size. */
size_t	 execsrv_upgrade_request(const struct execsrv_url *u, const char *key,
	    char *out, size_t size);

/*
 * Judge the answer, a head of len bytes with its empty line.  0, or -1 with the
 * reason in e.
 */
int	 execsrv_upgrade_judge(const char *head, size_t len, const char *key,
	    struct execsrv_error *e) __attribute__((warn_unused_result));

/* --- error.c (pure) --- */

/* Write a reason; what is not printable becomes '?'. */
void	 execsrv_error_set(struct execsrv_error *e, int64_t code,
	    const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* --- conn.c: bytes and frames --- */

enum execsrv_state { EXECSRV_UPGRADING, EXECSRV_OPEN, EXECSRV_FAILED };

struct execsrv_call {
	TAILQ_ENTRY(execsrv_call)	 entry;
	uint64_t			 id;
	execsrv_answer_fn		*fn;		/* or NULL */
	void				*arg;
	struct execsrv_process		*process;	/* or NULL: fn */
	enum execsrv_request		 what;
};

struct execsrv {
	int				 fd;
	enum execsrv_state		 state;
	struct execsrv_error		 why;
	bool				 is_local;
	char				 key[EXECSRV_KEY_LEN + 1];
	struct buf			 head;		/* while upgrading */
	struct ws_reader		 reader;
	struct buf			 out;
	bool				 out_broken;	/* nobody reads it */
	bool				 held;
	uint64_t			 last_sent;	/* ms */
	bool				 has_pong;	/* owed to a flood */
	uint8_t				 pong[WS_CONTROL_MAX];
	size_t				 pong_len;
	/* Messages. */
	struct buf			 text;		/* one being written */
	struct json			 json;		/* one being read */
	uint64_t			 last_id;
	TAILQ_HEAD(, execsrv_call)	 calls;
	execsrv_note_fn			*on_note;
	void				*note_arg;
	TAILQ_HEAD(, execsrv_process)	 processes;
	uint64_t			 last_process;
	/* What initialize told. */
	char				*cwd;
	uint32_t			 caps;		/* rows of cap.def */
};

/* A connection without a socket yet, waiting for its upgrade; or NULL. */
struct execsrv	*execsrv_new(void);

/* The end of it, without a goodbye. */
void		 execsrv_free(struct execsrv **xp);

/* It failed: the first reason stays.  Always -1, with errno EPIPE. */
int		 execsrv_fail(struct execsrv *x, const char *fmt, ...)
		    __attribute__((format(printf, 2, 3)));

/* len bytes came from the server.  0, or -1: it failed. */
int		 execsrv_feed(struct execsrv *x, const void *data, size_t len)
		    __attribute__((warn_unused_result));

/* Send a text of its own or a control frame.  0, or -1: it failed. */
int		 execsrv_send(struct execsrv *x, enum ws_opcode opcode,
		    const void *data, size_t len);

/* Hand what waits to the socket.  0, or -1: it failed. */
int		 execsrv_flush(struct execsrv *x);

/* --- call.c: messages --- */

/*
 * A request: begin, write its params to o, end.  The call belongs to the
 * connection.  NULL or -1: the connection failed, or errno EFBIG (end only).
 */
struct execsrv_call *execsrv_begin(struct execsrv *x, const char *method,
		    struct json_out *o) __attribute__((warn_unused_result));
int		 execsrv_end(struct execsrv *x, struct execsrv_call *c,
		    struct json_out *o);

/* A message came. */
void		 execsrv_on_message(struct execsrv *x, char *text, size_t len);

/* The string at a token as a text with NUL, cut to size. */
void		 execsrv_copy_text(const struct json *j, uint32_t tok,
		    char *out, size_t size);

/* --- process.c --- */

/* A notification; whether it was one of a process. */
bool		 execsrv_process_note(struct execsrv *x, const char *method,
		    uint32_t params);

/* The answer to a request. */
void		 execsrv_process_answer(struct execsrv_process *p,
		    enum execsrv_request what, const struct execsrv_answer *a);

/* ms until somebody waited too long for a missing event, or -1. */
int		 execsrv_process_wait_ms(const struct execsrv *x);

/* Nobody read for a while: waiting starts anew. */
void		 execsrv_process_restart_wait(struct execsrv *x);

/* Fail when somebody did. */
void		 execsrv_process_check(struct execsrv *x);

#endif
