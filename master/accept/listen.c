#include "master/accept/listen.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/net/endpoint.h"
#include "common/net/tcp.h"
#include "common/rundirs.h"
#include "master/accept/gate.h"
#include "master/accept/listen_place.h"
#include "master/accept/policy.h"
#include "master/auth/peer.h"
#include "master/auth/peer_sandbox.h"
#include "master/auth/tokens.h"
#include "master/workers/child.h"
#include "master/workers/records.h"
#include "master/world.h"

#define BACKLOG		4096
#define PAUSE_MS	100	/* when descriptors run out */
#define PAUSE_LOG_MS		60000	/* between log lines about a pause */

static void	 listen_on_accept(void *);
static void	 listen_on_pause(void *);

/* --- opening --- */

/* Write a TCP address to l->url. */
static void
show_tcp(struct listener *l, const union endpoint_address *a)
{
	const char	*scheme = l->is_metrics ? "http" : "ws";
	char		 host[INET6_ADDRSTRLEN] = "";

	if (a->any.sa_family == AF_INET) {
		inet_ntop(AF_INET, &a->in.sin_addr, host, sizeof(host));
		snprintf(l->url, sizeof(l->url), "%s://%s:%u", scheme, host,
		    ntohs(a->in.sin_port));
	} else {
		inet_ntop(AF_INET6, &a->in6.sin6_addr, host, sizeof(host));
		snprintf(l->url, sizeof(l->url), "%s://[%s]:%u", scheme, host,
		    ntohs(a->in6.sin6_port));
	}
}

/* Beyond loopback only a token identifies a client: require some there. */
static int
check_reach(const char *url, const union endpoint_address *a, bool has_tokens,
    struct conf_error *e)
{
	if (has_tokens || tcp_is_loopback(&a->any))
		return 0;
	return conf_fail(e, "%.300s: not a loopback address, and no clients "
	    "are served there without authentication: see Token, TokenFile, "
	    "BearerSecretFile and BearerKeysFile", url);
}

/* Parse an address in the settings; for metrics without "ws://". */
static int
parse_url(const char *url, bool is_metrics, union endpoint_address *a,
    socklen_t *len_out, struct conf_error *e)
{
	struct endpoint		 ep;
	enum endpoint_error	 error;

	if (!endpoint_is_one_line(url))
		return conf_fail(e, "a control character in the address of a "
		    "listener");
	error = is_metrics && strncmp(url, "unix:", 5) != 0 ?
	    endpoint_parse_tcp(&ep, url) : endpoint_parse(&ep, url);
	if (error == ENDPOINT_OK)
		error = endpoint_check_listen(&ep);
	if (error != ENDPOINT_OK)
		return conf_fail(e, "%.300s: %s; expected %sIP:PORT with a "
		    "numeric IP, %sunix:PATH with an absolute path of up to "
		    "%zu bytes%s", url, endpoint_strerror(error),
		    is_metrics ? "" : "ws://", is_metrics ? "or " : "",
		    sizeof(a->un.sun_path) - 1, is_metrics ? "" :
		    ", or stdio");
	assert(ep.kind != ENDPOINT_STDIO);	/* endpoint_is_stdio() */
	*len_out = endpoint_address(&ep, a);
	return 0;
}

/* Whether an address is bound anew each time: that of port 0. */
static bool
is_any_port(const union endpoint_address *a)
{
	return (a->any.sa_family == AF_INET && a->in.sin_port == 0) ||
	    (a->any.sa_family == AF_INET6 && a->in6.sin6_port == 0);
}

/* Check one of a list, also that it is not there before. */
static int
check_listed(const struct conf *c, size_t i, bool is_metrics,
    bool has_tokens, struct conf_error *e)
{
	const struct conf_list	*l = is_metrics ? &c->metrics_listen :
				    &c->listen;
	union endpoint_address	 a;
	const char		*url = l->item[i];
	socklen_t		 len;
	size_t			 k;

	if (!is_metrics && endpoint_is_stdio(url))
		return 0;
	if (parse_url(url, is_metrics, &a, &len, e) == -1)
		return -1;
	for (k = 0; k < i && !is_any_port(&a); k++)
		if (strcmp(l->item[k], url) == 0)
			return conf_fail(e, "%.300s: it is there twice", url);
	if (a.any.sa_family == AF_UNIX)
		return listen_place_check(c, url, a.un.sun_path, e);
	return is_metrics ? 0 : check_reach(url, &a, has_tokens, e);
}

