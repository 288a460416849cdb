/*
 * Programs of ours that serve a session, as its user: execsrv-http,
 * execsrv-proxy. Their channel is standard input; they parse foreign data, so
 * do not trust their messages.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/ev.h"
#include "common/ipc/chan.h"

struct scgroup;

struct helper_program {
	const char		*name;
	unsigned		 role;		/* IPC_ROLE_... */
	size_t			 queue_max;	/* bytes to it */
	uint64_t		 idle_ms;	/* it stays */
	const char *const	*kept;		/* of our environment */
	size_t			 nkept;
};

struct helper_events {
	/* -1: protocol violation. */
	int	(*on_msg)(void *arg, struct ipc_msg *m);
	/* It ended, or is killed. */
	void	(*on_death)(void *arg, const char *why);
};

/* Embedded. */
struct helper {
	struct chan			*chan;	/* NULL: stopped */
	pid_t				 pid;	/* 0: not running */
	int				 exe;

	/* Private. */
	const struct helper_program	*program;
	const struct helper_events	*events;
	void				*arg;
	struct event_base		*base;
	const struct scgroup		*limited;
	unsigned			 session;
	struct timer			 idle;
};

/* O_PATH.  -1: not installed. */
int	 helper_program(const char *name) MUST_CHECK;

/* exe, or -1, and limited (scgroup.h), or NULL, stay the caller's. */
void	 helper_init(struct helper *h, const struct helper_program *p,
	    struct event_base *base, int exe, unsigned session,
	    const struct scgroup *limited, const struct helper_events *e,
	    void *arg);

/* Unless it runs.  -1 with errno. */
int	 helper_need(struct helper *h) MUST_CHECK;

/* Not needed now. */
void	 helper_idle(struct helper *h);

/* By closing its channel. */
void	 helper_stop(struct helper *h);

/* A child exited: whether it was this.  quiet: no log of how. */
bool	 helper_reaped(struct helper *h, pid_t pid, int status, bool quiet);
