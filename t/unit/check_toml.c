/*
 * TOML: what is one and what is not, after the conformance tests of the
 * language; and what is written of it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/toml/toml.h"
#include "worker/fs/discovery/fsconfig.h"

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))

static struct toml		*doc;
static char			*text;
static struct toml_error	 e;

static void
forget(void)
{
	toml_free(&doc);
	free(text);
	text = NULL;
}

/* Parse a copy with nothing behind it, for sanitizers to see. */
static int
parse(const char *source, size_t len)
{
	forget();
	ck_assert_ptr_nonnull(doc = toml_new());
	ck_assert_ptr_nonnull(text = malloc(len > 0 ? len : 1));
	memcpy(text, source, len);
	return toml_parse(doc, text, len, &e);
}

static void
choose(const char *key)
{
	struct span	 path[8];
	size_t		 n = 0;

	for (; n < NROWS(path); key += path[n - 1].len + 1) {
		path[n].at = key;
		path[n++].len = strcspn(key, "/");
		if (key[path[n - 1].len] == '\0')
			break;
	}
	toml_select(doc, path, n);
}

static void
choose_all(void)
{
	const struct toml_value	*v;
	struct span		 key;

	for (v = toml_first(toml_root(doc)); v != NULL; v = toml_next(v)) {
		key = toml_key(v);
		toml_select(doc, &key, 1);
	}
}

/* Write what was selected; the caller frees. */
static char *
written(void)
{
	struct buf	 b;
	char		*out;

	buf_init(&b, 1024 * 1024);
	ck_assert_int_eq(toml_put(doc, &b), 0);
	ck_assert_ptr_nonnull(out = strndup(b.len > 0 ?
	    (const char *)buf_data(&b) : "", b.len));
	buf_fini(&b);
	return out;
}

