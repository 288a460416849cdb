/*
 * worker/rpc/rpc_start.c: what a start waits for, what it gets, and why it
 * fails.  Answers, processes, sandboxes, networks and snapshots are ours.
 */
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/process/program.h"
#include "t/unit/rpc_stand_in.h"
#include "worker/fs/lookup.h"
#include "worker/proc/envp.h"
#include "worker/proc/proc.h"
#include "worker/proc/snapshot.h"
#include "worker/rpc/fsjobs.h"
#include "worker/rpc/netjobs.h"
#include "worker/rpc/rpc_priv.h"
#include "worker/rpc/rpc_sandbox.h"
#include "worker/rpc/start.h"
#include "worker/sandbox/enforce.h"
#include "worker/sandbox/holder.h"
#include "worker/sandbox/sockmark.h"

struct net { bool is_enforced; };
struct holder { enum holder_state state; int used; };
struct snapshot { int unused; };

static struct env	 env;
static struct session	 session;
static struct procs	 procs;
static struct holder	 holder;
static struct net	 net;
static struct nsset	 holders_nsset;
static struct proc	 started;
static struct snapshot	 snapshot;
static bool		 is_closing, can_forward, has_proxy, net_fails;
static bool		 is_sandboxed, is_known;	/* what is asked for */
static struct plan	 plan;		/* of its sandbox */
static int		 landlock, start_errno, mark_errno, holder_errno;
static const char	*slow;		/* a path that may block; or NULL */
static const char	*absent;	/* one that is not there */
static bool		 has_net, is_pending, has_snapshot;
static char		 key[2][64];	/* of snapshots: last, and before */
static fsjobs_done_fn	*looked_up;
static struct rpc_req	*looking;
static void		*look_arg;

/* --- in the place of the session and its processes --- */

bool
session_is_closing(const struct session *s)
{
	ck_assert_ptr_eq(s, &session);
	return is_closing;
}

void
session_add_process(struct session *s, struct proc *p, const struct spawn *sp)
{
	ck_assert(s == &session && p == &started);
	tell("added %s", sp->argv[0]);
}

struct proc *
procs_find(const struct procs *ps, const char *id, size_t len)
{
	ck_assert_ptr_eq(ps, &procs);
	return is_known && len == 1 && id[0] == 'p' ? &started : NULL;
}

static void
tell_list(const char *name, char *const *list)
{
	char	 text[800];
	size_t	 i, n;

	n = (size_t)snprintf(text, sizeof(text), "%s", name);
	for (i = 0; list[i] != NULL; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, " %s",
		    list[i]);
	tell("%s", text);
}

struct proc *
proc_new(struct procs *ps, const char *id, size_t id_len, struct spawn *sp,
    const char **what_out)
{
	ck_assert_ptr_eq(ps, &procs);
	ck_assert(sp->rlimits == &env.rlimits &&
	    sp->nofile.rlim_cur == env.nofile.rlim_cur);
	tell("new %.*s in %s%s%s%s %ux%u mark %d", (int)id_len, id, sp->cwd,
	    sp->tty ? " tty" : "", sp->pipe_stdin ? " stdin" : "",
	    sp->nsset == NULL ? "" : sp->nsset == &holders_nsset ? " holder" :
	    sp->nsset->net_off ? " offline" : " own", sp->rows, sp->cols,
	    sp->sockmark);
	tell_list("argv", sp->argv);
	tell_list("env", sp->envp);
	tell_list("try", sp->programs);
	if (start_errno != 0) {
		*what_out = "exec";
		errno = start_errno;
		return NULL;
	}
	memset(&started, 0, sizeof(started));
	started.id = (char *)(uintptr_t)"p";
	started.id_len = 1;
	return &started;
}

void
program_find(const char *name, char *path, size_t size)
{
	snprintf(path, size, "%s/%s", can_forward ? "/bin" : "/none", name);
}

int
access(const char *path, int mode)
{
	ck_assert_int_eq(mode, X_OK);
	return strcmp(path, "/bin/execsrv-forward") == 0 ? 0 : -1;
}

/* --- of paths --- */

