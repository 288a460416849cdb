#include "common/noise/stream.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"

/* --- results ---------------------------------------------------------------*/

static void
act_init(struct stream_act *act)
{
	act->event = STREAM_NOTHING;
	act->stream = NULL;
	act->number = 0;
	act->harness = NULL;
	memset(&act->authorization, 0, sizeof(act->authorization));
	memset(&act->id, 0, sizeof(act->id));
	act->is_reset = false;
	act->len = 0;
}

static struct span
span_of(const struct stream_id *id)
{
	struct span	 s = { id->text, id->len };

	return s;
}

static void
act_send(struct stream_act *act, enum relay_kind kind, struct span id,
    const void *payload, size_t len)
{
	struct relay_frame	 f;
	ssize_t			 n;

	memset(&f, 0, sizeof(f));
	f.kind = kind;
	f.id = id;
	f.payload = payload;
	f.len = len;
	n = relay_encode(&f, act->frame, sizeof(act->frame));
	assert(n > 0);			/* STREAM_ACT_MAX suffices */
	act->len = (size_t)n;
	act->is_reset = kind == RELAY_RESET;
}

static void
act_reset(struct stream_act *act, struct span id)
{
	act_send(act, RELAY_RESET, id, RELAY_REASON, sizeof(RELAY_REASON) - 1);
}

/* --- the table -------------------------------------------------------------*/

void
stream_table_init(struct stream_table *t,
    const struct noise_identity *identity, struct span environment,
    struct span registration)
{
	memset(t, 0, sizeof(*t));
	t->identity = identity;
	t->environment = environment;
	t->registration = registration;
	map_init(&t->active);
	quota_init(&t->quota);
}

static void
unlink_stream(struct stream_table *t, struct stream *s)
{
	assert(t->active.count > 0);
	map_del(&t->active, &s->node);
}

struct stream *
stream_take(struct stream_table *t)
{
	struct stream	*s;

	if ((s = map_first(&t->active)) != NULL)
		unlink_stream(t, s);
	return s;
}

void
stream_table_fini(struct stream_table *t)
{
	assert(t->active.count == 0);
	map_fini(&t->active);
	sodium_memzero(t, sizeof(*t));
}

size_t
stream_active(const struct stream_table *t)
{
	return t->active.count;
}

size_t
stream_waiting(const struct stream_table *t)
{
	size_t	 i, n = 0;

	for (i = 0; i < LIMIT_STREAMS_PENDING; i++)
		n += t->pending[i].number != 0;
	return n;
}

/* --- handshakes ------------------------------------------------------------*/

static bool
is_paused(const struct stream_table *t, uint64_t now)
{
	return now < t->paused_until;
}

/* Failures during a pause neither extend it nor count for the next one. */
static void
count_failure(struct stream_table *t, uint64_t now)
{
	if (is_paused(t, now) || ++t->failures < LIMIT_STREAM_FAILURES)
		return;
	t->failures = 0;
	t->paused_until = now + LIMIT_STREAM_PAUSE;
}

static void
stream_refuse(struct stream_table *t, struct span id, uint64_t now,
    struct stream_act *act)
{
	count_failure(t, now);
	act_reset(act, id);
}

static struct stream_pending *
find_pending(struct stream_table *t, struct span id)
{
	struct stream_pending	*p;

	for (p = t->pending; p < t->pending + LIMIT_STREAMS_PENDING; p++)
		if (p->number != 0 && p->id.len == id.len &&
		    memcmp(p->id.text, id.at, id.len) == 0)
			return p;
	return NULL;
}

static struct stream_pending *
find_number(struct stream_table *t, uint64_t number)
{
	struct stream_pending	*p;

	for (p = t->pending; p < t->pending + LIMIT_STREAMS_PENDING; p++)
		if (p->number == number)
			return p;
	return NULL;
}

/* Drop a handshake; the registry's answer will be ignored. */
static void
drop_pending(struct stream_pending *p, struct stream_act *act)
{
	assert(p->number != 0 && act->event == STREAM_NOTHING);
	act->event = STREAM_FORGET;
	act->number = p->number;
	sodium_memzero(p, sizeof(*p));
}

