/*
 * worker/session/transcript.c: what is written, where to, and when it ends.
 * The master, the clocks and the audit log are ours.
 */
#include <sys/mman.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/conf/conf.h"
#include "common/limit.h"
#include "worker/proc/proc.h"
#include "worker/session/asciicast.h"
#include "worker/session/exec_audit.h"
#include "worker/session/link.h"
#include "worker/session/transcript.h"

#define EARLY_ENOUGH	(128 * 1024)

#define HEAD		"{\"timestamp\":77,\"session\":9}\n"
#define STARTED(id, pid)						\
	"{\"t\":0.000000,\"process\":\"" id				\
	"\",\"event\":\"start\",\"pid\":" pid "}\n"
#define WROTE(id, stream, data)						\
	"{\"t\":0.000000,\"process\":\"" id "\",\"stream\":\"" stream	\
	"\",\"data\":\"" data "\"}\n"
#define CUT(why)							\
	"{\"t\":0.000000,\"event\":\"cut\",\"why\":\"" why "\"}\n"
#define PTY_HEAD							\
	"{\"version\":2,\"width\":132,\"height\":43,"			\
	"\"timestamp\":77,\"title\":\"session 9\"}\n"

static struct env		 env;
static struct transcripts	*all;
static struct proc		 procs[3];
static char			*argv[] = { (char []){ "cat" },
				    (char []){ "-v" }, NULL };
static struct spawn		 sp = { .argv = argv, .rows = 43, .cols = 132 };
static char			 did[200];	/* asked of the master */
static bool			 master_is_gone, fits;
static uint64_t			 now_us, timer_ms;
static int			 file;

/* --- in the place of the clocks, the link and the audit log --- */

time_t
time(time_t *out)
{
	(void)out;
	return 77;
}

uint64_t
clock_ms(void)
{
	return now_us / 1000;
}

uint64_t
clock_us(void)
{
	return now_us;
}

struct timeval
clock_timeval(uint64_t ms)
{
	struct timeval	 now = { 0, 0 };

	timer_ms = ms;
	return now;
}

int
link_ask_transcript(struct link *l, uint32_t ticket, bool is_terminal)
{
	size_t	 len = strlen(did);

	ck_assert(l == (struct link *)(void *)&env);
	ck_assert_uint_lt(len + 20, sizeof(did));
	snprintf(did + len, sizeof(did) - len, "%s %u; ", is_terminal ?
	    "terminal" : "pipes", ticket);
	return master_is_gone ? -1 : 0;
}

bool
exec_audit_fits(char *const *of)
{
	ck_assert_ptr_eq(of, argv);
	return fits;
}

/* --- the tests --- */

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

static void
setup(void)
{
	static const char	*ids[] = { "\"a\"", "\"b\"", "\"c\"" };
	size_t			 i;

	memset(&env, 0, sizeof(env));
	ck_assert_ptr_nonnull(env.base = event_base_new());
	env.number = 9;
	env.set.transcript = CONF_TRANSCRIPT_ALL;
	env.set.transcript_max = 1 << 20;
	for (i = 0; i < 3; i++) {
		memset(&procs[i], 0, sizeof(procs[i]));
		procs[i].pid = 40 + (pid_t)i;
		procs[i].json_id = (char *)(uintptr_t)ids[i];
		procs[i].json_id_len = strlen(ids[i]);
		sinks_init(&procs[i].sinks);
	}
	sp.tty = false;
	did[0] = '\0';
	master_is_gone = false;
	fits = true;
	now_us = 5000000;
	timer_ms = 0;
	all = NULL;
	ck_assert_int_ne(file = memfd_create("transcript", MFD_CLOEXEC), -1);
}

static void
teardown(void)
{
	transcripts_end(all);
	transcripts_free(&all);
	ck_assert_ptr_null(all);
	close(file);
	event_base_free(env.base);
}

static void
begin(struct proc *p)
{
	transcript_start(&all, &env, (struct link *)(void *)&env, 0, p, &sp);
}

static void
begin_on_terminal(struct proc *p)
{
	sp.tty = true;
	begin(p);
	sp.tty = false;
}

