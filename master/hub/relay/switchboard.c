#include "master/hub/relay/switchboard.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/limit.h"
#include "master/hub/relay/relayhead.h"

#define KEY_HEAD	sizeof(uint64_t)	/* the executor's number */

#define PACE_MS		10
#define PACE_QUANTUM	((size_t)64 * 1024)	/* bytes, in a turn */

/* A stream belongs to the first harness that claimed its id. */
struct board_stream {
	struct map_node			 node;
	LIST_ENTRY(board_stream)	 entry;
	struct harness			*harness;
	bool				 is_stopped;
	size_t				 len;
	uint8_t				 key[];	/* executor's number, id */
};

static void	 executor_on_message(void *, const uint8_t *, size_t);
static void	 executor_on_text(void *, const uint8_t *, size_t);
static void	 executor_on_drained(void *);
static void	 executor_on_end(void *, const char *);
static void	 harness_on_message(void *, const uint8_t *, size_t);
static void	 harness_on_text(void *, const uint8_t *, size_t);
static void	 harness_on_drained(void *);
static void	 harness_on_end(void *, const char *);
static void	 harness_on_stall(void *);
static void	 harness_on_hold(void *);

static const struct wslink_events executor_events = {
	executor_on_message, executor_on_text, executor_on_drained,
	executor_on_end
};
static const struct wslink_events harness_events = {
	harness_on_message, harness_on_text, harness_on_drained,
	harness_on_end
};

/* --- streams --- */

static size_t
stream_key(const struct executor *x, struct span id,
    uint8_t key[KEY_HEAD + RELAYHEAD_ID_MAX])
{
	memcpy(key, &x->number, KEY_HEAD);
	memcpy(key + KEY_HEAD, id.at, id.len);
	return KEY_HEAD + id.len;
}

static struct board_stream *
stream_find(const struct executor *x, struct span id)
{
	uint8_t	 key[KEY_HEAD + RELAYHEAD_ID_MAX];
	size_t	 len = stream_key(x, id, key);

	return map_find(&x->board->streams, key, len);
}

static struct board_stream *
stream_claim(struct harness *h, struct span id)
{
	struct executor		*x = h->executor;
	struct board_stream	*s;
	size_t			 len = KEY_HEAD + id.len;

	assert(id.len > 0 && id.len <= RELAYHEAD_ID_MAX);
	if (x->nstream >= LIMIT_STREAMS ||
	    (s = malloc(sizeof(*s) + len)) == NULL)
		return NULL;
	memset(s, 0, sizeof(*s));
	s->harness = h;
	s->len = stream_key(x, id, s->key);
	if (map_add(&x->board->streams, &s->node, s->key, len, s) == -1) {
		free(s);
		return NULL;
	}
	LIST_INSERT_HEAD(&h->streams, s, entry);
	h->nstream++;
	x->nstream++;
	x->board->counts.streams_opened++;
	return s;
}

static struct span
stream_id(const struct board_stream *s)
{
	return (struct span){ (const char *)s->key + KEY_HEAD,
	    s->len - KEY_HEAD };
}

static void
stream_free(struct board_stream *s)
{
	struct harness	*h = s->harness;

	map_del(&h->executor->board->streams, &s->node);
	LIST_REMOVE(s, entry);
	assert(h->nstream > 0 && h->executor->nstream > 0);
	assert(h->nstopped >= s->is_stopped);
	h->nstream--;
	h->nstopped -= s->is_stopped;
	h->executor->nstream--;
	free(s);
}

static void
board_reset(struct wslink *to, struct span id, const char *reason)
{
	uint8_t	 frame[RELAYHEAD_RESET_MAX];

	wslink_send(to, frame, relayhead_reset(id, reason, frame));
}

/* --- back-pressure --- */

