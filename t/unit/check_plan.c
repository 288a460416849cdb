/*
 * common/plan*.c: each shape of a sandbox object, as the reference takes or
 * refuses it, and what the rules say.
 *
 * lint-ok: long, as one set of helpers serves every case.
 */
#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/plan/plan.h"

#define COUNT(array)	(sizeof(array) / sizeof((array)[0]))

static struct json	 j;
static struct buf	 out;
static char		 why[256];
static char		*text;
static struct plan	 plan;

/* A process in /cwd. */
static const struct plan_context	 in_cwd = { "/cwd", "/t", false };
static const struct plan_context	 nowhere = { NULL, NULL, false };
static const struct plan_context	 native = { "/cwd", NULL, true };

static void
setup(void)
{
	json_init(&j);
	buf_init(&out, SIZE_MAX);
}

static void
teardown(void)
{
	plan_free(&plan);
	json_fini(&j);
	buf_fini(&out);
	free(text);
	text = NULL;
}

/*
 * The plan of an object written with ' for ": its lines, or "! " and why not.
 */
static const char *
explain(const char *object, const struct plan_context *ctx)
{
	char	*p;

	teardown();
	setup();
	ck_assert_int_ge(asprintf(&text, "[%s]", object), 0);
	for (p = text; (p = strchr(p, '\'')) != NULL;)
		*p = '"';
	ck_assert_msg(json_parse(&j, text, strlen(text)) == 0, "%s", object);
	memset(why, 'x', sizeof(why));
	if (plan_make(&plan, &j, 1, ctx, why, sizeof(why)) == -1) {
		ck_assert_ptr_nonnull(memchr(why, '\0', sizeof(why)));
		ck_assert(buf_put(&out, "! ", 2) == 0 &&
		    buf_put(&out, why, strlen(why) + 1) == 0);
	} else {
		ck_assert(plan_print(&plan, &out) == 0 &&
		    buf_put(&out, "", 1) == 0);
	}
	return (const char *)buf_data(&out);
}

#define LEVEL	",'windowsSandboxLevel':'disabled'}"
#define IN_W	",'cwd':'file:///w','workspaceRoots':['file:///w']" LEVEL
#define RESTRICTED							\
	"{'permissions':{'type':'managed','network':'enabled',"		\
	"'file_system':{'type':'restricted','entries':["
#define MANAGED(entries) RESTRICTED entries "]}}"
#define SPECIAL(kind, access)						\
	"{'path':{'type':'special','value':{'kind':'" kind "'}},"	\
	"'access':'" access "'}"
#define SUB(sub, access)						\
	"{'path':{'type':'special','value':{'kind':'project_roots',"	\
	"'subpath':'" sub "'}},'access':'" access "'}"
#define SKIP(sub)							\
	"{'path':{'type':'special','value':{'kind':'project_roots',"	\
	"'subpath':'" sub "'}},'access':'read',"			\
	"'missing_path_behavior':'skip'}"
#define AT(path, access)						\
	"{'path':{'type':'path','path':'file://" path "'},"		\
	"'access':'" access "'}"
#define GLOB(pattern)							\
	"{'path':{'type':'glob_pattern','pattern':'" pattern "'},"	\
	"'access':'deny'}"
#define ROOT	SPECIAL("root", "read")
#define GUARD(folder)							\
	"read " folder "/.agents if-exists\n"				\
	"read " folder "/.aws if-exists\n"				\
	"read " folder "/.codex if-exists\n"				\
	"read " folder "/.git if-exists\n"
#define ON	"network on\n"
#define OFF	"network off\n"
#define PERMISSIONS(p)	"{'permissions':{" p "}" IN_W
#define MINIMAL								\
	"read /bin\nread /etc\nread /lib\nread /lib64\n"		\
	"read /nix/store\nread /run/current-system/sw\n"		\
	"read /sbin\nread /usr\n"

