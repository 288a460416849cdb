/*
 * master/workers/records.c: what was written last is read, whenever the writer
 * was killed; what is damaged is named and left out, and nothing crashes.
 */
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/workers/records.h"

#define NOISE	20000		/* random changes of a file */

static char		 dir[64], path[96];
static struct records	*t;
static struct record	 found[512];
static size_t		 nfound, ndamaged;

static void
on_record(void *arg, const struct record *r)
{
	ck_assert_ptr_eq(arg, &nfound);
	ck_assert(nfound < sizeof(found) / sizeof(found[0]));
	found[nfound++] = *r;
}

static void
on_damaged(void *arg, size_t position, const char *why)
{
	ck_assert_ptr_eq(arg, &nfound);
	ck_assert(position < 1u << 20 && why[0] != '\0');
	ndamaged++;
}

static const struct records_events	 events = { on_record, on_damaged };

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");

	snprintf(dir, sizeof(dir), "%.40s/records.XXXXXX", tmp != NULL ? tmp :
	    "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" RECORDS_FILE, dir);
	ck_assert_ptr_nonnull(t = records_new(dir));
}

static void
teardown(void)
{
	records_free(&t, false);
	unlink(path);
	ck_assert_int_eq(rmdir(dir), 0);
}

static int
read_all(struct records_head *h, char why[RECORDS_WHY])
{
	nfound = ndamaged = 0;
	return records_read(dir, h, &events, &nfound, why);
}

static void
ck_read(void)
{
	struct records_head	 h;
	char			 why[RECORDS_WHY];

	ck_assert_int_eq(read_all(&h, why), 1);
}

static struct record
session(unsigned number)
{
	struct record	 r;

	memset(&r, 0, sizeof(r));
	r.kind = RECORD_SESSION;
	r.number = number;
	r.pid = 2 + (int)number;
	snprintf(r.id, sizeof(r.id), "id-%u", number);
	strcpy(r.identity, "uid:7");
	return r;
}

START_TEST(test_round)
{
	struct records_head	 h;
	struct record		 r;
	char			 why[RECORDS_WHY];
	int			 slot[200];
	unsigned		 i;

	/* Until it is published there is no file for others. */
	ck_assert_int_eq(read_all(&h, why), 0);
	strcpy(records_head(t)->group[1], "execsrv-1");
	records_head(t)->deaths = 3;
	ck_assert_int_eq(records_publish(t), 0);
	records_head(t)->next_number = 77;
	for (i = 0; i < 200; i++) {
		r = session(i + 1);
		slot[i] = -1;
		ck_assert_int_eq(records_put(t, &slot[i], &r), 0);
	}
	ck_assert_int_eq(read_all(&h, why), 1);
	ck_assert_uint_eq(nfound, 200);
	ck_assert_uint_eq(ndamaged, 0);
	ck_assert_uint_eq(h.next_number, 77);
	ck_assert_uint_eq(h.deaths, 3);
	ck_assert_str_eq(h.group[1], "execsrv-1");
	ck_assert_str_eq(found[199].id, "id-200");
	/* The last state counts; a free one is no session. */
	r = session(1);
	r.flags = RECORD_ATTACHED;
	ck_assert_int_eq(records_put(t, &slot[0], &r), 0);
	records_drop(t, &slot[1]);
	ck_assert_int_eq(slot[1], -1);
	records_drop(t, &slot[1]);
	ck_read();
	ck_assert_uint_eq(nfound, 199);
	ck_assert_uint_eq(found[0].flags, RECORD_ATTACHED);
	ck_assert_str_eq(found[1].id, "id-3");
	/* Its place is used again. */
	r = session(500);
	ck_assert_int_eq(records_put(t, &slot[1], &r), 0);
	ck_read();
	ck_assert_uint_eq(nfound, 200);
	ck_assert_str_eq(found[1].id, "id-500");
}
END_TEST

/* For the next master, or for nobody. */
START_TEST(test_kept)
{
	struct record	 r = session(1);
	int		 slot = -1;

	ck_assert_int_eq(records_publish(t), 0);
	ck_assert_int_eq(records_put(t, &slot, &r), 0);
	records_free(&t, true);
	ck_read();
	ck_assert_uint_eq(nfound, 1);
	/* The next one does not touch it before it has its own. */
	ck_assert_ptr_nonnull(t = records_new(dir));
	ck_read();
	ck_assert_uint_eq(nfound, 1);
	ck_assert_int_eq(records_publish(t), 0);
	ck_read();
	ck_assert_uint_eq(nfound, 0);
	records_free(&t, false);
	ck_assert_int_eq(access(path, F_OK), -1);
}
END_TEST

