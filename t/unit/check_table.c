/* master/execsrvctl/table.c: cells for people, tables in their three forms. */
#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "master/execsrvctl/table.h"

#define COUNT(a)	(sizeof(a) / sizeof((a)[0]))

/* --- cells --- */

struct shown {
	const char	*cell, *shown;
};

static void
ck_shown(char *(*show)(const char *), const struct shown *rows, size_t n)
{
	size_t	 i;
	char	*text;

	for (i = 0; i < n; i++) {
		ck_assert_ptr_nonnull(text = show(rows[i].cell));
		ck_assert_str_eq(text, rows[i].shown);
		free(text);
	}
}

START_TEST(test_seconds)
{
	static const struct shown	 rows[] = {
		{ "0", "0s" }, { "59", "59s" }, { "60", "1m00s" },
		{ "192", "3m12s" }, { "3599", "59m59s" }, { "3600", "1h00m" },
		{ "7505", "2h05m" }, { "86399", "23h59m" },
		{ "86400", "1d00h" }, { "370800", "4d07h" },
		{ "18446744073709551615", "213503982334601d07h" },
		/* not a number: as it is */
		{ "18446744073709551616", "18446744073709551616" },
		{ "", "" }, { "-1", "-1" }, { " 1", " 1" }, { "1x", "1x" },
	};

	ck_shown(table_show_seconds, rows, COUNT(rows));
}
END_TEST

START_TEST(test_bytes)
{
	static const struct shown	 rows[] = {
		{ "0", "0" }, { "1023", "1023" }, { "1024", "1.0K" },
		{ "1535", "1.4K" }, { "1536", "1.5K" }, { "10239", "9.9K" },
		{ "10240", "10K" }, { "1048575", "1023K" },
		{ "1048576", "1.0M" }, { "1610612736", "1.5G" },
		{ "18446744073709551615", "15E" }, { "", "" }, { "-", "-" },
	};

	ck_shown(table_show_bytes, rows, COUNT(rows));
}
END_TEST

START_TEST(test_ms_and_kib)
{
	static const struct shown	 times[] = {
		{ "0", "0.0s" }, { "99", "0.0s" }, { "100", "0.1s" },
		{ "59999", "59.9s" }, { "60000", "1m00s" }, { "", "" },
	}, sizes[] = {
		{ "0", "0" }, { "1", "1.0K" }, { "2048", "2.0M" },
		{ "18446744073709551615", "18446744073709551615" },
	};

	ck_shown(table_show_ms, times, COUNT(times));
	ck_shown(table_show_kib, sizes, COUNT(sizes));
}
END_TEST

/* --- rows and columns that are wanted --- */

/* The first n columns of a list of sessions, five or six. */
static struct table *
make_sessions_of(size_t n, const char *cpu)
{
	static char		 names[6][8] = { "session", "user", "age",
				    "cpu_ms", "busy", "more" };
	static const enum table_kind kinds[] = { TABLE_NUMBER, TABLE_TEXT,
		TABLE_NUMBER, TABLE_NUMBER, TABLE_FLAG, TABLE_TEXT };
	static char		 cells[3][6][8] = {
		{ "1", "7", "10", "9000", "yes", "" },
		{ "2", "8", "4", "100", "no", "" },
		{ "3", "7", "0", "0", "", "" } };
	char			*name[6], *cell[6];
	struct table		*s;
	size_t			 i, r;

	for (i = 0; i < n; i++)
		name[i] = names[i];
	ck_assert_ptr_nonnull(s = table_new(n, name, kinds));
	for (r = 0; r < 3; r++) {
		for (i = 0; i < n; i++)
			cell[i] = cells[r][i];
		if (r == 0 && cpu != NULL)
			cell[3] = (char *)(uintptr_t)cpu;
		ck_assert_int_eq(table_add(s, n, cell), 0);
	}
	return s;
}

static struct table *
make_sessions(const char *cpu)
{
	return make_sessions_of(5, cpu);
}

static void
ck_json(struct table **tp, const char *want)
{
	char	*text;
	size_t	 size;
	FILE	*out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	ck_assert_int_eq(table_print_json(*tp, false, out), 0);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(text, want);
	free(text);
	table_free(tp);
}