static const struct shape {
	const char	*object;
	const char	*want;		/* "!": refused with a reason like it */
} shapes[] = {
	/* --- kinds of permissions --- */
	{ PERMISSIONS("'type':'disabled'"), "write /\n" ON },
	{ PERMISSIONS("'type':'disabled','network':'restricted'"),
	    "write /\n" ON },
	{ PERMISSIONS("'type':'external','network':'enabled'"),
	    "write /\n" ON },
	{ PERMISSIONS("'type':'external','network':'restricted'"),
	    "write /\n" OFF },
	{ PERMISSIONS("'type':'managed','network':'restricted',"
	    "'file_system':{'type':'unrestricted'}"), "write /\n" OFF },
	{ PERMISSIONS("'type':'external'"), "!network" },
	{ PERMISSIONS("'type':'external','network':null"), "!network" },
	{ PERMISSIONS("'type':'external','network':'maybe'"), "!network" },
	{ PERMISSIONS("'type':'external','network':1"), "!network" },
	{ PERMISSIONS(""), "!missing \"type\"" },
	{ PERMISSIONS("'type':'other'"), "!permissions.type" },
	{ PERMISSIONS("'type':null"), "!type" },
	{ PERMISSIONS("'type':'managed'"), "!network" },
	{ PERMISSIONS("'type':'managed','network':'enabled'"),
	    "!file_system" },
	{ PERMISSIONS("'type':'managed','network':'enabled',"
	    "'file_system':{}"), "!type" },
	{ PERMISSIONS("'type':'managed','network':'enabled',"
	    "'file_system':{'type':'x'}"), "!file_system.type" },
	{ PERMISSIONS("'type':'managed','network':'enabled',"
	    "'file_system':{'type':'restricted'}"), "!entries" },
	{ PERMISSIONS("'type':'managed','network':'enabled',"
	    "'file_system':{'type':'restricted','entries':null}"),
	    "!entries" },
	{ PERMISSIONS("'type':'managed','network':'enabled',"
	    "'file_system':{'type':'unrestricted','glob_scan_max_depth':0}"),
	    "!glob_scan_max_depth" },
	{ "{}", "!missing \"permissions\"" },
	{ "{'permissions':5" LEVEL, "!permissions" },
	{ "[]", "!object" },
	/* --- members of the object --- */
	{ "{'permissions':{'type':'disabled'}}", "!windowsSandboxLevel" },
	{ "{'permissions':{'type':'disabled'},'windowsSandboxLevel':'no'}",
	    "!windowsSandboxLevel" },
	{ "{'permissions':{'type':'disabled'},"
	    "'windowsSandboxLevel':'restricted-token','more':{'a':1}}",
	    "write /\n" ON },
	{ "{'permissions':{'type':'disabled'},"
	    "'windowsSandboxProxySettingsMode':'x'" LEVEL, "!Proxy" },
	{ "{'permissions':{'type':'disabled'},"
	    "'windowsSandboxProxySettingsMode':'preserve'" LEVEL,
	    "write /\n" ON },
	{ "{'permissions':{'type':'disabled'},'useLegacyLandlock':null" LEVEL,
	    "!useLegacyLandlock" },
	{ "{'permissions':{'type':'disabled'},'userHomeDir':'/x'" LEVEL,
	    "!userHomeDir" },
	{ "{'permissions':{'type':'disabled'},'cwd':5" LEVEL, "!cwd" },
	{ "{'permissions':{'type':'disabled'},'cwd':'/w'" LEVEL, "!cwd" },
	{ "{'permissions':{'type':'disabled'},'workspaceRoots':null" LEVEL,
	    "!workspaceRoots" },
	{ "{'permissions':{'type':'disabled'},'workspaceRoots':['/w']" LEVEL,
	    "!workspaceRoots" },
	{ "{'permissions':{'type':'disabled'},'workspaceRoots':[5]" LEVEL,
	    "!workspaceRoots" },
	{ "{'permissions':{'type':'disabled'},'policyContext':5" LEVEL,
	    "!policyContext" },
	{ "{'permissions':{'type':'disabled'},"
	    "'policyContext':{'cwd':'/w'}" LEVEL, "!cwd" },
	{ "{'permissions':{'type':'disabled'},"
	    "'policyContext':{'workspaceRoots':[{}]}" LEVEL,
	    "!workspaceRoots" },
	{ "{'permissions':{'type':'disabled'},"
	    "'temporaryDirectories':['x']" LEVEL, "!temporaryDirectories" },
	/* --- entries --- */
	{ MANAGED("") IN_W, ON },
	{ MANAGED("5") IN_W, "!object" },
	{ MANAGED("{'path':{'type':'x'},'access':'read'}") IN_W,
	    "!entries[0]: unknown type" },
	{ MANAGED(ROOT ",{'access':'read'}") IN_W, "!path" },
	{ MANAGED("{'path':{'type':'path','path':'file:///a'}}") IN_W,
	    "!access" },
	{ MANAGED(ROOT "," SPECIAL("root", "Read")) IN_W,
	    "!entries[1]: access" },
	{ MANAGED(SPECIAL("root", "everything")) IN_W, "!access" },
	{ MANAGED(SPECIAL("nowhere", "read")) IN_W, "!unknown kind" },
	{ MANAGED("{'path':{'type':'special','value':'root'},"
	    "'access':'read'}") IN_W, "!value" },
	{ MANAGED("{'path':{'type':'special','value':{'kind':'root'}},"
	    "'access':'read','missing_path_behavior':'x'}") IN_W,
	    "!missing_path_behavior" },
	{ MANAGED("{'path':{'type':'special','value':{'kind':'root'}},"
	    "'access':'read','missing_path_behavior':null,'more':1}") IN_W,
	    "read /\n" ON },
	{ MANAGED("{'path':'file:///a','access':'read'}") IN_W, "!path" },
	{ MANAGED("{'path':{'type':'path','path':'/a'},'access':'read'}")
	    IN_W, "!file: URI" },
	{ MANAGED(AT("/a%2Fb", "read")) IN_W, "!file: URI" },
	{ MANAGED(AT("elsewhere/a", "read")) IN_W, "!file: URI" },
	{ MANAGED(AT("/a/../b//c/", "read")) IN_W, "read /b/c\n" ON },
	{ MANAGED(AT("/", "read")) IN_W, "read /\n" ON },
	{ MANAGED(ROOT "," AT("/s", "none")) IN_W,
	    "read /\ndeny /s\n" ON },
	/* --- special places --- */
	{ MANAGED(SPECIAL("minimal", "read")) IN_W, MINIMAL ON },
	{ MANAGED(SPECIAL("minimal", "write")) IN_W, MINIMAL ON },
	{ MANAGED(SPECIAL("minimal", "deny")) IN_W, "!minimal" },
	{ MANAGED(SPECIAL("minimal", "read") "," ROOT) IN_W,
	    "read /\n" ON },
	{ MANAGED(SPECIAL("minimal", "read") "," SPECIAL("root", "write"))
	    IN_W, "write /\n" ON },
	{ MANAGED(SPECIAL("minimal", "read") "," SPECIAL("root", "deny"))
	    IN_W, MINIMAL ON },
	{ MANAGED(SPECIAL("minimal", "read") "," AT("/usr", "deny") ","
	    AT("/nix", "deny") "," AT("/etc/x", "deny")) IN_W,
	    "read /bin\nread /etc\ndeny /etc/x\nread /lib\nread /lib64\n"
	    "deny /nix\nread /run/current-system/sw\nread /sbin\n"
	    "deny /usr\n" ON },
	{ MANAGED(SPECIAL("project_roots", "read")) IN_W, "read /w\n" ON },
	{ MANAGED(SPECIAL("current_working_directory", "read")) IN_W,
	    "read /w\n" ON },
	{ MANAGED(SPECIAL("tmpdir", "read") "," SPECIAL("slash_tmp", "read"))
	    IN_W, "read /t\nread /tmp\n" ON },
	{ MANAGED(SUB("", "read")) IN_W, "read /w\n" ON },
	{ MANAGED(SUB("a//b/", "read")) IN_W, "read /w/a/b\n" ON },
	{ MANAGED(SUB("..", "read")) IN_W, "!subpath" },
	{ MANAGED(SUB("a/../../b", "read")) IN_W, "!subpath" },
	{ MANAGED(SUB("./a", "read")) IN_W, "!subpath" },
	{ MANAGED(SUB("/a", "read")) IN_W, "!subpath" },
	{ MANAGED(SUB("a\\u0000b", "read")) IN_W, "!NUL" },
	{ MANAGED(SUB("...", "read")) IN_W, "read /w/...\n" ON },
	{ MANAGED("{'path':{'type':'special','value':{'kind':'project_roots',"
	    "'subpath':5}},'access':'read'}") IN_W, "!subpath" },
	{ MANAGED("{'path':{'type':'special','value':{'kind':'tmpdir',"
	    "'subpath':'x'}},'access':'write'}") IN_W, "!no subpath" },
	{ MANAGED(SPECIAL("unknown", "write")) IN_W, "!path" },
	{ MANAGED(ROOT ",{'path':{'type':'special','value':{'kind':'unknown',"
	    "'path':':new','subpath':'a'}},'access':'write'}") IN_W,
	    "read /\n" ON },
	{ MANAGED(ROOT ",{'path':{'type':'special','value':{'kind':'unknown',"
	    "'path':':new'}},'access':'deny'}") IN_W, "!unknown place" },
	{ MANAGED(ROOT ",{'path':{'type':'special','value':{'kind':'unknown',"
	    "'path':':new'}},'access':'read'}") IN_W, "!unknown place" },
	/* --- two entries for the same path --- */
	{ MANAGED(ROOT "," AT("/a", "write") "," AT("/a", "read")) IN_W,
	    "read /\nwrite /a\n" GUARD("/a") ON },
	{ MANAGED(ROOT "," AT("/a", "deny") "," AT("/a", "write")) IN_W,
	    "read /\ndeny /a\n" ON },
	{ MANAGED(SPECIAL("root", "deny") "," ROOT) IN_W, ON },
	/* --- what is writable, and what is not in it --- */
	{ MANAGED(SPECIAL("root", "write")) IN_W, "write /\n" ON },
	{ MANAGED(SPECIAL("root", "write") "," AT("/a", "write")) IN_W,
	    "write /\n" ON },
	{ MANAGED(SPECIAL("root", "write") "," AT("/a", "read")) IN_W,
	    "write /\nread /a\n" ON },
	{ MANAGED(SPECIAL("project_roots", "write")) IN_W,
	    "write /w\n" GUARD("/w") ON },
	{ MANAGED(SPECIAL("project_roots", "write") "," SUB(".git", "write"))
	    IN_W,
	    "write /w\nread /w/.agents if-exists\nread /w/.aws if-exists\n"
	    "read /w/.codex if-exists\n"
	    /* a writable folder as any other */
	    GUARD("/w/.git") ON },
	{ MANAGED(SPECIAL("project_roots", "write") "," SUB(".git", "read"))
	    IN_W,
	    "write /w\nread /w/.agents if-exists\nread /w/.aws if-exists\n"
	    "read /w/.codex if-exists\nread /w/.git\n" ON },
	{ MANAGED(SPECIAL("project_roots", "write") "," SUB(".git", "deny"))
	    IN_W,
	    "write /w\nread /w/.agents if-exists\nread /w/.aws if-exists\n"
	    "read /w/.codex if-exists\ndeny /w/.git\n" ON },
	{ MANAGED(SPECIAL("project_roots", "write") "," SKIP(".git") ","
	    SUB(".git", "read")) IN_W,
	    "write /w\nread /w/.agents if-exists\nread /w/.aws if-exists\n"
	    "read /w/.codex if-exists\nread /w/.git\n" ON },
	/* --- what changes nothing --- */
	{ MANAGED(ROOT "," AT("/a", "read") "," AT("/a/b", "read")) IN_W,
	    "read /\n" ON },
	{ MANAGED(AT("/a", "deny") "," AT("/a/b", "deny")) IN_W, ON },
	{ MANAGED(ROOT "," AT("/a", "deny") "," AT("/a/b", "deny") ","
	    AT("/a/c", "read") "," AT("/ab", "read")) IN_W,
	    "read /\ndeny /a\ndeny /a/b\nread /a/c\n" ON },
	{ MANAGED(SPECIAL("root", "write") "," AT("/w", "write") ","
	    AT("/w/a", "write")) IN_W, "write /\n" ON },
	/* --- what may be a name of what is allowed elsewhere stays --- */
	{ MANAGED(ROOT "," AT("/a", "write") "," AT("/link/b", "read")) IN_W,
	    "read /\nwrite /a\n" GUARD("/a") "read /link/b\n" ON },
	{ MANAGED(AT("/a", "read") "," AT("/link/b", "deny")) IN_W,
	    "read /a\ndeny /link/b\n" ON },
	{ MANAGED(AT("/a", "read") "," SPECIAL("root", "deny")) IN_W,
	    "read /a\n" ON },
	{ MANAGED(SPECIAL("root", "write") "," SKIP("") ","
	    AT("/w/a", "read")) IN_W,
	    "write /\nread /w if-exists\nread /w/a\n" ON },
	{ MANAGED(SPECIAL("root", "write") "," SKIP("") "," SKIP("a")) IN_W,
	    "write /\nread /w if-exists\nread /w/a if-exists\n" ON },
	/* nothing is between a folder and what is in it */
	{ MANAGED(ROOT "," AT("/a", "deny") "," AT("/a-b", "deny") ","
	    AT("/a/c", "read") "," AT("/a%01", "deny")) IN_W,
	    "read /\ndeny /a\nread /a/c\ndeny /a\\001\ndeny /a-b\n" ON },
	/* --- patterns --- */
	{ MANAGED(ROOT "," GLOB("**/*.env")) IN_W,
	    "read /\nhide /w/**/*.env\n" ON },
	{ MANAGED(ROOT "," GLOB("/x/*.env") "," GLOB("/x/*.env") ","
	    GLOB("/a/?")) IN_W, "read /\nhide /a/?\nhide /x/*.env\n" ON },
	{ MANAGED(ROOT "," GLOB("./g/../*/") "," GLOB("../v/*")) IN_W,
	    "read /\nhide /v/*\nhide /w/*\n" ON },
	{ MANAGED(ROOT "," GLOB("*/../a")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB("a.env")) IN_W,
	    "read /\ndeny /w/a.env if-exists\n" ON },
	{ MANAGED(ROOT "," GLOB("a\\\\*b")) IN_W,
	    "read /\ndeny /w/a*b if-exists\n" ON },
	{ MANAGED(ROOT "," GLOB("*.{env,p{e,a}m}")) IN_W,
	    "read /\nhide /w/*.env\nhide /w/*.pam\nhide /w/*.pem\n" ON },
	{ MANAGED(ROOT "," GLOB("{a/*,/b/*,[,}]*,\\\\{*}")) IN_W,
	    "read /\nhide /b/*\nhide /w/[,}]*\nhide /w/\\134{*\n"
	    "hide /w/a/*\n" ON },
	/* A bracket first is a member, also of those that are not meant. */
	{ MANAGED(ROOT "," GLOB("{[]}],[!]},]}*")) IN_W,
	    "read /\nhide /w/[!]},]*\nhide /w/[]}]*\n" ON },
	{ MANAGED(ROOT "," GLOB("{[^]}],b}*")) IN_W,
	    "read /\nhide /w/[^]}]*\nhide /w/b*\n" ON },
	{ MANAGED(ROOT "," GLOB("{a,b}")) IN_W,
	    "read /\ndeny /w/a if-exists\ndeny /w/b if-exists\n" ON },
	{ MANAGED(ROOT "," GLOB("*{")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB("*}")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB("{a,[}")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB("[a")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB("a\\\\")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB("\\\\./a")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB(".\\\\./*")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB("\\\\.\\\\./*")) IN_W, "!malformed" },
	{ MANAGED(ROOT "," GLOB("\\\\.a/.\\\\.\\\\.")) IN_W,
	    "read /\ndeny /w/.a/... if-exists\n" ON },
	{ MANAGED(ROOT "," GLOB("")) IN_W, "!empty" },
	{ MANAGED(ROOT "," GLOB("file:///w/*")) IN_W, "!URI" },
	{ MANAGED(ROOT "," GLOB("a\\u0000*")) IN_W, "!NUL" },
	{ MANAGED("{'path':{'type':'glob_pattern','pattern':'*'},"
	    "'access':'write'}") IN_W, "!only be denied" },
	{ MANAGED("{'path':{'type':'glob_pattern','pattern':'*'},"
	    "'access':'read'}") IN_W, "!only be denied" },
	{ MANAGED("{'path':{'type':'glob_pattern'},'access':'deny'}") IN_W,
	    "!pattern" },
	{ "{'permissions':{'type':'managed','network':'enabled',"
	    "'file_system':{'type':'restricted','entries':[" ROOT ","
	    GLOB("*") "],'glob_scan_max_depth':4}}" IN_W,
	    "read /\nhide /w/* depth 4\n" ON },
	/* a depth without patterns says nothing */
	{ "{'permissions':{'type':'managed','network':'enabled',"
	    "'file_system':{'type':'restricted','entries':[" ROOT
	    "],'glob_scan_max_depth':4}}" IN_W, "read /\n" ON },
	{ "{'permissions':{'type':'managed','network':'enabled',"
	    "'file_system':{'type':'restricted','entries':[],"
	    "'glob_scan_max_depth':4294967296}}" IN_W,
	    "!glob_scan_max_depth" },
	{ "{'permissions':{'type':'managed','network':'enabled',"
	    "'file_system':{'type':'restricted','entries':[],"
	    "'glob_scan_max_depth':-1}}" IN_W, "!glob_scan_max_depth" },
	/* --- nothing forges a line --- */
	{ MANAGED(AT("/a%0Awrite%20/%5C%7F%C3%A9%FF", "read")) IN_W,
	    "read /a\\012write\\040/\\134\\177\\303\\251\\377\n" ON },
	/* --- April 2026 --- */
	{ "{'type':'danger-full-access'}", "write /\n" ON },
	{ "{'type':'read-only'}", "read /\n" OFF },
	{ "{'type':'ReadOnly','network_access':true}", "read /\n" ON },
	{ "{'type':'readOnly','networkAccess':true}", "read /\n" ON },
	{ "{'type':'external-sandbox'}", "write /\n" OFF },
	{ "{'type':'externalSandbox','networkAccess':'enabled'}",
	    "write /\n" ON },
	{ "{'type':'external-sandbox','network_access':'x'}", "!network" },
	{ "{'type':'workspace-write','writable_roots':['file:///o'],"
	    "'network_access':true}",
	    "read /\nwrite /cwd\n" GUARD("/cwd") "write /o\n" GUARD("/o")
	    "write /t\n" GUARD("/t") "write /tmp\n" GUARD("/tmp") ON },
	{ "{'type':'workspaceWrite','writableRoots':[],'networkAccess':false,"
	    "'excludeTmpdirEnvVar':true,'excludeSlashTmp':true}",
	    "read /\nwrite /cwd\n" GUARD("/cwd") OFF },
	{ "{'sandboxPolicy':{'type':'WorkspaceWrite','exclude_slash_tmp':true,"
	    "'exclude_tmpdir_env_var':true},"
	    "'sandboxPolicyCwd':'file:///x','useLegacyLandlock':false" LEVEL,
	    "read /\nwrite /x\n" GUARD("/x") OFF },
	{ "{'sandboxPolicy':{'type':'workspace-write','exclude_slash_tmp':"
	    "true,'exclude_tmpdir_env_var':true},'cwd':'file:///y'}",
	    "read /\nwrite /y\n" GUARD("/y") OFF },
	{ "{'type':'write-all'}", "!unknown type" },
	{ "{'type':5}", "!type" },
	{ "{'type':'read-only','network_access':'x'}", "!network_access" },
	{ "{'type':'read-only','access':{'type':'restricted'}}", "!access" },
	{ "{'type':'workspace-write','writable_roots':['/o']}",
	    "!writable_roots" },
	{ "{'type':'workspace-write','writable_roots':'x'}",
	    "!writable_roots" },
	{ "{'sandboxPolicy':5}", "!sandboxPolicy" },
	{ "{'sandboxPolicy':{'type':'read-only'},"
	    "'fileSystemSandboxPolicy':{}}", "!fileSystemSandboxPolicy" },
	{ "{'sandboxPolicy':{'type':'read-only'},"
	    "'additionalPermissions':{}}", "!additionalPermissions" },
	/* both: the newer one counts */
	{ "{'type':'danger-full-access','permissions':{'type':'x'}" LEVEL,
	    "!permissions.type" },
};