static void
put(struct proc *p, uint8_t stream, const char *data)
{
	struct output	 o = { .stream = stream, .data = data };

	o.len = strlen(data);
	sinks_output(&p->sinks, &o);
}

/* The master's answer: the file.  The descriptor that was given. */
static int
open_file(uint32_t ticket)
{
	int	 fd = dup(file), given = fd;

	transcripts_opened(all, ticket, &fd);
	ck_assert_int_eq(fd, -1);
	return given;
}

/* Nobody wants the file. */
static void
open_in_vain(uint32_t ticket)
{
	int	 fd = file;

	transcripts_opened(all, ticket, &fd);
	ck_assert_int_eq(fd, file);
}

static void
ck_written(const char *what)
{
	char	 text[2000];
	ssize_t	 n = pread(file, text, sizeof(text) - 1, 0);

	ck_assert_int_ge(n, 0);
	text[n] = '\0';
	ck_assert_str_eq(text, what);
}

static void
empty_file(void)
{
	ck_assert_int_eq(ftruncate(file, 0), 0);
	ck_assert_int_eq(lseek(file, 0, SEEK_SET), 0);
}

static bool
is_open(int fd)
{
	return fcntl(fd, F_GETFD) != -1;
}

/* By the setting: of no process, of those on terminals, of all. */
START_TEST(test_setting)
{
	env.set.transcript = CONF_TRANSCRIPT_NONE;
	begin(&procs[0]);
	begin_on_terminal(&procs[1]);
	ck_assert_ptr_null(all);
	env.set.transcript = CONF_TRANSCRIPT_PTY;
	begin(&procs[0]);
	ck_assert_ptr_null(all);
	ck_assert_uint_eq(transcripts_used(all), 0);
	ck_did("");
	begin_on_terminal(&procs[1]);
	ck_did("terminal 1; ");
	begin(&procs[0]);
	ck_did("");
	ck_assert(TAILQ_EMPTY(&procs[0].sinks.list));
	transcripts_end(all);
	ck_assert(TAILQ_EMPTY(&procs[1].sinks.list));
	transcripts_free(&all);
	env.set.transcript = CONF_TRANSCRIPT_ALL;
	begin(&procs[0]);
	begin_on_terminal(&procs[1]);
	ck_did("pipes 1; terminal 2; ");
}
END_TEST

/* One file for all pipes: what came before it is there first. */
START_TEST(test_pipes)
{
	int	 fd;

	begin(&procs[0]);
	put(&procs[0], STREAM_STDOUT, "one");
	begin(&procs[1]);
	ck_did("pipes 1; ");
	open_in_vain(2);
	fd = open_file(1);
	ck_written(HEAD STARTED("a", "40") WROTE("a", "stdout", "one")
	    STARTED("b", "41"));
	put(&procs[1], STREAM_STDERR, "two");
	sinks_resize(&procs[1].sinks, 1, 2);
	procs[0].exit_code = 3;
	sinks_exit(&procs[0].sinks);
	sinks_close(&procs[0].sinks);
	ck_assert(TAILQ_EMPTY(&procs[0].sinks.list));
	/* Part of a character, and then no more. */
	put(&procs[1], STREAM_STDOUT, "\xc3");
	sinks_close(&procs[1].sinks);
	ck_written(HEAD STARTED("a", "40") WROTE("a", "stdout", "one")
	    STARTED("b", "41") WROTE("b", "stderr", "two")
	    "{\"t\":0.000000,\"process\":\"a\",\"event\":\"exit\",\"code\":3}\n"
	    "{\"t\":0.000000,\"process\":\"b\",\"stream\":\"stdout\","
	    "\"base64\":\"ww==\"}\n");
	/* It stays open for the next. */
	ck_assert(is_open(fd));
	open_in_vain(1);
	begin(&procs[2]);
	ck_did("");
	transcripts_end(all);
	transcripts_free(&all);
	ck_assert(!is_open(fd));
}
END_TEST

/* The time is since the file was begun. */
START_TEST(test_time)
{
	begin(&procs[0]);
	now_us += 1500001;
	put(&procs[0], STREAM_STDOUT, "x");
	open_file(1);
	ck_written(HEAD STARTED("a", "40") "{\"t\":1.500001,\"process\":\"a\","
	    "\"stream\":\"stdout\",\"data\":\"x\"}\n");
}
END_TEST

