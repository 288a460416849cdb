#include "common/dial/wsloop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/log.h"

#define FILES_MAX	1024	/* watched at a time; libwebsockets' tables */

struct wswatch {
	struct wsloop			*loop;
	struct lws			*wsi;	/* NULL: hung up */
	struct wsloop_timer		 again;
	bool				 in_write;
	const struct wswatch_events	*events;
	void				*arg;
};

/* --- the loop --- */

static void
want_write(void *arg)
{
	struct wswatch	*w = arg;

	if (w->wsi != NULL)
		(void)lws_callback_on_writable(w->wsi);
}

/*
 * A request for on_writable that is made in this callback is dropped by
 * libwebsockets after it: wswatch_write() defers such a request.
 */
static int
wsloop_on_writable(struct lws *wsi, struct wswatch *w)
{
	assert(!w->in_write && w->wsi == wsi);
	w->in_write = true;
	w->events->on_writable(w->arg);
	if (lws_get_opaque_user_data(wsi) == NULL)
		return -1;
	w->in_write = false;
	return 0;
}

static int
on_file(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	struct wswatch	*w = lws_get_opaque_user_data(wsi);

	(void)user;
	(void)in;
	(void)len;
	switch (reason) {
	case LWS_CALLBACK_RAW_RX_FILE:
		if (w == NULL)
			return -1;
		w->events->on_readable(w->arg);
		break;
	case LWS_CALLBACK_RAW_WRITEABLE_FILE:
		return w == NULL ? -1 : wsloop_on_writable(wsi, w);
	case LWS_CALLBACK_RAW_CLOSE_FILE:
		if (w == NULL)
			break;
		w->wsi = NULL;
		w->events->on_hangup(w->arg);
		break;
	default:
		break;
	}
	return 0;
}

static const struct lws_protocols protocols[] = {
	{ .name = "file", .callback = on_file },
	{ .name = NULL }
};

static void
on_notice(int level, const char *line)
{
	(void)level;
	log_debug("libwebsockets: %.*s", (int)strcspn(line, "\n"), line);
}

int
wsloop_init(struct wsloop *l)
{
	struct lws_context_creation_info	 info;

	memset(l, 0, sizeof(*l));
	lws_set_log_level(LLL_ERR | LLL_WARN, on_notice);
	memset(&info, 0, sizeof(info));
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
	    LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
	info.fd_limit_per_thread = FILES_MAX;
	/* For a head with a credential, and for a relay message. */
	info.pt_serv_buf_size = 64 * 1024;
	info.max_http_header_data = 8 * 1024;
	/* dial.c ends connections earlier. */
	info.timeout_secs = 30;
	info.connect_timeout_secs = 30;
	info.gid = (gid_t)-1;
	info.uid = (uid_t)-1;
	if ((l->lws = lws_create_context(&info)) == NULL) {
		log_warnx("libwebsockets cannot be initialized");
		return -1;
	}
	memset(&info, 0, sizeof(info));
	info.port = CONTEXT_PORT_NO_LISTEN;
	info.protocols = protocols;
	info.vhost_name = "files";
	if ((l->vhost = lws_create_vhost(l->lws, &info)) == NULL) {
		log_warnx("libwebsockets: no virtual host for raw files");
		wsloop_fini(l);
		return -1;
	}
	return 0;
}

void
wsloop_fini(struct wsloop *l)
{
	if (l->lws != NULL)
		lws_context_destroy(l->lws);
	l->lws = NULL;
}

void
wsloop_run(struct wsloop *l)
{
	assert(l->lws != NULL);
	while (!l->is_over)
		if (lws_service(l->lws, 0) < 0)
			break;
}

void
wsloop_stop(struct wsloop *l)
{
	l->is_over = true;
	lws_cancel_service(l->lws);
}

/* --- timers --- */

static void
wsloop_on_timer(lws_sorted_usec_list_t *sul)
{
	struct wsloop_timer	*t = (struct wsloop_timer *)sul;

	_Static_assert(offsetof(struct wsloop_timer, sul) == 0, "first");
	assert(t->fn != NULL);
	t->fn(t->arg);
}

void
wsloop_timer_set(struct wsloop *l, struct wsloop_timer *t, uint64_t ms,
    void (*fn)(void *arg), void *arg)
{
	assert(fn != NULL);
	t->fn = fn;
	t->arg = arg;
	lws_sul_schedule(l->lws, 0, &t->sul, wsloop_on_timer,
	    (lws_usec_t)(ms * 1000));
}

void
wsloop_timer_clear(struct wsloop *l, struct wsloop_timer *t)
{
	lws_sul_schedule(l->lws, 0, &t->sul, wsloop_on_timer,
	    LWS_SET_TIMER_USEC_CANCEL);
}

/* --- descriptors --- */

/*
 * libwebsockets closes its descriptor when the peer hangs up, with unread data
 * in it: so it polls a duplicate.
 */
struct wswatch *
wswatch_new(struct wsloop *l, int fd, const struct wswatch_events *events,
    void *arg)
{
	lws_adopt_desc_t	 desc;
	struct wswatch		*w;

	assert(l->vhost != NULL && fd >= 0);
	if ((w = calloc(1, sizeof(*w))) == NULL)
		return NULL;
	w->loop = l;
	w->events = events;
	w->arg = arg;
	memset(&desc, 0, sizeof(desc));
	if ((desc.fd.filefd = fcntl(fd, F_DUPFD_CLOEXEC, 3)) == -1) {
		free(w);
		return NULL;
	}
	desc.vh = l->vhost;
	desc.type = LWS_ADOPT_RAW_FILE_DESC;
	desc.vh_prot_name = protocols[0].name;
	desc.opaque = w;
	if ((w->wsi = lws_adopt_descriptor_vhost_via_info(&desc)) == NULL) {
		free(w);		/* it closed the descriptor */
		errno = ENOMEM;
		return NULL;
	}
	return w;
}

void
wswatch_free(struct wswatch **wp)
{
	struct wswatch	*w = *wp;

	*wp = NULL;
	if (w == NULL)
		return;
	wsloop_timer_clear(w->loop, &w->again);
	if (w->wsi != NULL) {
		/* This may be a callback of wsi: close it later. */
		lws_set_opaque_user_data(w->wsi, NULL);
		lws_set_timeout(w->wsi, PENDING_TIMEOUT_USER_OK,
		    LWS_TO_KILL_ASYNC);
	}
	free(w);
}

void
wswatch_read(struct wswatch *w, bool wanted)
{
	if (w->wsi != NULL)
		(void)lws_rx_flow_control(w->wsi, wanted);
}

void
wswatch_write(struct wswatch *w)
{
	if (w->in_write)
		wsloop_timer_set(w->loop, &w->again, 0, want_write, w);
	else
		want_write(w);
}
