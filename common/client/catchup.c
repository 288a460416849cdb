/* What processes said while there was no connection. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/process_priv.h"
#include "common/json/utf8.h"

void
execsrv_process_nobodys_read(void *arg, const struct execsrv_answer *a)
{
	struct execsrv	*x = arg;

	(void)a;
	x->behind--;
}

void
execsrv_process_orphan(struct execsrv_process *p)
{
	struct execsrv_orphan	*o;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return;			/* it ends with its session */
	memcpy(o->id, p->id, sizeof(o->id));
	TAILQ_INSERT_TAIL(&p->x->orphans, o, entry);
	p->closed = true;
}

/* It cannot be known any more what it said. */
static void
lose_process(struct execsrv_process *p, const char *why)
{
	struct execsrv_error	 e;

	if (p->closed)
		return;
	p->closed = true;
	execsrv_event_drop(p);
	execsrv_error_set(&e, 0, "%s", why);
	if (p->hooks.on_lost != NULL)
		p->hooks.on_lost(p->arg, &e);
}

void
execsrv_process_lose_all(struct execsrv *x)
{
	struct execsrv_process	*p;

	/* A hook may free any of them. */
	do {
		TAILQ_FOREACH(p, &x->processes, entry)
			if (!p->closed)
				break;
		if (p != NULL)
			lose_process(p, x->why.text);
	} while (p != NULL);
}

static bool
read_chunk(const struct json *j, uint32_t chunk, struct event *ev)
{
	uint32_t	 seq = json_find(j, chunk, "seq");

	ev->kind = EV_OUTPUT;
	return seq != 0 && json_u64(j, seq, &ev->seq) == 0 &&
	    execsrv_event_output(j, chunk, ev);
}

/* Deliver the chunks.  How many; -1: they are no such thing. */
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

/* How many numbers before last are missing, and which is the first. */
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
 * Numbers that no chunk has are those of the exit and of the end, which the
 * answer tells without them: the end is the last, the exit the only other one.
 * Of a process that was joined it may be before all that there still is.
 */
static void
take_ends(struct execsrv_process *p, const struct json *j, uint32_t result,
    uint64_t next)
{
	struct event	 ev = { .kind = EV_EXITED };
	bool		 is_closed = execsrv_is_true(j, result, "closed");

	if (!p->has_exited && execsrv_is_true(j, result, "exited") &&
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
	if (is_closed && !p->closed && p->next_seq == next - 1) {
		memset(&ev, 0, sizeof(ev));
		ev.seq = next - 1;
		ev.kind = EV_CLOSED;
		execsrv_event_take(p, &ev);
	}
}

/*
 * What the server still has begins there.  Without output these are the
 * numbers of the exit and of the end at most.
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
	p->is_joining = false;
	if (p->hooks.on_answer != NULL)
		p->hooks.on_answer(p->arg, EXECSRV_START, NULL);
	return true;
}

static void
on_no_read(struct execsrv_process *p, const struct execsrv_error *e)
{
	if (!p->is_joining) {
		lose_process(p, e->text);
		return;
	}
	p->closed = true;
	execsrv_event_drop(p);
	if (p->hooks.on_answer != NULL)
		p->hooks.on_answer(p->arg, EXECSRV_START, e);
}

static void	 catchup_ask_read(struct execsrv_process *p, uint64_t after);

void
execsrv_process_on_read(struct execsrv_process *p,
    const struct execsrv_answer *a)
{
	const struct json	*j = a->json;
	uint32_t		 tok;
	uint64_t		 next;
	int			 n;

	p->x->behind--;
	/* Lost again: it is asked anew. */
	if (p->closed || (a->error != NULL && a->error->code == 0))
		return;
	if (a->error != NULL) {
		on_no_read(p, a->error);
		return;
	}
	tok = json_find(j, a->result, "nextSeq");
	if (tok == 0 || json_u64(j, tok, &next) == -1 || next == 0 ||
	    (p->is_joining && !catchup_join(p, j, a->result, next)) ||
	    (n = take_chunks(p, j, json_find(j, a->result, "chunks"))) ==
	    -1) {
		execsrv_lose(p->x, "the server sent a malformed answer to "
		    "process/read");
		return;
	}
	if (!p->closed)
		execsrv_event_take_early(p);
	if (!p->closed && p->next_seq < next && n == 0)
		take_ends(p, j, a->result, next);
	/* The number that is missing may be the exit's, which has no chunk:
	   known when all chunks are there. */
	if (!p->closed && p->next_seq < next && n > 0 &&
	    execsrv_is_true(j, a->result, "exited"))
		catchup_ask_read(p, next - 1);
	else if (!p->closed && p->next_seq < next)
		lose_process(p, "output was lost: the server kept too "
		    "little of it");
	else if (!p->closed && n > 0)
		catchup_ask_read(p, p->next_seq - 1);	/* there may be more */
	else
		p->is_behind = false;
}

