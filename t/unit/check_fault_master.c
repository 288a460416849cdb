/*
 * The rooms of master/ when a call fails: no crash, nothing left, and whatever
 * says that it worked has.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "master/accept/activation.h"
#include "master/accept/inherited.h"
#include "master/adopt/handoff.h"
#include "master/auth/idmap.h"
#include "master/auth/jwks.h"
#include "master/auth/names.h"
#include "master/auth/peer.h"
#include "master/auth/penalty.h"
#include "master/auth/tokens.h"
#include "master/auth/userdb.h"
#include "master/logs/logfile.h"
#include "common/process/sdnotify.h"
#include "master/remote/cred.h"
#include "master/rundir.h"
#include "master/workers/membudget.h"
#include "master/workers/records.h"
#include "t/unit/fault.h"

static char	 folder[64], path[128];

static void
make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/fault.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/x", folder);
}

static void
remove_folder(void)
{
	unlink(path);
	ck_assert_int_eq(rmdir(folder), 0);
}

static void
write_file(const char *text)
{
	int	 fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

/* --- what outlives us --- */

static unsigned	 nrecords;

static void
on_record(void *arg, const struct record *r)
{
	(void)arg;
	ck_assert_str_eq(r->id, "some id");
	nrecords++;
}

static void
on_damaged(void *arg, size_t position, const char *why)
{
	(void)arg;
	ck_abort_msg("%zu: %s", position, why);
}

static bool
records(void)
{
	static const struct records_events	 events = {
		on_record, on_damaged
	};
	struct record		 r = { .kind = RECORD_SESSION, .id = "some id",
				    .number = 1 };
	struct records_head	 h;
	struct records		*t;
	char			 why[RECORDS_WHY];
	int			 slot = -1, found = 0;
	bool			 ok = false;

	make_folder();
	snprintf(path, sizeof(path), "%s/" RECORDS_FILE, folder);
	nrecords = 0;
	fault_begin();
	if ((t = records_new(folder)) != NULL) {
		ok = records_put(t, &slot, &r) == 0 && records_publish(t) == 0;
		if (ok)
			found = records_read(folder, &h, &events, NULL, why);
	}
	fault_end();
	/* What is published is there, if it can be read. */
	ck_assert(!ok || found != 0);
	ck_assert_uint_eq(nrecords, found == 1);
	records_free(&t, false);
	ck_assert_int_eq(access(path, F_OK), -1);
	remove_folder();
	return found == 1;
}

static bool
handing_over(void)
{
	static struct handoff	 h;
	static struct inherited	 in;
	static struct activation passed;
	struct handoff_lines	 l;
	struct handoff_program	 p;
	static char		 name[] = "nobody", *argv[] = { name, NULL };
	int			 fd[3], i;
	char			 text[512] = "";
	bool			 put, taken = false;

	memset(&in, 0, sizeof(in));
	memset(&passed, 0, sizeof(passed));
	for (i = 0; i < 3; i++)
		ck_assert_int_ne(fd[i] = fcntl(STDERR_FILENO,
		    F_DUPFD_CLOEXEC, 40), -1);
	handoff_lines_init(&l);
	handoff_program_init(&p, argv);
	fault_begin();
	put = handoff_put(&l, HANDOFF_LISTEN, fd[0], "a b") == 0 &&
	    handoff_put(&l, HANDOFF_PASSED, fd[1], "c") == 0 &&
	    handoff_put(&l, HANDOFF_LOCK, fd[2], "/d e") == 0 &&
	    handoff_put(&l, HANDOFF_PROGRAM, -1, "f") == 0;
	fault_end();
	if (put)
		snprintf(text, sizeof(text), "%.*s", (int)l.text.len,
		    (const char *)buf_data(&l.text));
	/* A program that is not there: we go on. */
	snprintf(p.path, sizeof(p.path), "/nonexistent");
	fault_begin();
	handoff_exec(&p, &l);
	fault_end();
	handoff_lines_fini(&l);
	handoff_program_fini(&p);
	for (i = 0; i < 3; i++)
		ck_assert(fault_error() != 0 ||
		    (fcntl(fd[i], F_GETFD) & FD_CLOEXEC) != 0);
	if (put) {
		ck_assert_int_eq(setenv(HANDOFF_VARIABLE, text, 1), 0);
		fault_begin();
		taken = handoff_take_env(&h, &in, &passed) == 0;
		fault_end();
		ck_assert(h.is_any);
		if (taken) {
			ck_assert_str_eq(h.text[HANDOFF_PROGRAM], "f");
			ck_assert_str_eq(h.text[HANDOFF_LOCK], "/d e");
			ck_assert_int_eq(handoff_take(&h, HANDOFF_LOCK),
			    fd[2]);
			ck_assert_int_eq(handoff_take(&h, HANDOFF_LOCK), -1);
			ck_assert_int_eq(inherited_take(&in, "a b", false),
			    fd[0]);
			ck_assert_str_eq(passed.name[0], "c");
			ck_assert_ptr_null(getenv(HANDOFF_VARIABLE));
		}
		unsetenv(HANDOFF_VARIABLE);
		handoff_fini(&h);
		inherited_fini(&in);
		activation_fini(&passed);
	}
	for (i = 0; i < 3; i++)
		close(fd[i]);
	return put && taken;
}

