/* libcurl's transfers in an event loop (libcurl-multi(3)). */
#ifndef WORKER_HTTP_HELPER_LOOP_H
#define WORKER_HTTP_HELPER_LOOP_H

#include <curl/curl.h>

#include <event2/event.h>

struct loop;

/* A transfer that was added is over; it is still to be removed. */
typedef void loop_done_fn(void *arg, CURL *easy, CURLcode result);

/* NULL with errno. */
struct loop	*loop_new(struct event_base *base, loop_done_fn *on_done,
		    void *arg);

/* Transfers must have been removed. */
void		 loop_free(struct loop **lp);

/* Begin a transfer.  0, or -1. */
int		 loop_add(struct loop *l, CURL *easy)
		    __attribute__((warn_unused_result));

/* Not from within a callback of libcurl. */
void		 loop_remove(struct loop *l, CURL *easy);

#endif