static void
check_text(const char *object, const struct plan_context *ctx,
    const char *want)
{
	const char	*got = explain(object, ctx);

	if (want[0] == '!')
		ck_assert_msg(got[0] == '!' && strstr(got, want + 1) != NULL,
		    "%s: %s", object, got);
	else
		ck_assert_msg(strcmp(got, want) == 0, "%s:\n%s", object, got);
}

START_TEST(test_shapes)
{
	check_text(shapes[_i].object, &in_cwd, shapes[_i].want);
}
END_TEST

/* What codex 0.169.0 sends for workspace-write (PROTOCOL 11). */
START_TEST(test_client)
{
	ck_assert_str_eq(explain("{'permissions':{'type':'managed',"
	    "'file_system':{'type':'restricted','entries':[" ROOT ","
	    SPECIAL("project_roots", "write") ","
	    SPECIAL("slash_tmp", "write") "," SPECIAL("tmpdir", "write") ","
	    SKIP(".git") "," SKIP(".agents") "," SKIP(".codex") ","
	    SKIP(".aws") "]},'network':'restricted'},'cwd':'file:///w',"
	    "'workspaceRoots':['file:///w','file:///v'],"
	    "'windowsSandboxLevel':'disabled',"
	    "'windowsSandboxProxySettingsMode':'reconcile',"
	    "'useLegacyLandlock':false}", &in_cwd),
	    "read /\nwrite /t\n" GUARD("/t") "write /tmp\n" GUARD("/tmp")
	    "write /v\n" GUARD("/v") "write /w\n" GUARD("/w") OFF);
	ck_assert(plan.reads_all && !plan.writes_all && plan.net_off);
}
END_TEST

