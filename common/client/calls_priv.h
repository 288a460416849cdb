/* What the files of calls share: calls.c, message.c. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/client/execsrv.h"

struct calls;
struct execsrv_answer;

struct execsrv_call {
	TAILQ_ENTRY(execsrv_call)	 entry;
	uint64_t			 id;
	struct execsrv_call_opts		 opts;
	bool				 is_sent;
	char				*text;		/* or NULL: not kept */
	size_t				 len;
};

/* Answer one that is in the list, and free it: its hook may make others. */
void	 calls_answer(struct calls *cs, struct execsrv_call *c,
	    const struct execsrv_answer *a);

/* There is no memory: the client fails. */
void	 calls_fail_memory(struct calls *cs);

/* Send what is in cs->text.  0, or -1 as events->send. */
int	 calls_send_text(struct calls *cs);
