#include "master/workers/route.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/limit.h"
#include "common/log.h"
#include "master/logs/audit.h"
#include "master/world.h"

/*
 * What is counted for an identity or a uid, so that nothing on the way of a
 * connection walks all sessions.
 */
struct tally {
	struct map_node		 node;
	struct map		*map;		/* routes.clients or .users */
	size_t			 routes;	/* that refer to it */
	size_t			 live;		/* opened, with a worker */
	size_t			 operators;	/* the same, for that alone */
	size_t			 nkept;
	struct route_list	 kept;		/* tombstones, oldest first */
	size_t			 len;
	unsigned char		 key[];
};

static void	 route_on_expire(void *);

/* --- counts --- */

static struct tally *
tally_get(struct map *map, const void *key, size_t len)
{
	struct tally	*t;

	if ((t = map_find(map, key, len)) == NULL) {
		if ((t = calloc(1, sizeof(*t) + len)) == NULL)
			return NULL;
		t->map = map;
		t->len = len;
		memcpy(t->key, key, len);
		TAILQ_INIT(&t->kept);
		if (map_add(map, &t->node, t->key, len, t) == -1) {
			free(t);
			return NULL;
		}
	}
	t->routes++;
	return t;
}

static void
tally_put(struct tally **tp)
{
	struct tally	*t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	assert(t->routes > 0);
	if (--t->routes > 0)
		return;
	assert(t->live == 0 && t->operators == 0 && t->nkept == 0);
	map_del(t->map, &t->node);
	free(t);
}

static bool
is_live(enum route_state state)
{
	return state == ROUTE_ATTACHED || state == ROUTE_DETACHED;
}

static bool
is_kept(enum route_state state)
{
	return state == ROUTE_KEPT || state == ROUTE_LOST;
}

/* Where a session that is live counts. */
static size_t *
live_of(struct route *r)
{
	return r->operates ? &r->client->operators : &r->client->live;
}

static void
route_enter_state(struct route *r)
{
	r->all->in_state[r->state]++;
	*live_of(r) += is_live(r->state);
	r->all->operators += r->operates && is_live(r->state);
	if (is_kept(r->state)) {
		r->user->nkept++;
		TAILQ_INSERT_TAIL(&r->user->kept, r, kept_entry);
	}
}

static void
route_leave_state(struct route *r)
{
	assert(r->all->in_state[r->state] > 0);
	r->all->in_state[r->state]--;
	assert(!is_live(r->state) || *live_of(r) > 0);
	*live_of(r) -= is_live(r->state);
	r->all->operators -= r->operates && is_live(r->state);
	if (is_kept(r->state)) {
		r->user->nkept--;
		TAILQ_REMOVE(&r->user->kept, r, kept_entry);
	}
}

/* Count it anew: owner, opened or attached has changed. */
static void
route_recount(struct route *r)
{
	enum route_state	 now = r->lost ? ROUTE_LOST :
				    r->owner == NULL ? ROUTE_KEPT :
				    !r->opened ? ROUTE_NEW :
				    r->attached ? ROUTE_ATTACHED :
				    ROUTE_DETACHED;

	if (now == r->state)
		return;
	route_leave_state(r);
	r->state = now;
	route_enter_state(r);
	r->all->world->events->on_sessions(r->all->world->master);
}

void
routes_init(struct routes *rs, struct world *w)
{
	memset(rs, 0, sizeof(*rs));
	rs->world = w;
	TAILQ_INIT(&rs->list);
	map_init(&rs->by_id);
	map_init(&rs->clients);
	map_init(&rs->users);
}

void
routes_fini(struct routes *rs)
{
	struct route	*r;

	while ((r = TAILQ_FIRST(&rs->list)) != NULL)
		route_free(&r);
	assert(rs->clients.count == 0 && rs->users.count == 0);
	map_fini(&rs->by_id);
	map_fini(&rs->clients);
	map_fini(&rs->users);
}

/* --- one --- */

static void
make_id(char id[ROUTE_ID_LEN + 1])
{
	unsigned char	 bits[16];
	char		 hex[2 * sizeof(bits) + 1];

	randombytes_buf(bits, sizeof(bits));
	sodium_bin2hex(hex, sizeof(hex), bits, sizeof(bits));
	snprintf(id, ROUTE_ID_LEN + 1, "%.8s-%.4s-%.4s-%.4s-%.12s", hex,
	    hex + 8, hex + 12, hex + 16, hex + 20);
	sodium_memzero(bits, sizeof(bits));
	sodium_memzero(hex, sizeof(hex));
}

