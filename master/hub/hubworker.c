#include "master/hub/hubworker.h"

#include <sys/resource.h>
#include <sys/socket.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/linux/confine.h"
#include "common/log.h"
#include "common/process/sigfd.h"
#include "common/repeat.h"
#include "master/hub/hub.h"
#include "master/hub/hubapi.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubconfine.h"
#include "master/hub/hubctl.h"
#include "master/hub/hubfleet.h"
#include "master/hub/hublink.h"

#define ACCEPT_TURN	64	/* connections in a turn of the loop */
#define PAUSE_MS	100	/* when descriptors run out */
#define SWEEP_MS	10000
#define FLUSH_MS	300	/* for close frames, at the end */
#define NOFILE_SPARE	64

struct hubworker;

struct hubworker_door {
	struct hubworker	*worker;
	struct hublistener	*listener;
	struct io		 io;
};

struct hubworker {
	struct hub		 hub;
	struct hubworker_start	*start;
	struct hubworker_door	*door;
	struct timer		 pause, sweep, flush;
	struct repeat		 said;		/* why it pauses */
	struct io		 link;
	struct sigfd		*signals;
	struct hubnames		*names;
};

/* --- accepting --- */

static void
hubworker_address(const struct sockaddr_storage *ss, char *out, size_t size)
{
	const struct sockaddr_in	*in = (const void *)ss;
	const struct sockaddr_in6	*in6 = (const void *)ss;
	const void			*at = &in->sin_addr;
	int				 family = ss->ss_family;

	out[0] = '\0';
	if (family == AF_INET6) {
		at = &in6->sin6_addr;
		if (IN6_IS_ADDR_V4MAPPED(&in6->sin6_addr)) {
			at = &in6->sin6_addr.s6_addr[12];
			family = AF_INET;
		}
	} else if (family != AF_INET) {
		return;
	}
	if (inet_ntop(family, at, out, (socklen_t)size) == NULL)
		out[0] = '\0';
}

static void
hubworker_stop_accepting(struct hubworker *w)
{
	size_t	 i;

	for (i = 0; i < w->start->nlistener; i++)
		io_stop(&w->door[i].io);
}

static void
hubworker_accept(void *arg)
{
	struct hubworker	*w = arg;
	size_t			 i;

	for (i = 0; i < w->start->nlistener; i++)
		if (io_start(&w->door[i].io) == -1)
			log_warn("%s", w->start->listener[i].url);
}

/* Whether it may be served at all; if not, that is counted. */
static bool
hubworker_may_enter(struct hub *h, const struct hublistener *l,
    const char *address)
{
	const struct hubconf	*c = &h->site->conf;

	/*
	 * Whoever watches must not take us for dead, and those who have their
	 * answer keep nobody out.
	 */
	if (h->conns.n >= c->max_connections && !l->is_metrics &&
	    !hubconn_loop_make_room(&h->conns)) {
		h->doors.counts.full++;
		return false;
	}
	if (l->is_proxied && c->proxy_from[0] != '\0' && address[0] != '\0' &&
	    conf_address_list(c->proxy_from, address) != 1) {
		h->doors.counts.strangers++;
		return false;
	}
	return true;
}

static void
hubworker_on_accept(void *arg)
{
	struct hubworker_door	*d = arg;
	struct hubworker	*w = d->worker;
	struct hub		*h = &w->hub;
	struct hublistener	*l = d->listener;
	struct sockaddr_storage	 ss;
	socklen_t		 len;
	char			 address[DOOR_ADDRESS_MAX];
	unsigned		 n;
	int			 fd;

	for (n = 0; n < ACCEPT_TURN; n++) {
		len = sizeof(ss);
		memset(&ss, 0, sizeof(ss));
		if ((fd = accept4(l->fd, (struct sockaddr *)&ss, &len,
		    SOCK_NONBLOCK | SOCK_CLOEXEC)) == -1) {
			if (errno == EMFILE || errno == ENFILE ||
			    errno == ENOMEM || errno == ENOBUFS) {
				if (repeat_is_due(&w->said, strerror(errno),
				    clock_ms()))
					log_warn("accept");
				hubworker_stop_accepting(w);
				timer_set(&w->pause, PAUSE_MS);
			}
			return;
		}
		hubworker_address(&ss, address, sizeof(address));
		if (!hubworker_may_enter(h, l, address) ||
		    door_open(&h->doors, fd, l->is_tls ? h->site->tls : NULL,
		    l->is_proxied, l->is_metrics, address) == -1)
			fd_close(&fd);
	}
}

