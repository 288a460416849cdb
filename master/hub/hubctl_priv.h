/* What hubctl.c and hubctl_cmds.c share: who asks, and what it waits for. */
#pragma once

#include "common/json/json.h"
#include "common/json/json_out.h"
#include "master/hub/hubgather.h"

enum waiting { FOR_NOTHING, FOR_PONG, FOR_RELOAD, FOR_HUBS, FOR_TURN };

/* By the control socket, which fd says; far; or another hub. */
struct hubctl_client {
	TAILQ_ENTRY(hubctl_client)	 entry;
	struct hubctl			*ctl;
	int				 fd;
	struct hubctl_far		*far;
	struct io			 in, out;
	struct buf			 request, answer;
	enum waiting			 waiting;
	struct timer			 timer;	/* FOR_PONG, FOR_TURN */
	uint64_t			 since, number;	/* of that */
	uint32_t			 pongs;		/* likewise */
	char				 cmd[16];
	char				 environment[ENVIRONMENT_MAX + 1];
	char				 by[TICKET_SUBJECT_MAX + 1];
	struct hubgather		*gather;
	struct hubgather_want		 want;
	struct engine_request		 asked;
	struct engine_ask		 find;
	bool				 has_heard, is_processing;
	/* Of another hub. */
	struct engine_reply		 reply;
	char				 about[ENVIRONMENT_MAX + 1];
};

struct hubctl {
	struct hub			*hub;
	int				 fd;
	struct io			 io;
	TAILQ_HEAD(, hubctl_client)	 clients;
	unsigned			 n, nfar;
	const struct hubctl_events	*events;
	void				*arg;
};

bool	 hubclient_is_guest(const struct hubctl_client *c);

/* A row of an answer, or its end; what is between is members. */
void	 hubclient_begin(struct hubctl_client *c, struct json_out *o,
	    bool is_end);
void	 hubclient_end(struct hubctl_client *c, struct json_out *o,
	    bool is_end);
void	 hubclient_ok(struct hubctl_client *c);
void	 hubclient_fail(struct hubctl_client *c, const char *why);

/* Send what was written; another hub gets all of it in the end. */
void	 hubclient_flush(struct hubctl_client *c);

/* Answer its requests, one after the other, while none waits. */
void	 hubclient_process(struct hubctl_client *c);

/* --- hubctl_cmds.c --- */

void	 hubclient_request(struct hubctl_client *c, const struct json *j);

void	 hubclient_on_timer(void *arg);
void	 hubclient_on_answer(void *arg, struct span text, unsigned silent);
void	 hubclient_on_place(void *arg, enum engine_answer answer,
	    const struct engine_place *p);
