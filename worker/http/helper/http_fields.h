/* Headers of a request or response.  Pure. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>

struct http_field {
	TAILQ_ENTRY(http_field)	 entry;
	char			*name;		/* lower case */
	char			*value;
	bool			 is_secret;	/* for the first origin only */
};

struct http_fields {
	TAILQ_HEAD(, http_field)	 list;
	size_t			 n;
	size_t			 size;		/* bytes; 4 more for each */
};

void	 http_fields_init(struct http_fields *f);
void	 http_fields_clear(struct http_fields *f);

/* -1: no memory. */
int	 http_fields_add(struct http_fields *f, const char *name,
	    const char *value, bool is_secret) MUST_CHECK;

/* Lower case; or NULL. */
const struct http_field	*http_fields_find(const struct http_fields *f,
			    const char *name);

void	 http_fields_drop(struct http_fields *f, const char *name);

/* For another origin. */
void	 http_fields_drop_credentials(struct http_fields *f);

/* Of a body that is no longer sent. */
void	 http_fields_drop_content(struct http_fields *f);

/* A header line.  0; -1: no memory; 1: none, or above max bytes. */
int	 http_fields_read(struct http_fields *f, const char *line, size_t len,
	    size_t max) MUST_CHECK;
