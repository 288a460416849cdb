#include "master/workers/child.h"

#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "master/workers/membudget.h"
#include "master/world.h"

#define LEAVING_MS	3000	/* between LEAVING and SIGKILL */

/* A state: its name and its legal successors, as bits. */
struct row {
	const char	*name;
	unsigned	 next;
};

#define TO(state)	(1u << CHILD_##state)

static const struct row	 state_rows[CHILD_STATES] = {
	[CHILD_STARTING] = { "starting", TO(IDLE) | TO(GREETING) |
	    TO(LEAVING) },
	[CHILD_IDLE] = { "idle", TO(GREETING) | TO(LEAVING) },
	[CHILD_GREETING] = { "greeting", TO(HANDING) | TO(SERVING) |
	    TO(LEAVING) },
	[CHILD_HANDING] = { "handing", TO(GREETING) | TO(SERVING) |
	    TO(LEAVING) },
	[CHILD_SERVING] = { "serving", TO(LEAVING) },
	[CHILD_AWAITED] = { "awaited", TO(SERVING) | TO(LEAVING) },
	[CHILD_LEAVING] = { "leaving", 0 }
};

static const struct row	 process_rows[CHILD_PROCESSES] = {
	[CHILD_UNKNOWN] = { "process unknown", TO(RUNS) },
	[CHILD_RUNS] = { "process runs", TO(ENDING) | TO(DRAINING) |
	    TO(REAPED) },
	[CHILD_ENDING] = { "process ending", TO(REAPED) },
	[CHILD_DRAINING] = { "process draining", 0 },
	[CHILD_REAPED] = { "process reaped", 0 }
};

static const struct row	 end_rows[CHILD_ENDS] = {
	[CHILD_STAYS] = { "stays", TO(STOPS) | TO(LEAVES) | TO(KILLED) },
	[CHILD_STOPS] = { "stops", TO(LEAVES) | TO(KILLED) },
	[CHILD_LEAVES] = { "leaves", TO(KILLED) },
	[CHILD_KILLED] = { "killed", 0 }
};

static const struct row	 client_rows[CHILD_CLIENTS] = {
	[CHILD_SPARE] = { "spare", TO(ASSIGNED) },
	[CHILD_ASSIGNED] = { "client assigned", TO(TURNED_AWAY) },
	[CHILD_TURNED_AWAY] = { "client turned away", 0 }
};

static const struct row	 token_rows[CHILD_TOKENS] = {
	[CHILD_TOKEN_NONE] = { "no token", TO(TOKEN_AWAITED) },
	[CHILD_TOKEN_AWAITED] = { "token awaited", TO(TOKEN_REFUSED) |
	    TO(TOKEN_GOOD) },
	[CHILD_TOKEN_REFUSED] = { "token refused", 0 },
	[CHILD_TOKEN_GOOD] = { "token good", 0 }
};

static const struct row	 transcripts_rows[CHILD_TRANSCRIPTS] = {
	[CHILD_TRANSCRIPTS_NONE] = { "no transcripts", TO(TRANSCRIPTS_WANTED) },
	[CHILD_TRANSCRIPTS_WANTED] = { "transcripts wanted",
	    TO(TRANSCRIPTS_REFUSED) },
	[CHILD_TRANSCRIPTS_REFUSED] = { "transcripts refused", 0 }
};

#undef TO

/* --- all of them --- */

void
children_init(struct children *cs, struct world *w,
    const struct child_events *events)
{
	memset(cs, 0, sizeof(*cs));
	cs->world = w;
	cs->events = events;
	TAILQ_INIT(&cs->list);
	TAILQ_INIT(&cs->forking);
	TAILQ_INIT(&cs->ending);
	TAILQ_INIT(&cs->starting);
	TAILQ_INIT(&cs->idle);
	map_init(&cs->by_pid);
	map_init(&cs->by_id);
}

