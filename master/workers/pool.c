#include "master/workers/pool.h"

#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/limit.h"
#include "common/log.h"
#include "common/process/envlist.h"
#include "master/logs/logto.h"
#include "master/workers/cgroups.h"
#include "master/world.h"

#define RESPAWN_MS	50	/* after the first early death of a template */
#define DEATHS_MAX	5	/* in DEATHS_MS before a pause */
#define DEATHS_MS	10000
#define PAUSE_MS	1000
#define DECAY_MS	1000	/* between halvings of want after a burst */
#define QUIET_MS	20	/* before a refill */
#define FIRST_MS	30000	/* for a template's first answer, ... */
#define FOLLOW_MS	10000	/* ... while there is another one */
#define EARLY_MAX	64	/* exits before the template's answer */

/* A template: in use, starting, or finishing its requests. */
struct template {
	struct pool	*pool;
	pid_t		 pid;		/* 0: none */
	struct chan	*chan;		/* NULL: exits, or has exited */
	struct timer	 late_ev;	/* for the next answer */
	uint64_t	 asked;		/* ms, of the last pool_watch() */
	uint64_t	 started;	/* ms */
	bool		 has_answered;
	unsigned	 forks;		/* requested in all */
	unsigned	 awaited;	/* forks not answered yet */
};

struct pool {
	struct world	*world;
	struct children	*children;
	struct template	 slots[2], *now, *other;
	struct timer	 refill_ev, decay_ev;
	size_t		 want;		/* spare workers to keep now */
	bool		 is_broken;	/* the last template never answered */
	uint64_t	 backoff;	/* ms, after its death */
	uint64_t	 respawn;	/* ms, of the earliest next start */
	uint64_t	 deaths[DEATHS_MAX];
	unsigned	 ndeaths;
	uint64_t	 paused;	/* ms, of the pause's end */
	bool		 stopping;
	struct {
		pid_t	 pid;
		int	 status;
	}		 early[EARLY_MAX];
	unsigned	 nearly;
	char		 sandbox[512];	/* pool_sandbox(), or "" */
};

static void	 pool_on_msg(void *, struct ipc_msg *);
static void	 pool_on_end(void *, int);
static void	 on_refill(void *);
static void	 on_decay(void *);
static void	 pool_watch(struct template *);

/* --- the template --- */

/* Exec the template.  said: a pipe for the errno if that fails, or -1. */
static void
exec_template(struct pool *p, int sock, int said)
{
	struct world	*w = p->world;
	/* The worker writes its title over its arguments. */
	static const char	 title_room[] = "                              "
				    "                                  ";
	char		 nofile[64], **env;
	sigset_t	 none;
	int		 error;

	snprintf(nofile, sizeof(nofile), "%llu:%llu",
	    (unsigned long long)w->start.nofile.rlim_cur,
	    (unsigned long long)w->start.nofile.rlim_max);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/*
	 * Bind all symbols at once: with lazy binding each worker would
	 * resolve them again.  worker/main.c removes the variable.
	 */
	setenv("LD_BIND_NOW", "1", 1);
	if ((env = envlist_worker()) != NULL &&
	    dup2(sock, STDIN_FILENO) != -1 &&
	    dup2(logto_stderr(&w->logs), STDERR_FILENO) != -1)
		execle(w->start.worker, "execsrv-worker", nofile,
		    w->logs.how, cgroups_path(p->children->cgroups),
		    title_room, (char *)NULL, env);
	error = errno;
	log_warn("%s", w->start.worker);
	if (said != -1)
		(void)!write(said, &error, sizeof(error));
	_exit(126);
}

static int
start_template(struct template *t, int said)
{
	Ipc__Probe	 probe = IPC__PROBE__INIT;
	int		 pair[2];

	assert(t->chan == NULL && !t->pool->stopping);
	if (fd_packet_pair(pair) == -1) {
		log_warn("template: channel");
		return -1;
	}
	t->started = clock_ms();
	t->has_answered = false;
	t->forks = t->awaited = 0;
	/* All our descriptors are close-on-exec. */
	if ((t->pid = fork()) == 0)
		exec_template(t->pool, pair[1], said);
	fd_close(&pair[1]);
	if (t->pid == -1) {
		t->pid = 0;
		log_warn("template: fork");
		fd_close(&pair[0]);
		return -1;
	}
	if ((t->chan = chan_new(t->pool->world->base, pair[0],
	    IPC_ROLE_MASTER, IPC_ROLE_TEMPLATE, pool_on_msg, pool_on_end, t)) ==
	    NULL) {
		log_warn("template: channel");
		fd_close(&pair[0]);
		return -1;
	}
	chan_send(t->chan, IPC_probe, &probe, -1);
	pool_watch(t);
	return 0;
}

