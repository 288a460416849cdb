/*
 * master/execsrvctl/events.c: which events are wanted, how each looks, files
 * that grow or are rotated.  Time passes in steps of ours.
 */
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/control.h"
#include "master/execsrvctl/events.h"
#include "t/unit/did_help.h"
#include "t/unit/said_help.h"
#include "t/unit/scratch_help.h"

static struct events_look look;
static char		 top[SCRATCH_SIZE], path[80], old[80];
static void		 (*const *step)(void);
static const char	*audit;		/* of the daemon; or NULL */
static int		 asked;		/* what it answers */

/* --- in the place of others --- */

int
poll(struct pollfd *fds, nfds_t n, int ms)
{
	ck_assert(fds == NULL && n == 0 && ms == 200);
	ck_assert_ptr_nonnull(*step);
	(*step++)();
	return 0;
}

int
control_ask_simply(const char *dir, const char *command, struct table **t_out,
    struct control_error *e)
{
	static char			 name[] = "audit";
	static char *const		 names[] = { name };
	static const enum table_kind	 kinds[1] = { TABLE_TEXT };
	char				*cell = (char *)(uintptr_t)audit;

	did("%s %s", dir, command);
	ck_assert_ptr_nonnull(*t_out = table_new(1, names, kinds));
	if (audit != NULL)
		ck_assert_int_eq(table_add(*t_out, 1, &cell), 0);
	strcpy(e->text, "e");
	return asked;
}

int
control_ask(const struct control_request *q, struct table **t_out,
    int *stream_out, struct control_error *e)
{
	static char	 line[] = "{\"time\":\"x\",\"event\":\"a\"}", b[] = "b";
	char		*cells[] = { line, b };

	ck_assert(q->is_patient && stream_out == NULL && q->narg == 0);
	did("%s %s", q->dir, q->command);
	q->on_row(q->arg_of_row, cells + 1, 1);
	q->on_row(q->arg_of_row, cells, 2);
	q->on_row(q->arg_of_row, cells, 1);
	*t_out = NULL;
	strcpy(e->text, "e");
	return asked;
}

void
control_complain(const struct control_error *e)
{
	did("complain %s", e->text);
}

/* --- lines --- */

static void
setup(void)
{
	scratch_make(top, "events");
	snprintf(path, sizeof(path), "%s/log", top);
	snprintf(old, sizeof(old), "%s/old", top);
	ck_assert_int_eq(setenv("TZ", "UTC-2", 1), 0);
	memset(&look, 0, sizeof(look));
	audit = NULL;
	asked = EXIT_OK;
	did_forget();
	said_begin();
}

static void
teardown(void)
{
	said_end();
	unlink(path);
	unlink(old);
	ck_assert_int_eq(rmdir(top), 0);
}

static void
ck_prints(const char *line, const char *want)
{
	char	 copy[400];

	ck_assert_uint_lt(strlen(line), sizeof(copy));
	strcpy(copy, line);
	events_print(&look, copy);
	ck_said("", want);
}

#define AT	"{\"time\":\"2024-02-29T23:00:01.5Z\""
#define SHOWN	"2024-03-01 01:00:01 "

START_TEST(test_look)
{
	ck_prints(AT ",\"event\":\"a\",\"run\":\"r\",\"seq\":1,\"session\":7,"
	    "\"user\":\"u\",\"uid\":5,\"by_user\":\"v\",\"by_uid\":6,"
	    "\"n\":-1.5}", SHOWN "a                session=7 user=u by_user=v "
	    "n=-1.5\n");
	/* Only the number is known: of nobody, of root. */
	ck_prints(AT ",\"event\":\"0123456789abcdef7\",\"uid\":4294967000,"
	    "\"by_uid\":0}", SHOWN "0123456789abcdef7 by_user=root "
	    "user=4294967000\n");
	ck_prints("{\"time\":\"yesterday\"}", "");
	look.since = -1;
	ck_prints("{\"time\":\"yesterday\"}", "yesterday                 \n");
	ck_prints("{\"event\":\"a\"}", "");
	ck_prints("{", "");
	ck_prints("", "");
	ck_prints("[]", "");
}
END_TEST