/* --- what happens --- */

static void
hub_on_request(void *arg, struct door *d)
{
	hubapi_request(arg, d);
}

static const struct door_events hub_door_events = { hub_on_request };

static void
hub_tell_executor(struct hub *h, const char *event, const struct executor *x,
    const char *why)
{
	char	 id[REGISTRATION_TEXT + 1];

	registration_text(x->registration, id);
	hubaudit(h, event, (const struct hubaudit_item[]){
	    { "subject", x->subject->name, 0 },
	    { "environment", x->environment, 0 },
	    { "address", x->address, 0 },
	    { "registration", id, 0 },
	    { "bytes_in", NULL, x->bytes_in },
	    { "bytes_out", NULL, x->bytes_out },
	    { why != NULL ? "reason" : NULL, why, 0 },
	    { NULL, NULL, 0 } });
}

static void
hub_on_attach(void *arg, const struct executor *x)
{
	struct hub	*h = arg;

	log_debug("executor of %s attached", x->environment);
	hub_tell_executor(h, "attach", x, NULL);
	h->engine->ops->hold(h->engine, x->environment);
}

static void
hub_on_detach(void *arg, const struct executor *x, const char *why)
{
	struct hub	*h = arg;

	log_debug("executor of %s detached: %s", x->environment, why);
	hub_tell_executor(h, "detach", x, why);
	h->engine->ops->release(h->engine, x->environment);
}

static void
hub_tell_harness(struct hub *h, const char *event, const struct harness *n,
    const char *why)
{
	hubaudit(h, event, (const struct hubaudit_item[]){
	    { "subject", n->subject->name, 0 },
	    { "environment", n->executor->environment, 0 },
	    { "address", n->address, 0 },
	    { "bytes_in", NULL, n->bytes_in },
	    { "bytes_out", NULL, n->bytes_out },
	    { why != NULL ? "reason" : NULL, why, 0 },
	    { NULL, NULL, 0 } });
}

static void
hub_on_harness(void *arg, const struct harness *n)
{
	hub_tell_harness(arg, "open", n, NULL);
}

static void
hub_on_harness_gone(void *arg, const struct harness *n, const char *why)
{
	hub_tell_harness(arg, "close", n, why);
}

static const struct switchboard_events hub_board_events = {
	hub_on_attach, hub_on_detach, hub_on_harness, hub_on_harness_gone
};

/* --- life --- */

static void
hubworker_on_flush(void *arg)
{
	struct hubworker	*w = arg;

	event_base_loopbreak(w->hub.base);
}

static void
hubworker_stop(struct hubworker *w)
{
	struct hub	*h = &w->hub;
	struct executor	*x;

	if (timer_is_set(&w->flush))
		return;
	log_info("stopping: %zu executors", h->board.executors.count);
	hubworker_stop_accepting(w);
	timer_stop(&w->pause);
	h->drain.is_on = true;
	while ((x = map_first(&h->board.executors)) != NULL)
		switchboard_detach(x, WSLINK_RESTART, "restarting");
	timer_set(&w->flush, FLUSH_MS);
}

/* Executors whose token is gone, or may no longer be here. */
static void
hubworker_revoke(struct hub *h)
{
	const struct map	*all = &h->board.executors;
	struct executor		*x, *next;
	struct identity		 who;
	uint64_t		 now = (uint64_t)time(NULL);

	for (x = map_first(all); x != NULL; x = next) {
		next = map_next(all, &x->node);
		if (!site_recall(h->site, x->subject->name, now, &who))
			switchboard_detach(x, WSLINK_POLICY, "revoked");
	}
}

