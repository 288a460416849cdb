/*
 * Remote mode: an execsrv-uplink for each environment of the configuration,
 * which ones, when and with what.  The uplinks talk to the network; here is
 * decided when to register, and what was asked of us before is kept: the keys,
 * so that an uplink that crashes costs a reconnect, and the credentials.
 */
#ifndef MASTER_REMOTE_REMOTE_H
#define MASTER_REMOTE_REMOTE_H

#include <sys/queue.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ev.h"
#include "common/ipc/chan.h"
#include "master/remote/cred.h"
#include "master/world.h"

/*
 *	STOPPED		no process; one is started at its time
 *	STARTING	it has what it needs, and is told to register
 *	REGISTERING	the registry was asked
 *	WAITING		it will be asked again
 *	REGISTERED	and connected to its rendezvous, or about to be
 *	REFUSED		it will not be asked again, or not soon
 */
enum remote_state {
	REMOTE_STOPPED,
	REMOTE_STARTING,
	REMOTE_REGISTERING,
	REMOTE_WAITING,
	REMOTE_REGISTERED,
	REMOTE_REFUSED
};

struct remote {
	TAILQ_ENTRY(remote)	 entry;
	struct master		*master;
	const struct conf_uplink *conf;
	unsigned		 number;	/* from 1 on */
	enum remote_state	 state;
	struct cred		 cred;
	uint8_t			*secret;	/* locked: keys of this run */
	uid_t			 uid;		/* of its sessions */
	gid_t			 gid;
	bool			 has_gid;
	pid_t			 pid;		/* 0: there is none */
	struct chan		*chan;
	struct timer		 timer_ev;	/* by state */
	struct timer		 expire_ev;	/* of the credential */
	uint64_t		 since;		/* ms: of the state */
	uint64_t		 started;	/* ms: its process */
	uint64_t		 ended;		/* ms: the last registration */
	uint64_t		 refreshed;	/* ms: its credential */
	uint64_t		 window;	/* ms: the next pause */
	unsigned		 attempts;	/* since it was registered */
	unsigned		 denials;	/* 401 and 403 of these */
	unsigned		 restarts;
	/* What it said last. */
	Ipc__Registration	 result;
	unsigned		 status;
	Ipc__UplinkPhase	 phase;
	unsigned		 refusal;	/* status, by the rendezvous */
	bool			 has_no_url;	/* of a rendezvous */
	bool			 has_bad_settings;
	unsigned		 streams;
	uint64_t		 bytes_in, bytes_out;
};

/*
 * Make the uplinks of the configuration ready; env has the token of the
 * environment.  0, or -1 after a line in the log.
 */
int	 remote_init(struct master *m, const struct cred *env);

/* Start them; when the control group and the rest of us is there. */
void	 remote_start_all(struct master *m);

/* They end, and their streams with them. */
void	 remote_stop_all(struct master *m);
void	 remote_free_all(struct master *m);

/* Whether all are gone; end those that are not at once. */
bool	 remote_is_gone(const struct master *m);
void	 remote_kill_all(struct master *m);

/* A process ended: whether it was one of them, or is. */
bool	 remote_on_exit(struct master *m, pid_t pid, int status);
bool	 remote_has(const struct master *m, pid_t pid);

/* Give it the credential that it has now. */
void	 remote_send_bearer(struct remote *r);

/*
 * Watch standard input, if its end is ours or an uplink takes credentials from
 * it.  0, or -1 after a line in the log.
 */
int	 remote_watch_stdin(struct master *m, bool ends_us)
	    __attribute__((warn_unused_result));

/* Whether every environment is registered. */
bool	 remote_is_ready(const struct master *m);

/* For people: "connected", "waiting", ... */
const char	*remote_state_name(const struct remote *r);

/* What is the matter with its registration; empty: nothing. */
#define REMOTE_TROUBLE	64	/* bytes */
void	 remote_trouble(const struct remote *r, char *out, size_t size);

#endif
