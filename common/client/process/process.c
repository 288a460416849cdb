#include "common/client/process/process.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/process/process_priv.h"
#include "common/client/text.h"
#include "common/json/utf8.h"

/* Which states may follow which: bits. */
static const unsigned	 process_next[] = {
#define TO(state)	(1u << PROCESS_##state)
	[PROCESS_JOINING] = TO(RUNNING) | TO(CLOSED),
	[PROCESS_RUNNING] = TO(EXITED) | TO(CLOSED),
	[PROCESS_EXITED] = TO(CLOSED),
	[PROCESS_CLOSED] = TO(CLOSED)
#undef TO
};

void
execsrv_process_set_state(struct execsrv_process *p, enum process_state to)
{
	assert((process_next[p->state] & (1u << to)) != 0);
	p->state = to;
}

/* --- their life --- */

struct execsrv_process *
execsrv_process_new(struct execsrv *x, const char *id,
    const struct execsrv_hooks *hooks, void *arg)
{
	struct execsrv_process	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->x = x;
	if (hooks != NULL)
		p->hooks = *hooks;
	p->arg = arg;
	p->next_seq = 1;
	p->state = PROCESS_RUNNING;
	TAILQ_INIT(&p->early);
	if (id != NULL)
		snprintf(p->id, sizeof(p->id), "%s", id);
	else
		execsrv_make_id(x, 'p', ++x->processes.last_id, p->id,
		    sizeof(p->id));
	TAILQ_INSERT_TAIL(&x->processes.live, p, entry);
	return p;
}

/*
 * Inside a hook, its caller still uses the process and its events after the
 * hook returns: their memory stays until the turn of the loop ends.
 */
void
execsrv_process_free_deferred(struct execsrv *x)
{
	struct execsrv_process	*p;

	while (!x->is_handling &&
	    (p = TAILQ_FIRST(&x->processes.freed)) != NULL) {
		TAILQ_REMOVE(&x->processes.freed, p, entry);
		execsrv_event_drop(p);
		free(p);
	}
}

void
execsrv_process_free(struct execsrv_process **pp)
{
	struct execsrv_process	*p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	execsrv_forget(p->x, execsrv_process_on_answer, p);
	if (p->is_behind)
		execsrv_process_read_no_more(p);
	execsrv_process_set_state(p, PROCESS_CLOSED);
	memset(&p->hooks, 0, sizeof(p->hooks));
	TAILQ_REMOVE(&p->x->processes.live, p, entry);
	TAILQ_INSERT_TAIL(&p->x->processes.freed, p, entry);
	execsrv_process_free_deferred(p->x);
}

