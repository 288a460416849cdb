#include "master/hub/hublisten.h"

#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/net/endpoint.h"
#include "common/net/tcp.h"
#include "common/rundirs.h"
#include "config.h"
#include "master/hub/hubctl.h"

#define BACKLOG		4096
#define CONTROL_QUEUE	16

static const char *
hublisten_why(enum endpoint_error r, bool is_metrics)
{
	if (r != ENDPOINT_SCHEME)
		return endpoint_strerror(r);
	return is_metrics ? "neither http:// nor unix:" :
	    "none of https://, http:// and unix:";
}

static int
hublisten_parse(const struct hubconf *c, const char *url, bool is_metrics,
    struct hublistener *l, struct endpoint *ep, struct conf_error *e)
{
	enum endpoint_error	 r;

	memset(l, 0, sizeof(*l));
	l->fd = -1;
	l->is_metrics = is_metrics;
	snprintf(l->url, sizeof(l->url), "%s", url);
	if (strncmp(url, "https://", 8) == 0 && !is_metrics) {
		l->is_tls = true;
		r = endpoint_parse_tcp(ep, url + 8);
	} else if (strncmp(url, "http://", 7) == 0) {
		r = endpoint_parse_tcp(ep, url + 7);
	} else {
		r = endpoint_parse(ep, url);
		if (r == ENDPOINT_OK && ep->kind != ENDPOINT_UNIX)
			r = ENDPOINT_SCHEME;
	}
	if (r == ENDPOINT_OK)
		r = endpoint_check_listen(ep);
	l->is_proxied = c->proxy_protocol && !l->is_tls && !is_metrics;
	return r == ENDPOINT_OK ? 0 : conf_fail(e, "%s %.200s: %s",
	    is_metrics ? "MetricsListen" : "Listen", url,
	    hublisten_why(r, is_metrics));
}

static int
hublisten_bind(struct hublistener *l, const struct endpoint *ep,
    struct conf_error *e)
{
	union endpoint_address	 a;
	socklen_t		 len = endpoint_address(ep, &a);
	int			 on = 1;

	assert(l->fd == -1);
	if (ep->kind == ENDPOINT_UNIX) {
		/* The directory decides who may connect. */
		l->fd = rundirs_listen_at(&a.un, SOCK_STREAM, 0111, BACKLOG);
		return l->fd != -1 ? 0 : conf_fail(e, "%s: not opened",
		    l->url);
	}
	if ((l->fd = socket(a.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK |
	    SOCK_CLOEXEC, 0)) == -1 ||
	    setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ==
	    -1 || tcp_tune(l->fd, &a.any) == -1 ||
	    bind(l->fd, &a.any, len) == -1 || listen(l->fd, BACKLOG) == -1)
		return conf_fail(e, "%s: %s", l->url, strerror(errno));
	len = sizeof(a);
	if (ep->port == 0 && getsockname(l->fd, &a.any, &len) == 0)
		snprintf(l->url, sizeof(l->url), "%s://%s%s%s:%u",
		    l->is_tls ? "https" : "http",
		    a.any.sa_family == AF_INET6 ? "[" : "", ep->host,
		    a.any.sa_family == AF_INET6 ? "]" : "",
		    ntohs(a.any.sa_family == AF_INET6 ? a.in6.sin6_port :
		    a.in.sin_port));
	return 0;
}

static int
hublisten_each(const struct hubconf *c, struct hublistener *l, bool opens,
    struct conf_error *e)
{
	const struct conf_list	*lists[] = { &c->listen, &c->metrics_listen };
	struct endpoint		 ep;
	size_t			 i, k, n = 0;

	for (k = 0; k < 2; k++)
		for (i = 0; i < lists[k]->n; i++, n++) {
			if (hublisten_parse(c, lists[k]->item[i], k == 1,
			    &l[n], &ep, e) == -1)
				return -1;
			if (opens && hublisten_bind(&l[n], &ep, e) == -1)
				return -1;
		}
	return 0;
}

static int
hublisten_all(const struct hubconf *c, struct hublistener **out, size_t *n_out,
    bool opens, struct conf_error *e)
{
	struct hublistener	*l;
	size_t			 n = c->listen.n + c->metrics_listen.n, i;

	if (c->listen.n == 0)
		return conf_fail(e, "Listen: it is needed");
	if ((l = calloc(n, sizeof(*l))) == NULL)
		return conf_fail(e, "%s", strerror(errno));
	for (i = 0; i < n; i++)
		l[i].fd = -1;
	if (hublisten_each(c, l, opens, e) == -1) {
		for (i = 0; i < n; i++)
			fd_close(&l[i].fd);
		free(l);
		return -1;
	}
	*out = l;
	*n_out = n;
	return 0;
}

int
hublisten_open(const struct hubconf *c, struct hublistener **out,
    size_t *n_out, struct conf_error *e)
{
	return hublisten_all(c, out, n_out, true, e);
}

int
hublisten_check(const struct hubconf *c, struct conf_error *e)
{
	struct hublistener	*l;
	size_t			 n;

	if (hublisten_all(c, &l, &n, false, e) == -1)
		return -1;
	free(l);
	return 0;
}

/* --- the run directory --- */

/* We trust what is in it: no symlink, no other owner. */
static int
hublisten_trust(const char *dir)
{
	struct stat	 st;

	if ((mkdir(dir, 0755) == -1 && errno != EEXIST) ||
	    lstat(dir, &st) == -1) {
		log_warn("%s", dir);
		return -1;
	}
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
		log_warnx("%s cannot be the run directory: it must be a "
		    "directory of ours that nobody else may write", dir);
		return -1;
	}
	return 0;
}

int
hublisten_control(const struct hubconf *c, int *lock_out)
{
	struct sockaddr_un	 un;
	char			 dir[128], path[160];
	int			 lock;

	if (rundirs_hub(c->runtime_dir, dir, sizeof(dir)) == -1) {
		log_warnx("RuntimeDirectory: too long");
		return -1;
	}
	if (hublisten_trust(dir) == -1)
		return -1;
	snprintf(path, sizeof(path), "%s/lock", dir);
	if ((lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW,
	    0600)) == -1 || flock(lock, LOCK_EX | LOCK_NB) == -1) {
		if (errno == EWOULDBLOCK)
			log_warnx("%s: another execsrv-hub uses it", dir);
		else
			log_warn("%s", path);
		fd_close(&lock);
		return -1;
	}
	*lock_out = lock;
	if (rundirs_address(dir, HUBCTL_SOCKET, &un) == -1) {
		log_warn("%s", dir);
		return -1;
	}
	return rundirs_listen_at(&un, SOCK_STREAM, 0177, CONTROL_QUEUE);
}

static void
hublisten_unlink_one(int fd)
{
	struct sockaddr_un	 un;
	socklen_t		 len = sizeof(un);

	memset(&un, 0, sizeof(un));
	if (getsockname(fd, (struct sockaddr *)&un, &len) == 0 &&
	    un.sun_family == AF_UNIX && un.sun_path[0] == '/' &&
	    unlink(un.sun_path) == -1 && errno != ENOENT)
		log_warn("%s", un.sun_path);
}

void
hublisten_unlink(const struct hublistener *l, size_t n, int control)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		hublisten_unlink_one(l[i].fd);
	hublisten_unlink_one(control);
}