int
lookup(const char *path, const struct lookup *how, struct statx *x)
{
	ck_assert(how->nonblock && !how->nofollow && !how->nofollow_last);
	if (slow != NULL && strcmp(path, slow) == 0) {
		errno = EAGAIN;
		return -1;
	}
	if (absent != NULL && strcmp(path, absent) == 0) {
		errno = ENOENT;
		return -1;
	}
	memset(x, 0, sizeof(*x));
	x->stx_mode = strstr(path, "/folder") != NULL ? S_IFDIR : S_IFREG;
	return open("/", O_PATH | O_CLOEXEC);
}

void
fsjobs_run(struct rpc *of, struct rpc_req *req, const struct fsop *op,
    struct holder *in, struct handle *h, fsjobs_done_fn *done, void *arg)
{
	ck_assert(of == &rpc && in == NULL && h == NULL && op->fd == -1);
	ck_assert_int_eq(op->kind, FSOP_STAT);
	tell("look %s", op->path);
	ck_assert_ptr_nonnull(looking = rpc_keep(req, NULL, NULL));
	looked_up = done;
	look_arg = arg;
}

/* The agent is done, or the client went. */
static void
look_done(bool has_client)
{
	looked_up(has_client ? looking : NULL, NULL, NULL, look_arg);
}

/* --- of sandboxes --- */

bool
rpc_sandbox_applies(const struct rpc *of, uint32_t tok)
{
	ck_assert_ptr_eq(of, &rpc);
	return tok != 0 || is_sandboxed;
}

int
rpc_sandbox_plan(struct rpc *of, struct rpc_req *req, uint32_t tok,
    const char *cwd, const char *tmpdir, struct plan *out)
{
	ck_assert_ptr_eq(of, &rpc);
	(void)tok;
	if (is_known) {
		rpc_error(req, ERR_PARAMS, "a bad sandbox");
		return -1;
	}
	tell("plan %s %s", cwd, tmpdir != NULL ? tmpdir : "-");
	ck_assert_int_eq(plan_everything(out), 0);
	out->reads_all = plan.reads_all;
	out->writes_all = plan.writes_all;
	out->net_off = plan.net_off;
	return 0;
}

int
enforce_landlock(const struct plan *p, bool alone, struct enforced *e,
    int *out)
{
	ck_assert(!alone && p->net_off);
	snprintf(e->why, sizeof(e->why), "no Landlock");
	*out = -1;
	tell("landlock");
	return landlock;
}

struct holder *
holder_for_command(struct holders *hs, const struct plan *p)
{
	ck_assert_ptr_null(hs);
	tell("holder%s%s%s", p->reads_all ? "" : " reads", p->writes_all ? "" :
	    " writes", p->net_off ? " offline" : "");
	errno = holder_errno;
	return holder_errno != 0 ? NULL : &holder;
}

enum holder_state
holder_state(const struct holder *h)
{
	ck_assert_ptr_eq(h, &holder);
	return h->state;
}

const char *
holder_why(const struct holder *h)
{
	ck_assert_ptr_eq(h, &holder);
	return "no mounts";
}

const struct nsset *
holder_nsset(struct holder *h)
{
	ck_assert_int_eq(h->state, HOLDER_READY);
	return &holders_nsset;
}

void
holder_use(struct holder *h, bool more)
{
	ck_assert_ptr_eq(h, &holder);
	h->used += more ? 1 : -1;
}

int
sockmark_for(struct sockmark **bp, const struct env *of,
    const struct nsset *v, int *out)
{
	ck_assert(bp == &rpc.sockmark && of == &env);
	*out = v != NULL ? 77 : -1;
	errno = mark_errno;
	return mark_errno != 0 ? -1 : 0;
}

/* --- of networks --- */

bool
netjobs_can(const struct rpc *of)
{
	ck_assert_ptr_eq(of, &rpc);
	return has_proxy;
}

const char *
net_make(struct rpc *of, const struct process_start_params *p, bool sandboxed,
    struct net **out)
{
	ck_assert_ptr_eq(of, &rpc);
	(void)p;
	(void)sandboxed;
	*out = has_net ? &net : NULL;
	return has_net && net_fails ? "a bad network" : NULL;
}

bool
net_is_enforced(const struct net *n)
{
	return n != NULL && n->is_enforced;
}

int
net_open(struct net *n, char ***envp, struct spawn *sp,
    struct net_opened **out)
{
	ck_assert(n == &net && *out == NULL && sp->argv != NULL);
	ck_assert_ptr_nonnull(*envp);
	errno = EMFILE;
	return net_fails ? -1 : 0;
}

