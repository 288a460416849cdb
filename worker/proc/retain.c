#include "worker/proc/retain.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"

#define MARKER_MAX	128	/* bytes of a marker's text */
#define PROBE		(64 * 1024)	/* bytes that must fit on the disk */

void
window_init(struct window *w)
{
	memset(w, 0, sizeof(*w));
	w->memory_max = LIMIT_OUTPUT_MEMORY;
	TAILQ_INIT(&w->sent);
	TAILQ_INIT(&w->relayed);
	spool_init(&w->spool);
}

void
window_fini(struct window *w)
{
	assert(TAILQ_EMPTY(&w->relayed) && w->memory == 0);
	spool_fini(&w->spool);
}

static bool
is_unread(enum chunk_state s)
{
	return s == CHUNK_SPOOLED || s == CHUNK_SENT;
}

/* The only function that changes a chunk's state, and its counters. */
static void
chunk_set_state(struct chunk *c, enum chunk_state to)
{
	struct window	*w = c->retain->window;
	size_t		 cost = chunk_cost(c);

	assert(c->len <= c->cap && to <= CHUNK_ACKED);
	if (c->state == to)
		return;
	if (is_unread(c->state) && !is_unread(to))
		c->retain->unread_cost -= cost;
	else if (!is_unread(c->state) && is_unread(to))
		c->retain->unread_cost += cost;
	switch ((enum chunk_state)c->state) {
	case CHUNK_SPOOLED:
		w->spooled_cost -= cost;
		break;
	case CHUNK_SENT:
		TAILQ_REMOVE(&w->sent, c, state_entry);
		w->sent_cost -= cost;
		c->retain->sent_bytes -= c->len;
		break;
	case CHUNK_RELAYED:
		TAILQ_REMOVE(&w->relayed, c, state_entry);
		w->relayed_cost -= cost;
		w->relayed_memory -= c->part == NULL ? cost : 0;
		c->retain->relayed_count--;
		break;
	case CHUNK_ACKED:
		TAILQ_REMOVE(&c->retain->acked, c, state_entry);
		c->retain->acked_bytes -= c->len;
		c->retain->acked_count--;
		break;
	}
	c->state = (uint8_t)to;
	switch (to) {
	case CHUNK_SPOOLED:
		w->spooled_cost += cost;
		break;
	case CHUNK_SENT:
		TAILQ_INSERT_TAIL(&w->sent, c, state_entry);
		w->sent_cost += cost;
		w->sent_total += cost;
		c->retain->sent_bytes += c->len;
		break;
	case CHUNK_RELAYED:
		TAILQ_INSERT_TAIL(&w->relayed, c, state_entry);
		w->relayed_cost += cost;
		w->relayed_memory += c->part == NULL ? cost : 0;
		c->retain->relayed_count++;
		break;
	case CHUNK_ACKED:
		TAILQ_INSERT_TAIL(&c->retain->acked, c, state_entry);
		c->retain->acked_bytes += c->len;
		c->retain->acked_count++;
		break;
	}
}

void
window_sent(struct window *w, struct chunk *c, uint64_t pos)
{
	assert(c->retain->window == w);
	c->sealed = true;
	if (c->state != CHUNK_SPOOLED && c->state != CHUNK_RELAYED)
		return;			/* SENT or beyond */
	c->pos = pos;
	chunk_set_state(c, CHUNK_SENT);
}

void
window_ack(struct window *w, uint64_t pos)
{
	struct chunk	*c;
	struct retain	*r;

	while ((c = TAILQ_FIRST(&w->sent)) != NULL && c->pos <= pos) {
		r = c->retain;
		chunk_set_state(c, CHUNK_ACKED);
		retain_evict(r);
	}
}

/*
 * Move a chunk to the spool if there is too much in memory.  Return its new
 * place, or c if the disk is full.
 */
