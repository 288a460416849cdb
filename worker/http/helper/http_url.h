/* URLs and redirects (RFC 3986, RFC 9110 section 10.2.2), by libcurl.  Pure. */
#pragma once

#include <stdbool.h>

struct http_url {
	char	*text;		/* without user, password and fragment */
	char	*origin;	/* scheme://host:port */
	char	*user;		/* "user:password" decoded, or NULL */
};

enum http_url_result {
	HTTP_URL_OK,
	HTTP_URL_BAD,		/* not a URL */
	HTTP_URL_SCHEME,		/* not http or https */
	HTTP_URL_MEMORY
};

/*
 * Parse text, relative to base or NULL.  Escapes invalid bytes; control
 * characters are an error.  After HTTP_URL_OK end it with http_url_fini().
 */
enum http_url_result	 http_url_parse(struct http_url *u, const char *text,
			    const struct http_url *base) MUST_CHECK;
void			 http_url_fini(struct http_url *u);

/* Whether credentials for one may be sent to the other. */
bool			 http_url_is_same_origin(const struct http_url *a,
			    const struct http_url *b);

/*
 * Return the Referer for a redirect, malloc'd, by
 * strict-origin-when-cross-origin (Referrer Policy).  NULL: none.
 */
char			*http_url_referer(const struct http_url *from,
			    const struct http_url *to);
