#include "worker/kin.h"

#include <stdlib.h>

#include "common/ptree.h"
#include "worker/proc.h"

#define KIN_FIRST	16
#define KIN_MAX		4096	/* remembered for one process */

static bool
is_noted(const struct kin *k, pid_t pid, uint64_t start)
{
	size_t	 i;

	for (i = 0; i < k->n; i++)
		if (k->list[i].pid == pid && k->list[i].start == start)
			return true;
	return false;
}

/* Without memory the pass goes on with those that are known. */
static void
note(struct kin *k, pid_t pid, uint64_t start)
{
	struct kin_one	*list;
	size_t		 cap;

	if (k->n == KIN_MAX)
		return;
	if (k->n == k->cap) {
		cap = k->cap == 0 ? KIN_FIRST : 2 * k->cap;
		if ((list = reallocarray(k->list, cap, sizeof(*list))) ==
		    NULL)
			return;
		k->list = list;
		k->cap = cap;
	}
	k->list[k->n].pid = pid;
	k->list[k->n++].start = start;
}

/* Whose mark it is: another process of the session has it. */
static bool
is_others(const struct proc *p, uint64_t mark)
{
	const struct proc	*q;

	TAILQ_FOREACH(q, &p->session->all, entry)
		if (q != p && q->mark == mark)
			return true;
	return false;
}

bool
kin_skips(pid_t pid, void *arg)
{
	struct proc		*p = arg;
	const struct proc	*q;

	q = map_find(&p->session->pids, &pid, sizeof(pid));
	return q != NULL && q != p;
}

static bool
has_kin_parent(const struct proc *p, pid_t parent)
{
	struct ptree_stat	 st;

	return ptree_mark_of(parent) == p->mark || (p->kin.n > 0 &&
	    ptree_stat(parent, &st) == 0 &&
	    is_noted(&p->kin, parent, st.start));
}

bool
kin_has(pid_t pid, void *arg)
{
	struct proc		*p = arg;
	struct ptree_stat	 st;
	uint64_t		 mark = ptree_mark_of(pid);

	if (mark == p->mark)
		return true;
	if (is_others(p, mark) || ptree_stat(pid, &st) == -1)
		return false;
	if (is_noted(&p->kin, pid, st.start))
		return true;
	if (st.session != p->pid && st.group != p->pid &&
	    !has_kin_parent(p, st.parent))
		return false;
	note(&p->kin, pid, st.start);
	return true;
}

void
kin_look(struct proc *p)
{
	/* Parents come before their children. */
	ptree_kill(0, kin_skips, kin_has, p);
}

void
kin_fini(struct kin *k)
{
	free(k->list);
	k->list = NULL;
	k->n = k->cap = 0;
}
