/*
 * Where a connection goes: URLs of http, https, ws and wss, and whether a
 * proxy stands in between.  Pure.
 */
#ifndef COMMON_NET_TARGET_H
#define COMMON_NET_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARGET_HOST	256	/* bytes with NUL */
#define TARGET_PATH	8192
#define TARGET_PROXY	512

struct target {
	bool		 is_tls;
	uint16_t	 port;
	char		 host[TARGET_HOST];	/* no brackets */
	char		 authority[TARGET_HOST + 16];	/* for Host: */
	char		 path[TARGET_PATH];	/* with query, as given */
};

/*
 * Read "SCHEME://HOST[:PORT][PATH][?QUERY]" with one of two schemes, the
 * second with TLS ("http", "https").  User names, fragments, blanks, control
 * and non-ASCII characters are refused.  0, or -1 with errno EINVAL.
 */
int	 target_parse(struct target *t, const char *url, const char *scheme,
	    const char *tls_scheme) __attribute__((warn_unused_result));

/*
 * Append to the path of t: text, segment (percent-encoded, so that it is one
 * segment) and tail.  0, or -1 with errno EINVAL (a segment that is empty or
 * walks: "." "..") or EMSGSIZE.
 */
int	 target_append(struct target *t, const char *text,
	    const char *segment, const char *tail)
	    __attribute__((warn_unused_result));

/*
 * A text that may be a URL, as others may see it: what is before the last '@'
 * may be user and password, and becomes "...".  out, which may cut it.
 */
const char	*target_show(const char *url, char *out, size_t size);

/* Whether it is on this machine for sure. */
bool	 target_is_loopback(const struct target *t);

/* What the environment says about proxies (curl(1), "ENVIRONMENT"). */
struct proxy_env {
	char	*https;		/* https_proxy, or NULL */
	char	*http;
	char	*all;
	char	*none;		/* no_proxy */
};

struct proxy {
	char		 host[TARGET_HOST];
	uint16_t	 port;
	char		 secret[94];	/* "user:password" or empty; that is
					   all libwebsockets has room for */
};

/* The proxy for t, or NULL: none; never for loopback without TLS. */
const char	*proxy_choose(const struct proxy_env *env,
		    const struct target *t);

/*
 * Read "[http://][USER:PASSWORD@]HOST[:PORT][/]"; without a port 3128.  0, or
 * -1 with errno EINVAL (something else, also another scheme).
 */
int		 proxy_parse(struct proxy *p, const char *text)
		    __attribute__((warn_unused_result));

#endif
