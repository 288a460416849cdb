/* process/start (PROTOCOL 5.1), and starts waiting for a sandbox. */
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/process/program.h"
#include "worker/fs/lookup.h"
#include "worker/proc/envp.h"
#include "worker/proc/proc.h"
#include "worker/proc/snapshot.h"
#include "worker/rpc/fsjobs.h"
#include "worker/rpc/netjobs.h"
#include "worker/rpc/rpc_sandbox.h"
#include "worker/rpc/start.h"
#include "worker/sandbox/enforce.h"
#include "worker/sandbox/holder.h"
#include "worker/sandbox/sockmark.h"

#define DEFAULT_PATH	"/bin:/usr/bin"	/* of execvp(3) */
#define FORWARD		"execsrv-forward"
#define DEFAULT_ROWS	24
#define DEFAULT_COLS	80

extern char **environ;

/* A process to be started. */
struct start {
	TAILQ_ENTRY(start)	 entry;		/* of rpc->starts */
	struct rpc		*rpc;
	struct rpc_req		*req;		/* kept, or NULL */
	char			*id;
	size_t			 id_len;
	char			**argv, **envp, **programs;
	char			 cwd[PATH_MAX];
	struct spawn		 sp;
	bool			 sandboxed;	/* has a sandbox object */
	bool			 lookup_done;	/* or pending */
	bool			 lookup_pending, cancelled;
	struct holder		*holder;	/* or NULL */
	struct nsset		 own_nsset;	/* if no holder is needed */
	struct net		*net;		/* managed, or NULL */
	struct snapshot_wish	 snapshot;
	char			**run_argv;	/* with one, or NULL */
};

/* Make argv, with arg0 as the first if given.  NULL, or what is wrong. */
static const char *
make_argv(struct start *st, const struct process_start_params *p,
    enum rpc_err *err_out)
{
	const struct param_text	*t;
	size_t			 i;

	*err_out = ERR_PARAMS;
	if (p->argv.n == 0)
		return "argv must not be empty";
	*err_out = ERR_FAILED;
	for (i = 0; i < p->argv.n; i++)
		if (strlen(p->argv.v[i].s) != p->argv.v[i].len)
			return "nul byte found in argv";
	if ((st->argv = calloc(i + 1, sizeof(*st->argv))) == NULL)
		return "out of memory";
	for (i = 0; i < p->argv.n; i++) {
		t = i == 0 && p->arg0.s != NULL ? &p->arg0 : &p->argv.v[i];
		if ((st->argv[i] = strdup(t->s)) == NULL)
			return "out of memory";
	}
	return NULL;
}

static char **
forward_program(void)
{
	char	**list = calloc(2, sizeof(*list)), path[PATH_MAX];

	program_find(FORWARD, path, sizeof(path));
	if (list != NULL && (list[0] = strdup(path)) == NULL)
		envp_free(&list);
	return list;
}

bool
start_can_forward(const struct rpc *rpc)
{
	char	 path[PATH_MAX];

	(void)rpc;
	program_find(FORWARD, path, sizeof(path));
	return access(path, X_OK) == 0;
}

/* Return the candidates for a name: itself, or one for each part of PATH. */
static char **
make_programs(const char *name, char *const *envp)
{
	const char	*path, *part;
	char		**list;
	size_t		 n = 0, cap, plen;

	/* Ours, wherever it is installed (PROTOCOL 10.4). */
	if (strcmp(name, FORWARD) == 0)
		return forward_program();
	path = envp_get(envp, "PATH");
	if (path == NULL)
		path = DEFAULT_PATH;
	for (cap = 3, part = path; *part != '\0'; part++)
		cap += *part == ':';
	if ((list = calloc(cap, sizeof(*list))) == NULL)
		return NULL;
	if (strchr(name, '/') != NULL || name[0] == '\0') {
		if ((list[0] = strdup(name)) == NULL)
			goto fail;
		return list;
	}
	for (part = path;; part += plen + 1) {
		plen = strcspn(part, ":");
		/* An empty part is the working directory (environ(7)). */
		if (asprintf(&list[n], "%.*s%s%s", (int)plen, part,
		    plen > 0 ? "/" : "./", name) == -1) {
			list[n] = NULL;
			goto fail;
		}
		n++;
		if (part[plen] == '\0')
			return list;
	}
 fail:
	envp_free(&list);
	return NULL;
}

