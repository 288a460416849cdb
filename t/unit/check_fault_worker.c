/*
 * The rooms of worker/ when a call fails: no crash, nothing left, and whatever
 * says that it worked has.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "t/unit/fault.h"
#include "t/unit/left_out.h"
#include "worker/conn/conn.h"
#include "worker/fs/fsop.h"
#include "worker/fs/pathwatch.h"
#include "worker/http/helper/http_transfer.h"
#include "worker/os/rlimits.h"
#include "worker/proc/proc.h"
#include "worker/session/asciicast.h"

static char	 folder[64];

static const char *
at(const char *name)
{
	static char	 path[2][128];
	static unsigned	 i;

	i = !i;
	snprintf(path[i], sizeof(path[i]), "%s/%s", folder, name);
	return path[i];
}

static void
put_file(const char *name, const char *text)
{
	int	 fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static bool
has_text(const char *name, const char *want)
{
	char	 text[64] = "";
	int	 fd = open(at(name), O_RDONLY);

	if (fd == -1)
		return false;
	ck_assert_int_ge(read(fd, text, sizeof(text) - 1), 0);
	close(fd);
	return strcmp(text, want) == 0;
}

static bool
is_there(const char *name)
{
	struct stat	 st;

	return lstat(at(name), &st) == 0;
}

/* --- files --- */