/*
 * Start the first template, and wait for its exec: a server without workers
 * must not start.  Later ones are not waited for: sessions go on without.
 */
static int
start_first(struct pool *p)
{
	int	 said[2], r, error;
	ssize_t	 n = 0;

	if (pipe2(said, O_CLOEXEC) == -1) {
		log_warn("template: pipe");
		return -1;
	}
	r = start_template(p->now, said[1]);
	fd_close(&said[1]);
	/* EOF means that exec succeeded: the pipe is close-on-exec. */
	if (r == 0)
		do
			n = read(said[0], &error, sizeof(error));
		while (n == -1 && errno == EINTR);
	fd_close(&said[0]);
	return n == 0 ? r : -1;
}

static void
refill_in(struct pool *p, uint64_t ms)
{

	if (!p->stopping)
		timer_ensure(&p->refill_ev, ms);
}

static void
on_forked(struct pool *p, const Ipc__Forked *in)
{
	struct child	*c;
	unsigned	 i;
	int		 status;

	if ((c = child_by_id(p->children, in->id)) == NULL ||
	    c->process != CHILD_UNKNOWN)
		return;
	/* Never accept a pid that kill(2) takes for a group, or init. */
	child_on_forked(c, in->pid > 1 ? in->pid : 0, in->error);
	/* It may have exited before its pid was known. */
	for (i = 0; i < p->nearly; i++)
		if (p->early[i].pid == in->pid) {
			status = p->early[i].status;
			p->early[i] = p->early[--p->nearly];
			child_on_exit(c, status);
			break;
		}
}

/*
 * Whether to replace the template.  Its workers share one address space layout
 * (ASLR): an attacker who learns the layout of one knows the others'.  The old
 * template is used until the new one has answered, and then until its own
 * requests are answered.
 */
static bool
is_due(const struct pool *p)
{
	unsigned	 max = p->world->conf.template_max_forks;

	assert(p->now != p->other);
	return max != 0 && p->now->chan != NULL && p->now->has_answered &&
	    p->now->forks >= max &&
	    p->other->pid == 0 && p->other->chan == NULL &&
	    clock_ms() >= p->now->started + LIMIT_RESPAWN;
}

static void
use_other(struct pool *p)
{
	struct template	*old = p->now;

	assert(p->other->chan != NULL && p->now != p->other);
	p->now = p->other;
	p->other = old;
	log_debug("template %ld: %u workers, %ld follows", (long)old->pid,
	    old->forks, (long)p->now->pid);
}

static void
pool_on_msg(void *arg, struct ipc_msg *m)
{
	struct template	*t = arg;
	struct pool	*p = t->pool;

	assert(t->chan != NULL && (t == p->now || t == p->other));
	if (t == p->other && !t->has_answered)
		use_other(p);
	t->has_answered = true;
	p->is_broken = false;
	if (m->kind == IPC_forked) {
		t->awaited -= t->awaited > 0;
		on_forked(p, (const Ipc__Forked *)m->body);
	} else {
		snprintf(p->sandbox, sizeof(p->sandbox), "%s",
		    ((const Ipc__Ability *)m->body)->sandbox);
	}
	pool_watch(t);
	/* The old template exits when its channel is closed. */
	if (p->other->has_answered && p->other->awaited == 0)
		chan_free(&p->other->chan);
}

/* Start another template: at once after a long life, else with backoff. */
static void
respawn(struct template *t)
{
	struct pool	*p = t->pool;
	uint64_t	 now = clock_ms();

	assert(t == p->now && t->chan == NULL);
	if (now - t->started >= LIMIT_RESPAWN)
		p->backoff = 0;
	else if (p->backoff == 0)
		p->backoff = RESPAWN_MS;
	else
		p->backoff = p->backoff * 2 < LIMIT_RESPAWN ?
		    p->backoff * 2 : LIMIT_RESPAWN;
	p->respawn = now + p->backoff;
	/* Override a refill that was to come later. */
	timer_set(&p->refill_ev, p->backoff);
}

static void
pool_on_end(void *arg, int error)
{
	struct template	*t = arg;
	struct pool	*p = t->pool;

	assert(t->chan != NULL && (t == p->now || t == p->other));
	chan_free(&t->chan);
	timer_stop(&t->late_ev);
	if (t->pid != 0)
		kill(t->pid, SIGKILL);
	if (p->stopping)
		return;
	if (t == p->other && !t->has_answered) {
		log_warnx("the new template died: the old one stays");
		p->now->forks = 0;
		return;
	}
	log_warnx("the template died");
	/* One that the other template was asked for may still come. */
	child_on_template_gone(p->children, t == p->now &&
	    (p->other->chan == NULL || p->other->awaited == 0));
	if (t != p->now) {
		refill_in(p, 0);
		return;
	}
	p->is_broken = !t->has_answered || error == ETIMEDOUT;
	respawn(t);
}

