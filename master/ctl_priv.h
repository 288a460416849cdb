/* What the control socket and its commands share; for ctl*.c only. */
#ifndef MASTER_CTL_PRIV_H
#define MASTER_CTL_PRIV_H

#include <sys/queue.h>

#include "common/chan.h"
#include "master/ctl.h"
#include "master/route.h"

#define CTL_CELLS_MAX	48	/* columns of a table */
#define CTL_DENIED	4	/* exit status: as of init scripts (LSB) */

/* One operator. */
struct ctl_client {
	TAILQ_ENTRY(ctl_client)	 entry;
	struct ctl		*ctl;
	struct chan		*chan;
	uid_t			 uid;
	bool			 sees_all;
	/* A command that asks the workers: */
	uint32_t		 ticket;	/* 0: none */
	unsigned		*awaited;	/* ids of children */
	size_t			 nawaited;
	void			(*on_report)(struct ctl_client *,
				    struct route *, const Ipc__Report *);
	struct event		*late_ev;
};

/* A table being written, row by row. */
struct ctl_row {
	char	*cell[CTL_CELLS_MAX];
	size_t	 n;
};

typedef void	 ctl_fn(struct ctl_client *c);

#define CTL(name, fn, form, help)	ctl_fn ctl_##fn;
#include "proto/ctl.def"
#undef CTL

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
 * Ask the workers of the sessions that the client may see; on_report is
 * called for each answer, then the table ends.
 */
void	 ctl_ask(struct ctl_client *c, bool processes,
	    void (*on_report)(struct ctl_client *, struct route *,
	    const Ipc__Report *));

struct master	*ctl_master(const struct ctl *c);

bool	 ctl_may_see(const struct ctl_client *c, const struct route *r);

#endif
