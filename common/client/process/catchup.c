/* Catching up: process/read for output that was missed. */
#include <assert.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/process/process_priv.h"
#include "common/client/text.h"

void
execsrv_process_lose(struct execsrv_process *p,
    const struct execsrv_error *why)
{
	struct execsrv_error	 e;

	if (process_is_closed(p))
		return;
	assert(p->x != NULL);
	execsrv_process_set_state(p, PROCESS_CLOSED);
	execsrv_event_drop(p);
	e = *why;
	e.code = 0;
	if (p->hooks.on_lost != NULL)
		p->hooks.on_lost(p->arg, &e);
}

static bool
read_chunk(const struct json *j, uint32_t chunk, struct event *ev)
{
	uint32_t	 seq = json_find(j, chunk, "seq");

	ev->kind = EV_OUTPUT;
	return seq != 0 && json_u64(j, seq, &ev->seq) == 0 &&
	    execsrv_event_output(j, chunk, ev);
}

/* Deliver the chunks; return their number, or -1: malformed. */
static int
take_chunks(struct execsrv_process *p, const struct json *j, uint32_t list)
{
	struct event	 ev;
	uint32_t	 i;
	int		 n = 0;

	if (list == 0 || json_tok(j, list)->type != JSON_ARRAY)
		return -1;
	for (i = json_first(list); json_more(j, list, i);
	    i = json_after_elem(j, i)) {
		memset(&ev, 0, sizeof(ev));
		if (!read_chunk(j, i, &ev))
			return -1;
		execsrv_event_take(p, &ev);
		n++;
	}
	return n;
}

/* Count the sequence numbers before last that are missing. */
static uint64_t
missing(const struct execsrv_process *p, uint64_t last, uint64_t *first_out)
{
	const struct event	*ev;
	uint64_t		 due = p->next_seq, n = 0;

	*first_out = last;
	TAILQ_FOREACH(ev, &p->early, entry) {
		if (ev->seq >= last)
			break;
		if (ev->seq > due && n == 0)
			*first_out = due;
		n += ev->seq - due;
		due = ev->seq + 1;
	}
	if (last > due && n == 0)
		*first_out = due;
	return last > due ? n + (last - due) : n;
}

/*
 * An answer tells of the exit and the end without their sequence numbers, which
 * no chunk has: the end has the last one, the exit the only other one that is
 * missing.  After an attach, the exit may lie before all that is retained.
 */
static void
take_ends(struct execsrv_process *p, const struct json *j, uint32_t result,
    uint64_t next)
{
	struct event	 ev = { .kind = EV_EXITED };
	bool		 is_closed = execsrv_is_true(j, result, "closed");

	if (p->state == PROCESS_RUNNING &&
	    execsrv_is_true(j, result, "exited") &&
	    execsrv_event_exit_code(j, result, &ev)) {
		ev.sandbox_denied = execsrv_is_true(j, result,
		    "sandboxDenied");
		switch (missing(p, is_closed ? next - 1 : next, &ev.seq)) {
		case 0:
			if (is_closed)
				execsrv_event_exited_before(p, &ev);
			break;
		case 1:
			execsrv_event_take(p, &ev);
			break;
		}
	}
	if (is_closed && !process_is_closed(p) && p->next_seq == next - 1) {
		memset(&ev, 0, sizeof(ev));
		ev.seq = next - 1;
		ev.kind = EV_CLOSED;
		execsrv_event_take(p, &ev);
	}
}

/*
 * Attached: begin with the first chunk that the server retains.  If there is
 * none, only the exit and the end can follow.
 */