void
children_fini(struct children *cs)
{
	assert(TAILQ_EMPTY(&cs->list));
	map_fini(&cs->by_pid);
	map_fini(&cs->by_id);
}

void
children_number(struct children *cs, unsigned id)
{
	if (id > cs->next_id)
		cs->next_id = id;
}

/* Return the list of spare workers that one in a state is in, or NULL. */
static struct child_list *
spare_list(struct children *cs, enum child_state state)
{
	return state == CHILD_STARTING ? &cs->starting :
	    state == CHILD_IDLE ? &cs->idle : NULL;
}

/* Enter it under its state, and take it out again. */
static void
child_enter_state(struct child *c)
{
	struct child_list	*spare = spare_list(c->all, c->state);

	c->all->in_state[c->state]++;
	if (spare != NULL)
		TAILQ_INSERT_TAIL(spare, c, spare_entry);
}

static void
child_leave_state(struct child *c)
{
	struct child_list	*spare = spare_list(c->all, c->state);

	assert(c->all->in_state[c->state] > 0);
	c->all->in_state[c->state]--;
	if (spare != NULL)
		TAILQ_REMOVE(spare, c, spare_entry);
}

/* Return the list that one whose process is in a state is in, or NULL. */
static struct child_list *
process_list(const struct child *c, enum child_process process)
{
	struct children		*all = c->all;

	if (process == CHILD_UNKNOWN)
		return &all->forking;
	/* Only our own children can be reaped. */
	return process == CHILD_ENDING && c->pidfd == -1 ? &all->ending : NULL;
}

bool
child_has_process(const struct child *c)
{
	return c->process == CHILD_RUNS || c->process == CHILD_ENDING;
}

static void
child_move_process(struct child *c, enum child_process to)
{
	struct children		*all = c->all;
	struct child_list	*from = process_list(c, c->process),
				*list = process_list(c, to);
	bool			 had = child_has_process(c);

	c->process = to;
	if (from != NULL)
		TAILQ_REMOVE(from, c, process_entry);
	if (list != NULL)
		TAILQ_INSERT_TAIL(list, c, process_entry);
	if (had && !child_has_process(c))
		map_del(&all->by_pid, &c->by_pid);
	if (!had && child_has_process(c) && map_add(&all->by_pid, &c->by_pid,
	    &c->pid, sizeof(c->pid), c) == -1)
		fatal("cannot register a worker");
}

/* Add one that is starting.  0, or -1 with errno ENOMEM. */
static int
child_add(struct child *c)
{
	struct children		*all = c->all;

	assert(c->id != 0);
	if (map_add(&all->by_id, &c->by_id, &c->id, sizeof(c->id), c) == -1)
		return -1;
	TAILQ_INSERT_TAIL(&all->list, c, entry);
	child_enter_state(c);
	TAILQ_INSERT_TAIL(&all->forking, c, process_entry);
	return 0;
}

static void
child_del(struct child *c)
{
	struct children		*all = c->all;

	child_want(c, NULL, NULL);
	child_set_running(c, 0);
	child_move_process(c, CHILD_REAPED);
	child_leave_state(c);
	TAILQ_REMOVE(&all->list, c, entry);
	map_del(&all->by_id, &c->by_id);
}

void
child_want(struct child *c, struct route *r, struct child_list *waiting)
{
	assert((r != NULL) == (waiting != NULL));
	if (c->waits_in != NULL)
		TAILQ_REMOVE(c->waits_in, c, wanted_entry);
	c->wanted = r;
	c->waits_in = waiting;
	if (waiting != NULL)
		TAILQ_INSERT_TAIL(waiting, c, wanted_entry);
}

void
child_set_running(struct child *c, unsigned running)
{
	assert(c->all->running >= c->running);
	c->all->running -= c->running;
	c->running = running;
	c->all->running += running;
}

struct child *
child_by_id(struct children *cs, unsigned id)
{
	return map_find(&cs->by_id, &id, sizeof(id));
}