/*
 * A writer is killed at any moment: each session is there, in a state that it
 * had, and in none that is older than the last but one.
 */
START_TEST(test_killed)
{
	struct record	 r;
	int		 slot[4] = { -1, -1, -1, -1 };
	int		 i, status, round, said[2];
	unsigned	 n;
	pid_t		 pid;

	ck_assert_int_eq(records_publish(t), 0);
	for (i = 0; i < 4; i++) {
		r = session((unsigned)i + 1);
		ck_assert_int_eq(records_put(t, &slot[i], &r), 0);
	}
	for (round = 0; round < 200; round++) {
		ck_assert_int_eq(pipe(said), 0);
		if ((pid = fork()) == 0) {
			for (n = 0;; n++) {
				r = session(n % 4 + 1);
				r.until = r.born = n;
				if (records_put(t, &slot[n % 4], &r) == -1)
					_exit(1);
				if (n == 10 && write(said[1], "", 1) != 1)
					_exit(1);
			}
		}
		ck_assert_int_ne(pid, -1);
		ck_assert_int_eq(read(said[0], &status, 1), 1);
		usleep(randombytes_uniform(300));
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		close(said[0]);
		close(said[1]);
		ck_read();
		ck_assert_uint_eq(nfound, 4);
		ck_assert_uint_eq(ndamaged, 0);
		for (i = 0; i < 4; i++)
			ck_assert(found[i].until == found[i].born &&
			    found[i].number == (unsigned)i + 1);
	}
}
END_TEST

static uint8_t *
slurp(size_t *size_out)
{
	struct stat	 st;
	uint8_t		*data;
	int		 fd;

	ck_assert_int_ne(fd = open(path, O_RDONLY), -1);
	ck_assert_int_eq(fstat(fd, &st), 0);
	*size_out = (size_t)st.st_size;
	ck_assert_ptr_nonnull(data = malloc(*size_out));
	ck_assert_int_eq(read(fd, data, *size_out), (ssize_t)*size_out);
	close(fd);
	return data;
}

/*
 * Random changes and truncations: nothing crashes, what is read is what was
 * written, and what is not read is named.
 */
START_TEST(test_noise)
{
	struct records_head	 h;
	struct record		 r;
	uint8_t			*data, *copy;
	uint8_t			 boot[16];
	char			 why[RECORDS_WHY];
	size_t			 size, len, at, k, i;
	int			 slot, round;

	ck_assert_int_eq(records_publish(t), 0);
	for (i = 0; i < 40; i++) {
		r = session((unsigned)i + 1);
		slot = -1;
		ck_assert_int_eq(records_put(t, &slot, &r), 0);
		ck_assert_int_eq(records_put(t, &slot, &r), 0);
	}
	data = slurp(&size);
	memcpy(&h, data, sizeof(h));
	memcpy(boot, h.boot, sizeof(boot));
	for (round = 0; round < NOISE; round++) {
		len = round % 3 == 0 ? randombytes_uniform((uint32_t)size + 1) :
		    size;
		ck_assert_ptr_nonnull(copy = malloc(len + 1));
		memcpy(copy, data, len);
		for (k = randombytes_uniform(64); k > 0 && len > 0; k--) {
			at = randombytes_uniform((uint32_t)len);
			copy[at] = (uint8_t)randombytes_uniform(256);
		}
		nfound = ndamaged = 0;
		if (records_parse(copy, len, boot, &h, &events, &nfound,
		    why) == -1) {
			ck_assert(why[0] != '\0' && nfound == 0);
		} else {
			ck_assert(nfound + ndamaged >= (len < size ? 0 : 40));
			for (i = 0; i < nfound; i++)
				ck_assert(found[i].number >= 1 &&
				    found[i].number <= 40 &&
				    strcmp(found[i].identity, "uid:7") == 0);
		}
		free(copy);
	}
	free(data);
}
END_TEST