void
execsrv_process_free_all(struct execsrv *x)
{
	struct execsrv_process		*p;
	struct unconfirmed_start	*u;

	while ((p = TAILQ_FIRST(&x->processes.live)) != NULL)
		execsrv_process_free(&p);
	execsrv_process_free_deferred(x);
	while ((u = TAILQ_FIRST(&x->processes.unconfirmed)) != NULL) {
		TAILQ_REMOVE(&x->processes.unconfirmed, u, entry);
		free(u);
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
	p->state = PROCESS_JOINING;
	/* Without a connection, catching up will ask for it. */
	if (x->state == EXECSRV_OPEN || x->state == EXECSRV_CATCHING_UP)
		execsrv_process_ask_read(p, 0);
	if (x->state == EXECSRV_GONE) {
		execsrv_process_free(&p);
		errno = EPIPE;
	}
	return p;
}

/* --- answers --- */

/* It may run, but has no owner: terminate it on the next connection. */
static void
add_unconfirmed(struct execsrv_process *p)
{
	struct unconfirmed_start	*u;

	if ((u = calloc(1, sizeof(*u))) == NULL)
		return;			/* it ends with its session */
	memcpy(u->id, p->id, sizeof(u->id));
	TAILQ_INSERT_TAIL(&p->x->processes.unconfirmed, u, entry);
}

void
execsrv_process_on_answer(void *arg, const struct execsrv_answer *a)
{
	struct execsrv_process		*p = arg;
	enum execsrv_request		 what = (enum execsrv_request)a->tag;
	const struct execsrv_error	*e = a->error;
	struct execsrv_error		 refused;
	uint32_t			 tok;
	char				 status[32];

	assert(what < REQUESTS && p->awaited[what] > 0);
	p->awaited[what]--;
	if (what == REQUEST_READ) {
		execsrv_process_on_read(p, a);
		return;
	}
	if (what == REQUEST_DENIED) {
		execsrv_event_on_denied(p, a);
		return;
	}
	if (e == NULL && (what == EXECSRV_WRITE ||
	    what == EXECSRV_CLOSE_STDIN)) {
		tok = json_find(a->json, a->result, "status");
		json_copy_text(a->json, tok, status, sizeof(status));
		if (tok != 0 && strcmp(status, "accepted") != 0) {
			execsrv_error_set(&refused, EXECSRV_WHY_SERVER, "%s",
			    status);
			e = &refused;
		}
	}
	/* A process that never ran has no on_lost. */
	if (e != NULL && what == EXECSRV_START) {
		execsrv_process_set_state(p, PROCESS_CLOSED);
		if (a->is_unconfirmed)
			add_unconfirmed(p);
	}
	if (p->hooks.on_answer != NULL)
		p->hooks.on_answer(p->arg, what, e);
}

/* --- notifications, lost connections --- */

static struct execsrv_process *
process_find(struct execsrv *x, const struct json *j, uint32_t params)
{
	struct execsrv_process	*p;
	uint32_t		 tok;

	if (params != 0 && (tok = json_find(j, params, "processId")) != 0)
		TAILQ_FOREACH(p, &x->processes.live, entry)
			if (json_is_text(j, tok, p->id))
				return p;
	return NULL;
}

bool
execsrv_process_note(struct execsrv *x, const struct json *j,
    const char *method, uint32_t params)
{
	return execsrv_event_note(process_find(x, j, params), j, method,
	    params);
}

void
execsrv_process_restart_wait(struct execsrv *x)
{
	struct execsrv_process	*p;

	TAILQ_FOREACH(p, &x->processes.live, entry)
		execsrv_event_restart_wait(p);
}

int
execsrv_process_wait_ms(const struct execsrv *x)
{
	const struct execsrv_process	*p;
	int				 left, min = -1;

	TAILQ_FOREACH(p, &x->processes.live, entry) {
		left = execsrv_event_wait_ms(p);
		if (left != -1 && (min == -1 || left < min))
			min = left;
	}
	return min;
}

void
execsrv_process_check(struct execsrv *x)
{
	/* A missing number would be waited for for ever. */
	if (execsrv_process_wait_ms(x) == 0)
		execsrv_lose(x, EXECSRV_WHY_PROTOCOL, "the server skipped an "
		    "event");
}

static void
end_unconfirmed(struct execsrv *x, struct unconfirmed_start *u)
{
	static const struct execsrv_call_opts	 opts = { .is_internal = true };
	struct json_out			 o;

	if (execsrv_begin(x, "process/terminate", &o) == 0) {
		json_out_open(&o, '{');
		json_out_pair(&o, "processId", u->id);
		json_out_close(&o, '}');
		(void)execsrv_end(x, &opts, &o);
	}
	TAILQ_REMOVE(&x->processes.unconfirmed, u, entry);
	free(u);
}

void
execsrv_process_catch_up(struct execsrv *x)
{
	struct execsrv_process	*p;

	assert(x->state == EXECSRV_CATCHING_UP);
	while (!TAILQ_EMPTY(&x->processes.unconfirmed) &&
	    execsrv_has_frames(x))
		end_unconfirmed(x, TAILQ_FIRST(&x->processes.unconfirmed));
	TAILQ_FOREACH(p, &x->processes.live, entry)
		/* Before its start was answered it has no output. */
		if (!process_is_closed(p) && p->awaited[EXECSRV_START] == 0) {
			execsrv_event_drop_unsure(p);
			execsrv_process_ask_read(p, p->next_seq - 1);
		}
}

bool
execsrv_process_is_behind(const struct execsrv *x)
{
	return calls_await(&x->calls, REQUEST_READ);
}

void
execsrv_process_lose_all(struct execsrv *x)
{
	struct execsrv_process	*p;

	/* A hook may free any process: begin anew after each. */
	do {
		TAILQ_FOREACH(p, &x->processes.live, entry)
			if (!process_is_closed(p))
				break;
		if (p != NULL)
			execsrv_process_lose(p, &x->why);
	} while (p != NULL);
}