struct child *
child_by_pid(struct children *cs, pid_t pid)
{
	return map_find(&cs->by_pid, &pid, sizeof(pid));
}

size_t
child_count_spare(const struct children *cs)
{
	return cs->in_state[CHILD_STARTING] + cs->in_state[CHILD_IDLE];
}

struct child *
child_find_idle(const struct children *cs)
{
	return TAILQ_FIRST(&cs->idle);
}

struct child *
child_find_spare(const struct children *cs)
{
	struct child	*idle = child_find_idle(cs);

	return idle != NULL ? idle : TAILQ_FIRST(&cs->starting);
}

bool
child_is_forking(const struct children *cs)
{
	return !TAILQ_EMPTY(&cs->forking);
}

pid_t
child_next_exit(const struct children *cs)
{
	const struct child	*c = TAILQ_FIRST(&cs->ending);

	return c != NULL ? c->pid : 0;
}

/* --- states --- */

/* Whether from and to differ; an illegal move is fatal. */
static bool
check_move(const struct child *c, const struct row *rows, unsigned from,
    unsigned to)
{
	assert(c != NULL && c->all != NULL);
	if (from == to)
		return false;
	if ((rows[from].next & (1u << to)) == 0)
		fatalx("worker %d: %s -> %s", c->pid, rows[from].name,
		    rows[to].name);
	log_debug("worker %d: %s -> %s", c->pid, rows[from].name,
	    rows[to].name);
	return true;
}

void
child_set_state(struct child *c, enum child_state to)
{
	if (!check_move(c, state_rows, c->state, to))
		return;
	child_leave_state(c);
	c->state = to;
	child_enter_state(c);
	if (to == CHILD_LEAVING)
		child_set_running(c, 0);
	c->all->events->on_state(c);
	if (to == CHILD_LEAVING)
		timer_set(&c->kill_ev, LEAVING_MS);
	else
		timer_stop(&c->kill_ev);
}

static void
child_set_process(struct child *c, enum child_process to)
{
	if (check_move(c, process_rows, c->process, to))
		child_move_process(c, to);
}

static void
child_set_end(struct child *c, enum child_end to)
{
	if (check_move(c, end_rows, c->end, to))
		c->end = to;
}

void
child_set_client(struct child *c, enum child_client to)
{
	if (check_move(c, client_rows, c->client, to))
		c->client = to;
}

void
child_set_token(struct child *c, enum child_token to)
{
	if (check_move(c, token_rows, c->token, to))
		c->token = to;
}

void
child_set_transcripts(struct child *c, enum child_transcripts to)
{
	if (check_move(c, transcripts_rows, c->transcripts, to))
		c->transcripts = to;
}

void
child_leaves(struct child *c)
{
	assert(c->client != CHILD_SPARE);
	/* Messages sent before it was killed are still handled. */
	if (c->end != CHILD_KILLED)
		child_set_end(c, CHILD_LEAVES);
	child_set_state(c, CHILD_LEAVING);
}

/* --- from fork to exit --- */

static void	 child_finish(struct child *c);

/* A pid of another's child may be reused before we know that it is gone. */
void
child_signal(const struct child *c)
{
	assert(child_has_process(c));
	ptree_signal(c->pid, c->pidfd, SIGKILL);
}

static void
child_free(struct child *c)
{
	struct children	*cs = c->all;

	assert(c->place == NULL && c->route == NULL && c->wanted == NULL);
	child_del(c);
	chan_free(&c->chan);
	fd_close(&c->sock);
	timer_stop(&c->kill_ev);
	io_stop(&c->pidfd_ev);
	fd_close(&c->pidfd);
	cgroups_give_back(cs->cgroups, &c->cgroups);
	membudget_leave(cs->budget, &c->share);
	free(c);
	cs->world->events->on_child_gone(cs->world->master);
}