START_TEST(test_pick)
{
	struct table	*s = make_sessions(NULL);

	ck_assert_str_eq(table_pick(s, "age,nothing,user"), "nothing,user");
	table_free(&s);
	s = make_sessions(NULL);
	ck_assert_ptr_null(table_pick(s, "busy,session,busy"));
	ck_json(&s, "[{\"busy\":true,\"session\":1},"
	    "{\"busy\":false,\"session\":2},{\"busy\":null,\"session\":3}]\n");
	/* A part of a name is not it. */
	s = make_sessions(NULL);
	ck_assert_ptr_nonnull(table_pick(s, "use"));
	table_free(&s);
}
END_TEST

START_TEST(test_keep)
{
	struct table	*s = make_sessions(NULL);
	char		*cell;

	ck_assert_int_eq(table_keep(s, "nothing", "1"), -1);
	ck_assert_int_eq(table_keep(s, "user", "7"), 0);
	ck_assert_uint_eq(table_rows(s), 2);
	ck_assert_str_eq(cell = table_take(s, "session"), "1");
	free(cell);
	ck_assert_ptr_null(table_pick(s, "session"));
	ck_json(&s, "[{\"session\":3}]\n");
}
END_TEST

START_TEST(test_take)
{
	static const char *const	 users[] = { "7", "8", "7" };
	struct table			*s = make_sessions(NULL);
	char				*cell;
	size_t				 i = 0;

	ck_assert_ptr_null(table_take(s, "nothing"));
	for (; (cell = table_take(s, "user")) != NULL; i++, free(cell))
		ck_assert_str_eq(cell, users[i]);
	ck_assert_uint_eq(i, 3);
	ck_assert_uint_eq(table_rows(s), 0);
	table_free(&s);
}
END_TEST

START_TEST(test_sort_by)
{
	struct table	*s = make_sessions(NULL);

	ck_assert_int_eq(table_sort_by(s, "nothing"), -1);
	ck_assert_int_eq(errno, EINVAL);
	/* By number, not as text; equal ones stay in order. */
	ck_assert_int_eq(table_sort_by(s, "-age"), 0);
	ck_assert_ptr_null(table_pick(s, "age"));
	ck_json(&s, "[{\"age\":10},{\"age\":4},{\"age\":0}]\n");
	s = make_sessions(NULL);
	ck_assert_int_eq(table_sort_by(s, "user"), 0);
	ck_assert_ptr_null(table_pick(s, "session"));
	ck_json(&s, "[{\"session\":1},{\"session\":3},{\"session\":2}]\n");
}
END_TEST

/* Since it began, and between two pictures. */
START_TEST(test_load)
{
	struct table	*before = make_sessions("8000"), *s;

	s = make_sessions(NULL);
	ck_assert_int_eq(table_add_load(s, NULL, 0), 0);
	ck_assert_ptr_null(table_pick(s, "%cpu"));
	ck_json(&s, "[{\"%cpu\":90},{\"%cpu\":2},{\"%cpu\":0}]\n");
	s = make_sessions(NULL);
	ck_assert_int_eq(table_add_load(s, before, 500), 0);
	ck_assert_ptr_null(table_pick(s, "%cpu"));
	ck_json(&s, "[{\"%cpu\":200},{\"%cpu\":0},{\"%cpu\":0}]\n");
	table_free(&before);
	/* One more column: the block of a row has no byte to spare then. */
	s = make_sessions_of(6, NULL);
	ck_assert_int_eq(table_add_load(s, NULL, 0), 0);
	ck_assert_ptr_null(table_pick(s, "session,%cpu,more"));
	ck_json(&s, "[{\"session\":1,\"%cpu\":90,\"more\":\"\"},"
	    "{\"session\":2,\"%cpu\":2,\"more\":\"\"},"
	    "{\"session\":3,\"%cpu\":0,\"more\":\"\"}]\n");
}
END_TEST

