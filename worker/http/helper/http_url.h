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

/* base: or NULL.  Invalid bytes are escaped, control characters an error. */
enum http_url_result	 http_url_parse(struct http_url *u, const char *text,
			    const struct http_url *base) MUST_CHECK;
void			 http_url_fini(struct http_url *u);

/* Credentials may go along. */
bool			 http_url_is_same_origin(const struct http_url *a,
			    const struct http_url *b);

/* malloc'd, by strict-origin-when-cross-origin (Referrer Policy), or NULL. */
char			*http_url_referer(const struct http_url *from,
			    const struct http_url *to);
