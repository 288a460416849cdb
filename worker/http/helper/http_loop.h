/* libcurl's transfers in an event loop (libcurl-multi(3)). */
#ifndef WORKER_HTTP_HELPER_HTTP_LOOP_H
#define WORKER_HTTP_HELPER_HTTP_LOOP_H

#include <curl/curl.h>

#include <event2/event.h>

struct http_loop;

/* A transfer that was added is over; it is still to be removed. */
typedef void http_loop_done_fn(void *arg, CURL *easy, CURLcode result);

/* NULL with errno. */
struct http_loop	*http_loop_new(struct event_base *base,
			    http_loop_done_fn *on_done, void *arg);

/* Transfers must have been removed. */
void		 http_loop_free(struct http_loop **lp);

/* Begin a transfer.  0, or -1. */
int		 http_loop_add(struct http_loop *l, CURL *easy)
		    __attribute__((warn_unused_result));

/* Not from within a callback of libcurl. */
void		 http_loop_remove(struct http_loop *l, CURL *easy);

#endif
