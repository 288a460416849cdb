/*
 * master/execsrvctl/ctl_client.c: what of a command line becomes which command
 * with which options, and every refusal.  The commands are ours.
 */
#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/execsrvctl/chooser.h"
#include "master/execsrvctl/control.h"
#include "master/execsrvctl/cp/cp.h"
#include "master/execsrvctl/ctl_client.h"
#include "master/execsrvctl/fleet/fleet.h"
#include "master/execsrvctl/forward/forward.h"
#include "master/execsrvctl/run/fanout.h"
#include "master/execsrvctl/run/run.h"
#include "t/unit/did_help.h"
#include "t/unit/fault.h"
#include "t/unit/said_help.h"

static bool			 is_found, is_connected, is_carried;
static const char		*told, *hub_token, *own_token, *hub_ca;
static int			 asked;		/* what the daemon answers */
static const char		*id;		/* of a session; or NULL */

/* --- in the place of the commands --- */

int
chooser_begin(struct chooser *c)
{
	c->how.client_name = "me";
	return 0;
}

void
chooser_end(struct chooser *c)
{
	ck_assert_str_eq(c->how.client_name, "me");
	did("end");
}

const char *
chooser_told(const struct chooser *c, const char *name)
{
	ck_assert(c != NULL && name == NULL);
	return told;
}

int
chooser_connect(struct chooser *c, const char *name)
{
	did("connect %s", name);
	if (is_connected)
		c->x = (struct execsrv *)8;
	return is_connected ? 0 : -1;
}

static const char *
or_none(const char *text)
{
	return text != NULL ? text : "-";
}

int
chooser_find(const struct chooser *c, const char *name, struct server *s)
{
	did("find %s dir %s url %s token %s ca %s", or_none(name),
	    or_none(c->dir), or_none(c->url), or_none(c->token_file),
	    or_none(c->ca_file));
	memset(s, 0, sizeof(*s));
	s->url = strdup(name != NULL ? name : "ws:d");
	return is_found && s->url != NULL && (own_token == NULL ||
	    server_set_token(s, own_token) == 0) ? 0 : -1;
}

static void
did_how(const struct execsrv_options *how)
{
	did("how %s recover %d silence %d%s", how->client_name,
	    how->recover_ms, how->silence_ms, how->take ? " take" : "");
}

static void
did_list(const char *name, const char *const *list)
{
	for (; list != NULL && *list != NULL; list++)
		did("%s %s", name, *list);
}

static void
did_run(const struct run_options *o)
{
	did("run %s session %s process %s cwd %s%s%s sandbox %d %d",
	    or_none(o->url), or_none(o->session), or_none(o->process),
	    or_none(o->cwd), o->tty ? " tty" : "", o->detach ? " detach" : "",
	    o->has_sandbox, (int)o->sandbox);
	did_how(&o->how);
	did_list("arg", o->argv);
	did_list("env", o->env);
	did_list("domain", o->allow_domains);
}

const char **
run_defaults(struct run_options *o, const struct server *s)
{
	ck_assert_str_eq(o->url, s->url);
	errno = ENOMEM;
	return fault_error() == 0 ? calloc(1, sizeof(char *)) : NULL;
}

int
run_command(const struct run_options *o)
{
	did_run(o);
	return 42;
}

char *
fanout_name(const char *text)
{
	return strdup(text);
}

void
fanout_free_targets(struct fanout_options *o)
{
	size_t	 i;

	for (i = 0; i < o->n; i++) {
		free(o->targets[i].name);
		server_fini(&o->targets[i].server);
	}
	free(o->targets);
}

int
fanout_command(const struct fanout_options *o)
{
	size_t	 i;

	for (i = 0; i < o->n; i++)
		did("on %s url %s token %s ca %s", o->targets[i].name,
		    o->targets[i].server.url,
		    or_none(o->targets[i].server.token),
		    or_none(o->targets[i].server.ca_file));
	did("parallel %zu fail %zu", o->parallel, o->max_fail);
	did_run(o->run);
	return 43;
}

