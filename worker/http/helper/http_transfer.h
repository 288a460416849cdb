/*
 * One request and its answer, redirects included.  What comes of it is told
 * by the callbacks of its server (http_serve.c).
 */
#ifndef WORKER_HTTP_HELPER_HTTP_TRANSFER_H
#define WORKER_HTTP_HELPER_HTTP_TRANSFER_H

#include <sys/queue.h>

#include <curl/curl.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/http/helper/http_fields.h"
#include "worker/http/helper/http_loop.h"
#include "worker/http/helper/http_url.h"

struct http_transfer;

struct http_transfer_events {
	/* The answer's head is complete: status and fields. */
	void	(*on_answer)(struct http_transfer *t, unsigned status,
		    const struct http_fields *fields);
	/* A piece of its body, at most t->room bytes. */
	void	(*on_piece)(struct http_transfer *t, const void *data,
		    size_t len);
};

struct http_transfer {
	TAILQ_ENTRY(http_transfer)	 entry;
	const struct http_transfer_events *events;
	void			*arg;
	struct http_loop		*loop;
	uint64_t		 id;
	const char		*ca_file, *ca_folder;	/* or NULL */

	char			*method;
	struct http_url		 url;
	bool			 follow;
	struct http_fields		 headers;
	unsigned		 headers_due;
	char			*body;		/* NULL: none (any more) */
	size_t			 body_len, body_got;
	uint32_t		 owed;		/* of it, not asked for again */

	CURL			*easy;
	bool			 is_added;	/* to the loop */
	struct curl_slist	*list;
	char			 error[CURL_ERROR_SIZE];
	unsigned		 redirects;

	struct http_fields		 fields;	/* of the answer */
	bool			 is_answered;
	bool			 is_redirected;	/* next is where to */
	struct http_url		 next;
	const char		*failure;	/* of our own */
	bool			 is_cut;	/* by us, behind the head */
	size_t			 room;		/* for the body */
	bool			 is_paused;
};

/*
 * A transfer that is to be filled in; HTTP_URL_OK, or why not (then nothing is
 * made).
 */
enum http_url_result	 http_transfer_new(struct http_transfer **out,
		    const char *method, const char *url);
void		 http_transfer_free(struct http_transfer **tp);

/* All of the request is there: begin.  0, or -1 (no memory). */
int		 http_transfer_start(struct http_transfer *t)
		    __attribute__((warn_unused_result));

/* Let that much more of the body come. */
void		 http_transfer_give_room(struct http_transfer *t, size_t bytes);

/*
 * libcurl is done with it.  1: it goes on elsewhere.  0: over; *error_out is
 * NULL, or why it failed (valid as long as t).
 */
int		 http_transfer_done(struct http_transfer *t, CURLcode result,
		    const char **error_out);

#endif