/* Read message 1 into a free slot.  False: refuse it. */
static bool
read_handshake(struct stream_table *t, struct stream_pending *p,
    const struct relay_frame *f, struct stream_act *act)
{
	struct noise_name	 name = {
		t->environment, t->registration, f->id
	};
	int			 n;

	n = noise_take_request(&p->noise, t->identity, &name, f->payload,
	    f->len, t->authorization, sizeof(t->authorization));
	if (n == -1)
		return false;
	if (!utf8_is_valid(t->authorization, (size_t)n)) {
		sodium_memzero(p, sizeof(*p));
		return false;
	}
	act->authorization.at = (const char *)t->authorization;
	act->authorization.len = (size_t)n;
	act->harness = &p->noise.s;
	return true;
}

/* Steps 3 to 5 of PROTOCOL 12.6. */
static void
new_handshake(struct stream_table *t, const struct relay_frame *f,
    uint64_t now, struct stream_act *act)
{
	struct stream_pending	*p = find_number(t, 0);

	if (is_paused(t, now) || t->active.count >= LIMIT_STREAMS ||
	    p == NULL) {
		act_reset(act, f->id);
		return;
	}
	if (!read_handshake(t, p, f, act)) {
		stream_refuse(t, f->id, now, act);
		return;
	}
	memcpy(p->id.text, f->id.at, f->id.len);
	p->id.len = f->id.len;
	p->number = ++t->last_number;
	p->deadline = now + LIMIT_STREAM_VALIDATE;
	act->event = STREAM_VALIDATE;
	act->number = p->number;
	act->id = span_of(&p->id);
}

static void
stream_on_handshake(struct stream_table *t, const struct relay_frame *f,
    struct stream *s, struct stream_pending *p, uint64_t now,
    struct stream_act *act)
{
	if (s != NULL) {
		act_reset(act, f->id);
	} else if (p != NULL) {
		drop_pending(p, act);
		stream_refuse(t, f->id, now, act);
	} else {
		new_handshake(t, f, now, act);
	}
}

/* Write message 2.  0, or -1. */
static int
stream_answer(struct stream_pending *p, const struct noise_random *given,
    const char *payload, struct noise_keys *keys, struct stream_act *act)
{
	uint8_t			 msg[NOISE_RESPONSE +
				    sizeof(STREAM_REJECTION)];
	struct noise_random	 fresh;
	int			 n;

	if (given == NULL)
		noise_random_fill(&fresh);
	else
		fresh = *given;
	n = noise_response(&p->noise, &fresh, payload, strlen(payload), msg,
	    keys);
	sodium_memzero(&fresh, sizeof(fresh));
	if (n == -1)
		return -1;
	act_send(act, RELAY_HANDSHAKE, span_of(&p->id), msg, (size_t)n);
	return 0;
}

static struct stream *
new_stream(struct stream_table *t, const struct stream_id *id,
    const struct noise_keys *keys)
{
	struct stream	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->id = *id;
	if (record_reader_init(&s->in, keys->receive) == -1 ||
	    record_writer_init(&s->out, keys->send) == -1 ||
	    map_add(&t->active, &s->node, s->id.text, s->id.len, s) == -1)
		stream_free(&s);
	else
		record_reader_share(&s->in, &t->quota);
	return s;
}

/* The registry agreed.  False: refuse; count it if the harness is at fault. */
static bool
stream_admit(struct stream_table *t, struct stream_pending *p,
    const struct noise_random *random, uint64_t now, struct stream_act *act)
{
	struct noise_keys	 keys;
	bool			 r = false;

	assert(p->number != 0 && t->active.count <= LIMIT_STREAMS);
	assert(stream_find(t, span_of(&p->id)) == NULL);
	if (t->active.count >= LIMIT_STREAMS)
		return false;
	if (stream_answer(p, random, "", &keys, act) == -1) {
		count_failure(t, now);
	} else if ((act->stream = new_stream(t, &p->id, &keys)) != NULL) {
		act->event = STREAM_OPENED;
		r = true;
	}
	sodium_memzero(&keys, sizeof(keys));
	return r;
}