void
net_opened_fini(struct net_opened **op)
{
	ck_assert_ptr_null(*op);
	errno = 0;
}

void
net_attach(struct net *n, struct proc *p)
{
	ck_assert(n == &net && p == &started);
	tell("attached");
}

void
net_cancel(struct net *n)
{
	if (n != NULL)
		tell("no network");
}

/* --- of snapshots --- */

void
snapshot_wish_fini(struct snapshot_wish *w)
{
	free(w->key);
	snapshot_policy_fini(&w->policy);
	envp_free(&w->own);
	memset(w, 0, sizeof(*w));
}

struct snapshots *
snapshots_new(struct procs *ps, void (*on_done)(void *), void *arg)
{
	ck_assert(ps == &procs && on_done != NULL && arg == &rpc);
	return (struct snapshots *)(void *)&snapshot;
}

const struct snapshot *
snapshots_find(struct snapshots *ss, struct snapshot_wish *w,
    const struct spawn *sp, bool sandboxed, struct holder *h, bool *pending)
{
	ck_assert_ptr_eq(ss, &snapshot);
	ck_assert_uint_le(w->key_len, sizeof(key[0]));
	(void)sp;
	tell("snapshot%s%s", sandboxed ? " sandboxed" : "",
	    h != NULL ? " holder" : "");
	memcpy(key[1], key[0], sizeof(key[0]));
	memset(key[0], 0, sizeof(key[0]));
	memcpy(key[0], w->key, w->key_len);
	*pending = is_pending;
	return has_snapshot && !is_pending ? &snapshot : NULL;
}

const char *
snapshot_state(const struct snapshot *sn)
{
	ck_assert_ptr_eq(sn, &snapshot);
	return "STATE";
}

char *const *
snapshot_left(const struct snapshot *sn)
{
	static char	 one[] = "L=1", *left[] = { one, NULL };

	ck_assert_ptr_eq(sn, &snapshot);
	return left;
}

/* --- the tests --- */

#define START_OF(argv, more)						\
	"{\"processId\":\"p\",\"argv\":" argv ",\"cwd\":\"file:///w\","	\
	"\"env\":{\"PATH\":\"/a:/b\"},\"tty\":false" more "}"
#define CAT		START_OF("[\"cat\",\"x\"]", "")
#define SANDBOX		START_OF("[\"cat\",\"x\"]", ",\"sandbox\":{}")
#define SNAPSHOT(scope, name)						\
	START_OF("[\"/bin/bash\",\"-lc\",\"ls\"]", ",\"shellSnapshot\":" \
	"{\"scopeId\":\"" scope "\",\"shell\":{\"name\":\"" name "\","	\
	"\"path\":\"/bin/bash\"}}")

#define REST	"argv cat x; env PATH=/a:/b; try /a/cat /b/cat; "
#define NEW	"new p in /w 24x80 mark -1; " REST
#define RUNS(of) "added cat; 1 {\"processId\":\"p\",\"sandboxType\":\"" of \
	"\"}; "

#define START(text)	ASK(process_start, rpc_process_start, 1, text)

static void
setup(void)
{
	rpc_begin_all(&env);
	memset(&procs, 0, sizeof(procs));
	rpc.session = &session;
	rpc.procs = &procs;
	env.set.max_processes = 3;
	env.nofile.rlim_cur = 99;
	memset(&plan, 0, sizeof(plan));
	memset(&net, 0, sizeof(net));
	memset(&holder, 0, sizeof(holder));
	holder.state = HOLDER_READY;
	is_closing = net_fails = is_sandboxed = is_known = false;
	has_net = is_pending = has_snapshot = false;
	can_forward = has_proxy = true;
	landlock = start_errno = mark_errno = holder_errno = 0;
	slow = absent = NULL;
}

static void
teardown(void)
{
	rpc_end_all();
	ck_assert(TAILQ_EMPTY(&rpc.starts));
	ck_assert_int_eq(holder.used, started.holder != NULL ? 1 : 0);
}

