/*
 * Managed networks (PROTOCOL 5.9, 5.10): from the parameters of process/start
 * to a network of execsrv-proxy; its decisions, which the client is told; its
 * questions, which the client answers.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/attributes.h"
#include "common/json/params.h"
#include "worker/proc/spawn.h"
#include "worker/rpc/rpc.h"

struct net;
struct netrefused_row;
struct proc;

/* Whether managed networks are possible: execsrv-proxy is installed. */
bool	 netjobs_can(const struct rpc *rpc);

/*
 * Make the network that the parameters ask for; NULL in *out: none.  sandboxed:
 * a sandbox applies, which may enforce it.  NULL, or what is wrong.
 */
const char *net_make(struct rpc *rpc, const struct process_start_params *p,
	    bool sandboxed, struct net **out) MUST_CHECK;

/* Whether the command must be in a network namespace of its own. */
bool	 net_is_enforced(const struct net *n);

/*
 * Before the start of the command: open listeners, in a namespace owned by
 * sp->nsset's user namespace if it is enforced, set variables in *envp, and
 * change sp.  0, or -1 with errno; net_opened_fini() in both cases, after the
 * start.
 */
struct net_opened;
int	 net_open(struct net *n, char ***envp, struct spawn *sp,
	    struct net_opened **out) MUST_CHECK;
void	 net_opened_fini(struct net_opened **op);

/* The command was started, or not.  Takes n. */
void	 net_attach(struct net *n, struct proc *p);
void	 net_cancel(struct net *n);

/* What was refused so far; *n_out rows, or NULL. */
const struct netrefused_row *netjobs_refused(const struct rpc *rpc,
	    unsigned *n_out);

/* The session ends: tell the master the rest. */
void	 netjobs_flush(struct rpc *rpc);

/* A connection begins, or has ended. */
void	 netjobs_on_conn(struct rpc *rpc, bool is_new);

/* Whether a child is execsrv-proxy; it exited. */
bool	 netjobs_has(const struct rpc *rpc, pid_t pid);
void	 netjobs_reaped(struct rpc *rpc, pid_t pid, int status);

void	 netjobs_free(struct rpc *rpc);
