/*
 * What the files about processes share: process.c, request.c,
 * event.c, catchup.c.
 */
#ifndef COMMON_CLIENT_PROCESS_PROCESS_PRIV_H
#define COMMON_CLIENT_PROCESS_PROCESS_PRIV_H

#include "common/client/process/process.h"

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

/* The answer to a request about one. */
execsrv_answer_fn execsrv_process_on_answer;

/* --- request.c --- */

/* As execsrv_begin() and execsrv_end(), with processId. */
int		 execsrv_process_begin(struct execsrv_process *p,
		    const char *method, struct json_out *o)
		    __attribute__((warn_unused_result));
int		 execsrv_process_end(struct execsrv_process *p,
		    enum execsrv_request what, bool is_safe,
		    struct json_out *o);

/* --- event.c --- */

/*
 * A notification, of a process or (NULL) of nobody's any more; whether it was
 * about a process.
 */
bool		 execsrv_event_note(struct execsrv_process *p,
		    const struct json *j, const char *method,
		    uint32_t params);

/* ms until a missing event has been waited for too long, or -1. */
int		 execsrv_event_wait_ms(const struct execsrv_process *p);
void		 execsrv_event_restart_wait(struct execsrv_process *p);

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

/* --- catchup.c --- */

/* Ask what it said after a number. */
void		 execsrv_process_ask_read(struct execsrv_process *p,
		    uint64_t after);

/* The answer to that, REQUEST_READ. */
void		 execsrv_process_on_read(struct execsrv_process *p,
		    const struct execsrv_answer *a);

/* It cannot be known any more what it said. */
void		 execsrv_process_lose(struct execsrv_process *p,
		    const char *why);

/* Nobody wants to read the rest: let the server send new output again. */
void		 execsrv_process_read_no_more(struct execsrv_process *p);

#endif
