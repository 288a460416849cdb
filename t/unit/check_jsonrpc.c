/* worker/conn/jsonrpc.c: what is answered to a message that nobody handles. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/conn/jsonrpc.h"

static const struct {
	const char	*message, *id;
} rows[] = {
	{ "{\"id\":7,\"method\":\"x\"}", "7" },
	{ "{\"id\":-7}", "-7" },
	{ "{\"id\":9223372036854775807}", "9223372036854775807" },
	{ "{\"id\":\"a\\u0041\\n\"}", "\"aA\\n\"" },
	{ "{\"id\":\"\"}", "\"\"" },
	{ "{\"id\":1.5}", "-1" },
	{ "{\"id\":null}", "-1" },
	{ "{\"id\":[1]}", "-1" },
	{ "{\"id\":9223372036854775808}", "-1" },
	{ "{\"method\":\"x\"}", "-1" },
	{ "[{\"id\":7}]", "-1" },
	{ "{\"id\":7", "-1" },
	{ "", "-1" },
	{ "null", "-1" },
};

static void
ck_refused(unsigned i, enum rpc_err err, const char *why, const char *error)
{
	struct buf	 b;
	char		*text = strdup(rows[i].message), want[256];

	ck_assert_ptr_nonnull(text);
	buf_init(&b, LIMIT_MESSAGE);
	ck_assert_int_eq(jsonrpc_refuse(text, strlen(text), err, why, &b), 0);
	snprintf(want, sizeof(want), "{\"error\":{%s},\"id\":%s}", error,
	    rows[i].id);
	ck_assert_uint_eq(b.len, strlen(want));
	ck_assert_mem_eq(buf_data(&b), want, b.len);
	buf_fini(&b);
	free(text);
}

START_TEST(test_refuse)
{
	ck_refused((unsigned)_i, ERR_PARAMS, "why \"not\"",
	    "\"code\":-32602,\"message\":\"why \\\"not\\\"\"");
	ck_refused((unsigned)_i, ERR_UNKNOWN_METHOD, "x",
	    "\"code\":-32601,\"message\":\"x\"");
}
END_TEST

/* No memory is an error, not half an answer. */
START_TEST(test_no_room)
{
	char		 text[] = "{\"id\":1}";
	struct buf	 b;

	buf_init(&b, 16);
	ck_assert_int_eq(jsonrpc_refuse(text, strlen(text), ERR_PARAMS, NULL,
	    &b), -1);
	buf_fini(&b);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("jsonrpc");
	TCase	*t = tcase_create("jsonrpc");
	SRunner	*r;
	int	 failed;

	tcase_add_loop_test(t, test_refuse, 0,
	    sizeof(rows) / sizeof(rows[0]));
	tcase_add_test(t, test_no_room);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