int
fleet_names(const struct chooser *which, const char *label,
    struct fleet_names *out)
{
	static char	*both[] = { NULL, NULL };

	did("fleet %s %s", or_none(which->url), or_none(label));
	memset(out, 0, sizeof(*out));
	both[0] = (char *)(uintptr_t)"e1";
	both[1] = (char *)(uintptr_t)"e2";
	out->name = both;
	out->n = 2;
	out->hub.url = (char *)(uintptr_t)"https://h";
	out->hub.token = (char *)(uintptr_t)hub_token;
	out->hub.ca_file = (char *)(uintptr_t)hub_ca;
	return is_found ? EXIT_OK : EXIT_OTHER;
}

void
fleet_names_fini(struct fleet_names *f)
{
	ck_assert_uint_eq(f->n, 2);
	did("forget names");
}

int
cp_command(const struct cp_options *o)
{
	size_t	 i;

	did("cp %s%s%s%s%s%s%s", o->url, o->is_upload ? " up" : "",
	    o->is_piped ? " pipe" : "", o->preserve ? " preserve" : "",
	    o->quiet ? " quiet" : "", o->recursive ? " recursive" : "",
	    o->go_on ? " continue" : "");
	for (i = 0; i < o->n; i++)
		did("from %s", o->from[i]);
	did("to %s", o->to);
	did_how(&o->how);
	return 44;
}

int
forward_command(const struct forward_options *o)
{
	char	 from[FORWARD_TEXT], to[FORWARD_TEXT];
	size_t	 i;

	did("forward %s", o->url);
	for (i = 0; i < o->n; i++) {
		forward_end_text(&o->spec[i].from, from);
		forward_end_text(&o->spec[i].to, to);
		did("%s %s to %s", o->spec[i].is_there ? "there" : "here",
		    from, to);
	}
	did_how(&o->how);
	return 45;
}

int
execsrv_carry(const char *url, const struct execsrv_options *o, int in,
    int out, struct execsrv_error *e)
{
	struct sigaction	 sa;

	ck_assert(in == STDIN_FILENO && out == STDOUT_FILENO);
	ck_assert_int_eq(sigaction(SIGPIPE, NULL, &sa), 0);
	ck_assert(sa.sa_handler == SIG_IGN);
	did("carry %s", url);
	did_how(o);
	strcpy(e->text, "no carrier");
	return is_carried ? 0 : -1;
}

int
control_ask(const struct control_request *q, struct table **t_out,
    int *stream_out, struct control_error *e)
{
	static char			 name[] = "id", pid[] = "pid";
	static char *const		 names[] = { name, pid };
	static const enum table_kind	 kinds[2] = { TABLE_TEXT };
	char				*cells[2] = { (char *)(uintptr_t)id,
					    pid };

	ck_assert_ptr_null(stream_out);
	did("ask %s%s %s %s of %zu", or_none(q->dir), q->x != NULL ? " it" : "",
	    q->command, q->arg[0], q->narg);
	fault_end();
	ck_assert_ptr_nonnull(*t_out = table_new(2, names, kinds));
	if (id != NULL)
		ck_assert_int_eq(table_add(*t_out, 2, cells), 0);
	fault_begin();
	strcpy(e->text, "no such session");
	return asked;
}

void
control_complain(const struct control_error *e)
{
	did("complain %s", e->text);
}

/* --- a command line --- */

static void
setup(void)
{
	is_found = is_connected = is_carried = true;
	told = hub_token = own_token = hub_ca = NULL;
	asked = EXIT_OK;
	id = "i";
	ck_assert_int_eq(unsetenv("UNSET"), 0);
	ck_assert_int_eq(setenv("HERE", "h", 1), 0);
	ck_assert_int_eq(setenv("TERM", "vt", 1), 0);
	did_forget();
	said_begin();
}

/* Arguments are parted by "|". */
static int
command(const char *line)
{
	char	 copy[400], *rest = copy, *argv[32] = { NULL };
	int	 argc = 0;

	ck_assert_uint_lt(strlen(line), sizeof(copy));
	strcpy(copy, line);
	while (rest != NULL && argc < 31)
		argv[argc++] = strsep(&rest, "|");
	return ctl_client_command("D", true, argc, argv);
}

