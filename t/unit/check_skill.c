/* Front matter of skills, their openai.yaml, and manifests of plugins. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <check.h>

#include "common/limit.h"
#include "worker/fs/discovery/pluginver.h"
#include "worker/fs/discovery/skill.h"

#define NROWS(a)	(sizeof(a) / sizeof((a)[0]))

/* A copy with nothing behind it, for sanitizers to see. */
static struct span
copy_of(const char *text, size_t len)
{
	char		*copy = malloc(len > 0 ? len : 1);
	struct span	 s = { copy, len };

	ck_assert_ptr_nonnull(copy);
	memcpy(copy, text, len);
	return s;
}

static void
forget(struct span s)
{
	free((char *)(uintptr_t)s.at);
}

/* --- front matter --- */

#define FRONT(s)	"---\n" s "\n---\nbody\n"

static const struct {
	const char	*text;
	const char	*name, *description, *more;	/* name NULL: refused */
} fronts[] = {
	{ FRONT("name: a\ndescription: about a"), "a", "about a", NULL },
	{ FRONT("name: a\ndescription: d\nmetadata:\n  short-description: s\n"
	    "  x: y"), "a", "d", "s" },
	{ FRONT("description: d"), "folder", "d", NULL },
	{ FRONT("name: ~\ndescription: d"), "folder", "d", NULL },
	{ FRONT("name: null\ndescription: d"), "folder", "d", NULL },
	{ FRONT("name: \"null\"\ndescription: d"), "null", "d", NULL },
	{ FRONT("name: 5\ndescription: true"), "5", "true", NULL },
	{ FRONT("name: \" n\\t m \"\ndescription: \"x\\n\\ny\""), "n m",
	    "x y", NULL },
	{ FRONT("name: a\ndescription: >\n  folded\n  text\n"), "a",
	    "folded text", NULL },
	{ FRONT("name: &x a\ndescription: *x"), "a", "a", NULL },
	{ FRONT("name: !!str a\ndescription: !foo d"), "a", "d", NULL },
	{ "---\r\nname: a\r\ndescription: d\r\n---\r\nx", "a", "d", NULL },
	{ "--- \t\nname: a\ndescription: d\n--- \n", "a", "d", NULL },
	{ "---\nname: a\ndescription: d\n---", "a", "d", NULL },
	/* Not YAML, but what people write. */
	{ FRONT("name: a\ndescription: this: that"), "a", "this: that", NULL },
	{ FRONT("name: [a\ndescription: it's [b: c"), "[a", "it's [b: c",
	    NULL },
	{ FRONT("name: a\ndescription: b: c\nmetadata:\n"
	    "  short-description: d: e"), "a", "b: c", "d: e" },
	{ FRONT("name: \"a\"\ndescription: b: c"), "a", "b: c", NULL },
	{ FRONT("name: a\ndescription: d\nname: b"), NULL, "twice", NULL },
	{ FRONT("name: a"), NULL, "no description", NULL },
	{ FRONT("name: a\ndescription: \"\""), NULL, "no description", NULL },
	{ FRONT("name: a\ndescription: [x]"), NULL, "no description", NULL },
	{ FRONT("name: {}\ndescription: d"), NULL, "name", NULL },
	{ FRONT("name: \" \"\ndescription: d"), "folder", "d", NULL },
	{ FRONT("name: ''\ndescription: d"), "folder", "d", NULL },
	{ FRONT("name: a\ndescription: d\nmetadata: []"), NULL, "metadata",
	    NULL },
	{ FRONT("- a"), NULL, "no mapping", NULL },
	{ FRONT("name: a\ndescription: d\n...\nx"), NULL, "malformed", NULL },
	{ FRONT("name: a\ndescription: d\n--- x"), NULL, "malformed", NULL },
	{ FRONT("\"a"), NULL, "malformed", NULL },
	{ FRONT("name: a\ndescription: \x01"), NULL, "malformed", NULL },
	{ "", NULL, "no front matter", NULL },
	{ "text", NULL, "no front matter", NULL },
	{ "---\n---\n", NULL, "no front matter", NULL },
	{ "---\nname: a\ndescription: d\n", NULL, "no front matter", NULL },
	{ "\n---\nname: a\ndescription: d\n---\n", NULL, "no front matter",
	    NULL },
	{ "\xef\xbb\xbf---\nname: a\ndescription: d\n---\n", NULL,
	    "no front matter", NULL },
};