/* Which folder counts: measured with the reference, but for the third. */
START_TEST(test_folders)
{
	static const char	 entries[] = MANAGED(SPECIAL("project_roots",
				    "read") "," GLOB("*"));
	static const struct {
		const char	*more;
		const char	*root;	/* NULL: none */
		const char	*cwd;
	} cases[] = {
		{ ",'cwd':'file:///w','workspaceRoots':['file:///v']",
		    "/v", "/w" },
		{ ",'cwd':'file:///w','workspaceRoots':[]", NULL, "/w" },
		{ ",'cwd':'file:///w'", "/w", "/w" },
		{ "", "/cwd", "/cwd" },
		{ ",'cwd':null,'workspaceRoots':['file:///v']", "/v",
		    "/cwd" },
		{ ",'cwd':'file:///w','workspaceRoots':['file:///w'],"
		    "'policyContext':{'cwd':'file:///p',"
		    "'workspaceRoots':['file:///q']}", "/q", "/p" },
		{ ",'cwd':'file:///w','workspaceRoots':['file:///w'],"
		    "'policyContext':{'cwd':null,"
		    "'workspaceRoots':['file:///q']}", "/q", "/w" },
		{ ",'cwd':'file:///w','workspaceRoots':['file:///w'],"
		    "'policyContext':{}", NULL, "/w" },
		{ ",'cwd':'file:///w','workspaceRoots':['file:///w'],"
		    "'policyContext':null", "/w", "/w" },
		{ ",'policyContext':{'workspaceRoots':['file:///q']}", "/q",
		    "/cwd" },
	};
	char			 object[1024], want[256];
	size_t			 i;

	for (i = 0; i < COUNT(cases); i++) {
		snprintf(object, sizeof(object), "%s%s" LEVEL, entries,
		    cases[i].more);
		snprintf(want, sizeof(want), "%s%s%shide %s/*\n" ON,
		    cases[i].root == NULL ? "" : "read ",
		    cases[i].root == NULL ? "" : cases[i].root,
		    cases[i].root == NULL ? "" : "\n", cases[i].cwd);
		check_text(object, &in_cwd, want);
	}
}
END_TEST

