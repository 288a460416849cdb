/* What the files about processes share: process.c, event.c, catchup.c. */
#ifndef COMMON_CLIENT_PROCESS_PRIV_H
#define COMMON_CLIENT_PROCESS_PRIV_H

#include "common/client/client_priv.h"

/* Of ours: what a process said while nobody heard it; why it failed. */
#define REQUEST_READ	((enum execsrv_request)(EXECSRV_RESIZE + 1))
#define REQUEST_DENIED	((enum execsrv_request)(EXECSRV_RESIZE + 2))

#define REQUESTS	(REQUEST_DENIED + 1)

enum event_kind { EV_OUTPUT, EV_EXITED, EV_CLOSED };

struct event {
	TAILQ_ENTRY(event)	 entry;
	uint64_t		 seq;
	enum event_kind		 kind;
	enum execsrv_stream	 stream;
	int			 exit_code;
	bool			 sandbox_denied;
	bool			 is_unsure;	/* the server did not say */
	uint8_t			*data;
	size_t			 len;
};

TAILQ_HEAD(events, event);

struct execsrv_process {
	TAILQ_ENTRY(execsrv_process)	 entry;
	struct execsrv			*x;
	char				 id[EXECSRV_PROCESS_ID];
	struct execsrv_hooks		 hooks;
	void				*arg;
	uint64_t			 next_seq;
	bool				 is_joining;	/* no next_seq yet */
	bool				 is_behind;	/* more to read? */
	bool				 has_exited;
	bool				 closed;
	struct events			 early;		/* by seq */
	size_t				 nearly, early_bytes;
	uint64_t			 early_since;	/* ms */
	uint64_t			 writes;
	unsigned			 awaited[REQUESTS];
};

/* --- process.c --- */

/* One that nobody was asked about; id: NULL for one of its own. */
struct execsrv_process *execsrv_process_new(struct execsrv *x, const char *id,
		    const struct execsrv_hooks *hooks, void *arg);

/* As execsrv_begin() and execsrv_end(), with processId. */
struct execsrv_call *execsrv_process_begin(struct execsrv_process *p,
		    const char *method, enum execsrv_request what,
		    struct json_out *o);
int		 execsrv_process_end(struct execsrv_process *p,
		    struct execsrv_call *c, struct json_out *o);

/* --- event.c --- */

/* One came, or was read: its turn, or not yet. */
void		 execsrv_event_take(struct execsrv_process *p,
		    const struct event *ev);

/* Those that wait, if their turn has come. */
void		 execsrv_event_take_early(struct execsrv_process *p);

/* It exited, which has no number any more. */
void		 execsrv_event_exited_before(struct execsrv_process *p,
		    const struct event *ev);

/* Read members of JSON into one; whether they are as they should be. */
bool		 execsrv_event_output(const struct json *j, uint32_t from,
		    struct event *ev);
bool		 execsrv_event_exit_code(const struct json *j, uint32_t from,
		    struct event *ev);

/* Forget those that wait: all, or an exit that the server has to explain. */
void		 execsrv_event_drop(struct execsrv_process *p);
void		 execsrv_event_drop_unsure(struct execsrv_process *p);

/* The answer to REQUEST_DENIED. */
void		 execsrv_event_on_denied(struct execsrv_process *p,
		    const struct execsrv_answer *a);

bool		 execsrv_is_true(const struct json *j, uint32_t object,
		    const char *key);

/* --- catchup.c --- */

/* The answer to REQUEST_READ, of a process or of one that was freed. */
void		 execsrv_process_on_read(struct execsrv_process *p,
		    const struct execsrv_answer *a);
execsrv_answer_fn execsrv_process_nobodys_read;

/* Nobody wants to read the rest: let the server send new output again. */
void		 execsrv_process_read_no_more(struct execsrv_process *p);

#endif