/* A document as it is, and written anew as a whole. */
static const struct {
	const char	*source, *out;
} valid[] = {
	{ "", "" },
	{ "# only this\n\t \r\n", "" },
	{ "\xef\xbb\xbf" "a=1", "a = 1\n" },
	{ "a = 1 # x\nb=2\r\n", "a = 1\nb = 2\n" },
	/* keys */
	{ "a-b_1 = 1", "a-b_1 = 1\n" },
	{ "1 = 1", "1 = 1\n" },
	{ "1.2 = 3", "[1]\n2 = 3\n" },
	{ "\"a b\" = 1\n'c\\d'=2\n''=3\n\"\\u00e9\"=4",
	    "\"a b\" = 1\n\"c\\\\d\" = 2\n\"\" = 3\n\"\xc3\xa9\" = 4\n" },
	{ "a . \"b\" . 'c'\t= 1", "[a.b]\nc = 1\n" },
	{ "a.b = 1\na.c.d = 2\n", "[a]\nb = 1\n\n[a.c]\nd = 2\n" },
	{ "\"a.b\".c = 1", "[\"a.b\"]\nc = 1\n" },
	/* strings */
	{ "a = \"\"", "a = \"\"\n" },
	{ "a = \"\\b\\t\\n\\f\\r\\\"\\\\ \\u0041\\U0001F600\"",
	    "a = \"\\b\\t\\n\\f\\r\\\"\\\\ A\xf0\x9f\x98\x80\"\n" },
	{ "a = \"\\e\\x41\\xe9\\u0000\\u007f\"",
	    "a = \"\\u001BA\xc3\xa9\\u0000\\u007F\"\n" },
	{ "a = '\\n\t\"'", "a = \"\\\\n\\t\\\"\"\n" },
	{ "a = \"\"\"\nx\n y\"\"\"", "a = \"x\\n y\"\n" },
	{ "a = \"\"\"x\\\n   \n  y\\  \n\"\"\"", "a = \"xy\"\n" },
	{ "a = \"\"\"\"x\"\"\"\"", "a = \"\\\"x\\\"\"\n" },
	{ "a = \"\"\"x\"\"\"\"\"", "a = \"x\\\"\\\"\"\n" },
	{ "a = \"\"\"x\\\"\"\"\"", "a = \"x\\\"\"\n" },
	{ "a = '''\n'x'\\\n'''''", "a = \"'x'\\\\\\n''\"\n" },
	{ "a = \"\"\"\"\"\"", "a = \"\"\n" },
	{ "a = \"\"\"x\r\ny\"\"\"", "a = \"x\\r\\ny\"\n" },
	/* numbers */
	{ "a = [0, +1, -17, 1_000, 9223372036854775807, -9223372036854775808]",
	    "a = [0, +1, -17, 1_000, 9223372036854775807, "
	    "-9223372036854775808]\n" },
	{ "a = [0xDead_beef, 0o755, 0b1_0, 0x7fffffffffffffff, 0x00]",
	    "a = [0xDead_beef, 0o755, 0b1_0, 0x7fffffffffffffff, 0x00]\n" },
	{ "a = [1.0, -0.1e-2, 5e+22, 1e06, 6.6_2E1_0, +0.0, 1e-999]",
	    "a = [1.0, -0.1e-2, 5e+22, 1e06, 6.6_2E1_0, +0.0, 1e-999]\n" },
	{ "a = [inf, -inf, +inf, nan, -nan, +nan, true, false]",
	    "a = [inf, -inf, +inf, nan, -nan, +nan, true, false]\n" },
	/* times */
	{ "a = [1979-05-27T07:32:00Z, 1979-05-27t00:32:00.999-07:00]",
	    "a = [1979-05-27T07:32:00Z, 1979-05-27t00:32:00.999-07:00]\n" },
	{ "a = 1979-05-27 07:32:00z", "a = 1979-05-27 07:32:00z\n" },
	{ "a = 2000-02-29 # x", "a = 2000-02-29\n" },
	{ "a = [07:32:00.5, 23:59:60, 1979-05-27T00:32:00]",
	    "a = [07:32:00.5, 23:59:60, 1979-05-27T00:32:00]\n" },
	{ "a = [07:32, 1979-05-27T07:32, 1979-05-27 07:32+01:00]",
	    "a = [07:32:00, 1979-05-27T07:32:00, "
	    "1979-05-27 07:32:00+01:00]\n" },
	/* arrays and inline tables */
	{ "a = []\nb = [[], [[1]]]", "a = []\nb = [[], [[1]]]\n" },
	{ "a = [ # x\n 1, # y\n 'z',\n]", "a = [1, \"z\"]\n" },
	{ "a = {}", "[a]\n" },
	{ "a = [{}, { b = 1, c.d = 2 }, 3]",
	    "a = [{ }, { b = 1, c = { d = 2 } }, 3]\n" },
	{ "a = { b.c = 1, b.d = 2 }", "[a.b]\nc = 1\nd = 2\n" },
	{ "a = {\n b = 1, # x\n c = 2,\n}", "[a]\nb = 1\nc = 2\n" },
	/* tables */
	{ "[a]\nb=1\n[c.\"d\" . e]\n", "[a]\nb = 1\n\n[c.d.e]\n" },
	{ "[a.b]\n[a]\nc=1", "[a]\nc = 1\n\n[a.b]\n" },
	{ "[a.b.c]\n[a]\nb.d = 1", "[a.b]\nd = 1\n\n[a.b.c]\n" },
	{ "[a]\nb.c = 1\n[a.b.d]\ne = 2",
	    "[a.b]\nc = 1\n\n[a.b.d]\ne = 2\n" },
	{ "[[a]]\nb=1\n[[a]]\n[[a.c]]\n[[a.c]]\nd=2",
	    "[[a]]\nb = 1\n\n[[a]]\n\n[[a.c]]\n\n[[a.c]]\nd = 2\n" },
	{ "[[a.b]]\n[a.b.c]\nd=1\n[[a.b]]\n[a.b.c]\nd=2",
	    "[[a.b]]\n\n[a.b.c]\nd = 1\n\n[[a.b]]\n\n[a.b.c]\nd = 2\n" },
	{ "[a]\n[b]\n[a.c]", "[a.c]\n\n[b]\n" },
};

START_TEST(test_valid)
{
	char	*once, *twice;

	ck_assert_msg(parse(valid[_i].source, strlen(valid[_i].source)) == 0,
	    "%s: %u:%u: %s", valid[_i].source, e.line, e.column, e.why);
	choose_all();
	once = written();
	ck_assert_msg(strcmp(once, valid[_i].out) == 0, "%s:\n%s",
	    valid[_i].source, once);
	/* It is a document that says the same. */
	ck_assert_int_eq(parse(once, strlen(once)), 0);
	choose_all();
	twice = written();
	ck_assert_str_eq(once, twice);
	free(once);
	free(twice);
}
END_TEST

#define TEXT(s)	s, sizeof(s) - 1

