#include "worker/budget.h"

#include "common/clock.h"
#include "common/ev.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/conn.h"
#include "worker/link.h"
#include "worker/session.h"

#define STEP	((uint64_t)1024 * 1024)	/* bytes; what is asked for is whole */

static uint64_t
beyond_free(uint64_t bytes)
{
	return bytes > LIMIT_HELD_FREE ? bytes - LIMIT_HELD_FREE : 0;
}

static uint64_t
in_steps(uint64_t bytes)
{
	return (bytes + STEP - 1) / STEP * STEP;
}

static uint64_t
output_max(const struct session *s)
{
	return LIMIT_OUTPUT_MEMORY + s->window.retain;
}

static void
look_in(struct session *s, uint64_t ms)
{
	timer_set(&s->budget.look_ev, ms);
}

static void
set(struct session *s, uint64_t output, uint64_t message)
{
	s->budget.output = output;
	s->budget.message = message;
	s->window.memory_max = LIMIT_HELD_FREE + output;
	if (s->conn != NULL && s->state != SESSION_NEW)
		conn_allow(s->conn, LIMIT_HELD_FREE + message);
}

static void
ask(struct session *s, uint64_t output, uint64_t message)
{
	struct budget	*b = &s->budget;

	/* What is given back is nobody's before it is. */
	set(s, output < b->output ? output : b->output,
	    message < b->message ? message : b->message);
	b->asked_output = output;
	b->asked_message = message;
	b->asking++;
	look_in(s, LIMIT_HELD_ANSWER);
	if (link_ask_memory(s->link, output, message) == -1)
		budget_on_master_gone(s);
}

void
budget_answered(struct session *s, uint64_t output, uint64_t message)
{
	struct budget	*b = &s->budget;

	if (b->asking > 0)
		b->asking--;
	if (output < b->asked_output)
		b->refused = clock_ms();
	set(s, output, message);
	if (message >= b->wanted)
		b->wanted = 0;
	if (b->wanted > 0)
		look_in(s, LIMIT_HELD_RETRY);
	else if (output > 0 || message > 0)
		look_in(s, LIMIT_HELD_LOOK);
}

/* Nobody counts: then it has what it wants. */
void
budget_on_master_gone(struct session *s)
{
	if (s->budget.asking == 0)
		return;
	s->budget.asking = 0;
	budget_answered(s, s->budget.asked_output, s->budget.asked_message);
}

/*
 * No answer came, as from a master that is stopped.  Or ask again for what a
 * message waits for, or give back what is too much.
 */
static void
on_look(void *arg)
{
	struct session	*s = arg;
	struct budget	*b = &s->budget;
	uint64_t	 output, message = b->message;

	if (b->asking > 0) {
		budget_on_master_gone(s);
		return;
	}
	output = in_steps(beyond_free(s->window.memory));
	if (output > b->output)
		output = b->output;
	if (b->wanted > 0)
		message = b->wanted;
	else if (s->conn == NULL ||
	    conn_unfinished(s->conn) < LIMIT_HELD_FREE)
		message = 0;
	if (output != b->output || message != b->message)
		ask(s, output, message);
	else
		look_in(s, LIMIT_HELD_LOOK);
}

bool
budget_output(struct session *s)
{
	struct budget	*b = &s->budget;
	uint64_t	 most = output_max(s), more;

	if (b->output >= most)
		return false;
	if (b->asking > 0)
		return true;
	if (b->refused != 0 && clock_ms() - b->refused < LIMIT_HELD_REFUSED)
		return false;
	/* It doubles: who asks for all at once keeps others from it. */
	more = in_steps(2 * s->window.memory);
	ask(s, more < most ? more : most, b->message);
	return b->asking > 0;
}

void
budget_message(struct session *s, size_t want)
{
	s->budget.wanted = in_steps(beyond_free(want));
	if (s->budget.wanted > LIMIT_MESSAGE)
		s->budget.wanted = LIMIT_MESSAGE;
	ask(s, s->budget.output, s->budget.wanted);
}

void
budget_on_conn_end(struct session *s)
{
	struct budget	*b = &s->budget;

	b->wanted = 0;
	if (b->message > 0)
		ask(s, b->output, 0);
}

void
budget_init(struct session *s)
{
	s->window.memory_max = LIMIT_HELD_FREE;
	timer_init(&s->budget.look_ev, s->env.base, on_look, s);
}

void
budget_fini(struct session *s)
{
	timer_stop(&s->budget.look_ev);
}
