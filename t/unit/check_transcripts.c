/*
 * master/workers/transcript_files.c: how many files a session may have, and in
 * which folders.
 */
#include <sys/stat.h>
#include <sys/xattr.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "master/workers/route.h"
#include "master/workers/transcript_files.h"
#include "master/world.h"

static struct world	 world;
static struct routes	 all = { .world = &world };
static struct route	 r;
static char		 top[96];
static int		 acl_errno;	/* of setting one; 0: it works */
static unsigned		 acls;

/* In the place of the file system's ACLs. */
int
fsetxattr(int fd, const char *name, const void *value, size_t size,
    int flags)
{
	(void)fd;
	(void)value;
	(void)size;
	(void)flags;
	ck_assert_str_eq(name, "system.posix_acl_access");
	acls++;
	errno = acl_errno;
	return acl_errno == 0 ? 0 : -1;
}

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");

	memset(&r, 0, sizeof(r));
	snprintf(top, sizeof(top), "%.60s/check_transcripts.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(top));
	world.conf.transcript_dir = top;
	r.all = &all;
	r.uid = r.client_uid = geteuid();
}

static void
teardown(void)
{
	char	 command[112];

	free(r.transcript);
	snprintf(command, sizeof(command), "rm -r %s", top);
	ck_assert_int_eq(system(command), 0);
}

START_TEST(test_last)
{
	int	 fd;

	r.transcripts = LIMIT_TRANSCRIPTS - 1;
	ck_assert_int_ne(fd = transcript_files_open(&r, true), -1);
	close(fd);
	ck_assert_uint_eq(r.transcripts, LIMIT_TRANSCRIPTS);
	ck_assert_int_eq(transcript_files_open(&r, true), -1);
	ck_assert_int_eq(errno, EMFILE);
}
END_TEST

/* Whoever else may write to one of the folders could lead us elsewhere. */
START_TEST(test_writable)
{
	static const mode_t	 modes[] = { 0730, 0703 };
	char			*folder, *slash;
	int			 fd, levels;
	size_t			 i;

	ck_assert_int_ne(fd = transcript_files_open(&r, true), -1);
	close(fd);
	ck_assert_ptr_nonnull(folder = strdup(r.transcript));
	/* That of the session, of the user, of all. */
	for (levels = 0; levels < 3; levels++) {
		for (i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
			ck_assert_int_eq(chmod(folder, modes[i]), 0);
			ck_assert_int_eq(transcript_files_open(&r, true), -1);
			ck_assert_int_eq(errno, EPERM);
		}
		ck_assert_int_eq(chmod(folder, 0700), 0);
		ck_assert_int_ne(fd = transcript_files_open(&r, true), -1);
		close(fd);
		ck_assert_ptr_nonnull(slash = strrchr(folder, '/'));
		*slash = '\0';
	}
	ck_assert_int_eq(strncmp(folder, top, strlen(folder)), 0);
	free(folder);
}
END_TEST

/*
 * The session's user may read folders and file, but for file systems that
 * cannot say so; where it fails there is no transcript.
 */
START_TEST(test_rights)
{
	static const int	 errors[] = { 0, EOPNOTSUPP, EPERM };
	int			 fd;

	r.uid = geteuid() + 1;
	acl_errno = errors[_i];
	acls = 0;
	fd = transcript_files_open(&r, true);
	ck_assert_int_eq(fd != -1, _i < 2);
	ck_assert_uint_eq(acls, _i < 2 ? 3 : 1);
	if (fd != -1)
		close(fd);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("transcripts");
	TCase	*t = tcase_create("transcripts");
	SRunner	*runner;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_last);
	tcase_add_test(t, test_writable);
	tcase_add_loop_test(t, test_rights, 0, 3);
	suite_add_tcase(s, t);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed != 0;
}
