#include "master/uplink/carrier.h"
#include "master/uplink/carrier_priv.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/log.h"

/* --- streams --- */

static void	 carrier_stream_ready(struct carrier_stream *f);

static bool
on_first(void *arg, uint8_t **data_out, size_t *len_out)
{
	struct carrier_stream	*f = arg;

	assert(f->carrier != NULL);
	return f->carrier->ops->first(f, data_out, len_out);
}

static void
on_drop(void *arg)
{
	struct carrier_stream	*f = arg;

	assert(f->carrier != NULL);
	f->carrier->ops->drop(f);
}

static void
carrier_on_output(void *arg)
{
	struct carrier_stream	*f = arg;

	assert(f->carrier != NULL);
	carrier_stream_ready(f);
}

static void
answer_pings(struct carrier_stream *f)
{
	struct carrier	*c = f->carrier;

	assert(f->npings <= LOCAL_END_PINGS);
	while (f->npings > 0 && c->line->has_read(c->line_arg, f->pings[0])) {
		f->npings--;
		memmove(f->pings, f->pings + 1,
		    f->npings * sizeof(f->pings[0]));
		local_end_pong(f->local_end);
	}
}

/* All that the server sent before its ping is on the websocket already. */
static void
carrier_on_ping(void *arg)
{
	struct carrier_stream	*f = arg;
	struct carrier		*c = f->carrier;
	unsigned		 i;

	assert(c != NULL && f->npings <= LOCAL_END_PINGS);
	i = f->npings < LOCAL_END_PINGS ? f->npings++ : LOCAL_END_PINGS - 1;
	f->pings[i] = c->line->sent(c->line_arg);
	answer_pings(f);
}

static const struct local_end_events local_end_events = {
	on_first, on_drop, carrier_on_output, carrier_on_ping
};

struct carrier_stream *
carrier_stream_new(struct carrier *c)
{
	const struct uplink_events	*up = c->env->events;
	struct carrier_stream		*f;

	if ((f = calloc(1, sizeof(*f))) == NULL ||
	    (f->local_end = up->new_local_end(c->env->arg, &local_end_events,
	    f)) == NULL) {
		log_warn("cannot open a stream");
		free(f);
		return NULL;
	}
	f->carrier = c;
	f->share.quota = &c->quota;
	STAILQ_INIT(&f->queue);
	TAILQ_INSERT_TAIL(&c->streams, f, entry);
	c->nstreams++;
	up->on_news(c->env->arg, LIMIT_UPLINK_TELL);
	return f;
}

void
carrier_stream_free(struct carrier_stream **fp)
{
	struct carrier_stream	*f = *fp;
	struct carrier		*c;

	*fp = NULL;
	if (f == NULL)
		return;
	c = f->carrier;
	while (f->nqueued > 0)
		carrier_stream_drop(f);
	assert(f->held == 0 && f->share.held == 0 && c->nstreams > 0);
	if (f->is_ready)
		TAILQ_REMOVE(&c->ready, f, ready_entry);
	TAILQ_REMOVE(&c->streams, f, entry);
	c->nstreams--;
	local_end_free(&f->local_end);
	free(f);
	c->env->events->on_news(c->env->arg, LIMIT_UPLINK_TELL);
}

/* The stream may have something to send. */
static void
carrier_stream_ready(struct carrier_stream *f)
{
	struct carrier	*c = f->carrier;

	if (f->is_ready || f->is_held)
		return;
	f->is_ready = true;
	TAILQ_INSERT_TAIL(&c->ready, f, ready_entry);
	c->line->want(c->line_arg);
}

void
carrier_stream_hold(struct carrier_stream *f, bool is_held)
{
	f->is_held = is_held;
	if (!is_held)
		carrier_stream_ready(f);
}

static struct queued_msg *
queued_msg_new(const uint8_t *data, size_t room, size_t len)
{
	struct queued_msg	*n;

	if ((n = malloc(sizeof(*n) + room + len)) == NULL)
		return NULL;
	n->len = room + len;
	memcpy(n->data + room, data, len);
	return n;
}

int
carrier_stream_put(struct carrier_stream *f, const uint8_t *data, size_t len)
{
	struct queued_msg	*n;

	if (f->nqueued >= LIMIT_STREAM_MESSAGES ||
	    f->held + len > LIMIT_STREAM_HELD ||
	    (n = queued_msg_new(data, 0, len)) == NULL)
		return -1;
	if (quota_set(&f->share, f->held + len) == -1) {
		free(n);
		return -1;
	}
	STAILQ_INSERT_TAIL(&f->queue, n, entry);
	f->nqueued++;
	f->held += len;
	local_end_push(f->local_end);
	return 0;
}

bool
carrier_stream_first(struct carrier_stream *f, uint8_t **data_out,
    size_t *len_out)
{
	struct queued_msg	*n = STAILQ_FIRST(&f->queue);

	if (n == NULL)
		return false;
	*data_out = n->data;
	*len_out = n->len;
	return true;
}

