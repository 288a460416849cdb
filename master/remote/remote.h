/*
 * Remote mode: an execsrv-uplink for each environment.  The master decides when
 * to register and keeps credentials and keys: a new uplink goes on with them.
 */
#pragma once

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "common/ipc/chan.h"
#include "common/repeat.h"
#include "master/remote/cred.h"
#include "master/remote/remote_stdin.h"
#include "master/stats.h"

struct conf_uplink;
struct gate;
struct listeners;
struct routes;
struct sdnotify;
struct world;

/*
 *	STOPPED		no process; timer_ev starts one
 *	STARTING	being told what it needs
 *	REGISTERING	waits for the registry's answer
 *	WAITING		timer_ev registers again
 *	REGISTERED	phase is its connection to the rendezvous
 *	REFUSED		given up, or timer_ev retries: UplinkRetryRefused
 *	AWAITED		a process of a former master, which is to come; timer_ev
 *			ends it
 */
enum remote_state {
	REMOTE_STOPPED,
	REMOTE_STARTING,
	REMOTE_REGISTERING,
	REMOTE_WAITING,
	REMOTE_REGISTERED,
	REMOTE_REFUSED,
	REMOTE_AWAITED
};

struct record;
struct remotes;

struct remote {
	TAILQ_ENTRY(remote)	 entry;
	struct remotes		*all;
	const struct conf_uplink *conf;
	unsigned		 number;	/* from 1 on */
	enum remote_state	 state;
	struct cred		 cred;
	uint8_t			*secret;	/* locked; keys of this run */
	uid_t			 uid;		/* of its sessions */
	gid_t			 gid;
	bool			 has_gid;
	pid_t			 pid;		/* 0: none */
	uid_t			 pid_uid;	/* the user it runs as */
	int			 pidfd;		/* -1: it is our child */
	struct io		 pidfd_ev;
	int			 slot;		/* of its record; -1: none */
	struct chan		*chan;
	struct timer		 timer_ev;	/* by state */
	struct timer		 expire_ev;	/* of the credential */
	/* All in ms. */
	uint64_t		 since;		/* of the state */
	uint64_t		 started;	/* its process */
	uint64_t		 ended;		/* the last registration */
	uint64_t		 refreshed;	/* its credential */
	uint64_t		 window;	/* the next pause */
	unsigned		 attempts;	/* since it was registered */
	unsigned		 denials;	/* 401 and 403 of these */
	unsigned		 restarts;
	struct repeat		 said;		/* why it is tried again */
	/* Reported last. */
	Ipc__Registration	 result;
	unsigned		 status;
	Ipc__UplinkPhase	 phase;
	unsigned		 refusal;	/* HTTP, by the rendezvous */
	bool			 has_no_url;	/* of a rendezvous */
	bool			 has_bad_settings;
	unsigned		 streams;
	uint64_t		 bytes_in, bytes_out;
};

TAILQ_HEAD(remote_list, remote);

/* All uplinks. */
struct remotes {
	struct world		*world;
	struct gate		*gate;		/* gets their streams */
	const struct routes	*routes;
	const struct listeners	*listeners;
	struct sdnotify		*sdnotify;	/* is told of them; or NULL */
	struct remote_stdin	 stdin;		/* gives credentials */
	struct remote_list	 list;
	uid_t			 uid;		/* their processes run as */
	gid_t			 gid;
};

/* env: the environment's credential.  0, or -1 after a line in the log. */
int	 remote_init(struct remotes *us, const struct cred *env);

/*
 * Await a former master's process, if its uplink is still wanted as it was;
 * then *pidfd is taken over (-1: our child).  Whether it was.
 */
bool	 remote_former(struct remotes *us, const struct record *r, int *pidfd);

/* One that is awaited with that pid, or NULL; it has come. */
struct remote	*remote_find_awaited(struct remotes *us, pid_t pid);
int	 remote_come(struct remote *r, int sock) MUST_CHECK;

/* After the control groups are made. */
void	 remote_start_all(struct remotes *us);

void	 remote_stop_all(struct remotes *us);
void	 remote_free_all(struct remotes *us);

/* Whether all processes are gone; kill the others. */
bool	 remote_is_gone(const struct remotes *us);
void	 remote_kill_all(struct remotes *us);

/* A process has ended; whether it was, or is, an uplink. */
bool	 remote_on_exit(struct remotes *us, pid_t pid, int status);
bool	 remote_has(const struct remotes *us, pid_t pid);

/*
 * Watch standard input, if its end stops the server (ends_us) or an uplink
 * takes credentials from it.  0, or -1 after a line in the log.
 */
int	 remote_watch_stdin(struct remotes *us, bool ends_us) MUST_CHECK;

bool	 remote_reads_stdin(const struct remotes *us);

/* Whether /readyz says no for its uplinks (ReadyUplinks); why. */
bool	 remote_unready(const struct remotes *us, char *why, size_t size);

/* The name of a state; "connected", "waiting"; the gauge that counts it. */
const char	*remote_state_word(enum remote_state s);
const char	*remote_state_name(const struct remote *r);
enum gauge	 remote_gauge(const struct remote *r);

/* What is wrong with its registration; "": nothing. */
#define REMOTE_TROUBLE	64	/* bytes */
void	 remote_trouble(const struct remote *r, char *out, size_t size);