/* --- starting --- */

static void
start_free(struct start *st)
{
	net_cancel(st->net);
	if (st->holder != NULL)
		holder_use(st->holder, false);
	nsset_fini(&st->own_nsset);
	envp_free(&st->argv);
	envp_free(&st->envp);
	envp_free(&st->programs);
	envp_free(&st->run_argv);
	snapshot_wish_fini(&st->snapshot);
	free(st->id);
	free(st);
}

static void
rpc_start_answer(struct rpc_req *req, const struct proc *pr)
{
	struct json_out	 o;

	rpc_begin(req, &o);
	json_out_key(&o, "processId");
	json_out_text(&o, pr->id, pr->id_len);
	json_out_key(&o, "sandboxType");
	json_out_str(&o, pr->sandboxed ? "linuxSeccomp" : "none");
	rpc_end(req, &o);
}

/* Start the process.  NULL with errno and in what_out the failed step. */
static struct proc *
start_process(struct rpc *rpc, struct start *st, const char **what_out)
{
	struct net_opened	*opened = NULL;
	struct proc		*pr = NULL;
	int			 saved;

	*what_out = "managed network";
	if (st->net != NULL &&
	    net_open(st->net, &st->envp, &st->sp, &opened) == -1)
		goto out;
	st->sp.envp = st->envp;
	*what_out = "sandbox";
	/* In a namespace of its own it reaches no listener of ours. */
	st->sp.sockmark = -1;
	if (net_is_enforced(st->net) || sockmark_for(&rpc->sockmark,
	    rpc->env, st->sp.nsset, &st->sp.sockmark) == 0)
		pr = proc_new(rpc->procs, st->id, st->id_len, &st->sp,
		    what_out);
 out:
	saved = errno;
	net_opened_fini(&opened);
	errno = saved;
	return pr;
}

/* Start the process, answer, and free st.  May end the connection. */
static void
start_now(struct rpc *rpc, struct rpc_req *req, struct start *st)
{
	struct proc	*pr;
	const char	*what;

	assert(!st->lookup_pending && !st->cancelled);
	if (st->holder != NULL)
		st->sp.nsset = holder_nsset(st->holder);
	if (session_is_closing(rpc->session)) {
		rpc_error(req, ERR_FAILED, "the session is ending");
	} else if ((pr = start_process(rpc, st, &what)) == NULL) {
		rpc_errorf(req, ERR_FAILED, "failed to start process: %s: %s "
		    "(os error %d)", what, strerror(errno), errno);
	} else {
		pr->sandboxed = st->sandboxed;
		/* Others hear of the command that the client sent. */
		st->sp.argv = st->argv;
		session_add_process(rpc->session, pr, &st->sp);
		if (st->net != NULL)
			net_attach(st->net, pr);
		st->net = NULL;
		if ((pr->holder = st->holder) != NULL)
			holder_use(pr->holder, true);
		rpc_start_answer(req, pr);
	}
	start_free(st);
}

static void
cancel_start(struct rpc_req *req)
{
	struct start	*st = req->waiter;

	assert(st->req == req && !st->lookup_pending);
	TAILQ_REMOVE(&req->rpc->starts, st, entry);
	start_free(st);
}

static const char	 cancelled_text[] = "terminated before it was started";

static void	 start_when_ready(struct rpc *rpc, struct rpc_req *req,
		    struct start *st);

