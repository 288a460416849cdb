#include "common/span.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

/* A literal; it may hold NUL. */
#define S(text)		((struct span){ text, sizeof(text) - 1 })
#define NONE		((struct span){ NULL, 0 })
#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))

START_TEST(test_compare)
{
	ck_assert(span_is(S("a b"), "a b"));
	ck_assert(!span_is(S("a b"), "A b"));
	ck_assert(!span_is(S("a b"), "a"));
	ck_assert(!span_is(S("a"), "a b"));
	ck_assert(!span_is(S("a\0b"), "a"));
	ck_assert(span_is(S(""), ""));
	ck_assert(span_is(NONE, ""));
	ck_assert(!span_is(NONE, "a"));
	ck_assert(span_is_nocase(S("WebSocket"), "websocket"));
	ck_assert(!span_is_nocase(S("WebSocket "), "websocket"));
	ck_assert(!span_is_nocase(S("Web"), "websocket"));
	ck_assert(span_is_nocase(NONE, ""));
	ck_assert(span_begins(S("HTTP/1.1 101"), "HTTP/1.1 "));
	ck_assert(span_begins(S("a"), "a"));
	ck_assert(span_begins(NONE, ""));
	ck_assert(!span_begins(S("a"), "ab"));
	ck_assert(!span_begins(S("A"), "a"));
}
END_TEST

START_TEST(test_cut)
{
	struct span	 s = S("a::b"), front = S("untouched");

	ck_assert(!span_cut(&s, ',', &front));
	ck_assert(span_is(s, "a::b") && span_is(front, "untouched"));
	ck_assert(span_cut(&s, ':', &front));
	ck_assert(span_is(s, ":b") && span_is(front, "a"));
	ck_assert(span_cut(&s, ':', &front));
	ck_assert(span_is(s, "b") && span_is(front, ""));
	ck_assert(!span_cut(&s, ':', &front));
	s = NONE;
	ck_assert(!span_cut(&s, ':', &front));
	/* A last one leaves nothing. */
	s = S("a:");
	ck_assert(span_cut(&s, ':', &front) && s.len == 0);
	ck_assert(!span_cut(&s, ':', &front));
}
END_TEST

START_TEST(test_line)
{
	struct span	 s = S("one\r\n\r\ntwo\rtwo\r\nthree\nfour\r\n");
	struct span	 line = NONE;

	ck_assert(span_line(&s, &line) && span_is(line, "one"));
	ck_assert(span_line(&s, &line) && span_is(line, ""));
	ck_assert(span_line(&s, &line) && span_is(line, "two\rtwo"));
	/* A bare LF is no end, and nothing behind it is reached. */
	ck_assert(!span_line(&s, &line));
	ck_assert(span_is(s, "three\nfour\r\n") && span_is(line, "two\rtwo"));
	s = S("\n");
	ck_assert(!span_line(&s, &line) && s.len == 1);
	s = S("a\r");
	ck_assert(!span_line(&s, &line) && s.len == 2);
}
END_TEST

START_TEST(test_trim)
{
	ck_assert(span_is(span_trim(S(" \t a b\t ")), "a b"));
	ck_assert(span_is(span_trim(S("a")), "a"));
	ck_assert(span_is(span_trim(S(" \t ")), ""));
	ck_assert(span_is(span_trim(NONE), ""));
	/* Two kinds of blanks, no more. */
	ck_assert(span_is(span_trim(S("\r\na\v")), "\r\na\v"));
}
END_TEST

/* Every byte there is, alone and between letters. */
START_TEST(test_characters)
{
	const char	*token = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnop"
			    "qrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char		 text[3];
	struct span	 alone = { text + 1, 1 }, among = { text, 3 };
	bool		 is_token, is_text, is_visible;
	int		 c;

	for (c = 0; c <= UINT8_MAX; c++) {
		memcpy(text, "axb", 3);
		text[1] = (char)c;
		is_token = c != 0 && strchr(token, c) != NULL;
		is_text = (c >= ' ' && c != 0x7f) || c == '\t';
		is_visible = c > ' ' && c <= '~';
		ck_assert_msg(span_is_visible(alone) == is_visible, "%d", c);
		ck_assert_msg(span_is_visible(among) == is_visible, "%d", c);
		ck_assert_msg(span_is_token(alone) == is_token, "%d", c);
		ck_assert_msg(span_is_token(among) == is_token, "%d", c);
		ck_assert_msg(span_is_text(alone) == is_text, "%d", c);
		ck_assert_msg(span_is_text(among) == is_text, "%d", c);
	}
	ck_assert(!span_is_token(NONE));
	ck_assert(span_is_text(NONE));
	ck_assert(!span_is_visible(NONE));
}
END_TEST

static const struct {
	struct span	 list;
	bool		 has;
} lists[] = {
	{ { "upgrade", 7 }, true },
	{ { "Upgrade", 7 }, true },
	{ { "keep-alive, Upgrade", 19 }, true },
	{ { "upgrade,keep-alive", 18 }, true },
	{ { ",, \tUPGRADE\t ,", 14 }, true },
	{ { "keep-alive", 10 }, false },
	{ { "upgraded", 8 }, false },
	{ { "up grade", 8 }, false },
	{ { "upgrade x", 9 }, false },
	{ { "up,grade", 8 }, false },
	{ { "upgrade;q=1", 11 }, false },
	{ { "", 0 }, false },
	{ { NULL, 0 }, false },
	{ { ",", 1 }, false },
};

START_TEST(test_lists)
{
	ck_assert_msg(span_list_has(lists[_i].list, "upgrade") ==
	    lists[_i].has, "row %d", _i);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("span");
	TCase	*t = tcase_create("span");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_add_test(t, test_compare);
	tcase_add_test(t, test_cut);
	tcase_add_test(t, test_line);
	tcase_add_test(t, test_trim);
	tcase_add_test(t, test_characters);
	tcase_add_loop_test(t, test_lists, 0, (int)NROWS(lists));
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
