#include "worker/proc/snapshot.h"

#include <sys/queue.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/ev.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/proc/envp.h"
#include "worker/proc/proc.h"
#include "worker/sandbox/holder.h"

#define TAKE_MS		10000	/* for startup files */
#define EXIT_MS		500	/* for output after the shell has ended */
#define RETRY_MS	1000
#define TRIES		3

/* On the way, or what came of it. */
struct snapshot {
	struct sink		 sink;		/* first: of proc */
	TAILQ_ENTRY(snapshot)	 entry;		/* most recent use first */
	struct snapshots	*all;
	char			*key;
	size_t			 key_len;
	struct proc		*proc;		/* that takes it, or NULL */
	struct timer		 timer;
	struct buf		 out;
	struct snapshot_policy	 policy;
	bool			 is_failed;
	unsigned		 tries;
	uint64_t		 retry_at;	/* ms */
	char			*state;		/* NULL: not ready */
	char			**left;
};

TAILQ_HEAD(snapshot_list, snapshot);

struct snapshots {
	struct snapshot_list	 list;
	unsigned		 n;
	unsigned		 last;		/* number of a process */
	struct procs		*procs;
	struct timer		 done;
	void			(*on_done)(void *);
	void			*arg;
};

void
snapshot_wish_fini(struct snapshot_wish *w)
{
	free(w->key);
	snapshot_policy_fini(&w->policy);
	envp_free(&w->own);
	memset(w, 0, sizeof(*w));
}

const char *
snapshot_state(const struct snapshot *sn)
{
	return sn->state;
}

char *const *
snapshot_left(const struct snapshot *sn)
{
	return sn->left;
}

/* --- taking one --- */

/* Keep what is left of the environment after the policy of the command. */
static int
snapshot_keep(struct snapshot *sn)
{
	static const struct param_pairs	 none = { 0, NULL };
	struct envp_error		 e;
	char				**all;

	if (snapshot_parse((const char *)buf_data(&sn->out), sn->out.len,
	    &sn->state, &all) == -1)
		return -1;
	sn->left = envp_make(&none, &sn->policy.params, all, &e);
	envp_free(&all);
	if (sn->left != NULL)
		return 0;
	free(sn->state);
	sn->state = NULL;
	return -1;
}

/* Not from within the process's events: starting changes their lists. */
static void
snapshot_finish(struct snapshot *sn)
{
	timer_stop(&sn->timer);
	if (sn->proc != NULL)
		sink_remove(&sn->sink);
	sn->proc = NULL;
	buf_fini(&sn->out);
	timer_set(&sn->all->done, 0);
}

static void
snapshot_fail(struct snapshot *sn)
{
	sn->is_failed = true;
	timer_set(&sn->timer, 0);
}

/* Failed, or the time is up. */
static void
snapshot_on_timer(void *arg)
{
	struct snapshot	*sn = arg;
	struct proc	*p = sn->proc;

	log_info("no snapshot of a login shell: try %u of %u", sn->tries,
	    TRIES);
	sn->retry_at = clock_ms() + RETRY_MS;
	snapshot_finish(sn);
	if (p != NULL && p->state == PROC_RUNNING)
		proc_terminate(p, 0);
}

/* At its end the shell may have left others behind, with its output. */
static void
snapshot_on_output(struct sink *k, const struct output *o)
{
	struct snapshot	*sn = (struct snapshot *)k;
	size_t		 old = sn->out.len;

	assert(sn->proc != NULL);
	if (o->stream != STREAM_STDOUT || sn->is_failed)
		return;
	if (buf_put(&sn->out, o->data, o->len) == -1) {
		snapshot_fail(sn);
	} else if (snapshot_is_complete((const char *)buf_data(&sn->out),
	    sn->out.len, old)) {
		if (snapshot_keep(sn) == 0)
			snapshot_finish(sn);
		else
			snapshot_fail(sn);
	}
}

static void
snapshot_on_exit(struct sink *k)
{
	struct snapshot	*sn = (struct snapshot *)k;

	if (!sn->is_failed)
		timer_set(&sn->timer, EXIT_MS);
}

static void
snapshot_on_close(struct sink *k)
{
	snapshot_fail((struct snapshot *)k);
}

/* It is forgotten, and the sink off its list. */
static void
snapshot_on_gone(struct sink *k)
{
	struct snapshot	*sn = (struct snapshot *)k;

	sn->proc = NULL;
	snapshot_fail(sn);
}

static const struct sink_ops	 snapshot_ops = {
	.on_output = snapshot_on_output,
	.on_exit = snapshot_on_exit,
	.on_close = snapshot_on_close,
	.on_gone = snapshot_on_gone,
};