/* Let an executor of ours send no more of a stream, or go on. */
static void
stream_stop(struct board_stream *s, bool is_stopped)
{
	struct harness	*h = s->harness;
	struct executor	*x = h->executor;
	uint8_t		 frame[RELAYHEAD_RESET_MAX];

	if (s->is_stopped == is_stopped)
		return;
	s->is_stopped = is_stopped;
	if (is_stopped) {
		h->nstopped++;
		x->board->counts.stops++;
	} else {
		assert(h->nstopped > 0);
		h->nstopped--;
	}
	wslink_send(&x->link, frame, relayhead_flow(stream_id(s), is_stopped,
	    frame));
}

/*
 * The socket of an executor carries all its streams.  One that cannot stop a
 * stream is read no further while one of its harnesses has too much to read,
 * but not for long.
 */
static void
harness_check_stall(struct harness *h)
{
	size_t			 queued = wslink_queued(&h->link);
	struct board_stream	*s;

	if (h->nstopped > 0 && queued <= LIMIT_HUB_STOP / 2)
		LIST_FOREACH(s, &h->streams, entry)
			stream_stop(s, false);
	if (queued > LIMIT_HUB_UNSENT && !timer_is_set(&h->stall)) {
		wslink_pause(&h->executor->link);
		timer_set(&h->stall, LIMIT_HUB_STALL);
	} else if (queued <= LIMIT_HUB_UNSENT / 2 && timer_is_set(&h->stall)) {
		timer_stop(&h->stall);
		wslink_resume(&h->executor->link);
	}
}

/* An executor that reads slowly holds up its own harnesses. */
static void
executor_check_full(struct executor *x)
{
	size_t		 queued = wslink_queued(&x->link);
	struct harness	*h;

	if (!x->is_full && queued > LIMIT_HUB_UNSENT) {
		x->is_full = true;
		TAILQ_FOREACH(h, &x->harnesses, entry)
			wslink_pause(&h->link);
	} else if (x->is_full && queued <= LIMIT_HUB_UNSENT / 2) {
		x->is_full = false;
		/* They are read in this order. */
		TAILQ_FOREACH(h, &x->harnesses, entry)
			wslink_resume(&h->link);
	}
}

static void
board_count(struct switchboard *b, size_t n)
{
	b->counts.frames++;
	b->counts.bytes += n;
}

/* --- the rates of subjects --- */

static uint64_t
harness_rate(const struct harness *h)
{
	return (uint64_t)h->rate * 1024;
}

/* What it sends: read no more of it for a while. */
static void
harness_charge(struct harness *h, size_t n)
{
	uint64_t	 wait;

	if (h->rate == 0 || (wait = subject_send(h->subject, harness_rate(h),
	    (int64_t)n, clock_ms())) == 0 || timer_is_set(&h->hold))
		return;
	wslink_pause(&h->link);
	timer_set(&h->hold, wait < LIMIT_HUB_STALL ? wait : LIMIT_HUB_STALL);
}

static void
harness_on_hold(void *arg)
{
	struct harness	*h = arg;

	wslink_resume(&h->link);
}

/* What it is sent: keep it here, and send it at that rate. */
static void
harness_pace(struct harness *h, size_t n)
{
	struct switchboard	*b = h->executor->board;
	uint64_t		 now;

	if (h->rate == 0 || h->is_paced)
		return;
	now = clock_ms();
	if (subject_send(h->subject, harness_rate(h), (int64_t)n, now) == 0)
		return;
	/* What is queued will be counted when it goes. */
	subject_send(h->subject, harness_rate(h),
	    -(int64_t)wslink_queued(&h->link), now);
	wslink_hold(&h->link);
	h->is_paced = true;
	TAILQ_INSERT_TAIL(&b->paced, h, paced);
	timer_ensure(&b->pace, PACE_MS);
}

static void
harness_unpace(struct harness *h)
{
	assert(h->is_paced);
	TAILQ_REMOVE(&h->executor->board->paced, h, paced);
	h->is_paced = false;
	wslink_unhold(&h->link);
}

