#include "worker/rpc/fsjobs.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "worker/conn/conn.h"
#include "worker/fs/fsagent.h"
#include "worker/fs/writeback.h"
#include "worker/sandbox/holder.h"

/* An operation done by an agent. */
struct job {
	TAILQ_ENTRY(job)	 entry;
	TAILQ_ENTRY(job)	 request_entry;	/* if is_requesting */
	struct rpc		*rpc;
	struct rpc_req		*req;		/* kept */
	struct holder		*holder;
	struct handle		*handle;	/* or NULL */
	fsjobs_done_fn		*done;
	void			*arg;
	struct fsop		 op;		/* data: copy, or NULL */
	int			 data;		/* memfd of large data, or -1 */
	void			*copy;
	uint64_t		 data_len;	/* bytes, until freed */
	int			 fd;		/* of the answer, or -1 */
	struct io		 ev;
	bool			 paused;	/* not read: may_receive() */
	bool			 is_requesting;	/* more memory */
	uint64_t		 granted;	/* bytes */
	uint64_t		 begun;		/* ms, of start or permission */
	struct fsagent_answer	 answer;
};

struct fsjobs {
	struct map		 handles;
	TAILQ_HEAD(, job)	 jobs;		/* oldest first */
	unsigned		 njobs, running;
	uint64_t		 data;		/* bytes, of all jobs */
	unsigned		 paused;
	TAILQ_HEAD(, job)	 requesting;	/* oldest request first */
	uint64_t		 granted;	/* bytes, of all jobs */
	struct job		*receiving;	/* reads a long answer */
	struct timer		 retry_ev;	/* an agent's queue was full */
	struct writeback	 writeback;
	struct timer		 writeback_ev;
};

#define RETRY_MS	2
#define SLOW_MS		1000	/* jobs that take longer may hang */

static_assert(LIMIT_MESSAGE <= LIMIT_FILE_HELD, "the longest may be held");

static void	 grant_memory(struct rpc *rpc);
static void	 start_jobs(struct rpc *rpc);

static void
on_retry(void *arg)
{
	grant_memory(arg);
	start_jobs(arg);
}

static void
on_writeback_due(void *arg)
{
	struct fsjobs	*f = arg;

	writeback_flush(&f->writeback);
}

static void
free_events(struct fsjobs *f)
{
	timer_stop(&f->retry_ev);
	timer_stop(&f->writeback_ev);
}

/* Set the timer for the first only, or later ones would put it off. */
static void
schedule_writeback(struct fsjobs *f, struct fsop_result *r)
{
	if (r->writeback != -1 && f->writeback.n == 0)
		timer_set(&f->writeback_ev, WRITEBACK_MS);
	writeback_add(&f->writeback, &r->writeback);
}

static struct fsjobs *
fsjobs_get(struct rpc *rpc)
{
	struct fsjobs	*f = rpc->fsjobs;

	if (f != NULL)
		return f;
	if ((f = calloc(1, sizeof(*f))) == NULL)
		return NULL;
	timer_init(&f->retry_ev, rpc->env->base, on_retry, rpc);
	timer_init(&f->writeback_ev, rpc->env->base, on_writeback_due, f);
	map_init(&f->handles);
	TAILQ_INIT(&f->jobs);
	TAILQ_INIT(&f->requesting);
	rpc->fsjobs = f;
	return f;
}

/* --- jobs --- */

/* A job of the handle is done; the last one frees a closed handle. */
static void
handle_release(struct handle *h)
{
	assert(h->jobs > 0);
	if (--h->jobs > 0 || !h->closed)
		return;
	fd_close(&h->fd);
	free(h);
}

/*
 * Whether to read more of the answer.  Answers wait in the agent's child until
 * the client has read earlier ones.  Long answers are read one after another:
 * two of maximum size would exceed the send queue.
 */
