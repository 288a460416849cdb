/* common/client/serve/launch: what a server has open that we start. */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/client/serve/launch.h"
#include "common/fd.h"

/* A second copy of the module, as it is where libc cannot close "the rest". */
#define LAUNCH_BY_LIST
#define execsrv_launch		listed_launch
#define execsrv_launched_signal	listed_launched_signal
#define execsrv_launched_ends	listed_launched_ends
#define execsrv_launched_ended	listed_launched_ended
#define execsrv_launched_status	listed_launched_status
#define execsrv_find_server	listed_find_server
#define execsrv_last_line	listed_last_line
int	 listed_launch(const struct launch *how, struct launched *out);
void	 listed_launched_signal(const struct launched *l, int sig);
bool	 listed_launched_ends(const struct launched *l, int ms);
int	 listed_launched_ended(const struct launched *l, int ms);
int	 listed_launched_status(struct launched *l);
int	 listed_find_server(const char *wanted, char path[PATH_MAX],
	    struct execsrv_error *e);
bool	 listed_last_line(int fd, char *text, size_t size);
#include "common/client/serve/launch.c"
#undef execsrv_launch
#undef execsrv_launched_status

static int	 (*const launches[])(const struct launch *,
		    struct launched *) = { execsrv_launch, listed_launch };

/* Return the status of a script that is started with these. */
static int
run(int which, const char *script, const int *fds, size_t n, bool is_server)
{
	const char *const	 argv[] = { "/bin/sh", "-c", script, NULL };
	char			*env[] = { NULL };
	const struct launch	 how = { .argv = argv, .env = env, .fds = fds,
				    .nfds = n, .is_server = is_server };
	struct launched		 l;
	int			 status;

	ck_assert_int_eq(launches[which](&how, &l), 0);
	status = execsrv_launched_status(&l);
	fd_close(&l.pidfd);
	return status;
}

/* It has those that it is given, and no other of ours. */
START_TEST(test_closed)
{
	int	 fds[4], open_fd, far_fd, kept, i;
	char	 script[256];

	for (i = 0; i < 4; i++)
		ck_assert_int_ne(fds[i] = open("/dev/null", O_RDWR |
		    O_CLOEXEC), -1);
	ck_assert_int_ne(open_fd = open("/dev/null", O_RDONLY), -1);
	ck_assert_int_ne(far_fd = fcntl(open_fd, F_DUPFD, 700), -1);
	ck_assert_int_ne(kept = fcntl(open_fd, F_DUPFD_CLOEXEC, 300), -1);
	snprintf(script, sizeof(script), "d=/proc/$$/fd; [ -e $d/0 ] && "
	    "[ -e $d/3 ] || exit 2; [ -e $d/%d ] && exit 3; [ -e $d/%d ] && "
	    "exit 4; [ -e $d/%d ] && exit 5; exit 7", open_fd, far_fd, kept);
	ck_assert_int_eq(run(_i, script, fds, 4, true), 7);
	/* Nothing was closed here, and whatever is no server gets them. */
	ck_assert_int_ne(fcntl(open_fd, F_GETFD), -1);
	ck_assert_int_ne(fcntl(kept, F_GETFD), -1);
	ck_assert_int_eq(run(_i, script, fds, 4, false), 3);
	fd_close(&kept);
	fd_close(&far_fd);
	fd_close(&open_fd);
	for (i = 0; i < 4; i++)
		fd_close(&fds[i]);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("launch");
	TCase	*tc = tcase_create("launch");
	SRunner	*sr;
	int	 failed;

	tcase_add_loop_test(tc, test_closed, 0, 2);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
