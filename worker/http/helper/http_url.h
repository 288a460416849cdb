/*
 * URLs of requests, and where redirects lead (RFC 3986, RFC 9110 section
 * 10.2.2), by libcurl's parser.  Pure.
 */
#ifndef WORKER_HTTP_HELPER_HTTP_URL_H
#define WORKER_HTTP_HELPER_HTTP_URL_H

#include <stdbool.h>

struct http_url {
	char	*text;		/* without user, password and fragment */
	char	*origin;	/* scheme://host:port, for comparison */
	char	*user;		/* "user:password" decoded, or NULL */
};

enum http_url_result {
	HTTP_URL_OK,
	HTTP_URL_BAD,		/* no URL */
	HTTP_URL_SCHEME,		/* one that is not http or https */
	HTTP_URL_MEMORY
};

/*
 * Read text, relative to base unless that is NULL.  HTTP_URL_OK: to be freed
 * with http_url_fini(), else there is nothing to free.  Bytes that may not be
 * in a URL are escaped; control characters make it bad.
 */
enum http_url_result	 http_url_parse(struct http_url *u, const char *text,
			    const struct http_url *base)
			    __attribute__((warn_unused_result));
void			 http_url_fini(struct http_url *u);

/* Whether credentials for one may go to the other. */
bool			 http_url_is_same_origin(const struct http_url *a,
			    const struct http_url *b);

/*
 * What a redirect tells the next server about this one, malloc'd
 * (strict-origin-when-cross-origin of the Referrer Policy).  NULL: nothing.
 */
char			*http_url_referer(const struct http_url *from,
			    const struct http_url *to);

#endif
