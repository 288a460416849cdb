/*
 * master/execsrvctl/cp/cp_there.c: what a command of the server says, which is
 * as long as the server likes.  The client's calls are ours.
 */
#include <check.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/cp/cp_priv.h"

#define ROOM	(sizeof(((struct cp_said *)NULL)->text) - 1)

static struct cp			 c;
static struct cp_said			 s;
static const struct execsrv_hooks	*hooks;
static int				 step;	/* of what happens */
static size_t				 piece;	/* bytes that come at once */
static char				 data[2 * sizeof(s.text)];
static bool				 is_freed;

/* --- in the place of the client --- */

struct execsrv_process *
execsrv_process_start(struct execsrv *x, const struct execsrv_start *start,
    const struct execsrv_hooks *h, void *arg)
{
	ck_assert(x == c.x && arg == &s);
	ck_assert_str_eq(start->argv[0], "/bin/sh");
	ck_assert_str_eq(start->argv[2], "script");
	ck_assert_str_eq(start->argv[4], "a");
	hooks = h;
	return (struct execsrv_process *)8;
}

void
execsrv_process_free(struct execsrv_process **pp)
{
	*pp = NULL;
	is_freed = true;
}

int
execsrv_wait(struct execsrv *x, int ms)
{
	struct execsrv_error	 e = { .code = 1 };

	ck_assert(x == c.x && ms > 0);
	switch (step++) {
	case 0:
		hooks->on_output(&s, EXECSRV_STDERR, "no", 2);
		hooks->on_output(&s, EXECSRV_STDOUT, data, piece);
		break;
	case 1:
		hooks->on_output(&s, EXECSRV_STDOUT, "z", 1);
		hooks->on_exited(&s, 3, false);
		break;
	case 2:
		hooks->on_closed(&s);
		break;
	case 10:
		hooks->on_answer(&s, EXECSRV_WRITE, &e);
		hooks->on_answer(&s, EXECSRV_START, NULL);
		ck_assert(!s.is_over);
		hooks->on_answer(&s, EXECSRV_START, &e);
		break;
	case 20:
		hooks->on_exited(&s, 0, false);
		hooks->on_lost(&s, &e);
		break;
	case 30:
		hooks->on_exited(&s, 0, false);
		break;
	default:
		return -1;
	}
	return 0;
}

/* What no case here needs. */
#define NEVER(type, name, in_type)					\
type									\
name(struct execsrv *x, const struct in_type *in, int ms,		\
    struct execsrv_error *e)						\
{									\
	(void)x;							\
	(void)in;							\
	(void)ms;							\
	(void)e;							\
	abort();							\
}
NEVER(struct execsrv_attributes *, execsrv_fs_attributes_wait,
    execsrv_fs_look)
NEVER(struct execsrv_metadata *, execsrv_fs_metadata_wait, execsrv_fs_path)
NEVER(int, execsrv_fs_create_directory_wait, execsrv_fs_create)
NEVER(int, execsrv_fs_create_link_wait, execsrv_fs_link)
NEVER(int, execsrv_fs_remove_wait, execsrv_fs_remove)
NEVER(int, execsrv_fs_rename_wait, execsrv_fs_rename)
NEVER(int, execsrv_fs_set_attributes_wait, execsrv_fs_set)
NEVER(int, execsrv_fs_write_file_wait, execsrv_fs_write)

int
cp_join(struct cp *cp, char out[PATH_MAX], const char *folder,
    const char *name)
{
	(void)cp;
	(void)out;
	(void)folder;
	(void)name;
	abort();
}

void
cp_folder_of(const char *path, char out[PATH_MAX])
{
	(void)path;
	(void)out;
	abort();
}

/* --- tests --- */

static void
setup(void)
{
	memset(&c, 0, sizeof(c));
	memset(data, 'd', sizeof(data));
	step = 0;
	piece = 4;
	is_freed = false;
}

static int
run(void)
{
	int	 r = cp_there_run(&c, &s, 60000, "script", "a", "b", "d");

	ck_assert(is_freed);
	ck_assert_int_eq(r, s.status);
	return r;
}

START_TEST(test_said)
{
	ck_assert_int_eq(run(), 3);
	ck_assert_str_eq(s.text, "ddddz");
	ck_assert_uint_eq(s.len, 5);
}
END_TEST

/* What there is no room for is left out. */
START_TEST(test_room)
{
	static const size_t	 pieces[] = {
		ROOM - 2, ROOM - 1, ROOM, ROOM + 1, sizeof(data)
	};

	piece = pieces[_i];
	ck_assert_int_eq(run(), 3);
	ck_assert_uint_eq(s.len, _i == 0 ? ROOM - 1 : ROOM);
	ck_assert_uint_eq(strlen(s.text), s.len);
	ck_assert_int_eq(s.text[s.len - 1], _i < 2 ? 'z' : 'd');
}
END_TEST

/* It did not start; the server is lost; it does not end. */
START_TEST(test_fails)
{
	step = 10 * (_i + 1);
	ck_assert_int_eq(run(), -1);
}
END_TEST

int
main(void)
{
	Suite	*suite = suite_create("cp_there");
	TCase	*t = tcase_create("cp_there");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_said);
	tcase_add_loop_test(t, test_room, 0, 5);
	tcase_add_loop_test(t, test_fails, 0, 3);
	suite_add_tcase(suite, t);
	r = srunner_create(suite);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