#define FIND(name)	"find " name " dir D url - token - ca -; "
#define HOW		"how me recover 0 silence 0"
#define RUN(what)	"run ws:d session - process - cwd -" what \
			" sandbox 0 0; " HOW
#define END		"; end"

/* It is done, this way. */
static void
ck_done(const char *line, int status, const char *what)
{
	ck_assert_int_eq(command(line), status);
	ck_said("", "");
	ck_did(what);
}

/* It is not, for that reason. */
static void
ck_refused(const char *line, int status, const char *why, const char *what)
{
	ck_assert_int_eq(command(line), status);
	ck_said(why, "");
	ck_did(what);
}

START_TEST(test_run)
{
	ck_done("run|a|-b|--c", 42, FIND("-") RUN("") "; arg a; arg -b; "
	    "arg --c" END);
	ck_done("run|-i|--|-x", 42, FIND("-") RUN("") "; arg -x" END);
	ck_done("run|-C|/c|-d|-t|--sandbox|read-only|--allow-domain|a.b|"
	    "--allow-domain|c.d|-e|A=1|-e|HERE|-e|UNSET|-e|B=|x", 42,
	    FIND("-") "run ws:d session - process - cwd /c tty detach sandbox "
	    "1 1; " HOW "; arg x; env TERM=vt; env A=1; env HERE=h; env B=; "
	    "domain a.b; domain c.d" END);
	ck_done("run|-w|/w|--sandbox|none|x", 42, FIND("-") "run ws:d session "
	    "- process - cwd /w sandbox 1 0; " HOW "; arg x" END);
	ck_done("run|-R|E|-u|U|--token-file|T|--ca-file|F|x", 42, "find - dir "
	    "E url U token T ca F; " RUN("") "; arg x" END);
	ck_done("run|--patience|0|--silence|1|x", 42, FIND("-") "run ws:d "
	    "session - process - cwd - sandbox 0 0; how me recover -1 silence "
	    "1000; arg x" END);
	ck_done("run|--patience|86400|--silence|86400|x", 42, FIND("-")
	    "run ws:d session - process - cwd - sandbox 0 0; how me recover "
	    "86400000 silence 86400000; arg x" END);
	is_found = false;
	ck_done("run|x", 125, FIND("-") "end");
	ck_assert_int_eq(unsetenv("TERM"), 0);
	is_found = true;
	ck_done("run|-t|x", 42, FIND("-") RUN(" tty") "; arg x" END);
}
END_TEST

#define USAGE_RUN	"usage: execsrvctl run [OPTION...] [--] COMMAND "\
			"[ARG...]\n"
#define SECONDS		"a number of seconds "

static const char	*const values[][2] = {
	{ "run|-e||x", "--env : expected NAME or NAME=VALUE" },
	{ "run|-e|=a|x", "--env =a: expected NAME or NAME=VALUE" },
	{ "run|--max-fail|x|x", "--max-fail x: expected a number of servers, "
	    "or of percent of them, such as 3 or 5%" },
	{ "run|--max-fail|101%|x", "--max-fail 101%: expected a number of "
	    "servers, or of percent of them, such as 3 or 5%" },
	{ "run|--max-fail|2147483648|x", "--max-fail 2147483648: expected a "
	    "number of servers, or of percent of them, such as 3 or 5%" },
	{ "run|--parallel|0|x", "--parallel 0: expected a number from 1 to "
	    "1000" },
	{ "run|--parallel|1001|x", "--parallel 1001: expected a number from 1 "
	    "to 1000" },
	{ "run|--parallel| 1|x", "--parallel  1: expected a number from 1 to "
	    "1000" },
	{ "run|--parallel|1%|x", "--parallel 1%: expected a number from 1 to "
	    "1000" },
	{ "run|--parallel||x", "--parallel : expected a number from 1 to "
	    "1000" },
	{ "run|--parallel|:|x", "--parallel :: expected a number from 1 to "
	    "1000" },
	{ "run|--parallel|-1|x", "--parallel -1: expected a number from 1 to "
	    "1000" },
	{ "run|--parallel|99999999999999999999|x", "--parallel "
	    "99999999999999999999: expected a number from 1 to 1000" },
	{ "run|--patience|86401|x", "--patience 86401: expected " SECONDS
	    "up to 86400" },
	{ "run|--patience|-1|x", "--patience -1: expected " SECONDS
	    "up to 86400" },
	{ "run|--silence|0|x", "--silence 0: expected " SECONDS
	    "from 1 to 86400" },
	{ "run|--silence|86401|x", "--silence 86401: expected " SECONDS
	    "from 1 to 86400" },
	{ "run|--sandbox|no|x", "--sandbox no: expected read-only, "
	    "workspace-write or none" },
	{ "forward|-L|x", "--local x: expected [BIND:]PORT:HOST:PORT, where a "
	    "path may stand for address and port" },
	{ "forward|-R|x", "--remote x: expected [BIND:]PORT:HOST:PORT, where "
	    "a path may stand for address and port" },
};