START_TEST(test_start)
{
	START(CAT);
	DID(NEW RUNS("none"));
	ck_assert(!started.sandboxed);
	START("{\"processId\":\"p\",\"argv\":[\"./x\"],\"cwd\":\"file:///\","
	    "\"env\":{},\"tty\":true,\"pipeStdin\":true,\"arg0\":\"-sh\","
	    "\"ptySize\":{\"rows\":7,\"cols\":9}}");
	DID("new p in / tty 7x9 mark -1; argv -sh; env; try ./x; added -sh; "
	    "1 {\"processId\":\"p\",\"sandboxType\":\"none\"}; ");
	START("{\"processId\":\"p\",\"argv\":[\"\"],\"cwd\":\"file:///\","
	    "\"env\":{},\"tty\":false,\"pipeStdin\":true}");
	DID("new p in / stdin 24x80 mark -1; argv ; env; try ; added ; "
	    "1 {\"processId\":\"p\",\"sandboxType\":\"none\"}; ");
}
END_TEST

/* Without PATH, with empty parts of it; our own program. */
START_TEST(test_programs)
{
	START("{\"processId\":\"p\",\"argv\":[\"x\"],\"cwd\":\"file:///\","
	    "\"env\":{},\"tty\":false}");
	ck_assert_ptr_nonnull(strstr(did, "try /bin/x /usr/bin/x; "));
	did[0] = '\0';
	START("{\"processId\":\"p\",\"argv\":[\"x\"],\"cwd\":\"file:///\","
	    "\"env\":{\"PATH\":\":/a::\"},\"tty\":false}");
	ck_assert_ptr_nonnull(strstr(did, "try ./x /a/x ./x ./x; "));
	did[0] = '\0';
	START(START_OF("[\"execsrv-forward\",\"x\"]", ""));
	ck_assert_ptr_nonnull(strstr(did, "try /bin/execsrv-forward; "));
	did[0] = '\0';
	ck_assert(start_can_forward(&rpc));
	can_forward = false;
	ck_assert(!start_can_forward(&rpc));
}
END_TEST

START_TEST(test_refused)
{
	START(START_OF("[]", ""));
	DID("1 PARAMS: argv must not be empty; ");
	START(START_OF("[\"a\",\"b\\u0000\"]", ""));
	DID("1 FAILED: nul byte found in argv; ");
	is_known = true;
	START(CAT);
	DID("1 PROCESS_EXISTS: process already exists; ");
	is_known = false;
	procs.running = 2;
	START(CAT);
	DID(NEW RUNS("none"));
	procs.running = 3;
	START(CAT);
	DID("1 TOO_MANY: too many processes are running in this session; ");
	procs.running = 0;
	is_closing = true;
	START(CAT);
	DID("1 FAILED: the session is ending; ");
	is_closing = false;
	start_errno = ENOEXEC;
	START(CAT);
	DID(NEW "1 FAILED: failed to start process: exec: Exec format error "
	    "(os error 8); ");
	mark_errno = EBUSY;
	START(CAT);
	DID("1 FAILED: failed to start process: sandbox: Device or resource "
	    "busy (os error 16); ");
}
END_TEST

/* --- sandboxes --- */

START_TEST(test_holder)
{
	plan.reads_all = true;
	START(SANDBOX);
	DID("plan /w -; holder writes; new p in /w holder 24x80 mark 77; " REST
	    RUNS("linuxSeccomp"));
	ck_assert_ptr_eq(started.holder, &holder);
	ck_assert(started.sandboxed);
	/* Only reads, and as the settings have it. */
	holder.used = 0;
	is_sandboxed = true;
	plan.reads_all = false;
	plan.writes_all = plan.net_off = true;
	START(CAT);
	DID("plan /w -; holder reads offline; new p in /w holder 24x80 "
	    "mark 77; " REST RUNS("linuxSeccomp"));
	START("{\"processId\":\"p\",\"argv\":[\"/x\"],\"cwd\":\"file:///\","
	    "\"env\":{\"TMPDIR\":\"/t\"},\"tty\":false,\"sandbox\":{}}");
	ck_assert_ptr_nonnull(strstr(did, "plan / /t; "));
	holder.used = 1;
}
END_TEST

/* All files, but no network: the command does it alone. */
START_TEST(test_offline)
{
	plan.reads_all = plan.writes_all = plan.net_off = true;
	START(SANDBOX);
	DID("plan /w -; landlock; new p in /w offline 24x80 mark 77; " REST
	    RUNS("linuxSeccomp"));
	landlock = -1;
	START(SANDBOX);
	DID("plan /w -; landlock; 1 FAILED: the sandbox cannot be set up: "
	    "no Landlock; ");
	/* Nothing is restricted. */
	plan.net_off = false;
	START(SANDBOX);
	DID("plan /w -; " NEW RUNS("linuxSeccomp"));
}
END_TEST

