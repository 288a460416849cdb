/*
 * In the place of worker/os/helper.h, the channel and the log, for the one file
 * that includes this: a program that is told, and answers, what we like.
 */
#pragma once

#include "common/ipc/ipc.h"
#include "t/unit/chan_stand_in.h"
#include "t/unit/log_stand_in.h"
#include "worker/os/helper.h"

static struct {
	struct helper			*it;
	const struct helper_program	*program;
	int				 need_error;	/* errno */
} helper;

int
helper_program(const char *name)
{
	did("program %s", name);
	return -1;
}

void
helper_init(struct helper *h, const struct helper_program *p,
    struct event_base *base, int exe, unsigned session,
    const struct scgroup *limited, const struct helper_events *e, void *arg)
{
	memset(h, 0, sizeof(*h));
	helper.it = h;
	helper.program = h->program = p;
	helper.need_error = 0;
	h->events = e;
	h->arg = arg;
	h->exe = exe;
	the_chan = (struct chan){ .base = base, .self = IPC_ROLE_WORKER };
	did("init %s %d %u%s", p->name, exe, session,
	    limited != NULL ? " limited" : "");
}

int
helper_need(struct helper *h)
{
	ck_assert_ptr_eq(h, helper.it);
	did("need");
	errno = helper.need_error;
	if (helper.need_error != 0)
		return -1;
	h->chan = &the_chan;
	return 0;
}

void
helper_idle(struct helper *h)
{
	ck_assert_ptr_eq(h, helper.it);
	did("idle");
}

void
helper_stop(struct helper *h)
{
	ck_assert_ptr_eq(h, helper.it);
	did("stop");
	h->chan = NULL;
}

/* It sends a message.  Return what on_msg does. */
static inline int
helper_comes(enum ipc_kind kind, void *body)
{
	struct ipc_msg	 m = { kind, body, -1 };

	return helper.it->events->on_msg(helper.it->arg, &m);
}

/* It has died. */
static inline void
helper_dies(void)
{
	helper.it->chan = NULL;
	helper.it->events->on_death(helper.it->arg, "it died");
}

/* Its variables, in order. */
static inline void
helper_ck_kept(const char *want)
{
	char	 text[1000] = "";
	size_t	 i;

	for (i = 0; i < helper.program->nkept; i++) {
		strcat(text, i > 0 ? " " : "");
		strcat(text, helper.program->kept[i]);
		ck_assert_uint_lt(strlen(text), sizeof(text) - 50);
	}
	ck_assert_str_eq(text, want);
}