static void
ck_first_lines(uint32_t ticket, const char *what)
{
	open_file(ticket);
	ck_written(what);
	transcripts_end(all);
	transcripts_free(&all);
	empty_file();
	did[0] = '\0';
}

/* Arguments if they are logged, and are not too long. */
START_TEST(test_arguments)
{
	env.set.log_arguments = true;
	begin(&procs[0]);
	ck_first_lines(1, HEAD "{\"t\":0.000000,\"process\":\"a\",\"event\":"
	    "\"start\",\"pid\":40,\"arguments\":[\"cat\",\"-v\"]}\n");
	begin_on_terminal(&procs[0]);
	ck_first_lines(1, "{\"version\":2,\"width\":132,\"height\":43,"
	    "\"timestamp\":77,\"title\":\"session 9\","
	    "\"command\":\"cat -v\"}\n");
	fits = false;
	begin(&procs[0]);
	ck_first_lines(1, HEAD STARTED("a", "40"));
	begin_on_terminal(&procs[0]);
	ck_first_lines(1, PTY_HEAD);
}
END_TEST

/* An id of more than 256 bytes is not in each line. */
START_TEST(test_ids)
{
	char	 id[259], want[600];

	memset(id, 'i', sizeof(id));
	id[0] = id[255] = '"';
	id[256] = '\0';
	procs[0].json_id = id;
	procs[0].json_id_len = 256;
	snprintf(want, sizeof(want), HEAD "{\"t\":0.000000,\"process\":%s,"
	    "\"event\":\"start\",\"pid\":40}\n", id);
	begin(&procs[0]);
	ck_first_lines(1, want);
	id[255] = 'i';
	id[256] = '"';
	id[257] = '\0';
	procs[0].json_id_len = 257;
	begin(&procs[0]);
	ck_first_lines(1, HEAD STARTED("pid 40", "40"));
}
END_TEST

/* A file for each; it is closed with the process. */
START_TEST(test_terminal)
{
	int	 fd;

	begin_on_terminal(&procs[0]);
	begin_on_terminal(&procs[1]);
	ck_did("terminal 1; terminal 2; ");
	fd = open_file(2);
	put(&procs[1], STREAM_PTY, "hi\r\n");
	sinks_resize(&procs[1].sinks, 24, 80);
	procs[1].exit_code = 7;
	sinks_exit(&procs[1].sinks);
	ck_assert(is_open(fd));
	sinks_close(&procs[1].sinks);
	ck_assert(!is_open(fd));
	ck_written(PTY_HEAD "[0.000000,\"o\",\"hi\\r\\n\"]\n"
	    "[0.000000,\"r\",\"80x24\"]\n[0.000000,\"m\",\"exit 7\"]\n");
}
END_TEST

/* The process has ended before its file is there; or is forgotten. */
START_TEST(test_ended_early)
{
	int	 fd;

	begin_on_terminal(&procs[0]);
	begin_on_terminal(&procs[1]);
	sinks_close(&procs[0].sinks);
	sinks_fini(&procs[1].sinks);
	ck_assert(TAILQ_EMPTY(&procs[0].sinks.list));
	fd = open_file(1);
	ck_assert(!is_open(fd));
	ck_written(PTY_HEAD);
	open_in_vain(1);
	fd = open_file(2);
	ck_assert(!is_open(fd));
	ck_written(PTY_HEAD PTY_HEAD);
	sinks_init(&procs[1].sinks);
}
END_TEST

