/* Internal to worker/proxy/helper/proxy_*.c. */
#pragma once

#include <netinet/in.h>

#include "worker/proxy/helper/proxy_conn.h"
#include "worker/proxy/helper/proxy_connect.h"
#include "worker/proxy/helper/proxy_side.h"
#include "worker/proxy/helper/proxybody.h"
#include "worker/proxy/helper/proxyhead.h"

enum proxy_state {
	CONN_GREETING,		/* of SOCKS */
	CONN_HEAD,		/* a request is to come */
	CONN_JUDGING, CONN_CONNECTING,
	CONN_UPSTREAM,		/* another proxy is to answer CONNECT */
	CONN_EXCHANGE, CONN_TUNNEL,
	CONN_CLOSING,		/* an answer is sent, then the end */
	CONN_DEAD,		/* freed in the next turn of the loop */
	CONN_STATES
};

struct proxy_conn {
	TAILQ_ENTRY(proxy_conn)	 entry;
	struct proxy_net	*net;
	Ipc__ProxyKind		 kind;
	enum proxy_state	 state;
	char			 peer[INET6_ADDRSTRLEN + 8];
	struct proxy_side	 client, server;
	struct buf		 in;		/* of the client, not handled */
	struct timer		 timer;
	uint64_t		 last_ms;	/* something was carried */

	/* The request. */
	Ipc__ProxyProtocol	 protocol;
	struct nethost		 host;
	uint16_t		 port;
	uint64_t		 question;	/* open one, or 0 */
	bool			 is_asked, is_override;
	struct proxy_query	*query;
	struct proxy_connect	*connect;
	struct netaddr		 list[PROXY_NAMES_MAX];	/* checked */
	size_t			 n;
	struct proxy		*via;		/* another proxy, or NULL */

	/* Plain HTTP. */
	struct proxyhead	 head;		/* spans lead into in */
	size_t			 head_len;
	bool			 is_head_read;
	struct nethost		 server_host;	/* the server is of this host */
	uint16_t		 server_port;
	bool			 server_is_via;
	bool			 is_reused, is_answered;
	struct proxybody	 up, down;
	struct buf		 reply;		/* head of an answer */
	bool			 is_reply_begun;	/* its body follows */
	bool			 closes;	/* after this exchange */
	bool			 server_closes;
};

void	 conn_set_state(struct proxy_conn *c, enum proxy_state to);

/* As the state wants them. */
void	 conn_update(struct proxy_conn *c);

/* At once; freed in the next turn of the loop. */
void	 conn_kill(struct proxy_conn *c);

/* After what is queued for the client. */
void	 conn_finish(struct proxy_conn *c);

/* Once, into the shared buffer.  Bytes; 0: end; -1: nothing now; -2: killed. */
ssize_t	 conn_read(struct proxy_conn *c, struct proxy_side *s);

/* Or kill the connection. */
void	 conn_send(struct proxy_conn *c, struct proxy_side *s,
	    const void *data, size_t len);

/* Takes a connected socket. */
void	 conn_open_server(struct proxy_conn *c, int fd);

/* With what the client has sent already. */
void	 conn_tunnel(struct proxy_conn *c);

/* --- proxy_judge.c: from a request to a connection, or not --- */

/* By rules, c->host.  conn_reached() or a refusal follows. */
void	 conn_judge(struct proxy_conn *c);

void	 conn_answered(struct proxy_conn *c, Ipc__ProxyVerdict verdict,
	    const char *reason);

/* A bridge: no rules. */
void	 conn_reach_loopback(struct proxy_conn *c, uint16_t port);

/* What was judged. */
void	 conn_reach_again(struct proxy_conn *c);

/* Not about a host. */
void	 conn_tell_unix(struct proxy_conn *c);

/* What is under way. */
void	 conn_judge_stop(struct proxy_conn *c);

/* Another proxy's answer to CONNECT. */
void	 conn_on_upstream(struct proxy_conn *c);

/* --- proxy_answer.c: what the client is told --- */

/* Tell the client, go on. */
void	 conn_reached(struct proxy_conn *c);

/* Refused; not reached. */
void	 conn_refused(struct proxy_conn *c, Ipc__ProxyVerdict verdict,
	    Ipc__ProxySource source, enum net_reason why, const char *reason);
void	 conn_failed(struct proxy_conn *c, int error);

/* A status and a text, then the end. */
void	 conn_http_error(struct proxy_conn *c, int status, const char *text);

/* --- proxy_http.c, proxy_socks.c: what the client sends --- */

void	 conn_http_input(struct proxy_conn *c);
void	 conn_socks_input(struct proxy_conn *c);

/* An exchange: begin; more of the request; of the answer. */
void	 conn_http_begin(struct proxy_conn *c);
void	 conn_http_upload(struct proxy_conn *c);
void	 conn_http_download(struct proxy_conn *c);