/* id: NULL for a new one. */
static struct route *
route_alloc(struct routes *rs, const char *id, const char *identity, uid_t uid)
{
	struct route	*r;

	if ((r = calloc(1, sizeof(*r))) == NULL)
		return NULL;
	r->all = rs;
	r->slot = -1;
	r->uid = uid;
	snprintf(r->identity, sizeof(r->identity), "%s", identity);
	TAILQ_INIT(&r->waiting);
	if (id == NULL)
		make_id(r->id);
	else
		snprintf(r->id, sizeof(r->id), "%s", id);
	timer_init(&r->expire_ev, rs->world->base, route_on_expire, r);
	if ((r->client = tally_get(&rs->clients, r->identity,
	    strlen(r->identity))) == NULL ||
	    (r->user = tally_get(&rs->users, &r->uid,
	    sizeof(r->uid))) == NULL ||
	    map_add(&rs->by_id, &r->node, r->id, ROUTE_ID_LEN, r) == -1) {
		tally_put(&r->client);
		tally_put(&r->user);
		free(r);
		errno = ENOMEM;
		return NULL;
	}
	return r;
}

/* --- its record --- */

static void
record_child(struct record *rec, const struct child *c)
{
	rec->child = c->id;
	rec->pid = c->pid;
	rec->started = c->started;
	rec->marks = c->marks;
	rec->detached_ttl = c->detached_ttl;
	rec->grace = c->grace;
	rec->max_held = c->max_held;
	rec->max_running = c->max_running;
	rec->group_v2 = c->cgroups.v2;
	rec->group_v1 = c->cgroups.v1;
	memcpy(rec->limits, c->cgroups.limit, sizeof(rec->limits));
	if (c->transcripts != CHILD_TRANSCRIPTS_NONE)
		rec->flags |= RECORD_TRANSCRIPTS;
	if (c->is_alone)
		rec->flags |= RECORD_ALONE;
}

void
route_record(struct route *r)
{
	struct record	 rec;

	if (r->all->world->records == NULL)
		return;
	memset(&rec, 0, sizeof(rec));
	rec.kind = r->lost ? RECORD_LOST : r->owner == NULL ?
	    RECORD_TOMBSTONE : RECORD_SESSION;
	rec.flags = (r->opened ? RECORD_OPENED : 0) |
	    (r->attached ? RECORD_ATTACHED : 0);
	rec.number = r->number;
	rec.uid = r->uid;
	rec.client_uid = r->client_uid;
	rec.uplink = r->uplink;
	rec.born = r->born;
	rec.until = r->until;
	rec.retain = r->retain;
	rec.used[0] = r->used.processes;
	rec.used[1] = r->used.bytes_in;
	rec.used[2] = r->used.bytes_out;
	rec.used[3] = r->used.cpu_ms;
	rec.used[4] = r->used.transcripts;
	rec.transcripts = r->transcripts;
	memcpy(rec.id, r->id, sizeof(r->id));
	memcpy(rec.identity, r->identity, sizeof(rec.identity));
	memcpy(rec.peer, r->peer, sizeof(rec.peer));
	if (r->transcript != NULL &&
	    strlen(r->transcript) < sizeof(rec.transcript))
		strcpy(rec.transcript, r->transcript);
	if (r->owner != NULL)
		record_child(&rec, r->owner);
	if (records_put(r->all->world->records, &r->slot, &rec) == -1)
		log_warn("session %u cannot be recorded: it will end with this "
		    "daemon", r->number);
	sodium_memzero(rec.id, sizeof(rec.id));
}

static void
take_owner(struct route *r, const struct record *rec, struct child *c)
{
	r->owner = c;
	c->route = r;
	c->started = rec->started;
	c->marks = rec->marks;
	c->detached_ttl = rec->detached_ttl;
	c->grace = rec->grace;
	c->max_held = rec->max_held;
	c->max_running = rec->max_running;
	c->cgroups.v2 = rec->group_v2;
	c->cgroups.v1 = rec->group_v1;
	memcpy(c->cgroups.limit, rec->limits, sizeof(c->cgroups.limit));
	if ((rec->flags & RECORD_TRANSCRIPTS) != 0)
		child_set_transcripts(c, CHILD_TRANSCRIPTS_WANTED);
	c->peer.known = true;
	c->peer.uid = r->uid;
	c->peer.client_uid = r->client_uid;
	c->peer.uplink = r->uplink;
	memcpy(c->peer.identity, r->identity, sizeof(c->peer.identity));
	memcpy(c->peer.text, r->peer, sizeof(c->peer.text));
}