START_TEST(test_values)
{
	char	 why[200];

	snprintf(why, sizeof(why), "execsrvctl: %s\n", values[_i][1]);
	ck_refused(values[_i][0], 125, why, "end");
}
END_TEST

START_TEST(test_number_of_arguments)
{
	ck_refused("run", 125, "execsrvctl: run: a command is missing\n"
	    USAGE_RUN, "end");
	ck_refused("attach|--take", 125, "execsrvctl: attach: an argument is "
	    "missing\nusage: execsrvctl attach [OPTION...] SESSION[/PROCESS]"
	    "\n", "end");
	ck_refused("attach|a|b", 125, "execsrvctl: attach: too many arguments"
	    "\nusage: execsrvctl attach [OPTION...] SESSION[/PROCESS]\n",
	    "end");
	ck_refused("cp|a", 2, "execsrvctl: cp: an argument is missing\n"
	    "usage: execsrvctl cp [OPTION...] SRC... DST\n", "end");
	ck_refused("shell|a", 125, "execsrvctl: shell: too many arguments\n"
	    "usage: execsrvctl shell [OPTION...]\n", "end");
	ck_refused("stdio|a|b", 2, "execsrvctl: stdio: too many arguments\n"
	    "usage: execsrvctl stdio [OPTION...] [URL|NAME]\n", "end");
	ck_refused("forward|a", 125, "execsrvctl: forward: too many arguments"
	    "\nusage: execsrvctl forward [OPTION...] -L FROM:TO | -R FROM:TO "
	    "...\n", "end");
	ck_refused("forward", 125, "execsrvctl: forward: -L or -R is missing\n"
	    "usage: execsrvctl forward [OPTION...] -L FROM:TO | -R FROM:TO "
	    "...\n", "end");
}
END_TEST

/* Options of other commands are none of this one. */
START_TEST(test_options)
{
	char	 name[] = "run", arg[] = "x", *argv[] = { name, arg, NULL };

	ck_refused("run|--what|x", 125, "execsrvctl: run: unrecognized option "
	    "'--what'\n" USAGE_RUN, "end");
	ck_refused("run|-L|1:h:2", 125, "execsrvctl: run: invalid option -- "
	    "'L'\n" USAGE_RUN, "end");
	ck_refused("cp|-u", 2, "execsrvctl: cp: option requires an argument "
	    "-- 'u'\nusage: execsrvctl cp [OPTION...] SRC... DST\n", "end");
	ck_assert_int_eq(ctl_client_command("D", false, 2, argv), 125);
	ck_said("execsrvctl: run: it takes no --json, -q, -f and --wait "
	    "before its name\n" USAGE_RUN, "");
	strcpy(name, "cp");
	ck_assert_int_eq(ctl_client_command("D", false, 2, argv), 2);
	ck_said("execsrvctl: cp: it takes no --json, -q, -f and --wait before "
	    "its name\nusage: execsrvctl cp [OPTION...] SRC... DST\n", "");
	ck_did("");
	ck_assert_str_eq(argv[0], "cp");
}
END_TEST

