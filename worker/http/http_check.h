/*
 * What a client may put into an HTTP request: methods, header names and
 * values (RFC 9110 sections 5.1, 5.5, 9.1), and names of variables whose
 * values it may not send anywhere.  Pure.
 */
#ifndef WORKER_HTTP_HTTP_CHECK_H
#define WORKER_HTTP_HTTP_CHECK_H

#include <stdbool.h>
#include <stddef.h>

/* A token: method or header name, 1 to max bytes. */
bool	 http_is_token(const char *s, size_t len, size_t max);

/*
 * The value of a header: no control characters but tabs, so that it can
 * neither end nor begin a line.  Any other byte may be in it.
 */
bool	 http_is_value(const char *s, size_t len);

/* A URL that is worth a closer look (execsrv-http does that). */
bool	 http_is_url(const char *s, size_t len);

/*
 * The value of a variable in an environment (as environ(7)), for a header.
 * NULL with *why_out a text, to be put behind the name of the header and
 * followed by that of the variable: it is protected, missing or empty.
 */
const char	*http_variable(char *const *envp, const char *name,
		    size_t len, const char **why_out);

#endif
