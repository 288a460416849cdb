/*
 * In the place of names and connecting, for the one file that includes this:
 * in an archive, tests of the real ones would get them as well.
 */
#pragma once

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "t/unit/proxy_help.h"

struct proxy_query *
proxy_names_find(struct proxy_names *n, const char *name, proxy_names_fn *fn,
    void *arg)
{
	char	 text[300];

	(void)n;
	ck_assert(px.query.fn == NULL);
	snprintf(text, sizeof(text), "find %s", name);
	px_tell(text);
	px.query = (struct proxy_query){ fn, arg };
	return &px.query;
}

void
proxy_names_cancel(struct proxy_query **qp)
{
	if (*qp != NULL)
		px.query.fn = NULL;
	*qp = NULL;
}

struct proxy_connect *
proxy_connect_start(struct event_base *base, const struct netaddr *list,
    size_t n, uint16_t port, proxy_connect_fn *fn, void *arg)
{
	char	 text[300], address[NETHOST_MAX];
	size_t	 i;

	ck_assert(base == px.shared.base && px.way.fn == NULL && n > 0);
	px_tell("connect");
	for (i = 0; i < n; i++) {
		netaddr_text(&list[i], address);
		snprintf(text, sizeof(text), " %s:%u", address, port);
		strcat(px.did, text);
	}
	px.way = (struct proxy_connect){ fn, arg };
	return &px.way;
}

void
proxy_connect_stop(struct proxy_connect **cp)
{
	if (*cp != NULL)
		px.way.fn = NULL;
	*cp = NULL;
}

bool
proxy_connect_is_own(const struct netaddr *a)
{
	char	 text[NETHOST_MAX];

	netaddr_text(a, text);
	return px.own != NULL && strcmp(text, px.own) == 0;
}
