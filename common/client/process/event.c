/*
 * Events of processes, delivered once each in the order of their sequence
 * numbers.  An exit that does not say whether a sandbox caused it is held back
 * until the server was asked.
 */
#include <assert.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/process/process_priv.h"
#include "common/client/text.h"
#include "common/json/b64.h"

/* Limits for events that wait for an earlier one. */
#define EARLY_MAX	4096
#define EARLY_BYTES_MAX	((size_t)16 * 1024 * 1024)
#define EARLY_MS	10000

static bool
is_unsure(const struct event *ev)
{
	return ev != NULL && ev->is_unsure;
}

static void
event_free(struct execsrv_process *p, struct event *ev)
{
	assert(p->nearly > 0 && p->early_bytes >= ev->len);
	TAILQ_REMOVE(&p->early, ev, entry);
	p->nearly--;
	p->early_bytes -= ev->len;
	free(ev->data);
	free(ev);
}

void
execsrv_event_drop(struct execsrv_process *p)
{
	while (!TAILQ_EMPTY(&p->early))
		event_free(p, TAILQ_FIRST(&p->early));
}

void
execsrv_event_exited_before(struct execsrv_process *p, const struct event *ev)
{
	/* A server may tell it twice. */
	if (p->state == PROCESS_RUNNING)
		execsrv_process_set_state(p, PROCESS_EXITED);
	if (p->hooks.on_exited != NULL)
		p->hooks.on_exited(p->arg, ev->exit_code, ev->sandbox_denied);
}

static void
event_deliver(struct execsrv_process *p, const struct event *ev)
{
	assert(!process_is_closed(p) && p->state != PROCESS_JOINING);
	assert(ev->seq == p->next_seq && !ev->is_unsure);
	p->next_seq = ev->seq + 1;
	execsrv_progress(p->x);
	p->early_since = execsrv_now(p->x);
	switch (ev->kind) {
	case EV_OUTPUT:
		if (p->hooks.on_output != NULL)
			p->hooks.on_output(p->arg, ev->stream, ev->data,
			    ev->len);
		break;
	case EV_EXITED:
		execsrv_event_exited_before(p, ev);
		break;
	case EV_CLOSED:
		execsrv_process_set_state(p, PROCESS_CLOSED);
		if (p->hooks.on_closed != NULL)
			p->hooks.on_closed(p->arg);
		break;
	}
}

static struct event *
event_copy(const struct event *ev)
{
	struct event	*copy;

	if ((copy = malloc(sizeof(*copy))) == NULL)
		return NULL;
	*copy = *ev;
	copy->data = NULL;
	if (ev->len > 0) {
		if ((copy->data = malloc(ev->len)) == NULL) {
			free(copy);
			return NULL;
		}
		memcpy(copy->data, ev->data, ev->len);
	}
	return copy;
}

/* Keep an event that came before its turn. */
static void
event_keep(struct execsrv_process *p, const struct event *ev)
{
	struct event	*copy, *at;

	TAILQ_FOREACH_REVERSE(at, &p->early, events, entry)
		if (at->seq <= ev->seq)
			break;
	if (at != NULL && at->seq == ev->seq)
		return;
	if (p->nearly >= EARLY_MAX ||
	    p->early_bytes + ev->len > EARLY_BYTES_MAX) {
		execsrv_lose(p->x, EXECSRV_WHY_PROTOCOL, "the server skipped "
		    "an event");
		return;
	}
	if ((copy = event_copy(ev)) == NULL) {
		execsrv_fail_memory(p->x);
		return;
	}
	if (TAILQ_EMPTY(&p->early))
		p->early_since = execsrv_now(p->x);
	if (at != NULL)
		TAILQ_INSERT_AFTER(&p->early, at, copy, entry);
	else
		TAILQ_INSERT_HEAD(&p->early, copy, entry);
	p->nearly++;
	p->early_bytes += copy->len;
}

static void
ask_denied(struct execsrv_process *p)
{
	struct json_out	 o;

	if (p->awaited[REQUEST_DENIED] > 0 ||
	    execsrv_process_begin(p, "process/read", &o) == -1)
		return;
	json_out_pair_u64(&o, "afterSeq", p->next_seq);
	json_out_pair_u64(&o, "waitMs", 0);
	json_out_pair_u64(&o, "maxBytes", 0);
	(void)execsrv_process_end(p, REQUEST_DENIED, false, &o);
}

void
execsrv_event_take_early(struct execsrv_process *p)
{
	struct event	*next;

	while (!process_is_closed(p) &&
	    (next = TAILQ_FIRST(&p->early)) != NULL &&
	    next->seq <= p->next_seq) {
		if (next->seq == p->next_seq && next->is_unsure) {
			ask_denied(p);
			return;
		}
		if (next->seq == p->next_seq)
			event_deliver(p, next);
		event_free(p, next);
	}
	/* Nothing can follow the last event. */
	if (process_is_closed(p))
		execsrv_event_drop(p);
}

