/*
 * master/execsrvctl/logs.c: of which session, process and time transcripts are
 * shown.  The daemon's answers are ours.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/execsrvctl/control.h"
#include "master/execsrvctl/ctl_tail.h"
#include "master/execsrvctl/logs.h"
#include "t/unit/fstree_help.h"

static struct logs_look	 look;
static int		 status;	/* of "show" */
static const char	*folder;	/* that it tells, or NULL */
static const char	*top;		/* that "status" tells, or NULL */
static char		 said[500];

/* --- in the place of the daemon --- */

#define SHOWN	((struct table *)8)
#define STATUS	((struct table *)16)

int
control_ask(const struct control_request *q, struct table **t_out,
    int *stream_out, struct control_error *e)
{
	(void)stream_out;
	e->text[0] = '\0';
	*t_out = NULL;
	if (strcmp(q->command, "show") == 0) {
		ck_assert(q->narg == 1 && q->arg[0] == look.session);
		*t_out = SHOWN;
		return status;
	}
	strcat(said, q->command);
	return EXIT_OTHER;
}

int
control_ask_simply(const char *dir, const char *command,
    struct table **t_out, struct control_error *e)
{
	(void)dir;
	(void)e;
	ck_assert_str_eq(command, "status");
	*t_out = STATUS;
	return EXIT_OK;
}

void
control_complain(const struct control_error *e)
{
	(void)e;
	strcat(said, "!");
}

const char *
table_cell(const struct table *t, const char *column)
{
	if (t == STATUS) {
		ck_assert_str_eq(column, "transcripts");
		return top;
	}
	ck_assert_ptr_eq(t, SHOWN);
	ck_assert_str_eq(column, "transcript");
	return folder;
}

char *
table_take(struct table *t, const char *column)
{
	(void)t;
	(void)column;
	return NULL;
}

void
table_free(struct table **tp)
{
	*tp = NULL;
}

int
ctl_tail_put(FILE *out, const void *data, size_t len)
{
	size_t	 n = strlen(said);

	ck_assert_uint_lt(n + len + 2, sizeof(said));
	snprintf(said + n, sizeof(said) - n, "%s%.*s", out == stderr ? "2" :
	    "", (int)len, (const char *)data);
	return 0;
}

size_t
ctl_tail_skip(struct ctl_tail_lines *l, const void *data, size_t len)
{
	(void)data;
	(void)len;
	ck_assert(!l->counts);
	return 0;
}

int
ctl_tail_show(const struct control_request *q, int stream, bool is_json,
    struct ctl_tail_lines *lines)
{
	(void)q;
	(void)stream;
	(void)is_json;
	(void)lines;
	return EXIT_OTHER;
}

/* --- transcripts --- */

static void
write_one(const char *path, const char *text)
{
	char	 where[4096];
	FILE	*f;

	snprintf(where, sizeof(where), "%s/%s", base, path);
	ck_assert_ptr_nonnull(f = fopen(where, "w"));
	ck_assert_int_ge(fputs(text, f), 0);
	ck_assert_int_eq(fclose(f), 0);
}

static void
setup(void)
{
	tree_setup();
	memset(&look, 0, sizeof(look));
	look.session = "7";
	status = EXIT_OTHER;
	folder = NULL;
	top = base;
	said[0] = '\0';
}

static void
ck_shown(int want, const char *text)
{
	said[0] = '\0';
	ck_assert_int_eq(logs_show(&look), want);
	ck_assert_str_eq(said, text);
}

#define CAST(text)	"{\"version\":2}\n[1.5,\"o\",\"" text "\"]\n"