START_TEST(test_help)
{
	ck_assert_int_eq(command("attach|-h"), 0);
	ck_said("", "usage: execsrvctl attach [OPTION...] SESSION[/PROCESS]\n"
	    "\n"
	    "      --ca-file FILE             file with the certificates to "
	    "trust instead of the system's\n"
	    "  -h, --help                     print this help\n"
	    "      --patience SECONDS         how long to try to reconnect "
	    "after a connection is lost (25)\n"
	    "  -R, --runtime-dir DIR          run directory of the daemon "
	    "whose listener is used\n"
	    "      --silence SECONDS          silence of the server after "
	    "which the connection counts as lost (35)\n"
	    "      --take                     take the session from the "
	    "client that it is attached to\n"
	    "      --token-file FILE          file with the bearer token for "
	    "the server\n"
	    "  -u, --url URL|NAME             server (ws, wss, unix, remote), "
	    "or a name in the file of hosts\n");
	ck_did("end");
}
END_TEST

/* --- several servers --- */

#define ON(name)	"on " name " url " name " token - ca -; "
#define RUN_ON		"run - session - process - cwd - sandbox 0 0; " HOW

START_TEST(test_on)
{
	ck_done("run|--on|a,b|--on|c|x", 43, FIND("a") FIND("b") FIND("c")
	    ON("a") ON("b") ON("c") "parallel 50 fail 3; " RUN_ON "; arg x"
	    END);
	ck_done("run|--on|a,b,c|--parallel|1|--max-fail|1|x", 43, FIND("a")
	    FIND("b") FIND("c") ON("a") ON("b") ON("c") "parallel 1 fail 1; "
	    RUN_ON "; arg x" END);
	ck_done("run|--on|a,b,c|--parallel|1000|--max-fail|67%|x", 43,
	    FIND("a") FIND("b") FIND("c") ON("a") ON("b") ON("c")
	    "parallel 1000 fail 2; " RUN_ON "; arg x" END);
	ck_done("run|--on|a|--max-fail|100%|x", 43, FIND("a") ON("a")
	    "parallel 50 fail 1; " RUN_ON "; arg x" END);
	ck_done("run|--on|a|--max-fail|2147483647|-e|A=1|--silence|2|x", 43,
	    FIND("a") ON("a") "parallel 50 fail 2147483647; run - session - "
	    "process - cwd - sandbox 0 0; how me recover 0 silence 2000; "
	    "arg x; env A=1" END);
	ck_refused("run|--on|a,,b|x", 125, "execsrvctl: --on: a server is "
	    "missing\n", FIND("a") "end");
	ck_refused("run|--on||x", 125, "execsrvctl: --on: a server is "
	    "missing\n", "end");
	is_found = false;
	ck_done("run|--on|a,b|--on|c|x", 125, FIND("a") "end");
}
END_TEST

#define NOT_WITH	"execsrvctl: --all, --on: not with --detach or "\
			"--tty; --url is of the hub of --all\n"

START_TEST(test_on_with)
{
	ck_refused("run|--on|a|-t|x", 125, NOT_WITH, "end");
	ck_refused("run|--on|a|-d|x", 125, NOT_WITH, "end");
	ck_refused("run|--on|a|-u|U|x", 125, NOT_WITH, "end");
	ck_refused("run|--all|-t|x", 125, NOT_WITH, "end");
	ck_refused("run|--on|a|-l|k=v|x", 125, "execsrvctl: --label: only "
	    "with --all\n", "end");
}
END_TEST

#define ENV(e)		"remote:" e "@https://h"
#define FIND_URL(e)	"find " e " dir D url U token - ca -; "