/* Send as much as its turn allows.  Return how many bytes. */
static size_t
harness_take_turn(struct harness *h, uint64_t now)
{
	uint64_t	 room = subject_room(h->subject, harness_rate(h),
			    now);
	size_t		 n;

	if (room == 0)
		return 0;
	if (wslink_queued(&h->link) == 0) {
		harness_unpace(h);
		return 0;
	}
	n = wslink_release(&h->link, room < PACE_QUANTUM ? room :
	    PACE_QUANTUM);
	subject_send(h->subject, harness_rate(h), (int64_t)n, now);
	harness_check_stall(h);
	return n;
}

/* All take turns, a quantum each, until no more may go. */
static void
board_on_pace(void *arg)
{
	struct switchboard	*b = arg;
	struct harness		*h, *last;
	uint64_t		 now = clock_ms();
	size_t			 sent;

	do {
		sent = 0;
		last = TAILQ_LAST(&b->paced, paced_list);
		while ((h = TAILQ_FIRST(&b->paced)) != NULL) {
			TAILQ_REMOVE(&b->paced, h, paced);
			TAILQ_INSERT_TAIL(&b->paced, h, paced);
			sent += harness_take_turn(h, now);
			if (h == last)
				break;
		}
	} while (sent > 0);
	if (!TAILQ_EMPTY(&b->paced))
		timer_set(&b->pace, PACE_MS);
}

/* --- harnesses --- */

static void
harness_free(struct harness *h, uint16_t code, const char *why,
    const char *reset)
{
	struct executor		*x = h->executor;
	struct switchboard	*b = x->board;
	struct board_stream	*s;

	assert(x->nharness > 0 && b->nharness > 0);
	b->events->on_harness_gone(b->arg, h, why);
	while ((s = LIST_FIRST(&h->streams)) != NULL) {
		if (reset != NULL)
			board_reset(&x->link, stream_id(s), reset);
		stream_free(s);
	}
	assert(h->nstream == 0 && h->nstopped == 0);
	if (timer_is_set(&h->stall))
		wslink_resume(&x->link);
	timer_stop(&h->stall);
	timer_stop(&h->hold);
	if (h->is_paced)
		harness_unpace(h);
	TAILQ_REMOVE(&x->harnesses, h, entry);
	x->nharness--;
	b->nharness--;
	assert(h->subject->harnesses > 0);
	h->subject->harnesses--;
	subject_unref(&h->subject);
	wslink_fini(&h->link, code, why);
	free(h);
	if (reset != NULL)
		executor_check_full(x);
}

static void
harness_on_end(void *arg, const char *why)
{
	harness_free(arg, 0, why, "harness_disconnected");
}

static void
harness_on_stall(void *arg)
{
	struct harness	*h = arg;

	assert(!timer_is_set(&h->stall));
	h->executor->board->counts.stalls++;
	/* Set no more, but its executor is still paused. */
	wslink_resume(&h->executor->link);
	harness_free(h, 0, "too slow", "harness_too_slow");
}

static void
harness_on_drained(void *arg)
{
	harness_check_stall(arg);
}

static void
harness_on_message(void *arg, const uint8_t *data, size_t len)
{
	struct harness		*h = arg;
	struct executor		*x = h->executor;
	struct relayhead	 head;
	struct board_stream	*s;

	if (relayhead_read(&head, data, len) == -1) {
		x->board->counts.dropped++;
		return;
	}
	if ((s = stream_find(x, head.id)) == NULL && !head.is_reset &&
	    (s = stream_claim(h, head.id)) == NULL) {
		x->board->counts.streams_refused++;
		board_reset(&h->link, head.id, "too_many_streams");
		return;
	}
	if (s == NULL || s->harness != h) {
		x->board->counts.dropped++;
		return;
	}
	if (head.is_reset)
		stream_free(s);
	h->bytes_in += len;
	x->bytes_out += len;
	wslink_send(&x->link, data, len);
	/* One that it drops would leave the stream there for good. */
	if (head.is_reset && !relayhead_is_plain_reset(&head, data, len))
		board_reset(&x->link, head.id, "harness_disconnected");
	board_count(x->board, len);
	harness_charge(h, len);
	executor_check_full(x);
	if (x->is_full) {
		/* The others come first. */
		TAILQ_REMOVE(&x->harnesses, h, entry);
		TAILQ_INSERT_TAIL(&x->harnesses, h, entry);
	}
}

