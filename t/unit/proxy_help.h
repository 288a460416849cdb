/*
 * What tests of the proxy's connections share: one of them in a loop of its
 * own, between a client and a server that are ours; its sockets have as little
 * room as there can be.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/proxy/helper/proxy_conn_priv.h"

#define PX_BIG	(1000 * 1000)

#define PX_GET	"GET http://a.test/x HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define PX_SENT	"GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n"
#define PX_OK	"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
#define PX_TUNNEL	\
	"CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n\r\n"
#define PX_READY	"HTTP/1.1 200 Connection established\r\n\r\n"
#define PX_FAILED	\
	"HTTP/1.1 502 Bad Gateway\r\ncontent-type: text/plain\r\n" \
	"content-length: 16\r\nconnection: close\r\n\r\n" \
	"upstream failure"

struct proxy_query {
	proxy_names_fn	*fn;	/* NULL: nobody waits */
	void		*arg;
};

struct proxy_connect {
	proxy_connect_fn *fn;
	void		*arg;
};

struct px {
	struct proxy_shared	 shared;
	struct proxy_net	 net;
	int			 client, server;	/* our ends, or -1 */
	bool			 is_full;	/* the worker's channel */
	struct proxy_query	 query;
	struct proxy_connect	 way;
	const char		*own;	/* an address of this machine */
	char			 did[1000];
};
extern struct px	 px;

/* Fixtures.  a.test and b.test are allowed, no.test is denied. */
void	 px_setup(void);
void	 px_teardown(void);

/* What happened since the last call, as text. */
void	 px_tell(const char *what);
void	 px_ck_did(const char *what);

/* A connection, of px.client. */
struct proxy_conn	*px_start(Ipc__ProxyKind kind, uint16_t port);
void	 px_turns(void);

/* Names have been found; the server has been reached (px.server), or not. */
void	 px_found(const struct netaddr *list, size_t n);
void	 px_connected(int error);

/* Send by one of our ends; all that has come there. */
void	 px_put(int fd, const char *text);
void	 px_put_bytes(int fd, const void *data, size_t len);
void	 px_ck_got(int fd, const char *want);
void	 px_ck_got_bytes(int fd, const void *want, size_t len);

/* Nothing more comes there. */
bool	 px_is_over(int fd);

/*
 * PX_BIG bytes from one of our ends to the other, which reads a little at a
 * time: each comes once, at its place.
 */
void	 px_carry(int from, int to);

/* PX_GET on px.client, and px.server after it. */
void	 px_ask_a(void);