static bool
may_receive(const struct job *j)
{
	const struct fsjobs	*f = j->rpc->fsjobs;
	const struct conn	*c = j->rpc->conn;

	if (c == NULL)
		return true;
	if (j->answer.payload_len <= LIMIT_FILE_QUICK)
		return conn_behind(c) < LIMIT_OUT_CHILDREN;
	return conn_queued(c) < LIMIT_OUT_CHILDREN &&
	    (f->receiving == NULL || f->receiving == j);
}

static void
resume_receiving(struct fsjobs *f)
{
	struct job	*j;

	if (f->paused == 0)
		return;
	TAILQ_FOREACH(j, &f->jobs, entry)
		if (j->paused && may_receive(j) &&
		    io_start(&j->ev) == 0) {
			assert(f->paused > 0);
			j->paused = false;
			f->paused--;
		}
}

void
fsjobs_unhold(struct rpc *rpc)
{
	if (rpc->fsjobs != NULL)
		resume_receiving(rpc->fsjobs);
}

static void
job_free(struct job *j)
{
	struct fsjobs	*f = j->rpc->fsjobs;

	assert(f->njobs > 0 && f->data >= j->data_len);
	assert(f->granted >= j->granted);
	assert(j->fd == -1 || f->running > 0);
	assert(!j->paused || f->paused > 0);
	TAILQ_REMOVE(&f->jobs, j, entry);
	f->njobs--;
	f->data -= j->data_len;
	f->paused -= j->paused ? 1 : 0;
	f->granted -= j->granted;
	if (j->is_requesting)
		TAILQ_REMOVE(&f->requesting, j, request_entry);
	if (f->receiving == j) {
		f->receiving = NULL;
		resume_receiving(f);
	}
	if (j->fd != -1)
		f->running--;
	if (j->handle != NULL)
		handle_release(j->handle);
	io_stop(&j->ev);
	fsagent_end(holder_line(j->holder), &j->answer, &j->fd);
	holder_use(j->holder, false);
	fd_close(&j->data);
	free(j->copy);
	fsagent_answer_fini(&j->answer);
	free(j);
}

static void
fsjobs_answer(struct job *j)
{
	struct rpc_req		*req = j->req;
	struct fsop_result	 r = j->answer.r;
	struct fsop		 op = j->op;
	struct handle		*h = j->handle;
	fsjobs_done_fn		*done = j->done;
	void			*arg = j->arg;

	assert(j->done != NULL);
	/*
	 * Free the job first: done() may end the connection, which cancels
	 * jobs.
	 */
	fsop_result_init(&j->answer.r);
	j->handle = NULL;
	op.data = NULL;
	job_free(j);
	if (op.kind == FSOP_READ && r.fd != -1)
		fsop_read_opened(&r);
	done(req, &op, &r, arg);
	fsop_result_fini(&r);
	if (h != NULL)
		handle_release(h);
}

/* Answer, and start other jobs.  May end the connection. */
static void
fsjobs_finish(struct job *j)
{
	struct rpc	*rpc = j->rpc;

	fsjobs_answer(j);
	grant_memory(rpc);
	start_jobs(rpc);
}

/*
 * The connection ended: call done() without a request.  Start no other jobs:
 * all are being cancelled.
 */
static void
cancel_job(struct rpc_req *req)
{
	struct job	*j = req->waiter;

	assert(j->req == req);
	j->req = NULL;
	j->answer.r.why = FSWHY_DIED;
	fsjobs_answer(j);
}

/* The agent requests more memory: queue the job. */
static void
on_memory_request(struct job *j)
{
	struct rpc	*rpc = j->rpc;
	struct fsjobs	*f = rpc->fsjobs;

	assert(!j->is_requesting && f->granted >= j->granted);
	f->granted -= j->granted;
	j->granted = 0;
	j->is_requesting = true;
	TAILQ_INSERT_TAIL(&f->requesting, j, request_entry);
	grant_memory(rpc);
	/* Meanwhile another job may run. */
	start_jobs(rpc);
}

