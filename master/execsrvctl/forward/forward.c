/*
 * Each connection is a process of the session, which connects to the target or
 * accepts a connection there: what processes have, connections have too, such
 * as back-pressure, the rules of a managed network, and another connection to
 * the server after one was lost.
 */
#include "master/execsrvctl/forward/forward.h"

#include <sys/signalfd.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/execsrvctl/run/ending.h"
#include "master/execsrvctl/forward/forward_local.h"
#include "master/execsrvctl/forward/forward_priv.h"
#include "master/execsrvctl/run/run.h"

#define WAITERS		4	/* processes that wait for connections there */
#define CLOSE_MS	1000
#define TOKEN_SIZE	64
#define NOT_LISTENING	"the server does not listen any more"

/* A listener here, or there. */
struct door {
	struct forward		*f;
	struct forward_spec	*spec;
	int			 fds[TCPLISTEN_MAX];
	size_t			 n;
	/* There: the process that listens, and what it wrote. */
	struct execsrv_process	*p;
	char			 text[TOKEN_SIZE + 8], token[TOKEN_SIZE];
	size_t			 len;
	bool			 has_failed;	/* and has said why */
	unsigned		 waiters;
};

struct forward {
	const struct forward_options	*o;
	struct execsrv			*x;
	struct door			*door;
	size_t				 ndoors;
	struct forward_conns		 conns;
	size_t				 nconns;
	int				 signal_fd;
	int				 status;
	bool				 is_over;
};

/* End with 125. */
static void
forward_fail(struct forward *f, const char *why)
{
	if (!f->is_over && why != NULL)
		fprintf(stderr, "execsrvctl: %s\n", why);
	f->is_over = true;
	f->status = EXIT_RUN;
}

/* Programs read this: which port, if 0 was asked for. */
static void
announce(struct forward *f, const struct door *d)
{
	char	 from[FORWARD_TEXT], to[FORWARD_TEXT];

	forward_end_text(&d->spec->from, from);
	forward_end_text(&d->spec->to, to);
	if (printf("%s -> %s\n", from, to) < 0 || fflush(stdout) == EOF)
		forward_fail(f, strerror(errno));
}

static void
add_conn(struct forward *f, struct door *d, int fd)
{
	struct forward_conn	*c;

	if ((c = forward_conn_new(f->x, d->spec, fd, d->token)) == NULL)
		return;
	TAILQ_INSERT_TAIL(&f->conns, c, entry);
	f->nconns++;
}

/* --- listeners there --- */

/* As many processes wait for connections as there may be at once. */
static void
add_waiters(struct door *d)
{
	struct forward_conn	*c;
	unsigned		 n = 0;

	if (d->token[0] == '\0')
		return;
	TAILQ_FOREACH(c, &d->f->conns, entry)
		n += c->spec == d->spec && c->waits && !c->is_open &&
		    !c->is_dead;
	for (; n < WAITERS; n++)
		add_conn(d->f, d, -1);
}

static void
door_on_output(void *arg, enum execsrv_stream stream, const void *data,
    size_t len)
{
	struct door	*d = arg;
	unsigned	 port;

	if (stream == EXECSRV_STDERR) {
		fprintf(stderr, "execsrvctl: forward: %.*s", (int)len,
		    (const char *)data);
		d->has_failed = true;
		return;
	}
	if (d->len + len >= sizeof(d->text))
		return;
	memcpy(d->text + d->len, data, len);
	d->len += len;
	if (memchr(d->text, '\n', d->len) == NULL || d->token[0] != '\0')
		return;
	d->text[d->len] = '\0';
	if (sscanf(d->text, "%u %63s", &port, d->token) != 2 ||
	    port > 65535) {
		forward_fail(d->f, "the server's listener says something else");
		return;
	}
	if (d->spec->from.port[0] != '\0')
		snprintf(d->spec->from.port, sizeof(d->spec->from.port), "%u",
		    port);
	announce(d->f, d);
}

static void
door_on_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	struct door	*d = arg;

	if (what == EXECSRV_START && e != NULL)
		forward_fail(d->f, e->text);
}

/* It listens for as long as we are there; killed, it says nothing. */
static void
door_on_closed(void *arg)
{
	struct door	*d = arg;

	forward_fail(d->f, d->has_failed ? NULL : NOT_LISTENING);
}

static void
door_on_lost(void *arg, const struct execsrv_error *e)
{
	struct door	*d = arg;

	forward_fail(d->f, e->text);
}

static const struct execsrv_hooks	 door_hooks = {
	.on_answer = door_on_answer, .on_output = door_on_output,
	.on_closed = door_on_closed, .on_lost = door_on_lost,
};

static void
open_there(struct door *d)
{
	const char	*words[4] = { "listen", d->spec->from.name };

	assert(d->p == NULL && d->token[0] == '\0');
	if (d->spec->from.port[0] != '\0')
		words[2] = d->spec->from.port;
	if ((d->p = forward_start(d->f->x, words, &door_hooks, d)) == NULL)
		forward_fail(d->f, strerror(errno));
}

/* --- listeners here --- */

static void
open_here(struct door *d)
{
	if ((d->n = forward_local_listen(&d->spec->from, d->fds)) == 0)
		forward_fail(d->f, NULL);
	else
		announce(d->f, d);
}

static void
on_door(struct forward *f, struct door *d, int listener)
{
	int	 fd;

	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd != -1)
		add_conn(f, d, fd);
}

