/*
 * Where exec servers listen: ws://IP:PORT, unix:PATH, stdio.  One reading for
 * those who listen and those who connect.  Pure.
 */
#ifndef COMMON_NET_ENDPOINT_H
#define COMMON_NET_ENDPOINT_H

#include <sys/socket.h>
#include <sys/un.h>

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>

enum endpoint_kind {
	ENDPOINT_WS = 1,
	ENDPOINT_UNIX,
	ENDPOINT_STDIO
};

/* What is wrong; the last three are about listening only. */
enum endpoint_error {
	ENDPOINT_OK,
	ENDPOINT_SCHEME,	/* none of these */
	ENDPOINT_HOST,		/* not a numeric IP, nor localhost */
	ENDPOINT_PORT,		/* none, or not a number up to 65535 */
	ENDPOINT_PATH,		/* none, or letters that cannot be in one */
	ENDPOINT_LONG,
	ENDPOINT_NAME,		/* localhost, which may be several addresses */
	ENDPOINT_TAIL,		/* a path or query behind the port */
	ENDPOINT_RELATIVE	/* the path of a socket */
};

struct endpoint {
	enum endpoint_kind	 kind;
	char			 host[64];	/* without brackets */
	uint16_t		 port;
	char			 path[512];	/* with query; of the socket */
	bool			 is_local;	/* on this machine */
};

/* Its socket address, for all but stdio; localhost is 127.0.0.1. */
union endpoint_address {
	struct sockaddr		 any;
	struct sockaddr_in	 in;
	struct sockaddr_in6	 in6;
	struct sockaddr_un	 un;
};

/*
 * Read a URL; ws: and unix: in capitals, too (RFC 3986 section 3.1).  What is
 * wrong, or ENDPOINT_OK; ep is filled in either case.
 */
enum endpoint_error endpoint_parse(struct endpoint *ep, const char *url)
		    __attribute__((warn_unused_result));

/* The same with what comes behind ws://. */
enum endpoint_error endpoint_parse_tcp(struct endpoint *ep, const char *text)
		    __attribute__((warn_unused_result));

/*
 * Whether it can be shown in a line: servers tell of it in lines, and lines are
 * what their starters and operators read.
 */
bool		 endpoint_is_one_line(const char *text);

/* Whether that URL means standard input and output. */
bool		 endpoint_is_stdio(const char *url);

/* What keeps one that was read from being listened on, or ENDPOINT_OK. */
enum endpoint_error endpoint_check_listen(const struct endpoint *ep)
		    __attribute__((warn_unused_result));

/* Fill in the address of one that was read, not stdio; its length. */
socklen_t	 endpoint_address(const struct endpoint *ep,
		    union endpoint_address *a);

/* In words, which follow the URL and a colon. */
const char	*endpoint_strerror(enum endpoint_error error);

#endif
