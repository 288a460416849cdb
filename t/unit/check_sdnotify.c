/*
 * common/process/sdnotify.c: what a service manager is told, and what only the
 * program at the other end of --notify-fd.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/process/sdnotify.h"

static struct event_base	*base;
static struct sdnotify		*n;
static int			 other;		/* where it is heard */
static char			 dir[64], path[80];
static unsigned			 nagain;

static void
again(void *arg)
{
	ck_assert_ptr_eq(arg, &nagain);
	nagain++;
}

static void
given_setup(void)
{
	int	 pair[2];

	nagain = 0;
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_int_eq(fd_packet_pair(pair), 0);
	other = pair[1];
	ck_assert_int_eq(sdnotify_take_fd(&n, pair[0]), 0);
	sdnotify_start(n, base);
}

static void
manager_setup(void)
{
	struct sockaddr_un	 un = { .sun_family = AF_UNIX };

	ck_assert_ptr_nonnull(base = event_base_new());
	snprintf(dir, sizeof(dir), "/tmp/check_sdnotify.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/s", dir);
	strcpy(un.sun_path, path);
	ck_assert_int_ne(other = socket(AF_UNIX, SOCK_DGRAM, 0), -1);
	ck_assert_int_eq(bind(other, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", path, 1), 0);
	ck_assert_ptr_nonnull(n = sdnotify_take_env());
	sdnotify_start(n, base);
}

static void
teardown(void)
{
	sdnotify_free(&n);
	ck_assert_ptr_null(n);
	close(other);
	if (path[0] != '\0') {
		unlink(path);
		rmdir(dir);
	}
	event_base_free(base);
}

/* The next message, or none if it is "". */
static void
ck_heard(const char *want)
{
	char	 text[600] = "";
	ssize_t	 len = recv(other, text, sizeof(text) - 1, MSG_DONTWAIT);

	if (len == -1)
		ck_assert_int_eq(errno, EAGAIN);
	ck_assert_str_eq(text, want);
}

START_TEST(test_manager)
{
	ck_assert(!sdnotify_is_given(n));
	sdnotify_listen(n, "ws://127.0.0.1:1");
	sdnotify_uplink(n, 1, true, "ready", again, &nagain);
	ck_heard("");
	sdnotify_ready(n);
	ck_heard("READY=1");
	sdnotify_main_pid(n, 42);
	ck_heard("MAINPID=42");
	sdnotify_status(n, "%d sessions", 3);
	ck_heard("STATUS=3 sessions");
	/* What has not changed is not said again. */
	sdnotify_status(n, "%d sessions", 3);
	ck_heard("");
	sdnotify_status(n, "%d sessions", 4);
	ck_heard("STATUS=4 sessions");
	sdnotify_stopping(n);
	ck_heard("STOPPING=1");
}
END_TEST

START_TEST(test_given)
{
	ck_assert(sdnotify_is_given(n));
	sdnotify_main_pid(n, 42);
	ck_heard("");
	sdnotify_listen(n, "ws://127.0.0.1:1");
	ck_heard("X_EXECSRV_LISTEN=ws://127.0.0.1:1");
	sdnotify_uplink(n, 2, false, "registering", again, &nagain);
	ck_heard("X_EXECSRV_UPLINK=2 0 registering");
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(nagain, 0);
}
END_TEST

/* What does not fit is said again when there is room. */
START_TEST(test_room)
{
	char	 text[600];
	int	 i;

	for (i = 0; i < 100000 && send(sdnotify_fd(n), "x", 1,
	    MSG_DONTWAIT) == 1; i++)
		continue;
	sdnotify_uplink(n, 2, true, "ready", again, &nagain);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(nagain, 0);
	while (recv(other, text, sizeof(text), MSG_DONTWAIT) > 0)
		continue;
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(nagain, 1);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(nagain, 1);
}
END_TEST

/* A descriptor of another kind is not taken; what was there stays. */
START_TEST(test_kinds)
{
	struct sdnotify	*before = n;
	int		 pair[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	ck_assert_int_eq(sdnotify_take_fd(&n, pair[0]), -1);
	close(pair[0]);
	close(pair[1]);
	ck_assert_int_eq(pipe(pair), 0);
	ck_assert_int_eq(sdnotify_take_fd(&n, pair[0]), -1);
	close(pair[0]);
	close(pair[1]);
	ck_assert_ptr_eq(n, before);
	sdnotify_ready(n);
	ck_heard("READY=1");
}
END_TEST

START_TEST(test_nobody)
{
	struct sdnotify	*none = NULL;

	sdnotify_ready(none);
	sdnotify_listen(none, "ws://127.0.0.1:1");
	sdnotify_uplink(none, 1, true, "ready", again, NULL);
	sdnotify_status(none, "x");
	sdnotify_start(none, NULL);
	ck_assert_int_eq(sdnotify_fd(none), -1);
	ck_assert(!sdnotify_is_given(none));
	sdnotify_free(&none);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("sdnotify");
	TCase	*manager = tcase_create("manager"), *given =
		    tcase_create("given");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(manager, manager_setup, teardown);
	tcase_add_test(manager, test_manager);
	tcase_add_checked_fixture(given, given_setup, teardown);
	tcase_add_test(given, test_given);
	tcase_add_test(given, test_room);
	tcase_add_test(given, test_kinds);
	tcase_add_test(given, test_nobody);
	suite_add_tcase(s, manager);
	suite_add_tcase(s, given);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