/*
 * Return a path that is neither in the kernel's caches nor on a local file
 * system, or NULL.  Looking up such a path may block the worker for long, or
 * for ever.
 */
static const char *
find_uncached(const struct start *st)
{
	static const struct lookup	 how = { .nonblock = true };
	struct statx			 x;
	char				*const *p;
	int				 fd;

	fd = lookup(st->cwd, &how, &x);
	if (fd == -1)
		return errno == EAGAIN ? st->cwd : NULL;
	fd_close(&fd);
	for (p = st->programs; *p != NULL; p++) {
		/*
		 * Relative paths begin at the directory that was checked above.
		 */
		if (**p != '/')
			continue;
		fd = lookup(*p, &how, &x);
		if (fd == -1 && errno == EAGAIN)
			return *p;
		if (fd != -1 && S_ISREG(x.stx_mode)) {
			fd_close(&fd);
			break;
		}
		fd_close(&fd);
	}
	return NULL;
}

/* The agent is done.  Ignore errors: starting will find them again. */
static void
rpc_start_on_lookup(struct rpc_req *req, const struct fsop *op,
    struct fsop_result *r, void *arg)
{
	struct start	*st = arg;

	assert(st->lookup_pending);
	(void)op;
	(void)r;
	TAILQ_REMOVE(&st->rpc->starts, st, entry);
	st->lookup_pending = false;
	if (req != NULL && !st->cancelled) {
		start_when_ready(st->rpc, req, st);
		return;
	}
	if (req != NULL)
		rpc_error(req, ERR_FAILED, cancelled_text);
	start_free(st);
}

/* Have an agent look up the path; the request waits meanwhile. */
static void
rpc_start_lookup(struct rpc *rpc, struct rpc_req *req, struct start *st,
    const char *path)
{
	struct fsop	 op;

	assert(!st->lookup_done);
	memset(&op, 0, sizeof(op));
	op.kind = FSOP_STAT;
	op.fd = -1;
	snprintf(op.path, sizeof(op.path), "%s", path);
	st->lookup_done = st->lookup_pending = true;
	TAILQ_INSERT_TAIL(&rpc->starts, st, entry);
	fsjobs_run(rpc, req, &op, NULL, NULL, rpc_start_on_lookup, st);
}

/* A snapshot became ready or failed. */
static void
rpc_start_on_snapshot(void *arg)
{
	starts_resume(arg);
}

/*
 * Put the state of a snapshot into the command.  Without memory for it the
 * startup files run, as if there were none.
 */
static void
start_use_snapshot(struct start *st, const struct snapshot *sn)
{
	char	**envp;

	st->run_argv = snapshot_argv(st->snapshot.shell, st->argv,
	    snapshot_state(sn));
	envp = snapshot_envp(st->snapshot.own, snapshot_left(sn), st->envp,
	    snapshot_state(sn));
	if (st->run_argv == NULL || envp == NULL) {
		envp_free(&envp);
		return;
	}
	envp_free(&st->envp);
	st->sp.envp = st->envp = envp;
	st->sp.argv = st->run_argv;
}

/*
 * Whether to wait for a snapshot, which may have to be taken first; the sandbox
 * is ready.  If not, it is in the command, or there is none.
 */
static bool
start_awaits_snapshot(struct start *st)
{
	struct rpc		*rpc = st->rpc;
	const struct snapshot	*sn = NULL;
	bool			 is_pending = false;

	if (st->snapshot.key == NULL || session_is_closing(rpc->session))
		return false;
	/*
	 * Without its namespace a managed command has an open network, which is
	 * not for startup files either.
	 */
	if (net_is_enforced(st->net)) {
		snapshot_wish_fini(&st->snapshot);
		return false;
	}
	if (st->holder != NULL)
		st->sp.nsset = holder_nsset(st->holder);
	if (rpc->snapshots == NULL)
		rpc->snapshots = snapshots_new(rpc->procs,
		    rpc_start_on_snapshot, rpc);
	if (rpc->snapshots != NULL && sockmark_for(&rpc->sockmark, rpc->env,
	    st->sp.nsset, &st->sp.sockmark) == 0)
		sn = snapshots_find(rpc->snapshots, &st->snapshot, &st->sp,
		    st->sandboxed, st->holder, &is_pending);
	if (is_pending)
		return true;
	if (sn != NULL)
		start_use_snapshot(st, sn);
	snapshot_wish_fini(&st->snapshot);
	return false;
}