START_TEST(test_no_folder)
{
	static const struct plan_context	 odd = { "w", "tmp", false };
	static const struct plan_context	 untidy = { "/a/./b/../c//",
						    "/t/", false };

	check_text(MANAGED(SPECIAL("project_roots", "write")) LEVEL, &nowhere,
	    "!need cwd");
	check_text(MANAGED(SPECIAL("current_working_directory", "deny"))
	    LEVEL, &nowhere, "!need cwd");
	check_text(MANAGED(GLOB("*.env")) LEVEL, &nowhere, "!needs cwd");
	check_text("{'type':'workspace-write'}", &nowhere, "!need cwd");
	check_text(MANAGED(SPECIAL("project_roots", "read"))
	    ",'workspaceRoots':['file:///v']" LEVEL, &nowhere,
	    "read /v\n" ON);
	check_text(MANAGED(ROOT "," GLOB("/*.env") ","
	    SPECIAL("tmpdir", "write")) LEVEL, &nowhere,
	    "read /\nhide /*.env\n" ON);
	check_text(MANAGED(SPECIAL("project_roots", "write")) LEVEL, &odd,
	    "!need cwd");
	check_text(MANAGED(SPECIAL("tmpdir", "write")) LEVEL, &odd, ON);
	check_text(MANAGED(SPECIAL("project_roots", "read") ","
	    SPECIAL("tmpdir", "read")) LEVEL, &untidy,
	    "read /a/c\nread /t\n" ON);
}
END_TEST