static const struct {
	const char	*source;
	size_t		 len;
	unsigned	 line, column;
} invalid[] = {
	{ TEXT("a"), 1, 2 },
	{ TEXT("a b = 1"), 1, 3 },
	{ TEXT("= 1"), 1, 1 },
	{ TEXT("a ="), 1, 4 },
	{ TEXT("a = 1 b = 2"), 1, 7 },
	{ TEXT("a = 1\n\na. = 2"), 3, 4 },
	{ TEXT(".a = 1"), 1, 1 },
	{ TEXT("a..b = 1"), 1, 3 },
	{ TEXT("\xc3\xa9 = 1"), 1, 1 },
	{ TEXT("\"\"\"a\"\"\" = 1"), 1, 1 },
	{ TEXT("a\n= 1"), 1, 2 },
	{ TEXT("a = 1\rb = 2"), 1, 6 },
	{ TEXT("a = 1 # \x01"), 1, 9 },
	{ TEXT("a = 1 # \x7f"), 1, 9 },
	{ TEXT("a = 1\n\0"), 2, 1 },
	/* not UTF-8, of which nothing is said of where */
	{ TEXT("a = \"\xff\""), 0, 0 },
	{ TEXT("a = \"\xed\xa0\x80\""), 0, 0 },
	{ TEXT("a = \"\xc0\xaf\""), 0, 0 },
	{ TEXT("# \xf5\x80\x80\x80"), 0, 0 },
	/* strings */
	{ TEXT("a = x"), 1, 5 },
	{ TEXT("a = \"x"), 1, 7 },
	{ TEXT("a = 'x\ny'"), 1, 7 },
	{ TEXT("a = \"x\ty\x1f\""), 1, 9 },
	{ TEXT("a = \"x\0y\""), 1, 7 },
	{ TEXT("a = \"\\z\""), 1, 7 },
	{ TEXT("a = \"\\"), 1, 7 },
	{ TEXT("a = \"\\u00g0\""), 1, 10 },
	{ TEXT("a = \"\\ud800\""), 1, 12 },
	{ TEXT("a = \"\\U00110000\""), 1, 16 },
	{ TEXT("a = \"\\x4\""), 1, 9 },
	{ TEXT("a = \"\"\"x\\ y\"\"\""), 1, 10 },
	{ TEXT("a = \"\"\"x\"\""), 1, 11 },
	{ TEXT("a = '''x\x7f'''"), 1, 9 },
	{ TEXT("a = '''x''''''"), 1, 14 },
	{ TEXT("a = '''x\ry'''"), 1, 9 },
	/* numbers */
	{ TEXT("a = 01"), 1, 5 },
	{ TEXT("a = 0_1"), 1, 5 },
	{ TEXT("a = +-1"), 1, 5 },
	{ TEXT("a = 1__0"), 1, 5 },
	{ TEXT("a = _1"), 1, 5 },
	{ TEXT("a = 1_"), 1, 5 },
	{ TEXT("a = 9223372036854775808"), 1, 5 },
	{ TEXT("a = -9223372036854775809"), 1, 5 },
	{ TEXT("a = 0x8000000000000000"), 1, 5 },
	{ TEXT("a = +0x1"), 1, 5 },
	{ TEXT("a = 0X1"), 1, 5 },
	{ TEXT("a = 0x"), 1, 5 },
	{ TEXT("a = 0x_1"), 1, 5 },
	{ TEXT("a = 0o8"), 1, 5 },
	{ TEXT("a = 0b2"), 1, 5 },
	{ TEXT("a = .1"), 1, 5 },
	{ TEXT("a = 1."), 1, 5 },
	{ TEXT("a = 1.e1"), 1, 5 },
	{ TEXT("a = 1._0"), 1, 5 },
	{ TEXT("a = 1e"), 1, 5 },
	{ TEXT("a = 1e+_1"), 1, 5 },
	{ TEXT("a = 00.1"), 1, 5 },
	{ TEXT("a = 1e400"), 1, 5 },
	{ TEXT("a = Inf"), 1, 5 },
	{ TEXT("a = infx"), 1, 5 },
	{ TEXT("a = True"), 1, 5 },
	{ TEXT("a = truer"), 1, 5 },
	{ TEXT("a = 1,000"), 1, 6 },
	/* times */
	{ TEXT("a = 1979-02-29"), 1, 5 },
	{ TEXT("a = 1900-02-29"), 1, 5 },
	{ TEXT("a = 1979-13-01"), 1, 5 },
	{ TEXT("a = 1979-00-01"), 1, 5 },
	{ TEXT("a = 1979-01-00"), 1, 5 },
	{ TEXT("a = 1979-1-01"), 1, 5 },
	{ TEXT("a = 1979-05-27T"), 1, 5 },
	{ TEXT("a = 1979-05-27T24:00:00"), 1, 5 },
	{ TEXT("a = 1979-05-27T00:60:00"), 1, 5 },
	{ TEXT("a = 1979-05-27T00:00:61"), 1, 5 },
	{ TEXT("a = 1979-05-27T00:00:00."), 1, 5 },
	{ TEXT("a = 1979-05-27T00:00:00+1:00"), 1, 5 },
	{ TEXT("a = 1979-05-27T00:00:00+24:00"), 1, 5 },
	{ TEXT("a = 1979-05-27  07:32:00"), 1, 17 },
	{ TEXT("a = 07:32:00Z"), 1, 5 },
	{ TEXT("a = 07:32.5"), 1, 5 },
	{ TEXT("a = 7:32:00"), 1, 5 },
	/* arrays and inline tables */
	{ TEXT("a = [1"), 1, 7 },
	{ TEXT("a = [1 2]"), 1, 8 },
	{ TEXT("a = [,1]"), 1, 6 },
	{ TEXT("a = [1,,2]"), 1, 8 },
	{ TEXT("a = {b = 1"), 1, 11 },
	{ TEXT("a = {,}"), 1, 6 },
	{ TEXT("a = {b = 1 c = 2}"), 1, 12 },
	{ TEXT("a = {b = 1, b = 2}"), 1, 15 },
	{ TEXT("a = {b.c = 1, b = 2}"), 1, 17 },
	{ TEXT("a = {b = {c = 1}, b.d = 2}"), 1, 23 },
	{ TEXT("a = {b = 1}\na.c = 2"), 2, 5 },
	{ TEXT("a = {b = 1}\n[a.c]"), 2, 6 },
	{ TEXT("a = {b = {}}\n[a.b]"), 2, 6 },
	{ TEXT("a = [{b = 1}]\n[[a]]"), 2, 6 },
	{ TEXT("a = [{b = 1}]\n[a.c]"), 2, 6 },
	/* tables */
	{ TEXT("[a"), 1, 3 },
	{ TEXT("[]"), 1, 2 },
	{ TEXT("[a]]"), 1, 4 },
	{ TEXT("[[a]"), 1, 4 },
	{ TEXT("[[a] ]"), 1, 4 },
	{ TEXT("[ [a]]"), 1, 3 },
	{ TEXT("[a.]"), 1, 4 },
	{ TEXT("[a] b = 1"), 1, 5 },
	{ TEXT("[a]\n[a]"), 2, 4 },
	{ TEXT("[a]\nb=1\n[a.b]"), 3, 6 },
	{ TEXT("a=1\n[a.b.c]"), 2, 8 },
	{ TEXT("a.b=1\n[a]"), 2, 4 },
	{ TEXT("[a]\nb.c=1\n[a.b]"), 3, 6 },
	{ TEXT("[a.b]\n[a]\nb.c=1"), 3, 4 },
	{ TEXT("[a.b.c]\nx=1\n[a]\nb.c.y=1"), 4, 6 },
	{ TEXT("[a.b.c]\n[a]\nb.d=1\n[a.b]"), 4, 6 },
	{ TEXT("[[a]]\n[a]"), 2, 4 },
	{ TEXT("[a]\n[[a]]"), 2, 6 },
	{ TEXT("[[a.b]]\n[a]\nb.c=1"), 3, 4 },
	{ TEXT("a=1\na=2"), 2, 2 },
	{ TEXT("a=1\n\"a\"=2"), 2, 4 },
	{ TEXT("a.b=1\na.b.c=2"), 2, 6 },
};

