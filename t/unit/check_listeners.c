/*
 * Which daemon execsrvctl trusts: control.c, whose socket is at the default
 * place; doors.c, what a run directory says where it listens.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <check.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/control.h"
#include "master/execsrvctl/listeners.h"
#include "t/unit/left_out.h"

#define USER	65534		/* who asks, where we are root, and ... */
#define OTHER	1		/* ... somebody else */

static char	 top[80], dir[96], path[112];

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");

	umask(0);
	snprintf(top, sizeof(top), "%.60s/doors.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_eq(chmod(top, 0755), 0);
	snprintf(dir, sizeof(dir), "%s/execsrv", top);
	ck_assert_int_eq(mkdir(dir, 0755), 0);
	ck_assert_int_eq(setenv("XDG_RUNTIME_DIR", top, 1), 0);
	ck_assert_int_eq(unsetenv("EXECSRV_RUNTIME_DIR"), 0);
}

static void
teardown(void)
{
	char	 name[112];

	snprintf(name, sizeof(name), "%s/control.sock", dir);
	unlink(name);
	snprintf(name, sizeof(name), "%s/listen", dir);
	unlink(name);
	snprintf(name, sizeof(name), "%s/real", dir);
	unlink(name);
	rmdir(dir);
	snprintf(name, sizeof(name), "%s/link", top);
	unlink(name);
	ck_assert_int_eq(rmdir(top), 0);
}

static void
become(uid_t uid)
{
	if (geteuid() == 0 && uid != 0 && (setgroups(0, NULL) == -1 ||
	    setresgid(uid, uid, uid) == -1 ||
	    setresuid(uid, uid, uid) == -1))
		_exit(3);
}

/* --- the control socket --- */

/* One who listens there; it ends with 1 if it was asked anything. */
static pid_t
start_daemon(uid_t uid)
{
	struct sockaddr_un	 un = { .sun_family = AF_UNIX };
	struct timeval		 tv = { 20, 0 };
	char			 packet[256];
	pid_t			 pid;
	int			 fd, there[2];

	ck_assert_int_eq(pipe(there), 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		snprintf(un.sun_path, sizeof(un.sun_path), "%.94s"
		    "/control.sock", dir);
		become(uid);
		if ((fd = socket(AF_UNIX, SOCK_SEQPACKET, 0)) == -1 ||
		    bind(fd, (struct sockaddr *)&un, sizeof(un)) == -1 ||
		    listen(fd, 1) == -1 || write(there[1], "", 1) != 1 ||
		    (fd = accept(fd, NULL, NULL)) == -1 ||
		    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv,
		    sizeof(tv)) == -1)
			_exit(2);
		_exit(recv(fd, packet, sizeof(packet), 0) > 0);
	}
	close(there[1]);
	ck_assert_int_eq(read(there[0], packet, 1), 1);
	close(there[0]);
	return pid;
}