START_TEST(test_native)
{
	check_text("{'permissions':{'type':'managed','network':'enabled',"
	    "'file_system':{'type':'restricted','entries':["
	    "{'path':{'type':'path','path':'/a/../b//c/.'},'access':'read'},"
	    SPECIAL("project_roots", "read") "]}},'cwd':'/w/../v/'" LEVEL,
	    &native, "read /b/c\nread /v\n" ON);
	check_text("{'type':'workspace-write','writable_roots':['/o/'],"
	    "'exclude_slash_tmp':true}", &native,
	    "read /\nwrite /cwd\n" GUARD("/cwd") "write /o\n" GUARD("/o")
	    OFF);
	check_text(MANAGED("{'path':{'type':'path','path':'a'},"
	    "'access':'read'}") IN_W, &native, "!file: URI");
	/* what looks like a pattern is one in a pattern only */
	check_text("{'permissions':{'type':'managed','network':'enabled',"
	    "'file_system':{'type':'restricted','entries':[" GLOB("*") ","
	    "{'path':{'type':'path','path':'/*/../[b'},'access':'read'}]}},"
	    "'cwd':'/[x]/\\\\?'" LEVEL, &native,
	    "read /[b\nhide /\\134[x]/\\134\\134\\134?/*\n" ON);
	ck_assert_int_eq(plan_decide(&plan, "/[x]/\\?/a"), PLAN_HIDE);
	ck_assert_int_eq(plan_decide(&plan, "/x/\\?/a"), PLAN_DENY);
}
END_TEST

/* Paths of 1000 bytes each, as many as fit, and then one more. */
START_TEST(test_long_paths)
{
	const size_t	 len = 1000, fit = LIMIT_SANDBOX_PATHS / len;
	char		*object, *p, name[1000];
	size_t		 many, n;

	memset(name, 'a', sizeof(name));
	object = malloc(1024 + (fit + 1) * (len + 64));
	ck_assert_ptr_nonnull(object);
	ck_assert_uint_lt(fit, LIMIT_SANDBOX_RULES);
	for (many = fit; many <= fit + 1; many++) {
		p = object + sprintf(object, RESTRICTED);
		for (n = 0; n < many; n++)
			p += sprintf(p, "%s{'path':{'type':'path','path':"
			    "'file:///%.*s%04zu'},'access':'read'}",
			    n > 0 ? "," : "", (int)len - 5, name, n);
		strcpy(p, "]}}" LEVEL);
		if (many == fit) {
			ck_assert_int_ne(explain(object, &nowhere)[0], '!');
			ck_assert_uint_eq(plan.n, fit);
		} else {
			check_text(object, &nowhere, "!too many rules");
		}
	}
	free(object);
}
END_TEST

START_TEST(test_limits)
{
	char	*object, *p, name[PATH_MAX];
	size_t	 size = 1024 + (LIMIT_SANDBOX_RULES + 1) * 128, i;

	object = malloc(size);
	ck_assert_ptr_nonnull(object);
	for (i = 0; i < 2; i++) {
		size_t	 n, many = LIMIT_SANDBOX_RULES + i;

		p = object + sprintf(object, RESTRICTED);
		for (n = 0; n < many; n++)
			p += sprintf(p, "%s{'path':{'type':'path','path':"
			    "'file:///%zu'},'access':'read'}",
			    n > 0 ? "," : "", n);
		strcpy(p, "]}}" LEVEL);
		if (i == 0) {
			ck_assert_int_ne(explain(object, &nowhere)[0], '!');
			ck_assert_uint_eq(plan.n, LIMIT_SANDBOX_RULES);
		} else {
			check_text(object, &nowhere, "!too many rules");
		}
	}
	/* 2 to the 6th, and the 7th; nested as deep as may be, and deeper */
	ck_assert_int_ne(explain(MANAGED(GLOB("{a,b}{a,b}{a,b}{a,b}{a,b}"
	    "{a,b}*")) IN_W, &nowhere)[0], '!');
	ck_assert_uint_eq(plan.n, 64);
	check_text(MANAGED(GLOB("{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}")) IN_W,
	    &nowhere, "!too many alternatives");
	check_text(MANAGED(GLOB("{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{{a}}}}}}}"
	    "}}}}}}}}}}}}}}}}}}}}}}}}}}}")) IN_W, &nowhere,
	    "!too many alternatives");
	/* names that fit alone, but not behind a folder */
	memset(name, 'a', sizeof(name));
	name[PATH_MAX - 8] = '\0';
	snprintf(object, size, "{'permissions':{'type':'managed',"
	    "'network':'enabled','file_system':{'type':'restricted',"
	    "'entries':[{'path':{'type':'special','value':{'kind':"
	    "'project_roots','subpath':'%s'}},'access':'read'}]}},"
	    "'workspaceRoots':['file:///longer'" "]" LEVEL, name);
	check_text(object, &nowhere, "!subpath");
	snprintf(object, size, MANAGED(GLOB("*%s")) ",'cwd':'file:///longer'"
	    LEVEL, name);
	check_text(object, &nowhere, "!malformed");
	snprintf(object, size, MANAGED("{'path':{'type':'path','path':"
	    "'file:///%s'},'access':'write'}") LEVEL, name);
	check_text(object, &nowhere, "!too long");
	free(object);
}
END_TEST