static void
take_record(struct route *r, const struct record *rec, uint64_t now)
{
	r->number = rec->number;
	routes_number(r->all, r->number);
	r->client_uid = (uid_t)rec->client_uid;
	r->uplink = rec->uplink;
	r->born = rec->born < now ? rec->born : now;
	r->retain = rec->retain;
	r->opened = (rec->flags & RECORD_OPENED) != 0;
	r->used.processes = (uint32_t)rec->used[0];
	r->used.bytes_in = rec->used[1];
	r->used.bytes_out = rec->used[2];
	r->used.cpu_ms = rec->used[3];
	r->used.transcripts = rec->used[4];
	r->transcripts = rec->transcripts;
	memcpy(r->peer, rec->peer, sizeof(r->peer));
	if (rec->transcript[0] != '\0')
		r->transcript = strdup(rec->transcript);
}

void
routes_number(struct routes *rs, unsigned number)
{
	if (number > rs->next_number)
		rs->next_number = number;
}

struct route *
route_former(struct routes *rs, const struct record *rec, struct child *owner)
{
	struct route	*r;
	uint64_t	 now = clock_ms();

	assert(owner == NULL || owner->state == CHILD_AWAITED);
	if (strlen(rec->id) != ROUTE_ID_LEN ||
	    map_find(&rs->by_id, rec->id, ROUTE_ID_LEN) != NULL) {
		errno = EEXIST;
		return NULL;
	}
	if ((r = route_alloc(rs, rec->id, rec->identity, (uid_t)rec->uid)) ==
	    NULL)
		return NULL;
	take_record(r, rec, now);
	if (owner != NULL) {
		take_owner(r, rec, owner);
		r->attached = (rec->flags & RECORD_ATTACHED) != 0;
	} else {
		r->lost = rec->kind == RECORD_LOST;
		r->until = rec->until;
		timer_set(&r->expire_ev, r->until > now ? r->until - now : 0);
	}
	TAILQ_INSERT_TAIL(&rs->list, r, entry);
	route_enter_state(r);			/* NEW */
	route_recount(r);
	route_record(r);
	return r;
}

/* --- a session with a worker --- */

struct route *
route_new(struct routes *rs, struct child *owner)
{
	struct records	*records = rs->world->records;
	struct route	*r;

	assert(owner->route == NULL);
	if ((r = route_alloc(rs, NULL, owner->peer.identity,
	    owner->peer.uid)) == NULL)
		return NULL;
	r->number = ++rs->next_number;
	if (records != NULL)
		records_head(records)->next_number = r->number;
	r->client_uid = owner->peer.client_uid;
	r->uplink = owner->peer.uplink;
	r->owner = owner;
	r->born = clock_ms();
	snprintf(r->peer, sizeof(r->peer), "%s", owner->peer.text);
	TAILQ_INSERT_TAIL(&rs->list, r, entry);
	route_enter_state(r);			/* NEW */
	return r;
}

/* Answer a request to resume. */
static void
decide(struct child *c, Ipc__Verdict v, struct route *r)
{
	c->all->events->decide(c, v, r);
}

void
route_audit(const struct route *r, struct audit_what what)
{
	assert(r->number != 0);
	what.session = AUDIT_N(r->number);
	what.identity = r->identity;
	what.uid = AUDIT_N(r->uid);
	audit(r->all->world, &what);
}

static void
route_audit_end(const struct route *r)
{
	struct audit_what	 what = { .event = AUDIT_session_ended };

	assert(r->opened);
	what.why = r->why != NULL ? r->why : "the server is stopping";
	what.seconds = AUDIT_N((clock_ms() - r->born) / 1000);
	what.processes = AUDIT_N(r->used.processes);
	what.bytes_in = AUDIT_N(r->used.bytes_in);
	what.bytes_out = AUDIT_N(r->used.bytes_out);
	what.cpu_ms = AUDIT_N(r->used.cpu_ms);
	route_audit(r, what);
}