static enum holder_state
start_sandbox_state(const struct start *st)
{
	return st->holder == NULL ? HOLDER_READY : holder_state(st->holder);
}

/* Start the process, or wait for what it needs.  Takes st. */
static void
start_when_ready(struct rpc *rpc, struct rpc_req *req, struct start *st)
{
	const char	*path;

	assert(!st->lookup_pending && !st->cancelled);
	if (!st->lookup_done && (path = find_uncached(st)) != NULL) {
		rpc_start_lookup(rpc, req, st, path);
	} else if (start_sandbox_state(st) == HOLDER_READY &&
	    !start_awaits_snapshot(st)) {
		start_now(rpc, req, st);
	} else if ((st->req = rpc_keep(req, cancel_start, st)) == NULL) {
		start_free(st);
	} else {
		TAILQ_INSERT_TAIL(&rpc->starts, st, entry);
		starts_resume(rpc);		/* the holder may have failed */
	}
}

void
starts_resume(struct rpc *rpc)
{
	struct start	*st;
	struct rpc_req	*req;

	/* Restart: an answer may end the connection and free all starts. */
 again:
	TAILQ_FOREACH(st, &rpc->starts, entry) {
		if (st->lookup_pending ||
		    start_sandbox_state(st) == HOLDER_STARTING ||
		    (start_sandbox_state(st) == HOLDER_READY &&
		    start_awaits_snapshot(st)))
			continue;
		TAILQ_REMOVE(&rpc->starts, st, entry);
		req = st->req;
		if (start_sandbox_state(st) == HOLDER_READY) {
			start_now(rpc, req, st);
		} else {
			rpc_errorf(req, ERR_FAILED,
			    "the sandbox cannot be set up: %s",
			    holder_why(st->holder));
			start_free(st);
		}
		goto again;
	}
}

bool
start_cancel(struct rpc *rpc, const char *id, size_t len)
{
	struct start	*st;
	struct rpc_req	*req;

	TAILQ_FOREACH(st, &rpc->starts, entry)
		if (st->id_len == len && memcmp(st->id, id, len) == 0)
			break;
	if (st == NULL)
		return false;
	if (st->lookup_pending) {
		st->cancelled = true;
		return true;
	}
	TAILQ_REMOVE(&rpc->starts, st, entry);
	req = st->req;
	start_free(st);
	rpc_error(req, ERR_FAILED, cancelled_text);
	return true;
}

bool
start_waits(const struct rpc *rpc, const char *id, size_t len)
{
	const struct start	*st;

	TAILQ_FOREACH(st, &rpc->starts, entry)
		if (st->id_len == len && memcmp(st->id, id, len) == 0)
			return true;
	return false;
}

/*
 * Choose what enforces the sandbox: a holder or, with no network but all files,
 * only what each command does for itself.  0, or -1: answered.
 */
static int
choose_sandbox(struct rpc *rpc, struct rpc_req *req, uint32_t sandbox,
    struct start *st)
{
	struct enforced	 e;
	struct plan	 plan;
	int		 rv = 0;