START_TEST(test_front)
{
	struct span	 text = copy_of(fronts[_i].text,
			    strlen(fronts[_i].text));
	struct skill	 s;
	const char	*why;
	int		 rv = skill_parse(&s, text, "folder", &why);

	if (fronts[_i].name == NULL) {
		ck_assert_msg(rv == -1, "taken: %s", fronts[_i].text);
		ck_assert_msg(strstr(why, fronts[_i].description) != NULL,
		    "%s: %s", fronts[_i].text, why);
	} else {
		ck_assert_msg(rv == 0, "%s: %s", fronts[_i].text, why);
		ck_assert_str_eq(s.name, fronts[_i].name);
		ck_assert_str_eq(s.description, fronts[_i].description);
		ck_assert_pstr_eq(s.short_description, fronts[_i].more);
	}
	skill_fini(&s);
	forget(text);
}
END_TEST

/* --- openai.yaml --- */

#define NO_TOOL_REST	"\"description\":null,\"transport\":null," \
	"\"command\":null,\"url\":null,\"oauthCallbackPort\":null}"

static const struct {
	const char	*text, *dependencies, *policy;	/* NULL: null */
} metas[] = {
	{ "", NULL, NULL },
	{ "interface:\n", NULL, NULL },
	{ "a: [b", NULL, NULL },
	{ "policy: {}", NULL,
	    "{\"allowImplicitInvocation\":null,\"products\":[]}" },
	{ "policy:\n  allow_implicit_invocation: false\n"
	    "  products: [codex, chatgpt]", NULL,
	    "{\"allowImplicitInvocation\":false,"
	    "\"products\":[\"codex\",\"chatgpt\"]}" },
	{ "policy: &p {allow_implicit_invocation: True}\nx: *p", NULL,
	    "{\"allowImplicitInvocation\":true,\"products\":[]}" },
	{ "policy:\n  allow_implicit_invocation: \"true\"", NULL, NULL },
	{ "policy:\n  allow_implicit_invocation: yes", NULL, NULL },
	{ "policy: []", NULL, NULL },
	{ "policy: {products: [codex, other]}", NULL, NULL },
	{ "policy: {products: codex}", NULL, NULL },
	{ "policy: {products: [[codex]]}", NULL, NULL },
	{ "dependencies: {}", NULL, NULL },
	{ "dependencies: []", NULL, NULL },
	{ "dependencies: {tools: []}", NULL, NULL },
	{ "dependencies: {tools: x}", NULL, NULL },
	{ "dependencies: {tools: [{type: mcp}]}", NULL, NULL },
	{ "dependencies: {tools: [x]}", NULL, NULL },
	{ "dependencies: {tools: [{value: v}, {type: t, value: 5, extra: 1}]}",
	    "{\"tools\":[{\"type\":\"t\",\"value\":\"5\"," NO_TOOL_REST "]}",
	    NULL },
	{ "dependencies:\n  tools:\n    - type: mcp\n      value: v\n"
	    "      description: \"d  e\"\n      transport: stdio\n"
	    "      command: c\n      url: u\n"
	    "      oauth: {callback_port: 81}",
	    "{\"tools\":[{\"type\":\"mcp\",\"value\":\"v\","
	    "\"description\":\"d e\",\"transport\":\"stdio\","
	    "\"command\":\"c\",\"url\":\"u\",\"oauthCallbackPort\":81}]}",
	    NULL },
	{ "dependencies: {tools: [{type: t, value: v, oauth: "
	    "{callback_port: 65536}}]}", NULL, NULL },
	{ "dependencies: {tools: [{type: t, value: v, oauth: "
	    "{callback_port: x}}]}", NULL, NULL },
	{ "dependencies: {tools: [{type: t, value: [v]}]}", NULL, NULL },
};

/* What is written of a text, or of none, as an object. */
static char *
metadata(const char *text, size_t len)
{
	struct span	 s = { NULL, 0 };
	struct json_out	 o;
	struct buf	 b;
	char		*out;

	if (text != NULL)
		s = copy_of(text, len);
	buf_init(&b, 65536);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	skill_put_metadata(&o, s);
	json_out_close(&o, '}');
	ck_assert_int_eq(json_out_fini(&o), 0);
	ck_assert_ptr_nonnull(out = strndup((char *)buf_data(&b), b.len));
	buf_fini(&b);
	forget(s);
	return out;
}

START_TEST(test_metadata)
{
	char	 want[1024], *got;

	got = metadata(metas[_i].text, strlen(metas[_i].text));
	snprintf(want, sizeof(want), "{\"dependencies\":%s,\"policy\":%s}",
	    metas[_i].dependencies != NULL ? metas[_i].dependencies : "null",
	    metas[_i].policy != NULL ? metas[_i].policy : "null");
	ck_assert_msg(strcmp(got, want) == 0, "%s:\n%s", metas[_i].text, got);
	free(got);
}
END_TEST