START_TEST(test_no_sandbox)
{
	holder_errno = EAGAIN;
	START(SANDBOX);
	DID("plan /w -; holder reads writes; 1 FAILED: the sandbox cannot be "
	    "set up: Resource temporarily unavailable; ");
	is_sandboxed = is_known = true;
	START("{\"processId\":\"q\",\"argv\":[\"a\"],\"cwd\":\"file:///\","
	    "\"env\":{},\"tty\":false}");
	DID("1 PARAMS: a bad sandbox; ");
}
END_TEST

/* It is not ready yet; others are not kept waiting. */
START_TEST(test_waits)
{
	holder.state = HOLDER_STARTING;
	START(SANDBOX);
	DID("plan /w -; holder reads writes; ");
	ck_assert(start_waits(&rpc, "p", 1));
	ck_assert(!start_waits(&rpc, "q", 1));
	ck_assert(!start_waits(&rpc, "p", 2));
	ASK(process_start, rpc_process_start, 2, CAT);
	DID("2 PROCESS_EXISTS: process already exists; ");
	starts_resume(&rpc);
	DID("");
	holder.state = HOLDER_READY;
	starts_resume(&rpc);
	DID("new p in /w holder 24x80 mark 77; " REST RUNS("linuxSeccomp"));
	ck_assert(!start_waits(&rpc, "p", 1));
	holder.used = 0;
	started.holder = NULL;

	holder.state = HOLDER_STARTING;
	START(SANDBOX);
	holder.state = HOLDER_FAILED;
	did[0] = '\0';
	starts_resume(&rpc);
	DID("1 FAILED: the sandbox cannot be set up: no mounts; ");
	START(SANDBOX);
	DID("plan /w -; holder reads writes; 1 FAILED: the sandbox cannot be "
	    "set up: no mounts; ");
	holder.state = HOLDER_STARTING;
	may_keep = false;
	START(SANDBOX);
	DID("plan /w -; holder reads writes; 1 TOO_MANY: too many wait; ");
	ck_assert_int_eq(holder.used, 0);
}
END_TEST

/* By process/terminate, or as the client goes. */
START_TEST(test_cancelled)
{
	holder.state = HOLDER_STARTING;
	START(SANDBOX);
	did[0] = '\0';
	ck_assert(!start_cancel(&rpc, "q", 1));
	ck_assert(!start_cancel(&rpc, "pp", 2));
	ck_assert(start_cancel(&rpc, "p", 1));
	DID("1 FAILED: terminated before it was started; ");
	ck_assert(!start_cancel(&rpc, "p", 1));
	ck_assert_int_eq(holder.used, 0);
	START(SANDBOX);
	ck_assert_int_eq(holder.used, 1);
	rpc_cancel_all();
	ck_assert(!start_waits(&rpc, "p", 1));
	ck_assert_int_eq(holder.used, 0);
}
END_TEST

/* --- paths that may block --- */

static int
count_fds(void)
{
	int	 fd, n = 0;

	for (fd = 0; fd < 64; fd++)
		n += fcntl(fd, F_GETFD) != -1;
	return n;
}