/* No frame is one, as the reference has it. */
static void
harness_on_text(void *arg, const uint8_t *data, size_t len)
{
	struct harness	*h = arg;

	(void)data;
	(void)len;
	h->executor->board->counts.dropped++;
}

struct harness *
switchboard_connect(struct executor *x, const struct ticket *t,
    struct subject *who, const char *address, struct hubconn **cp,
    struct span rest)
{
	struct switchboard	*b = x->board;
	struct harness		*h;

	assert(x->nharness < LIMIT_STREAMS);
	if ((h = calloc(1, sizeof(*h))) == NULL)
		return NULL;
	h->executor = x;
	h->since = (uint64_t)time(NULL);
	h->rate = t->rate;
	LIST_INIT(&h->streams);
	timer_init(&h->stall, b->base, harness_on_stall, h);
	timer_init(&h->hold, b->base, harness_on_hold, h);
	snprintf(h->address, sizeof(h->address), "%s", address);
	if (wslink_init(&h->link, &b->links, cp, rest, &harness_events, h) ==
	    -1) {
		free(h);
		return NULL;
	}
	h->subject = subject_share(who);
	who->harnesses++;
	TAILQ_INSERT_HEAD(&x->harnesses, h, entry);
	x->nharness++;
	b->nharness++;
	if (x->is_full)
		wslink_pause(&h->link);
	b->events->on_harness(b->arg, h);
	return h;
}

/* --- executors --- */

void
switchboard_detach(struct executor *x, uint16_t code, const char *why)
{
	struct switchboard	*b = x->board;
	struct board_stream	*s;
	struct harness		*h;

	b->events->on_detach(b->arg, x, why);
	/* Streams do not survive the socket: say so, silence costs 30 s. */
	while ((h = TAILQ_FIRST(&x->harnesses)) != NULL) {
		LIST_FOREACH(s, &h->streams, entry)
			board_reset(&h->link, stream_id(s),
			    "executor_disconnected");
		harness_free(h, WSLINK_GOING, "executor disconnected", NULL);
	}
	assert(x->nstream == 0 && x->nharness == 0);
	map_del(&b->executors, &x->node);
	assert(x->subject->executors > 0);
	x->subject->executors--;
	subject_unref(&x->subject);
	wslink_fini(&x->link, code, why);
	free(x);
}

static void
executor_on_end(void *arg, const char *why)
{
	switchboard_detach(arg, 0, why);
}

static void
executor_on_drained(void *arg)
{
	executor_check_full(arg);
}

static void
executor_on_message(void *arg, const uint8_t *data, size_t len)
{
	struct executor		*x = arg;
	struct relayhead	 head;
	struct board_stream	*s;
	struct harness		*h;

	if (relayhead_read(&head, data, len) == -1 ||
	    (s = stream_find(x, head.id)) == NULL) {
		x->board->counts.dropped++;
		return;
	}
	h = s->harness;
	x->bytes_in += len;
	h->bytes_out += len;
	wslink_send(&h->link, data, len);
	board_count(x->board, len);
	harness_pace(h, len);
	if (head.is_reset)
		stream_free(s);
	else if (x->takes_flow && wslink_queued(&h->link) > LIMIT_HUB_STOP)
		stream_stop(s, true);
	harness_check_stall(h);
}

static void
executor_on_text(void *arg, const uint8_t *data, size_t len)
{
	struct executor	*x = arg;

	(void)data;
	(void)len;
	x->board->counts.dropped++;
}

