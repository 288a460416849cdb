#include "worker/files.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/agent.h"
#include "worker/holder.h"

/* An operation that is done by an agent. */
struct job {
	TAILQ_ENTRY(job)	 entry;
	struct session		*session;
	struct rpc_req		*req;		/* kept */
	struct holder		*holder;
	struct handle		*handle;	/* or NULL */
	files_done_fn		*done;
	void			*arg;
	struct fsop		 op;		/* without data: */
	int			 data;		/* file in memory, or -1 */
	int			 fd;		/* of the answer; -1: waits */
	struct event		*ev;
	struct agent_answer	 answer;
};

struct files {
	struct map		 handles;
	TAILQ_HEAD(, job)	 jobs;		/* oldest first */
	unsigned		 running;
	struct event		*retry_ev;	/* an agent's queue was full */
};

#define RETRY_MS	2

static void	 start_jobs(struct session *s);

static void
on_retry(int fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	start_jobs(arg);
}

static struct files *
get(struct session *s)
{
	struct files	*f = s->files;

	if (f != NULL)
		return f;
	if ((f = calloc(1, sizeof(*f))) == NULL)
		return NULL;
	if ((f->retry_ev = event_new(s->base, -1, 0, on_retry, s)) == NULL) {
		free(f);
		return NULL;
	}
	map_init(&f->handles);
	TAILQ_INIT(&f->jobs);
	s->files = f;
	return f;
}

/* --- jobs --- */

/* A job for it is over; it is the last to go. */
static void
handle_release(struct handle *h)
{
	if (--h->jobs > 0 || !h->closed)
		return;
	fd_close(&h->fd);
	free(h);
}

static void
job_free(struct job *j)
{
	struct files	*f = j->session->files;

	TAILQ_REMOVE(&f->jobs, j, entry);
	if (j->fd != -1)
		f->running--;
	if (j->handle != NULL)
		handle_release(j->handle);
	holder_use(j->holder, false);
	if (j->ev != NULL)
		event_free(j->ev);
	fd_close(&j->fd);		/* cancels it */
	fd_close(&j->data);
	agent_answer_fini(&j->answer);
	free(j);
}

static void
cancel_job(struct rpc_req *req)
{
	struct job	*j = req->waiter;
	struct session	*s = j->session;

	job_free(j);
	start_jobs(s);
}

/* Answer, and make room for others. */
static void
finish(struct job *j)
{
	struct session		*s = j->session;
	struct rpc_req		*req = j->req;
	struct fsop_result	 r = j->answer.r;
	struct fsop		 op = j->op;
	struct handle		*h = j->handle;
	files_done_fn		*done = j->done;
	void			*arg = j->arg;

	/* The answer may end the connection, and the job with it. */
	fsop_result_init(&j->answer.r);
	j->handle = NULL;
	job_free(j);
	done(req, &op, &r, arg);
	fsop_result_fini(&r);
	if (h != NULL)
		handle_release(h);
	start_jobs(s);
}

static void
on_answer(int fd, short what, void *arg)
{
	struct job	*j = arg;

	(void)what;
	if (agent_answer_read(&j->answer, fd) != 0)
		finish(j);
}

static void
fail(struct job *j, int error, enum fsop_why why)
{
	const char	*text;

	j->answer.r.error = error;
	j->answer.r.why = why;
	if (why == FSWHY_NO_SANDBOX) {
		text = holder_why(j->holder);
		if (buf_put(&j->answer.r.payload, text, strlen(text)) == -1)
			j->answer.r.why = FSWHY_DIED;
	}
	finish(j);
}

/* Whether an older job of the same handle is not done yet. */
static bool
has_to_wait(const struct files *f, const struct job *j)
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

/* 1: under way; 0: not yet; -1: finished with an error. */
static int
start_job(struct job *j)
{
	struct files	*f = j->session->files;

	if (holder_state(j->holder) == HOLDER_FAILED) {
		fail(j, 0, FSWHY_NO_SANDBOX);
		return -1;
	}
	if (holder_state(j->holder) == HOLDER_STARTING || has_to_wait(f, j))
		return 0;
	if (j->handle != NULL)
		j->op.fd = j->handle->fd;	/* opened meanwhile, or not */
	j->fd = agent_ask(holder_sock(j->holder), &j->op, j->data);
	if (j->fd == -1) {
		if (errno == EAGAIN) {
			struct timeval	 tv = { 0, RETRY_MS * 1000 };

			event_add(f->retry_ev, &tv);
			return 0;
		}
		fail(j, errno, FSWHY_NONE);
		return -1;
	}
	f->running++;
	fd_close(&j->data);
	if ((j->ev = event_new(j->session->base, j->fd, EV_READ | EV_PERSIST,
	    on_answer, j)) == NULL || event_add(j->ev, NULL) == -1) {
		fail(j, ENOMEM, FSWHY_NONE);
		return -1;
	}
	return 1;
}