/* To the byte; with room reserved for the last line of each file. */
START_TEST(test_max)
{
	static const char	 begun[] = HEAD STARTED("a", "40"),
				 more[] = WROTE("a", "stdout", "x");
	size_t			 len = sizeof(begun) - 1 + sizeof(more) - 1;
	int			 fd;

	env.set.transcript_max = 1000 + ASCIICAST_END_MAX + len;
	transcript_start(&all, &env, (struct link *)(void *)&env, 1000,
	    &procs[0], &sp);
	ck_assert_uint_eq(transcripts_used(all), ASCIICAST_END_MAX +
	    sizeof(begun) - 1);
	fd = open_file(1);
	put(&procs[0], STREAM_STDOUT, "x");
	ck_assert_uint_eq(transcripts_used(all), ASCIICAST_END_MAX + len);
	ck_written(HEAD STARTED("a", "40") WROTE("a", "stdout", "x"));
	put(&procs[0], STREAM_STDOUT, "x");
	ck_assert(!is_open(fd));
	ck_written(HEAD STARTED("a", "40") WROTE("a", "stdout", "x")
	    CUT("TranscriptMax"));
	/* That was all. */
	put(&procs[0], STREAM_STDOUT, "x");
	sinks_resize(&procs[0].sinks, 1, 2);
	sinks_exit(&procs[0].sinks);
	sinks_close(&procs[0].sinks);
	begin(&procs[1]);
	begin_on_terminal(&procs[2]);
	ck_did("pipes 1; ");
	ck_assert(TAILQ_EMPTY(&procs[1].sinks.list));
	ck_written(HEAD STARTED("a", "40") WROTE("a", "stdout", "x")
	    CUT("TranscriptMax"));
}
END_TEST

/* No room for a file: for one byte less than its last line. */
START_TEST(test_no_room)
{
	env.set.transcript_max = ASCIICAST_END_MAX - 1;
	begin_on_terminal(&procs[0]);
	ck_did("");
	transcripts_free(&all);
	env.set.transcript_max = ASCIICAST_END_MAX;
	begin_on_terminal(&procs[0]);
	ck_did("terminal 1; ");
	open_file(1);
	ck_written("[0.000000,\"m\",\"cut: TranscriptMax\"]\n");
}
END_TEST

/* All files end, and those that are not there yet do not come. */
START_TEST(test_refused)
{
	int	 fd;

	transcripts_refused(NULL, "no");
	begin(&procs[0]);
	begin_on_terminal(&procs[1]);
	begin_on_terminal(&procs[2]);
	sinks_close(&procs[2].sinks);
	fd = open_file(1);
	transcripts_refused(all, "no folder");
	ck_assert(!is_open(fd));
	ck_written(HEAD STARTED("a", "40") CUT("no folder"));
	open_in_vain(3);
	/* Not said again. */
	transcripts_refused(all, "no disk");
	ck_written(HEAD STARTED("a", "40") CUT("no folder"));
	begin(&procs[0]);
	ck_did("pipes 1; terminal 2; terminal 3; ");
}
END_TEST

/* A descriptor that could not be received; one that cannot be written. */
START_TEST(test_files)
{
	int	 none = -1, fd;

	transcripts_opened(NULL, 1, &none);
	begin(&procs[0]);
	begin_on_terminal(&procs[1]);
	transcripts_opened(all, 2, &none);
	fd = open_file(1);
	ck_assert(!is_open(fd));
	ck_written(HEAD STARTED("a", "40") CUT("out of file descriptors"));
	transcripts_end(all);
	transcripts_free(&all);

	did[0] = '\0';
	begin(&procs[0]);
	begin_on_terminal(&procs[1]);
	ck_assert_int_ne(fd = open("/dev/null", O_RDONLY | O_CLOEXEC), -1);
	transcripts_opened(all, 1, &fd);
	empty_file();
	open_file(2);
	ck_written(PTY_HEAD "[0.000000,\"m\",\"cut: Bad file descriptor\"]\n");
}
END_TEST

/* The master does not answer in time.  What came until then is written. */
START_TEST(test_late)
{
	int	 fd;

	begin(&procs[0]);
	ck_assert_uint_eq(timer_ms, LIMIT_TRANSCRIPT_FILE);
	now_us += 1000;
	begin_on_terminal(&procs[1]);
	open_file(1);
	/* The younger one has a millisecond left. */
	timer_ms = 0;
	now_us += (LIMIT_TRANSCRIPT_FILE - 1) * (uint64_t)1000;
	event_base_loop(env.base, EVLOOP_ONCE);
	ck_assert_uint_eq(timer_ms, 1);
	ck_written(HEAD STARTED("a", "40"));
	now_us += 1000;
	timer_ms = 0;
	event_base_loop(env.base, EVLOOP_ONCE);
	ck_assert_uint_eq(timer_ms, 0);
	ck_assert_int_eq(event_base_loop(env.base, EVLOOP_NONBLOCK), 1);
	empty_file();
	put(&procs[1], STREAM_PTY, "no more");
	fd = open_file(2);
	ck_assert(!is_open(fd));
	ck_written(PTY_HEAD
	    "[5.000000,\"m\",\"cut: the server does not answer\"]\n");
}
END_TEST