START_TEST(test_lookups)
{
	int	 before = count_fds();

	slow = "/w";
	START(CAT);
	DID("look /w; ");
	look_done(true);
	DID(NEW RUNS("none"));
	slow = "/a/cat";
	START(CAT);
	DID("look /a/cat; ");
	/* Once. */
	look_done(true);
	DID(NEW RUNS("none"));
	/* What comes first is a program: the rest is not looked at. */
	slow = "/b/cat";
	START(CAT);
	DID(NEW RUNS("none"));
	absent = "/a/cat";
	START(CAT);
	DID("look /b/cat; ");
	look_done(true);
	DID(NEW RUNS("none"));
	absent = NULL;
	/* A folder is no program; what is relative is not looked at. */
	slow = "/b/folder";
	START(START_OF("[\"folder\"]", ""));
	ck_assert(strncmp(did, "look /b/folder; ", 16) == 0);
	look_done(true);
	slow = "./x";
	START(START_OF("[\"./x\"]", ""));
	did[0] = '\0';
	/* Without the folder there is nothing to look for. */
	absent = "/w";
	slow = "/a/cat";
	START(CAT);
	DID(NEW RUNS("none"));
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

START_TEST(test_lookup_cancelled)
{
	slow = "/w";
	START(CAT);
	ck_assert(start_waits(&rpc, "p", 1));
	ck_assert(start_cancel(&rpc, "p", 1));
	DID("look /w; ");
	ck_assert(start_waits(&rpc, "p", 1));
	starts_resume(&rpc);
	look_done(true);
	DID("1 FAILED: terminated before it was started; ");
	ck_assert(!start_waits(&rpc, "p", 1));
	/* The client goes, with or without having said so. */
	START(CAT);
	rpc_cancel_all();
	look_done(false);
	START(CAT);
	ck_assert(start_cancel(&rpc, "p", 1));
	rpc_cancel_all();
	look_done(false);
	DID("look /w; look /w; ");
}
END_TEST

/* --- managed networks --- */

START_TEST(test_networks)
{
	has_net = true;
	START(CAT);
	DID(NEW "added cat; attached; 1 {\"processId\":\"p\","
	    "\"sandboxType\":\"none\"}; ");
	net_fails = true;
	START(CAT);
	DID("1 PARAMS: a bad network; no network; ");
	net_fails = has_proxy = false;
	START(CAT);
	DID("1 FAILED: managed networks need execsrv-proxy; no network; ");
	has_proxy = true;
	start_errno = EPERM;
	START(CAT);
	DID(NEW "1 FAILED: failed to start process: exec: Operation not "
	    "permitted (os error 1); no network; ");
}
END_TEST

/* In a namespace of its own: with a holder always, and no mark. */
START_TEST(test_enforced_network)
{
	has_net = net.is_enforced = true;
	START(CAT);
	DID("holder; new p in /w holder 24x80 mark -1; " REST "added cat; "
	    "attached; 1 {\"processId\":\"p\",\"sandboxType\":\"none\"}; ");
	holder.used = 0;
	plan.reads_all = plan.writes_all = plan.net_off = true;
	START(SANDBOX);
	DID("plan /w -; holder; new p in /w holder 24x80 mark -1; " REST
	    "added cat; attached; 1 {\"processId\":\"p\",\"sandboxType\":"
	    "\"linuxSeccomp\"}; ");
	holder.used = 0;
	started.holder = NULL;
	holder.state = HOLDER_STARTING;
	START(CAT);
	did[0] = '\0';
	net_fails = true;
	holder.state = HOLDER_READY;
	starts_resume(&rpc);
	DID("1 FAILED: failed to start process: managed network: Too many "
	    "open files (os error 24); no network; ");
}
END_TEST

/* --- snapshots --- */

#define BASH	"argv /bin/bash -lc ls; env PATH=/a:/b; try /bin/bash; "
#define BASH_RUNS							\
	"added /bin/bash; 1 {\"processId\":\"p\",\"sandboxType\":\"none\"}; "

START_TEST(test_snapshots)
{
	START(SNAPSHOT("s", "bash"));
	DID("snapshot; new p in /w 24x80 mark -1; " BASH BASH_RUNS);
	is_pending = true;
	START(SNAPSHOT("s", "bash"));
	ck_assert_mem_eq(key[0], key[1], sizeof(key[0]));
	ck_assert(start_waits(&rpc, "p", 1));
	is_pending = false;
	has_snapshot = true;
	did[0] = '\0';
	starts_resume(&rpc);
	ck_assert_ptr_null(strstr(did, BASH));
	ck_assert_ptr_nonnull(strstr(did, "L=1"));
	ck_assert_ptr_nonnull(strstr(did, "STATE"));
	/* Others hear of the command that the client sent. */
	ck_assert_ptr_nonnull(strstr(did, "; " BASH_RUNS));
	did[0] = '\0';
	/* Not if the session ends. */
	is_pending = is_closing = true;
	START(SNAPSHOT("s", "bash"));
	DID("1 FAILED: the session is ending; ");
}
END_TEST

/* Another one for whatever it depends on. */
START_TEST(test_keys)
{
	static const char	*const others[] = {
		SNAPSHOT("t", "bash"),
		START_OF("[\"/bin/sh\",\"-lc\",\"ls\"]", ",\"shellSnapshot\":"
		    "{\"scopeId\":\"s\",\"shell\":{\"name\":\"bash\","
		    "\"path\":\"/bin/sh\"}}"),
		START_OF("[\"/bin/bash\",\"-lc\",\"ls\"]", ",\"sandbox\":{},"
		    "\"shellSnapshot\":{\"scopeId\":\"s\",\"shell\":{\"name\":"
		    "\"bash\",\"path\":\"/bin/bash\"}}"),
		START_OF("[\"/bin/bash\",\"-lc\",\"ls\"]", ",\"envPolicy\":"
		    "{\"inherit\":\"none\",\"ignoreDefaultExcludes\":true,"
		    "\"exclude\":[],\"set\":{},\"includeOnly\":[]},"
		    "\"shellSnapshot\":{\"scopeId\":\"s\",\"shell\":{\"name\":"
		    "\"bash\",\"path\":\"/bin/bash\"}}"),
		"{\"processId\":\"p\",\"argv\":[\"/bin/bash\",\"-lc\",\"ls\"],"
		    "\"cwd\":\"file:///x\",\"env\":{},\"tty\":false,"
		    "\"shellSnapshot\":{\"scopeId\":\"s\",\"shell\":{\"name\":"
		    "\"bash\",\"path\":\"/bin/bash\"}}}",
		SNAPSHOT("s", "sh"),
	};
	size_t			 i;

	plan.reads_all = plan.writes_all = true;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		START(SNAPSHOT("s", "bash"));
		START(others[i]);
		ck_assert_msg(memcmp(key[0], key[1], sizeof(key[0])) != 0,
		    "%s", others[i]);
		did[0] = '\0';
	}
}
END_TEST

