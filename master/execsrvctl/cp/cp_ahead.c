/*
 * What is in a folder there, asked for before its turn: with one question at a
 * time each small file would cost a second round trip.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/execsrv.h"
#include "common/clock.h"
#include "master/execsrvctl/cp/cp_priv.h"

#define AHEAD	16		/* questions at a time */

struct ahead {
	uint64_t		 request;	/* 0: none is under way */
	bool			 is_here, is_good;
	struct cp_there		 t;
	struct execsrv_error	 e;
};

struct cp_ahead {
	struct cp			*cp;
	const char			*folder;
	const struct execsrv_directory	*d;
	size_t				 next;		/* to be asked for */
	struct ahead			 slots[AHEAD];
};

struct cp_ahead *
cp_ahead_new(struct cp *c, const char *folder,
    const struct execsrv_directory *d)
{
	struct cp_ahead	*a;

	if ((a = calloc(1, sizeof(*a))) == NULL)
		return NULL;
	a->cp = c;
	a->folder = folder;
	a->d = d;
	return a;
}

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
}

static void
ahead_cancel(struct cp_ahead *a, struct ahead *s)
{
	if (s->request != 0)
		(void)execsrv_cancel(a->cp->x, s->request);
	s->request = 0;
}

/* Ask for one; what is too long or cannot be sent is reported in its turn. */
static void
ahead_ask(struct cp_ahead *a, size_t i)
{
	struct ahead		*s = &a->slots[i % AHEAD];
	char			 path[PATH_MAX];
	struct execsrv_fs_look	 in = { .path = path };

	ahead_cancel(a, s);
	memset(s, 0, sizeof(*s));
	if (snprintf(path, sizeof(path), "%s/%s", a->folder,
	    a->d->entries[i].name) < (int)sizeof(path) &&
	    execsrv_fs_attributes(a->cp->x, &in, ahead_on_answer, s) == 0)
		s->request = execsrv_last_request(a->cp->x);
}

int
cp_ahead_look(struct cp_ahead *a, size_t i, const char *path,
    struct cp_there *t, struct execsrv_error *e)
{
	struct ahead	*s = &a->slots[i % AHEAD];
	uint64_t	 end = clock_ms() + ASK_MS;

	for (; a->next < a->d->nentries && a->next < i + AHEAD; a->next++)
		ahead_ask(a, a->next);
	while (s->request != 0 && clock_ms() < end &&
	    execsrv_wait(a->cp->x, 1000) == 0)
		continue;
	if (!s->is_here)
		return cp_look(a->cp, path, t, e);
	*t = s->t;
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
		ahead_cancel(a, &a->slots[i]);
	free(a);
}
