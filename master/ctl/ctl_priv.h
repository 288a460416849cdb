/* Shared by the control socket and its commands; for ctl*.c only. */
#pragma once

#include <sys/queue.h>

#include "common/buf.h"
#include "common/ev.h"
#include "common/ipc/chan.h"
#include "master/logs/audit.h"
#include "master/workers/route.h"
#include "master/world.h"

#define CTL_CELLS_MAX	48	/* columns of a table */
#define CTL_BATCH	1024	/* cells that go in one message */
#define CTL_BATCH_BYTES	(16 * 1024)
#define CTL_CLIENTS_MAX	64	/* operators at a time */
#define CTL_DENIED	4	/* exit status, as of LSB init scripts */
#define CTL_NAME_MAX	64	/* bytes of a process name in logs */
#define CTL_ASKED_MAX	16	/* bytes of an id in logs: not all of it */

struct ctl_client;

struct ctl {
	struct world			*world;
	struct routes			*routes;
	struct children			*children;
	int				 fd;
	char				*path;
	struct io			 accept_ev;
	struct timer			 pause_ev;
	TAILQ_HEAD(, ctl_client)	 clients;
	unsigned			 nclients;
	uint32_t			 next_ticket;
};

/* The outcome of an action: ANSWERED by in; else in is NULL. */
enum ctl_outcome { CTL_ANSWERED, CTL_GONE, CTL_LATE };
typedef void ctl_acted_fn(struct ctl_client *c, struct child *child,
    enum ctl_outcome outcome, const Ipc__Acted *in);

struct ctl_who {
	uid_t		 uid;
	pid_t		 pid;
	bool		 sees_all;
	/* 0: an operator; else: sees the other sessions of its identity only */
	unsigned	 session;
	char		 identity[IDENTITY_MAX];
};

struct ctl_client {
	TAILQ_ENTRY(ctl_client)	 entry;
	struct ctl		*ctl;
	struct chan		*chan;
	int			 fd;		/* the channel's */
	struct ctl_who		 who;
	const Ipc__CtlRequest	*in;		/* while its handler runs */
	bool			 waits;		/* for the server's end */
	bool			 watches;	/* events */
	bool			 upgrades;	/* asked for an upgrade */
	size_t			 ncolumns;	/* of its table */
	char			*batch[CTL_BATCH];	/* cells to send */
	size_t			 nbatch, batch_bytes;
	/* A command that asks workers: */
	uint32_t		 ticket;	/* 0: none */
	struct map		 awaited;	/* answers, by child id */
	void			(*on_report)(struct ctl_client *,
				    struct route *, const Ipc__Report *);
	struct buf		 text;		/* lines of a cell */
	unsigned		 only;		/* number of a session; or 0 */
	bool			 has_row;	/* a row was written */
	struct timer		 late_ev;
	/* A command that acts on a session: */
	ctl_acted_fn		*on_acted;
	unsigned		 session;	/* number */
	int			 stream;	/* for the client; or -1 */
	/* For the audit log, at the end of the command: */
	const char		*command;	/* name in ctl.def */
	bool			 is_act;
	struct audit_what	 act;
	const char		*denied;	/* why; not sent to it */
	char			 process[CTL_NAME_MAX];	/* of act */
	char			 asked[CTL_ASKED_MAX];
	char			 identity[IDENTITY_MAX];
};

struct ctl_row {
	char	*cell[CTL_CELLS_MAX];
	size_t	 n;
};

typedef void	 ctl_fn(struct ctl_client *c);

#define CTL(name, fn, form, who, option, min, max, arguments, help)	\
	ctl_fn ctl_##fn;
#define LOCAL(name, fn, kinds, arguments, help)
#include "proto/ctl.def"
#undef CTL
#undef LOCAL

void	 ctl_row_text(struct ctl_row *r, const char *text);
void	 ctl_row_number(struct ctl_row *r, uint64_t n);

/* Write lines as a cell, without the last newline, and free them. */
void	 ctl_row_list(struct ctl_row *r, struct buf *lines);

/* Columns end with a NULL name. */
struct ctl_column {
	const char	*name;
	Ipc__CellKind	 kind;
};
#define TEXT(name)	{ name, IPC__CELL_KIND__TEXT }
#define NUMBER(name)	{ name, IPC__CELL_KIND__NUMBER }
#define LIST(name)	{ name, IPC__CELL_KIND__LIST }
#define FLAG(name)	{ name, IPC__CELL_KIND__FLAG }
#define END		{ NULL, IPC__CELL_KIND__TEXT }

void	 ctl_put_head(struct ctl_client *c, const struct ctl_column *columns);
void	 ctl_put_row(struct ctl_client *c, struct ctl_row *r);
void	 ctl_put_end(struct ctl_client *c, unsigned exit_code,
	    const char *error);

/*
 * Find a session that the client may see, by number, or by a unique prefix of
 * its id of at least 4 characters.  NULL: answered with an error.
 */
struct route	*ctl_find(struct ctl_client *c, const char *name);

bool	 ctl_may_see(const struct ctl_client *c, const struct route *r);

/*
 * Ask the workers of all sessions that the client may see, or of one.
 * on_report is called for each (report NULL: no answer), then the table ends.
 */
void	 ctl_ask(struct ctl_client *c, struct route *only, bool processes,
	    void (*on_report)(struct ctl_client *, struct route *,
	    const Ipc__Report *));

/*
 * The ticket with which to ask a worker for an action.  on_acted is called
 * once, within ms milliseconds, and must end the answer.  0: out of memory, and
 * the answer has ended.
 */
uint32_t ctl_await(struct ctl_client *c, struct child *child, uint64_t ms,
	    ctl_acted_fn *on_acted);

/* The server ends: answer all clients that wait for that; one of them. */
void	 ctl_end_waits(struct ctl *c, const char *why);

/* Admit whoever connects (fd is taken), or a known client; or NULL. */
struct ctl_client *ctl_admit(struct ctl *c, int fd);
struct ctl_client *ctl_add(struct ctl *c, int fd, const struct ctl_who *who);

/* Its first request must come in time. */
void	 ctl_expect(struct ctl_client *c);

/* Who asked for an upgrade, or NULL. */
struct ctl_client *ctl_find_asker(const struct ctl *c);

void	 ctl_on_end(struct ctl_client *c);

/*
 * Mark the command for the audit log, which gets an event when the answer ends
 * or the client disconnects; add the session, and a process's name as the
 * client gave it, or NULL; write it now: done, while the answer goes on.
 */
void	 ctl_act(struct ctl_client *c);
void	 ctl_act_on(struct ctl_client *c, const struct route *r,
	    const char *process);
void	 ctl_act_done(struct ctl_client *c);

/* Log what an operator does; the text begins with a verb. */
void	 ctl_audit(const struct ctl_client *c, const char *fmt, ...)
	    PRINTF(2, 3);

struct master	*ctl_master(const struct ctl *c);