/* Kill a template that hangs (stopped, or waiting for a disk). */
static void
pool_on_late(void *arg)
{
	struct template	*t = arg;

	if (t->chan == NULL)
		return;
	log_warnx("template %ld did not answer in time: killed", (long)t->pid);
	pool_on_end(t, ETIMEDOUT);
}

/* Restart the timeout for the next answer, if any is due. */
static void
pool_watch(struct template *t)
{
	t->asked = clock_ms();
	if (t->chan != NULL && (t->awaited > 0 || !t->has_answered))
		timer_set(&t->late_ev, t->has_answered ? LIMIT_FORK_ANSWER :
		    t == t->pool->now ? FIRST_MS : FOLLOW_MS);
	else
		timer_stop(&t->late_ev);
}

/* Whether there may be more connections than that of stdio. */
static bool
pool_is_for_many(const struct pool *p)
{
	return p->world->events->has_listeners(p->world->master);
}

struct pool *
pool_new(struct world *w, struct children *cs)
{
	struct pool	*p;

	assert(w->events != NULL && w->base != NULL);
	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->world = w;
	p->children = cs;
	p->slots[0].pool = p->slots[1].pool = p;
	p->now = &p->slots[0];
	p->other = &p->slots[1];
	/* Only stdio: pool_take() starts the one worker needed. */
	if (pool_is_for_many(p))
		p->want = w->conf.min_spare;
	timer_init(&p->refill_ev, w->base, on_refill, p);
	timer_init(&p->decay_ev, w->base, on_decay, p);
	timer_init(&p->now->late_ev, w->base, pool_on_late, p->now);
	timer_init(&p->other->late_ev, w->base, pool_on_late, p->other);
	if (start_first(p) == -1)
		pool_free(&p);
	else
		refill_in(p, 0);
	return p;
}

void
pool_free(struct pool **pp)
{
	struct pool	*p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	chan_free(&p->now->chan);
	chan_free(&p->other->chan);
	timer_stop(&p->refill_ev);
	timer_stop(&p->decay_ev);
	timer_stop(&p->now->late_ev);
	timer_stop(&p->other->late_ev);
	free(p);
}

/* --- the workers --- */

/* Ask the template to fork a worker in a control group, with a channel. */
static void
ask_fork(struct pool *p, unsigned id, unsigned group, int fd)
{
	Ipc__Fork	 out = IPC__FORK__INIT;

	assert(id != 0 && fd != -1);
	out.id = id;
	out.group = group;
	if (p->now->chan == NULL)
		return;
	p->now->forks++;
	if (p->now->awaited++ == 0 && p->now->has_answered)
		pool_watch(p->now);
	chan_send(p->now->chan, IPC_fork, &out, fd);
}

static bool
pool_may_start(const struct pool *p)
{
	return !p->stopping && p->now->chan != NULL && clock_ms() >= p->paused;
}

/*
 * Refill when half of the spare workers are used, else after QUIET_MS: a fork
 * at once would compete for the CPU with the handshake that just began.
 */
static void
refill_soon(struct pool *p)
{

	if (child_count_spare(p->children) <= p->want / 2)
		timer_set(&p->refill_ev, 0);
	else
		refill_in(p, QUIET_MS);
}

static struct child *
add_worker(struct pool *p)
{
	struct child	*c;
	int		 sock;

	assert(!p->stopping && p->now->chan != NULL);
	if ((c = child_new(p->children, &sock)) == NULL)
		return NULL;
	ask_fork(p, c->id, c->cgroups.v2, sock);
	fd_close(&sock);
	return c;
}

/* Ask for those that a template died with. */
static void
ask_again(struct pool *p)
{
	struct child	*c;

	TAILQ_FOREACH(c, &p->children->forking, process_entry)
		if (c->sock != -1) {
			ask_fork(p, c->id, c->cgroups.v2, c->sock);
			fd_close(&c->sock);
		}
}

struct child *
pool_take(struct pool *p)
{
	struct child	*c;

	if ((c = child_find_spare(p->children)) == NULL) {
		if (!pool_may_start(p) || (c = add_worker(p)) == NULL) {
			refill_in(p, PAUSE_MS);
			return NULL;
		}
		/* A burst: keep more for a while. */
		p->want = p->want * 2 < p->world->conf.max_spare ?
		    p->want * 2 : p->world->conf.max_spare;
		if (p->want == 0)
			p->want = p->world->conf.max_spare > 0;
		timer_set(&p->decay_ev, DECAY_MS);
	}
	refill_soon(p);
	assert(c->client == CHILD_SPARE && c->end == CHILD_STAYS);
	assert(c->chan != NULL);
	return c;
}

