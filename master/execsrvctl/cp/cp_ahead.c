/*
 * What is in a folder there, asked for before its turn: with one question at a
 * time each small file would cost two round trips.
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/execsrv.h"
#include "common/clock.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"

#define AHEAD	16		/* entries */
#define BYTES	(256 * 1024)	/* of their contents, asked for or here */

struct ahead {
	struct cp_ahead		*all;
	size_t			 i;		/* of the entry */
	uint64_t		 request;	/* 0: none is under way */
	bool			 is_here, is_good;
	struct cp_there		 t;
	struct execsrv_error	 e;
	/* Its content.  Without, it is asked for, or refused, in its turn. */
	bool			 is_settled;	/* asked for, or not wanted */
	uint64_t		 content_request;
	uint64_t		 bytes;		/* of those of the folder */
	char			*content;
};

struct cp_ahead {
	struct cp			*cp;
	const char			*there, *here;	/* folders */
	const struct execsrv_directory	*d;
	size_t				 now;		/* whose turn it is */
	size_t				 next;		/* to be asked for */
	uint64_t			 bytes;		/* up to BYTES */
	struct ahead			 slots[AHEAD];
};

struct cp_ahead *
cp_ahead_new(struct cp *c, const char *there, const char *here,
    const struct execsrv_directory *d)
{
	struct cp_ahead	*a;
	size_t		 i;

	if ((a = calloc(1, sizeof(*a))) == NULL)
		return NULL;
	a->cp = c;
	a->there = there;
	a->here = here;
	a->d = d;
	for (i = 0; i < AHEAD; i++)
		a->slots[i].all = a;
	return a;
}

/* Write the path of an entry in a folder.  False: it is too long. */
static bool
ahead_path(const struct ahead *s, const char *folder, char out[PATH_MAX])
{
	return snprintf(out, PATH_MAX, "%s/%s", folder,
	    s->all->d->entries[s->i].name) < PATH_MAX;
}

/* --- contents --- */

static void
ahead_on_content(void *arg, const struct execsrv_content *r,
    const struct execsrv_error *e)
{
	struct ahead	*s = arg;

	s->content_request = 0;
	/* One of another length has changed, or is made up, as in /proc. */
	if (e == NULL && r->bytes.len == s->t.size &&
	    (s->content = malloc(r->bytes.len + 1)) != NULL)
		memcpy(s->content, r->bytes.data, r->bytes.len);
}

/* Whether its content will be asked for in one message. */
static bool
ahead_is_wanted(const struct ahead *s)
{
	struct stat	 st;
	char		 here[PATH_MAX];

	return s->is_good && s->t.is_file && !s->t.is_link &&
	    s->t.size <= BYTES && !(s->all->cp->o->go_on &&
	    ahead_path(s, s->all->here, here) && cp_stat(s->all->cp, here,
	    &st) == 0 && cp_is_same(s->all->cp, &st, &s->t));
}

static void
ask_content(struct ahead *s)
{
	char			 path[PATH_MAX];
	struct execsrv_fs_path	 in = { .path = path };
	struct execsrv		*x = s->all->cp->x;

	assert(s->bytes == 0 && s->content == NULL);
	if (!ahead_path(s, s->all->there, path) ||
	    execsrv_fs_read_file(x, &in, ahead_on_content, s) == -1)
		return;
	s->content_request = execsrv_last_request(x);
	s->bytes = s->t.size;
	s->all->bytes += s->bytes;
}

/* Ask for contents, in their turn, as far as there is room. */
static void
ask_contents(struct cp_ahead *a)
{
	struct ahead	*s;
	size_t		 i;

	for (i = a->now; i < a->next; i++) {
		s = &a->slots[i % AHEAD];
		if (!s->is_here || s->is_settled)
			continue;
		if (ahead_is_wanted(s)) {
			if (s->t.size > BYTES - a->bytes)
				return;
			ask_content(s);
		}
		s->is_settled = true;
	}
}

/* --- attributes --- */

static void
ahead_on_answer(void *arg, const struct execsrv_attributes *r,
    const struct execsrv_error *e)
{
	struct ahead	*s = arg;

	s->request = 0;
	s->is_here = true;
	s->is_good = e == NULL;
	if (e != NULL)
		s->e = *e;
	else
		cp_there_take(&s->t, r);
	ask_contents(s->all);
}

static void
ahead_clear(struct ahead *s)
{
	struct cp_ahead	*a = s->all;

	if (s->request != 0)
		(void)execsrv_cancel(a->cp->x, s->request);
	if (s->content_request != 0)
		(void)execsrv_cancel(a->cp->x, s->content_request);
	a->bytes -= s->bytes;
	free(s->content);
	memset(s, 0, sizeof(*s));
	s->all = a;
}

/* Ask for one; what is too long or cannot be sent is reported in its turn. */
static void
ahead_ask(struct cp_ahead *a, size_t i)
{
	struct ahead		*s = &a->slots[i % AHEAD];
	char			 path[PATH_MAX];
	struct execsrv_fs_look	 in = { .path = path };

	ahead_clear(s);
	s->i = i;
	if (ahead_path(s, a->there, path) &&
	    execsrv_fs_attributes(a->cp->x, &in, ahead_on_answer, s) == 0)
		s->request = execsrv_last_request(a->cp->x);
}

int
cp_ahead_look(struct cp_ahead *a, size_t i, const char *path,
    struct cp_there *t, struct execsrv_error *e)
{
	struct ahead	*s = &a->slots[i % AHEAD];
	uint64_t	 end = clock_ms() + ASK_MS;

	a->now = i;
	for (; a->next < a->d->nentries && a->next < i + AHEAD; a->next++)
		ahead_ask(a, a->next);
	ask_contents(a);
	while ((s->request != 0 || s->content_request != 0) &&
	    clock_ms() < end && execsrv_wait(a->cp->x, 1000) == 0)
		continue;
	if (!s->is_here)
		return cp_look(a->cp, path, t, e);
	*t = s->t;
	t->content = s->content;
	*e = s->e;
	return s->is_good ? 0 : -1;
}

void
cp_ahead_free(struct cp_ahead **ap)
{
	struct cp_ahead	*a = *ap;
	size_t		 i;

	*ap = NULL;
	if (a == NULL)
		return;
	for (i = 0; i < AHEAD; i++)
		ahead_clear(&a->slots[i]);
	free(a);
}