static struct chunk *
spool(struct window *w, struct chunk *c)
{
	size_t			 size = sizeof(*c) + c->len;
	struct spool_part	*part;
	struct chunk		*moved;

	assert(c->state == CHUNK_SENT);
	if (c->part != NULL ||
	    (w->relayed_memory + chunk_cost(c) <= w->retain &&
	    w->memory <= w->memory_max) ||
	    (moved = spool_alloc(&w->spool, size, &part)) == NULL)
		return c;
	spool_write(&w->spool, part, moved, c, size);
	moved->part = part;
	TAILQ_INSERT_BEFORE(c, moved, retain_entry);
	TAILQ_REMOVE(&c->retain->chunks, c, retain_entry);
	TAILQ_INSERT_BEFORE(c, moved, state_entry);
	TAILQ_REMOVE(&w->sent, c, state_entry);
	w->memory -= chunk_cost(c);
	free(c);
	return moved;
}

void
window_relay(struct window *w, uint64_t pos, uint64_t now)
{
	struct chunk	*c;

	if (w->retain == 0) {
		window_ack(w, pos);
		return;
	}
	while ((c = TAILQ_FIRST(&w->sent)) != NULL && c->pos <= pos) {
		c = spool(w, c);
		c->pos = now;
		chunk_set_state(c, CHUNK_RELAYED);
	}
	window_expire(w, now);
}

void
window_expire(struct window *w, uint64_t now)
{
	struct chunk	*c;
	struct retain	*r;

	while ((c = TAILQ_FIRST(&w->relayed)) != NULL &&
	    w->relayed_cost > w->retain && c->pos + LIMIT_RELAYED_MS <= now) {
		r = c->retain;
		chunk_set_state(c, CHUNK_ACKED);
		retain_evict(r);
	}
}

bool
window_is_full(const struct window *w)
{
	return w->retain > 0 && (w->relayed_memory >= 2 * w->retain ||
	    w->relayed_cost >= w->retain + LIMIT_RELAYED);
}

uint64_t
window_due(const struct window *w)
{
	const struct chunk	*c = TAILQ_FIRST(&w->relayed);

	return c == NULL || w->relayed_cost <= w->retain ? 0 :
	    c->pos + LIMIT_RELAYED_MS;
}

bool
window_has_memory(const struct window *w, size_t cap)
{
	return w->memory + sizeof(struct chunk) + cap <= w->memory_max;
}

struct chunk *
window_chunk(struct window *w, size_t cap)
{
	struct spool_part	*part;
	struct chunk		*c;

	assert(cap > 0);
	if (window_has_memory(w, cap))
		return chunk_new(cap);
	c = spool_alloc(&w->spool, sizeof(*c) + cap, &part);
	w->is_disk_full = c == NULL;
	if (c == NULL)
		return chunk_new(cap);
	memset(c, 0, sizeof(*c));
	c->cap = (uint32_t)cap;
	c->part = part;
	return c;
}

void
window_fill(struct window *w, struct chunk *c, const void *data, size_t len)
{
	assert(c->len == 0 && len <= c->cap);
	if (c->part != NULL)
		spool_write(&w->spool, c->part, c->data, data, len);
	else
		memcpy(c->data, data, len);
}

bool
window_is_stuck(const struct window *w)
{
	return w->is_disk_full && w->memory >= w->memory_max;
}

void
window_look_again(struct window *w)
{
	struct spool_part	*part;

	if (!w->is_disk_full ||
	    spool_alloc(&w->spool, PROBE, &part) == NULL)
		return;
	spool_free(&w->spool, part);
	w->is_disk_full = false;
}

void
window_lost(struct window *w)
{
	struct chunk	*c;

	while ((c = TAILQ_FIRST(&w->sent)) != NULL)
		chunk_set_state(c, CHUNK_SPOOLED);
}

void
retain_init(struct retain *r, struct window *w)
{
	memset(r, 0, sizeof(*r));
	TAILQ_INIT(&r->chunks);
	TAILQ_INIT(&r->acked);
	r->window = w;
	r->next_seq = 1;
}

