/* Killing a process and its descendants. */
#include "worker/proc/proc.h"
#include "worker/proc/proc_priv.h"

#include <assert.h>
#include <signal.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "worker/os/pcgroup.h"

#define KILL_PASS_MS	2		/* between passes */
#define KILL_PASSES	3		/* that must find none */
#define KILL_MS		5		/* maximum for a pass */

bool
proc_is_being_killed(const struct proc *p)
{
	return p->terminated && (p->empty_passes < KILL_PASSES ||
	    p->state != PROC_CLOSED);
}

/*
 * A process that keeps forking may be missed by every pass: then orphans,
 * reparented to us, show that it is alive (procs_on_orphan()).
 */
static void
kill_pass(struct proc *p)
{
	struct procs	*ps = p->procs;
	unsigned	 orphans = p->orphans;
	uint64_t	 next = KILL_PASS_MS;

	assert(p->terminated);
	p->orphans = 0;
	pcgroups_kill(ps->env->cgroups, p->cgroup);
	p->empty_passes = ptree_purge(descendants_skips, descendants_has,
	    &p->descendants, orphans > 0,
	    KILL_MS, ps->events->reap, ps->arg) ? 0 : p->empty_passes + 1;
	if (p->kill_until == 0)
		p->kill_until = clock_ms() + LIMIT_KILL;
	else if (clock_ms() > p->kill_until && p->empty_passes <
	    KILL_PASSES && p->state == PROC_CLOSED) {
		/* EPERM, for example for a set-user-ID program. */
		log_warnx("a descendant of process %d cannot be killed",
		    p->pid);
		p->empty_passes = KILL_PASSES;
	}
	if (p->empty_passes >= KILL_PASSES && p->state == PROC_CLOSED) {
		pcgroups_give_back(ps->env->cgroups, &p->cgroup);
		next = ps->env->set.closed_ttl_ms;
		sinks_killed(&p->sinks);
	}
	timer_set(&p->timer_ev, next);
}

void
proc_kill_again(struct proc *p)
{
	assert(p->terminated && p->pid > 0);
	if (p->state == PROC_RUNNING) {
		descendants_look(&p->descendants);
		kill(p->pid, SIGKILL);
	}
	kill_pass(p);
}

void
procs_on_orphan(struct procs *ps, uint64_t mark)
{
	struct proc	*p;

	TAILQ_FOREACH(p, &ps->all, entry)
		if (p->descendants.mark == mark)
			p->orphans++;
}

bool
proc_terminate(struct proc *p, uint64_t grace)
{
	if (p->state != PROC_RUNNING)
		return false;
	p->terminated = true;
	p->empty_passes = p->orphans = 0;
	p->kill_until = 0;
	if (grace > 0) {
		kill(-p->pid, SIGTERM);
		kill(-p->pid, SIGCONT);
		timer_set(&p->timer_ev, grace);
		return true;
	}
	proc_kill_again(p);
	return true;
}

void
proc_signal(struct proc *p, int sig)
{
	assert(p->state != PROC_RUNNING || p->pid > 1);
	if (p->state == PROC_RUNNING)
		kill(-p->pid, sig);
}
