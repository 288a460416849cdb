/*
 * Upgrade: the program is executed again, with the same process id, and adopts
 * the sessions (master/adopt/adopt.h).  If it ends or does not serve in time,
 * the former one is started again (master/adopt/watcher.h).
 */
#pragma once

#include <sys/types.h>

#include "master/adopt/handoff.h"

struct children;
struct gate;
struct listeners;
struct master;
struct remotes;
struct sdnotify;
struct world;

/* The switch with which a program checks itself; the run directory follows. */
#define UPGRADE_CHECK	"--check-upgrade"

struct upgrade;

struct upgrade_result {
	const char	*from, *to;
	size_t		 sessions;	/* that go on */
	const char	*why;		/* it failed; NULL: it did not */
	int		 asker;		/* taken; -1: it asked us */
};

struct upgrade_events {
	/* It is over, in this process or in the one before. */
	void	(*on_result)(struct master *m, const struct upgrade_result *r);

	/* Descriptors: the control socket, who asked (-1: a signal). */
	int	(*control)(const struct master *m);
	int	(*asker)(const struct master *m);

	/* Whether the server ends with a command of its own. */
	bool	(*has_command)(const struct master *m);

	/* Undo what was set for this process alone, before it executes. */
	void	(*undo)(const struct master *m);
};

/* What it needs, owned by others. */
struct upgrade_parts {
	struct world		*world;
	struct children		*children;
	struct listeners	*listeners;
	const struct gate	*gate;
	const struct remotes	*uplinks;
	struct handoff		*handed;
	struct sdnotify		*sdnotify;	/* or NULL */
	int			 monitor;	/* its channel, or -1 */
};

/* NULL with errno. */
struct upgrade	*upgrade_new(const struct upgrade_parts *parts,
		    const struct upgrade_events *events);
void		 upgrade_free(struct upgrade **up);

/* only_check: no more than that.  0, or -1 with the reason. */
int		 upgrade_begin(struct upgrade *u, bool only_check,
		    const char **why_out) MUST_CHECK;

/* We serve, and wait for sessions; one has come; we stop: no rollback now. */
void		 upgrade_serves(struct upgrade *u);
void		 upgrade_on_adopted(struct upgrade *u);
void		 upgrade_stop(struct upgrade *u);

/* Whether a process that ended, or is there, is one of ours. */
bool		 upgrade_on_exit(struct upgrade *u, pid_t pid, int status);
bool		 upgrade_has(const struct upgrade *u, pid_t pid);

/* In the new program: check it, and print its version.  An exit status. */
int		 upgrade_check(const char *rundir);