START_TEST(test_user)
{
	struct passwd	*pw = getpwuid(0);
	struct shown	 rows[] = {
		{ "0", pw != NULL ? pw->pw_name : "0" },
		{ "4294967294", "4294967294" },
		{ "4294967296", "4294967296" },	/* not user 0 */
		{ "4294967294", "4294967294" },	/* known already */
		{ "0", pw != NULL ? pw->pw_name : "0" },
		{ "root", "root" }, { "", "" },
	};

	ck_shown(table_show_user, rows, COUNT(rows));
}
END_TEST

/* --- tables --- */

static struct table	*t;
static char		*text;

static void
make(size_t rows)
{
	static char	 names[][8] = { "name", "n", "out", "odd\033" };
	static const enum table_kind kinds[] = {
		TABLE_TEXT, TABLE_NUMBER, TABLE_NUMBER, TABLE_TEXT
	};
	static char	 cells[][4][32] = {
		{ "a", "1", "2048", "x" },
		{ "b\xc3\xa9", "200", "7", "\"\\" },
		{ "\033[2J", "", "", "\xff" },
	};
	char		*name[4], *cell[4];
	size_t		 i, r;

	for (i = 0; i < 4; i++)
		name[i] = names[i];
	ck_assert_ptr_nonnull(t = table_new(4, name, kinds));
	for (r = 0; r < rows; r++) {
		for (i = 0; i < 4; i++)
			cell[i] = cells[r][i];
		ck_assert_int_eq(table_add(t, 4, cell), 0);
	}
	ck_assert_int_eq(table_add(t, 3, name), -1);
	ck_assert_int_eq(errno, EINVAL);
}

enum how { COLUMNS, UPRIGHT, JSON, JSON_ONE };

static struct table_look	 look;

static void
ck_print(enum how how, const char *want)
{
	size_t	 size;
	FILE	*out = open_memstream(&text, &size);

	ck_assert_ptr_nonnull(out);
	switch (how) {
	case COLUMNS:
		table_print(t, &look, out);
		break;
	case UPRIGHT:
		table_print_upright(t, &look, out);
		break;
	case JSON:
	case JSON_ONE:
		ck_assert_int_eq(table_print_json(t, how == JSON_ONE, out),
		    0);
		break;
	}
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_str_eq(text, want);
	free(text);
}

START_TEST(test_columns)
{
	make(0);
	ck_print(COLUMNS, "NAME  N  OUT  ODD?\n");
	table_free(&t);
	ck_assert_ptr_null(t);
	table_free(&t);
	make(3);
	ck_print(COLUMNS,
	    "NAME    N   OUT  ODD?\n"
	    "a       1  2.0K  x\n"
	    "b\xc3\xa9    200     7  \"\\\n"
	    "?[2J             ?\n");
	table_free(&t);
}
END_TEST

START_TEST(test_upright)
{
	make(0);
	ck_print(UPRIGHT, "");
	table_free(&t);
	make(2);
	ck_print(UPRIGHT,
	    "name  a\n"
	    "n     1\n"
	    "out   2.0K\n"
	    "odd?  x\n"
	    "\n"
	    "name  b\xc3\xa9\n"
	    "n     200\n"
	    "out   7\n"
	    "odd?  \"\\\n");
	table_free(&t);
}
END_TEST

START_TEST(test_json)
{
	make(0);
	ck_print(JSON, "[]\n");
	ck_print(JSON_ONE, "null\n");
	table_free(&t);
	make(3);
	ck_print(JSON_ONE, "{\"name\":\"a\",\"n\":1,\"out\":2048,"
	    "\"odd\\u001b\":\"x\"}\n");
	ck_print(JSON, "[{\"name\":\"a\",\"n\":1,\"out\":2048,"
	    "\"odd\\u001b\":\"x\"},"
	    "{\"name\":\"b\xc3\xa9\",\"n\":200,\"out\":7,"
	    "\"odd\\u001b\":\"\\\"\\\\\"},"
	    "{\"name\":\"\\u001b[2J\",\"n\":null,\"out\":null,"
	    "\"odd\\u001b\":\"\xef\xbf\xbd\"}]\n");
	table_free(&t);
}
END_TEST