/* Close the channel, release what refers to it; free it unless it runs. */
static void
child_finish(struct child *c)
{
	chan_free(&c->chan);
	child_set_state(c, CHILD_LEAVING);
	child_want(c, NULL, NULL);
	c->all->events->on_settled(c);
	assert(c->route == NULL && c->place == NULL);
	if (c->process == CHILD_RUNS)
		child_set_process(c, CHILD_ENDING);
	if (c->process != CHILD_ENDING)
		child_free(c);
}

void
child_violates(struct child *c, const char *what)
{
	assert(what != NULL && c->chan != NULL);
	log_warnx("worker %d: %s in state %s: killed", c->pid, what,
	    state_rows[c->state].name);
	STAT_INC(c->all->world, violations);
	child_kill(c);
	/* Its successors may do the same at once: throttle. */
	if (c->client == CHILD_SPARE)
		c->all->events->on_early_death(c);
}

/* Log and count an exit that was neither asked for nor announced. */
static void
judge_exit(struct child *c, int status)
{
	bool	 unasked = c->state == CHILD_SERVING ||
		    c->state == CHILD_AWAITED || WIFSIGNALED(status);

	assert(c->process == CHILD_DRAINING || c->process == CHILD_REAPED);
	if (!unasked || c->end != CHILD_STAYS)
		return;
	STAT_INC(c->all->world, deaths);
	if (c->pidfd != -1)
		log_warnx("worker %d of a session has died", c->pid);
	else if (WIFSIGNALED(status))
		log_warnx("worker %d%s was killed by signal %d", c->pid,
		    c->route != NULL ? " of a session" : "",
		    WTERMSIG(status));
	else
		log_warnx("worker %d exited with status %d", c->pid,
		    WEXITSTATUS(status));
	/* A user may kill its own workers: count only those without one. */
	if (c->client == CHILD_SPARE)
		c->all->events->on_early_death(c);
}

/* Whether it has a client, but no process yet: another one could serve it. */
static bool
waits_with_client(const struct child *c)
{
	return c->process == CHILD_UNKNOWN && c->client == CHILD_ASSIGNED &&
	    c->end == CHILD_STAYS;
}

static void
child_on_chan_end(void *arg, int error)
{
	struct child	*c = arg;

	assert(c != NULL && c->chan != NULL);
	/* The template has died, or will tell of it all the same. */
	if (waits_with_client(c) && error == 0)
		return;
	if (c->process == CHILD_DRAINING)
		judge_exit(c, c->status);
	if (error == EPROTO) {
		child_violates(c, "malformed message");
	} else if (error != 0) {
		log_warnx("worker %d: channel: %s", c->pid, strerror(error));
		child_kill(c);
	}
	child_finish(c);
}

/*
 * An owner that does not answer is stopped, or waits for a disk: the client is
 * told to try again.
 */
void
child_wait_for_owner(struct child *c)
{
	assert(c->chan != NULL && c->wanted != NULL);
	if (c->state == CHILD_HANDING)
		timer_set(&c->kill_ev, LIMIT_OFFER + LIMIT_OFFER_MARGIN);
}

/* LEAVING, but it has not exited; or HANDING, and no answer came. */
static void
on_overdue(void *arg)
{
	struct child	*c = arg;

	assert(c->state == CHILD_HANDING || c->state == CHILD_LEAVING);
	if (c->state == CHILD_HANDING) {
		log_info("%s: the worker of the session to resume does not "
		    "answer",
		    c->peer.text);
		c->all->events->decide(c, IPC__VERDICT__ATTACHED,
		    NULL);
		return;
	}
	if (child_has_process(c)) {
		log_warnx("worker %d does not exit: killing it", c->pid);
		child_kill(c);
	}
	if (c->chan != NULL)
		child_finish(c);
}

