/*
 * The control socket of a hub, RuntimeDirectory/control.sock, a stream: whoever
 * may open it is root or the hub's user.
 *
 * A request is a line, a JSON object (see hubctl_cmds.c): {"cmd":"list"}.  Its
 * answer is any number of rows, {"row":{...}} each a line, and as the last line
 * {"ok":true,...} or {"ok":false,"error":"..."}.  Requests of a connection are
 * answered one after the other.
 */
#pragma once

#include "master/hub/hub.h"

#define HUBCTL_SOCKET	"control.sock"

struct hubctl;

struct hubctl_events {
	/* Read the configuration again, then call hubctl_reloaded(). */
	void	(*reload)(void *arg);
};

/* Listen on a socket that is bound; NULL with errno. */
struct hubctl	*hubctl_new(struct hub *h, int fd,
		    const struct hubctl_events *e, void *arg);
void		 hubctl_free(struct hubctl **cp);

/* A request of another hub, about what is here; the engine has the answer. */
void		 hubctl_guest(struct hubctl *c, const char *environment,
		    struct span text, const struct engine_reply *r);

/* A registration is good no more, at this hub. */
void		 hubctl_evicted(struct hub *h, const uint8_t *registration);

/* Tell those who wait for it; why NULL: it is done. */
void		 hubctl_reloaded(struct hubctl *c, const char *why);

/* --- operators elsewhere --- */

/* What a request is about, which says who may ask it. */
enum hubctl_kind {
	HUBCTL_NEVER,		/* on this machine only */
	HUBCTL_LIST, HUBCTL_ENVIRONMENT, HUBCTL_HUB,
	HUBCTL_EITHER		/* an environment, if it names one */
};

struct hubctl_client;

/* Embedded in who has the connection, and says what may be. */
struct hubctl_far {
	const struct hubctl_far_ops	*ops;
	const char			*name;		/* the subject */
	struct hubctl_client		*client;
};

struct hubctl_far_ops {
	/* Send lines, and empty their buffer. */
	void		(*send)(struct hubctl_far *f, struct buf *lines);

	/* Seconds until its next request is served; it counts as one. */
	unsigned	(*wait)(struct hubctl_far *f);

	/* Take the rules as they are now.  False: it is nobody any more. */
	bool		(*renew)(struct hubctl_far *f);

	/* Why it may not ask that, by these; NULL: it may. */
	const char	*(*why_not)(struct hubctl_far *f,
			    enum hubctl_kind kind);
	bool		(*may)(struct hubctl_far *f, const char *environment,
			    const char *labels);

	void		(*refused)(struct hubctl_far *f, const char *cmd,
			    const char *environment);

	/* Append what may be seen of a row.  1; 0: nothing; -1 with errno. */
	int		(*put)(struct hubctl_far *f, struct span row,
			    struct buf *b);
	void		(*free)(struct hubctl_far *f);
};

/* 0, or -1: there are too many, or no memory. */
int		 hubctl_join(struct hubctl *c, struct hubctl_far *f)
		    MUST_CHECK;
void		 hubctl_leave(struct hubctl_far *f);	/* frees it */

/* It sent a request; whether one is not answered yet. */
void		 hubctl_said(struct hubctl_far *f, const void *data,
		    size_t len);
bool		 hubctl_is_busy(const struct hubctl_far *f);

unsigned	 hubctl_count(const struct hubctl *c, const char *name);