START_TEST(test_no_snapshot)
{
	char	 scope[258], text[600];

	START(SNAPSHOT("", "bash"));
	DID("1 PARAMS: shellSnapshot.scopeId must have 1 to 256 bytes; ");
	memset(scope, 's', sizeof(scope));
	scope[LIMIT_SNAPSHOT_SCOPE] = '\0';
	snprintf(text, sizeof(text), SNAPSHOT("%s", "bash"), scope);
	START(text);
	ck_assert_ptr_nonnull(strstr(did, "snapshot; "));
	did[0] = '\0';
	scope[LIMIT_SNAPSHOT_SCOPE] = 's';
	scope[LIMIT_SNAPSHOT_SCOPE + 1] = '\0';
	snprintf(text, sizeof(text), SNAPSHOT("%s", "bash"), scope);
	START(text);
	DID("1 PARAMS: shellSnapshot.scopeId must have 1 to 256 bytes; ");
	START(SNAPSHOT("s", "fish"));
	DID("1 PARAMS: shellSnapshot.shell.name must be bash, sh or zsh; ");
	/* Another shell, another switch, no script: as it is. */
	START(START_OF("[\"/bin/sh\",\"-lc\",\"ls\"]", ",\"shellSnapshot\":"
	    "{\"scopeId\":\"s\",\"shell\":{\"name\":\"bash\","
	    "\"path\":\"/bin/bash\"}}"));
	START(START_OF("[\"/bin/bash\",\"-c\",\"ls\"]", ",\"shellSnapshot\":"
	    "{\"scopeId\":\"s\",\"shell\":{\"name\":\"bash\","
	    "\"path\":\"/bin/bash\"}}"));
	START(START_OF("[\"/bin/bash\",\"-lc\"]", ",\"shellSnapshot\":"
	    "{\"scopeId\":\"s\",\"shell\":{\"name\":\"bash\","
	    "\"path\":\"/bin/bash\"}}"));
	/* Nor where the network is confined to the command. */
	has_net = net.is_enforced = true;
	START(SNAPSHOT("s", "bash"));
	ck_assert_ptr_null(strstr(did, "snapshot"));
	ck_assert_ptr_nonnull(strstr(did, "attached"));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("start");
	TCase	*t = tcase_create("start");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_start);
	tcase_add_test(t, test_programs);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_holder);
	tcase_add_test(t, test_offline);
	tcase_add_test(t, test_no_sandbox);
	tcase_add_test(t, test_waits);
	tcase_add_test(t, test_cancelled);
	tcase_add_test(t, test_lookups);
	tcase_add_test(t, test_lookup_cancelled);
	tcase_add_test(t, test_networks);
	tcase_add_test(t, test_enforced_network);
	tcase_add_test(t, test_snapshots);
	tcase_add_test(t, test_keys);
	tcase_add_test(t, test_no_snapshot);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