static void
chunk_free(struct chunk *c)
{
	struct window	*w = c->retain->window;

	assert(c->part != NULL || w->memory >= chunk_cost(c));
	if (c->part != NULL) {
		spool_free(&w->spool, c->part);
		return;
	}
	w->memory -= chunk_cost(c);
	free(c);
}

static void
chunk_drop(struct chunk *c)
{
	struct retain	*r = c->retain;

	assert(r->count > 0 && r->bytes >= c->len);
	chunk_set_state(c, CHUNK_ACKED);
	TAILQ_REMOVE(&r->acked, c, state_entry);
	r->acked_bytes -= c->len;
	r->acked_count--;
	TAILQ_REMOVE(&r->chunks, c, retain_entry);
	r->bytes -= c->len;
	if (r->total != NULL)
		*r->total -= c->len;
	r->count--;
	if (c == r->marker)
		r->marker = NULL;
	chunk_free(c);
}

void
retain_fini(struct retain *r)
{
	struct chunk	*c;

	while ((c = TAILQ_FIRST(&r->chunks)) != NULL)
		chunk_drop(c);
}

void
retain_count(struct retain *r, size_t *total)
{
	assert(r->total == NULL);
	r->total = total;
	*total += r->bytes;
}

struct chunk *
chunk_new(size_t cap)
{
	struct chunk	*c;

	if ((c = malloc(sizeof(*c) + cap)) == NULL)
		return NULL;
	memset(c, 0, sizeof(*c));
	c->cap = (uint32_t)cap;
	return c;
}

void
retain_add(struct retain *r, struct chunk *c, uint8_t stream)
{
	assert(c->retain == NULL && c->len <= c->cap && r->total == NULL);
	c->retain = r;
	c->seq = r->next_seq++;
	c->stream = stream;
	c->state = CHUNK_SPOOLED;
	TAILQ_INSERT_TAIL(&r->chunks, c, retain_entry);
	r->bytes += c->len;
	r->count++;
	r->unread_cost += chunk_cost(c);
	r->window->spooled_cost += chunk_cost(c);
	r->window->memory += c->part == NULL ? chunk_cost(c) : 0;
}

void
retain_exit(struct retain *r)
{
	assert(r->exit_seq == 0);
	r->exit_seq = r->next_seq++;
	r->exit_gap = r->gap;
}

bool
retain_append(struct retain *r, uint8_t stream, const void *data, size_t len)
{
	struct chunk	*c = TAILQ_LAST(&r->chunks, chunk_list);

	assert(r->total == NULL);
	/* Must have the newest number: exit and close have numbers, too. */
	if (c == NULL || c->sealed || c->stream != stream ||
	    c->seq != r->next_seq - 1 || len > c->cap - c->len)
		return false;
	memcpy(c->data + c->len, data, len);
	c->len += (uint32_t)len;
	r->bytes += len;
	return true;
}

void
retain_ack(struct retain *r, uint64_t seq)
{
	struct chunk	*c, *next;

	for (c = TAILQ_FIRST(&r->chunks); c != NULL && c->seq <= seq &&
	    (r->unread_cost > 0 || r->relayed_count > 0); c = next) {
		next = TAILQ_NEXT(c, retain_entry);
		if (c->sealed)
			chunk_set_state(c, CHUNK_ACKED);
	}
}

static size_t
min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/*
 * Skip chunks that are not acknowledged: a client that never asks for what it
 * lost would otherwise make us keep all that follows.  They do not count as
 * retained either, because the last acknowledged bytes may be lost in a
 * rendezvous (LIMIT_UNPROVEN) while much more is unread.  Chunks being sent do
 * count, for twice their limit, since whole chunks are dropped.
 */
