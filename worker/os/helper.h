/*
 * Programs of ours that serve a session in processes of their own, as its user:
 * execsrv-http, execsrv-proxy.  Started when needed, ended some time after.
 * Their channel is standard input; their messages are not trusted, since they
 * parse foreign data.
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
	/* -1: a protocol violation. */
	int	(*on_msg)(void *arg, struct ipc_msg *m);
	/* The process has ended, or is killed. */
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

/* Open a program for execution (O_PATH).  -1: not installed. */
int	 helper_program(const char *name) MUST_CHECK;

/*
 * exe: of helper_program(), or -1; stays the caller's.  limited: by TasksMax
 * (worker/os/scgroup.h), or NULL; likewise.
 */
void	 helper_init(struct helper *h, const struct helper_program *p,
	    struct event_base *base, int exe, unsigned session,
	    const struct scgroup *limited, const struct helper_events *e,
	    void *arg);

/* Start it, unless it runs.  0, or -1 with errno. */
int	 helper_need(struct helper *h) MUST_CHECK;

/* It is not needed now. */
void	 helper_idle(struct helper *h);

/* Close its channel, upon which it exits. */
void	 helper_stop(struct helper *h);

/* Handle the exit of a child; return whether it was the process.  quiet: do not
   log how it ended. */
bool	 helper_reaped(struct helper *h, pid_t pid, int status, bool quiet);
