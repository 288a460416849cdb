/* Internal to master/execsrvctl/forward. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "master/execsrvctl/forward/forward_spec.h"

#define FORWARD_PROGRAM	"execsrv-forward"

struct pollfd;

/* One connection: a socket here, a process of the session there. */
struct forward_conn {
	TAILQ_ENTRY(forward_conn)	 entry;
	struct execsrv			*x;
	const struct forward_spec	*spec;
	struct execsrv_process		*p;
	int				 fd;	/* -1: none yet */
	bool				 waits;	/* for a connection there */
	bool				 is_open;	/* there */
	bool				 connects;	/* here */
	size_t				 address;
	bool				 is_started, is_eof, is_shut;
	bool				 is_closed;	/* the process */
	size_t				 held_at;	/* bytes in out when
							   told not to read;
							   0: it may */
	bool				 is_dead;
	bool				 has_failed;
	struct buf			 out;	/* for the socket */
	uint64_t			 got, end;	/* bytes from there */
	char				 line[256];	/* of standard error */
	size_t				 len;
};

TAILQ_HEAD(forward_conns, forward_conn);

/*
 * Start the process for a connection (taken) to spec's target; fd -1: to accept
 * one there, with that token.  NULL, having said why.
 */
struct forward_conn *forward_conn_new(struct execsrv *x,
		    const struct forward_spec *spec, int fd,
		    const char *token);
void	 forward_conn_free(struct forward_conn *c);

/* What to wait for, and what has happened. */
void	 forward_conn_prepare(const struct forward_conn *c, struct pollfd *p);
void	 forward_conn_on_ready(struct forward_conn *c, short events);

/* After all that may have happened: connect, send, close. */
void	 forward_conn_update(struct forward_conn *c);

/* Say what went wrong with a connection or a listener. */
void	 forward_complain(const struct forward_end *e, const char *why);

/* execsrv-forward, with up to three words, ended by NULL.  NULL with errno. */
struct execsrv_process *forward_start(struct execsrv *x,
		    const char *const *words,
		    const struct execsrv_hooks *hooks, void *arg);