/* --- plan_decide(), and the rules themselves --- */

START_TEST(test_decide)
{
	static const struct {
		const char	*path;
		enum plan_kind	 kind;
	} cases[] = {
		{ "/", PLAN_DENY }, { "/etc", PLAN_READ },
		{ "/etc/passwd", PLAN_READ }, { "/etcetera", PLAN_DENY },
		{ "/w", PLAN_WRITE }, { "/w/a", PLAN_WRITE },
		{ "/w/.git", PLAN_READ }, { "/w/.git/config", PLAN_READ },
		{ "/w/.gitignore", PLAN_WRITE }, { "/w/a/.git", PLAN_WRITE },
		{ "/w/s", PLAN_DENY }, { "/w/s/x", PLAN_DENY },
		{ "/w/s/open/x", PLAN_READ }, { "/w/a/b.env", PLAN_HIDE },
		{ "/w/.git/b.env", PLAN_HIDE }, { "/v", PLAN_DENY },
	};
	size_t	 i;

	ck_assert_int_ne(explain(MANAGED(SPECIAL("minimal", "read") ","
	    SPECIAL("project_roots", "write") "," SUB("s", "deny") ","
	    SUB("s/open", "read") "," GLOB("**/*.env")) IN_W, &nowhere)[0],
	    '!');
	for (i = 0; i < COUNT(cases); i++)
		ck_assert_msg(plan_decide(&plan, cases[i].path) ==
		    cases[i].kind, "%s", cases[i].path);
}
END_TEST

START_TEST(test_flags)
{
	static const struct {
		const char	*object;
		bool		 reads, writes, restricts;
	} cases[] = {
		{ "{'type':'danger-full-access'}", true, true, false },
		{ "{'type':'external-sandbox'}", true, true, true },
		{ "{'type':'read-only','network_access':true}", true, false,
		    true },
		{ MANAGED("") LEVEL, false, false, true },
		{ MANAGED(SPECIAL("root", "write")) LEVEL, true, true, false },
		{ MANAGED(SPECIAL("root", "write") "," AT("/a", "read"))
		    LEVEL, true, false, true },
		{ MANAGED(SPECIAL("root", "write") "," AT("/a", "deny"))
		    LEVEL, false, false, true },
		{ MANAGED(SPECIAL("root", "write") "," GLOB("/a/*"))
		    LEVEL, false, false, true },
		{ MANAGED(AT("/a", "read")) LEVEL, false, false, true },
	};
	struct plan	 none = { .n = 0 };
	size_t		 i;

	for (i = 0; i < COUNT(cases); i++) {
		ck_assert_int_ne(explain(cases[i].object, &nowhere)[0], '!');
		ck_assert_msg(plan.reads_all == cases[i].reads &&
		    plan.writes_all == cases[i].writes &&
		    plan_restricts(&plan) == cases[i].restricts, "%s",
		    cases[i].object);
	}
	plan_free(&none);
	plan_free(&none);
	ck_assert_int_eq(plan_decide(&none, "/"), PLAN_DENY);
}
END_TEST

/*
 * What only adds rights is for what exists; what takes some away says whether
 * it is, also where a folder in between may be missing.
 */
START_TEST(test_if_exists)
{
	ck_assert_int_ne(explain(MANAGED(SPECIAL("root", "read") ","
	    AT("/w", "write") "," AT("/w/a", "deny") "," AT("/w/a/b", "read"))
	    LEVEL, &nowhere)[0], '!');
	ck_assert_uint_eq(plan.n, 8);
	ck_assert(plan.rules[0].if_exists && plan.rules[1].if_exists);
	ck_assert_str_eq(plan.rules[6].path, "/w/a");
	ck_assert(!plan.rules[6].if_exists && plan.rules[7].if_exists);
	ck_assert_str_eq(explain(MANAGED(SPECIAL("root", "write") ","
	    "{'path':{'type':'path','path':'file:///a'},'access':'deny',"
	    "'missing_path_behavior':'skip'}," AT("/a/b", "read")) LEVEL,
	    &nowhere), "write /\ndeny /a if-exists\nread /a/b\n" ON);
	ck_assert(!plan.rules[2].if_exists);
}
END_TEST

/* What is a guard, or says again what is said around it, gives nothing. */
START_TEST(test_gives)
{
	static const struct {
		const char	*path;
		bool		 gives;
	} cases[] = {
		{ "/", true }, { "/h", false }, { "/h/w", true },
		{ "/h/w/.agents", false }, { "/h/w/.aws", false },
		{ "/h/w/.codex", false }, { "/h/w/.git", false },
		{ "/h/w/a", false }, { "/h/w/a/b", false },
		{ "/h/w/a/c", true }, { "/h/w/d", false },
		{ "/h/w/d/e", true }, { "/h/w/*", false },
	};
	size_t	 i, k;

	ck_assert_int_ne(explain(MANAGED(SPECIAL("root", "read") ","
	    AT("/h", "deny") "," AT("/h/w", "write") "," AT("/h/w/a", "read")
	    "," AT("/h/w/a/b", "read") "," AT("/h/w/a/c", "write") ","
	    AT("/h/w/d", "deny") "," AT("/h/w/d/e", "read") "," GLOB("/h/w/*"))
	    LEVEL, &nowhere)[0], '!');
	/* /h/w/a/c is writable: it has its own guards. */
	ck_assert_uint_eq(plan.n, COUNT(cases) + 4);
	for (i = 0; i < plan.n; i++) {
		for (k = 0; k < COUNT(cases) &&
		    strcmp(cases[k].path, plan.rules[i].path) != 0; k++)
			;
		ck_assert_msg(plan_rule_gives(&plan, i) ==
		    (k < COUNT(cases) && cases[k].gives), "%s",
		    plan.rules[i].path);
	}
}
END_TEST