static void
hubworker_reload(struct hubworker *w, int fd)
{
	struct hub		*h = &w->hub;
	struct site_files	 f;
	struct site		*s = NULL;
	struct conf_error	 e = { "" };

	if (site_unpack(&f, fd) == -1) {
		conf_fail(&e, "%s", strerror(errno));
	} else {
		s = site_new(&f, &e);
		site_files_fini(&f);
	}
	if (s == NULL) {
		log_warnx("reload: %.500s", e.text);
		hubctl_reloaded(w->hub.ctl, e.text);
		return;
	}
	site_free(&h->site);
	h->site = s;
	h->doors.max = s->conf.max_unauthenticated;
	h->board.links.interval = s->conf.ping_interval;
	log_set_level((enum log_level)s->conf.log_level);
	HUB_COUNT(h, reloads);
	hubworker_revoke(h);
	log_info("the configuration was read again");
	hubctl_reloaded(w->hub.ctl, NULL);
}

static void
hubworker_on_link(void *arg)
{
	struct hubworker	*w = arg;
	struct hublink_message	 m;
	int			 r;

	while ((r = hublink_recv(w->start->link, &m)) == 1) {
		if (m.word == HUBLINK_SITE && m.fd != -1)
			hubworker_reload(w, m.fd);
		else if (m.word == HUBLINK_FAILED)
			hubctl_reloaded(w->hub.ctl, m.text);
		else if (m.word == HUBLINK_STOP)
			hubworker_stop(w);
		if (m.word == HUBLINK_AUDIT && m.fd != -1) {
			fd_close(&w->hub.audit);
			w->hub.audit = m.fd;
			m.fd = -1;
		}
		fd_close(&m.fd);
	}
	if (r == -1)
		event_base_loopbreak(w->hub.base);
}

static void
hubworker_want_reload(void *arg)
{
	struct hubworker	*w = arg;

	if (hublink_send(w->start->link, HUBLINK_RELOAD, "", -1) == -1)
		hubctl_reloaded(w->hub.ctl, strerror(errno));
}

static const struct hubctl_events hub_ctl_events = { hubworker_want_reload };

static void
hubworker_on_sweep(void *arg)
{
	struct hubworker	*w = arg;
	struct hub		*h = &w->hub;
	char			 text[64];

	subjects_sweep(&h->subjects, clock_ms());
	snprintf(text, sizeof(text), "%zu %zu", h->board.executors.count,
	    h->board.nharness);
	/* A master that does not take it hears the next one. */
	(void)!hublink_send(w->start->link, HUBLINK_COUNTS, text, -1);
	timer_set(&w->sweep, SWEEP_MS);
}

static void
hubworker_on_signal(void *arg, int sig, pid_t from)
{
	(void)sig;
	(void)from;
	hubworker_stop(arg);
}

static int
hubworker_init(struct hubworker *w, struct hubworker_start *start)
{
	static const int	 signals[] = { SIGTERM, 0 };
	struct hub		*h = &w->hub;
	size_t			 i;

	assert(start->site != NULL && start->nlistener > 0);
	w->start = start;
	h->site = start->site;
	h->audit = start->audit;
	h->started = (uint64_t)time(NULL);
	snprintf(h->name, sizeof(h->name), "%s", h->site->conf.hub_name);
	if (h->name[0] == '\0' && gethostname(h->name, sizeof(h->name) - 1) ==
	    -1)
		strcpy(h->name, "hub");
	if ((h->base = ev_base_new()) == NULL ||
	    (h->penalties = penalties_new()) == NULL ||
	    (w->signals = sigfd_new(h->base, signals, hubworker_on_signal,
	    w)) == NULL || (w->door = calloc(start->nlistener,
	    sizeof(*w->door))) == NULL)
		return -1;
	hubconn_loop_init(&h->conns, h->base);
	hubsplices_init(&h->splices, &h->conns);
	LIST_INIT(&h->judging);
	if ((h->engine = hubfleet_engine(h, &w->names)) == NULL)
		return -1;
	doors_init(&h->doors, &h->conns, &hub_door_events, h);
	h->doors.max = h->site->conf.max_unauthenticated;
	switchboard_init(&h->board, h->base, h->site->conf.ping_interval,
	    &hub_board_events, h);
	subjects_init(&h->subjects);
	replay_init(&h->used);
	replay_init(&h->evicted);
	hubdrain_init(&h->drain, h->base, &h->board);
	timer_init(&w->pause, h->base, hubworker_accept, w);
	timer_init(&w->sweep, h->base, hubworker_on_sweep, w);
	timer_init(&w->flush, h->base, hubworker_on_flush, w);
	timer_set(&w->sweep, SWEEP_MS);
	for (i = 0; i < start->nlistener; i++) {
		w->door[i].worker = w;
		w->door[i].listener = &start->listener[i];
		io_init(&w->door[i].io, h->base, start->listener[i].fd,
		    EV_READ | EV_PERSIST, hubworker_on_accept, &w->door[i]);
	}
	io_init(&w->link, h->base, start->link, EV_READ | EV_PERSIST,
	    hubworker_on_link, w);
	io_urgent(&w->link);
	if (io_start(&w->link) == -1 || (h->ctl = hubctl_new(h,
	    start->control, &hub_ctl_events, w)) == NULL)
		return -1;
	hubworker_accept(w);
	return 0;
}

