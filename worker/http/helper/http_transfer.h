/* A request and its response, with redirects; reported to http_serve.c. */
#pragma once

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
	void	(*on_answer)(struct http_transfer *t, unsigned status,
		    const struct http_fields *fields);
	/* At most t->room bytes. */
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
	char			*body;		/* NULL: none, or sent */
	size_t			 body_len, body_got;
	uint32_t		 owed;		/* got, not asked for again */

	CURL			*easy;
	bool			 is_added;	/* to the loop */
	struct curl_slist	*list;
	char			 error[CURL_ERROR_SIZE];
	unsigned		 redirects;

	struct http_fields		 fields;	/* of the response */
	bool			 is_answered;
	bool			 is_redirected;	/* to next */
	struct http_url		 next;
	const char		*failure;	/* reason of our own */
	bool			 is_cut;	/* by us, after the head */
	size_t			 room;		/* granted for the body */
	bool			 is_paused;
};

/* To be filled in; HTTP_URL_OK, or why not. */
enum http_url_result	 http_transfer_new(struct http_transfer **out,
		    const char *method, const char *url);
void		 http_transfer_free(struct http_transfer **tp);

/* When the request is complete.  -1: no memory. */
int		 http_transfer_start(struct http_transfer *t) MUST_CHECK;

/* Of the body. */
void		 http_transfer_give_room(struct http_transfer *t, size_t bytes);

/*
 * After libcurl.  1: redirected, goes on.  0: over; *error_out: NULL, or why.
 */
int		 http_transfer_done(struct http_transfer *t, CURLcode result,
		    const char **error_out);
