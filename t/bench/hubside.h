/*
 * A hub that is measured, as a child of ours, and connections to it, plain or
 * TLS, blocking.  As elsewhere here, failures end the program.
 */
#pragma once

#include <sys/types.h>

#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdint.h>

#include "t/bench/bench.h"

struct side {
	int	 fd;		/* -1: closed */
	SSL	*ssl;
};

/* Send all. */
void	 side_put(struct side *s, const void *data, size_t len);

/* Receive so many bytes, or what there is; false, 0: the end. */
bool	 side_get(struct side *s, void *out, size_t len);
size_t	 side_read(struct side *s, void *out, size_t size);
void	 side_close(struct side *s);

/* Two that are connected by TCP, without a hub. */
void	 side_pair(struct side *a, struct side *b);

struct hub {
	pid_t		 pid;
	unsigned short	 port;
	SSL_CTX		*tls;		/* NULL: plain */
	char		 dir[128];
	const char	*engine;	/* URL, or NULL */
	const struct hub *other;	/* that harnesses ask; or NULL */
};

/*
 * b->argv: the program, a folder with cert.pem and key.pem, and for two hubs
 * the URL of a nats-server: harnesses ask the second, which names the first.
 */
void	 hub_start(struct hub *h, const struct bench *b, bool is_tls);
void	 hub_start_two(struct hub h[2], const struct bench *b);
void	 hub_stop(struct hub *h);
void	 hub_kill_worker(const struct hub *h);

/* The path of a websocket, with its ticket. */
struct ticket_path {
	char	 text[2200];
};

/* Register an executor, or ask for a connection to it. */
void	 hub_ask(const struct hub *h, struct ticket_path *out,
	    const char *environment, bool is_harness);
void	 hub_register(const struct hub *h, struct ticket_path *out,
	    const char *environment);

/* Connect with a ticket; both steps of it, for several at once. */
void	 hub_upgrade(const struct hub *h, struct side *out,
	    const struct ticket_path *path);
void	 hub_upgrade_begin(const struct hub *h, struct side *out,
	    const struct ticket_path *path);
void	 hub_upgrade_end(struct side *s);

/* Both at once, as an executor, or as a harness. */
void	 hub_attach(const struct hub *h, struct side *out,
	    const char *environment);
void	 hub_connect(const struct hub *h, struct side *out,
	    const char *environment);
