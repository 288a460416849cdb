/* execsrvctl watch: events as they happen, as in the audit log. */
#include <time.h>

#include "common/limit.h"
#include "master/ctl/ctl.h"
#include "master/ctl/ctl_priv.h"
#include "master/logs/audit_line.h"

void
ctl_watch(struct ctl_client *c)
{
	static const struct ctl_column	 columns[] = { TEXT("event"), END };

	ctl_put_head(c, columns);
	c->watches = true;
}

bool
ctl_is_watched(const struct ctl *c)
{
	const struct ctl_client	*cl;

	TAILQ_FOREACH(cl, &c->clients, entry)
		if (cl->watches)
			return true;
	return false;
}

/* Whether an event is of a session that the client may see. */
static bool
may_hear(const struct ctl_client *cl, const struct audit_what *what)
{
	const struct route	*r;

	if (cl->who.sees_all || !what->session.is_set)
		return cl->who.sees_all;
	TAILQ_FOREACH(r, &cl->ctl->routes->list, entry)
		if (r->number == what->session.n)
			return ctl_may_see(cl, r);
	return false;
}

/* A client that does not read is cut off by the limit of its channel. */
void
ctl_on_event(struct ctl *c, const struct audit_what *what)
{
	struct audit_head	 head = { .run = NULL };
	struct ctl_client	*cl;
	struct ctl_row		 row = { .n = 0 };
	struct buf		 b;

	if (!ctl_is_watched(c))
		return;
	buf_init(&b, (size_t)LIMIT_CONTROL_MESSAGE / 2);
	clock_gettime(CLOCK_REALTIME, &head.time);
	if (audit_line(&b, &head, what) == 0) {
		buf_data(&b)[b.len - 1] = '\0';	/* LF */
		TAILQ_FOREACH(cl, &c->clients, entry)
			if (cl->watches && may_hear(cl, what)) {
				ctl_row_text(&row, (char *)buf_data(&b));
				ctl_put_row(cl, &row);
			}
	}
	buf_fini(&b);
}