static void
hubworker_fini(struct hubworker *w)
{
	struct hub	*h = &w->hub;

	hubctl_free(&h->ctl);
	hubfleet_stop(h);
	hubworker_stop_accepting(w);
	io_stop(&w->link);
	timer_stop(&w->pause);
	timer_stop(&w->sweep);
	timer_stop(&w->flush);
	hubdrain_end(&h->drain);
	switchboard_fini(&h->board, WSLINK_RESTART, "restarting");
	doors_fini(&h->doors);
	hubsplices_fini(&h->splices);
	h->engine->ops->free(h->engine);
	hubconn_loop_fini(&h->conns);
	subjects_fini(&h->subjects);
	replay_fini(&h->used);
	replay_fini(&h->evicted);
	penalties_free(&h->penalties);
	hubnames_free(&w->names);
	sigfd_free(&w->signals);
	event_base_free(h->base);
	site_free(&h->site);
	free(w->door);
}

/* As many descriptors as connections, where we may. */
static void
hubworker_raise_nofile(uint64_t wanted)
{
	struct rlimit	 rl;

	wanted += NOFILE_SPARE;
	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		return;
	if (rl.rlim_max < wanted)
		rl.rlim_max = wanted;
	rl.rlim_cur = wanted;
	if (setrlimit(RLIMIT_NOFILE, &rl) == 0)
		return;
	if (fd_raise_limit(&rl) == 0 && rl.rlim_max < wanted)
		log_info("MaxConnections: at most %llu open files",
		    (unsigned long long)rl.rlim_max);
}

/* Whoever looks up names needs no secrets. */
static void
hubworker_forget(void *arg)
{
	struct hubworker_start	*start = arg;

	site_free(&start->site);
}

int
hubworker_run(struct hubworker_start *start)
{
	static struct hubworker	 w;

	log_set_role("hub");
	signal(SIGPIPE, SIG_IGN);
	hubworker_raise_nofile(start->site->conf.max_connections);
	if (confine_to_parent() == -1) {
		log_warn("confinement");
		return 1;
	}
	site_lock(start->site);
	if (hubconfine_user(start->site->conf.hub_user) == -1)
		return 1;
	if (hubfleet_needs_names(start->site) &&
	    (w.names = hubnames_new(hubworker_forget, start)) == NULL) {
		log_warn("names");
		return 1;
	}
	if (hubworker_init(&w, start) == -1) {
		log_warn("event loop");
		return 1;
	}
	if (hubconfine(w.hub.engine->is_shared) == -1) {
		log_warn("confinement");
		return 1;
	}
	if (hublink_send(start->link, HUBLINK_READY, "", -1) == -1 ||
	    event_base_dispatch(w.hub.base) == -1) {
		log_warn("event loop");
		return 1;
	}
	hubworker_fini(&w);
	return 0;
}