static void
on_refill(void *arg)
{
	struct pool	*p = arg;
	struct template	*t = p->now;
	uint64_t	 now = clock_ms();
	size_t		 n;

	if (p->stopping)
		return;
	/* Keep the backoff, however many connections wait. */
	if (t->chan == NULL && now < p->respawn) {
		refill_in(p, p->respawn - now);
		return;
	}
	if (t->chan == NULL && start_template(t, -1) == -1) {
		refill_in(p, LIMIT_RESPAWN);
		return;
	}
	if (is_due(p) && start_template(p->other, -1) == -1)
		t->forks = 0;
	if (now < p->paused) {
		refill_in(p, p->paused - now);
		return;
	}
	ask_again(p);
	for (n = child_count_spare(p->children); n < p->want; n++)
		if (add_worker(p) == NULL) {
			log_warn("cannot start a worker");
			refill_in(p, PAUSE_MS);
			break;
		}
	p->world->events->on_spare(p->world->master);
}

/* After a burst: halve the number of spare workers, down to the minimum. */
static void
on_decay(void *arg)
{
	struct pool	*p = arg;
	struct child	*c;
	size_t		 n, least = !pool_is_for_many(p) ? 0 :
			    p->world->conf.min_spare;

	p->want = p->want / 2 > least ? p->want / 2 : least;
	for (n = child_count_spare(p->children); n > p->want &&
	    (c = child_find_idle(p->children)) != NULL; n--)
		child_kill(c);
	/* One that is only being started is ended later. */
	if (p->want > least || n > p->want)
		timer_set(&p->decay_ev, DECAY_MS);
}

void
pool_on_death(struct pool *p)
{
	uint64_t	 now = clock_ms();

	p->deaths[p->ndeaths++ % DEATHS_MAX] = now;
	if (p->ndeaths < DEATHS_MAX ||
	    now - p->deaths[p->ndeaths % DEATHS_MAX] > DEATHS_MS)
		return;
	if (now >= p->paused)
		log_warnx("workers die soon after they start: pausing");
	p->paused = now + PAUSE_MS;
	refill_in(p, PAUSE_MS);
}

void
pool_on_child_gone(struct pool *p, const struct child *c)
{
	assert(c->all == p->children);
	/* It was a spare one: replace it. */
	if (c->client == CHILD_SPARE)
		refill_in(p, 0);
}

bool
pool_on_exit(struct pool *p, pid_t pid, int status)
{
	assert(pid > 0 && p->nearly <= EARLY_MAX);
	if (pool_has(p, pid)) {
		*(pid == p->now->pid ? &p->now->pid : &p->other->pid) = 0;
		if (!p->stopping && WIFEXITED(status) &&
		    WEXITSTATUS(status) == 126)
			log_warnx("cannot execute %s", p->world->start.worker);
		return true;
	}
	if (!child_is_forking(p->children))
		p->nearly = 0;		/* those were not workers */
	else if (p->nearly < EARLY_MAX) {
		p->early[p->nearly].pid = pid;
		p->early[p->nearly++].status = status;
	}
	return false;
}

void
pool_reload(struct pool *p)
{

	p->want = !pool_is_for_many(p) ? 0 :
	    p->world->conf.min_spare;
	refill_in(p, 0);
	timer_set(&p->decay_ev, 0);
}

void
pool_stop(struct pool *p)
{
	p->stopping = true;
	chan_free(&p->now->chan);
	chan_free(&p->other->chan);
	timer_stop(&p->refill_ev);
	timer_stop(&p->decay_ev);
}

bool
pool_has(const struct pool *p, pid_t pid)
{
	return pid == p->now->pid || pid == p->other->pid;
}

bool
pool_is_gone(const struct pool *p)
{
	return p->now->pid == 0 && p->other->pid == 0;
}

void
pool_kill(struct pool *p)
{
	if (p->now->pid != 0)
		kill(p->now->pid, SIGKILL);
	if (p->other->pid != 0)
		kill(p->other->pid, SIGKILL);
}

bool
pool_is_broken(const struct pool *p)
{
	const struct template	*t = p->now;

	return p->is_broken || (t->has_answered && t->awaited > 0 &&
	    clock_ms() - t->asked >= LIMIT_FORK_ANSWER / 4);
}

const char *
pool_sandbox(const struct pool *p)
{
	return p->sandbox[0] != '\0' ? p->sandbox : "not known yet";
}
