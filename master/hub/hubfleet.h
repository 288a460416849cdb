/* A hub asks others before it takes an executor or sends a harness away. */
#pragma once

#include "master/hub/fleet/hubnames.h"
#include "master/hub/hubcall.h"

/* Check what the settings say of it.  0, or -1 with e. */
int		 hubfleet_check(const struct site *s, struct conf_error *e)
		    MUST_CHECK;

/* Whether a name of the engine has to be looked up. */
bool		 hubfleet_needs_names(const struct site *s);

/* NULL with errno. */
struct engine	*hubfleet_engine(struct hub *h, struct hubnames **names);

/* Forget the questions of others that wait for executors. */
void		 hubfleet_stop(struct hub *h);

/* How the others find an executor of ours. */
void		 hubfleet_place(const struct hub *h, const struct executor *x,
		    struct engine_place *out);

/*
 * Ask the others whether an executor may attach here, or lives there with
 * another key: c->again is called with CLAIMED or KEPT, with ALIVE or DEAD.
 */
void		 hubfleet_claim(struct call *c, const struct ticket *t);
void		 hubfleet_ask_key(struct call *c, const struct hubkey *key);

/*
 * Ask where the environment is; fn is called with the door, perhaps before this
 * returns.  harness, ticket: the caller's, kept for it (or zero).
 */
struct hubfleet_asked {
	struct hub		*hub;
	struct door		*door;
	char			 environment[ENVIRONMENT_MAX + 1];
	char			 subject[TICKET_SUBJECT_MAX + 1];
	struct hubkey		 harness;
	struct ticket		 ticket;
	void			(*fn)(struct hubfleet_asked *a,
				    enum engine_answer answer,
				    const struct engine_place *p);
	struct engine_ask	 ask;
};
void		 hubfleet_where(struct call *c, const struct hubkey *harness,
		    const struct ticket *ticket, void (*fn)(
		    struct hubfleet_asked *a, enum engine_answer answer,
		    const struct engine_place *p));
