#include "worker/proc/proc.h"
#include "worker/proc/proc_priv.h"

#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "worker/os/pcgroup.h"
#include "worker/proc/denial.h"
#include "worker/sandbox/holder.h"

static void	 proc_on_timer(void *);

static void	 proc_free(struct proc **pp);

struct proc *
procs_find(const struct procs *ps, const char *id, size_t id_len)
{
	return map_find(&ps->by_id, id, id_len);
}

struct proc *
procs_find_pid(const struct procs *ps, pid_t pid)
{
	return map_find(&ps->by_pid, &pid, sizeof(pid));
}

/* --- start --- */

static char *
json_string(const char *text, size_t len, size_t *len_out)
{
	struct json_out	 o;
	struct buf	 b;
	char		*s = NULL;

	buf_init(&b, 8 * (size_t)LIMIT_MESSAGE);
	json_out_init(&o, &b);
	json_out_text(&o, text, len);
	if (json_out_fini(&o) == 0 && (s = malloc(b.len + 1)) != NULL) {
		memcpy(s, buf_data(&b), b.len);
		s[b.len] = '\0';
		*len_out = b.len;
	}
	buf_fini(&b);
	return s;
}

static bool
others_have_mark(const void *arg, uint64_t mark)
{
	const struct proc	*p = arg, *q;

	TAILQ_FOREACH(q, &p->procs->all, entry)
		if (q != p && q->descendants.mark == mark)
			return true;
	return false;
}

static bool
others_have_pid(const void *arg, pid_t pid)
{
	const struct proc	*p = arg, *q = procs_find_pid(p->procs, pid);

	return q != NULL && q != p;
}

static const struct descendants_others	 others = {
	others_have_mark, others_have_pid
};

/* Allocate all that is needed before there is a child. */
static struct proc *
proc_alloc(struct procs *ps, const char *id, size_t id_len)
{
	struct proc	*p;

	assert(procs_find(ps, id, id_len) == NULL);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->procs = ps;
	descendants_init(&p->descendants, &others, p);
	p->streams[0].fd = p->streams[1].fd = -1;
	sinks_init(&p->sinks);
	retain_init(&p->retain, ps->window);
	timer_init(&p->timer_ev, ps->env->base, proc_on_timer, p);
	procin_init(&p->procin, ps->env->base, -1, false, &ps->parked,
	    ps->events->on_written, ps->arg);
	if ((p->id = malloc(id_len + 1)) == NULL ||
	    (p->json_id = json_string(id, id_len, &p->json_id_len)) == NULL)
		goto fail;
	memcpy(p->id, id, id_len);
	p->id_len = id_len;
	if (map_add(&ps->by_id, &p->node, p->id, id_len, p) == -1)
		goto fail;
	TAILQ_INSERT_TAIL(&ps->all, p, entry);
	ps->known++;
	return p;
 fail:
	free(p->id);
	free(p->json_id);
	free(p);
	return NULL;
}

/* Unique in the session, and in the range by which the master finds it. */
static uint64_t
proc_new_mark(struct procs *ps)
{
	if (ps->env->marks == 0)
		return ptree_new_mark();
	return ps->env->marks + ps->marked++ % PTREE_MARKS;
}

/* Take over a child.  0, or -1: no memory, and it is killed. */
static int
proc_take_child(struct proc *p, const struct spawned *child, uint64_t mark)
{
	struct procs	*ps = p->procs;
	int		 r;

	p->pid = child->pid;
	descendants_start(&p->descendants, child->pid, mark);
	procin_init(&p->procin, ps->env->base, child->input, p->tty,
	    &ps->parked, ps->events->on_written, ps->arg);
	r = proc_stream_init(&p->streams[0], p, child->output[0],
	    p->tty ? STREAM_PTY : STREAM_STDOUT);
	if (proc_stream_init(&p->streams[1], p, child->output[1],
	    STREAM_STDERR) == -1 || r == -1 ||
	    map_add(&ps->by_pid, &p->pid_node, &p->pid, sizeof(p->pid), p) ==
	    -1) {
		kill(p->pid, SIGKILL);
		errno = ENOMEM;
		return -1;
	}
	p->state = PROC_RUNNING;
	ps->running++;
	ps->started++;
	return 0;
}

struct proc *
proc_new(struct procs *ps, const char *id, size_t id_len, struct spawn *sp,
    const char **what_out)
{
	struct spawned	 child;
	struct proc	*p;
	int		 r;

	*what_out = "memory";
	if ((p = proc_alloc(ps, id, id_len)) == NULL)
		return NULL;
	p->tty = sp->tty;
	p->has_input = sp->tty || sp->pipe_stdin;
	sp->mark = proc_new_mark(ps);
	p->started_at = clock_ms();
	p->state = PROC_CLOSED;		/* until it has a child */
	log_word(p->name, sizeof(p->name), id, id_len);
	if (sp->argv[0] != NULL)
		log_word(p->command, sizeof(p->command), sp->argv[0],
		    strlen(sp->argv[0]));
	p->cgroup = pcgroups_take(ps->env->cgroups, &sp->cgroup);
	r = spawn(sp, &child, what_out);
	fd_close(&sp->cgroup);
	if (r == 0) {
		*what_out = "memory";
		r = proc_take_child(p, &child, sp->mark);
	}
	if (r == -1) {
		proc_free(&p);
		return NULL;
	}
	return p;
}