static bool
run_directory(void)
{
	static struct handoff	 none;
	struct stat		 st;
	char			*dir = NULL;
	int			 lock = -1;
	size_t			 i;
	bool			 ok;

	for (i = 0; i < HANDOFF_KINDS; i++)
		none.fd[i] = -1;
	make_folder();
	fault_begin();
	ok = rundir_open(path, &none, &dir, &lock) == 0;
	fault_end();
	ck_assert_int_eq(ok, dir != NULL);
	ck_assert_int_eq(ok, lock != -1);
	if (ok) {
		ck_assert(stat(path, &st) == 0 && S_ISDIR(st.st_mode));
		rundir_close(&dir, &lock);
	}
	/* The lock of one that was not opened. */
	snprintf(path + strlen(path), 8, "/lock");
	unlink(path);
	path[strlen(path) - 5] = '\0';
	rmdir(path);
	ck_assert_int_eq(rmdir(folder), 0);
	return ok;
}

/* --- who is there --- */

static bool
token_sets(void)
{
	const struct passwd	*pw = getpwuid(geteuid());
	struct conf		 c;
	struct conf_error	 e = { "" };
	struct tokens		*t;
	struct grant		 grant;
	bool			 is_guess;
	char			 text[256];

	/* sha256 of "abc" */
	snprintf(text, sizeof(text), "one sha256:ba7816bf8f01cfea414140de5dae2"
	    "223b00361a396177a9cb410ff61f20015ad user=%s\n", pw->pw_name);
	make_folder();
	write_file(text);
	ck_assert_int_eq(conf_init(&c), 0);
	ck_assert_int_eq(conf_set(&c, "PermitRootSession", "yes", &e), 0);
	ck_assert_int_eq(conf_set(&c, "TokenFile", path, &e), 0);
	fault_begin();
	t = tokens_load(&c, &e);
	fault_end();
	ck_assert((t == NULL) == (e.text[0] != '\0'));
	if (t != NULL) {
		ck_assert_ptr_null(tokens_judge(t, "abc", 3, 1000, &grant,
		    &is_guess));
		ck_assert_str_eq(grant.identity, "token:one");
	}
	tokens_free(&t);
	names_end();
	conf_fini(&c);
	remove_folder();
	return e.text[0] == '\0';
}

static bool
key_sets(void)
{
	static const char	 text[] = "{\"keys\":[{\"kty\":\"EC\","
	    "\"crv\":\"P-256\","
	    "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
	    "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\"}]}";
	struct jwks	*k;
	char		 why[256] = "";

	fault_begin();
	k = jwks_new(text, sizeof(text) - 1, why, sizeof(why));
	fault_end();
	ck_assert((k == NULL) == (why[0] != '\0'));
	if (k == NULL)
		return false;
	jwks_free(&k);
	return true;
}

/* Whoever cannot be known is not known, or not there. */
static bool
peers(void)
{
	struct peer	 p;
	struct idmap	 im;
	int		 pair[2], diag = -1, r;

	idmap_read(&im);
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	memset(&p, 0, sizeof(p));
	fault_begin();
	r = peer_identify(pair[0], PEER_WAY_NONE, &diag, 0, &im, &p);
	fault_end();
	if (r == 0 && p.known)
		ck_assert_uint_eq(p.uid, geteuid());
	fd_close(&diag);
	close(pair[0]);
	close(pair[1]);
	return r == 0 && p.known;
}

static void
on_news(void *arg)
{
	++*(unsigned *)arg;
}

static bool
users(void)
{
	struct event_base	*base = event_base_new();
	struct userdb		*d;
	const Ipc__User		*u = NULL;
	enum userdb_state	 state = USERDB_FAILED;
	unsigned		 nnews = 0;
	pid_t			 pid;

	fault_begin();
	if ((d = userdb_new(base, on_news, &nnews)) != NULL) {
		state = userdb_find(d, geteuid(), &u);
		while (state == USERDB_ASKED) {
			event_base_loop(base, EVLOOP_ONCE);
			state = userdb_find(d, geteuid(), &u);
		}
	}
	fault_end();
	if (state == USERDB_KNOWN && u != NULL)
		ck_assert_uint_eq(u->gid, getegid());
	if (d != NULL) {
		userdb_flush(d);
		while ((pid = waitpid(-1, NULL, 0)) > 0)
			ck_assert(userdb_on_exit(d, pid));
	}
	userdb_free(&d);
	event_base_free(base);
	return state == USERDB_KNOWN && u != NULL;
}