	st->sandboxed = rpc_sandbox_applies(rpc, sandbox);
	if (st->sandboxed) {
		if (rpc_sandbox_plan(rpc, req, sandbox, st->cwd,
		    envp_get(st->envp, "TMPDIR"), &plan) == -1)
			return -1;
	} else if (plan_everything(&plan) == -1) {
		/* Nothing but a managed network confines it. */
		rpc_error(req, ERR_FAILED, "out of memory");
		return -1;
	}
	/* The way out is in a namespace of each command's own. */
	if (net_is_enforced(st->net))
		plan.net_off = false;
	if (!plan.reads_all || !plan.writes_all || net_is_enforced(st->net)) {
		st->holder = holder_for_command(rpc->holders, &plan);
		if (st->holder != NULL)
			holder_use(st->holder, true);
		else
			rv = -1;
		snprintf(e.why, sizeof(e.why), "%s", strerror(errno));
	} else if (plan.net_off) {
		st->own_nsset.net_off = true;
		rv = enforce_landlock(&plan, false, &e,
		    &st->own_nsset.fds[NSSET_RULESET]);
		st->sp.nsset = &st->own_nsset;
	}
	plan_free(&plan);
	if (rv == -1)
		rpc_errorf(req, ERR_FAILED, "the sandbox cannot be set up: %s",
		    e.why);
	return rv;
}

/* --- snapshots --- */

static bool
is_same_text(const struct param_text *a, const struct param_text *b)
{
	return a->len == b->len && memcmp(a->s, b->s, a->len) == 0;
}

/* Whether the command line is SHELL -lc SCRIPT ... */
static bool
is_login_command(const struct process_start_params *p)
{
	return p->argv.n >= 3 &&
	    is_same_text(&p->argv.v[0], &p->snapshot.shell.path) &&
	    param_is(&p->argv.v[1], "-lc");
}

static void
hash_text(crypto_generichash_state *h, const void *text, size_t len)
{
	uint64_t	 n = len;

	crypto_generichash_update(h, (const unsigned char *)&n, sizeof(n));
	crypto_generichash_update(h, text, len);
}

static void
hash_value(crypto_generichash_state *h, const struct json *j, uint32_t tok)
{
	hash_text(h, tok == 0 ? "" : json_text(j, tok),
	    tok == 0 ? 0 : json_tok(j, tok)->len);
}

/*
 * Make the key: all on which the state of the shell depends but "env", as in
 * the reference.  0, or -1 with errno.
 */
static int
make_snapshot_key(struct rpc *rpc, const struct process_start_params *p,
    struct snapshot_wish *w)
{
	const struct shell_snapshot_params	*s = &p->snapshot;
	const struct json			*j = &rpc->json;
	uint32_t				 params;
	crypto_generichash_state		 h;

	if ((w->key = malloc(crypto_generichash_BYTES)) == NULL)
		return -1;
	w->key_len = crypto_generichash_BYTES;
	crypto_generichash_init(&h, NULL, 0, w->key_len);
	hash_text(&h, s->scope.s, s->scope.len);
	hash_text(&h, s->shell.name.s, s->shell.name.len);
	hash_text(&h, s->shell.path.s, s->shell.path.len);
	hash_text(&h, p->cwd.path, strlen(p->cwd.path));
	params = json_find(j, 0, "params");
	hash_value(&h, j, params == 0 ? 0 : json_find(j, params, "envPolicy"));
	hash_value(&h, j, p->sandbox);
	crypto_generichash_final(&h, (unsigned char *)w->key, w->key_len);
	return 0;
}

/* Take the wish for a snapshot.  NULL, or what is wrong. */
static const char *
take_snapshot(struct rpc *rpc, const struct process_start_params *p,
    struct snapshot_wish *w, enum rpc_err *err)
{
	struct envp_error	 e;