void
child_on_exit(struct child *c, int status)
{
	const struct world	*w = c->all->world;
	bool			 is_draining;

	assert(child_has_process(c) && c->pid > 1);
	assert(child_by_pid(c->all, c->pid) == c);
	cgroups_give_back(c->all->cgroups, &c->cgroups);
	/*
	 * The channel may still have messages: wait for its end.  The pid may
	 * be reused from here on.
	 */
	is_draining = c->chan != NULL && !WIFSIGNALED(status);
	child_set_process(c, is_draining ? CHILD_DRAINING : CHILD_REAPED);
	/* It may have left processes that it did not kill. */
	if (c->pidfd != -1)
		w->events->kill_range(w->master, c->marks);
	else if (c->client != CHILD_SPARE || status != 0)
		w->events->look_for_orphans(w->master, status != 0);
	if (is_draining) {
		c->status = status;
		return;
	}
	judge_exit(c, status);
	if (c->state == CHILD_AWAITED)
		child_finish(c);
	else if (c->chan == NULL)
		child_free(c);
}

void
child_on_forked(struct child *c, pid_t pid, int error)
{
	assert(c->process == CHILD_UNKNOWN && c->pid == 0);
	assert(c->state != CHILD_IDLE);
	if (pid == 0) {
		log_warnx("fork: %s", strerror(error));
		child_finish(c);
		return;
	}
	c->pid = pid;
	child_set_process(c, CHILD_RUNS);
	if (c->end == CHILD_KILLED)
		kill(pid, SIGKILL);	/* child_kill() had no pid */
	if (c->state == CHILD_STARTING)
		child_set_state(c, CHILD_IDLE);
	c->all->events->on_pid(c);
	if (c->chan == NULL)
		return;
	chan_hold(c->chan, false);
	if (chan_has_ended(c->chan))
		child_finish(c);
}

/* Not our child: its exit status is somebody else's. */
static void
child_on_pidfd(void *arg)
{
	struct child	*c = arg;

	assert(c->pidfd != -1);
	io_stop(&c->pidfd_ev);
	child_on_exit(c, 0);
}

/* Prepare for another fork; what is queued for it is kept. */
static bool
child_again(struct child *c)
{
	int	 pair[2];
	bool	 ok;

	/* What was sent after its end is not queued. */
	if (!waits_with_client(c) || chan_is_lost(c->chan) ||
	    fd_packet_pair(pair) == -1)
		return false;
	ok = chan_renew(c->chan, pair[0]) == 0;
	fd_close(&pair[0]);
	fd_close(&c->sock);
	c->sock = pair[1];
	return ok;
}

void
child_on_template_gone(struct children *cs, bool may_again)
{
	struct child	*c, *next;

	for (c = TAILQ_FIRST(&cs->forking); c != NULL; c = next) {
		next = TAILQ_NEXT(c, process_entry);
		if (!may_again || !child_again(c))
			child_finish(c);
	}
}

void
child_forget_all(struct children *cs)
{
	struct child	*c;

	while ((c = TAILQ_FIRST(&cs->list)) != NULL)
		child_free(c);
}

void
child_stop(struct child *c, bool is_too_many)
{
	Ipc__Stop	 out = IPC__STOP__INIT;

	assert(c->end != CHILD_LEAVES || c->state == CHILD_LEAVING);
	if (c->state == CHILD_AWAITED) {
		if (c->end == CHILD_STAYS)
			child_set_end(c, CHILD_STOPS);
		return;
	}
	if (c->state != CHILD_SERVING || c->chan == NULL) {
		/* A worker with an unknown pid exits with its channel. */
		child_kill(c);
		child_finish(c);
		return;
	}
	if (c->end == CHILD_STAYS)
		child_set_end(c, CHILD_STOPS);
	out.grace_ms = c->grace;
	out.is_too_many = is_too_many;
	chan_send(c->chan, IPC_stop, &out, -1);
}

void
child_kill(struct child *c)
{
	assert(!child_has_process(c) || c->pid > 1);
	child_set_end(c, CHILD_KILLED);
	if (child_has_process(c))
		child_signal(c);
	/* With a session it is the end of the process that counts. */
	if (c->state != CHILD_SERVING && c->state != CHILD_AWAITED)
		child_set_state(c, CHILD_LEAVING);
}

