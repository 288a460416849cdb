/* Managed networks of processes, by execsrv-proxy (PROTOCOL 5.9, 5.10). */
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

/* execsrv-proxy is installed. */
bool	 netjobs_can(const struct rpc *rpc);

/* *out NULL: none.  sandboxed: it may be enforced.  NULL, or what is wrong. */
const char *net_make(struct rpc *rpc, const struct process_start_params *p,
	    bool sandboxed, struct net **out) MUST_CHECK;

/* In a network namespace of its own. */
bool	 net_is_enforced(const struct net *n);

/*
 * Before the start: listeners (enforced: in a namespace of sp->nsset's user
 * namespace), variables in *envp, changes of sp.  -1 with errno;
 * net_opened_fini() after the start, in both cases.
 */
struct net_opened;
int	 net_open(struct net *n, char ***envp, struct spawn *sp,
	    struct net_opened **out) MUST_CHECK;
void	 net_opened_fini(struct net_opened **op);

/* Started, or not.  Takes n. */
void	 net_attach(struct net *n, struct proc *p);
void	 net_cancel(struct net *n);

/* So far; *n_out rows, or NULL. */
const struct netrefused_row *netjobs_refused(const struct rpc *rpc,
	    unsigned *n_out);

/* The session ends: tell the rest. */
void	 netjobs_flush(struct rpc *rpc);

void	 netjobs_on_conn(struct rpc *rpc, bool is_new);

/* A child is execsrv-proxy; it exited. */
bool	 netjobs_has(const struct rpc *rpc, pid_t pid);
void	 netjobs_reaped(struct rpc *rpc, pid_t pid, int status);

void	 netjobs_free(struct rpc *rpc);
