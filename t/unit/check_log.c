/* common/log.c: one clean line for one event, whatever is in it. */
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json/json.h"
#include "common/json/utf8.h"
#include "common/log.h"

static int	 ends[2];

static void
setup(void)
{
	unsetenv("JOURNAL_STREAM");
	ck_assert_int_eq(pipe2(ends, O_NONBLOCK), 0);
	ck_assert_int_ne(dup2(ends[1], STDERR_FILENO), -1);
	log_init("test", LOG_LEVEL_INFO, "stderr");
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
	/* 95 of ASCII stay, one of them is the backslash; 160 become four. */
	ck_assert_uint_eq(strlen(p), strlen("test: ab\n") + 95 + 1 + 160 * 4);
	ck_assert_ptr_eq(strchr(p, '\n'), p + strlen(p) - 1);
	for (; p[1] != '\0'; p++)
		ck_assert(*p >= ' ' && *p < 0x7f);
	log_info("one\nworker[1]: two\\x0a");
	ck_assert_str_eq(logged(),
	    "test: one\\x0aworker[1]: two\\\\x0a\n");
	/* Characters stay; what is none, or an order in one, does not. */
	log_info("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \xc2\x9b"
	    " \xc0\x8a \xed\xa0\x80 \xe2\x82");
	ck_assert_str_eq(logged(), "test: \xc3\xa9 \xe2\x82\xac "
	    "\xf0\x9f\x98\x80 \\xc2\\x9b \\xc0\\x8a \\xed\\xa0\\x80 "
	    "\\xe2\\x82\n");
	/* The first and the last of those orders, and what is beside them. */
	log_info("\xc2\x80\xc2\x9f\xc2\xa0\xc3\x80");
	ck_assert_str_eq(logged(), "test: \\xc2\\x80\\xc2\\x9f\xc2\xa0"
	    "\xc3\x80\n");
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

/* A service manager reads priorities, if it is there. */
START_TEST(test_priorities)
{
	struct stat	 st;
	char		 text[64];

	setenv("JOURNAL_STREAM", "1:2", 1);
	ck_assert_str_eq(log_stderr_how(), "stderr");
	setenv("JOURNAL_STREAM", "nonsense", 1);
	ck_assert_str_eq(log_stderr_how(), "stderr");
	ck_assert_int_eq(fstat(STDERR_FILENO, &st), 0);
	snprintf(text, sizeof(text), "%llu:%llu", (unsigned long long)
	    st.st_dev, (unsigned long long)st.st_ino);
	setenv("JOURNAL_STREAM", text, 1);
	log_init("test", LOG_LEVEL_DEBUG, NULL);
	ck_assert_str_eq(log_how(), "journal");
	log_debug("d");
	ck_assert_str_eq(logged(), "<7>test: d\n");
	log_info("i");
	ck_assert_str_eq(logged(), "<6>test: i\n");
	log_warnx("w");
	ck_assert_str_eq(logged(), "<4>test: w\n");
}
END_TEST

/* A member of a line of JSON, which must be nothing else. */
static const char *
member(const char *line, const char *name)
{
	static char	 copy[8192], text[8192];
	struct json	 j;
	uint32_t	 at;
	size_t		 len = strlen(line);

	ck_assert(len > 0 && line[len - 1] == '\n' && len < sizeof(copy));
	ck_assert_ptr_eq(strchr(line, '\n'), line + len - 1);
	memcpy(copy, line, len);
	json_init(&j);
	ck_assert(utf8_is_valid(copy, len));
	ck_assert_int_eq(json_parse(&j, copy, len), 0);
	ck_assert_uint_ne(at = json_find(&j, 0, name), 0);
	snprintf(text, sizeof(text), "%.*s", (int)json_tok(&j, at)->len,
	    json_text(&j, at));
	json_fini(&j);
	return text;
}

static const char *
raw(void)
{
	static char	 text[65536];
	ssize_t		 n = read(ends[0], text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

START_TEST(test_json)
{
	char		 evil[300], pid[16];
	const char	*p;
	int		 i;

	log_set_how("stderr,json");
	log_set_session(7);
	log_warnx("a \"quoted\" word\n\x1b[1m\\ \xc3\xa9\xff");
	p = raw();
	ck_assert_str_eq(member(p, "message"),
	    "a \"quoted\" word\n\x1b[1m\\ \xc3\xa9\xef\xbf\xbd");
	ck_assert_str_eq(member(p, "level"), "warning");
	ck_assert_str_eq(member(p, "role"), "test");
	ck_assert_str_eq(member(p, "session"), "7");
	snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	ck_assert_str_eq(member(p, "pid"), pid);
	ck_assert_uint_eq(strlen(member(p, "time")),
	    strlen("2026-11-22T12:00:00.000Z"));
	for (i = 1; i < 256; i++)
		evil[i - 1] = (char)i;
	evil[255] = '\0';
	log_info("%s", evil);
	p = member(raw(), "message");
	ck_assert_uint_eq(strlen(p), 127 + 128 * 3);
	ck_assert_mem_eq(p, evil, 127);
	log_set_how("stderr");
	log_set_session(0);
}
END_TEST

/* Cut, it is JSON all the same, and one write that no other can break. */
/* Members of its own; text lines have none. */
START_TEST(test_json_members)
{
	static char			 huge[4000];
	const struct log_member		 m[] = {
		{ "peer", "a\"b\n", 0 }, { "n", NULL, 18446744073709551615ULL },
		{ "huge", huge, 0 }, { "last", "x", 0 }, { NULL, NULL, 0 }
	};

	const char	*p;

	memset(huge, 'x', sizeof(huge) - 1);
	log_set_how("stderr,json");
	log_info_with(m, "words %d", 7);
	p = raw();
	ck_assert_str_eq(member(p, "message"), "words 7");
	ck_assert_str_eq(member(p, "peer"), "a\"b\n");
	ck_assert_str_eq(member(p, "n"), "18446744073709551615");
	ck_assert_str_eq(member(p, "last"), "x");
	ck_assert_ptr_null(strstr(p, "huge"));
	log_set_how("stderr");
	log_info_with(m, "words %d", 8);
	ck_assert_ptr_null(strstr(raw(), "peer"));
}
END_TEST

START_TEST(test_json_long)
{
	static const char *const	 kinds[] = { "x", "\x01", "\"", "\xff",
					    "\xc3\xa9", "\xe2\x82\xac" };
	char				 text[2048];
	const char			*p;
	size_t				 i, k, len;

	log_set_how("stderr,json");
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		for (len = 600; len < 1100; len++) {
			text[0] = '\0';
			for (k = 0; k + strlen(kinds[i]) <= len;
			    k += strlen(kinds[i]))
				strcpy(text + k, kinds[i]);
			log_info("%s", text);
			p = raw();
			ck_assert_uint_lt(strlen(p), PIPE_BUF);
			ck_assert_uint_gt(strlen(member(p, "message")), 200);
		}
	log_set_how("stderr");
}
END_TEST

/* With the time; behind what is there, also when somebody cut it off. */
START_TEST(test_file)
{
	char	 text[1024], path[] = "/tmp/check_log.XXXXXX";
	int	 fd, y, mon, d, h, min, s, ms, n = 0;

	ck_assert_int_ne(fd = mkstemp(path), -1);
	log_set_how("file");
	log_set_fd(fd);
	log_info("one");
	ck_assert_int_gt(pread(fd, text, sizeof(text), 0), 0);
	sscanf(text, "%d-%d-%dT%d:%d:%d.%dZ test[%n", &y, &mon, &d, &h, &min,
	    &s, &ms, &n);
	ck_assert_int_eq(n, (int)strlen("2026-11-22T12:00:00.000Z test["));
	ck_assert_int_eq(ftruncate(fd, 0), 0);
	log_info("two");
	n = (int)pread(fd, text, sizeof(text) - 1, 0);
	ck_assert_int_gt(n, 0);
	text[n] = '\0';
	ck_assert_uint_eq(strlen(text), (size_t)n);
	ck_assert_ptr_nonnull(strstr(text, "]: two\n"));
	log_set_fd(STDERR_FILENO);
	log_set_how("stderr");
	close(fd);
	unlink(path);
}
END_TEST

static unsigned	 reopened;

static void
on_reopen(void *arg)
{
	ck_assert_ptr_eq(arg, &reopened);
	reopened++;
}

START_TEST(test_how)
{
	log_set_how("syslog,json,80");
	ck_assert(log_is_syslog());
	ck_assert_str_eq(log_how(), "syslog,json,80");
	log_set_how("file");
	ck_assert(!log_is_syslog());
	log_set_how("stderr");
	log_info("text");
	ck_assert_str_eq(logged(), "test: text\n");
	log_reopen();
	log_set_reopen(on_reopen, &reopened);
	log_reopen();
	ck_assert_uint_eq(reopened, 1);
	log_set_reopen(NULL, NULL);
	log_reopen();
	ck_assert_uint_eq(reopened, 1);
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
	tcase_add_test(t, test_json);
	tcase_add_test(t, test_json_members);
	tcase_add_test(t, test_json_long);
	tcase_add_test(t, test_file);
	tcase_add_test(t, test_how);
	tcase_add_exit_test(t, test_fatal, 1);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
