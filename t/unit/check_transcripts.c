/* master/workers/transcript_files.c: how many files a session may have. */
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "master/workers/route.h"
#include "master/workers/transcript_files.h"

START_TEST(test_last)
{
	static struct master	 m;
	struct route		 r;
	const char		*tmp = getenv("TMPDIR");
	char			 top[96], command[112];
	int			 fd;

	memset(&r, 0, sizeof(r));
	snprintf(top, sizeof(top), "%.60s/check_transcripts.XXXXXX",
	    tmp != NULL ? tmp : "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(top));
	m.conf.transcript_dir = top;
	r.master = &m;
	r.uid = r.client_uid = geteuid();
	r.transcripts = LIMIT_TRANSCRIPTS - 1;
	ck_assert_int_ne(fd = transcript_files_open(&r, true), -1);
	close(fd);
	ck_assert_uint_eq(r.transcripts, LIMIT_TRANSCRIPTS);
	ck_assert_int_eq(transcript_files_open(&r, true), -1);
	ck_assert_int_eq(errno, EMFILE);
	free(r.transcript);
	snprintf(command, sizeof(command), "rm -r %s", top);
	ck_assert_int_eq(system(command), 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("transcripts");
	TCase	*t = tcase_create("transcripts");
	SRunner	*r;
	int	 failed;

	tcase_add_test(t, test_last);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
