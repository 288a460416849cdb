/* worker/os/pcgroup.c: which control group a process gets. */
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>
#include <event2/event.h>

#include "common/fd.h"
#include "worker/os/pcgroup.h"

/* Directories as groups have them; files in them are ours. */
static char			 top[] = "/tmp/check_pcgroup.XXXXXX";
static struct event_base	*base;
static struct pcgroups		*c;

static uid_t			 real, effective;
static char			 did[200];	/* to be another user */

/* --- in the place of the kernel --- */

uid_t
getuid(void)
{
	return real;
}

uid_t
geteuid(void)
{
	return effective;
}

int
setfsuid(uid_t uid)
{
	sprintf(did + strlen(did), "fsuid %u; ", (unsigned)uid);
	return 0;
}

int
prctl(int option, ...)
{
	va_list	 ap;

	va_start(ap, option);
	sprintf(did + strlen(did), "%s %d; ", option == PR_SET_DUMPABLE ?
	    "dumpable" : "?", va_arg(ap, int));
	va_end(ap);
	return 0;
}

/* --- the groups --- */

static const char *
path_of(unsigned number, const char *file)
{
	static char	 path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/p%u/%s", top, number, file);
	return path;
}

/* What the kernel says of a group's processes. */
static void
populate(unsigned number, int n)
{
	FILE	*f;

	ck_assert_ptr_nonnull(f = fopen(path_of(number, "cgroup.events"),
	    "w"));
	fprintf(f, "populated %d\nfrozen 0\n", n);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_ptr_nonnull(f = fopen(path_of(number, "cgroup.kill"), "w"));
	ck_assert_int_eq(fclose(f), 0);
}

/* The kernel removes a group's files with it. */
static void
empty(unsigned number)
{
	unlink(path_of(number, "cgroup.events"));
	unlink(path_of(number, "cgroup.kill"));
}

static unsigned
take(void)
{
	unsigned	 number;
	int		 dir;

	ck_assert_uint_ne(number = pcgroups_take(c, &dir), 0);
	ck_assert_int_ne(dir, -1);
	fd_close(&dir);
	return number;
}

static void
give_back(unsigned number)
{
	unsigned	 was = number;

	pcgroups_give_back(c, &was);
	ck_assert_uint_eq(was, 0);
}

static void
setup(void)
{
	int	 dir;

	real = effective = 0;
	did[0] = '\0';
	strcpy(top + strlen(top) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(top));
	ck_assert_int_ne(dir = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    -1);
	ck_assert_ptr_nonnull(base = event_base_new());
	ck_assert_ptr_nonnull(c = pcgroups_new(base, dir, false));
}

static void
teardown(void)
{
	unsigned	 i;

	for (i = 1; i < 8; i++)
		empty(i);
	pcgroups_free(&c);
	event_base_free(base);
	/* Nothing is left. */
	ck_assert_int_eq(rmdir(top), 0);
}

START_TEST(test_again)
{
	ck_assert_uint_eq(take(), 1);
	populate(1, 0);
	ck_assert_uint_eq(take(), 2);
	populate(2, 0);
	give_back(1);
	ck_assert_uint_eq(take(), 1);
	give_back(2);
	give_back(1);
	ck_assert_uint_eq(take(), 1);
}
END_TEST

/* A process that went on would be counted, and killed, with the next one. */
START_TEST(test_left)
{
	ck_assert_uint_eq(take(), 1);
	populate(1, 1);
	give_back(1);
	ck_assert_uint_eq(take(), 2);
	populate(2, 0);
	populate(1, 0);
	ck_assert_uint_eq(take(), 1);
}
END_TEST

/* One that was killed is made anew, as soon as it can be removed. */
START_TEST(test_killed)
{
	struct stat	 st;
	char		 text[8];

	ck_assert_uint_eq(take(), 1);
	populate(1, 1);
	pcgroups_kill(c, 1);
	ck_assert_int_ne(fd_read_file(AT_FDCWD, path_of(1, "cgroup.kill"),
	    text, sizeof(text)), -1);
	ck_assert_str_eq(text, "1");
	populate(1, 0);
	give_back(1);
	ck_assert_uint_eq(take(), 2);
	populate(2, 0);
	empty(1);
	ck_assert_uint_eq(take(), 1);
	ck_assert_int_eq(stat(path_of(1, ""), &st), 0);
	pcgroups_kill(c, 1);
	give_back(1);
	ck_assert_int_eq(stat(path_of(1, ""), &st), -1);
}
END_TEST

/* One of another worker's processes is not taken before it is empty. */
START_TEST(test_of_another)
{
	int	 dir;

	ck_assert_int_eq(mkdir(path_of(1, ""), 0755), 0);
	populate(1, 1);
	ck_assert_uint_eq(pcgroups_take(c, &dir), 0);
	ck_assert_int_eq(dir, -1);
	ck_assert_uint_eq(take(), 2);
	populate(2, 0);
	populate(1, 0);
	ck_assert_uint_eq(take(), 1);
}
END_TEST

/* A group that was removed from outside is made again, others are kept. */
START_TEST(test_removed)
{
	int		 dir;

	ck_assert_uint_eq(take(), 1);
	populate(1, 0);
	give_back(1);
	empty(1);
	ck_assert_int_eq(rmdir(path_of(1, "")), 0);
	ck_assert_uint_eq(pcgroups_take(c, &dir), 0);
	ck_assert_int_eq(dir, -1);
	ck_assert_uint_eq(take(), 1);
	populate(1, 0);
	give_back(1);
}
END_TEST

/* One that cannot be opened now stays one. */
START_TEST(test_not_opened)
{
	struct rlimit	 limit, none;
	unsigned	 number;
	int		 dir;

	ck_assert_uint_eq(take(), 1);
	populate(1, 0);
	give_back(1);
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	number = pcgroups_take(c, &dir);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_uint_eq(number, 0);
	ck_assert_int_eq(dir, -1);
	ck_assert_uint_eq(take(), 1);
	give_back(1);
}
END_TEST

#define AS_OWNER	"fsuid 11; fsuid 22; dumpable 0; "

/* Made and removed as their owner, whom no command is. */
START_TEST(test_owner)
{
	ck_assert_uint_eq(take(), 1);
	populate(1, 0);
	ck_assert_str_eq(did, "");
	real = 11;
	effective = 22;
	ck_assert_uint_eq(take(), 2);
	ck_assert_str_eq(did, AS_OWNER);
	populate(2, 0);
	pcgroups_kill(c, 2);
	empty(2);
	did[0] = '\0';
	give_back(2);
	ck_assert_str_eq(did, AS_OWNER);
}
END_TEST

/* Without groups there is none to take, and nothing to give back. */
START_TEST(test_none)
{
	unsigned	 none = 0;
	int		 dir = 0;

	ck_assert_uint_eq(pcgroups_take(NULL, &dir), 0);
	ck_assert_int_eq(dir, -1);
	pcgroups_give_back(NULL, &none);
	pcgroups_give_back(c, &none);
	ck_assert_uint_eq(none, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("pcgroup");
	TCase	*t = tcase_create("pcgroup");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_again);
	tcase_add_test(t, test_left);
	tcase_add_test(t, test_killed);
	tcase_add_test(t, test_removed);
	tcase_add_test(t, test_not_opened);
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_owner);
	tcase_add_test(t, test_of_another);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
