/* What the control socket and its commands share; for ctl*.c only. */
#ifndef MASTER_CTL_CTL_PRIV_H
#define MASTER_CTL_CTL_PRIV_H

#include <sys/queue.h>

#include "common/buf.h"
#include "common/ev.h"
#include "common/ipc/chan.h"
#include "master/ctl/ctl.h"
#include "master/logs/audit.h"
#include "master/workers/route.h"

#define CTL_CELLS_MAX	48	/* columns of a table */
#define CTL_DENIED	4	/* exit status: as of init scripts (LSB) */
#define CTL_NAME_MAX	64	/* bytes of the name of a process in logs */
#define CTL_ASKED_MAX	16	/* of an id: too few to resume by */

struct ctl_client;

/* What came of an act: an answer, or in is NULL. */
enum ctl_outcome { CTL_ANSWERED, CTL_GONE, CTL_LATE };
typedef void ctl_acted_fn(struct ctl_client *c, struct child *child,
    enum ctl_outcome outcome, const Ipc__Acted *in);

/* One operator. */
struct ctl_client {
	TAILQ_ENTRY(ctl_client)	 entry;
	struct ctl		*ctl;
	struct chan		*chan;
	uid_t			 uid;
	pid_t			 pid;
	bool			 sees_all;
	const Ipc__CtlRequest	*in;		/* while its handler runs */
	bool			 waits;		/* for the end of the server */
	size_t			 ncolumns;	/* of the table it gets */
	/* A command that asks the workers: */
	uint32_t		 ticket;	/* 0: none */
	unsigned		*awaited;	/* ids of children */
	size_t			 nawaited;
	void			(*on_report)(struct ctl_client *,
				    struct route *, const Ipc__Report *);
	struct buf		 text;		/* a list that grows */
	unsigned		 only;		/* session that is asked; 0 */
	bool			 is_told;	/* it has answered */
	struct timer		 late_ev;
	/* A command that wants something done in a session: */
	ctl_acted_fn		*on_acted;
	unsigned		 session;	/* its number */
	int			 stream;	/* for the client; or -1 */
	/* Something that the audit log is told when it is over: */
	const char		*command;	/* as its row calls it */
	bool			 is_act;
	struct audit_what	 act;
	const char		*denied;	/* why, which he is not told */
	char			 process[CTL_NAME_MAX];	/* for it */
	char			 asked[CTL_ASKED_MAX];
	char			 identity[IDENTITY_MAX];
};

/* A table being written, row by row. */
struct ctl_row {
	char	*cell[CTL_CELLS_MAX];
	size_t	 n;
};

typedef void	 ctl_fn(struct ctl_client *c);

#define CTL(name, fn, form, who, option, min, max, arguments, help)	\
	ctl_fn ctl_##fn;
#define LOCAL(name, fn, arguments, help)
#include "proto/ctl.def"
#undef CTL
#undef LOCAL

void	 ctl_row_text(struct ctl_row *r, const char *text);
void	 ctl_row_number(struct ctl_row *r, uint64_t n);

/* Columns: pairs of name and kind, ended by NULL. */
struct ctl_column {
	const char	*name;
	Ipc__CellKind	 kind;
};

void	 ctl_put_head(struct ctl_client *c, const struct ctl_column *columns);
void	 ctl_put_row(struct ctl_client *c, struct ctl_row *r);
void	 ctl_put_end(struct ctl_client *c, unsigned exit_code,
	    const char *error);

/*
 * The session that the client names: by its number, or by the beginning of
 * its id, of at least 4 characters, that no other of his has.  NULL, having
 * answered: one that he may not see is as one that never was.
 */
struct route	*ctl_find(struct ctl_client *c, const char *name);

/*
 * Ask the workers of the sessions that the client may see, or of only one;
 * on_report is called for each answer, then the table ends.
 */
void	 ctl_ask(struct ctl_client *c, struct route *only, bool processes,
	    void (*on_report)(struct ctl_client *, struct route *,
	    const Ipc__Report *));

/*
 * Await what a worker is about to be asked to do: the ticket of the request.
 * on_acted is called once, with what comes of it in ms milliseconds, and ends
 * the answer.  0: no memory, and the answer has ended.
 */
uint32_t ctl_await(struct ctl_client *c, struct child *child, uint64_t ms,
	    ctl_acted_fn *on_acted);

/* The server ends, and the client waits for that. */
void	 ctl_on_end(struct ctl_client *c);

/*
 * What he wants is for the audit log: with the answer's end it is told, or when
 * he does not wait for that.  The session that it is about, and the process,
 * printable, as he calls it; NULL.
 */
void	 ctl_act(struct ctl_client *c);
void	 ctl_act_on(struct ctl_client *c, const struct route *r,
	    const char *process);

/* It is done, though the answer is not. */
void	 ctl_act_done(struct ctl_client *c);

/* Say in the log who does what; text begins with a verb. */
void	 ctl_audit(const struct ctl_client *c, const char *fmt, ...)
	    __attribute__((format(printf, 2, 3)));

struct master	*ctl_master(const struct ctl *c);

bool	 ctl_may_see(const struct ctl_client *c, const struct route *r);

#endif
