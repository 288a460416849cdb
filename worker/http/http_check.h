/* What a client puts into HTTP (RFC 9110 sections 5.1, 5.5, 9.1).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* 1 to max bytes: a method or header name. */
bool	 http_is_token(const char *s, size_t len, size_t max);

/* No control characters but HTAB. */
bool	 http_is_value(const char *s, size_t len);

/* Maybe; execsrv-http parses it. */
bool	 http_is_url(const char *s, size_t len);

/* A variable for a header; NULL and why: protected, missing or empty. */
const char	*http_variable(char *const *envp, const char *name,
		    size_t len, const char **why_out);