/* Numbers come again with each start of the daemon: the newest counts. */
START_TEST(test_newest)
{
	sh("mkdir -p b/20260101T000000.000Z-1-7 a/20260301T000000.000Z-1-7 "
	    "c/20260201T000000.000Z-1-7 a/20260401T000000.000Z-1-17");
	write_one("b/20260101T000000.000Z-1-7/0.cast", CAST("old"));
	write_one("a/20260301T000000.000Z-1-7/0.cast", CAST("new"));
	write_one("c/20260201T000000.000Z-1-7/0.cast", CAST("between"));
	write_one("a/20260401T000000.000Z-1-17/0.cast", CAST("other"));
	ck_shown(EXIT_OK, "new");
	look.session = "17";
	ck_shown(EXIT_OK, "other");
	/* One that lives knows its own. */
	look.session = "7";
	status = EXIT_OK;
	folder = sh_out("printf %%s $PWD/b/20260101T000000.000Z-1-7");
	ck_shown(EXIT_OK, "old");
	free((char *)(uintptr_t)folder);
}
END_TEST

START_TEST(test_none)
{
	ck_shown(EXIT_OTHER, "!");
	top = NULL;
	ck_shown(EXIT_OTHER, "!");
	/* No pattern of ours. */
	top = base;
	sh("mkdir -p b/20260101T000000.000Z-1-7");
	write_one("b/20260101T000000.000Z-1-7/0.cast", CAST("x"));
	look.session = "*";
	ck_shown(EXIT_OTHER, "!");
}
END_TEST

/* By number, 10 after 9; what is none is left out. */
START_TEST(test_folder)
{
	char	*path = sh_out("mkdir s; printf %%s $PWD/s");

	write_one("s/10.cast", CAST("c"));
	write_one("s/9.cast", CAST("b"));
	write_one("s/0.jsonl", "{\"timestamp\":100}\n"
	    "{\"t\":1,\"stream\":\"stdout\",\"process\":\"p\","
	    "\"data\":\"a\"}\n"
	    "{\"t\":2,\"stream\":\"stderr\",\"process\":\"q\","
	    "\"base64\":\"ZQ==\"}\n{\"t\":3,\"stream\":\"stdo");
	write_one("s/x.cast", CAST("x"));
	write_one("s/1.txt", CAST("x"));
	look.session = path;
	ck_shown(EXIT_OK, "a2ebc");
	look.process = "q";
	ck_shown(EXIT_OK, "2ebc");
	free(path);
}
END_TEST

/* Of one time and later. */
START_TEST(test_since)
{
	char	*path = sh_out("mkdir s; printf %%s $PWD/s");

	write_one("s/0.cast", "{\"timestamp\":100}\n[1.5,\"o\",\"a\"]\n"
	    "[2,\"o\",\"b\"]\n[3,\"i\",\"in\"]\n[4,\"o\",5]\n");
	write_one("s/1.jsonl", "{\"timestamp\":100}\n"
	    "{\"t\":1.5,\"data\":\"c\"}\n{\"t\":2,\"data\":\"d\"}\n");
	look.session = path;
	look.since = 102;
	ck_shown(EXIT_OK, "bd");
	look.since = 103;
	ck_shown(EXIT_OK, "");
	look.since = 101;
	ck_shown(EXIT_OK, "abcd");
	free(path);
}
END_TEST

/* Others keep no times. */
START_TEST(test_no_times)
{
	char	*text = sh_out("printf %%s $PWD/told");

	status = EXIT_OK;
	look.since = 1;
	ck_assert_ptr_nonnull(freopen(text, "w", stderr));
	free(text);
	ck_shown(EXIT_OTHER, "!");
	fflush(stderr);
	text = sh_out("cat told");
	ck_assert_str_eq(text, "execsrvctl: --since wants a session with "
	    "transcripts (Transcript): others keep no times\n");
	free(text);
	look.since = 0;
	ck_shown(EXIT_OTHER, "!ps!");
	look.process = "p";
	ck_shown(EXIT_OTHER, "!tail!");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("logs");
	TCase	*t = tcase_create("logs");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, tree_teardown);
	tcase_add_test(t, test_newest);
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_folder);
	tcase_add_test(t, test_since);
	tcase_add_test(t, test_no_times);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