void
carrier_stream_drop(struct carrier_stream *f)
{
	struct queued_msg	*n = STAILQ_FIRST(&f->queue);

	assert(n != NULL && f->nqueued > 0 && f->held >= n->len);
	STAILQ_REMOVE_HEAD(&f->queue, entry);
	f->nqueued--;
	f->held -= n->len;
	quota_lower(&f->share, f->held);
	free(n);
}

bool
carrier_stream_begins(struct carrier_stream *f, size_t len, uint8_t **room_out)
{
	struct carrier	*c = f->carrier;

	if ((f->is_sent = !f->is_sent) == false)
		return false;
	free(c->frame);
	c->frame = malloc(LWS_PRE + len);
	*room_out = c->frame == NULL ? NULL : c->frame + LWS_PRE;
	return true;
}

/* --- the carrier --- */

int
carrier_init(struct carrier *c)
{
	(void)c;
	return 0;
}

void
carrier_fini(struct carrier *c)
{
	struct carrier_stream	*f;

	while ((f = TAILQ_FIRST(&c->streams)) != NULL)
		carrier_stream_free(&f);
	free(c->frame);
}

struct carrier *
carrier_new(struct uplink_env *env, const struct carrier_line *line,
    void *arg)
{
	static const struct carrier_ops *const	 kinds[] = {
		[ANSWER_NOISE] = &carry_noise,
		[ANSWER_CLEAR] = &carry_clear,
		[ANSWER_PLAIN] = &carry_plain,
	};
	const struct carrier_ops	*ops = kinds[env->registry.kind];
	struct carrier			*c;

	assert(ops != NULL && ops->size >= sizeof(*c));
	if ((c = calloc(1, ops->size)) == NULL)
		return NULL;
	c->ops = ops;
	c->env = env;
	c->line = line;
	c->line_arg = arg;
	TAILQ_INIT(&c->streams);
	TAILQ_INIT(&c->ready);
	STAILQ_INIT(&c->control);
	quota_init(&c->quota);
	if (ops->init(c) == -1) {
		free(c);
		return NULL;
	}
	return c;
}

void
carrier_free(struct carrier **cp)
{
	struct carrier		*c = *cp;
	struct queued_msg	*n;

	*cp = NULL;
	if (c == NULL)
		return;
	c->ops->fini(c);
	assert(c->nstreams == 0 && TAILQ_EMPTY(&c->ready));
	while ((n = STAILQ_FIRST(&c->control)) != NULL) {
		STAILQ_REMOVE_HEAD(&c->control, entry);
		free(n);
	}
	free(c->current);
	free(c);
}

void
carrier_on_message(struct carrier *c, uint8_t *data, size_t len,
    bool is_binary)
{
	c->ops->on_message(c, data, len, is_binary);
}

void
carrier_put(struct carrier *c, const uint8_t *frame, size_t len,
    bool may_be_lost)
{
	struct queued_msg	*n;

	assert(len > 0);
	if ((may_be_lost && c->ncontrol >= LIMIT_RESETS) ||
	    (n = queued_msg_new(frame, LWS_PRE, len)) == NULL)
		return;
	STAILQ_INSERT_TAIL(&c->control, n, entry);
	c->ncontrol++;
	c->line->want(c->line_arg);
}

/* The next frame of the stream whose turn it is; 0: it has none. */
static size_t
next_of(struct carrier_stream *f, uint8_t **frame_out)
{
	const struct carrier_ops	*ops = f->carrier->ops;
	const uint8_t			*data;
	size_t				 len;
	ssize_t				 n;

	if (f->is_held)
		return 0;
	if (!local_end_output(f->local_end, &data, &len)) {
		if (local_end_is_over(f->local_end))
			ops->end(f);
		return 0;
	}
	if ((n = ops->seal(f, data, len, frame_out)) > 0)
		carrier_stream_ready(f);
	else if (n == 0)
		local_end_take(f->local_end);
	else
		ops->end(f);
	return n > 0 ? (size_t)n : 0;
}

size_t
carrier_next(struct carrier *c, uint8_t **frame_out, bool *is_binary_out)
{
	struct carrier_stream	*f;
	size_t			 n;

	*is_binary_out = c->ops->is_binary;
	free(c->current);
	if ((c->current = STAILQ_FIRST(&c->control)) != NULL) {
		assert(c->ncontrol > 0);
		STAILQ_REMOVE_HEAD(&c->control, entry);
		c->ncontrol--;
		*frame_out = c->current->data + LWS_PRE;
		return c->current->len - LWS_PRE;
	}
	while ((f = TAILQ_FIRST(&c->ready)) != NULL) {
		assert(f->is_ready);
		TAILQ_REMOVE(&c->ready, f, ready_entry);
		f->is_ready = false;
		if ((n = next_of(f, frame_out)) > 0)
			return n;
	}
	return 0;
}

void
carrier_on_proof(struct carrier *c)
{
	struct carrier_stream	*f;

	TAILQ_FOREACH(f, &c->streams, entry)
		answer_pings(f);
}

unsigned
carrier_streams(const struct carrier *c)
{
	return c == NULL ? 0 : c->nstreams;
}