static void
fsjobs_on_answer(void *arg)
{
	struct job	*j = arg;
	struct fsjobs	*f = j->rpc->fsjobs;

	assert(j->fd != -1 && !j->paused);
	if (!may_receive(j)) {
		io_stop(&j->ev);
		j->paused = true;
		f->paused++;
	} else if (fsagent_answer_read(&j->answer, j->fd) != 0) {
		session_expect_request(j->rpc->session);
		fsjobs_finish(j);
	} else if (j->answer.request > 0) {
		on_memory_request(j);
	} else if (j->answer.payload_len > LIMIT_FILE_QUICK &&
	    f->receiving == NULL) {
		f->receiving = j;
	}
}

static void
fsjobs_fail(struct job *j, int error, enum fsop_why why)
{
	const char	*text;

	assert(error != 0 || why != FSWHY_NONE);
	j->answer.r.error = error;
	j->answer.r.why = why;
	if (why == FSWHY_NO_SANDBOX) {
		text = holder_why(j->holder);
		if (buf_put(&j->answer.r.payload, text, strlen(text)) == -1)
			j->answer.r.why = FSWHY_DIED;
	}
	fsjobs_finish(j);
}

/* Whether an older job of the same handle is under way. */
static bool
is_behind_older(const struct fsjobs *f, const struct job *j)
{
	const struct job	*other;

	if (j->handle == NULL)
		return false;
	TAILQ_FOREACH(other, &f->jobs, entry) {
		if (other == j)
			break;
		if (other->handle == j->handle)
			return true;
	}
	return false;
}

static void
schedule_retry(struct fsjobs *f, uint64_t ms)
{
	timer_set(&f->retry_ev, ms);
}

/*
 * Whether to start one more job.  Jobs that hang, for example on a server that
 * does not answer, do not count, or they would block all others.
 */
static bool
fsjobs_may_start(struct fsjobs *f)
{
	const struct job	*j;
	uint64_t		 now = clock_ms();
	unsigned		 n = 0;

	if (f->running < LIMIT_FILE_JOBS)
		return true;
	TAILQ_FOREACH(j, &f->jobs, entry)
		n += j->fd != -1 && !j->is_requesting &&
		    now - j->begun < SLOW_MS;
	if (n < LIMIT_FILE_JOBS && f->running < LIMIT_FILE_STUCK)
		return true;
	schedule_retry(f, SLOW_MS / 10);
	return false;
}

/* Return the bytes granted to jobs that hang. */
static uint64_t
granted_to_stuck(const struct fsjobs *f)
{
	const struct job	*j;
	uint64_t		 now = clock_ms(), n = 0;

	TAILQ_FOREACH(j, &f->jobs, entry)
		if (!j->paused && j->answer.head_len == 0 &&
		    now - j->begun >= SLOW_MS)
			n += j->granted;
	return n;
}

static bool
may_grant(struct fsjobs *f, uint64_t more)
{
	if (f->granted + more <= LIMIT_FILE_HELD)
		return true;
	if (f->granted + more <= LIMIT_FILE_HELD_STUCK &&
	    f->granted - granted_to_stuck(f) + more <= LIMIT_FILE_HELD)
		return true;
	schedule_retry(f, SLOW_MS / 10);
	return false;
}

/* Do not walk the list: an answer may end the connection and free any job. */
static void
grant_memory(struct rpc *rpc)
{
	struct fsjobs	*f = rpc->fsjobs;
	struct job	*j;

	while ((j = TAILQ_FIRST(&f->requesting)) != NULL &&
	    may_grant(f, j->answer.request)) {
		assert(j->is_requesting && j->granted == 0);
		TAILQ_REMOVE(&f->requesting, j, request_entry);
		j->is_requesting = false;
		f->granted += j->granted = j->answer.request;
		j->begun = clock_ms();
		if (fsagent_grant(&j->answer, j->fd) == -1)
			fsjobs_fail(j, errno, FSWHY_NONE);
	}
}

