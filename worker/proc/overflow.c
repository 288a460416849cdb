#include "worker/proc/overflow.h"

#include <string.h>

#include "common/clock.h"
#include "common/json/json_out.h"
#include "common/log.h"
#include "worker/proc/proc.h"

bool
overflow_has_room(const struct overflow *o)
{
	return !window_is_stuck(o->window) &&
	    o->window->spooled_cost < o->env->set.spool;
}

/* Drop output of the process that has the most unread. */
static bool
drop_one(struct overflow *o)
{
	struct proc	*p, *most = NULL;

	TAILQ_FOREACH(p, &o->procs->all, entry)
		if (most == NULL || p->retain.unread_cost >
		    most->retain.unread_cost)
			most = p;
	if (most != NULL && retain_drop_oldest(&most->retain))
		return true;
	TAILQ_FOREACH(p, &o->procs->all, entry)
		if (retain_drop_oldest(&p->retain))
			return true;
	return false;
}

static bool
drop_until_room(struct overflow *o)
{
	if (!o->is_dropping)
		log_warnx("DetachedSpool is full while no client is attached: "
		    "the oldest output is dropped");
	o->is_dropping = true;
	while (!overflow_has_room(o))
		if (!drop_one(o))
			return false;
	return true;
}

bool
overflow_make_room(struct overflow *o)
{
	if (overflow_has_room(o) ||
	    (o->env->set.drop_oldest && drop_until_room(o)))
		return true;
	if (o->since == 0) {
		o->since = clock_ms();
		log_warnx("%s while no client is attached: processes are "
		    "held back", window_is_stuck(o->window) ?
		    "the disk is full" : "DetachedSpool is full");
	}
	return false;
}

void
overflow_end(struct overflow *o)
{
	struct proc	*p;
	uint64_t	 bytes, after, by;

	o->held_ms = o->since != 0 ? clock_ms() - o->since : 0;
	o->since = o->dropped = 0;
	o->is_dropping = false;
	TAILQ_FOREACH(p, &o->procs->all, entry) {
		if ((bytes = retain_close_gap(&p->retain, &after, &by)) == 0)
			continue;
		sinks_renumber(&p->sinks, after, by);
		log_warnx("%llu bytes of output of process %d were dropped "
		    "while no client was attached", (unsigned long long)bytes,
		    p->pid);
		o->dropped += bytes;
	}
	if (o->held_ms > 0)
		log_info("processes were held back for %llu ms while no client "
		    "was attached", (unsigned long long)o->held_ms);
}

void
overflow_put(const struct overflow *o, struct json_out *out)
{
	if (o->held_ms == 0 && o->dropped == 0)
		return;
	json_out_key(out, "execsrvOverflow");
	json_out_open(out, '{');
	json_out_pair_u64(out, "heldBackMs", o->held_ms);
	json_out_pair_u64(out, "droppedBytes", o->dropped);
	json_out_close(out, '}');
}

void
overflow_init(struct overflow *o, const struct env *env, struct procs *procs,
    const struct window *window)
{
	memset(o, 0, sizeof(*o));
	o->env = env;
	o->procs = procs;
	o->window = window;
}