/* A cell of a number column that is none does not break the JSON. */
START_TEST(test_json_numbers)
{
	static const struct shown	 rows[] = {
		{ "0", "0" }, { "-1", "-1" }, { "-0", "-0" },
		{ "99999999999999999999", "99999999999999999999" },
		{ "01", "\"01\"" }, { "-01", "\"-01\"" }, { "-", "\"-\"" },
		{ "+1", "\"+1\"" }, { "1.5", "\"1.5\"" }, { "1e9", "\"1e9\"" },
		{ "true", "\"true\"" }, { " 1", "\" 1\"" }, { "", "null" },
	};
	char				 name[] = "n", cell[32], want[64];
	char				*names[1] = { name };
	char				*cells[1] = { cell };
	const enum table_kind kind = TABLE_NUMBER;
	size_t				 i;

	for (i = 0; i < COUNT(rows); i++) {
		strcpy(cell, rows[i].cell);
		ck_assert_ptr_nonnull(t = table_new(1, names, &kind));
		ck_assert_int_eq(table_add(t, 1, cells), 0);
		snprintf(want, sizeof(want), "{\"n\":%s}\n", rows[i].shown);
		ck_print(JSON_ONE, want);
		table_free(&t);
	}
}
END_TEST

/* On a terminal: as wide as that, characters are counted, not bytes. */
START_TEST(test_looks)
{
	make(3);
	look.width = 9;
	ck_print(COLUMNS,
	    "NAME    N\n"
	    "a       1\n"
	    "b\xc3\xa9    200\n"
	    "?[2J     \n");
	look.width = 2;
	ck_print(COLUMNS, "NA\na \nb\xc3\xa9\n?[\n");
	look.width = 1000;
	look.has_colour = true;
	ck_print(COLUMNS,
	    "\033[1mNAME    N   OUT  ODD?\033[m\n"
	    "a       1  2.0K  x\n"
	    "b\xc3\xa9    200     7  \"\\\n"
	    "?[2J             ?\n");
	table_free(&t);
	make(1);
	look.width = 3;
	ck_print(UPRIGHT,
	    "\033[1mname\033[m  a\n"
	    "\033[1mn\033[m     1\n"
	    "\033[1mout\033[m   2.0K\n"
	    "\033[1modd?\033[m  x\n");
	table_free(&t);
	look.width = 0;
	look.has_colour = false;
}
END_TEST

/* Users are text on the wire, numbers in JSON, names for people. */
START_TEST(test_user_column)
{
	char		 name[] = "user", cell[] = "4294967294";
	char		*names[1] = { name };
	char		*cells[1] = { cell };
	const enum table_kind kind = TABLE_TEXT;

	ck_assert_ptr_nonnull(t = table_new(1, names, &kind));
	ck_assert_int_eq(table_add(t, 1, cells), 0);
	ck_print(JSON_ONE, "{\"user\":4294967294}\n");
	ck_print(COLUMNS, "USER\n4294967294\n");
	table_free(&t);
}
END_TEST

/* A list is a list in JSON, whatever is in its members. */
START_TEST(test_list)
{
	static const struct {
		const char	*cell, *columns, *upright, *json;
	} rows[] = {
		{ "", "LISTEN  N\n        7\n", "n       7\n",
		    "[]" },
		{ "ws://h:1", "LISTEN    N\nws://h:1  7\n",
		    "listen  ws://h:1\nn       7\n", "[\"ws://h:1\"]" },
		{ "a b\nc,\"d\033\xff\n7",
		    "LISTEN          N\na b, c,\"d??, 7  7\n",
		    "listen  a b\n        c,\"d??\n        7\nn       7\n",
		    "[\"a b\",\"c,\\\"d\\u001b\xef\xbf\xbd\",\"7\"]" },
	};
	static char		 names[][8] = { "listen", "n" };
	static const enum table_kind kinds[] = { TABLE_LIST, TABLE_NUMBER };
	char			*name[2] = { names[0], names[1] }, want[128];
	char			 first[32], number[] = "7";
	char			*cell[2] = { first, number }, *member;
	size_t			 i;

	for (i = 0; i < COUNT(rows); i++) {
		strcpy(first, rows[i].cell);
		ck_assert_ptr_nonnull(t = table_new(2, name, kinds));
		ck_assert_int_eq(table_add(t, 2, cell), 0);
		ck_print(COLUMNS, rows[i].columns);
		ck_print(UPRIGHT, rows[i].upright);
		snprintf(want, sizeof(want), "{\"listen\":%s,\"n\":7}\n",
		    rows[i].json);
		ck_print(JSON_ONE, want);
		ck_assert_ptr_null(table_member(t, "nowhere", 0));
		ck_assert_ptr_null(table_member(t, "listen", i == 2 ? 3 : i));
		if (i == 2) {
			member = table_member(t, "listen", 0);
			ck_assert_str_eq(member, "a b");
			free(member);
			member = table_member(t, "listen", 2);
			ck_assert_str_eq(member, "7");
			free(member);
		}
		table_free(&t);
	}
}
END_TEST

