/*
 * Lists of headers: those of a request as libcurl wants them, and those of an
 * answer as they come, line by line.  Pure.
 */
#ifndef WORKER_HTTP_HELPER_HTTP_FIELDS_H
#define WORKER_HTTP_HELPER_HTTP_FIELDS_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>

struct http_field {
	TAILQ_ENTRY(http_field)	 entry;
	char			*name;		/* in small letters */
	char			*value;
	bool			 is_secret;	/* not for another origin */
};

struct http_fields {
	TAILQ_HEAD(, http_field)	 list;
	size_t			 n;
	size_t			 size;		/* of names and values, and 4 */
};

void	 http_fields_init(struct http_fields *f);
void	 http_fields_clear(struct http_fields *f);

/* Add one at the end.  0, or -1: no memory. */
int	 http_fields_add(struct http_fields *f, const char *name,
	    const char *value, bool is_secret)
	    __attribute__((warn_unused_result));

/* The first of that name (small letters), or NULL. */
const struct http_field	*http_fields_find(const struct http_fields *f,
			    const char *name);

void	 http_fields_drop(struct http_fields *f, const char *name);

/* What may not go along to another origin. */
void	 http_fields_drop_credentials(struct http_fields *f);

/* What tells about a body that is not sent any more. */
void	 http_fields_drop_content(struct http_fields *f);

/*
 * Read a line of an answer, with its end: NAME, ":" and value.  Blanks around
 * the value do not belong to it.  0; -1: no memory; 1: it is no header, or
 * longer than max bytes.
 */
int	 http_fields_read(struct http_fields *f, const char *line, size_t len,
	    size_t max) __attribute__((warn_unused_result));

#endif