START_TEST(test_all)
{
	ck_done("run|--all|x", 43, "fleet - -; " FIND(ENV("e1"))
	    FIND(ENV("e2")) "forget names; " ON(ENV("e1")) ON(ENV("e2"))
	    "parallel 50 fail 2; " RUN_ON "; arg x" END);
	hub_token = "t";
	hub_ca = "f";
	ck_done("run|--all|-u|U|-l|k=v|--on|a|x", 43, "fleet U k=v; "
	    FIND_URL(ENV("e1")) FIND_URL(ENV("e2")) "forget names; "
	    FIND_URL("a") "on " ENV("e1") " url " ENV("e1") " token t ca f; "
	    "on " ENV("e2") " url " ENV("e2") " token t ca f; " ON("a")
	    "parallel 50 fail 3; " RUN_ON "; arg x" END);
	/* Its own token goes first. */
	own_token = "o";
	ck_assert_int_eq(command("run|--all|x"), 43);
	ck_assert(did_begins("fleet - -; " FIND(ENV("e1")) FIND(ENV("e2"))
	    "forget names; on " ENV("e1") " url " ENV("e1")
	    " token o ca f; "));
	did_forget();
	is_found = false;
	ck_done("run|--all|--on|a|x", 125, "fleet - -; forget names; end");
}
END_TEST

/* --- the others --- */

#define UUID	"01234567-89ab-cdef-0123-456789abcdef"

START_TEST(test_attach)
{
	ck_done("attach|" UUID "/p/q", 42, FIND("-") "run ws:d session " UUID
	    " process p/q cwd - sandbox 0 0; " HOW END);
	ck_done("attach|--take|7", 42, "ask D show 7 of 1; " FIND("-")
	    "run ws:d session i process - cwd - sandbox 0 0; " HOW " take"
	    END);
	told = "U";
	ck_done("attach|7/", 42, "connect U; ask D it show 7 of 1; " FIND("-")
	    "run ws:d session i process  cwd - sandbox 0 0; " HOW END);
	/* One character less than a whole id. */
	id = UUID;
	ck_done("attach|" "1234567-89ab-cdef-0123-456789abcdef", 42,
	    "connect U; ask D it show 1234567-89ab-cdef-0123-456789abcdef of "
	    "1; " FIND("-") "run ws:d session " UUID " process - cwd - "
	    "sandbox 0 0; " HOW END);
	is_connected = false;
	ck_done("attach|7", 125, "connect U; end");
	told = NULL;
	asked = EXIT_UNKNOWN;
	ck_done("attach|7", 125, "ask D show 7 of 1; complain no such session"
	    END);
	asked = EXIT_OK;
	id = NULL;
	ck_refused("attach|7", 125, "execsrvctl: 7: the daemon did not send "
	    "the session id\n", "ask D show 7 of 1" END);
}
END_TEST

START_TEST(test_cp)
{
	ck_done("cp|a|b|:c", 44, FIND("-") "cp ws:d up; from a; from b; to c; "
	    HOW END);
	ck_done("cp|-c|-r|-p|-q|--silence|3|n:a|b", 44, FIND("n") "cp n "
	    "preserve quiet recursive continue; from a; to b; how me recover "
	    "0 silence 3000" END);
	ck_done("cp|-|n:a", 44, FIND("n") "cp n up pipe; from -; to a; " HOW
	    END);
	ck_refused("cp|a|b", 2, "execsrvctl: cp: source or destination must "
	    "be on a server: NAME:PATH, or :PATH\n", "end");
	is_found = false;
	ck_done("cp|a|:c", 1, FIND("-") "end");
}
END_TEST

START_TEST(test_shell)
{
	int	 fd;

	/* Not on a terminal. */
	ck_assert_int_ne(fd = dup(STDIN_FILENO), -1);
	ck_assert_ptr_nonnull(freopen("/dev/null", "r", stdin));
	ck_done("shell|-e|A=1", 42, FIND("-") RUN("") "; env A=1" END);
	ck_assert_int_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_int_ne(fd = getpt(), -1);
	ck_assert_int_eq(dup2(fd, STDIN_FILENO), STDIN_FILENO);
	ck_done("shell|-C|/c", 42, FIND("-") "run ws:d session - process - "
	    "cwd /c tty sandbox 0 0; " HOW "; env TERM=vt" END);
	ck_assert_int_eq(close(fd), 0);
}
END_TEST

