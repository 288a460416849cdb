#include "master/hub/fleet/hubnames.h"

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/dial/netconfine.h"
#include "common/dial/resolve_process.h"
#include "common/fd.h"
#include "common/log.h"

struct hubnames {
	int		 sock;
	struct io	 io;
	uint32_t	 last;		/* number of a question */
	hubnames_fn	*fn;
	void		*arg;
};

struct hubnames *
hubnames_new(void (*forget)(void *), void *arg)
{
	struct resolve_how	 how = { .role = "hub-names",
				    .forget = forget, .arg = arg,
				    .confine_self = netconfine_resolver };
	struct hubnames		*n;

	if ((n = calloc(1, sizeof(*n))) != NULL &&
	    (n->sock = resolve_process(&how)) == -1) {
		free(n);
		n = NULL;
	}
	return n;
}

void
hubnames_free(struct hubnames **np)
{
	struct hubnames	*n = *np;

	*np = NULL;
	if (n == NULL)
		return;
	io_stop(&n->io);
	fd_close(&n->sock);
	free(n);
}

/* Take one of the addresses, not always the first. */
static void
hubnames_on_answer(void *arg)
{
	struct hubnames		*n = arg;
	struct resolve_reply	 r;
	int			 got;

	if ((got = resolve_take(n->sock, &r)) == -1) {
		log_warnx("names: the process that looks them up is gone");
		io_stop(&n->io);
		n->fn(n->arg, "");
	}
	/* The answer to a former question comes too late. */
	if (got == 1 && r.number == n->last)
		n->fn(n->arg, r.answer.n == 0 ? "" : r.answer.address[
		    randombytes_uniform((uint32_t)r.answer.n)]);
}

int
hubnames_attach(struct hubnames *n, struct event_base *base, hubnames_fn *fn,
    void *arg)
{
	assert(n->fn == NULL);
	n->fn = fn;
	n->arg = arg;
	io_init(&n->io, base, n->sock, EV_READ | EV_PERSIST,
	    hubnames_on_answer, n);
	return io_start(&n->io);
}

int
hubnames_ask(struct hubnames *n, const char *host)
{
	struct resolve_question	 q;

	memset(&q, 0, sizeof(q));
	if (strlen(host) > RESOLVE_HOST) {
		errno = ENAMETOOLONG;
		return -1;
	}
	q.number = ++n->last;
	strcpy(q.host, host);
	return send(n->sock, &q, sizeof(q), MSG_NOSIGNAL) == -1 ? -1 : 0;
}