static const char	*const values[][2] = {
	{ "\"b\"", "b" }, { "\"\"", "\"\"" }, { "\"a b\"", "\"a b\"" },
	{ "\"a=b\"", "\"a=b\"" }, { "\"[\"", "\"[\"" }, { "\"]\"", "\"]\"" },
	{ "\"a\\\"b\\\\\"", "\"a\\\"b\\\\\"" }, { "\"a\\\\\"", "a\\" },
	{ "\"\\u001b\\n\"", "??" }, { "[]", "[]" }, { "true", "true" },
	{ "[\"a\",1,\"b c\",[null]]", "[a 1 \"b c\" [null]]" },
	{ "{\"x\":1}", "{\"x\":1}" },
};

START_TEST(test_value)
{
	char	 line[100], want[100];

	snprintf(line, sizeof(line), AT ",\"event\":\"\\u001b\",\"k\":%s}",
	    values[_i][0]);
	snprintf(want, sizeof(want), SHOWN "?                k=%s\n",
	    values[_i][1]);
	ck_prints(line, want);
}
END_TEST

/* What is given must be so. */
START_TEST(test_wanted)
{
	static const char	 line[] = AT ",\"event\":\"a\",\"session\":7,"
				    "\"user\":\"u\",\"uid\":5,\"by_user\":"
				    "\"v\",\"by_uid\":6}";
	static const char	 out[] = AT ",\"event\":\"a\",\"session\":7,"
				    "\"user\":\"u\",\"uid\":5,\"by_user\":"
				    "\"v\",\"by_uid\":6}\n";
	static const char *const users[] = { "u", "v", "5", "6" };
	size_t			 i;

	look.is_json = true;
	ck_prints(line, out);
	look.since = 1709247601;
	ck_prints(line, out);
	look.since++;
	ck_prints(line, "");
	look.since = 0;
	look.event = "a";
	look.session = "7";
	for (i = 0; i < 4; i++) {
		look.user = users[i];
		ck_prints(line, out);
	}
	look.user = "7";
	ck_prints(line, "");
	look.user = NULL;
	look.session = "8";
	ck_prints(line, "");
	look.session = NULL;
	look.event = "b";
	ck_prints(line, "");
	ck_prints(AT "}", "");
	/* The log has no names; where it has one that counts. */
	look.event = NULL;
	look.user = "root";
	ck_prints(AT ",\"uid\":0}", AT ",\"uid\":0}\n");
	ck_prints(AT ",\"by_uid\":0}", AT ",\"by_uid\":0}\n");
	ck_prints(AT ",\"uid\":1,\"by_uid\":2}", "");
	ck_prints(AT ",\"user\":\"x\",\"uid\":0}", "");
	look.user = "no such user";
	ck_prints(AT ",\"uid\":0}", "");
}
END_TEST

/* --- files --- */

static void
put(const char *name, const char *mode, const char *text)
{
	FILE	*f = fopen(name, mode);

	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
}

static int
show(const char *first, const char *second)
{
	char	*list[2] = { (char *)(uintptr_t)first,
		    (char *)(uintptr_t)second };

	return events_files(&look, list, second == NULL ? 1 : 2);
}

#define LINE(n)	"{\"time\":\"t\",\"n\":" n "}"
#define THREE	LINE("1") "\n" LINE("2") "\n" LINE("3")

START_TEST(test_files)
{
	char	 why[200];

	look.is_json = true;
	look.since = -1;
	put(path, "w", THREE);
	put(old, "w", LINE("0") "\n");
	ck_assert_int_eq(show(old, path), EXIT_OK);
	ck_said("", LINE("0") "\n" THREE "\n");
	look.last = 2;
	ck_assert_int_eq(show(old, path), EXIT_OK);
	ck_said("", LINE("0") "\n" LINE("2") "\n" LINE("3") "\n");
	look.last = 3;
	ck_assert_int_eq(show(path, NULL), EXIT_OK);
	ck_said("", THREE "\n");
	ck_assert_int_eq(unlink(old), 0);
	ck_assert_int_eq(show(old, path), EXIT_OTHER);
	snprintf(why, sizeof(why), "execsrvctl: %s: No such file or directory"
	    "\n", old);
	ck_said(why, THREE "\n");
	ck_assert_int_eq(show(top, NULL), EXIT_OTHER);
	snprintf(why, sizeof(why), "execsrvctl: %s: Is a directory\n", top);
	ck_said(why, "");
	/* Standard input stays open. */
	look.follows = true;
	put(path, "w", LINE("1") "\n");
	ck_assert_ptr_nonnull(freopen(path, "r", stdin));
	ck_assert_int_eq(show("-", NULL), EXIT_OK);
	ck_said("", LINE("1") "\n");
	ck_assert_int_ne(fileno(stdin), -1);
}
END_TEST