START_TEST(test_none)
{
	char	*got = metadata(NULL, 0);

	ck_assert_str_eq(got, "{\"dependencies\":null,\"policy\":null}");
	free(got);
}
END_TEST

/* --- bounds --- */

/* Whether front matter of n times what is taken, description included. */
static bool
takes(const char *before, const char *what, size_t n, const char *after)
{
	size_t		 len = strlen(what), at, size;
	char		*text;
	struct span	 s;
	struct skill	 skill;
	const char	*why;
	bool		 ok;

	size = strlen(before) + n * len + strlen(after) + 64;
	ck_assert_ptr_nonnull(text = malloc(size));
	at = (size_t)snprintf(text, size, "---\ndescription: d\n%s", before);
	for (; n > 0; n--, at += len)
		memcpy(text + at, what, len);
	at += (size_t)snprintf(text + at, size - at, "%s\n---\n", after);
	s = copy_of(text, at);
	ok = skill_parse(&skill, s, "n", &why) == 0;
	skill_fini(&skill);
	forget(s);
	free(text);
	return ok;
}

START_TEST(test_bounds)
{
	char	 name[80];

	ck_assert(takes("x: \"", "[", LIMIT_YAML_DEPTH + 10, "\""));
	ck_assert(takes("x:\n", "- ", LIMIT_YAML_DEPTH - 1, "1"));
	ck_assert(!takes("x:\n", "- ", LIMIT_YAML_DEPTH, "1"));
	ck_assert(takes("y: &a 1\nx:\n", "- *a\n", LIMIT_YAML_NAMES - 1, ""));
	ck_assert(!takes("y: &a 1\nx:\n", "- *a\n", LIMIT_YAML_NAMES, ""));
	ck_assert(!takes("x:\n", "- 1\n", LIMIT_YAML_EVENTS, ""));
	ck_assert(!takes("# ", "x", LIMIT_YAML_TEXT, ""));
	/* Each of ten times the one before, which nobody expands. */
	ck_assert(takes("a: &a [1,1,1,1,1,1,1,1,1,1]\n"
	    "b: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\n"
	    "c: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
	    "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\n"
	    "e: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d,*d]\n", "", 0, ""));
	/* In a circle. */
	ck_assert(takes("metadata: &a\n  short-description: *a\n", "", 0, ""));
	memset(name, 'n', sizeof(name));
	name[64] = '\0';
	ck_assert(takes("name: ", name, 1, ""));
	name[64] = 'n';
	name[65] = '\0';
	ck_assert(!takes("name: ", name, 1, ""));
	ck_assert(takes("name: ", "\xc3\xa9", 64, ""));
}
END_TEST

/* --- manifests --- */

static const struct {
	const char	*text, *want;	/* NULL, "": malformed; no name, too */
} plugins[] = {
	{ "{}", "-|-|.mcp.json|.app.json|-" },
	{ "{\"name\":\"p\",\"interface\":{\"displayName\":\" P q\\n\"},"
	    "\"mcpServers\":\"./m.json\",\"apps\":\".//a/./b.json/\"}",
	    "p|P q|m.json|a/b.json|-" },
	{ "{\"displayName\":\"x\",\"mcpServers\": { \"a\" : \"\\u0041\" },"
	    "\"apps\":null,\"interface\":null}",
	    "-|-|-|.app.json|{ \"a\" : \"\\u0041\" }" },
	{ "{\"mcpServers\":\"../m\",\"apps\":\"a.json\"}",
	    "-|-|.mcp.json|.app.json|-|bad" },
	{ "{\"mcpServers\":\"./a/../b\"}", "-|-|.mcp.json|.app.json|-|bad" },
	{ "{\"mcpServers\":\"./..\"}", "-|-|.mcp.json|.app.json|-|bad" },
	{ "{\"mcpServers\":\"./.\"}", "-|-|.mcp.json|.app.json|-|bad" },
	{ "{\"mcpServers\":\"/s\"}", "-|-|.mcp.json|.app.json|-|bad" },
	{ "{\"mcpServers\":\"\"}", "-|-|.mcp.json|.app.json|-|bad" },
	{ "{\"mcpServers\":\"./..a/b..\"}", "-|-|..a/b..|.app.json|-" },
	{ "{\"name\":\"\",\"mcpServers\":[],\"skills\":{},\"version\":5}",
	    "-|-|.mcp.json|.app.json|-|bad" },
	{ "{\"name\":\"a\\u0000b\",\"interface\":{\"displayName\":\" \"}}",
	    "-|-|.mcp.json|.app.json|-" },
	{ "{\"name\":5}", "" },
	{ "{\"name\":null}", "" },
	{ "{\"apps\":[\"./a\"]}", NULL },
	{ "{\"interface\":[]}", NULL },
	{ "{\"interface\":{\"displayName\":5}}", NULL },
	{ "[]", "" },
	{ "", "" },
	{ "{\"name\":", "" },
	{ "{\"name\":\"a\",\"name\":\"b\"}", "" },
};

