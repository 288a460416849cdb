/* master/auth/peer_sandbox.c: who connects, from inside and from outside. */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/tcp.h>

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/auth/peer_sandbox.h"

static char	 dir[] = "/tmp/check_inside.XXXXXX", folder[64];

/* --- TCP --- */

START_TEST(test_brand)
{
	char		 other[80];
	uint64_t	 sockmark = peer_sandbox_brand(folder);

	ck_assert_uint_ne(sockmark, 0);
	ck_assert_uint_ne(sockmark, UINT64_MAX);
	ck_assert_uint_gt(sockmark, 1ULL << 61); /* no rate of any
							   link */
	ck_assert_uint_eq(sockmark, peer_sandbox_brand(folder));
	snprintf(other, sizeof(other), "%s/other", folder);
	ck_assert_int_eq(mkdir(other, 0700), 0);
	ck_assert_uint_ne(sockmark, peer_sandbox_brand(other));
	rmdir(other);
}
END_TEST

START_TEST(test_tcp)
{
	struct tcp_info	 info;
	uint64_t	 sockmark = peer_sandbox_brand(folder);
	size_t		 len = sizeof(info);

	memset(&info, 0, sizeof(info));
	info.tcpi_max_pacing_rate = UINT64_MAX;
	ck_assert_ptr_null(peer_sandbox_why_tcp(&info, len, sockmark));
	info.tcpi_max_pacing_rate = sockmark + 1;
	ck_assert_ptr_null(peer_sandbox_why_tcp(&info, len, sockmark));
	info.tcpi_max_pacing_rate = sockmark;
	ck_assert_ptr_nonnull(peer_sandbox_why_tcp(&info, len, sockmark));
	/* A kernel that does not say it says nothing good. */
	len = offsetof(struct tcp_info, tcpi_max_pacing_rate);
	ck_assert_ptr_nonnull(peer_sandbox_why_tcp(&info, len, sockmark));
	ck_assert_ptr_nonnull(peer_sandbox_why_tcp(NULL, 0, sockmark));
	/* There is nothing to be known by. */
	ck_assert_ptr_null(peer_sandbox_why_tcp(NULL, 0, 0));
}
END_TEST

/* --- Unix sockets --- */

static int
listen_at(struct sockaddr_un *a)
{
	int	 fd;

	memset(a, 0, sizeof(*a));
	a->sun_family = AF_UNIX;
	snprintf(a->sun_path, sizeof(a->sun_path), "%s/sock", folder);
	unlink(a->sun_path);
	ck_assert_int_ne(fd = socket(AF_UNIX, SOCK_STREAM, 0), -1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)a, sizeof(*a)), 0);
	ck_assert_int_eq(listen(fd, 8), 0);
	return fd;
}

static void
confine(void)
{
	static struct sock_filter	 all[] = {
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog		 prog = { 1, all };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1)
		_exit(2);
}

/* As what runs below a session, and cannot become anything else. */
static void
mark(void)
{
	struct rlimit	 rl = { 1000, 1000 };

	if (setrlimit(RLIMIT_LOCKS, &rl) == -1)
		_exit(4);
}

/* A process that connects and then waits for its end. */
static void NORETURN
be_client(const struct sockaddr_un *a, bool marked, bool confined)
{
	char	 c;
	int	 fd;

	alarm(20);
	if (marked)
		mark();
	if (confined)
		confine();
	if ((fd = socket(AF_UNIX, SOCK_STREAM, 0)) == -1 ||
	    connect(fd, (const struct sockaddr *)a, sizeof(*a)) == -1)
		_exit(1);
	_exit(read(fd, &c, 1) == 1 ? 0 : 3);
}

static const char *
look(int fd)
{
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);

	ck_assert_int_eq(getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred,
	    &len), 0);
	ck_assert_int_gt(cred.pid, 0);
	return peer_sandbox_why(fd, cred.pid);
}

static const struct {
	bool		 is_child, marked, confined;
	const char	*why;
} clients[] = {
	{ true, false, false, NULL },
	{ true, true, false, NULL },
	{ true, true, true, "it is in a sandbox" },
	{ false, false, false, NULL },
	{ false, true, false, NULL },
	{ false, true, true, "it is in a sandbox" },
	/* A sandbox of somebody else's. */
	{ true, false, true, NULL },
	{ false, false, true, NULL },
};

START_TEST(test_unix)
{
	struct sockaddr_un	 a;
	int			 fd, lfd = listen_at(&a);
	pid_t			 pid;

	if ((pid = fork()) == 0) {
		/* Ours, or left to who takes care of orphans. */
		if (clients[_i].is_child || fork() == 0)
			be_client(&a, clients[_i].marked,
			    clients[_i].confined);
		_exit(0);
	}
	ck_assert_int_ne(pid, -1);
	if (!clients[_i].is_child)
		waitpid(pid, NULL, 0);
	ck_assert_int_ne(fd = accept(lfd, NULL, NULL), -1);
	ck_assert_pstr_eq(look(fd), clients[_i].why);
	ck_assert_int_eq(write(fd, "", 1), 1);
	close(fd);
	close(lfd);
	if (clients[_i].is_child)
		waitpid(pid, NULL, 0);
}
END_TEST

/* Whoever has its socket now: it may have been in a sandbox. */
START_TEST(test_gone)
{
	struct sockaddr_un	 a;
	int			 fd, lfd = listen_at(&a), i;
	pid_t			 pid;

	for (i = 0; i < 2; i++) {
		if ((pid = fork()) == 0)
			be_client(&a, i == 1, i == 1);
		ck_assert_int_ne(pid, -1);
		ck_assert_int_ne(fd = accept(lfd, NULL, NULL), -1);
		kill(pid, SIGKILL);
		if (i == 0)
			waitpid(pid, NULL, 0);
		else			/* still a zombie */
			waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOWAIT);
		ck_assert_pstr_eq(look(fd), "its process has exited");
		if (i == 1)
			waitpid(pid, NULL, 0);
		close(fd);
	}
	close(lfd);
}
END_TEST

/* Who has no number here is none of ours. */
START_TEST(test_stranger)
{
	ck_assert_ptr_null(peer_sandbox_why(-1, 0));
}
END_TEST

static void
setup(void)
{
	snprintf(folder, sizeof(folder), "%s", dir);
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void
teardown(void)
{
	char	 path[80];

	snprintf(path, sizeof(path), "%s/sock", folder);
	unlink(path);
	rmdir(folder);
}

int
main(void)
{
	Suite	*s = suite_create("peer_sandbox");
	TCase	*t = tcase_create("peer_sandbox");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 30);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_brand);
	tcase_add_test(t, test_tcp);
	tcase_add_loop_test(t, test_unix, 0,
	    (int)(sizeof(clients) / sizeof(clients[0])));
	tcase_add_test(t, test_gone);
	tcase_add_test(t, test_stranger);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