	*err = ERR_PARAMS;
	if (!p->snapshot.given)
		return NULL;
	if (p->snapshot.scope.len == 0 ||
	    p->snapshot.scope.len > LIMIT_SNAPSHOT_SCOPE)
		return "shellSnapshot.scopeId must have 1 to 256 bytes";
	if (!is_login_command(p))
		return NULL;
	if (snapshot_shell_find(&p->snapshot.shell.name, &w->shell) == -1)
		return "shellSnapshot.shell.name must be bash, sh or zsh";
	if (snapshot_script(w->shell) == NULL)
		return NULL;
	*err = ERR_FAILED;
	if (make_snapshot_key(rpc, p, w) == -1 ||
	    snapshot_policy_init(&w->policy, p->env_policy.given ?
	    &p->env_policy : NULL) == -1 ||
	    (w->own = envp_make(&p->env, NULL, environ, &e)) == NULL)
		return "out of memory";
	return NULL;
}

/* Fill in the start from the request.  NULL, or what is wrong. */
static const char *
rpc_start_fill(struct rpc *rpc, const struct process_start_params *p,
    struct start *st, enum rpc_err *err)
{
	struct envp_error	 bad_env;
	const char		*why;

	if ((why = make_argv(st, p, err)) != NULL)
		return why;
	if ((st->envp = envp_make(&p->env, p->env_policy.given ?
	    &p->env_policy : NULL, environ, &bad_env)) == NULL) {
		*err = bad_env.is_malformed ? ERR_PARAMS : ERR_FAILED;
		return bad_env.text != NULL ? bad_env.text : "out of memory";
	}
	if ((why = take_snapshot(rpc, p, &st->snapshot, err)) != NULL)
		return why;
	*err = ERR_FAILED;
	if ((st->programs = make_programs(p->argv.v[0].s, st->envp)) == NULL ||
	    (st->id = malloc(p->process_id.len + 1)) == NULL)
		return "out of memory";
	memcpy(st->id, p->process_id.s, p->process_id.len);
	st->id_len = p->process_id.len;
	memcpy(st->cwd, p->cwd.path, sizeof(st->cwd));
	st->sp.argv = st->argv;
	st->sp.envp = st->envp;
	st->sp.programs = st->programs;
	st->sp.cwd = st->cwd;
	st->sp.rows = p->pty_size.given ? p->pty_size.rows : DEFAULT_ROWS;
	st->sp.cols = p->pty_size.given ? p->pty_size.cols : DEFAULT_COLS;
	st->sp.tty = p->tty;
	st->sp.pipe_stdin = p->pipe_stdin && !p->tty;
	st->sp.nofile = rpc->env->nofile;
	st->sp.rlimits = &rpc->env->rlimits;
	return NULL;
}

void
rpc_process_start(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_start_params	*p = params;
	struct start			*st;
	enum rpc_err			 err;
	const char			*why;
	bool				 sandboxed;

	(void)msg;
	if ((st = calloc(1, sizeof(*st))) == NULL) {
		rpc_error(req, ERR_FAILED, "out of memory");
		return;
	}
	st->rpc = rpc;
	nsset_init(&st->own_nsset);
	if ((why = rpc_start_fill(rpc, p, st, &err)) == NULL) {
		if (procs_find(rpc->procs, st->id, st->id_len) != NULL ||
		    start_waits(rpc, st->id, st->id_len)) {
			err = ERR_PROCESS_EXISTS;
			why = "process already exists";
		} else if (rpc->procs->running >= rpc->env->set.max_processes) {
			err = ERR_TOO_MANY;
			why = "too many processes are running in this session";
		}
	}
	sandboxed = rpc_sandbox_applies(rpc, p->sandbox);
	if (why == NULL) {
		err = ERR_PARAMS;
		why = net_make(rpc, p, sandboxed, &st->net);
	}
	if (why == NULL && st->net != NULL && !netjobs_can(rpc)) {
		err = ERR_FAILED;
		why = "managed networks need execsrv-proxy";
	}
	if (why == NULL && ((!sandboxed && !net_is_enforced(st->net)) ||
	    choose_sandbox(rpc, req, p->sandbox, st) == 0)) {
		start_when_ready(rpc, req, st);
		return;
	}
	if (why != NULL)
		rpc_error(req, err, why);
	start_free(st);
}
