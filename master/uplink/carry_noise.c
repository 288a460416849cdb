/* Streams sealed end to end: Noise in relay frames (PROTOCOL 12.5 to 13). */
#include "master/uplink/carrier.h"
#include "master/uplink/carrier_priv.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "common/clock.h"
#include "common/log.h"

struct carrier_noise {
	struct carrier		 c;
	struct stream_table	*table;		/* locked memory */
	struct stream_act	 act;
	struct wsloop_timer	 deadline;
	uint8_t			 frame[LWS_PRE + STREAM_FRAME_MAX];
};

static void	 on_deadline(void *arg);
static void	 carry_noise_act(struct carrier_noise *n);

static void
on_validated(void *arg, uint64_t number, enum registry_verdict verdict)
{
	static const enum stream_verdict	 verdicts[] = {
		[REGISTRY_YES] = STREAM_YES,
		[REGISTRY_NO] = STREAM_NO,
		[REGISTRY_UNKNOWN_US] = STREAM_UNKNOWN_US,
	};
	struct carrier_noise	*n = arg;

	assert(number != 0 && verdicts[verdict] <= STREAM_UNKNOWN_US);
	if (verdict == REGISTRY_UNKNOWN_US)
		n->c.env->events->on_denied(n->c.env->arg);
	stream_validated(n->table, number, verdicts[verdict], NULL,
	    clock_ms(), &n->act);
	carry_noise_act(n);
}

static void
validate(struct carrier_noise *n)
{
	struct uplink_env		*env = n->c.env;
	struct registry_question	 q;

	assert(n->act.number != 0 && n->act.harness != NULL);
	q.registration = env->registered.id;
	q.harness = n->act.harness;
	q.authorization = n->act.authorization;
	q.stream = n->act.id;
	q.number = n->act.number;
	registry_validate(&env->registry, &q, on_validated, n);
}

static void
carry_noise_end_stream(struct carrier_noise *n, struct stream *s)
{
	struct carrier_stream	*f = s->owner;

	(void)n;
	assert(f == NULL || f->stream == s);
	carrier_stream_free(&f);
	stream_free(&s);
}

static void
open_stream(struct carrier_noise *n, struct stream *s)
{
	struct carrier_stream	*f;

	assert(s->owner == NULL);
	if ((f = carrier_stream_new(&n->c)) == NULL) {
		stream_end(n->table, s, &n->act);
		carry_noise_act(n);
		return;
	}
	f->stream = s;
	s->owner = f;
}

/* Do what the table says. */
static void
carry_noise_act(struct carrier_noise *n)
{
	struct stream_act	*a = &n->act;
	struct wsloop		*l = &n->c.env->loop;
	struct carrier_stream	*f;
	uint64_t		 deadline, now;

	assert(a->len <= sizeof(a->frame));
	if (a->len > 0)
		carrier_put(&n->c, a->frame, a->len, a->is_reset);
	switch (a->event) {
	case STREAM_NOTHING:
		break;
	case STREAM_VALIDATE:
		validate(n);
		break;
	case STREAM_FORGET:
		registry_forget(&n->c.env->registry, a->number);
		break;
	case STREAM_OPENED:
		open_stream(n, a->stream);
		break;
	case STREAM_ARRIVED:
		f = a->stream->owner;
		assert(f != NULL && f->stream == a->stream);
		local_end_push(f->local_end);
		break;
	case STREAM_ENDED:
		carry_noise_end_stream(n, a->stream);
		break;
	}
	if ((deadline = stream_deadline(n->table)) == UINT64_MAX) {
		wsloop_timer_clear(l, &n->deadline);
		return;
	}
	now = clock_ms();
	wsloop_timer_set(l, &n->deadline, deadline > now ? deadline - now : 0,
	    on_deadline, n);
}

static void
on_deadline(void *arg)
{
	struct carrier_noise	*n = arg;

	while (stream_on_time(n->table, clock_ms(), &n->act))
		carry_noise_act(n);
}

/* The rendezvous has no room for more of a stream, or has it again. */
static void
carry_noise_on_flow(struct carrier_noise *n, const struct relay_frame *f)
{
	const struct stream	*s = stream_find(n->table, f->id);

	if (s != NULL && s->owner != NULL)
		carrier_stream_hold(s->owner, f->seq != 0);
}

static void
carry_noise_on_message(struct carrier *c, uint8_t *data, size_t len,
    bool is_binary)
{
	struct carrier_noise	*n = (struct carrier_noise *)c;
	struct relay_frame	 f;

	if (!is_binary || relay_decode(&f, data, len) == -1) {
		log_debug("rendezvous: %s dropped", is_binary ?
		    "a bad frame" : "a text message");
		return;
	}
	if (f.kind == RELAY_FLOW) {
		carry_noise_on_flow(n, &f);
		relay_free(&f);
		return;
	}
	stream_on_frame(n->table, &f, clock_ms(), &n->act);
	relay_free(&f);
	carry_noise_act(n);
}

static bool
first(struct carrier_stream *f, uint8_t **data_out, size_t *len_out)
{
	assert(f->stream != NULL);
	return record_first(&f->stream->in, data_out, len_out);
}

static void
carry_noise_drop(struct carrier_stream *f)
{
	assert(f->stream != NULL);
	record_drop(&f->stream->in);
}

static ssize_t
carry_noise_seal(struct carrier_stream *f, const uint8_t *data, size_t len,
    uint8_t **frame_out)
{
	struct carrier_noise	*n = (struct carrier_noise *)f->carrier;
	ssize_t			 r;

	assert(f->stream != NULL);
	if (!f->is_cutting && record_cut(&f->cutter, data, len) == -1)
		return -1;
	f->is_cutting = true;
	*frame_out = n->frame + LWS_PRE;
	if ((r = stream_seal(f->stream, &f->cutter, *frame_out)) <= 0)
		f->is_cutting = false;
	return r;
}

static void
carry_noise_end(struct carrier_stream *f)
{
	struct carrier_noise	*n = (struct carrier_noise *)f->carrier;

	stream_end(n->table, f->stream, &n->act);
	carry_noise_act(n);
}

static int
init(struct carrier *c)
{
	struct carrier_noise	*n = (struct carrier_noise *)c;
	struct uplink_env	*env = c->env;
	struct span		 environment, registration;

	/* Pending handshakes are secrets. */
	if ((n->table = sodium_malloc(sizeof(*n->table))) == NULL)
		return -1;
	environment.at = env->start->environment;
	environment.len = strlen(environment.at);
	registration.at = env->registered.id;
	registration.len = strlen(registration.at);
	stream_table_init(n->table, env->identity, environment, registration);
	return 0;
}

static void
carry_noise_fini(struct carrier *c)
{
	struct carrier_noise	*n = (struct carrier_noise *)c;
	struct stream		*s;

	registry_forget(&c->env->registry, 0);
	wsloop_timer_clear(&c->env->loop, &n->deadline);
	while ((s = stream_take(n->table)) != NULL)
		carry_noise_end_stream(n, s);
	stream_table_fini(n->table);
	sodium_free(n->table);
}

const struct carrier_ops carry_noise = {
	sizeof(struct carrier_noise), true, init, carry_noise_fini,
	    carry_noise_on_message, first,
	carry_noise_drop, carry_noise_seal, carry_noise_end
};