static void
proc_free(struct proc **pp)
{
	struct proc	*p = *pp;
	struct procs	*ps;

	*pp = NULL;
	if (p == NULL)
		return;
	ps = p->procs;
	if (p->holder != NULL)
		holder_use(p->holder, false);
	sinks_fini(&p->sinks);
	procin_fini(&p->procin);
	proc_stream_end(&p->streams[0]);
	proc_stream_end(&p->streams[1]);
	retain_fini(&p->retain);
	timer_stop(&p->timer_ev);
	map_del(&ps->by_id, &p->node);
	if (p->state == PROC_RUNNING)
		map_del(&ps->by_pid, &p->pid_node);
	TAILQ_REMOVE(&ps->all, p, entry);
	ps->known--;
	pcgroups_give_back(ps->env->cgroups, &p->cgroup);
	descendants_fini(&p->descendants);
	free(p->id);
	free(p->json_id);
	free(p);
}

/* --- exit --- */

/* Leave the sandbox; processes left behind may still use it. */
static void
leave_holder(struct proc *p)
{
	struct holder	*h = p->holder;

	p->holder = NULL;
	if (h != NULL)
		holder_use(h, false);
}

/* Forget old closed processes to make room. */
static void
bound_closed(struct procs *ps, struct proc *newest)
{
	struct proc	*p, *next;

	for (p = TAILQ_FIRST(&ps->all); p != NULL; p = next) {
		if (ps->closed_bytes <= LIMIT_RETAINED_CLOSED &&
		    ps->known - ps->running <= LIMIT_CLOSED_PROCESSES)
			break;
		next = TAILQ_NEXT(p, entry);
		/* Unread output stays. */
		if (p->state == PROC_CLOSED && p != newest &&
		    p->retain.unread_cost == 0 &&
		    p->retain.relayed_count == 0 && !proc_is_being_killed(p))
			proc_free(&p);
	}
}

static void
proc_close(struct proc *p)
{
	struct procs	*ps = p->procs;

	assert(p->state == PROC_EXITED && p->pid > 0);
	proc_stream_end(&p->streams[0]);
	proc_stream_end(&p->streams[1]);
	procin_discard(&p->procin);
	p->state = PROC_CLOSED;
	p->unreported = !ps->has_client && !p->is_internal;
	leave_holder(p);
	retain_count(&p->retain, &ps->closed_bytes);
	p->retain.next_seq++;		/* the close event has a number */
	sinks_close(&p->sinks);
	if (!p->terminated) {
		pcgroups_give_back(ps->env->cgroups, &p->cgroup);
		timer_set(&p->timer_ev, p->is_internal ? 0 :
		    ps->env->set.closed_ttl_ms);
	}
	bound_closed(ps, p);
}

void
proc_maybe_close(struct proc *p)
{
	if (p->state != PROC_EXITED)
		return;
	if (p->terminated ||
	    (p->streams[0].fd == -1 && p->streams[1].fd == -1))
		proc_close(p);
}

void
proc_on_exit(struct proc *p, int status)
{
	struct procs	*ps = p->procs;

	assert(p->state == PROC_RUNNING);
	p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) :
	    WIFSIGNALED(status) ? 128 + WTERMSIG(status) : -1;
	if (p->terminated || (p->sandboxed && p->exit_code != 0))
		proc_drain(p);
	p->denied = p->sandboxed && denial(&p->retain, p->exit_code);
	map_del(&ps->by_pid, &p->pid_node);
	p->state = PROC_EXITED;
	ps->running--;
	if (!p->has_input)
		procin_discard(&p->procin);
	retain_exit(&p->retain);
	sinks_exit(&p->sinks);
	proc_maybe_close(p);
}

/*
 * How long to keep a closed process yet, in ms: what a client has not read, as
 * long as one may resume, and after the resume; and as long as it reads, which
 * it does once more for the end when it has all output.
 */
static uint64_t
kept_for(const struct proc *p)
{
	const struct procs	*ps = p->procs;
	bool			 is_unread = p->retain.unread_cost > 0 ||
				    p->retain.relayed_count > 0 ||
				    p->unreported;
	uint64_t		 ttl = ps->env->set.closed_ttl_ms;
	uint64_t		 until = p->asked_at, now = clock_ms();

	if (p->is_internal)
		return 0;
	if (is_unread && !ps->has_client)
		return ttl;
	if (is_unread && until < ps->client_since)
		until = ps->client_since;
	if (until != 0)
		until += ttl;
	return until > now ? until - now : 0;
}

/* End of the grace period, next kill pass, or end of retention. */
static void
proc_on_timer(void *arg)
{
	struct proc	*p = arg;
	struct procs	*ps = p->procs;
	uint64_t	 ms;

	if (proc_is_being_killed(p)) {
		proc_kill_again(p);
		return;
	}
	if (p->state != PROC_CLOSED)
		return;
	if ((ms = kept_for(p)) > 0) {
		timer_set(&p->timer_ev, ms);
		return;
	}
	proc_free(&p);
	ps->events->on_forgotten(ps->arg);
}

/* --- procs --- */

void
procs_init(struct procs *ps, const struct env *env, struct window *window,
    const struct proc_events *events, void *arg)
{
	memset(ps, 0, sizeof(*ps));
	ps->env = env;
	ps->window = window;
	ps->events = events;
	ps->arg = arg;
	map_init(&ps->by_id);
	map_init(&ps->by_pid);
	TAILQ_INIT(&ps->all);
	procs_out_init(ps);
}

void
procs_fini(struct procs *ps)
{
	struct proc	*p;

	assert(ps->known >= ps->running);
	while ((p = TAILQ_FIRST(&ps->all)) != NULL)
		proc_free(&p);
	procs_out_fini(ps);
	map_fini(&ps->by_id);
	map_fini(&ps->by_pid);
}