START_TEST(test_invalid)
{
	ck_assert_msg(parse(invalid[_i].source, invalid[_i].len) == -1,
	    "taken: %s", invalid[_i].source);
	ck_assert_ptr_nonnull(e.why);
	ck_assert_msg(e.line == invalid[_i].line &&
	    e.column == invalid[_i].column, "%s: %u:%u: %s",
	    invalid[_i].source, e.line, e.column, e.why);
}
END_TEST

/* --- selecting --- */

#define DOC "a = 1\nb.c.d = 2\nb.x = {y = 3, z = [4]}\n" \
	"[t.u]\nv = 1\n[[l]]\nm = 1\n[[l]]\nn = 2\n[e]\n['q r']\ns = 1\n"

static const struct {
	const char	*paths, *out;	/* paths with blanks between */
} chosen[] = {
	{ "a", "a = 1\n" },
	{ "a/b/c", "a = 1\n" },
	{ "nope", "" },
	{ "nope/a a", "a = 1\n" },
	{ "b/c/d", "[b.c]\nd = 2\n" },
	{ "b/c", "[b.c]\nd = 2\n" },
	{ "b/nope", "[b]\n" },
	{ "b/c/nope", "[b.c]\n" },
	{ "b/nope b/x/z", "[b.x]\nz = [4]\n" },
	{ "b/x/z/deeper", "[b.x]\nz = [4]\n" },
	{ "b", "[b.c]\nd = 2\n\n[b.x]\ny = 3\nz = [4]\n" },
	{ "t/u/nope t/nope", "[t.u]\n" },
	{ "l", "[[l]]\nm = 1\n\n[[l]]\nn = 2\n" },
	{ "l/m", "[[l]]\nm = 1\n\n[[l]]\nn = 2\n" },
	{ "e/x", "[e]\n" },
	{ "t/u a", "a = 1\n\n[t.u]\nv = 1\n" },
};