static bool
catchup_join(struct execsrv_process *p, const struct json *j, uint32_t result,
    uint64_t next)
{
	uint32_t	 list = json_find(j, result, "chunks"), seq;
	uint64_t	 ends;

	if (list != 0 && json_tok(j, list)->type == JSON_ARRAY &&
	    json_more(j, list, json_first(list))) {
		seq = json_find(j, json_first(list), "seq");
		if (seq == 0 || json_u64(j, seq, &p->next_seq) == -1 ||
		    p->next_seq == 0)
			return false;
	} else {
		ends = (uint64_t)execsrv_is_true(j, result, "exited") +
		    execsrv_is_true(j, result, "closed");
		p->next_seq = next > ends ? next - ends : 1;
	}
	execsrv_process_set_state(p, PROCESS_RUNNING);
	if (p->hooks.on_answer != NULL)
		p->hooks.on_answer(p->arg, EXECSRV_START, NULL);
	return true;
}

static void
lose_output(struct execsrv_process *p)
{
	struct execsrv_error	 e;

	execsrv_error_set(&e, EXECSRV_WHY_GAP, "output was lost: the server "
	    "no longer has it");
	execsrv_process_lose(p, &e);
}

static void
on_no_read(struct execsrv_process *p, const struct execsrv_error *e)
{
	if (p->state != PROCESS_JOINING) {
		execsrv_process_lose(p, e);
		return;
	}
	execsrv_process_set_state(p, PROCESS_CLOSED);
	execsrv_event_drop(p);
	if (p->hooks.on_answer != NULL)
		p->hooks.on_answer(p->arg, EXECSRV_START, e);
}

void
execsrv_process_on_read(struct execsrv_process *p,
    const struct execsrv_answer *a)
{
	const struct json	*j = a->json;
	uint32_t		 tok;
	uint64_t		 next;
	int			 n;

	/* Lost again: it is asked on the next connection. */
	if (process_is_closed(p) || (a->error != NULL && a->error->code == 0))
		return;
	if (a->error != NULL) {
		on_no_read(p, a->error);
		return;
	}
	tok = json_find(j, a->result, "nextSeq");
	if (tok == 0 || json_u64(j, tok, &next) == -1 || next == 0 ||
	    (p->state == PROCESS_JOINING &&
	    !catchup_join(p, j, a->result, next)) ||
	    (n = take_chunks(p, j, json_find(j, a->result, "chunks"))) ==
	    -1) {
		execsrv_lose(p->x, EXECSRV_WHY_PROTOCOL, "the server sent a "
		    "malformed answer to process/read");
		return;
	}
	if (!process_is_closed(p))
		execsrv_event_take_early(p);
	if (!process_is_closed(p) && p->next_seq < next && n == 0)
		take_ends(p, j, a->result, next);
	/* The missing number may be the exit's, which has no chunk: an answer
	   without chunks will show it. */
	if (!process_is_closed(p) && p->next_seq < next && n > 0 &&
	    execsrv_is_true(j, a->result, "exited"))
		execsrv_process_ask_read(p, next - 1);
	else if (!process_is_closed(p) && p->next_seq < next)
		lose_output(p);
	else if (!process_is_closed(p) && n > 0)
		/* There may be more. */
		execsrv_process_ask_read(p, p->next_seq - 1);
	else
		p->is_behind = false;
}

void
execsrv_process_ask_read(struct execsrv_process *p, uint64_t after)
{
	struct json_out	 o;

	if (execsrv_process_begin(p, "process/read", &o) == -1)
		return;
	json_out_pair_u64(&o, "afterSeq", after);
	json_out_pair_u64(&o, "waitMs", 0);
	json_out_pair_u64(&o, "maxBytes", execsrv_read_max(p->x));
	if (execsrv_can(p->x, "execsrvHold"))
		json_out_pair_bool(&o, "execsrvHold", true);
	if (execsrv_process_end(p, REQUEST_READ, false, &o) == 0)
		p->is_behind = true;
}

void
execsrv_process_read_no_more(struct execsrv_process *p)
{
	static const struct execsrv_call_opts	 opts = { .is_internal = true };
	struct json_out			 o;

	if (!execsrv_can(p->x, "execsrvHold") || !execsrv_has_frames(p->x) ||
	    execsrv_process_begin(p, "process/read", &o) == -1)
		return;
	json_out_pair_u64(&o, "maxBytes", 1);
	json_out_close(&o, '}');
	(void)execsrv_end(p->x, &opts, &o);
}
