/* master/execsrvctl/forward/forward_spec.c: what -L and -R mean. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "master/execsrvctl/forward/forward_spec.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

static const struct {
	const char	*text, *from, *to;	/* from NULL: refused */
} specs[] = {
	{ "8080:localhost:80", "localhost:8080", "localhost:80" },
	{ "0:h:65535", "localhost:0", "h:65535" },
	{ "127.0.0.1:8080:h:80", "127.0.0.1:8080", "h:80" },
	{ "[::1]:8080:[fe80::1%lo]:80", "[::1]:8080", "[fe80::1%lo]:80" },
	{ "*:8080:h:80", "*:8080", "h:80" },
	{ "8080:/run/x", "localhost:8080", "/run/x" },
	{ "b:8080:/run/x", "b:8080", "/run/x" },
	{ "/run/y:h:80", "/run/y", "h:80" },
	{ "/run/y:/run/x", "/run/y", "/run/x" },
	{ "", NULL, NULL }, { "8080", NULL, NULL }, { "/x", NULL, NULL },
	{ "8080:80", NULL, NULL }, { "8080:h", NULL, NULL },
	{ "a:b:c", NULL, NULL }, { "8080:h:", NULL, NULL },
	{ ":h:80", NULL, NULL }, { "8080::80", NULL, NULL },
	{ "8080:h:0", NULL, NULL }, { "8080:h:65536", NULL, NULL },
	{ "65536:h:1", NULL, NULL }, { "8080:h:+1", NULL, NULL },
	{ "8080:h:8x", NULL, NULL }, { "-1:h:80", NULL, NULL },
	{ "000080:h:80", NULL, NULL }, { "1:2:3:4:5", NULL, NULL },
	{ "[::1:1:h:2", NULL, NULL }, { "[::1]x:1:h:2", NULL, NULL },
	{ "[]:1:h:2", NULL, NULL }, { "x:/run/x", NULL, NULL },
	{ "/a:b:/c", NULL, NULL }, { "/a:1:h:2", NULL, NULL },
	{ "1:/a:2", NULL, NULL }, { "1:h:2:", NULL, NULL },
};

START_TEST(test_specs)
{
	struct forward_spec	 s;
	char			 text[FORWARD_TEXT];
	int			 r = forward_spec_parse(specs[_i].text, &s);

	ck_assert_msg(r == (specs[_i].from != NULL ? 0 : -1), "%s",
	    specs[_i].text);
	if (r == -1)
		return;
	forward_end_text(&s.from, text);
	ck_assert_str_eq(text, specs[_i].from);
	forward_end_text(&s.to, text);
	ck_assert_str_eq(text, specs[_i].to);
}
END_TEST

/* A name that is too long is none. */
START_TEST(test_long)
{
	struct forward_spec	 s;
	char			 text[600] = "80:";

	memset(text + 3, 'h', 255);
	strcpy(text + 258, ":80");
	ck_assert_int_eq(forward_spec_parse(text, &s), 0);
	ck_assert_uint_eq(strlen(s.to.name), 255);
	memset(text + 3, 'h', 256);
	strcpy(text + 259, ":80");
	ck_assert_int_eq(forward_spec_parse(text, &s), -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("forward_spec");
	TCase	*t = tcase_create("forward_spec");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_loop_test(t, test_specs, 0, N(specs));
	tcase_add_test(t, test_long);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