/*
 * Start a job if possible.  1: under way; 0: not yet; -1: finished with an
 * error, which may have ended the connection.
 */
static int
start_job(struct job *j)
{
	struct fsjobs	*f = j->rpc->fsjobs;

	assert(j->fd == -1 && !j->paused && !j->is_requesting);
	if (holder_state(j->holder) == HOLDER_FAILED) {
		fsjobs_fail(j, 0, FSWHY_NO_SANDBOX);
		return -1;
	}
	if (holder_state(j->holder) == HOLDER_STARTING || is_behind_older(f, j))
		return 0;
	if (j->handle != NULL && j->op.kind != FSOP_OPEN) {
		/* The open may have failed meanwhile. */
		if ((j->op.fd = j->handle->fd) == -1) {
			fsjobs_fail(j, ENOENT, FSWHY_NONE);
			return -1;
		}
	}
	j->fd = fsagent_ask(holder_sock(j->holder), &j->op, j->data,
	    holder_line(j->holder), &j->answer);
	if (j->fd == -1) {
		if (errno == EAGAIN) {
			schedule_retry(f, RETRY_MS);
			return 0;
		}
		fsjobs_fail(j, errno, FSWHY_NONE);
		return -1;
	}
	f->running++;
	j->begun = clock_ms();
	fd_close(&j->data);
	io_init(&j->ev, j->rpc->env->base, j->fd, EV_READ | EV_PERSIST,
	    fsjobs_on_answer, j);
	if (io_start(&j->ev) == -1) {
		fsjobs_fail(j, ENOMEM, FSWHY_NONE);
		return -1;
	}
	return 1;
}

/*
 * Restart the walk after an answer: it may end the connection and free any job.
 */
static void
start_jobs(struct rpc *rpc)
{
	struct fsjobs	*f = rpc->fsjobs;
	struct job	*j;

 again:
	TAILQ_FOREACH(j, &f->jobs, entry) {
		if (j->fd != -1)
			continue;
		if (!fsjobs_may_start(f))
			return;
		if (start_job(j) == -1)
			goto again;
	}
}

bool
fsjobs_running(const struct rpc *rpc)
{
	return rpc->fsjobs != NULL && rpc->fsjobs->running > 0;
}

void
fsjobs_holder_changed(struct rpc *rpc)
{
	if (rpc->fsjobs != NULL)
		start_jobs(rpc);
}

/* Keep a copy of the data of op.  0, or -1 with errno. */
static int
keep_data(struct job *j, const struct fsop *op)
{
	if (op->data == NULL || op->len == 0)
		return 0;
	if (op->len > FSAGENT_INLINE)
		return (j->data = fsagent_data(op)) == -1 ? -1 : 0;
	if ((j->copy = malloc(op->len)) == NULL)
		return -1;
	memcpy(j->copy, op->data, op->len);
	j->op.data = j->copy;
	return 0;
}

/* Create a job with a copy of op and of its data. */
static struct job *
job_new(struct rpc *rpc, const struct fsop *op)
{
	struct job	*j;

	if ((j = calloc(1, sizeof(*j))) == NULL)
		return NULL;
	j->rpc = rpc;
	j->op = *op;
	j->op.data = NULL;
	j->op.fd = j->fd = j->data = -1;
	fsagent_answer_init(&j->answer);
	if (keep_data(j, op) == -1) {
		free(j);
		return NULL;
	}
	return j;
}

static void
run_by_agent(struct rpc *rpc, struct rpc_req *req, const struct fsop *op,
    struct holder *holder, struct handle *h, fsjobs_done_fn *done, void *arg)
{
	struct fsop_result	 r;
	struct job		*j = NULL;

