/*
 * Validate what a client puts into an HTTP request: methods, header names and
 * values (RFC 9110 sections 5.1, 5.5, 9.1), names of variables.  Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Whether s is a token of 1 to max bytes: a method or header name. */
bool	 http_is_token(const char *s, size_t len, size_t max);

/* Whether s is a header value: no control characters but HTAB. */
bool	 http_is_value(const char *s, size_t len);

/* Whether s may be a URL; execsrv-http parses it. */
bool	 http_is_url(const char *s, size_t len);

/*
 * Return the value of an environment variable for a header; NULL and why (to
 * stand between the names of header and variable): protected, missing or empty.
 */
const char	*http_variable(char *const *envp, const char *name,
		    size_t len, const char **why_out);
