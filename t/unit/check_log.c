/* common/log.c: one clean line for one event, whatever is in it. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"

static int	 ends[2];

static void
setup(void)
{
	unsetenv("JOURNAL_STREAM");
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	ck_assert_int_ne(dup2(ends[1], STDERR_FILENO), -1);
	log_init("test", LOG_LEVEL_INFO, false);
}

/* What was logged since the last time, without the pid. */
static const char *
logged(void)
{
	static char	 text[65536];
	ssize_t		 n;
	char		*from, *to;

	n = read(ends[0], text, sizeof(text) - 1);
	text[n < 0 ? 0 : n] = '\0';
	if ((from = strchr(text, '[')) != NULL &&
	    (to = strchr(from, ']')) != NULL)
		memmove(from, to + 1, strlen(to + 1) + 1);
	return text;
}

START_TEST(test_lines)
{
	log_info("hello %d", 5);
	ck_assert_str_eq(logged(), "test: hello 5\n");
	errno = ENOENT;
	log_warn("file");
	ck_assert_int_eq(errno, ENOENT);
	ck_assert_str_eq(logged(), "test: file: No such file or directory\n");
	log_debug("not shown");
	ck_assert_str_eq(logged(), "");
	log_set_level(LOG_LEVEL_DEBUG);
	log_set_role("other");
	log_set_session(7);
	log_debug("shown");
	ck_assert_str_eq(logged(), "other session 7: shown\n");
	log_set_session(0);
	log_set_level(LOG_LEVEL_ERROR);
	log_warnx("not shown");
	ck_assert_str_eq(logged(), "");
}
END_TEST

/* No line of a client's making, no escape sequence of its. */
START_TEST(test_control)
{
	char		 evil[256];
	const char	*p;
	int		 i;

	for (i = 1; i < 256; i++)
		evil[i - 1] = (char)i;
	evil[255] = '\0';
	log_info("a%sb", evil);
	p = logged();
	ck_assert_uint_eq(strlen(p), strlen("test: ab\n") + 255);
	ck_assert_ptr_eq(strchr(p, '\n'), p + strlen(p) - 1);
	for (; p[1] != '\0'; p++)
		ck_assert(((unsigned char)*p >= ' ' && *p != 0x7f));
	log_info("one\nworker[1]: two");
	ck_assert_str_eq(logged(), "test: one?worker[1]: two\n");
}
END_TEST

/* Long ones are cut and still end with one LF. */
START_TEST(test_long)
{
	static char	 text[5000];
	const char	*p;
	size_t		 len;

	for (len = 900; len < 1100; len++) {
		memset(text, 'x', len);
		text[len] = '\0';
		errno = EACCES;
		if (len % 2)
			log_warn("%s", text);
		else
			log_info("%s", text);
		p = logged();
		ck_assert_uint_le(strlen(p), 1024);
		ck_assert_ptr_eq(strchr(p, '\n'), p + strlen(p) - 1);
		ck_assert_ptr_nonnull(strstr(p, "xxxxx"));
	}
	memset(text, 'y', sizeof(text) - 1);
	log_warn("%s", text);
	ck_assert_uint_le(strlen(logged()), 1024);
}
END_TEST

/* A reader that does not read costs lines, never time. */
START_TEST(test_full)
{
	int	 i;

	for (i = 0; i < 20000; i++)
		log_info("line %d", i);
	ck_assert_ptr_nonnull(strstr(logged(), "line 0\n"));
	close(ends[0]);
	signal(SIGPIPE, SIG_IGN);
	log_info("nobody there");
}
END_TEST

START_TEST(test_fatal)
{
	fatalx("the end");
}
END_TEST

/* A service manager reads priorities. */
START_TEST(test_priorities)
{
	setenv("JOURNAL_STREAM", "1:2", 1);
	log_init("test", LOG_LEVEL_DEBUG, false);
	log_debug("d");
	ck_assert_str_eq(logged(), "<7>test: d\n");
	log_info("i");
	ck_assert_str_eq(logged(), "<6>test: i\n");
	log_warnx("w");
	ck_assert_str_eq(logged(), "<4>test: w\n");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("log");
	TCase	*t = tcase_create("log");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 20);
	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_lines);
	tcase_add_test(t, test_control);
	tcase_add_test(t, test_long);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_priorities);
	tcase_add_exit_test(t, test_fatal, 1);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
