#include "worker/proc/descendants.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/linux/ptree.h"

#define KIN_FIRST	16
#define DESCENDANTS_MAX		4096	/* remembered for a process */

static bool
is_noted(const struct descendants *k, pid_t pid, uint64_t start)
{
	size_t	 i;

	for (i = 0; i < k->n; i++)
		if (k->list[i].pid == pid && k->list[i].start == start)
			return true;
	return false;
}

/* Without memory the pass goes on with those already known. */
static void
descendants_note(struct descendants *k, pid_t pid, uint64_t start)
{
	struct descendants_one	*list;
	size_t		 cap;

	if (k->n == DESCENDANTS_MAX)
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

/*
 * Their descendants are not searched: orphans are reparented to us, and reading
 * a mark is slow where the kernel does not let us.
 */
bool
descendants_skips(pid_t pid, void *arg)
{
	const struct descendants	*k = arg;

	return k->others->have_pid(k->arg, pid);
}

static bool
has_descendant_parent(const struct descendants *k, pid_t parent)
{
	struct ptree_stat	 st;

	return ptree_mark_of(parent) == k->mark || (k->n > 0 &&
	    ptree_stat(parent, &st) == 0 && is_noted(k, parent, st.start));
}

bool
descendants_has(pid_t pid, void *arg)
{
	struct descendants		*k = arg;
	struct ptree_stat	 st;
	uint64_t		 mark = ptree_mark_of(pid);

	if (mark == k->mark)
		return true;
	if (k->others->have_mark(k->arg, mark) || ptree_stat(pid, &st) == -1)
		return false;
	if (is_noted(k, pid, st.start))
		return true;
	if (st.session != k->pid && st.group != k->pid &&
	    !has_descendant_parent(k, st.parent))
		return false;
	descendants_note(k, pid, st.start);
	return true;
}

void
descendants_look(struct descendants *k)
{
	/* A pass visits parents before children. */
	ptree_kill(0, descendants_skips, descendants_has, k);
}

void
descendants_init(struct descendants *k, const struct descendants_others *others,
    const void *arg)
{
	memset(k, 0, sizeof(*k));
	k->others = others;
	k->arg = arg;
}

void
descendants_start(struct descendants *k, pid_t pid, uint64_t mark)
{
	assert(pid != 0);
	k->pid = pid;
	k->mark = mark;
}

void
descendants_fini(struct descendants *k)
{
	free(k->list);
	k->list = NULL;
	k->n = k->cap = 0;
}