/* --- any entries: as one by one, in whatever order --- */

#define ENTRIES	8

struct some_entry {
	enum plan_kind	 kind;
	bool		 skip;
	char		 path[16];
};

static const char	*const access_words[] = { "read", "write", "deny" };

/* /, /a to /b/b/b, and some protected ones. */
static void
some_path(char *path)
{
	static const char	*const names[] = { "a", "b", ".git" };
	int			 i, n = rand() % 4;

	strcpy(path, n == 0 ? "/" : "");
	for (i = 0; i < n; i++) {
		strcat(path, "/");
		strcat(path, names[rand() % 8 == 0 ? 2 : rand() % 2]);
	}
}

static bool
is_at_or_below(const char *folder, const char *path)
{
	size_t	 n = strcmp(folder, "/") == 0 ? 0 : strlen(folder);

	return strncmp(folder, path, n) == 0 &&
	    (path[n] == '/' || path[n] == '\0');
}

static const struct some_entry *
naive_at(const struct some_entry *e, const char *path)
{
	const struct some_entry	*best = NULL;
	int			 i;

	for (i = 0; i < ENTRIES; i++)
		if (strcmp(e[i].path, path) == 0 &&
		    (best == NULL || e[i].kind > best->kind))
			best = &e[i];
	return best;
}

/* From the path upwards, what is there, or what is protected there. */
static enum plan_kind
naive(const struct some_entry *e, const char *path)
{
	const struct some_entry	*here, *above;
	char			 at[64];
	char			*slash;

	for (strcpy(at, path);;) {
		if ((here = naive_at(e, at)) != NULL)
			return here->kind;
		if (strcmp(at, "/") == 0)
			return PLAN_DENY;
		slash = strrchr(at, '/');
		here = naive_at(e, "/");
		if (strcmp(slash, "/.git") == 0 && slash > at &&
		    (here == NULL || here->kind != PLAN_WRITE)) {
			*slash = '\0';
			above = naive_at(e, at);
			if (above != NULL && above->kind == PLAN_WRITE)
				return PLAN_READ;
		}
		slash[slash == at] = '\0';
	}
}

static const char *
explain_entries(const struct some_entry *e, char *object, size_t size)
{
	char	*p = object, *end = object + size;
	int	 i;

	p += snprintf(p, size, "{'permissions':{'type':'managed','network':"
	    "'enabled','file_system':{'type':'restricted','entries':[");
	for (i = 0; i < ENTRIES; i++)
		p += snprintf(p, (size_t)(end - p), "%s{'path':{'type':"
		    "'path','path':'file://%s'},'access':'%s'%s}",
		    i > 0 ? "," : "", e[i].path, access_words[e[i].kind],
		    e[i].skip ? ",'missing_path_behavior':'skip'" : "");
	snprintf(p, (size_t)(end - p), "]}}" LEVEL);
	return explain(object, &nowhere);
}

static void
check_rules(void)
{
	size_t	 i;

	for (i = 1; i < plan.n; i++) {
		ck_assert_str_ne(plan.rules[i].path, plan.rules[i - 1].path);
		/* a folder before what is in it */
		ck_assert(!is_at_or_below(plan.rules[i].path,
		    plan.rules[i - 1].path));
	}
}

START_TEST(test_any)
{
	struct some_entry	 e[ENTRIES], swap;
	char			 object[4096], first[4096], path[16];
	int			 round, i, k;

	srand((unsigned)_i);
	for (round = 0; round < 200; round++) {
		for (i = 0; i < ENTRIES; i++) {
			e[i].kind = (enum plan_kind)(rand() % 3);
			e[i].skip = rand() % 2;
			some_path(e[i].path);
		}
		snprintf(first, sizeof(first), "%s", explain_entries(e,
		    object, sizeof(object)));
		ck_assert_int_ne(first[0], '!');
		check_rules();
		for (k = 0; k < 60; k++) {
			some_path(path);
			ck_assert_msg(plan_decide(&plan, path) ==
			    naive(e, path), "%s in %s", path, object);
		}
		for (i = ENTRIES - 1; i > 0; i--) {
			k = rand() % (i + 1);
			swap = e[i];
			e[i] = e[k];
			e[k] = swap;
		}
		ck_assert_str_eq(explain_entries(e, object, sizeof(object)),
		    first);
	}
}
END_TEST

/* A plan that is cut short would be another one, which a holder has perhaps. */
START_TEST(test_print_no_room)
{
	struct buf	 small;
	size_t		 whole, room;

	explain(MANAGED(ROOT "," AT("/w", "write") "," GLOB("/**/*.pem")) IN_W,
	    &nowhere);
	whole = out.len - 1;
	for (room = 0; room <= whole; room++) {
		buf_init(&small, room);
		ck_assert_int_eq(plan_print(&plan, &small),
		    room < whole ? -1 : 0);
		buf_fini(&small);
	}
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("plan");
	TCase	*t = tcase_create("plan");
	SRunner	*sr = srunner_create(s);
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_shapes, 0, (int)COUNT(shapes));
	tcase_add_test(t, test_client);
	tcase_add_test(t, test_folders);
	tcase_add_test(t, test_no_folder);
	tcase_add_test(t, test_native);
	tcase_add_test(t, test_limits);
	tcase_add_test(t, test_print_no_room);
	tcase_add_test(t, test_long_paths);
	tcase_add_test(t, test_decide);
	tcase_add_test(t, test_flags);
	tcase_add_test(t, test_if_exists);
	tcase_add_test(t, test_gives);
	tcase_add_loop_test(t, test_any, 0, 10);
	suite_add_tcase(s, t);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