/* --- messages to it --- */

void
child_query(struct child *c, uint32_t ticket, bool processes)
{
	Ipc__Query	 out = IPC__QUERY__INIT;

	assert(ticket != 0 && c->route != NULL);
	out.ticket = ticket;
	out.processes = processes;
	if (c->chan != NULL)
		chan_send(c->chan, IPC_query, &out, -1);
}

void
child_act(struct child *c, const Ipc__Act *out)
{
	assert(out->ticket != 0 && c->route != NULL);
	if (c->chan != NULL)
		chan_send(c->chan, IPC_act, out, -1);
}

void
child_tail(struct child *c, const Ipc__Tail *out, int fd)
{
	assert(out->ticket != 0 && c->state == CHILD_SERVING && fd != -1);
	if (c->chan != NULL)
		chan_send(c->chan, IPC_tail, out, fd);
}

static void
child_forward_msg(void *arg, struct ipc_msg *m)
{
	struct child	*c = arg;

	assert(c != NULL && c->chan != NULL);
	c->all->events->on_msg(c, m);
}

static struct child *
child_alloc(struct children *cs, unsigned id)
{
	struct child	*c;

	assert(cs->world->base != NULL && cs->cgroups != NULL);
	if ((c = calloc(1, sizeof(*c))) == NULL)
		return NULL;
	c->all = cs;
	c->id = id;
	c->sock = c->pidfd = -1;
	timer_init(&c->kill_ev, cs->world->base, on_overdue, c);
	return c;
}

struct child *
child_former(struct children *cs, unsigned id, pid_t pid, int pidfd)
{
	struct child	*c;

	assert(pid > 1 && child_by_pid(cs, pid) == NULL);
	if (child_by_id(cs, id) != NULL) {
		errno = EEXIST;
		return NULL;
	}
	if ((c = child_alloc(cs, id)) == NULL)
		return NULL;
	c->state = CHILD_AWAITED;
	c->client = CHILD_ASSIGNED;
	c->pid = pid;
	io_init(&c->pidfd_ev, cs->world->base, pidfd, EV_READ, child_on_pidfd,
	    c);
	if ((pidfd != -1 && io_start(&c->pidfd_ev) == -1) ||
	    child_add(c) == -1) {
		io_stop(&c->pidfd_ev);
		free(c);
		return NULL;
	}
	child_move_process(c, CHILD_RUNS);
	c->pidfd = pidfd;
	children_number(cs, id);
	return c;
}

int
child_come(struct child *c, int sock)
{
	assert(c->state == CHILD_AWAITED && c->chan == NULL);
	c->chan = chan_new(c->all->world->base, sock, IPC_ROLE_MASTER,
	    IPC_ROLE_WORKER, child_forward_msg, child_on_chan_end, c);
	return c->chan == NULL ? -1 : 0;
}

struct child *
child_new(struct children *cs, int *sock_out)
{
	struct child	*c;
	int		 pair[2];

	*sock_out = -1;
	while (++cs->next_id == 0 ||
	    child_by_id(cs, cs->next_id) != NULL)
		continue;
	if ((c = child_alloc(cs, cs->next_id)) == NULL)
		return NULL;
	if (fd_packet_pair(pair) == -1) {
		free(c);
		return NULL;
	}
	if ((c->chan = chan_new(cs->world->base, pair[0], IPC_ROLE_MASTER,
	    IPC_ROLE_WORKER, child_forward_msg, child_on_chan_end, c)) ==
	    NULL)
		fd_close(&pair[0]);
	if (c->chan == NULL || child_add(c) == -1) {
		chan_free(&c->chan);
		fd_close(&pair[1]);
		free(c);
		errno = ENOMEM;
		return NULL;
	}
	/* Nobody gets a session before the record can tell its process. */
	chan_hold(c->chan, true);
	STAT_INC(cs->world, workers);
	cgroups_take(cs->cgroups, &c->cgroups);
	*sock_out = pair[1];
	return c;
}