/* An answer can end the connection and with it any job: begin again then. */
static void
start_jobs(struct session *s)
{
	struct files	*f = s->files;
	struct job	*j;

 again:
	if (f->running >= LIMIT_FILE_JOBS)
		return;
	TAILQ_FOREACH(j, &f->jobs, entry)
		if (j->fd == -1 && start_job(j) == -1)
			goto again;
}

void
files_holder_changed(struct session *s)
{
	if (s->files != NULL)
		start_jobs(s);
}

/* A job for the operation, its data and file made its own. */
static struct job *
job_new(struct session *s, const struct fsop *op)
{
	struct job	*j;

	if ((j = calloc(1, sizeof(*j))) == NULL)
		return NULL;
	j->session = s;
	j->op = *op;
	j->op.data = NULL;
	j->op.fd = j->fd = j->data = -1;
	agent_answer_init(&j->answer);
	if (op->data != NULL && (j->data = agent_data(op)) == -1) {
		free(j);
		return NULL;
	}
	return j;
}

static void
run_elsewhere(struct session *s, struct rpc_req *req, const struct fsop *op,
    struct holder *view, struct handle *h, files_done_fn *done, void *arg)
{
	struct fsop_result	 r;
	struct job		*j = NULL;

	if ((view == NULL && (view = holder_get(s, NULL)) == NULL) ||
	    (j = job_new(s, op)) == NULL) {
		fsop_result_init(&r);
		r.error = errno;
		done(req, op, &r, arg);
		return;
	}
	j->holder = view;
	holder_use(view, true);
	j->handle = h;
	j->done = done;
	j->arg = arg;
	TAILQ_INSERT_TAIL(&s->files->jobs, j, entry);
	if (h != NULL)
		h->jobs++;
	if ((j->req = rpc_keep(req, cancel_job, j)) == NULL) {
		/* It is answered; who waits must hear of it all the same. */
		fail(j, 0, FSWHY_BUSY);
		return;
	}
	start_jobs(s);
}

void
files_run(struct session *s, struct rpc_req *req, const struct fsop *op,
    struct holder *view, struct handle *h, files_done_fn *done, void *arg)
{
	static const struct fsop_how	 quick = { true, LIMIT_FILE_QUICK,
					    -1 };
	struct fsop_result		 r;

	if (get(s) == NULL) {
		rpc_error(req, ERR_FAILED, "out of memory");
		return;
	}
	if (view != NULL || (h != NULL && (h->jobs > 0 ||
	    (h->fd != -1 && !h->is_local)))) {
		run_elsewhere(s, req, op, view, h, done, arg);
		return;
	}
	fsop_result_init(&r);
	fsop_run(op, &quick, &r);
	if (r.error == EAGAIN)
		run_elsewhere(s, req, op, NULL, h, done, arg);
	else
		done(req, op, &r, arg);
	fsop_result_fini(&r);
}

/* --- handles --- */

struct handle *
handle_find(struct session *s, const char *id, size_t len)
{
	return s->files == NULL ? NULL :
	    map_find(&s->files->handles, id, len);
}

struct handle *
handle_add(struct session *s, const char *id, size_t len)
{
	struct files	*f;
	struct handle	*h;

	assert(len <= HANDLE_ID_MAX);
	if ((f = get(s)) == NULL)
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
	h->session = s;
	h->fd = -1;
	memcpy(h->id, id, len);
	if (map_add(&f->handles, &h->node, h->id, len, h) == -1) {
		free(h);
		return NULL;
	}
	return h;
}

void
handle_close(struct session *s, struct handle *h)
{
	map_del(&s->files->handles, &h->node);
	h->closed = true;
	h->jobs++;
	handle_release(h);
}

void
files_on_conn_end(struct session *s)
{
	struct files	*f = s->files;
	struct handle	*h;

	while (f != NULL && (h = map_any(&f->handles)) != NULL)
		handle_close(s, h);
}

void
files_free(struct session *s)
{
	struct files	*f = s->files;

	if (f == NULL)
		return;
	files_on_conn_end(s);
	map_fini(&f->handles);
	event_free(f->retry_ev);
	free(f);
	s->files = NULL;
}