void
execsrv_event_take(struct execsrv_process *p, const struct event *ev)
{
	if (process_is_closed(p) || ev->seq < p->next_seq)
		return;
	/* Copy only what has to wait. */
	if (p->state == PROCESS_JOINING || ev->seq > p->next_seq ||
	    ev->is_unsure || is_unsure(TAILQ_FIRST(&p->early)))
		event_keep(p, ev);
	else
		event_deliver(p, ev);
	if (p->state != PROCESS_JOINING)
		execsrv_event_take_early(p);
}

void
execsrv_event_on_denied(struct execsrv_process *p,
    const struct execsrv_answer *a)
{
	struct event	*ev = TAILQ_FIRST(&p->early);

	/* Lost: catching up will ask for the exit again. */
	if ((a->error != NULL && a->error->code == 0) || !is_unsure(ev))
		return;
	ev->sandbox_denied = a->error == NULL &&
	    execsrv_is_true(a->json, a->result, "sandboxDenied");
	ev->is_unsure = false;
	execsrv_event_take_early(p);
}

void
execsrv_event_drop_unsure(struct execsrv_process *p)
{
	struct event	*ev, *next;

	for (ev = TAILQ_FIRST(&p->early); ev != NULL; ev = next) {
		next = TAILQ_NEXT(ev, entry);
		if (ev->is_unsure)
			event_free(p, ev);
	}
}

bool
execsrv_event_output(const struct json *j, uint32_t params, struct event *ev)
{
	static const char *const	 streams[] = {
		[EXECSRV_STDOUT] = "stdout", [EXECSRV_STDERR] = "stderr",
		[EXECSRV_PTY] = "pty"
	};
	uint32_t	 chunk = json_find(j, params, "chunk");
	uint32_t	 stream = json_find(j, params, "stream");
	ssize_t		 n;
	size_t		 i;

	if (chunk == 0 || json_tok(j, chunk)->type != JSON_STRING ||
	    stream == 0)
		return false;
	for (i = 0; !json_is_text(j, stream, streams[i]); i++)
		if (i == EXECSRV_PTY)
			return false;
	ev->stream = (enum execsrv_stream)i;
	/* Decode in place: base64 shrinks. */
	ev->data = (uint8_t *)j->text + json_tok(j, chunk)->pos;
	if ((n = b64_decode(ev->data, json_text(j, chunk),
	    json_tok(j, chunk)->len)) == -1)
		return false;
	ev->len = (size_t)n;
	return true;
}

bool
execsrv_event_exit_code(const struct json *j, uint32_t params,
    struct event *ev)
{
	uint32_t	 tok = json_find(j, params, "exitCode");
	int64_t		 n;

	if (tok == 0 || json_i64(j, tok, &n) == -1 || n < INT_MIN ||
	    n > INT_MAX)
		return false;
	ev->exit_code = (int)n;
	return true;
}

static bool
read_exited(const struct json *j, uint32_t params, struct event *ev)
{
	uint32_t	 denied = json_find(j, params, "sandboxDenied");

	ev->is_unsure = denied == 0 || json_tok(j, denied)->type == JSON_NULL;
	ev->sandbox_denied = execsrv_is_true(j, params, "sandboxDenied");
	return execsrv_event_exit_code(j, params, ev);
}

static bool
read_closed(const struct json *j, uint32_t params, struct event *ev)
{
	(void)j;
	(void)params;
	(void)ev;
	return true;
}

static const struct {
	const char	*method;
	enum event_kind	 kind;
	bool		(*read)(const struct json *, uint32_t,
			    struct event *);
} notes[] = {
	{ "process/output",	EV_OUTPUT,	execsrv_event_output },
	{ "process/exited",	EV_EXITED,	read_exited },
	{ "process/closed",	EV_CLOSED,	read_closed },
};

bool
execsrv_event_note(struct execsrv_process *p, const struct json *j,
    const char *method, uint32_t params)
{
	struct event	 ev = { .len = 0 };
	uint32_t	 seq;
	size_t		 i;

	for (i = 0; strcmp(notes[i].method, method) != 0; i++)
		if (i + 1 == sizeof(notes) / sizeof(notes[0]))
			return false;
	if (p == NULL)
		return true;
	ev.kind = notes[i].kind;
	if ((seq = json_find(j, params, "seq")) == 0 ||
	    json_u64(j, seq, &ev.seq) == -1 || ev.seq == UINT64_MAX ||
	    !notes[i].read(j, params, &ev))
		execsrv_lose(p->x, EXECSRV_WHY_PROTOCOL,
		    "the server sent a malformed %s", method);
	else
		execsrv_event_take(p, &ev);
	return true;
}

/* --- missing events --- */

void
execsrv_event_restart_wait(struct execsrv_process *p)
{
	p->early_since = execsrv_now(p->x);
}

int
execsrv_event_wait_ms(const struct execsrv_process *p)
{
	uint64_t	 waited;

	/* An exit that the server is asked about is not missing. */
	if (TAILQ_EMPTY(&p->early) || is_unsure(TAILQ_FIRST(&p->early)))
		return -1;
	waited = execsrv_now(p->x) - p->early_since;
	return waited < EARLY_MS ? (int)(EARLY_MS - waited) : 0;
}