static const char *
or_none(const char *s)
{
	return s != NULL ? s : "-";
}

START_TEST(test_manifest)
{
	struct span	 text = copy_of(plugins[_i].text,
			    strlen(plugins[_i].text));
	struct manifest	 m;
	char		 got[512];
	int		 rv = manifest_parse(&m, text);

	ck_assert_msg((rv == 0) == (plugins[_i].want != NULL &&
	    plugins[_i].want[0] != '\0'), "%s", plugins[_i].text);
	ck_assert_msg(m.is_named == (plugins[_i].want == NULL ||
	    plugins[_i].want[0] != '\0'), "%s", plugins[_i].text);
	if (rv == 0) {
		snprintf(got, sizeof(got), "%s|%s|%s|%s|%s%s",
		    or_none(m.name), or_none(m.display_name), or_none(m.mcp),
		    or_none(m.apps), or_none(m.inline_mcp),
		    m.has_bad_path ? "|bad" : "");
		ck_assert_str_eq(got, plugins[_i].want);
	}
	manifest_fini(&m);
	forget(text);
}
END_TEST

/* --- names and versions --- */

START_TEST(test_full_name)
{
	char	 plugin[200] = "", *full;

	ck_assert_ptr_nonnull(full = skill_full_name("p q", "a"));
	ck_assert_str_eq(full, "p q:a");
	free(full);
	memset(plugin, 'p', 127);
	ck_assert_ptr_nonnull(full = skill_full_name(plugin, "\xc3\xa9"));
	free(full);
	plugin[127] = 'p';
	ck_assert_ptr_null(skill_full_name(plugin, "a"));
	ck_assert_int_eq(errno, ENAMETOOLONG);
}
END_TEST

/* Each is later than the one before. */
static const char *const	 versions[] = {
	"0.9.0", "1.0.0-0", "1.0.0-9", "1.0.0-10", "1.0.0-9a", "1.0.0-alpha",
	"1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-rc.1", "1.0.0-rc.1+b",
	"1.0.0", "1.0.0+a", "1.0.0+b", "1.0.9", "1.0.10", "1.2.0", "9.0.0",
	"10.0.0", "99999999999999999999999.0.0", "9999999999999999999999.x",
	"a", "b",
};

static int
sign(int n)
{
	return (n > 0) - (n < 0);
}

START_TEST(test_versions)
{
	size_t	 i, k = (size_t)_i, last = NROWS(versions) - 3;

	for (i = 0; i < last; i++)
		ck_assert_msg(sign(pluginver_compare(versions[i],
		    versions[k])) == (k < last ? (i > k) - (i < k) :
		    sign(strcmp(versions[i], versions[k]))), "%s and %s",
		    versions[i], versions[k]);
}
END_TEST

/* None by the rules, so that names are compared. */
static const char *const	 others[] = {
	"1", "9.5", "v9.0.0", "09.0.0", "9.0.0.", "9.0", "9.0.0-", "9.0.0-a..b",
	"9.0.0-01", "9.0.0+", "9.0.0-a_b", "9.0.0 ", "local", "",
};

START_TEST(test_no_version)
{
	ck_assert_int_eq(sign(pluginver_compare(others[_i], "10.0.0")),
	    sign(strcmp(others[_i], "10.0.0")));
	ck_assert_int_eq(sign(pluginver_compare("10.0.0", others[_i])),
	    sign(strcmp("10.0.0", others[_i])));
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("skill");
	TCase	*t = tcase_create("texts");
	SRunner	*r;
	int	 bad;

	tcase_add_loop_test(t, test_front, 0, NROWS(fronts));
	tcase_add_loop_test(t, test_metadata, 0, NROWS(metas));
	tcase_add_test(t, test_none);
	tcase_add_test(t, test_bounds);
	tcase_add_loop_test(t, test_manifest, 0, NROWS(plugins));
	tcase_add_test(t, test_full_name);
	tcase_add_loop_test(t, test_versions, 0, NROWS(versions));
	tcase_add_loop_test(t, test_no_version, 0, NROWS(others));
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	bad = srunner_ntests_failed(r);
	srunner_free(r);
	return bad != 0;
}
