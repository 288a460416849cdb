/* Addresses of exec servers: ws://IP:PORT, unix:PATH, stdio.  Pure. */
#pragma once

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

/* The last three: listening only. */
enum endpoint_error {
	ENDPOINT_OK,
	ENDPOINT_SCHEME,	/* unknown */
	ENDPOINT_HOST,		/* not a numeric IP, nor localhost */
	ENDPOINT_PORT,		/* missing, or not a number up to 65535 */
	ENDPOINT_PATH,		/* missing, or invalid characters */
	ENDPOINT_LONG,
	ENDPOINT_NAME,		/* localhost: may be several addresses */
	ENDPOINT_TAIL,		/* a path or query after the port */
	ENDPOINT_RELATIVE	/* not an absolute socket path */
};

struct endpoint {
	enum endpoint_kind	 kind;
	char			 host[64];	/* without brackets */
	uint16_t		 port;
	char			 path[512];	/* and query; of a socket */
	bool			 is_local;	/* this machine */
};

/* localhost is 127.0.0.1. */
union endpoint_address {
	struct sockaddr		 any;
	struct sockaddr_in	 in;
	struct sockaddr_in6	 in6;
	struct sockaddr_un	 un;
};

/* Scheme in any case (RFC 3986 section 3.1).  ep is filled in also if wrong. */
enum endpoint_error endpoint_parse(struct endpoint *ep, const char *url)
		    MUST_CHECK;

/* What follows ws://. */
enum endpoint_error endpoint_parse_tcp(struct endpoint *ep, const char *text)
		    MUST_CHECK;

/* No line break or other control character. */
bool		 endpoint_is_one_line(const char *text);

bool		 endpoint_is_stdio(const char *url);

/* A parsed one. */
enum endpoint_error endpoint_check_listen(const struct endpoint *ep) MUST_CHECK;

/* Of ws and unix; return its length. */
socklen_t	 endpoint_address(const struct endpoint *ep,
		    union endpoint_address *a);

/* To follow "URL: ". */
const char	*endpoint_strerror(enum endpoint_error error);