/* Fields that are added later, in the head and in records. */
START_TEST(test_longer)
{
	struct records_head	 h;
	struct record		 r = session(9);
	uint8_t			*data, *wide;
	uint8_t			 boot[16];
	char			 why[RECORDS_WHY];
	size_t			 size;
	int			 slot = -1;

	ck_assert_int_eq(records_publish(t), 0);
	ck_assert_int_eq(records_put(t, &slot, &r), 0);
	data = slurp(&size);
	memcpy(&h, data, sizeof(h));
	memcpy(boot, h.boot, sizeof(boot));
	nfound = ndamaged = 0;
	/* Another format is refused, with its number. */
	((struct records_head *)(void *)data)->version = 2;
	ck_assert_int_eq(records_parse(data, size, boot, &h, &events, &nfound,
	    why), -1);
	ck_assert_ptr_nonnull(strstr(why, "2"));
	((struct records_head *)(void *)data)->version = 1;
	/* Sizes in the head are in its sum. */
	((struct records_head *)(void *)data)->record_size += 8;
	ck_assert_int_eq(records_parse(data, size, boot, &h, &events, &nfound,
	    why), -1);
	ck_assert_ptr_nonnull(strstr(why, "damaged"));
	((struct records_head *)(void *)data)->record_size -= 8;
	/* Another boot: those processes are gone. */
	boot[3] ^= 1;
	ck_assert_int_eq(records_parse(data, size, boot, &h, &events, &nfound,
	    why), -1);
	ck_assert_ptr_nonnull(strstr(why, "boot"));
	boot[3] ^= 1;
	/* No room for a record. */
	ck_assert_ptr_nonnull(wide = malloc(sizeof(h)));
	memcpy(wide, data, sizeof(h));
	ck_assert_int_eq(records_parse(wide, sizeof(h), boot, &h, &events,
	    &nfound, why), 0);
	ck_assert_uint_eq(nfound + ndamaged, 0);
	free(wide);
	free(data);
}
END_TEST

/* A valid sum, but no session can be like that. */
START_TEST(test_impossible)
{
	static const struct {
		uint32_t	 kind, number;
		int32_t		 pid;
		bool		 has_id;
	} no[] = {
		{ RECORD_UPLINK + 1, 5, 7, true }, { RECORD_SESSION, 0, 7,
		true }, { RECORD_SESSION, 5, -1, true }, { RECORD_SESSION, 5, 1,
		true }, { RECORD_SESSION, 5, 7, false }
	};
	struct record	 r = session(9);
	size_t		 i;
	int		 slot = -1;

	ck_assert_int_eq(records_publish(t), 0);
	/* Whose pid is not known. */
	r.pid = 0;
	ck_assert_int_eq(records_put(t, &slot, &r), 0);
	for (i = 0; i < sizeof(no) / sizeof(no[0]); i++) {
		r = session(no[i].number);
		r.kind = no[i].kind;
		r.pid = no[i].pid;
		if (!no[i].has_id)
			r.id[0] = '\0';
		slot = -1;
		ck_assert_int_eq(records_put(t, &slot, &r), 0);
		ck_read();
		ck_assert_uint_eq(nfound, 1);
		ck_assert_uint_eq(found[0].number, 9);
		ck_assert_uint_eq(ndamaged, i + 1);
	}
}
END_TEST

/* Not a file of ours, and one that cannot be written. */
START_TEST(test_foreign)
{
	struct records_head	 h;
	char			 why[RECORDS_WHY];
	int			 fd;

	ck_assert_int_ne(fd = open(path, O_WRONLY | O_CREAT, 0600), -1);
	ck_assert_int_eq(read_all(&h, why), -1);
	ck_assert_str_eq(why, "it is too short");
	ck_assert_int_eq(ftruncate(fd, 4096), 0);
	ck_assert_int_eq(read_all(&h, why), -1);
	ck_assert_str_eq(why, "it is not a table of sessions");
	close(fd);
	unlink(path);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	ck_assert_int_eq(read_all(&h, why), -1);
	unlink(path);
	ck_assert_int_eq(symlink("/etc/passwd", path), 0);
	ck_assert_int_eq(read_all(&h, why), -1);
	unlink(path);
	ck_assert_ptr_null(records_new("/nonexistent"));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("records");
	TCase	*tc = tcase_create("records");
	SRunner	*r;
	int	 failed;

	if (sodium_init() == -1)
		return 1;
	tcase_set_timeout(tc, 0);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_round);
	tcase_add_test(tc, test_kept);
	tcase_add_test(tc, test_killed);
	tcase_add_test(tc, test_noise);
	tcase_add_test(tc, test_longer);
	tcase_add_test(tc, test_impossible);
	tcase_add_test(tc, test_foreign);
	suite_add_tcase(s, tc);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
