/* One process: what process.c, request.c, event.c and catchup.c share. */
#pragma once

#include "common/client/process/process.h"

/* Internal: process/read for missed output; for the reason of an exit. */
#define REQUEST_READ	((enum execsrv_request)(EXECSRV_RESIZE + 1))
#define REQUEST_DENIED	((enum execsrv_request)(EXECSRV_RESIZE + 2))

#define REQUESTS	(REQUEST_DENIED + 1)

enum process_state {
	PROCESS_JOINING,	/* attached, next_seq is not known yet */
	PROCESS_RUNNING,	/* asked for, or there */
	PROCESS_EXITED,		/* more output may come */
	PROCESS_CLOSED		/* the last hook was called, or none will be */
};

enum event_kind { EV_OUTPUT, EV_EXITED, EV_CLOSED };

struct event {
	TAILQ_ENTRY(event)	 entry;
	uint64_t		 seq;
	enum event_kind		 kind;
	enum execsrv_stream	 stream;
	int			 exit_code;
	bool			 sandbox_denied;
	bool			 is_unsure;
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
	bool				 is_behind;
	enum process_state		 state;
	struct events			 early;		/* by seq */
	size_t				 nearly, early_bytes;
	uint64_t			 early_since;	/* ms */
	uint64_t			 writes;
	unsigned			 awaited[REQUESTS];
};

static inline bool
process_is_closed(const struct execsrv_process *p)
{
	return p->state == PROCESS_CLOSED;
}

/* --- process.c --- */

/* Not requested yet; id: NULL for a new one. */
struct execsrv_process *execsrv_process_new(struct execsrv *x, const char *id,
		    const struct execsrv_hooks *hooks, void *arg);

/* CLOSED may be entered again. */
void		 execsrv_process_set_state(struct execsrv_process *p,
		    enum process_state to);

/* To any request about it. */
execsrv_answer_fn execsrv_process_on_answer;

/* --- request.c --- */

/* As execsrv_begin() and execsrv_end(), for params with processId. */
int		 execsrv_process_begin(struct execsrv_process *p,
		    const char *method, struct json_out *o) MUST_CHECK;
int		 execsrv_process_end(struct execsrv_process *p,
		    enum execsrv_request what, bool is_safe,
		    struct json_out *o);

/* --- event.c --- */

/* p or (NULL) an unknown one; whether it was about a process. */
bool		 execsrv_event_note(struct execsrv_process *p,
		    const struct json *j, const char *method,
		    uint32_t params);

int		 execsrv_event_wait_ms(const struct execsrv_process *p);
void		 execsrv_event_restart_wait(struct execsrv_process *p);

/* Deliver an event, or keep it; those whose turn has come; an old exit. */
void		 execsrv_event_take(struct execsrv_process *p,
		    const struct event *ev);
void		 execsrv_event_take_early(struct execsrv_process *p);
void		 execsrv_event_exited_before(struct execsrv_process *p,
		    const struct event *ev);

/* Read members of JSON into an event; false: malformed. */
bool		 execsrv_event_output(const struct json *j, uint32_t from,
		    struct event *ev);
bool		 execsrv_event_exit_code(const struct json *j, uint32_t from,
		    struct event *ev);

/* Drop kept events: all; an exit that the server is asked about. */
void		 execsrv_event_drop(struct execsrv_process *p);
void		 execsrv_event_drop_unsure(struct execsrv_process *p);

/* The answer to REQUEST_DENIED. */
void		 execsrv_event_on_denied(struct execsrv_process *p,
		    const struct execsrv_answer *a);

/* --- catchup.c --- */

/* Ask for its output after a sequence number; the answer. */
void		 execsrv_process_ask_read(struct execsrv_process *p,
		    uint64_t after);

void		 execsrv_process_on_read(struct execsrv_process *p,
		    const struct execsrv_answer *a);

void		 execsrv_process_lose(struct execsrv_process *p,
		    const struct execsrv_error *why);

/* Stop catching up: let the server send new output again. */
void		 execsrv_process_read_no_more(struct execsrv_process *p);