START_TEST(test_chosen)
{
	char	 paths[64], *path, *rest = paths, *out;

	ck_assert_int_eq(parse(DOC, strlen(DOC)), 0);
	snprintf(paths, sizeof(paths), "%s", chosen[_i].paths);
	while ((path = strsep(&rest, " ")) != NULL)
		choose(path);
	out = written();
	ck_assert_msg(strcmp(out, chosen[_i].out) == 0, "%s:\n%s",
	    chosen[_i].paths, out);
	free(out);
}
END_TEST

START_TEST(test_values)
{
	static const char	 source[] = "s = 'x'\ny = true\nn = false\n"
				    "[t]\n";
	const struct toml_value	*v;
	struct span		 key = { "s", 1 };

	ck_assert_int_eq(parse(source, strlen(source)), 0);
	v = toml_get(doc, toml_root(doc), key);
	ck_assert(v != NULL && span_is(toml_string(v), "x") &&
	    toml_bool(v) == -1 && !toml_is_table(v) && toml_first(v) == NULL);
	ck_assert_ptr_null(toml_get(doc, v, key));
	v = toml_next(v);
	ck_assert(span_is(toml_key(v), "y") && toml_bool(v) == 1 &&
	    toml_string(v).at == NULL);
	ck_assert_int_eq(toml_bool(v = toml_next(v)), 0);
	ck_assert(toml_is_table(v = toml_next(v)) && toml_next(v) == NULL);
	key.at = source;
	key.len = 1;
	ck_assert_ptr_null(toml_get(doc, v, key));
}
END_TEST

/* --- limits --- */

/* A document of n times what, with something around it. */
static int
parse_many(const char *before, const char *what, size_t n, const char *after)
{
	size_t	 len = strlen(what), at = strlen(before);
	char	*source = malloc(at + n * len + strlen(after) + 1);
	int	 rv;

	ck_assert_ptr_nonnull(source);
	strcpy(source, before);
	for (; n > 0; n--, at += len)
		memcpy(source + at, what, len);
	strcpy(source + at, after);
	rv = parse(source, strlen(source));
	free(source);
	return rv;
}

