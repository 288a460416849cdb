#include "worker/session/budget.h"

#include <string.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/limit.h"

#define STEP	((uint64_t)1024 * 1024)	/* bytes; requests are multiples */

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
output_max(const struct budget *b)
{
	return LIMIT_OUTPUT_MEMORY + b->window->retain;
}

static void
budget_set(struct budget *b, uint64_t output, uint64_t message)
{
	b->output = output;
	b->message = message;
	b->window->memory_max = LIMIT_HELD_FREE + output;
	b->events->allow(b->arg, LIMIT_HELD_FREE + message);
}

static void
budget_request(struct budget *b, uint64_t output, uint64_t message)
{
	/* Stop using memory before giving it back. */
	budget_set(b, output < b->output ? output : b->output,
	    message < b->message ? message : b->message);
	b->asked_output = output;
	b->asked_message = message;
	b->asking++;
	timer_set(&b->look_ev, LIMIT_HELD_ANSWER);
	if (b->events->ask(b->arg, output, message) == -1)
		budget_on_master_gone(b);
}

void
budget_answered(struct budget *b, uint64_t output, uint64_t message)
{
	if (b->asking > 0)
		b->asking--;
	if (output < b->asked_output)
		b->refused = clock_ms();
	budget_set(b, output, message);
	if (message >= b->wanted)
		b->wanted = 0;
	if (b->wanted > 0)
		timer_set(&b->look_ev, LIMIT_HELD_RETRY);
	else if (output > 0 || message > 0)
		timer_set(&b->look_ev, LIMIT_HELD_LOOK);
	else
		timer_stop(&b->look_ev);
}

/* Without a master nothing is accounted: grant what was requested. */
void
budget_on_master_gone(struct budget *b)
{
	if (b->asking == 0)
		return;
	b->asking = 0;
	budget_answered(b, b->asked_output, b->asked_message);
}

/*
 * If the master does not answer, being stopped, take what was requested.  Else
 * request memory again for a waiting message, or give back unused memory.
 */
static void
budget_on_look(void *arg)
{
	struct budget	*b = arg;
	uint64_t	 output, message = b->message;

	if (b->asking > 0) {
		budget_on_master_gone(b);
		return;
	}
	output = in_steps(beyond_free(b->window->memory));
	if (output > b->output)
		output = b->output;
	if (b->wanted > 0)
		message = b->wanted;
	else if (b->events->unfinished(b->arg) < LIMIT_HELD_FREE)
		message = 0;
	if (output != b->output || message != b->message)
		budget_request(b, output, message);
	else
		timer_set(&b->look_ev, LIMIT_HELD_LOOK);
}

bool
budget_output(struct budget *b)
{
	uint64_t	 most = output_max(b), more;

	if (b->output >= most)
		return false;
	if (b->asking > 0)
		return true;
	if (b->refused != 0 && clock_ms() - b->refused < LIMIT_HELD_REFUSED)
		return false;
	/* Double: a request for the maximum would starve other sessions. */
	more = in_steps(2 * b->window->memory);
	budget_request(b, more < most ? more : most, b->message);
	return b->asking > 0;
}

void
budget_message(struct budget *b, size_t want)
{
	b->wanted = in_steps(beyond_free(want));
	if (b->wanted > LIMIT_MESSAGE)
		b->wanted = LIMIT_MESSAGE;
	budget_request(b, b->output, b->wanted);
}

void
budget_on_conn_end(struct budget *b)
{
	b->wanted = 0;
	if (b->message > 0)
		budget_request(b, b->output, 0);
}

void
budget_init(struct budget *b, struct event_base *base, struct window *w,
    const struct budget_events *events, void *arg)
{
	memset(b, 0, sizeof(*b));
	b->window = w;
	b->events = events;
	b->arg = arg;
	w->memory_max = LIMIT_HELD_FREE;
	timer_init(&b->look_ev, base, budget_on_look, b);
}

void
budget_fini(struct budget *b)
{
	timer_stop(&b->look_ev);
}