int
listen_check(const struct conf *c, bool has_tokens, struct conf_error *e)
{
	struct conf_error	 all = { .text = "" };
	size_t			 i;

	for (i = 0; i < c->listen.n; i++)
		if (check_listed(c, i, false, has_tokens, e) == -1) {
			conf_at(e, conf_where(c, CONF_ROW_listen, i));
			conf_more(&all, e);
		}
	for (i = 0; i < c->metrics_listen.n; i++)
		if (check_listed(c, i, true, has_tokens, e) == -1) {
			conf_at(e, conf_where(c, CONF_ROW_metrics_listen, i));
			conf_more(&all, e);
		}
	if (all.text[0] == '\0')
		return 0;
	*e = all;
	return -1;
}

static int
listen_fail_errno(struct conf_error *e, const char *url)
{
	return conf_fail(e, "%.300s: %s", url, strerror(errno));
}

/* Prepare to identify TCP clients: by sandbox mark, by uid. */
static void
begin_tcp(struct world *w, bool is_metrics)
{
	if (!is_metrics) {
		w->sockmark = peer_sandbox_brand(w->rundir.path);
		if (w->records != NULL)
			records_head(w->records)->has_marks = 1;
	}
	if (w->peer_way != PEER_WAY_NONE)
		return;
	switch (w->peer_way = peer_find_way()) {
	case PEER_WAY_NONE:
		log_warnx("this kernel does not tell which user a TCP "
		    "connection belongs to: on ws: only clients with a token "
		    "are served");
		break;
	case PEER_WAY_DIAG:
		log_info("users of TCP clients are looked up with sock_diag");
		break;
	case PEER_WAY_TABLE:
		log_warnx("no tcp_diag in this kernel: users of TCP clients "
		    "are looked up in /proc/net/tcp; sandboxes have no "
		    "network");
		break;
	}
}