/* Append a text and its NUL.  Return where it is. */
static const char *
text_add(char **at, const char *text)
{
	const char	*begin = *at;
	size_t		 n = strlen(text) + 1;

	memcpy(*at, text, n);
	*at += n;
	return begin;
}

/* There are many of them: in one piece, as small as it can be. */
static struct executor *
executor_new(const char *environment, const char *labels, const char *address)
{
	struct executor	*x;
	char		*at;

	if ((x = calloc(1, sizeof(*x) + strlen(environment) + strlen(labels) +
	    strlen(address) + 3)) == NULL)
		return NULL;
	at = x->text;
	x->environment = text_add(&at, environment);
	x->labels = text_add(&at, labels);
	x->address = text_add(&at, address);
	TAILQ_INIT(&x->harnesses);
	return x;
}

struct executor *
switchboard_attach(struct switchboard *b, const char *environment,
    const struct ticket *t, struct subject *who, const char *address,
    struct hubconn **cp, struct span rest)
{
	struct executor	*x, *old;

	if ((x = executor_new(environment, t->labels, address)) == NULL)
		return NULL;
	x->board = b;
	x->number = ++b->last;
	x->since = (uint64_t)time(NULL);
	x->key = t->key;
	memcpy(x->registration, t->registration, sizeof(x->registration));
	if ((old = switchboard_find(b, environment)) != NULL)
		switchboard_detach(old, WSLINK_POLICY, "replaced");
	assert(switchboard_find(b, environment) == NULL);
	if (map_add(&b->executors, &x->node, x->environment,
	    strlen(x->environment), x) == -1)
		goto fail;
	if (wslink_init(&x->link, &b->links, cp, rest, &executor_events, x) ==
	    -1) {
		map_del(&b->executors, &x->node);
		goto fail;
	}
	x->subject = subject_share(who);
	who->executors++;
	b->events->on_attach(b->arg, x);
	return x;
 fail:
	free(x);
	errno = ENOMEM;
	return NULL;
}

struct executor *
switchboard_find(const struct switchboard *b, const char *environment)
{
	return map_find(&b->executors, environment, strlen(environment));
}

static int
executor_by_name(const void *a, const void *b)
{
	const struct executor	*const *x = a, *const *y = b;

	return strcmp((*x)->environment, (*y)->environment);
}

struct executor **
switchboard_list(const struct switchboard *b, const char *label,
    const char *after, size_t *n_out)
{
	struct executor	**list, *x;
	size_t		 n = 0;

	if ((list = calloc(b->executors.count + 1, sizeof(struct executor *)))
	    == NULL)
		return NULL;
	for (x = map_first(&b->executors); x != NULL;
	    x = map_next(&b->executors, &x->node))
		if ((label[0] == '\0' || labels_have(x->labels, label)) &&
		    strcmp(x->environment, after) > 0)
			list[n++] = x;
	qsort(list, n, sizeof(struct executor *), executor_by_name);
	*n_out = n;
	return list;
}

/* --- all --- */

void
switchboard_init(struct switchboard *b, struct event_base *base,
    uint64_t ping_ms, const struct switchboard_events *e, void *arg)
{
	memset(b, 0, sizeof(*b));
	b->base = base;
	b->events = e;
	b->arg = arg;
	wslinks_init(&b->links, base, ping_ms);
	map_init(&b->executors);
	map_init(&b->streams);
	TAILQ_INIT(&b->paced);
	timer_init(&b->pace, base, board_on_pace, b);
}

void
switchboard_fini(struct switchboard *b, uint16_t code, const char *why)
{
	struct executor	*x;

	while ((x = map_first(&b->executors)) != NULL)
		switchboard_detach(x, code, why);
	assert(b->nharness == 0 && b->streams.count == 0);
	assert(TAILQ_EMPTY(&b->paced));
	timer_stop(&b->pace);
	wslinks_fini(&b->links);
	map_fini(&b->executors);
	map_fini(&b->streams);
}
