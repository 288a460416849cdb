/* libcurl transfers in an event loop (libcurl-multi(3)). */
#pragma once

#include <curl/curl.h>

#include <event2/event.h>

struct http_loop;

/* Ended; still to be removed. */
typedef void http_loop_done_fn(void *arg, CURL *easy, CURLcode result);

struct http_loop	*http_loop_new(struct event_base *base,
			    http_loop_done_fn *on_done, void *arg);

/* All must have been removed. */
void		 http_loop_free(struct http_loop **lp);

int		 http_loop_add(struct http_loop *l, CURL *easy) MUST_CHECK;

/* Not in a callback of libcurl. */
void		 http_loop_remove(struct http_loop *l, CURL *easy);