static void
catchup_ask_read(struct execsrv_process *p, uint64_t after)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = execsrv_process_begin(p, "process/read", REQUEST_READ,
	    &o)) == NULL)
		return;
	c->is_ours = true;
	json_out_key(&o, "afterSeq");
	json_out_u64(&o, after);
	json_out_key(&o, "waitMs");
	json_out_u64(&o, 0);
	json_out_key(&o, "maxBytes");
	json_out_u64(&o, p->x->read_max);
	if (execsrv_can(p->x, "execsrvHold")) {
		json_out_key(&o, "execsrvHold");
		json_out_bool(&o, true);
	}
	if (execsrv_process_end(p, c, &o) == 0) {
		p->x->behind++;
		p->is_behind = true;
	}
}

void
execsrv_process_read_no_more(struct execsrv_process *p)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if (!execsrv_can(p->x, "execsrvHold") || !execsrv_has_frames(p->x) ||
	    (c = execsrv_begin(p->x, "process/read", &o)) == NULL)
		return;
	c->is_ours = true;
	json_out_open(&o, '{');
	json_out_key(&o, "processId");
	json_out_str(&o, p->id);
	json_out_key(&o, "maxBytes");
	json_out_u64(&o, 1);
	json_out_close(&o, '}');
	(void)execsrv_end(p->x, c, &o);
}

static void
end_orphan(struct execsrv *x, struct execsrv_orphan *orphan)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = execsrv_begin(x, "process/terminate", &o)) != NULL) {
		c->is_ours = true;
		json_out_open(&o, '{');
		json_out_key(&o, "processId");
		json_out_str(&o, orphan->id);
		json_out_close(&o, '}');
		(void)execsrv_end(x, c, &o);
	}
	TAILQ_REMOVE(&x->orphans, orphan, entry);
	free(orphan);
}

void
execsrv_process_catch_up(struct execsrv *x)
{
	struct execsrv_process	*p;

	while (!TAILQ_EMPTY(&x->orphans) && execsrv_has_frames(x))
		end_orphan(x, TAILQ_FIRST(&x->orphans));
	TAILQ_FOREACH(p, &x->processes, entry)
		/* One whose start still waits has said nothing. */
		if (!p->closed && p->awaited[EXECSRV_START] == 0) {
			execsrv_event_drop_unsure(p);
			catchup_ask_read(p, p->next_seq - 1);
		}
}

struct execsrv_process *
execsrv_process_attach(struct execsrv *x, const char *id,
    const struct execsrv_hooks *hooks, void *arg)
{
	struct execsrv_process	*p;

	if (id == NULL || id[0] == '\0' || strlen(id) >= EXECSRV_PROCESS_ID ||
	    !utf8_is_valid(id, strlen(id))) {
		errno = EINVAL;
		return NULL;
	}
	if (x->state == EXECSRV_GONE) {
		errno = EPIPE;
		return NULL;
	}
	if ((p = execsrv_process_new(x, id, hooks, arg)) == NULL)
		return NULL;
	p->is_joining = true;
	/* Without a connection it is asked for with all the others. */
	if (execsrv_is_open(x) || (x->state == EXECSRV_CATCHING_UP &&
	    !x->is_lost))
		catchup_ask_read(p, 0);
	if (execsrv_status(x) == EXECSRV_FAILED) {
		execsrv_process_free(&p);
		errno = EPIPE;
	}
	return p;
}
