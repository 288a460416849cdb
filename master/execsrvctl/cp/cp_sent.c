/*
 * Small files on their way to a server, a request each.  Several are under way;
 * what came of them is reported in their order.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/clock.h"
#include "common/fd.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"

#define UNDER_WAY	16		/* files */
#define BYTES		(256 * 1024)	/* of several; one may have SMALL */

enum outcome {
	SENT_GOOD,
	SENT_FAILED_HERE, SENT_FAILED_THERE,
	SENT_TOO_LONG		/* it has grown since */
};

struct sent {
	struct cp_sent		*all;
	char			 here[PATH_MAX], there[PATH_MAX];
	struct stat		 st;
	uint64_t		 request;	/* 0: that is the end of it */
	unsigned		 tries;
	enum outcome		 outcome;
	struct execsrv_error	 e;
};

struct cp_sent {
	struct cp	*cp;
	char		*data;		/* of the file that is being sent */
	size_t		 first, n;	/* of those under way */
	uint64_t	 bytes;
	struct sent	 slots[UNDER_WAY];
};

struct cp_sent *
cp_sent_new(struct cp *c)
{
	struct cp_sent	*a;
	size_t		 i;

	if ((a = calloc(1, sizeof(*a))) == NULL)
		return NULL;
	if ((a->data = malloc(SMALL + 1)) == NULL) {
		free(a);
		return NULL;
	}
	a->cp = c;
	for (i = 0; i < UNDER_WAY; i++)
		a->slots[i].all = a;
	return a;
}

void
cp_sent_free(struct cp_sent **ap)
{
	struct cp_sent	*a = *ap;

	*ap = NULL;
	if (a == NULL)
		return;
	assert(a->n == 0);
	free(a->data);
	free(a);
}

static void
sent_fail(struct sent *s, enum outcome outcome, const char *why)
{
	s->outcome = outcome;
	snprintf(s->e.text, sizeof(s->e.text), "%s", why);
}

/* Remember the request just made, or that it could not be (r is -1: errno). */
static void
sent_asked(struct sent *s, int r)
{
	struct execsrv	*x = s->all->cp->x;

	if (r == 0)
		s->request = execsrv_last_request(x);
	else
		sent_fail(s, SENT_FAILED_THERE, execsrv_status(x) ==
		    EXECSRV_FAILED ? execsrv_why(x)->text : strerror(errno));
}

/* --- its times, for -p and --continue --- */

static void
sent_on_set(void *arg, const struct execsrv_error *e)
{
	struct sent	*s = arg;

	s->request = 0;
	if (e != NULL)
		sent_fail(s, SENT_FAILED_THERE, e->text);
}

static void
sent_set(struct sent *s)
{
	struct cp		*c = s->all->cp;
	struct execsrv_fs_set	 in;

	if (!c->o->preserve && !c->o->go_on)
		return;
	cp_set_of(&in, s->there, c->o->preserve ? cp_mode_of(&s->st) : 0,
	    &s->st);
	sent_asked(s, execsrv_fs_set_attributes(c->x, &in, sent_on_set, s));
}

/* --- its content --- */

/* Read up to SMALL + 1 bytes.  -1: errno. */
static ssize_t
sent_read_fd(int fd, char *to)
{
	size_t	 len = 0;
	ssize_t	 n;

	while (len <= SMALL) {
		n = read(fd, to + len, SMALL + 1 - len);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == -1 ? -1 : (ssize_t)len;
		len += (size_t)n;
	}
	return (ssize_t)len;
}

static ssize_t
sent_read(struct sent *s)
{
	int	 fd = open(s->here, O_RDONLY | O_CLOEXEC);
	ssize_t	 n = -1;

	if (fd == -1 || (n = sent_read_fd(fd, s->all->data)) == -1)
		sent_fail(s, SENT_FAILED_HERE, strerror(errno));
	fd_close(&fd);
	return n;
}

static void	 sent_write(struct sent *s);