/* --- as they grow --- */

static void
append(void)
{
	put(path, "a", LINE("4") "\n{\"time\":\"t\",");
}

static void
append_rest(void)
{
	put(path, "a", "\"n\":5}\n");
}

static void
rotate(void)
{
	put(path, "a", LINE("6") "\n");
	ck_assert_int_eq(rename(path, old), 0);
	put(path, "w", LINE("7") "\n");
}

static void
empty(void)
{
	put(path, "w", "");
}

static void
put_8(void)
{
	put(path, "a", LINE("8") "\n");
}

static void
nothing(void)
{
}

static void
gone(void)
{
	ck_assert_int_eq(unlink(path), 0);
}

static void
folder(void)
{
	gone();
	ck_assert_int_eq(mkdir(path, 0700), 0);
}

/* Nobody reads it any more. */
static FILE	*before;

static void
stop(void)
{
	before = stdout;
	ck_assert_ptr_nonnull(stdout = fopen("/dev/full", "w"));
	putc('x', stdout);
}

static void
ck_follows(void (*const *steps)(void), const char *want)
{
	step = steps;
	ck_assert_int_eq(show(path, NULL), EXIT_OK);
	ck_assert_ptr_null(*step);
	fclose(stdout);
	stdout = before;
	ck_said("", want);
}

#define FOLLOWS(want, ...) \
	ck_follows((void (*const [])(void)){ __VA_ARGS__, NULL }, want)

START_TEST(test_follow)
{
	char	 why[200];

	look.is_json = look.follows = true;
	look.since = -1;
	put(path, "w", LINE("1") "\n" LINE("2") "\n");
	look.last = 1;
	FOLLOWS(LINE("2") "\n" LINE("4") "\n" LINE("5") "\n" LINE("6") "\n"
	    LINE("7") "\n", append, nothing, append_rest, rotate, nothing,
	    stop);
	look.last = 0;
	FOLLOWS(LINE("7") "\n" LINE("8") "\n", empty, put_8, gone, stop);
	put(path, "w", "");
	step = (void (*const [])(void)){ folder, nothing, NULL };
	ck_assert_int_eq(show(path, NULL), EXIT_OTHER);
	snprintf(why, sizeof(why), "execsrvctl: %s: Is a directory\n", path);
	ck_said(why, "");
	ck_assert_int_eq(rmdir(path), 0);
}
END_TEST

/* --- the daemon --- */

static void
ck_path(const char *want, int status, const char *why)
{
	char	*got;
	int	 told = -1;

	got = events_path("/d", &told);
	ck_assert_pstr_eq(got, want);
	ck_assert_int_eq(told, status);
	free(got);
	ck_said(why, "");
	ck_did("/d status; complain e");
}

#define NO_FILE	"execsrvctl: the daemon keeps no audit log in a file "\
		"(AuditLog)\n"

START_TEST(test_path)
{
	ck_path(NULL, EXIT_OTHER, NO_FILE);
	audit = "syslog";
	ck_path(NULL, EXIT_OTHER, NO_FILE);
	audit = "/a/b";
	ck_path("/a/b", EXIT_OK, "");
	audit = "/a/b; 3 events are lost";
	ck_path("/a/b", EXIT_OK, "");
	asked = EXIT_NO_DAEMON;
	ck_path(NULL, EXIT_NO_DAEMON, "");
}
END_TEST

START_TEST(test_watch)
{
	look.is_json = true;
	look.since = -1;
	asked = 7;
	ck_assert_int_eq(events_watch(&look, "/d"), 7);
	ck_said("", "{\"time\":\"x\",\"event\":\"a\"}\n");
	ck_did("/d watch; complain e");
}
END_TEST

/* Whoever wants no more has closed it. */
START_TEST(test_watch_ends)
{
	stop();
	events_watch(&look, "/d");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("events");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_look);
	tcase_add_loop_test(tc, test_value, 0,
	    sizeof(values) / sizeof(values[0]));
	tcase_add_test(tc, test_wanted);
	tcase_add_test(tc, test_files);
	tcase_add_test(tc, test_follow);
	tcase_add_test(tc, test_path);
	tcase_add_test(tc, test_watch);
	suite_add_tcase(s, tc);
	tc = tcase_create("exits");
	tcase_add_exit_test(tc, test_watch_ends, EXIT_OTHER);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