START_TEST(test_cell)
{
	make(0);
	ck_assert_ptr_null(table_cell(t, "n"));
	table_free(&t);
	make(2);
	ck_assert_str_eq(table_cell(t, "n"), "1");
	ck_assert_ptr_null(table_cell(t, "N"));
	table_free(&t);
}
END_TEST

START_TEST(test_order)
{
	static char			 names[][8] = { "n", "a", "b" };
	static const enum table_kind	 kinds[] = {
		TABLE_NUMBER, TABLE_TEXT, TABLE_TEXT
	};
	static char			 cells[][3][4] = {
		{ "10", "x", "1" }, { "9", "y", "2" }, { "10", "a", "3" },
		{ "2", "z", "4" },
	};
	static const char *const	 first[] = { "b", "none", "n", NULL };
	char				*row[3] = {
		names[0], names[1], names[2]
	};
	size_t				 i, k;

	ck_assert_ptr_nonnull(t = table_new(3, row, kinds));
	for (i = 0; i < COUNT(cells); i++) {
		for (k = 0; k < 3; k++)
			row[k] = cells[i][k];
		ck_assert_int_eq(table_add(t, 3, row), 0);
	}
	ck_assert_int_eq(table_sort(t), 0);
	table_prefer(t, first);
	ck_print(COLUMNS, "B   N  A\n4   2  z\n2   9  y\n1  10  x\n"
	    "3  10  a\n");
	table_free(&t);
}
END_TEST

START_TEST(test_many)
{
	char		 name[] = "n", cell[32];
	char		*names[1] = { name };
	char		*cells[1] = { cell };
	const enum table_kind kind = TABLE_NUMBER;
	int		 i;

	ck_assert_ptr_nonnull(t = table_new(1, names, &kind));
	for (i = 0; i < 1000; i++) {
		snprintf(cell, sizeof(cell), "%d", i);
		ck_assert_int_eq(table_add(t, 1, cells), 0);
	}
	ck_assert_str_eq(table_cell(t, "n"), "0");
	table_free(&t);
	/* No columns at all. */
	ck_assert_ptr_nonnull(t = table_new(0, NULL, NULL));
	ck_assert_int_eq(table_add(t, 0, NULL), 0);
	ck_print(COLUMNS, "");
	ck_print(JSON, "[{}]\n");
	table_free(&t);
}
END_TEST

static Suite *
table_suite(void)
{
	Suite	*s = suite_create("table");
	TCase	*tc = tcase_create("all");

	tcase_add_test(tc, test_seconds);
	tcase_add_test(tc, test_bytes);
	tcase_add_test(tc, test_user);
	tcase_add_test(tc, test_ms_and_kib);
	tcase_add_test(tc, test_pick);
	tcase_add_test(tc, test_keep);
	tcase_add_test(tc, test_take);
	tcase_add_test(tc, test_sort_by);
	tcase_add_test(tc, test_load);
	tcase_add_test(tc, test_columns);
	tcase_add_test(tc, test_looks);
	tcase_add_test(tc, test_upright);
	tcase_add_test(tc, test_json);
	tcase_add_test(tc, test_json_numbers);
	tcase_add_test(tc, test_user_column);
	tcase_add_test(tc, test_list);
	tcase_add_test(tc, test_cell);
	tcase_add_test(tc, test_order);
	tcase_add_test(tc, test_many);
	suite_add_tcase(s, tc);
	return s;
}

int
main(void)
{
	SRunner	*sr = srunner_create(table_suite());
	int	 failed;

	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