static void
sent_on_written(void *arg, const struct execsrv_error *e)
{
	struct sent	*s = arg;

	s->request = 0;
	if (e == NULL)
		sent_set(s);
	else if (e->code == 0 && s->tries < TRIES &&
	    execsrv_status(s->all->cp->x) != EXECSRV_FAILED)
		sent_write(s);
	else
		sent_fail(s, SENT_FAILED_THERE, e->text);
}

static void
sent_write(struct sent *s)
{
	struct execsrv_fs_write	 in = { .path = s->there,
				    .mode = cp_mode_of(&s->st),
				    .bytes.data = s->all->data };
	ssize_t			 n = sent_read(s);

	if (n > SMALL)
		s->outcome = SENT_TOO_LONG;
	if (n == -1 || n > SMALL)
		return;
	in.bytes.len = (size_t)n;
	s->tries++;
	sent_asked(s, execsrv_fs_write_file(s->all->cp->x, &in,
	    sent_on_written, s));
}

/* --- whether it is there already, for --continue --- */

static void
sent_on_looked(void *arg, const struct execsrv_attributes *r,
    const struct execsrv_error *e)
{
	struct sent	*s = arg;
	struct cp_there	 t = { .is_file = false };

	s->request = 0;
	if (e == NULL)
		cp_there_take(&t, r);
	if (!t.is_file || !cp_is_same(s->all->cp, &s->st, &t))
		sent_write(s);
}

static void
sent_look(struct sent *s)
{
	struct execsrv_fs_look	 in = { .path = s->there };

	sent_asked(s, execsrv_fs_attributes(s->all->cp->x, &in,
	    sent_on_looked, s));
}

/* --- the files under way --- */

static void
sent_wait_for(struct sent *s)
{
	struct execsrv	*x = s->all->cp->x;
	uint64_t	 end = clock_ms() + TRIES * ASK_MS;

	while (s->request != 0 && clock_ms() < end &&
	    execsrv_wait(x, 1000) == 0)
		continue;
	/* A client that fails answers all its requests. */
	if (s->request == 0)
		return;
	(void)execsrv_cancel(x, s->request);
	s->request = 0;
	sent_fail(s, SENT_FAILED_THERE, "the server does not answer");
}

/* Wait for the first one, and report it. */
static void
sent_settle(struct cp_sent *a)
{
	struct sent	*s = &a->slots[a->first];
	uint64_t	 size = (uint64_t)s->st.st_size;

	sent_wait_for(s);
	assert(a->n > 0 && a->bytes >= size);
	a->first = (a->first + 1) % UNDER_WAY;
	a->n--;
	a->bytes -= size;
	if (s->outcome == SENT_GOOD)
		cp_shown(a->cp, s->here, size, size);
	else if (s->outcome == SENT_TOO_LONG)
		cp_upload_alone(a->cp, s->here, s->there, &s->st);
	else
		cp_complain_now(a->cp, s->outcome == SENT_FAILED_HERE ?
		    s->here : s->there, s->e.text);
}

void
cp_sent_wait(struct cp_sent *a)
{
	while (a != NULL && a->n > 0)
		sent_settle(a);
}

void
cp_send(struct cp_sent *a, const char *here, const char *there,
    const struct stat *st)
{
	uint64_t	 size = (uint64_t)st->st_size;
	struct sent	*s;

	assert(size <= SMALL);
	while (a->n == UNDER_WAY || (a->n > 0 && a->bytes + size > BYTES))
		sent_settle(a);
	s = &a->slots[(a->first + a->n) % UNDER_WAY];
	a->n++;
	a->bytes += size;
	snprintf(s->here, sizeof(s->here), "%s", here);
	snprintf(s->there, sizeof(s->there), "%s", there);
	s->st = *st;
	s->tries = 0;
	s->outcome = SENT_GOOD;
	if (a->cp->o->go_on)
		sent_look(s);
	else
		sent_write(s);
}