void
route_used(struct route *r, const Ipc__Used *used)
{
	if (used == NULL)
		return;
	r->all->world->stats[STAT_processes] += used->processes;
	r->all->world->stats[STAT_bytes_in] += used->bytes_in;
	r->all->world->stats[STAT_bytes_out] += used->bytes_out;
	r->used.processes += used->processes;
	r->used.bytes_in += used->bytes_in;
	r->used.bytes_out += used->bytes_out;
	r->used.cpu_ms += used->cpu_ms;
	r->used.transcripts += used->transcripts;
}

bool
route_opened(struct route *r, bool operates)
{
	bool	 was = r->opened;

	assert(r->owner != NULL);
	if (r->state == ROUTE_NEW)
		r->operates = operates;
	r->opened = r->attached = true;
	route_recount(r);
	route_record(r);
	return was;
}

void
route_attached(struct route *r)
{
	assert(r->owner != NULL);
	r->attached = true;
	route_recount(r);
	route_record(r);
}

void
route_detached(struct route *r)
{
	assert(r->owner != NULL);
	if (r->attached)
		route_audit(r, (struct audit_what){
		    .event = AUDIT_session_detached });
	r->attached = false;
	route_recount(r);
	route_record(r);
}

void
route_free(struct route **rp)
{
	struct route	*r = *rp;
	struct child	*c;

	/* rp may be &owner->route. */
	assert(r == NULL || r->owner == NULL || r->owner->route == r);
	*rp = NULL;
	if (r == NULL)
		return;
	if (r->opened)
		route_audit_end(r);
	if (r->owner != NULL)
		r->owner->route = NULL;
	/* Clients that still wait for it get "unknown". */
	while ((c = TAILQ_FIRST(&r->waiting)) != NULL) {
		child_want(c, NULL, NULL);
		decide(c, IPC__VERDICT__UNKNOWN, NULL);
	}
	route_leave_state(r);
	tally_put(&r->client);
	tally_put(&r->user);
	map_del(&r->all->by_id, &r->node);
	TAILQ_REMOVE(&r->all->list, r, entry);
	if (r->all->world->records != NULL)
		records_drop(r->all->world->records, &r->slot);
	timer_stop(&r->expire_ev);
	free(r->transcript);
	sodium_memzero(r->id, sizeof(r->id));
	free(r);
}

static void
route_on_expire(void *arg)
{
	struct route	*r = arg;

	assert(r->owner == NULL && !r->attached);
	log_debug("session %u forgotten", r->number);
	r->why = "expired: nobody resumed it";
	route_free(&r);
}

size_t
route_count(const struct routes *rs)
{
	return rs->in_state[ROUTE_ATTACHED] +
	    rs->in_state[ROUTE_DETACHED] - rs->operators;
}

size_t
route_count_of(const struct routes *rs, const char *identity)
{
	const struct tally	*t = map_find(&rs->clients, identity,
				    strlen(identity));

	return t != NULL ? t->live : 0;
}

size_t
route_operators(const struct routes *rs)
{
	return rs->operators;
}

size_t
route_operators_of(const struct routes *rs, const char *identity)
{
	const struct tally	*t = map_find(&rs->clients, identity,
				    strlen(identity));

	return t != NULL ? t->operators : 0;
}

static bool
is_whose(const struct route *r, const struct peer *p)
{
	return r->uid == p->uid && r->uplink == p->uplink &&
	    strcmp(r->identity, p->identity) == 0;
}

void
route_handover(struct routes *rs, struct child *greeter, const char *id,
    const void *message, size_t len, int fd)
{
	Ipc__Resume	 out = IPC__RESUME__INIT;
	struct route	*r = map_find(&rs->by_id, id, strlen(id));

	assert(greeter->state == CHILD_HANDING && greeter->wanted == NULL);
	assert(fd != -1);
	/*
	 * The session of another client must look like one that does not
	 * exist.  One that is not "opened" may already be known to its client:
	 * ask the owner.
	 */
	if (r == NULL || !is_whose(r, &greeter->peer) ||
	    r->owner == greeter) {
		decide(greeter, IPC__VERDICT__UNKNOWN, NULL);
		return;
	}
	if (r->owner == NULL) {
		decide(greeter, r->lost ? IPC__VERDICT__LOST :
		    IPC__VERDICT__YOURS, r);
		return;
	}
	/*
	 * An owner that does not read its messages (for example stopped) would
	 * not answer, and queued messages would fill our memory.  One of a
	 * former master will come soon.
	 */
	if (r->owner->state == CHILD_AWAITED ||
	    !chan_is_idle(r->owner->chan)) {
		decide(greeter, IPC__VERDICT__ATTACHED, NULL);
		return;
	}
	assert(r->owner->route == r);
	child_want(greeter, r, &r->waiting);
	greeter->asked_id = r->owner->id;
	out.ticket = greeter->id;
	out.until = clock_ms() + LIMIT_OFFER;
	out.peer = greeter->peer.text;
	out.message.data = (uint8_t *)(uintptr_t)message;
	out.message.len = len;
	chan_send(r->owner->chan, IPC_resume, &out, fd);
	child_wait_for_owner(greeter);
}

