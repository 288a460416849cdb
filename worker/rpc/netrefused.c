#include "worker/rpc/netrefused.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void
netrefused_flush(struct netrefused *r)
{
	struct netrefused_row	*row;
	uint64_t		 count;

	for (row = r->row; row < r->row + r->n; row++) {
		count = row->untold;
		row->untold = 0;
		if (count > 0)
			r->fn(r->arg, row, count);
	}
}

static void
netrefused_on_timer(void *arg)
{
	netrefused_flush(arg);
}

void
netrefused_init(struct netrefused *r, struct event_base *base,
    netrefused_fn *fn, void *arg)
{
	memset(r, 0, sizeof(*r));
	r->fn = fn;
	r->arg = arg;
	timer_init(&r->timer, base, netrefused_on_timer, r);
}

void
netrefused_fini(struct netrefused *r)
{
	timer_stop(&r->timer);
	free(r->row);
	r->row = NULL;
	r->n = 0;
}

/* Return the row of a kind, a new one or, if there are too many, the last. */
static struct netrefused_row *
netrefused_row_of(struct netrefused *r, const char *host, uint16_t port,
    const char *why)
{
	struct netrefused_row	*row;
	bool			 is_last = r->n == LIMIT_NET_REFUSED - 1;

	if (r->row == NULL && (r->row = calloc(LIMIT_NET_REFUSED,
	    sizeof(*r->row))) == NULL)
		return NULL;
	for (row = r->row; row < r->row + r->n; row++)
		if (row->port == port && strcmp(row->host, host) == 0 &&
		    strcmp(row->why, why) == 0)
			return row;
	if (r->n == LIMIT_NET_REFUSED)
		return row - 1;
	r->n++;
	snprintf(row->host, sizeof(row->host), "%s", is_last ? "(others)" :
	    host);
	snprintf(row->why, sizeof(row->why), "%s", is_last ? "" : why);
	row->port = is_last ? 0 : port;
	return row;
}

void
netrefused_add(struct netrefused *r, const char *host, uint16_t port,
    const char *why)
{
	struct netrefused_row	*row;
	char			 text[NETREFUSED_WHY];
	size_t			 i;

	/* A client's own reason may be anything. */
	snprintf(text, sizeof(text), "%s", why);
	for (i = 0; text[i] != '\0'; i++)
		if (text[i] < ' ' || text[i] > '~')
			text[i] = '?';
	if ((row = netrefused_row_of(r, host, port, text)) == NULL)
		return;
	assert(r->n <= LIMIT_NET_REFUSED);
	row->untold++;
	if (row->count++ == 0) {
		row->untold = 0;
		r->fn(r->arg, row, 1);
	} else {
		timer_ensure(&r->timer, LIMIT_NET_TOLD);
	}
}