/* In time: the timer asks no more. */
START_TEST(test_in_time)
{
	begin(&procs[0]);
	open_file(1);
	timer_ms = 0;
	now_us += (LIMIT_TRANSCRIPT_FILE + 1) * (uint64_t)1000;
	event_base_loop(env.base, EVLOOP_ONCE);
	ck_assert_uint_eq(timer_ms, 0);
	ck_assert_int_eq(event_base_loop(env.base, EVLOOP_NONBLOCK), 1);
	ck_written(HEAD STARTED("a", "40"));
}
END_TEST

/* The next master is asked for what is missing; or there is none. */
START_TEST(test_masters)
{
	transcripts_adopted(NULL);
	transcripts_lost(NULL);
	begin(&procs[0]);
	begin_on_terminal(&procs[1]);
	begin_on_terminal(&procs[2]);
	open_file(2);
	did[0] = '\0';
	transcripts_adopted(all);
	ck_did("pipes 1; terminal 3; ");
	master_is_gone = true;
	transcripts_adopted(all);
	ck_did("pipes 1; ");
	transcripts_lost(all);
	ck_written(PTY_HEAD "[0.000000,\"m\",\"cut: the server has died\"]\n");
}
END_TEST

/* With all files there the session goes on without one. */
START_TEST(test_without_master)
{
	int	 fd;

	begin(&procs[0]);
	fd = open_file(1);
	transcripts_lost(all);
	ck_assert(is_open(fd));
	master_is_gone = true;
	begin_on_terminal(&procs[1]);
	ck_did("pipes 1; terminal 2; ");
	ck_assert(TAILQ_EMPTY(&procs[1].sinks.list));
	ck_assert(!is_open(fd));
	ck_written(HEAD STARTED("a", "40") CUT("the server has died"));
}
END_TEST

/* Output is held back while much of it waits for a file. */
START_TEST(test_full)
{
	static char	 much[EARLY_ENOUGH];
	static const char	 rest[] = WROTE("a", "stdout", "");
	size_t		 len = sizeof(HEAD STARTED("a", "40")) - 1 +
			    sizeof(rest) - 1;

	begin(&procs[0]);
	memset(much, 'x', sizeof(much));
	much[EARLY_ENOUGH - len] = '\0';
	put(&procs[0], STREAM_STDOUT, much);
	ck_assert(!sinks_full(&procs[0].sinks));
	put(&procs[0], STREAM_STDOUT, "x");
	ck_assert(sinks_full(&procs[0].sinks));
	open_file(1);
	ck_assert(!sinks_full(&procs[0].sinks));
	transcripts_end(all);
	transcripts_free(&all);
	begin(&procs[0]);
	much[EARLY_ENOUGH - len] = 'x';
	much[EARLY_ENOUGH - 1] = '\0';
	put(&procs[0], STREAM_STDOUT, much);
	ck_assert(sinks_full(&procs[0].sinks));
	transcripts_refused(all, "no");
	ck_assert(!sinks_full(&procs[0].sinks));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("transcript");
	TCase	*t = tcase_create("transcript");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_setting);
	tcase_add_test(t, test_pipes);
	tcase_add_test(t, test_time);
	tcase_add_test(t, test_arguments);
	tcase_add_test(t, test_ids);
	tcase_add_test(t, test_terminal);
	tcase_add_test(t, test_ended_early);
	tcase_add_test(t, test_max);
	tcase_add_test(t, test_no_room);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_files);
	tcase_add_test(t, test_late);
	tcase_add_test(t, test_in_time);
	tcase_add_test(t, test_masters);
	tcase_add_test(t, test_without_master);
	tcase_add_test(t, test_full);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