void
stream_validated(struct stream_table *t, uint64_t number,
    enum stream_verdict verdict, const struct noise_random *random,
    uint64_t now, struct stream_act *act)
{
	struct stream_pending	*p;
	struct noise_keys	 keys;

	act_init(act);
	if (number == 0 || (p = find_number(t, number)) == NULL)
		return;
	if (verdict == STREAM_YES) {
		if (!stream_admit(t, p, random, now, act))
			act_reset(act, span_of(&p->id));
	} else if (verdict == STREAM_UNKNOWN_US &&
	    stream_answer(p, random, STREAM_REJECTION, &keys, act) == 0) {
		sodium_memzero(&keys, sizeof(keys));
		count_failure(t, now);
	} else {
		stream_refuse(t, span_of(&p->id), now, act);
	}
	sodium_memzero(p, sizeof(*p));
}

uint64_t
stream_deadline(const struct stream_table *t)
{
	const struct stream_pending	*p;
	uint64_t			 first = UINT64_MAX;

	for (p = t->pending; p < t->pending + LIMIT_STREAMS_PENDING; p++)
		if (p->number != 0 && p->deadline < first)
			first = p->deadline;
	return first;
}

bool
stream_on_time(struct stream_table *t, uint64_t now, struct stream_act *act)
{
	struct stream_pending	*p;

	act_init(act);
	for (p = t->pending; p < t->pending + LIMIT_STREAMS_PENDING; p++)
		if (p->number != 0 && p->deadline <= now) {
			stream_refuse(t, span_of(&p->id), now, act);
			drop_pending(p, act);
			return true;
		}
	return false;
}

/* --- active streams --------------------------------------------------------*/

static void
stream_end_stream(struct stream_table *t, struct stream *s,
    struct stream_act *act)
{
	assert(act->event == STREAM_NOTHING);
	unlink_stream(t, s);
	act->event = STREAM_ENDED;
	act->stream = s;
}

static void
stream_on_data(struct stream_table *t, const struct relay_frame *f,
    struct stream *s, struct stream_pending *p, uint64_t now,
    struct stream_act *act)
{
	if (s == NULL) {
		if (p != NULL) {
			drop_pending(p, act);
			count_failure(t, now);
		}
		act_reset(act, f->id);
	} else if (record_put(&s->in, f->seq, f->payload, f->len) == 0) {
		act->event = STREAM_ARRIVED;
		act->stream = s;
	} else {
		act_reset(act, f->id);
		stream_end_stream(t, s, act);
	}
}

struct stream *
stream_find(const struct stream_table *t, struct span id)
{
	return map_find(&t->active, id.at, id.len);
}

void
stream_on_frame(struct stream_table *t, const struct relay_frame *f,
    uint64_t now, struct stream_act *act)
{
	struct stream		*s = stream_find(t, f->id);
	struct stream_pending	*p = find_pending(t, f->id);

	act_init(act);
	switch (f->kind) {
	case RELAY_HANDSHAKE:
		stream_on_handshake(t, f, s, p, now, act);
		break;
	case RELAY_DATA:
		stream_on_data(t, f, s, p, now, act);
		break;
	case RELAY_RESET:
		if (p != NULL)
			drop_pending(p, act);
		else if (s != NULL)
			stream_end_stream(t, s, act);
		break;
	case RELAY_ACK:
	case RELAY_RESUME:
	case RELAY_HEARTBEAT:
	case RELAY_FLOW:
		break;
	}
}

void
stream_end(struct stream_table *t, struct stream *s, struct stream_act *act)
{
	act_init(act);
	act_reset(act, span_of(&s->id));
	stream_end_stream(t, s, act);
}

ssize_t
stream_seal(struct stream *s, struct record_cutter *c, uint8_t *out)
{
	uint8_t			 sealed[RECORD_SEALED_MAX];
	struct relay_frame	 f;
	int			 n;

	memset(&f, 0, sizeof(f));
	if ((n = record_seal(&s->out, c, sealed, &f.seq)) <= 0)
		return n;
	f.kind = RELAY_DATA;
	f.id = span_of(&s->id);
	f.payload = sealed;
	f.len = (size_t)n;
	return relay_encode(&f, out, STREAM_FRAME_MAX);
}

void
stream_free(struct stream **sp)
{
	struct stream	*s = *sp;

	if (s == NULL)
		return;
	record_reader_fini(&s->in);
	record_writer_fini(&s->out);
	free(s);
	*sp = NULL;
}