static bool
shares(void)
{
	struct membudget	*b;
	struct share		*s[3] = { NULL, NULL, NULL };
	struct held		 want = { 1000, 0 }, got;
	struct penalties	*p;
	unsigned		 i, n = 0, told;
	char			 name[8];

	fault_begin();
	if ((b = membudget_new()) != NULL)
		for (i = 0; i < 3; i++) {
			snprintf(name, sizeof(name), "u%u", i / 2);
			got = membudget_ask(b, &s[i], name, want, 5000, 9000);
			ck_assert_int_eq(s[i] != NULL, got.output == 1000);
			n += s[i] != NULL;
			ck_assert_uint_eq(membudget_total(b), n * 1000);
		}
	if ((p = penalties_new()) != NULL) {
		told = penalties_add(p, "somebody", true, 1000);
		n += told;
		ck_assert_uint_le(told, 1);
	}
	fault_end();
	if (b != NULL)
		for (i = 0; i < 3; i++)
			membudget_leave(b, &s[i]);
	membudget_free(&b);
	penalties_free(&p);
	return n == 4;
}

/* --- what is told --- */

static bool
log_files(void)
{
	struct event_base	*base = event_base_new();
	struct logfile		*l;
	struct stat		 st;
	bool			 ok = false, moved = false;

	make_folder();
	fault_begin();
	if ((l = logfile_new(path)) != NULL) {
		ok = logfile_start(l, base) == 0;
		fault_end();
		ck_assert_int_eq(write(logfile_pipe(l), "a line\n", 7), 7);
		event_base_loop(base, EVLOOP_NONBLOCK);
		ck_assert_int_eq(stat(path, &st), 0);
		ck_assert_int_eq(st.st_size, ok ? 7 : 0);
		ck_assert_int_eq(unlink(path), 0);
		fault_begin();
		/* Whoever cannot open another one goes on with the old. */
		moved = logfile_reopen(l) == 0;
		fault_end();
		ck_assert_int_eq(write(logfile_pipe(l), "more\n", 5), 5);
	}
	logfile_free(&l);
	fault_end();
	if (moved)
		ck_assert(stat(path, &st) == 0 && st.st_size == 5);
	event_base_free(base);
	remove_folder();
	return ok && moved;
}

static bool
managers(void)
{
	struct event_base	*base = event_base_new();
	struct sdnotify		*n = NULL, *env;
	char			 text[64] = "";
	int			 pair[2];
	bool			 ok;

	ck_assert_int_eq(fd_packet_pair(pair), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", "/nonexistent", 1), 0);
	ck_assert_int_eq(setenv("WATCHDOG_USEC", "1000000", 1), 0);
	fault_begin();
	env = sdnotify_take_env();
	ok = sdnotify_take_fd(&n, pair[0]) == 0;
	sdnotify_start(env, base);
	sdnotify_start(n, base);
	sdnotify_ready(n);
	sdnotify_ready(env);
	sdnotify_status(n, "%d", 1);
	fault_end();
	ck_assert_ptr_null(getenv("NOTIFY_SOCKET"));
	if (ok) {
		ck_assert_int_gt(recv(pair[1], text, sizeof(text) - 1,
		    MSG_DONTWAIT), 0);
		/* What cannot be sent is not said again. */
		ck_assert_str_eq(text, fault_error() == ENOBUFS &&
		    text[0] == 'S' ? "STATUS=1" : "READY=1");
	} else
		close(pair[0]);
	ok = ok && env != NULL;
	sdnotify_free(&n);
	sdnotify_free(&env);
	close(pair[1]);
	event_base_free(base);
	return ok;
}

/* --- credentials of the other side --- */

static bool
credentials(void)
{
	struct cred	 c = { .source = CRED_NONE }, copy = c, kept = c;
	char		 why[256] = "";
	int		 fd = -1;
	bool		 read, taken, ok;

	make_folder();
	write_file("sesame\r\n");
	ck_assert_int_eq(setenv("CODEX_API_KEY", "open", 1), 0);
	fault_begin();
	read = cred_read_file(&c, path, why, sizeof(why)) == 0;
	fault_end();
	ck_assert(read == (why[0] == '\0'));
	if (read)
		ck_assert_str_eq(c.token, "sesame");
	cred_fini(&c);
	fault_begin();
	taken = cred_take_env(&c) == 0;
	ok = taken && cred_copy(&copy, &c) == 0 &&
	    (fd = cred_keep(&copy)) >= 0 && cred_take_kept(&kept, fd) == 0;
	fault_end();
	ck_assert_ptr_null(getenv("CODEX_API_KEY"));
	/* One that could not be taken is not none. */
	if (taken)
		ck_assert_str_eq(c.token, "open");
	if (ok) {
		ck_assert_str_eq(kept.token, "open");
		ck_assert_int_eq(kept.source, CRED_API_KEY);
	}
	cred_fini(&c);
	cred_fini(&copy);
	cred_fini(&kept);
	if (fd >= 0)
		close(fd);
	remove_folder();
	return read && ok;
}

static const struct scenario	 list[] = {
	SCENARIO(records),
	SCENARIO(handing_over),
	SCENARIO(run_directory),
	SCENARIO(token_sets),
	SCENARIO(key_sets),
	SCENARIO(peers),
	SCENARIO(users),
	SCENARIO(shares),
	SCENARIO(log_files),
	SCENARIO(managers),
	SCENARIO(credentials),
};

int
main(void)
{
	log_init("check", LOG_LEVEL_ERROR, NULL);
	return fault_main("fault_master", list,
	    sizeof(list) / sizeof(list[0]));
}