static int
open_tcp(struct listener *l, const char *url, union endpoint_address *a,
    socklen_t len, struct conf_error *e)
{
	int	 on = 1;

	assert(l->fd == -1 && l->path == NULL);
	if ((l->fd = socket(a->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1 ||
	    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on,
	    sizeof(on)) == -1 ||
	    tcp_tune(l->fd, &a->any) == -1 ||
	    bind(l->fd, &a->any, len) == -1 ||
	    listen(l->fd, BACKLOG) == -1 ||
	    getsockname(l->fd, &a->any, &len) == -1)
		return listen_fail_errno(e, url);
	begin_tcp(l->all->world, l->is_metrics);
	show_tcp(l, a);
	return 0;
}

/* Unlink a socket of ours on which no process listens any more. */
static int
remove_stale(const union endpoint_address *a, socklen_t len)
{
	struct stat	 st;
	int		 fd, r;

	if (lstat(a->un.sun_path, &st) == -1)
		return errno == ENOENT ? 0 : -1;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid()) {
		errno = EEXIST;
		return -1;
	}
	if ((fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return -1;
	r = connect(fd, &a->any, len);
	if (r == 0 || errno != ECONNREFUSED) {
		fd_close(&fd);
		errno = EADDRINUSE;
		return -1;
	}
	fd_close(&fd);
	return unlink(a->un.sun_path);
}

static int
open_unix(struct listener *l, const char *url, const union endpoint_address *a,
    socklen_t len, struct conf_error *e)
{
	mode_t	 mask;
	int	 r;

	assert(l->fd == -1 && l->path == NULL);
	if (remove_stale(a, len) == -1 ||
	    (l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return listen_fail_errno(e, url);
	/* A root master serves all users, another one only its own. */
	mask = umask(l->all->world->start.is_root ? 0111 : 0177);
	r = bind(l->fd, &a->any, len);
	umask(mask);
	if (r == -1 || (l->path = strdup(a->un.sun_path)) == NULL ||
	    listen(l->fd, BACKLOG) == -1)
		return listen_fail_errno(e, url);
	snprintf(l->url, sizeof(l->url), "unix:%s", l->path);
	return 0;
}

static void
listener_free(struct listener *l)
{
	const struct world	*w = l->all->world;

	io_stop(&l->accept_ev);
	timer_stop(&l->pause_ev);
	if (l->spec != NULL)
		w->events->on_listener_gone(w->master, l->spec, l->is_metrics);
	fd_close(&l->fd);
	if (l->path != NULL)
		unlink(l->path);
	free(l->path);
	free(l->spec);
	free(l);
}

static struct listener *
listener_new(struct listeners *ls)
{
	struct listener	*l;

	if ((l = calloc(1, sizeof(*l))) == NULL)
		return NULL;
	l->all = ls;
	l->fd = -1;
	return l;
}

/* Start to accept, and add the listener to the list.  0, or -1 with errno. */
static int
listener_start(struct listener *l, struct listener_list *list)
{
	struct listeners	*ls = l->all;

	assert(l->fd != -1);
	assert(list == (l->is_metrics ? &ls->metrics : &ls->list));
	timer_init(&l->pause_ev, ls->world->base, listen_on_pause, l);
	io_init(&l->accept_ev, ls->world->base, l->fd, EV_READ | EV_PERSIST,
	    listen_on_accept, l);
	if (io_start(&l->accept_ev) == -1)
		return -1;
	TAILQ_INSERT_TAIL(list, l, entry);
	return 0;
}

/* Whether a URL is the address of a socket that was passed in. */
static bool
is_passed(const struct listener_list *list, const char *url)
{
	const struct listener	*l;
	struct listener		 wanted = { .fd = -1 };
	union endpoint_address	 a;
	struct conf_error	 e;
	socklen_t		 len;

	if (strncmp(url, "ws://", 5) == 0 &&
	    parse_url(url, false, &a, &len, &e) == 0)
		show_tcp(&wanted, &a);
	else
		snprintf(wanted.url, sizeof(wanted.url), "%s", url);
	TAILQ_FOREACH(l, list, entry)
		if (l->is_passed && strcmp(l->url, wanted.url) == 0)
			return true;
	return false;
}

/* Whether a descriptor is a listening stream socket. */
static bool
is_listening(int fd)
{
	int		 listens;
	socklen_t	 len = sizeof(listens);

	return fd_is_socket(fd, SOCK_STREAM) && getsockopt(fd, SOL_SOCKET,
	    SO_ACCEPTCONN, &listens, &len) == 0 && listens != 0;
}

/* Take a socket that was open before us, as open_tcp() and open_unix() do. */
static int
take_inherited(struct listener *l, int fd, const char *url,
    struct conf_error *e)
{
	union endpoint_address	 a;
	socklen_t		 len = sizeof(a);

	memset(&a, 0, sizeof(a));
	l->fd = fd;
	if (!is_listening(fd) || fd_nonblock(fd, 1) == -1 ||
	    getsockname(fd, &a.any, &len) == -1)
		return listen_fail_errno(e, url);
	if (a.any.sa_family != AF_UNIX) {
		begin_tcp(l->all->world, l->is_metrics);
		show_tcp(l, &a);
		return 0;
	}
	if ((l->path = strdup(a.un.sun_path)) == NULL)
		return listen_fail_errno(e, url);
	snprintf(l->url, sizeof(l->url), "unix:%s", l->path);
	return 0;
}

static int
open_by_kind(struct listener *l, const char *url, struct conf_error *e)
{
	int	 fd = inherited_take(&l->all->inherited, url,
		    l->is_metrics);

	union endpoint_address	 a;
	socklen_t		 len;

	if (fd != -1)
		return take_inherited(l, fd, url, e);
	if (parse_url(url, l->is_metrics, &a, &len, e) == -1)
		return -1;
	return a.any.sa_family == AF_UNIX ? open_unix(l, url, &a, len, e) :
	    open_tcp(l, url, &a, len, e);
}

static int
open_one(struct listeners *ls, struct listener_list *list, const char *url,
    struct conf_error *e)
{
	const struct world	*w = ls->world;
	struct listener		*l;

	if ((l = listener_new(ls)) == NULL)
		return listen_fail_errno(e, url);
	l->is_wanted = true;
	l->is_metrics = list == &ls->metrics;
	if (open_by_kind(l, url, e) == -1)
		goto fail;
	if ((l->spec = strdup(url)) == NULL || listener_start(l, list) == -1) {
		listen_fail_errno(e, url);
		goto fail;
	}
	w->events->on_listener(w->master, l->fd, l->spec, l->is_metrics);
	return 0;
 fail:
	listener_free(l);
	return -1;
}

/* --- adopting --- */

static int
adopt_tcp(struct listener *l, const union endpoint_address *a,
    struct conf_error *e)
{
	show_tcp(l, a);
	if (check_reach(l->url, a, tokens_any(l->all->world->tokens), e) == -1)
		return -1;
	/* All other options are the creator's, see systemd.socket(5). */
	if (tcp_no_delay(l->fd) == -1)
		return listen_fail_errno(e, l->url);
	begin_tcp(l->all->world, false);
	return 0;
}

/* The file is the creator's: leave l->path NULL, so that it is not unlinked. */
static int
adopt_unix(struct listener *l, const union endpoint_address *a, socklen_t len,
    struct conf_error *e)
{
	const char	*path = a->un.sun_path;
	size_t		 n = len <= offsetof(struct sockaddr_un, sun_path) ?
			    0 : len - offsetof(struct sockaddr_un, sun_path);

	if (n > 0 && path[0] != '\0')
		snprintf(l->url, sizeof(l->url), "unix:%.*s",
		    (int)strnlen(path, n), path);
	else if (n > 1 && memchr(path + 1, '\0', n - 1) == NULL)
		snprintf(l->url, sizeof(l->url), "unix:@%.*s", (int)n - 1,
		    path + 1);
	else
		snprintf(l->url, sizeof(l->url), "unix:@");
	if (endpoint_is_one_line(l->url))
		return 0;
	return conf_fail(e, "a control character in the address of a "
	    "listener");
}

static int
adopt(struct listener *l, const char *what, struct conf_error *e)
{
	union endpoint_address	 a;
	socklen_t		 len = sizeof(a);

	memset(&a, 0, sizeof(a));
	if (!is_listening(l->fd))
		return conf_fail(e, "%s: not a listening stream socket", what);
	if (getsockname(l->fd, &a.any, &len) == -1 ||
	    fd_nonblock(l->fd, 1) == -1)
		return listen_fail_errno(e, what);
	if (a.any.sa_family == AF_UNIX)
		return adopt_unix(l, &a, len, e);
	if (a.any.sa_family == AF_INET || a.any.sa_family == AF_INET6)
		return adopt_tcp(l, &a, e);
	return conf_fail(e, "%s: neither TCP nor a Unix socket", what);
}

int
listen_adopt(struct listeners *ls, int *fd, const char *name,
    struct conf_error *e)
{
	struct listener	*l;
	char		 what[64];

	assert(*fd != -1);
	snprintf(what, sizeof(what), "descriptor %d (%.40s)", *fd,
	    name != NULL && name[0] != '\0' ? name : "without a name");
	if ((l = listener_new(ls)) == NULL)
		return listen_fail_errno(e, what);
	l->fd = *fd;
	*fd = -1;
	l->is_passed = l->is_wanted = true;
	if (adopt(l, what, e) == -1)
		goto fail;
	if (listener_start(l, &ls->list) == -1) {
		listen_fail_errno(e, what);
		goto fail;
	}
	log_info("%s: %s", what, l->url);
	return 0;
 fail:
	listener_free(l);
	return -1;
}

/* --- another configuration --- */

static struct listener *
find_unclaimed(struct listener_list *list, const char *spec)
{
	struct listener	*l;

	TAILQ_FOREACH(l, list, entry)
		if (!l->is_wanted && l->spec != NULL &&
		    strcmp(l->spec, spec) == 0)
			return l;
	return NULL;
}

static void
close_from(struct listener_list *list, struct listener *l)
{
	struct listener	*next;

	for (; l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		TAILQ_REMOVE(list, l, entry);
		listener_free(l);
	}
}

/*
 * Sandboxed commands of existing sessions have no mark, so that over TCP they
 * would pass for their users (master/auth/peer_sandbox.h).
 */
static bool
is_too_late(const struct listeners *ls, const char *spec)
{
	const struct child	*c;

	if (ls->world->sockmark != 0 || strncmp(spec, "ws:", 3) != 0)
		return false;
	TAILQ_FOREACH(c, &ls->children->list, entry)
		if (c->client != CHILD_SPARE)
			return true;
	return false;
}

static int
open_another(struct listeners *ls, struct listener_list *list, const char *spec,
    struct conf_error *e)
{
	if (list == &ls->list && is_too_late(ls, spec))
		return conf_fail(e, "%.300s: the first address for TCP needs "
		    "a restart when there are sessions", spec);
	return open_one(ls, list, spec, e);
}

/* Open the new sockets of one kind; on error none. */
static int
extend(struct listeners *ls, struct listener_list *list,
    const struct conf_list *specs, unsigned *added, struct conf_error *e)
{
	struct listener	*l, *last;
	const char	*spec;
	size_t		 i;

	last = TAILQ_LAST(list, listener_list);
	TAILQ_FOREACH(l, list, entry)
		l->is_wanted = l->is_passed;
	for (i = 0; i < specs->n; i++) {
		spec = specs->item[i];
		if (list == &ls->list && (endpoint_is_stdio(spec) ||
		    is_passed(list, spec)))
			continue;
		if ((l = find_unclaimed(list, spec)) != NULL) {
			l->is_wanted = true;
			continue;
		}
		if (open_another(ls, list, spec, e) == -1) {
			close_from(list, last != NULL ?
			    TAILQ_NEXT(last, entry) : TAILQ_FIRST(list));
			return -1;
		}
		++*added;
	}
	return 0;
}

int
listen_extend(struct listeners *ls, const struct conf *c, unsigned *added_out,
    struct conf_error *e)
{
	struct listener	*last = TAILQ_LAST(&ls->list, listener_list);

	*added_out = 0;
	if (extend(ls, &ls->list, &c->listen, added_out, e) == -1)
		return -1;
	if (extend(ls, &ls->metrics, &c->metrics_listen, added_out, e) ==
	    0)
		return 0;
	close_from(&ls->list, last != NULL ? TAILQ_NEXT(last, entry) :
	    TAILQ_FIRST(&ls->list));
	return -1;
}

static unsigned
listen_drop_unwanted(struct listener_list *list)
{
	struct listener	*l, *next;
	unsigned	 n = 0;

	for (l = TAILQ_FIRST(list); l != NULL; l = next) {
		next = TAILQ_NEXT(l, entry);
		if (l->is_wanted)
			continue;
		assert(!l->is_passed);
		log_info("no longer listening on %s", l->url);
		TAILQ_REMOVE(list, l, entry);
		listener_free(l);
		n++;
	}
	return n;
}

unsigned
listen_reduce(struct listeners *ls)
{
	return listen_drop_unwanted(&ls->list) +
	    listen_drop_unwanted(&ls->metrics);
}

/* Write a temporary file and rename it: a reader never sees part of it. */
static int
write_listeners(const struct listeners *ls, const char *path, const char *fresh)
{
	const struct listener	*l;
	FILE			*f;
	int			 fd, r = 0;

	if (unlink(fresh) == -1 && errno != ENOENT)
		return -1;
	if ((fd = open(fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0644)) == -1)
		return -1;
	if ((f = fdopen(fd, "w")) == NULL) {
		fd_close(&fd);
		return -1;
	}
	TAILQ_FOREACH(l, &ls->list, entry)
		if (fprintf(f, "%s\n", l->url) < 0)
			r = -1;
	return fclose(f) == EOF || r == -1 ? -1 : rename(fresh, path);
}

void
listen_publish(const struct listeners *ls)
{
	const char	*dir = ls->world->rundir.path;
	char		*path = NULL, *fresh = NULL;

	if (dir == NULL)
		return;		/* no run directory to write to */
	if (asprintf(&path, "%s/" RUNDIRS_LISTEN, dir) == -1)
		path = NULL;
	if (asprintf(&fresh, "%s/" RUNDIRS_LISTEN ".new", dir) == -1)
		fresh = NULL;
	if (path == NULL || fresh == NULL || write_listeners(ls, path, fresh) ==
	    -1) {
		log_warn("%s/" RUNDIRS_LISTEN, dir);
		if (fresh != NULL)
			unlink(fresh);
	}
	free(path);
	free(fresh);
}

static void
unpublish(const struct listeners *ls)
{
	char	*path;

	if (ls->world->rundir.path == NULL ||
	    asprintf(&path, "%s/" RUNDIRS_LISTEN, ls->world->rundir.path) == -1)
		return;
	unlink(path);
	free(path);
}

void
listen_close_all(struct listeners *ls)
{
	unpublish(ls);
	close_from(&ls->list, TAILQ_FIRST(&ls->list));
	close_from(&ls->metrics, TAILQ_FIRST(&ls->metrics));
}

/* --- accepting --- */

static void
pause_accepting(struct listener *l, const char *why)
{
	assert(!timer_is_set(&l->pause_ev));
	STAT_INC(l->all->world, paused);
	if (l->paused == 0 || clock_ms() - l->paused >= PAUSE_LOG_MS) {
		log_warnx("%s: pausing accept, repeatedly: %s", l->url, why);
		l->paused = clock_ms();
	}
	io_stop(&l->accept_ev);
	timer_set(&l->pause_ev, PAUSE_MS);
}

static void
listen_on_pause(void *arg)
{
	struct listener	*l = arg;

	assert(l->fd != -1 && !timer_is_set(&l->pause_ev));
	io_start(&l->accept_ev);
}

static void
listener_hold(struct listener *l, bool holds)
{
	timer_stop(&l->pause_ev);
	if (holds)
		io_stop(&l->accept_ev);
	else if (io_start(&l->accept_ev) == -1)
		timer_set(&l->pause_ev, PAUSE_MS);
}

void
listen_hold(struct listeners *ls, bool holds)
{
	struct listener	*l;

	TAILQ_FOREACH(l, &ls->list, entry)
		listener_hold(l, holds);
	TAILQ_FOREACH(l, &ls->metrics, entry)
		listener_hold(l, holds);
}

/*
 * Identify a peer, if descriptors have run out with those in reserve.  Then
 * pause: further connections wait in the backlog.
 */
static int
listen_identify(struct listener *l, int fd, struct peer *p)
{
	struct listeners	*ls = l->all;
	struct world		*w = ls->world;
	int			 r;

	r = peer_identify(fd, w->peer_way, &ls->diag, w->sockmark,
	    &w->start.idmap, p);
	if ((r == -1 || !p->known || p->unfit != NULL) &&
	    reserve_is_needed()) {
		reserve_release(&w->reserve);
		r = peer_identify(fd, w->peer_way, &ls->diag,
		    w->sockmark, &w->start.idmap, p);
		reserve_fill(&w->reserve);
		pause_accepting(l, "out of file descriptors");
	}
	if (r == -1)
		log_warn("cannot identify a client");
	return r;
}

/* Accept one connection in a turn: most come alone. */
static void
listen_on_accept(void *arg)
{
	struct listener	*l = arg;
	struct listeners	*ls = l->all;
	struct peer	 p;
	int		 fd, refuse;
	bool		 full;

	assert(l->fd != -1 && !timer_is_set(&l->pause_ev));
	if ((fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) ==
	    -1) {
		if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
		    errno == ENOMEM)
			pause_accepting(l, strerror(errno));
		return;
	}
	STAT_INC(ls->world, accepted);
	if (listen_identify(l, fd, &p) == -1) {
		fd_close(&fd);
		return;
	}
	assert(strlen(l->url) < sizeof(p.listener));
	strcpy(p.listener, l->url);
	p.is_metrics = l->is_metrics;
	/* With --listen, all sockets that we opened are from there. */
	p.is_given = !l->is_passed && ls->world->start.is_listen_given;
	refuse = policy_admit(ls->world, ls->routes, &p, &full);
	gate_enqueue(ls->gate, fd, &p, refuse, full);
}