static void
close_doors(struct forward *f)
{
	struct door	*d;

	for (d = f->door; d < f->door + f->ndoors; d++) {
		if (d->n > 0 && d->spec->from.port[0] == '\0')
			unlink(d->spec->from.name);
		while (d->n > 0)
			fd_close(&d->fds[--d->n]);
		execsrv_process_free(&d->p);
	}
	free(f->door);
}

/* --- the loop --- */

static void
forward_on_signal(struct forward *f)
{
	struct signalfd_siginfo	 info;

	if (read(f->signal_fd, &info, sizeof(info)) != sizeof(info))
		return;
	f->is_over = true;
	f->status = 128 + (int)info.ssi_signo;
}

static size_t
prepare_all(const struct forward *f, struct pollfd *p)
{
	const struct forward_conn	*c;
	const struct door		*d;
	size_t				 n = 2, i;

	p[0] = (struct pollfd){ execsrv_fd(f->x), POLLIN, 0 };
	p[1] = (struct pollfd){ f->signal_fd, POLLIN, 0 };
	for (d = f->door; d < f->door + f->ndoors; d++)
		for (i = 0; i < d->n; i++)
			p[n++] = (struct pollfd){ d->fds[i], POLLIN, 0 };
	TAILQ_FOREACH(c, &f->conns, entry)
		forward_conn_prepare(c, &p[n++]);
	return n;
}

/* In the order of prepare_all(). */
static void
handle_all(struct forward *f, const struct pollfd *p)
{
	struct forward_conn	*c, *last = TAILQ_LAST(&f->conns,
				    forward_conns);
	struct door		*d;
	size_t			 n = 2, i;

	if (p[1].revents != 0)
		forward_on_signal(f);
	for (d = f->door; d < f->door + f->ndoors; d++)
		for (i = 0; i < d->n; i++)
			if (p[n++].revents != 0)
				on_door(f, d, d->fds[i]);
	if (last != NULL)
		TAILQ_FOREACH(c, &f->conns, entry) {
			forward_conn_on_ready(c, p[n++].revents);
			if (c == last)
				break;
		}
	if (p[0].revents != 0 && execsrv_dispatch(f->x) == -1)
		forward_fail(f, execsrv_why(f->x)->text);
}

static void
update_all(struct forward *f)
{
	struct forward_conn	*c, *next;
	struct door		*d;

	for (c = TAILQ_FIRST(&f->conns); c != NULL; c = next) {
		next = TAILQ_NEXT(c, entry);
		forward_conn_update(c);
		if (!c->is_dead)
			continue;
		/* One that could not wait: another one could not either. */
		if (c->waits && !c->is_open && !f->is_over)
			forward_fail(f, NOT_LISTENING);
		assert(f->nconns > 0);
		TAILQ_REMOVE(&f->conns, c, entry);
		f->nconns--;
		forward_conn_free(c);
	}
	for (d = f->door; d < f->door + f->ndoors && !f->is_over; d++)
		add_waiters(d);
}

static void
forward_turn(struct forward *f)
{
	struct pollfd	*p;
	size_t		 n;

	p = calloc(2 + f->ndoors * TCPLISTEN_MAX + f->nconns, sizeof(*p));
	if (p == NULL) {
		forward_fail(f, strerror(errno));
		return;
	}
	n = prepare_all(f, p);
	assert(n <= 2 + f->ndoors * TCPLISTEN_MAX + f->nconns);
	if (poll(p, (nfds_t)n, -1) > 0)
		handle_all(f, p);
	free(p);
	update_all(f);
}

/* --- the command --- */

static int
forward_begin(struct forward *f)
{
	sigset_t	 set;
	size_t		 i;

	assert(f->o->n > 0);
	signal(SIGPIPE, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	f->door = calloc(f->o->n, sizeof(*f->door));
	if (f->door == NULL || sigprocmask(SIG_BLOCK, &set, NULL) == -1 ||
	    (f->signal_fd = signalfd(-1, &set, SFD_CLOEXEC)) == -1 ||
	    execsrv_fd(f->x) == -1) {
		forward_fail(f, strerror(errno));
		return -1;
	}
	if (!execsrv_can(f->x, "execsrvForward")) {
		forward_fail(f, "the server cannot forward connections");
		return -1;
	}
	for (i = 0; i < f->o->n && !f->is_over; i++) {
		f->door[i].f = f;
		f->ndoors = i + 1;
		f->door[i].spec = &f->o->spec[i];
		if (f->o->spec[i].is_there)
			open_there(&f->door[i]);
		else
			open_here(&f->door[i]);
	}
	return f->is_over ? -1 : 0;
}

static void
forward_end(struct forward *f)
{
	struct forward_conn	*c;
	struct execsrv_error	 e;

	while ((c = TAILQ_FIRST(&f->conns)) != NULL) {
		TAILQ_REMOVE(&f->conns, c, entry);
		forward_conn_free(c);
	}
	close_doors(f);
	/* With the session all of its processes end. */
	if (execsrv_can(f->x, "execsrvSessionClose"))
		execsrv_close_session(f->x, CLOSE_MS, &e);
	execsrv_close(&f->x);
	fd_close(&f->signal_fd);
}

int
forward_command(const struct forward_options *o)
{
	struct forward		 f = { .o = o, .signal_fd = -1 };
	struct execsrv_error	 e;

	TAILQ_INIT(&f.conns);
	if ((f.x = execsrv_open(o->url, &o->how, &e)) == NULL) {
		fprintf(stderr, "execsrvctl: %s\n", e.text);
		return EXIT_RUN;
	}
	execsrv_on_note(f.x, ending_on_note, NULL);
	if (forward_begin(&f) == 0)
		while (!f.is_over)
			forward_turn(&f);
	forward_end(&f);
	return f.status;
}
