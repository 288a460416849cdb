/* Targets of connections: URLs of http, https, ws and wss; proxies.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TARGET_HOST	256	/* bytes with NUL */
#define TARGET_PATH	8192
#define TARGET_PROXY	512

struct target {
	bool		 is_tls;
	uint16_t	 port;
	char		 host[TARGET_HOST];	/* without brackets */
	char		 authority[TARGET_HOST + 16];	/* for Host: */
	char		 path[TARGET_PATH];	/* with query, as given */
};

/*
 * "SCHEME://HOST[:PORT][PATH][?QUERY]", no user names, fragments, blanks,
 * control or non-ASCII characters.  0, or -1 with errno EINVAL.
 */
int	 target_parse(struct target *t, const char *url, const char *scheme,
	    const char *tls_scheme) MUST_CHECK;

/*
 * Append text, a segment, which is percent-encoded, and tail.  0, or -1 with
 * errno EINVAL (segment empty, "." or "..") or EMSGSIZE.
 */
int	 target_append(struct target *t, const char *text,
	    const char *segment, const char *tail) MUST_CHECK;

/* A possible URL for display, "..." for all before the last '@'. */
const char	*target_show(const char *url, char *out, size_t size);

/* localhost, or a loopback address. */
bool	 target_is_loopback(const struct target *t);

/* Proxy variables of the environment (curl(1), "ENVIRONMENT"). */
struct proxy_env {
	char	*https;		/* https_proxy, or NULL */
	char	*http;
	char	*all;
	char	*none;		/* no_proxy */
};

struct proxy {
	char		 host[TARGET_HOST];
	uint16_t	 port;
	char		 secret[94];	/* "user:password" or "" */
};

/* NULL: none, and always for loopback without TLS. */
const char	*proxy_choose(const struct proxy_env *env,
		    const struct target *t);

/*
 * "[http://][USER:PASSWORD@]HOST[:PORT][/]", 3128 by default.  0, or -1 with
 * errno EINVAL, also for another scheme.
 */
int		 proxy_parse(struct proxy *p, const char *text) MUST_CHECK;