void
retain_evict_to(struct retain *r, size_t bytes, size_t count)
{
	size_t		 most = min(bytes, LIMIT_RETAINED);
	size_t		 least = min(bytes, 2 * LIMIT_UNPROVEN);
	size_t		 few = min(count, LIMIT_CHUNKS);

	while ((r->bytes > bytes && r->acked_bytes > most) ||
	    (r->sent_bytes + r->acked_bytes > bytes &&
	    r->acked_bytes > least) ||
	    (r->count > count && r->acked_count > few))
		chunk_drop(TAILQ_FIRST(&r->acked));
}

void
retain_evict(struct retain *r)
{
	size_t	 factor = r->catching_up ? LIMIT_CATCH_UP : 1;

	retain_evict_to(r, factor * LIMIT_RETAINED, factor * LIMIT_CHUNKS);
}

/* Find the oldest chunk that no client can have seen. */
static struct chunk *
first_unseen(const struct retain *r)
{
	struct chunk	*c;

	if (r->marker != NULL)
		return TAILQ_NEXT(r->marker, retain_entry);
	TAILQ_FOREACH(c, &r->chunks, retain_entry)
		if (!c->sealed)
			break;
	return c;
}

/* Put a chunk in the place of c, with its number. */
static struct chunk *
put_marker(struct retain *r, struct chunk *c)
{
	struct chunk	*m;

	if ((m = chunk_new(MARKER_MAX)) == NULL)
		return NULL;
	m->retain = r;
	m->seq = c->seq;
	m->stream = c->stream;
	m->state = CHUNK_SPOOLED;
	TAILQ_INSERT_BEFORE(c, m, retain_entry);
	r->count++;
	r->unread_cost += chunk_cost(m);
	r->window->spooled_cost += chunk_cost(m);
	r->window->memory += chunk_cost(m);
	return m;
}

bool
retain_drop_oldest(struct retain *r)
{
	struct chunk	*c = first_unseen(r);

	if (c == NULL || TAILQ_NEXT(c, retain_entry) == NULL)
		return false;
	if (r->marker == NULL) {
		if ((r->marker = put_marker(r, c)) == NULL)
			return false;
	} else {
		r->gap++;
		if (c->seq < r->exit_seq)
			r->exit_gap++;
	}
	r->dropped += c->len;
	chunk_drop(c);
	return true;
}

uint64_t
retain_close_gap(struct retain *r, uint64_t *after_out, uint64_t *by_out)
{
	struct chunk	*m = r->marker, *c = m;
	const char	*line;
	uint64_t	 dropped = r->dropped;

	assert(r->exit_gap <= r->gap);
	if (m == NULL)
		return 0;
	line = m->stream == STREAM_PTY ? "\r\n" : "\n";
	m->len = (uint32_t)snprintf((char *)m->data, m->cap,
	    "%s[execsrv: %llu bytes of output were dropped here while nobody "
	    "was attached]%s", line, (unsigned long long)dropped, line);
	r->bytes += m->len;
	if (r->total != NULL)
		*r->total += m->len;
	*after_out = m->seq;
	*by_out = r->gap;
	while ((c = TAILQ_NEXT(c, retain_entry)) != NULL)
		c->seq -= r->gap;
	r->next_seq -= r->gap;
	r->exit_seq -= r->exit_gap;
	r->marker = NULL;
	r->gap = r->exit_gap = r->dropped = 0;
	return dropped;
}

struct chunk *
retain_after(const struct retain *r, uint64_t seq)
{
	struct chunk	*c, *found = NULL;

	/* From the end, where readers usually are. */
	TAILQ_FOREACH_REVERSE(c, &r->chunks, chunk_list, retain_entry) {
		if (c->seq <= seq)
			break;
		found = c;
	}
	return found;
}

const char *
retain_stream_name(uint8_t stream)
{
	static const char *const names[] = { "stdout", "stderr", "pty" };

	assert(stream <= STREAM_PTY);
	return names[stream];
}
