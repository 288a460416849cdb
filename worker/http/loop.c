#include "worker/http/loop.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "common/clock.h"

#define IDLE_CONNECTIONS	32L	/* kept open for the next request */

struct loop {
	struct event_base	*base;
	CURLM			*multi;
	struct event		*timer_ev;
	struct event		*done_ev;	/* somebody may be done */
	loop_done_fn		*on_done;
	void			*arg;
};

/* What libcurl is told about a socket. */
struct watch {
	struct event	*ev;
	struct loop	*loop;
};

/* Tell who is done; from the loop, where nothing of libcurl is on the stack. */
static void
on_done_event(int fd, short what, void *arg)
{
	struct loop	*l = arg;
	CURLMsg		*m;
	CURL		*easy;
	CURLcode	 result;
	int		 left;

	(void)fd;
	(void)what;
	while ((m = curl_multi_info_read(l->multi, &left)) != NULL) {
		if (m->msg != CURLMSG_DONE)
			continue;
		easy = m->easy_handle;
		result = m->data.result;
		l->on_done(l->arg, easy, result);
	}
}

static void
act(struct loop *l, curl_socket_t s, int what)
{
	int	 running;

	curl_multi_socket_action(l->multi, s, what, &running);
	event_active(l->done_ev, EV_TIMEOUT, 0);
}

static void
on_socket_event(int fd, short what, void *arg)
{
	struct watch	*w = arg;

	/* w may be freed in there. */
	act(w->loop, fd, ((what & EV_READ) != 0 ? CURL_CSELECT_IN : 0) |
	    ((what & EV_WRITE) != 0 ? CURL_CSELECT_OUT : 0));
}

static void
on_timer_event(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static void
watch_free(struct watch *w)
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
	struct loop	*l = arg;
	struct watch	*w = socket_arg;
	short		 want;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		curl_multi_assign(l->multi, s, NULL);
		watch_free(w);
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
on_timer(CURLM *multi, long ms, void *arg)
{
	struct loop	*l = arg;
	struct timeval	 tv;

	(void)multi;
	if (ms < 0)
		return event_del(l->timer_ev);
	tv = clock_timeval((uint64_t)ms);
	return event_add(l->timer_ev, &tv);
}

struct loop *
loop_new(struct event_base *base, loop_done_fn *on_done, void *arg)
{
	struct loop	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->base = base;
	l->on_done = on_done;
	l->arg = arg;
	errno = ENOMEM;
	if ((l->timer_ev = event_new(base, -1, 0, on_timer_event, l)) ==
	    NULL || (l->done_ev = event_new(base, -1, 0, on_done_event,
	    l)) == NULL || (l->multi = curl_multi_init()) == NULL) {
		loop_free(&l);
		return NULL;
	}
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
	curl_multi_setopt(l->multi, CURLMOPT_SOCKETDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERFUNCTION, on_timer);
	curl_multi_setopt(l->multi, CURLMOPT_TIMERDATA, l);
	curl_multi_setopt(l->multi, CURLMOPT_MAXCONNECTS, IDLE_CONNECTIONS);
	curl_multi_setopt(l->multi, CURLMOPT_PIPELINING,
	    (long)CURLPIPE_NOTHING);
	return l;
}

void
loop_free(struct loop **lp)
{
	struct loop	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	if (l->multi != NULL)
		curl_multi_cleanup(l->multi);
	if (l->timer_ev != NULL)
		event_free(l->timer_ev);
	if (l->done_ev != NULL)
		event_free(l->done_ev);
	free(l);
}

int
loop_add(struct loop *l, CURL *easy)
{
	return curl_multi_add_handle(l->multi, easy) == CURLM_OK ? 0 : -1;
}

void
loop_remove(struct loop *l, CURL *easy)
{
	curl_multi_remove_handle(l->multi, easy);
	/* A transfer that was unpaused may have ended meanwhile. */
	event_active(l->done_ev, EV_TIMEOUT, 0);
}