void
route_resumed(struct child *owner, uint32_t ticket, Ipc__Verdict v)
{
	struct child	*greeter = child_by_id(owner->all, ticket);
	struct route	*r;

	assert(owner->all != NULL && owner->chan != NULL);
	/* Only the owner that was asked may answer. */
	if (greeter == NULL || greeter->asked_id != owner->id)
		return;
	if ((r = greeter->wanted) == NULL) {
		/* Timed out, and the owner took the client all the same. */
		if (v == IPC__VERDICT__TAKEN &&
		    greeter->state == CHILD_GREETING)
			child_kill(greeter);
		return;
	}
	if (v != IPC__VERDICT__TAKEN && v != IPC__VERDICT__ATTACHED &&
	    v != IPC__VERDICT__UNKNOWN && v != IPC__VERDICT__RELEASED) {
		child_violates(owner, "resumed");
		v = IPC__VERDICT__UNKNOWN;
	}
	if (v != IPC__VERDICT__RELEASED && r->owner != owner)
		v = IPC__VERDICT__UNKNOWN;
	if (v == IPC__VERDICT__TAKEN)
		snprintf(r->peer, sizeof(r->peer), "%s", greeter->peer.text);
	if (v == IPC__VERDICT__RELEASED)
		v = r->owner == NULL ? IPC__VERDICT__YOURS :
		    IPC__VERDICT__ATTACHED;	/* another resumed it */
	decide(greeter, v, r);
}

/* Free a user's oldest tombstones above LIMIT_KEPT. */
static void
bound_kept(struct tally *user)
{
	struct route	*r;

	/* The tally stays: it has LIMIT_KEPT others. */
	while (user->nkept > LIMIT_KEPT) {
		r = TAILQ_FIRST(&user->kept);
		r->why = "too many detached sessions";
		route_free(&r);
	}
}

void
route_revive(struct route *r, struct child *owner)
{
	assert(r->owner == NULL && owner->route == NULL);
	timer_stop(&r->expire_ev);
	r->owner = owner;
	owner->route = r;
	r->until = 0;
	route_recount(r);
	route_record(r);
}

/*
 * Answer requests to resume that the former owner no longer answers: the first
 * gets the session, the others may try again.
 */
static void
settle_waiting(struct route *r, const struct child *owner)
{
	struct child	*c, *next;

	assert(r->owner != owner);
	for (c = TAILQ_FIRST(&r->waiting); c != NULL; c = next) {
		next = TAILQ_NEXT(c, wanted_entry);
		if (c->asked_id == owner->id)
			decide(c, r->lost ? IPC__VERDICT__LOST :
			    r->owner == NULL ? IPC__VERDICT__YOURS :
			    IPC__VERDICT__ATTACHED, r);
	}
}

void
route_release(struct route *r, uint64_t retain)
{
	struct child	*owner = r->owner;
	uint64_t	 ms;

	assert(owner != NULL && owner->route == r);
	ms = retain != 0 ? retain : owner->detached_ttl;
	route_detached(r);
	owner->route = NULL;
	r->owner = NULL;
	route_recount(r);
	r->retain = retain;
	r->until = clock_ms() + ms;
	timer_set(&r->expire_ev, ms);
	route_record(r);
	settle_waiting(r, owner);
	bound_kept(r->user);
}

void
route_lose(struct route *r)
{
	assert(r->owner != NULL && r->owner->route == r);
	r->why = "its worker died";
	if (!r->opened) {
		route_free(&r);
		return;
	}
	STAT_INC(r->all->world, ended);
	STAT_INC(r->all->world, lost);
	route_audit_end(r);
	r->opened = r->attached = false;
	r->lost = true;
	route_release(r, 0);
}

void
route_on_owner_gone(struct route *r, const char *why)
{
	assert(r->owner != NULL && r->owner->route == r && why != NULL);
	r->why = why;
	if (r->opened)
		STAT_INC(r->all->world, ended);
	route_free(&r);
}