/* f, d/x, d/y/z and l, a link to f. */
static void
tree_make(void)
{
	snprintf(folder, sizeof(folder), "/tmp/fault.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	put_file("f", "hello");
	ck_assert_int_eq(mkdir(at("d"), 0700), 0);
	ck_assert_int_eq(mkdir(at("d/y"), 0700), 0);
	put_file("d/x", "x");
	put_file("d/y/z", "z");
	ck_assert_int_eq(symlink("f", at("l")), 0);
}

static void
tree_remove(void)
{
	static const char *const	 names[] = { "d/x", "d/y/z", "d/y", "d",
		"c/x", "c/y/z", "c/y", "c", "f", "l", "g", "s", "m/n", "m",
		"r", "" };
	size_t	 i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		(void)remove(at(names[i]));
	ck_assert_int_eq(access(folder, F_OK), -1);
}

static struct fsop_result	 res;

/* Whether it worked; or else there is an error. */
static bool
run(struct fsop *op, enum fsop_kind kind, const char *name, const char *to)
{
	struct fsop_how	 how = { .max_out = LIMIT_FILE_QUICK,
		.cancel_fd = -1 };

	op->kind = kind;
	snprintf(op->path, sizeof(op->path), "%s", at(name));
	snprintf(op->to, sizeof(op->to), "%s",
	    kind == FSOP_SYMLINK ? to : at(to));
	fsop_result_fini(&res);
	fsop_result_init(&res);
	fault_begin();
	fsop_run(op, &how, &res);
	fault_end();
	if (res.error == 0 && res.why == FSWHY_NONE)
		return true;
	ck_assert(res.payload.len == 0 || res.is_explained);
	ck_assert_int_eq(res.fd, -1);
	return false;
}

#define OP(...)	(&(struct fsop){ .fd = -1, __VA_ARGS__ })

static size_t
count_records(void)
{
	struct fsop_record	 rec;
	const char		*name, *text;
	size_t			 off = 0, n = 0;

	while (fsop_next_record(&res.payload, &off, &rec, &name, &text))
		n += rec.type != FSOP_REC_ERROR;
	return n;
}

static bool
looking(void)
{
	bool	 ok, all = true;

	tree_make();
	fsop_result_init(&res);
	all &= ok = run(OP(.len = 0), FSOP_READ, "l", "");
	if (ok && res.fd == -1) {
		ck_assert_uint_eq(res.payload.len, 5);
		ck_assert_mem_eq(buf_data(&res.payload), "hello", 5);
	}
	all &= ok = run(OP(.attributes = true), FSOP_STAT, "l", "");
	if (ok)
		ck_assert(res.is_symlink && res.is_file && res.size == 5);
	all &= ok = run(OP(.len = 0), FSOP_CANON, "d/../l", "");
	if (ok)
		ck_assert_mem_eq(buf_data(&res.payload), at("f"),
		    strlen(at("f")));
	all &= ok = run(OP(.len = 0), FSOP_LIST, "d", "");
	if (ok)
		ck_assert_uint_eq(count_records(), 2);
	all &= ok = run(OP(.max_depth = 5, .max_dirs = 9, .max_entries = 99,
	    .follow_dirs = true), FSOP_WALK, "", "");
	/* What it could not look at is there as an error, or it says so. */
	if (ok && fault_error() == 0)
		ck_assert_uint_eq(count_records(), 5);
	all &= ok = run(OP(.len = 0), FSOP_OPEN, "f", "");
	if (ok)
		ck_assert_int_ne(res.fd, -1);
	fsop_result_fini(&res);
	tree_remove();
	return all;
}

static bool
changing(void)
{
	bool	 ok, all = true;

	tree_make();
	fsop_result_init(&res);
	all &= ok = run(OP(.data = "new", .len = 3, .mode = 0600), FSOP_WRITE,
	    "g", "");
	ck_assert(!ok || has_text("g", "new"));
	all &= ok = run(OP(.data = "else", .len = 4), FSOP_WRITE, "f", "");
	ck_assert(!ok || has_text("f", "else"));
	all &= ok = run(OP(.recursive = true, .mode = 0700), FSOP_MKDIR, "m/n",
	    "");
	ck_assert(!ok || is_there("m/n"));
	all &= ok = run(OP(.recursive = true), FSOP_COPY, "d", "c");
	ck_assert(!ok || (has_text("c/x", "x") && has_text("c/y/z", "z")));
	ck_assert(has_text("d/x", "x") && has_text("d/y/z", "z"));
	all &= ok = run(OP(.len = 0), FSOP_SYMLINK, "s", "target");
	ck_assert_int_eq(ok, is_there("s"));
	all &= ok = run(OP(.sets_mode = true, .mode = 0640), FSOP_SETATTR, "f",
	    "");
	all &= ok = run(OP(.len = 0), FSOP_RENAME, "d/x", "r");
	ck_assert_int_eq(ok, !is_there("d/x"));
	ck_assert_int_eq(ok, is_there("r"));
	all &= ok = run(OP(.recursive = true), FSOP_REMOVE, "d", "");
	ck_assert(!ok || !is_there("d"));
	fsop_result_fini(&res);
	tree_remove();
	return all;
}

static bool
pieces(void)
{
	struct fsop	*op;
	int		 fd;
	bool		 ok, all = true;

	tree_make();
	fsop_result_init(&res);
	ck_assert_int_ne(fd = open(at("f"), O_RDWR), -1);
	op = OP(.data = "LL", .len = 2, .offset = 2);
	op->fd = fd;
	all &= ok = run(op, FSOP_PWRITE, "", "");
	ck_assert(has_text("f", ok ? "heLLo" : "hello"));
	op = OP(.len = 9, .offset = 1);
	op->fd = fd;
	all &= ok = run(op, FSOP_PREAD, "", "");
	if (ok)
		ck_assert_uint_eq(res.payload.len, 4);
	close(fd);
	fsop_result_fini(&res);
	tree_remove();
	return all;
}

/* No skill is left out without a word. */
static bool
discovery(void)
{
	static const char	 skill[] =
	    "---\nname: s\ndescription: does it\n---\ntext\n";
	bool			 ok;

	tree_make();
	ck_assert_int_eq(mkdir(at("m"), 0700), 0);
	ck_assert_int_eq(mkdir(at("m/skills"), 0700), 0);
	ck_assert_int_eq(mkdir(at("m/skills/s"), 0700), 0);
	put_file("m/skills/s/SKILL.md", skill);
	fsop_result_init(&res);
	ok = run(OP(.len = 0), FSOP_DISCOVER, "m", "");
	if (ok && (fault_error() == 0 || fault_error() == ENOMEM))
		ck_assert_ptr_nonnull(memmem(buf_data(&res.payload),
		    res.payload.len, "skills/s", 8));
	fsop_result_fini(&res);
	(void)remove(at("m/skills/s/SKILL.md"));
	(void)remove(at("m/skills/s"));
	(void)remove(at("m/skills"));
	tree_remove();
	return ok;
}

/* A setting of config.toml: the key "model" of stack 0, as a client asks. */
static bool
configuration(void)
{
	static const struct {
		uint32_t	 stack, n, len;
		char		 name[5];
	} __attribute__((packed)) question = { 0, 1, 5, "model" };
	bool	 ok;

	tree_make();
	ck_assert_int_eq(mkdir(at("m"), 0700), 0);
	put_file("m/config.toml", "model = \"best\"\nother = 1\n");
	fsop_result_init(&res);
	ok = run(OP(.data = &question, .len = sizeof(question)), FSOP_CONFIG,
	    "m", "");
	if (ok)
		ck_assert_ptr_nonnull(memmem(buf_data(&res.payload),
		    res.payload.len, "best", 4));
	fsop_result_fini(&res);
	(void)remove(at("m/config.toml"));
	tree_remove();
	return ok;
}

static unsigned	 nchanges;

static void
on_change(void *arg, uint64_t id)
{
	(void)arg;
	ck_assert_uint_eq(id, 7);
	nchanges++;
}

/* What cannot be watched is said not to be. */
static bool
watching(void)
{
	struct event_base	*base = event_base_new();
	struct watcher		*r;
	struct pathwatch	*w = NULL;
	bool			 ok = false;

	nchanges = 0;
	tree_make();
	fault_begin();
	if ((r = pathwatcher_new(base, on_change, NULL)) != NULL &&
	    (w = pathwatch_new(r, 7)) != NULL)
		ok = pathwatch_present(w, at("d/x")) == 0 &&
		    pathwatch_missing(w, at("d/none")) == 0;
	fault_end();
	if (ok) {
		put_file("d/x", "other");
		event_base_loop(base, EVLOOP_NONBLOCK);
		ck_assert_uint_eq(nchanges, 1);
	}
	if (nchanges == 0)
		pathwatch_free(&w);
	pathwatcher_free(&r);
	event_base_free(base);
	tree_remove();
	return ok;
}

/* --- processes --- */

static struct env	 env;
static struct procs	 procs;
static char		 output[64];
static unsigned		 nclosed;

static bool
room(void *arg, const struct proc *p)
{
	(void)arg;
	(void)p;
	return true;
}

static size_t
read_size(void *arg)
{
	(void)arg;
	return LIMIT_READ_CHUNK;
}

static void
on_reap(void *arg)
{
	(void)arg;
}

static void
on_written(void *arg, struct rpc_req *req)
{
	(void)arg;
	(void)req;
}

static const struct proc_events	 proc_events = {
	room, read_size, on_reap, on_written, on_reap
};

static void
on_output(struct sink *k, const struct output *o)
{
	(void)k;
	ck_assert_uint_lt(strlen(output) + o->len, sizeof(output));
	strncat(output, o->data, o->len);
}

static void
on_close(struct sink *k)
{
	(void)k;
	nclosed++;
}

static void
on_exit_or_kill(struct sink *k)
{
	(void)k;
}

static const struct sink_ops	 sink_ops = {
	.on_output = on_output,
	.on_exit = on_exit_or_kill,
	.on_close = on_close,
	.on_killed = on_exit_or_kill,
};

/* cat, with something to read; whatever happens it is closed at the end. */
static bool
process(bool tty)
{
	char		 sh[] = "/bin/sh", c[] = "-c", text[] = "read -r a; "
			    "echo \"$a\"";
	char		*argv[] = { sh, c, text, NULL }, *programs[] = { sh,
			    NULL }, *envp[] = { NULL };
	struct spawn	 sp = { .programs = programs, .argv = argv,
			    .envp = envp, .cwd = "/", .tty = tty,
			    .pipe_stdin = !tty, .sockmark = -1, .cgroup = -1 };
	struct rlimits	 none;
	struct window	 window;
	struct sink	 sink;
	const char	*what = NULL;
	struct proc	*p;
	bool		 ok = false;
	int		 status;

	memset(&env, 0, sizeof(env));
	ck_assert_ptr_nonnull(env.base = event_base_new());
	memset(&sink, 0, sizeof(sink));
	memset(&none, 0, sizeof(none));
	sp.rlimits = &none;
	sp.nofile.rlim_cur = sp.nofile.rlim_max = 100;
	env.set.closed_ttl_ms = 1;
	window_init(&window);
	procs_init(&procs, &env, &window, &proc_events, NULL);
	procs_on_client(&procs, false);
	output[0] = '\0';
	nclosed = 0;
	fault_begin();
	p = proc_new(&procs, "one", 3, &sp, &what);
	fault_end();
	ck_assert_uint_eq(procs.known, p != NULL);
	if (p == NULL) {
		/* One that was started and cannot be kept was killed. */
		while (waitpid(-1, &status, 0) > 0)
			ck_assert(WIFSIGNALED(status));
		goto out;
	}
	sink_add(&p->sinks, &sink, &sink_ops);
	fault_begin();
	ok = procin_write(&p->procin, "hello\n", 6, NULL) == PROCIN_ACCEPTED;
	fault_end();
	/* It may wait for what could not be written. */
	if (!ok || fault_error() != 0)
		kill(p->pid, SIGKILL);
	/* Without memory for output the worker ends, which is not tried. */
	ck_assert_int_eq(waitpid(p->pid, &status, 0), p->pid);
	proc_on_exit(p, status);
	while (nclosed == 0)
		event_base_loop(env.base, EVLOOP_ONCE);
	if (fault_error() == 0)
		ck_assert_str_eq(output, tty ? "hello\r\nhello\r\n" :
		    "hello\n");
 out:
	procs_fini(&procs);
	window_fini(&window);
	event_base_free(env.base);
	return ok && fault_error() == 0;
}

static bool
process_with_pipes(void)
{
	return process(false);
}

/* Not in a chroot(8) without a file system at /dev/pts. */
static bool
has_terminals(void)
{
	int	 fd = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (fd != -1)
		close(fd);
	return fd != -1;
}

static bool
process_at_terminal(void)
{
	if (has_terminals())
		return process(true);
	left_out("no terminal can be had");
	return true;
}

/* Output that waits, in memory and on the disk. */
static bool
output_kept(void)
{
	struct window	 w;
	struct retain	 r;
	struct chunk	*c;
	unsigned	 i, n = 0;
	uint64_t	 seq = 0;

	window_init(&w);
	w.memory_max = 100000;
	retain_init(&r, &w);
	for (i = 0; i < 12; i++) {
		fault_begin();
		c = window_chunk(&w, 30000);
		fault_end();
		if (c == NULL)
			continue;
		memset(c->data, 'a' + (int)n, 30000);
		c->len = 30000;
		retain_add(&r, c, STREAM_STDOUT);
		n++;
	}
	ck_assert_uint_ge(n, 9);
	ck_assert_uint_eq(r.bytes, n * 30000);
	i = 0;
	TAILQ_FOREACH(c, &r.chunks, retain_entry) {
		ck_assert_uint_gt(c->seq, seq);
		seq = c->seq;
		ck_assert_int_eq(c->data[0], 'a' + (int)i);
		ck_assert_int_eq(c->data[29999], 'a' + (int)i++);
	}
	ck_assert_uint_eq(i, n);
	retain_fini(&r);
	ck_assert_uint_eq(w.memory, 0);
	window_fini(&w);
	return n == 12;
}

/* --- connections --- */

static struct conn	*conn;
static unsigned		 nmessages, nended;

static void
on_message(void *arg, char *text, size_t len, bool is_utf8)
{
	(void)arg;
	ck_assert(is_utf8 && len == 2 && memcmp(text, "{}", 2) == 0);
	nmessages++;
}

static void
on_receipt(void *arg, uint64_t pos)
{
	(void)arg;
	(void)pos;
}

static void
on_end(void *arg, const char *why)
{
	(void)arg;
	ck_assert_ptr_nonnull(why);
	nended++;
}

static void
on_gone(void *arg, struct conn *c)
{
	(void)arg;
	ck_assert_ptr_eq(c, conn);
	conn_free(&conn);
}

static void
on_hungry(void *arg, size_t want)
{
	(void)arg;
	(void)want;
}

static const struct conn_events	 conn_events = {
	on_message, on_receipt, on_hungry, on_end, on_gone
};

/* Two messages in, three out; it ends, or all have come. */
static bool
websocket(void)
{
	static const char	 frame[] = "\x81\x82\0\0\0\0{}";
	struct event_base	*base = event_base_new();
	char			 got[256], *room_at;
	int			 in[2], i;
	ssize_t			 n;
	bool			 begun = false;

	nmessages = nended = 0;
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, in), 0);
	ck_assert_int_eq(fd_nonblock(in[1], 1), 0);
	fault_begin();
	conn = conn_ws_new(base, in[0], &conn_events, NULL);
	fault_end();
	if (conn == NULL) {
		close(in[0]);
		goto out;
	}
	for (i = 0; i < 2; i++)
		ck_assert_int_eq(send(in[1], frame, 8, 0), 8);
	fault_begin();
	for (i = 0; i < 9 && nmessages < 2 && nended == 0; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	if (nended == 0)
		conn_send(conn, "[1]", 3);
	if (nended == 0 && (room_at = conn_begin(conn, 3)) != NULL) {
		memcpy(room_at, "[2]", 3);
		conn_commit(conn);
		begun = true;
	}
	if (nended == 0)
		conn_flush(conn);
	for (i = 0; i < 9 && nended == 0; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	fault_end();
	n = recv(in[1], got, sizeof(got), 0);
	ck_assert(nended > 0 || fault_error() != 0 ||
	    n == 10);
	if (nended == 0)
		conn_close(conn, 1000, "done");
	close(in[1]);
	in[1] = -1;
	for (i = 0; i < 9 && conn != NULL; i++)
		event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_ptr_null(conn);
 out:
	fd_close(&in[1]);
	event_base_free(base);
	return nmessages == 2 && begun;
}

static bool
recording(void)
{
	char			*argv[] = { folder, NULL };
	struct asciicast	 c = { .is_terminal = true };
	struct asciicast_head	 h = { .time = 1, .session = 2, .rows = 3,
				    .cols = 4, .argv = argv };
	struct buf		 b;
	bool			 ok;

	buf_init(&b, SIZE_MAX);
	fault_begin();
	ok = asciicast_head(&c, &b, &h) == 0 &&
	    asciicast_output(&c, &b, 5, 0, "\xc3\xa4\xc3", 3) == 0 &&
	    asciicast_resize(&c, &b, 6, 7, 8) == 0 &&
	    asciicast_exit(&c, &b, 9, 0) == 0;
	fault_end();
	if (ok)
		ck_assert_int_eq(((char *)buf_data(&b))[b.len - 1], '\n');
	buf_fini(&b);
	return ok;
}

/* --- requests of execsrv-http --- */

static void
on_transfer(void *arg, CURL *easy, CURLcode result)
{
	(void)arg;
	(void)easy;
	ck_abort_msg("ended: %d", (int)result);
}

/* One is sent with all of its headers, or not at all. */
static bool
http_request(void)
{
	struct event_base		*base = event_base_new();
	struct http_loop		*loop;
	struct http_transfer		*t;
	const struct curl_slist		*l;
	unsigned			 n = 0;
	bool				 ok;

	ck_assert_ptr_nonnull(base);
	ck_assert_ptr_nonnull(loop = http_loop_new(base, on_transfer, NULL));
	fault_begin();
	ok = http_transfer_new(&t, "GET", "http://u:p@127.0.0.1/") ==
	    HTTP_URL_OK;
	if (ok) {
		t->loop = loop;
		ok = http_fields_add(&t->headers, "x-a", "1", false) == 0 &&
		    http_transfer_start(t) == 0;
		for (l = t->list; l != NULL; l = l->next)
			n++;
	}
	http_transfer_free(&t);
	fault_end();
	/* Ours, the user, and the three that libcurl would choose. */
	if (ok)
		ck_assert_uint_eq(n, 5);
	http_loop_free(&loop);
	event_base_free(base);
	return ok;
}

static const struct scenario	 list[] = {
	SCENARIO(looking),
	SCENARIO(changing),
	SCENARIO(pieces),
	SCENARIO(discovery),
	SCENARIO(configuration),
	SCENARIO(watching),
	SCENARIO(process_with_pipes),
	SCENARIO(process_at_terminal),
	SCENARIO(output_kept),
	SCENARIO(websocket),
	SCENARIO(recording),
	SCENARIO(http_request),
};

int
main(void)
{
	signal(SIGPIPE, SIG_IGN);
	log_init("check", LOG_LEVEL_ERROR, NULL);
	return fault_main("fault_worker", list,
	    sizeof(list) / sizeof(list[0]));
}
