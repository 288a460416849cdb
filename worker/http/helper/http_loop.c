#include "worker/http/helper/http_loop.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/ev.h"

#define IDLE_CONNECTIONS	32L	/* kept open for reuse */

struct http_loop {
	struct event_base	*base;
	CURLM			*multi;
	struct timer		 timer_ev;
	struct timer		 done_ev;	/* a transfer may be done */
	http_loop_done_fn		*on_done;
	void			*arg;
};

/* A socket that libcurl watches. */
struct http_loop_socket {
	struct event	*ev;
	struct http_loop	*loop;
};

/* Report ended transfers from the loop, outside of libcurl's functions. */
static void
on_done_event(void *arg)
{
	struct http_loop	*l = arg;
	CURLMsg		*m;
	CURL		*easy;
	CURLcode	 result;
	int		 left;

	while ((m = curl_multi_info_read(l->multi, &left)) != NULL) {
		if (m->msg != CURLMSG_DONE)
			continue;
		easy = m->easy_handle;
		result = m->data.result;
		l->on_done(l->arg, easy, result);
	}
}

static void
http_loop_act(struct http_loop *l, curl_socket_t s, int what)
{
	int	 running;

	curl_multi_socket_action(l->multi, s, what, &running);
	timer_fire(&l->done_ev);
}

static void
on_socket_event(int fd, short what, void *arg)
{
	struct http_loop_socket	*w = arg;
	int			 mask = 0;

	assert(w->loop != NULL);
	if ((what & EV_READ) != 0)
		mask |= CURL_CSELECT_IN;
	if ((what & EV_WRITE) != 0)
		mask |= CURL_CSELECT_OUT;
	/* Frees w, perhaps. */
	http_loop_act(w->loop, fd, mask);
}

static void
on_timer_event(void *arg)
{
	http_loop_act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void
http_loop_socket_free(struct http_loop_socket *w)
{
	if (w == NULL)
		return;
	if (w->ev != NULL)
		event_free(w->ev);
	free(w);
}

static int
on_socket(CURL *easy, curl_socket_t s, int what, void *arg, void *socket_arg)
{
	struct http_loop	*l = arg;
	struct http_loop_socket	*w = socket_arg;
	short		 want;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		curl_multi_assign(l->multi, s, NULL);
		http_loop_socket_free(w);
		return 0;
	}
	want = (short)(EV_PERSIST |
	    ((what & CURL_POLL_IN) != 0 ? EV_READ : 0) |
	    ((what & CURL_POLL_OUT) != 0 ? EV_WRITE : 0));
	if (w == NULL) {
		if ((w = calloc(1, sizeof(*w))) == NULL)
			return -1;
		w->loop = l;
		if (curl_multi_assign(l->multi, s, w) != CURLM_OK) {
			free(w);
			return -1;
		}
	}
	if (w->ev != NULL)
		event_free(w->ev);
	if ((w->ev = event_new(l->base, s, want, on_socket_event, w)) ==
	    NULL || event_add(w->ev, NULL) == -1)
		return -1;
	return 0;
}

static int
http_loop_on_timer(CURLM *multi, long ms, void *arg)
{
	struct http_loop	*l = arg;

	(void)multi;
	if (ms < 0)
		timer_stop(&l->timer_ev);
	else
		timer_set(&l->timer_ev, (uint64_t)ms);
	return 0;
}

struct http_loop *
http_loop_new(struct event_base *base, http_loop_done_fn *on_done, void *arg)
{
	struct http_loop	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->base = base;
	l->on_done = on_done;
	l->arg = arg;
	errno = ENOMEM;
	timer_init(&l->timer_ev, base, on_timer_event, l);
	timer_init(&l->done_ev, base, on_done_event, l);
	if ((l->multi = curl_multi_init()) == NULL) {
		http_loop_free(&l);
		return NULL;
	}
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, http_loop_on_timer);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS);
	curl_multi_setopt(l->multi, CURLMOPT_PIPELINING,
	    (long)CURLPIPE_NOTHING);
	return l;
}

void
http_loop_free(struct http_loop **lp)
{
	struct http_loop	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	if (l->multi != NULL)
		curl_multi_cleanup(l->multi);
	timer_stop(&l->timer_ev);
	timer_stop(&l->done_ev);
	free(l);
}

int
http_loop_add(struct http_loop *l, CURL *easy)
{
	return curl_multi_add_handle(l->multi, easy) == CURLM_OK ? 0 : -1;
}

void
http_loop_remove(struct http_loop *l, CURL *easy)
{
	curl_multi_remove_handle(l->multi, easy);
	/* An unpaused transfer may have ended meanwhile. */
	timer_fire(&l->done_ev);
}
