/* How to open a session, and what initialize told.  Embedded in its client. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/client/reach.h"
#include "common/client/url.h"
#include "common/json/json.h"

enum session_phase {
	SESSION_NONE,
	SESSION_OPEN,
	SESSION_ENDING		/* the server said so */
};

struct opening {
	char			*where;		/* for reasons */
	struct execsrv_address	 address;	/* unless by execsrv-reach */
	struct execsrv_reach	 reach;
	char			*name;		/* of the client */
	char			*token;		/* or NULL; locked memory */
	int			 connect_ms, initialize_ms;
	int			 open_ms;	/* 0: tried once */
	bool			 is_second;	/* tried on: it was a server */
	char			 resume[128];	/* a session; empty: none */
	bool			 takes;		/* it from its client */
	bool			 operates;	/* and does nothing else */
	char			 tag[24];	/* in ids, of such a session */
	enum session_phase	 phase;
	char			 session[128];	/* empty: none, or too long */
	struct execsrv_overflow	 overflow;
	char			*cwd;		/* or NULL */
	uint32_t		 caps;		/* rows of cap.def */
};

void	 opening_init(struct opening *o);
void	 opening_fini(struct opening *o);

/* Take name, token, times, session.  Here: 0, or -1 with the reason in e. */
int	 opening_take_options(struct opening *o,
	    const struct execsrv_options *options, struct execsrv_error *e)
	    MUST_CHECK;

/* What to open: a URL; a command. */
int	 opening_set_url(struct opening *o, const char *url,
	    const struct execsrv_options *options, struct execsrv_error *e)
	    MUST_CHECK;
int	 opening_set_command(struct opening *o, const char *command,
	    struct execsrv_error *e) MUST_CHECK;

/* Write the parameters of initialize to b, which is ready.  0, or -1: errno. */
int	 opening_put_initialize(const struct opening *o, struct buf *b)
	    MUST_CHECK;

/* Take its result: the session is open.  -1: there is none. */
int	 opening_take_session(struct opening *o, const struct json *j,
	    uint32_t result) MUST_CHECK;

void	 opening_end(struct opening *o);

enum session_phase opening_phase(const struct opening *o);

/* The id of a session that can be resumed, or NULL. */
const char *opening_session(const struct opening *o);

/* Whether the server has a capability, a row of cap.def; wants receipts. */
bool	 opening_can(const struct opening *o, const char *name);
bool	 opening_has_receipts(const struct opening *o);

/* Write an id: a letter, and a number that no other client has used. */
void	 opening_make_id(const struct opening *o, char letter, uint64_t n,
	    char *out, size_t size);