/* Start the login shell.  0, or -1 with errno. */
static int
snapshot_take(struct snapshot *sn, enum snapshot_shell shell,
    const struct spawn *command, bool sandboxed, struct holder *holder)
{
	struct snapshots	*ss = sn->all;
	struct spawn		 sp = *command;
	const char		*what;
	char			 id[32];
	char			*argv[4];

	argv[0] = command->argv[0];
	argv[1] = command->argv[1];
	argv[2] = (char *)(uintptr_t)snapshot_script(shell);
	argv[3] = NULL;
	sp.argv = argv;
	sp.tty = sp.pipe_stdin = false;
	/* No client can name it: this is not UTF-8. */
	snprintf(id, sizeof(id), "\xffsnapshot%u", ss->last++);
	sn->tries++;
	sn->is_failed = false;
	sn->retry_at = clock_ms() + RETRY_MS;
	if ((sn->proc = proc_new(ss->procs, id, strlen(id), &sp,
	    &what)) == NULL)
		return -1;
	sn->proc->is_internal = true;
	sn->proc->sandboxed = sandboxed;
	if ((sn->proc->holder = holder) != NULL)
		holder_use(holder, true);
	buf_init(&sn->out, LIMIT_SNAPSHOT);
	sink_add(&sn->proc->sinks, &sn->sink, &snapshot_ops);
	timer_set(&sn->timer, TAKE_MS);
	return 0;
}

/* --- all of them --- */

static void
snapshots_on_done(void *arg)
{
	struct snapshots	*ss = arg;

	ss->on_done(ss->arg);
}

struct snapshots *
snapshots_new(struct procs *ps, void (*on_done)(void *), void *arg)
{
	struct snapshots	*ss;

	if ((ss = calloc(1, sizeof(*ss))) == NULL)
		return NULL;
	TAILQ_INIT(&ss->list);
	ss->procs = ps;
	ss->on_done = on_done;
	ss->arg = arg;
	timer_init(&ss->done, ps->env->base, snapshots_on_done, ss);
	return ss;
}

static void
snapshot_free(struct snapshot *sn)
{
	struct snapshots	*ss = sn->all;

	if (sn->proc != NULL)
		sink_remove(&sn->sink);
	timer_stop(&sn->timer);
	TAILQ_REMOVE(&ss->list, sn, entry);
	ss->n--;
	buf_fini(&sn->out);
	snapshot_policy_fini(&sn->policy);
	envp_free(&sn->left);
	free(sn->state);
	free(sn->key);
	free(sn);
}

void
snapshots_free(struct snapshots **ssp)
{
	struct snapshots	*ss = *ssp;
	struct snapshot		*sn;

	*ssp = NULL;
	if (ss == NULL)
		return;
	while ((sn = TAILQ_FIRST(&ss->list)) != NULL)
		snapshot_free(sn);
	timer_stop(&ss->done);
	free(ss);
}

/* Make room: forget what was not used for the longest time. */
static bool
snapshots_make_room(struct snapshots *ss)
{
	struct snapshot	*sn;

	if (ss->n < LIMIT_SNAPSHOTS)
		return true;
	TAILQ_FOREACH_REVERSE(sn, &ss->list, snapshot_list, entry)
		if (sn->proc == NULL) {
			snapshot_free(sn);
			/* It may have failed, and not said so yet. */
			timer_set(&ss->done, 0);
			return true;
		}
	return false;
}

/* Make an entry.  Takes the policy of the wish.  NULL: no room, no memory. */
static struct snapshot *
snapshot_new(struct snapshots *ss, struct snapshot_wish *w)
{
	struct snapshot	*sn;

	if (!snapshots_make_room(ss) || (sn = calloc(1, sizeof(*sn))) == NULL)
		return NULL;
	if ((sn->key = malloc(w->key_len)) == NULL) {
		free(sn);
		return NULL;
	}
	memcpy(sn->key, w->key, w->key_len);
	sn->key_len = w->key_len;
	sn->all = ss;
	sn->policy = w->policy;
	memset(&w->policy, 0, sizeof(w->policy));
	buf_init(&sn->out, LIMIT_SNAPSHOT);
	timer_init(&sn->timer, ss->procs->env->base, snapshot_on_timer, sn);
	TAILQ_INSERT_HEAD(&ss->list, sn, entry);
	ss->n++;
	return sn;
}

const struct snapshot *
snapshots_find(struct snapshots *ss, struct snapshot_wish *w,
    const struct spawn *sp, bool sandboxed, struct holder *holder,
    bool *is_pending)
{
	struct snapshot	*sn;

	*is_pending = false;
	TAILQ_FOREACH(sn, &ss->list, entry)
		if (sn->key_len == w->key_len &&
		    memcmp(sn->key, w->key, w->key_len) == 0)
			break;
	if (sn == NULL) {
		if ((sn = snapshot_new(ss, w)) == NULL)
			return NULL;
	} else {
		TAILQ_REMOVE(&ss->list, sn, entry);
		TAILQ_INSERT_HEAD(&ss->list, sn, entry);
	}
	if (sn->state != NULL)
		return sn;
	*is_pending = sn->proc != NULL || (sn->tries < TRIES &&
	    clock_ms() >= sn->retry_at &&
	    snapshot_take(sn, w->shell, sp, sandboxed, holder) == 0);
	return NULL;
}
