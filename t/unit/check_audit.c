/*
 * master/logs/audit.c: events to syslog, which may not read, and how those are
 * counted that were lost.  The socket's calls are ours.
 */
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/logs/audit.h"
#include "master/world.h"

static struct world	 w;
static int		 refusals[4];	/* of the next sends: an errno, or 0 */
static unsigned		 connects, ntold;
static char		 sent[4096];	/* each with LF */

/* --- the socket --- */

int
connect(int fd, const struct sockaddr *a, socklen_t len)
{
	const struct sockaddr_un	*un = (const void *)a;

	ck_assert_int_ne(fd, -1);
	ck_assert_uint_eq(len, sizeof(*un));
	ck_assert_str_eq(un->sun_path, "/dev/log");
	connects++;
	return 0;
}

ssize_t
sendmsg(int fd, const struct msghdr *m, int flags)
{
	const struct iovec	*v = &m->msg_iov[1];
	int			 error = refusals[0];

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(flags, MSG_NOSIGNAL);
	ck_assert_uint_eq(m->msg_iovlen, 2);
	memmove(refusals, refusals + 1, sizeof(refusals) - sizeof(int));
	refusals[3] = 0;
	if (error != 0) {
		errno = error;
		return -1;
	}
	ck_assert_uint_lt(strlen(sent) + v->iov_len + 2, sizeof(sent));
	strncat(sent, v->iov_base, v->iov_len);
	strcat(sent, "\n");
	return (ssize_t)v->iov_len;
}

/* --- the world --- */

static bool
is_watched(const struct master *m)
{
	(void)m;
	return false;
}

static void
on_event(struct master *m, const struct audit_what *what)
{
	(void)m;
	(void)what;
	ntold++;
}

static const char *
user_name(struct master *m, uid_t uid)
{
	(void)m;
	(void)uid;
	return NULL;
}

static const struct master_events	 events = {
	.is_watched = is_watched, .on_event = on_event, .user_name = user_name
};

static void
setup(void)
{
	memset(&w, 0, sizeof(w));
	w.events = &events;
	w.conf.audit_log = (char *)(uintptr_t)"syslog";
	ck_assert_int_eq(audit_init(&w), 0);
	ck_assert_ptr_nonnull(w.logs.audit);
	ck_assert_uint_eq(connects, 1);
}

static void
teardown(void)
{
	audit_free(&w.logs.audit);
}

static void
happens(void)
{
	audit(&w, &(struct audit_what){ .event = AUDIT_log_reopened });
}

static unsigned
count(const char *text)
{
	const char	*at = sent;
	unsigned	 n = 0;

	while ((at = strstr(at, text)) != NULL) {
		at += strlen(text);
		n++;
	}
	return n;
}

/* --- */

/* One that does not read has the same socket later. */
START_TEST(test_not_read)
{
	refusals[0] = refusals[1] = EAGAIN;
	happens();
	happens();
	ck_assert_uint_eq(connects, 1);
	ck_assert_str_eq(sent, "");
	ck_assert_uint_eq(w.stats[STAT_unaudited], 2);
	ck_assert_uint_eq(ntold, 2);
	/* How many are missing comes before the next, as do their numbers. */
	happens();
	ck_assert_uint_eq(count("\n"), 2);
	ck_assert_uint_eq(count("\"events-lost\""), 1);
	ck_assert_uint_eq(count("\"count\":2"), 1);
	ck_assert_uint_eq(count("\"seq\":3,"), 1);
	ck_assert_uint_eq(count("\"seq\":4,"), 1);
	ck_assert_uint_eq(w.stats[STAT_unaudited], 2);
	ck_assert_uint_eq(connects, 1);
}
END_TEST

/* One that was started again has another. */
START_TEST(test_started_again)
{
	refusals[0] = ECONNREFUSED;
	happens();
	ck_assert_uint_eq(connects, 2);
	ck_assert_uint_eq(count("\n"), 1);
	ck_assert_uint_eq(count("\"seq\":1,"), 1);
	ck_assert_uint_eq(w.stats[STAT_unaudited], 0);
	refusals[0] = refusals[1] = ECONNREFUSED;
	happens();
	ck_assert_uint_eq(connects, 3);
	ck_assert_uint_eq(w.stats[STAT_unaudited], 1);
}
END_TEST

/* The line that says how many are missing may be lost as well. */
START_TEST(test_lost_again)
{
	char	*text;

	refusals[0] = refusals[1] = EAGAIN;
	happens();
	ck_assert_ptr_nonnull(text = audit_describe(&w));
	ck_assert_ptr_nonnull(strstr(text, "events are lost"));
	free(text);
	happens();
	audit_missed(&w, 3);
	happens();
	ck_assert_uint_eq(count("\n"), 2);
	ck_assert_uint_eq(count("\"count\":5"), 1);
	ck_assert_uint_eq(count("\"seq\":6,"), 1);
	ck_assert_uint_eq(count("\"seq\":7,"), 1);
	ck_assert_ptr_nonnull(text = audit_describe(&w));
	ck_assert_str_eq(text, "syslog");
	free(text);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("audit");
	TCase	*t = tcase_create("audit");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_not_read);
	tcase_add_test(t, test_started_again);
	tcase_add_test(t, test_lost_again);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