START_TEST(test_stdio)
{
	own_token = "o";
	ck_done("stdio", 0, FIND("-") "carry ws:d; " HOW END);
	ck_done("stdio|--patience|2|n", 0, FIND("n") "carry n; how me recover "
	    "2000 silence 0" END);
	is_carried = false;
	ck_refused("stdio", 1, "execsrvctl: no carrier\n", FIND("-")
	    "carry ws:d; " HOW END);
	is_found = false;
	ck_done("stdio", 1, FIND("-") "end");
}
END_TEST

START_TEST(test_forward)
{
	ck_done("forward|-L|1:h:2|-R|3:g:4|-L|/s:i:5|-u|U", 45, "find - dir D "
	    "url U token - ca -; forward ws:d; here localhost:1 to h:2; there "
	    "localhost:3 to g:4; here /s to i:5; " HOW END);
	is_found = false;
	ck_done("forward|-L|1:h:2", 125, FIND("-") "end");
}
END_TEST

/* --- faults --- */

static char	 reasons[1000];		/* each once */

/*
 * Whether it goes well; if it does not it ends with this status.  After all
 * faults: for these reasons.
 */
static bool
goes_well(const char *line, int well, int badly, const char *why)
{
	static unsigned	 runs;
	int		 status;

	told = id = "i";
	asked = EXIT_OK;
	is_found = is_connected = is_carried = true;
	hub_token = hub_ca = "t";
	said_begin();
	fault_begin();
	status = command(line);
	fault_end();
	did_forget();
	said_end();
	ck_assert(status == well || status == badly);
	if (strstr(reasons, said_error()) == NULL)
		strcat(reasons, said_error());
	if (fault_error() == 0 && runs++ > 0)
		ck_assert_str_eq(reasons, why);
	return status == well;
}

#define LACKS(what)	"execsrvctl: " what ": Cannot allocate memory\n"

static bool
all(void)
{
	return goes_well("run|--all|--on|a,b|-e|A=1|x", 43, 125, LACKS("run "
	    "[OPTION...] [--] COMMAND [ARG...]") LACKS("A=1") LACKS("--all")
	    LACKS(ENV("e1")) LACKS("e1") LACKS(ENV("e2")) LACKS("e2")
	    LACKS("--on") LACKS("a") LACKS("b"));
}

static bool
terminal(void)
{
	return goes_well("run|-t|x", 42, 125, LACKS("run [OPTION...] [--] "
	    "COMMAND [ARG...]") LACKS("TERM") LACKS("ws:d"));
}

static bool
attach(void)
{
	return goes_well("attach|7", 42, 125, LACKS("attach [OPTION...] "
	    "SESSION[/PROCESS]") "execsrvctl: 7: the daemon did not send the "
	    "session id\n" LACKS("ws:d"));
}

int
main(void)
{
	static const struct scenario	 list[] = {
		SCENARIO(all),
		SCENARIO(attach),
		SCENARIO(terminal),
	};
	Suite				*s = suite_create("ctl_client");
	TCase				*tc = tcase_create("all");
	SRunner				*sr;
	int				 failed;

	tcase_add_checked_fixture(tc, setup, NULL);
	tcase_add_test(tc, test_run);
	tcase_add_loop_test(tc, test_values, 0,
	    sizeof(values) / sizeof(values[0]));
	tcase_add_test(tc, test_number_of_arguments);
	tcase_add_test(tc, test_options);
	tcase_add_test(tc, test_help);
	tcase_add_test(tc, test_on);
	tcase_add_test(tc, test_on_with);
	tcase_add_test(tc, test_all);
	tcase_add_test(tc, test_attach);
	tcase_add_test(tc, test_cp);
	tcase_add_test(tc, test_shell);
	tcase_add_test(tc, test_stdio);
	tcase_add_test(tc, test_forward);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? fault_main("ctl_client without memory", list,
	    sizeof(list) / sizeof(list[0])) : EXIT_FAILURE;
}