START_TEST(test_limits)
{
	const int	 depth = TOML_DEPTH_MAX;
	struct buf	 b;
	char		 key[TOML_KEY_MAX + 2];

	ck_assert_int_eq(parse_many("a=", "[", depth, ""), -1);
	ck_assert_int_eq(e.column, depth + 3);
	ck_assert_int_eq(parse_many("a=", "[", 10000, ""), -1);
	ck_assert_str_eq(e.why, "too many values, or nested too deeply");
	ck_assert_int_eq(parse_many("a=", "{a=", 10000, ""), -1);
	ck_assert_int_eq(parse_many("[a", ".a", depth - 1, "]"), 0);
	ck_assert_int_eq(parse_many("[a", ".a", depth, "]"), -1);
	ck_assert_str_eq(e.why, "nested too deeply");
	ck_assert_int_eq(parse_many("a=[", "1,", TOML_VALUES_MAX - 2, "]"), 0);
	ck_assert_int_eq(parse_many("a=[", "1,", TOML_VALUES_MAX - 1, "]"),
	    -1);
	memset(key, 'k', sizeof(key));
	key[TOML_KEY_MAX] = '=';
	key[TOML_KEY_MAX + 1] = '1';
	ck_assert_int_eq(parse(key, sizeof(key)), 0);
	key[TOML_KEY_MAX] = 'k';
	ck_assert_int_eq(parse_many("\"", "k", TOML_KEY_MAX + 1, "\"=1"), -1);
	ck_assert_str_eq(e.why, "the key is too long");
	/* A number that nobody writes. */
	ck_assert_int_eq(parse_many("a=0.", "0", 200, ""), -1);
	/* No room for what is written. */
	ck_assert_int_eq(parse_many("a='", "x", 100, "'"), 0);
	choose("a");
	buf_init(&b, 50);
	ck_assert_int_eq(toml_put(doc, &b), -1);
	ck_assert_int_eq(errno, EFBIG);
	buf_fini(&b);
}
END_TEST

/* --- what managed_config.toml amounts to --- */

static const struct {
	const char	*source, *out;	/* NULL: refused */
} derived[] = {
	{ "a = 1", "" },
	{ "approval_policy = 'never'\nsandbox_mode = 'read-only'",
	    "allowed_approval_policies = [\"never\"]\n"
	    "allowed_sandbox_modes = [\"read-only\"]\n" },
	{ "approval_policy = 'on-failure'",
	    "allowed_approval_policies = [\"on-request\"]\n" },
	{ "approval_policy = {untrusted = {}}",
	    "allowed_approval_policies = [\"untrusted\"]\n" },
	{ "[approval_policy.granular]\nsandbox_approval = true\n"
	    "rules = false\nmcp_elicitations = true\nmore = 1",
	    "allowed_approval_policies = [{ granular = { sandbox_approval = "
	    "true, rules = false, skill_approval = false, "
	    "request_permissions = false, mcp_elicitations = true } }]\n" },
	{ "approvals_reviewer = 'guardian_subagent'",
	    "allowed_approvals_reviewers = [\"auto_review\", \"user\"]\n" },
	{ "sandbox_mode = 'danger-full-access'", "allowed_sandbox_modes = "
	    "[\"read-only\", \"danger-full-access\"]\n" },
	{ "approval_policy = 'Never'", NULL },
	{ "approval_policy = 'granular'", NULL },
	{ "approval_policy = {never = 1}", NULL },
	{ "approval_policy = {never = {}, untrusted = {}}", NULL },
	{ "approval_policy = {}", NULL },
	{ "approval_policy = {granular = {rules = true}}", NULL },
	{ "approval_policy = {granular = {sandbox_approval = true, rules = 1, "
	    "mcp_elicitations = true}}", NULL },
	{ "sandbox_mode = {granular = {}}", NULL },
	{ "sandbox_mode = 1", NULL },
	{ "approvals_reviewer = ['user']", NULL },
};

START_TEST(test_derived)
{
	struct buf	 b;
	const char	*why;
	int		 rv;

	ck_assert_int_eq(parse(derived[_i].source, strlen(derived[_i].source)),
	    0);
	buf_init(&b, 4096);
	rv = fsconfig_derive(doc, &b, &why);
	if (derived[_i].out == NULL) {
		ck_assert_msg(rv == -1, "%s", derived[_i].source);
		ck_assert_ptr_nonnull(why);
	} else {
		ck_assert_int_eq(rv, 0);
		ck_assert_int_eq(buf_put(&b, "", 1), 0);
		ck_assert_str_eq((char *)buf_data(&b), derived[_i].out);
		ck_assert_int_eq(parse((char *)buf_data(&b), b.len - 1), 0);
	}
	buf_fini(&b);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("toml");
	TCase	*t = tcase_create("documents");
	SRunner	*r;
	int	 bad;

	tcase_add_checked_fixture(t, NULL, forget);
	tcase_add_loop_test(t, test_valid, 0, NROWS(valid));
	tcase_add_loop_test(t, test_invalid, 0, NROWS(invalid));
	tcase_add_loop_test(t, test_chosen, 0, NROWS(chosen));
	tcase_add_test(t, test_values);
	tcase_add_test(t, test_limits);
	tcase_add_loop_test(t, test_derived, 0, NROWS(derived));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	bad = srunner_ntests_failed(r);
	srunner_free(r);
	return bad != 0;
}
