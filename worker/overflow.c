#include "worker/overflow.h"

#include "common/clock.h"
#include "common/json_out.h"
#include "common/log.h"
#include "worker/proc.h"
#include "worker/session.h"
#include "worker/tail.h"

/* The process with the most output that waits pays for it. */
static bool
drop_one(struct session *s)
{
	struct proc	*p, *most = NULL;

	TAILQ_FOREACH(p, &s->all, entry)
		if (most == NULL || p->ring.unread_cost >
		    most->ring.unread_cost)
			most = p;
	if (most != NULL && ring_drop_oldest(&most->ring))
		return true;
	TAILQ_FOREACH(p, &s->all, entry)
		if (ring_drop_oldest(&p->ring))
			return true;
	return false;
}

static bool
drop_until_room(struct session *s)
{
	if (!s->overflow.is_dropping)
		log_warnx("output is dropped, the oldest first, as nobody is "
		    "attached and DetachedSpool is full");
	s->overflow.is_dropping = true;
	while (!session_has_room(s))
		if (!drop_one(s))
			return false;
	return true;
}

bool
overflow_make_room(struct session *s)
{
	if (s->env.set.drop_oldest && drop_until_room(s))
		return true;
	if (s->overflow.since == 0) {
		s->overflow.since = clock_ms();
		log_warnx("output is held back, as nobody is attached and %s",
		    window_is_stuck(&s->window) ? "there is no room for it on "
		    "the disk" : "DetachedSpool is full");
	}
	return false;
}

void
overflow_end(struct session *s)
{
	struct overflow	*o = &s->overflow;
	struct proc	*p;
	uint64_t	 bytes, after, by;

	o->held_ms = o->since != 0 ? clock_ms() - o->since : 0;
	o->since = o->dropped = 0;
	o->is_dropping = false;
	TAILQ_FOREACH(p, &s->all, entry) {
		if ((bytes = ring_close_gap(&p->ring, &after, &by)) == 0)
			continue;
		tails_renumber(&p->tails, after, by);
		log_warnx("%llu bytes of output of process %d were dropped "
		    "while nobody was attached", (unsigned long long)bytes,
		    p->pid);
		o->dropped += bytes;
	}
	if (o->held_ms > 0)
		log_info("output was held back for %llu ms while nobody was "
		    "attached", (unsigned long long)o->held_ms);
}

void
overflow_tell(struct session *s, struct json_out *o)
{
	if (s->overflow.held_ms == 0 && s->overflow.dropped == 0)
		return;
	json_out_key(o, "execsrvOverflow");
	json_out_open(o, '{');
	json_out_key(o, "heldBackMs");
	json_out_u64(o, s->overflow.held_ms);
	json_out_key(o, "droppedBytes");
	json_out_u64(o, s->overflow.dropped);
	json_out_close(o, '}');
}