	fsop_result_init(&r);
	if (rpc->fsjobs->njobs >= LIMIT_FILE_WAITING || (op->data != NULL &&
	    rpc->fsjobs->data + op->len > LIMIT_FILE_DATA)) {
		r.why = FSWHY_BUSY;
		done(req, op, &r, arg);
		return;
	}
	if (holder == NULL)
		holder = holder_get(rpc->holders, NULL);
	if (holder == NULL || (j = job_new(rpc, op)) == NULL) {
		r.error = errno;
		done(req, op, &r, arg);
		return;
	}
	j->holder = holder;
	holder_use(holder, true);
	j->handle = h;
	j->done = done;
	j->arg = arg;
	TAILQ_INSERT_TAIL(&rpc->fsjobs->jobs, j, entry);
	rpc->fsjobs->njobs++;
	rpc->fsjobs->data += j->data_len = op->data != NULL ? op->len : 0;
	if (h != NULL)
		h->jobs++;
	if ((j->req = rpc_keep(req, cancel_job, j)) == NULL) {
		/* Already answered; done() must be called all the same. */
		fsjobs_fail(j, 0, FSWHY_BUSY);
		return;
	}
	start_jobs(rpc);
}

void
fsjobs_run(struct rpc *rpc, struct rpc_req *req, const struct fsop *op,
    struct holder *holder, struct handle *h, fsjobs_done_fn *done, void *arg)
{
	static const struct fsop_how	 how = { .nonblock = true,
		.max_out = LIMIT_FILE_QUICK, .cancel_fd = -1 };
	struct fsop_result		 r;

	fsop_result_init(&r);
	if (fsjobs_get(rpc) == NULL) {
		r.error = errno;
		done(req, op, &r, arg);
		return;
	}
	if (holder != NULL || (h != NULL && (h->jobs > 0 ||
	    (h->fd != -1 && !h->is_local)))) {
		run_by_agent(rpc, req, op, holder, h, done, arg);
		return;
	}
	fsop_run(op, &how, &r);
	if (r.error == EAGAIN)
		run_by_agent(rpc, req, op, NULL, h, done, arg);
	else
		done(req, op, &r, arg);
	schedule_writeback(rpc->fsjobs, &r);
	fsop_result_fini(&r);
}

/* --- handles --- */

struct handle *
handle_find(struct rpc *rpc, const char *id, size_t len)
{
	return rpc->fsjobs == NULL ? NULL :
	    map_find(&rpc->fsjobs->handles, id, len);
}

struct handle *
handle_add(struct rpc *rpc, const char *id, size_t len)
{
	struct fsjobs	*f;
	struct handle	*h;

	assert(len <= HANDLE_ID_MAX);
	if ((f = fsjobs_get(rpc)) == NULL)
		return NULL;
	if (map_find(&f->handles, id, len) != NULL) {
		errno = EEXIST;
		return NULL;
	}
	if (f->handles.count >= LIMIT_FILE_HANDLES) {
		errno = EMFILE;
		return NULL;
	}
	if ((h = calloc(1, sizeof(*h))) == NULL)
		return NULL;
	h->rpc = rpc;
	h->fd = -1;
	memcpy(h->id, id, len);
	if (map_add(&f->handles, &h->node, h->id, len, h) == -1) {
		free(h);
		return NULL;
	}
	return h;
}

void
handle_close(struct rpc *rpc, struct handle *h)
{
	assert(!h->closed);
	map_del(&rpc->fsjobs->handles, &h->node);
	h->closed = true;
	h->jobs++;
	handle_release(h);
}

void
fsjobs_on_conn_end(struct rpc *rpc)
{
	struct fsjobs	*f = rpc->fsjobs;
	struct handle	*h;

	while (f != NULL && (h = map_first(&f->handles)) != NULL)
		handle_close(rpc, h);
}

void
fsjobs_free(struct rpc *rpc)
{
	struct fsjobs	*f = rpc->fsjobs;

	if (f == NULL)
		return;
	fsjobs_on_conn_end(rpc);
	map_fini(&f->handles);
	writeback_flush(&f->writeback);
	free_events(f);
	free(f);
	rpc->fsjobs = NULL;
}
