/*
 * URLs of requests, and where redirects lead (RFC 3986, RFC 9110 section
 * 10.2.2), by libcurl's parser.  Pure.
 */
#ifndef WORKER_HTTP_HELPER_URL_H
#define WORKER_HTTP_HELPER_URL_H

#include <stdbool.h>

struct url {
	char	*text;		/* without user, password and fragment */
	char	*origin;	/* scheme://host:port, for comparison */
	char	*user;		/* "user:password" decoded, or NULL */
};

enum url_result {
	URL_OK,
	URL_BAD,		/* no URL */
	URL_SCHEME,		/* one that is not http or https */
	URL_MEMORY
};

/*
 * Read text, relative to base unless that is NULL.  What URL_OK made is freed
 * with url_fini(); otherwise there is nothing.  Bytes that may not be in a URL
 * are escaped; control characters make it bad.
 */
enum url_result	 url_parse(struct url *u, const char *text,
		    const struct url *base) __attribute__((warn_unused_result));
void		 url_fini(struct url *u);

/* Whether credentials for one may go to the other. */
bool		 url_is_same_origin(const struct url *a, const struct url *b);

/*
 * What a redirect tells the next server about this one, malloc'd
 * (strict-origin-when-cross-origin of the Referrer Policy).  NULL: nothing.
 */
char		*url_referer(const struct url *from, const struct url *to);

#endif
