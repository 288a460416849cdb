/* worker/proc/denial.c: which output sounds like a denial. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/proc/denial.h"

static struct window	 window;
static struct retain	 retain;

static void
setup(void)
{
	window_init(&window);
	retain_init(&retain, &window);
}

static void
teardown(void)
{
	retain_fini(&retain);
}

static void
put(uint8_t stream, const char *text, size_t len)
{
	struct chunk	*c = chunk_new(len);

	ck_assert_ptr_nonnull(c);
	memcpy(c->data, text, len);
	c->len = (uint32_t)len;
	retain_add(&retain, c, stream);
}

static void
say(uint8_t stream, const char *text)
{
	put(stream, text, strlen(text));
}

START_TEST(test_exit_codes)
{
	ck_assert(!denial(&retain, 0));
	ck_assert(!denial(&retain, 1));
	ck_assert(!denial(&retain, 127));
	ck_assert(denial(&retain, 128 + 31));	/* SIGSYS */
	say(0, "touch: cannot touch 'x': Read-only file system\n");
	ck_assert(!denial(&retain, 0));
	ck_assert(denial(&retain, 1));
}
END_TEST

static const char *const phrases[] = {
	"operation not permitted", "Permission denied",
	"READ-ONLY FILE SYSTEM", "blocked by seccomp", "a Sandbox", "landlock",
	"error: failed to write file x"
};

START_TEST(test_phrases)
{
	say((uint8_t)(_i % 3), "first some words\n");
	say((uint8_t)(_i % 3), phrases[_i]);
	ck_assert(denial(&retain, 1));
}
END_TEST

START_TEST(test_near_misses)
{
	say(0, "permission  denied, operation not\npermitted, read-only");
	say(1, "permission ");
	say(0, "denied");		/* another stream */
	ck_assert(!denial(&retain, 1));
}
END_TEST

/* A phrase is found wherever it is cut, also at what is looked at at once. */
START_TEST(test_cuts)
{
	static const char	 phrase[] = "operation not permitted";
	static char		 before[5000];
	size_t			 cut = (size_t)_i % sizeof(phrase);

	memset(before, '.', sizeof(before));
	put(1, before, 4096 - (size_t)_i % 64);
	put(1, phrase, cut);
	put(1, phrase + cut, strlen(phrase) - cut);
	ck_assert(denial(&retain, 1));
}
END_TEST

/* What is older than what the reference keeps does not count. */
START_TEST(test_old_output)
{
	char	*much = calloc(1, LIMIT_RETAINED);

	ck_assert_ptr_nonnull(much);
	memset(much, 'x', LIMIT_RETAINED);
	say(0, "permission denied");
	put(0, much, LIMIT_RETAINED);
	ck_assert(!denial(&retain, 1));
	say(0, "permission denied");
	ck_assert(denial(&retain, 1));
	free(much);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("denial");
	TCase	*t = tcase_create("denial");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_exit_codes);
	tcase_add_loop_test(t, test_phrases, 0,
	    sizeof(phrases) / sizeof(phrases[0]));
	tcase_add_test(t, test_near_misses);
	tcase_add_loop_test(t, test_cuts, 0, 128);
	tcase_add_test(t, test_old_output);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