/* The exit status of one who asks, as that user. */
static int
ask(uid_t uid, bool is_strange)
{
	struct control_error	 e;
	struct table		*t;
	pid_t			 pid;
	int			 status;

	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		become(uid);
		status = control_ask_simply(NULL, "status", &t, &e);
		if (is_strange != (strstr(e.text, "another user's daemon") !=
		    NULL))
			_exit(99);
		_exit(status);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int
asked(pid_t pid)
{
	int	 status;

	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* One's own daemon is asked, and hangs up here. */
START_TEST(test_own)
{
	uid_t	 uid = geteuid() == 0 ? USER : geteuid();
	pid_t	 pid;

	if (geteuid() == 0)
		ck_assert_int_eq(chown(dir, uid, uid) |
		    chown(top, uid, uid), 0);
	pid = start_daemon(uid);
	ck_assert_int_eq(ask(uid, false), EXIT_OTHER);
	ck_assert_int_eq(asked(pid), 1);
}
END_TEST

START_TEST(test_of_root)
{
	pid_t	 pid;

	if (geteuid() != 0) {
		left_out("other users take root");
		return;
	}
	ck_assert_int_eq(chmod(top, 0777), 0);
	pid = start_daemon(0);
	ck_assert_int_eq(ask(USER, false), EXIT_OTHER);
	ck_assert_int_eq(asked(pid), 1);
}
END_TEST

/* Another user's hears nothing. */
START_TEST(test_of_another)
{
	pid_t	 pid;

	if (geteuid() != 0) {
		left_out("other users take root");
		return;
	}
	ck_assert_int_eq(chmod(top, 0777), 0);
	ck_assert_int_eq(chown(dir, OTHER, OTHER), 0);
	pid = start_daemon(OTHER);
	ck_assert_int_eq(ask(USER, true), EXIT_UNKNOWN);
	ck_assert_int_eq(asked(pid), 0);
}
END_TEST

/* --- where it listens --- */

static void
write_listen(const char *name, const char *text, mode_t mode)
{
	int	 fd;

	snprintf(path, sizeof(path), "%.95s/%.10s", dir, name);
	ck_assert_int_ne(fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, mode),
	    -1);
	ck_assert_int_eq(fchmod(fd, mode), 0);
	ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
says(const char *where, const char *wanted)
{
	char	*url = listeners_read(where);

	if (wanted == NULL)
		ck_assert_ptr_null(url);
	else
		ck_assert_pstr_eq(url, wanted);
	free(url);
}

START_TEST(test_first_line)
{
	says(dir, NULL);
	write_listen("listen", "", 0644);
	says(dir, NULL);
	write_listen("listen", "stdio\nwss://x\nunix:/x/y\nws://h:1\n", 0644);
	says(dir, "unix:/x/y");
	write_listen("listen", "ws://h:1", 0600);
	says(dir, "ws://h:1");
	ck_assert(!listeners_fits("http://x") && !listeners_fits("wss://x") &&
	    !listeners_fits("x unix:/y"));
}
END_TEST

/* Whoever may write there may name a server of his own. */
START_TEST(test_writable)
{
	static const mode_t	 modes[] = { 020, 002, 022 };
	size_t			 i;

	write_listen("listen", "ws://h:1\n", 0644);
	for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		ck_assert_int_eq(chmod(path, 0644 | modes[i]), 0);
		says(dir, NULL);
		ck_assert_int_eq(chmod(path, 0644), 0);
		says(dir, "ws://h:1");
		ck_assert_int_eq(chmod(dir, 0755 | modes[i]), 0);
		says(dir, NULL);
		ck_assert_int_eq(chmod(dir, 0755), 0);
		says(dir, "ws://h:1");
	}
}
END_TEST

/* No link is followed, and nothing is waited for. */
START_TEST(test_no_file)
{
	char	 name[112];
	int	 fd;

	write_listen("real", "ws://h:1\n", 0644);
	snprintf(name, sizeof(name), "%s/listen", dir);
	ck_assert_int_eq(symlink("real", name), 0);
	says(dir, NULL);
	unlink(name);
	ck_assert_int_eq(mkfifo(name, 0644), 0);
	says(dir, NULL);
	ck_assert_int_ne(fd = open(name, O_RDWR), -1);
	ck_assert_int_eq(write(fd, "ws://h:1\n", 9), 9);
	says(dir, NULL);
	close(fd);
	unlink(name);
	write_listen("listen", "ws://h:1\n", 0644);
	snprintf(name, sizeof(name), "%s/link", top);
	ck_assert_int_eq(symlink("execsrv", name), 0);
	says(name, NULL);
	says(dir, "ws://h:1");
}
END_TEST

START_TEST(test_whose_file)
{
	if (geteuid() != 0) {
		left_out("other users take root");
		return;
	}
	write_listen("listen", "ws://h:1\n", 0644);
	ck_assert_int_eq(chown(path, OTHER, 0), 0);
	says(dir, NULL);
	ck_assert_int_eq(chown(path, 0, 0), 0);
	ck_assert_int_eq(chown(dir, OTHER, 0), 0);
	says(dir, NULL);
	/* Root's, and one's own. */
	ck_assert_int_eq(chown(dir, 0, 0), 0);
	ck_assert_int_eq(seteuid(USER), 0);
	says(dir, "ws://h:1");
	ck_assert_int_eq(seteuid(0), 0);
	ck_assert_int_eq(chown(dir, USER, 0) | chown(path, USER, 0), 0);
	ck_assert_int_eq(seteuid(USER), 0);
	says(dir, "ws://h:1");
	ck_assert_int_eq(seteuid(0), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("listeners");
	TCase	*t = tcase_create("listeners");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_own);
	tcase_add_test(t, test_of_root);
	tcase_add_test(t, test_of_another);
	tcase_add_test(t, test_first_line);
	tcase_add_test(t, test_writable);
	tcase_add_test(t, test_no_file);
	tcase_add_test(t, test_whose_file);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
