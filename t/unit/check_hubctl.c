/*
 * master/hub/hubctl.c, hubctl_cmds.c and hubgather.c: requests of operators
 * here, elsewhere, and at other hubs, and the lines that they are answered.
 * Executors, other hubs, and who may what are ours.
 */
#include <sys/socket.h>
#include <sys/un.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/limit.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubctl.h"
#include "master/hub/hubctl_priv.h"
#include "t/unit/did_help.h"
#include "t/unit/timer_help.h"

#define MAX_FAR	128
#define MAX_HERE 32

static struct hub		 hub;
static struct site		 site;
static struct engine		 engine;
static struct subject		 owner;
static struct executor		 x;
static struct hubctl		*ctl;
static struct engine_request	*asked;
static struct engine_ask	*sought;
static struct executor		 list[HUBGATHER_MAX + 1];
static char			 list_name[HUBGATHER_MAX + 1][8];
static size_t			 nlist;
static bool			 is_there, is_valid, may_operate, is_up;
static const char		*why_not, *hidden;
static unsigned			 wait_s;
static uint32_t			 pongs;

/* --- in the place of others --- */

struct executor *
switchboard_find(const struct switchboard *b, const char *environment)
{
	ck_assert_ptr_eq(b, &hub.board);
	return is_there && strcmp(environment, "e") == 0 ? &x : NULL;
}

struct executor **
switchboard_list(const struct switchboard *b, const char *label,
    const char *after, size_t *n_out)
{
	struct executor	**found = calloc(HUBGATHER_MAX + 1, sizeof(*found));
	size_t		 i;

	ck_assert_ptr_eq(b, &hub.board);
	ck_assert_ptr_nonnull(found);
	did("list \"%s\" \"%s\"", label, after);
	for (*n_out = i = 0; i < nlist; i++)
		if (strcmp(list[i].environment, after) > 0)
			found[(*n_out)++] = &list[i];
	return found;
}

void
switchboard_detach(struct executor *one, uint16_t code, const char *why)
{
	ck_assert_ptr_eq(one, &x);
	did("detach %d %s", code, why);
}

void
wslink_ping(struct wslink *l)
{
	ck_assert_ptr_eq(l, &x.link);
	did("ping");
}

uint32_t
wslink_pongs(const struct wslink *l)
{
	ck_assert_ptr_eq(l, &x.link);
	return pongs;
}

void
hubdrain_begin(struct hubdrain *d, uint64_t ms)
{
	ck_assert_ptr_eq(d, &hub.drain);
	did("drain %llu", (unsigned long long)ms);
}

void
hubdrain_end(struct hubdrain *d)
{
	ck_assert_ptr_eq(d, &hub.drain);
	did("undrain");
}

void
hubaudit(struct hub *h, const char *event, const struct hubaudit_item *items)
{
	ck_assert_ptr_eq(h, &hub);
	for (did("%s", event); items->key != NULL; items++)
		did("%s %s", items->key, items->text);
}

static void
engine_request(struct engine *e, const char *environment, const char *to,
    struct span text, struct engine_request *r)
{
	ck_assert_ptr_eq(e, &engine);
	did("request %s %s %.*s", environment != NULL ? environment : "-",
	    to != NULL ? to : "-", (int)text.len, text.at);
	asked = r;
}

static void
engine_cancel_request(struct engine *e, struct engine_request *r)
{
	ck_assert_ptr_eq(e, &engine);
	if (r == asked)
		asked = NULL;
}

static void
engine_where(struct engine *e, const char *environment,
    const uint8_t *key_hash, struct engine_ask *a)
{
	ck_assert_ptr_eq(e, &engine);
	ck_assert_ptr_null(key_hash);
	did("where %s", environment);
	sought = a;
}

static void
engine_cancel(struct engine *e, struct engine_ask *a)
{
	ck_assert_ptr_eq(e, &engine);
	if (a == sought)
		sought = NULL;
}

static void
engine_evict(struct engine *e, const uint8_t *registration)
{
	ck_assert_ptr_eq(e, &engine);
	ck_assert_ptr_eq(registration, x.registration);
	did("evict");
}

static void
engine_rows(struct engine *e, const char *environment,
    const struct engine_reply *r, struct span text)
{
	ck_assert_ptr_eq(e, &engine);
	did("rows %s to %s: %.*s", environment, r->subject, (int)text.len,
	    text.at);
}

static bool
engine_is_up(const struct engine *e)
{
	ck_assert_ptr_eq(e, &engine);
	return is_up;
}

/* --- an operator elsewhere --- */

static struct hubctl_far	 far[MAX_FAR + 1];

static void
far_send(struct hubctl_far *f, struct buf *b)
{
	(void)f;
	if (b->len > 0)
		did("%.*s", (int)b->len, (char *)buf_data(b));
	buf_drain(b, b->len);
}

static unsigned
far_wait(struct hubctl_far *f)
{
	(void)f;
	return wait_s;
}

static bool
far_renew(struct hubctl_far *f)
{
	(void)f;
	return is_valid;
}

static const char *
far_why_not(struct hubctl_far *f, enum hubctl_kind kind)
{
	static const char	*const names[] = { "never", "list",
				    "environment", "hub" };

	(void)f;
	ck_assert_uint_lt((unsigned)kind, 4);
	if (why_not == NULL)
		return NULL;
	did("%s?", names[kind]);
	return why_not;
}

static bool
far_may(struct hubctl_far *f, const char *environment, const char *labels)
{
	(void)f;
	did("may %s %s", environment, labels);
	return may_operate;
}

static void
far_refused(struct hubctl_far *f, const char *cmd, const char *environment)
{
	(void)f;
	did("refused %s \"%s\"", cmd, environment);
}

static int
far_put(struct hubctl_far *f, struct span row, struct buf *b)
{
	(void)f;
	if (hidden != NULL && memmem(row.at, row.len, hidden,
	    strlen(hidden)) != NULL)
		return 0;
	return buf_put(b, row.at, row.len) == -1 ? -1 : 1;
}

static void
far_free(struct hubctl_far *f)
{
	f->client = NULL;
}

static const struct hubctl_far_ops far_ops = {
	.send = far_send, .wait = far_wait, .renew = far_renew,
	.why_not = far_why_not, .may = far_may, .refused = far_refused,
	.put = far_put, .free = far_free,
};

static void
on_reload(void *arg)
{
	ck_assert_ptr_eq(arg, &hub);
	did("reload");
}

static void
say(const char *request)
{
	hubctl_said(&far[0], request, strlen(request));
}

static void
guest(const char *request)
{
	struct engine_reply	 r = { .subject = "them" };

	hubctl_guest(ctl, "env", (struct span){ request, strlen(request) },
	    &r);
}

/* --- one here --- */

static int	 here = -1;

static void
turn(void)
{
	ck_assert_int_ne(event_base_loop(hub.base, EVLOOP_ONCE |
	    EVLOOP_NONBLOCK), -1);
}

static int
connect_here(void)
{
	struct sockaddr_un	 sun;
	socklen_t		 len = sizeof(sun);
	int			 fd = socket(AF_UNIX, SOCK_STREAM |
				    SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(getsockname(ctl->fd, (struct sockaddr *)&sun, &len),
	    0);
	ck_assert_int_eq(connect(fd, (struct sockaddr *)&sun, len), 0);
	turn();
	return fd;
}

/* What it is sent; "": nothing; "end": it is closed. */
static void
ck_here(const char *request, const char *want)
{
	char	 text[4096];
	ssize_t	 n;

	if (request[0] != '\0')
		ck_assert_int_eq(send(here, request, strlen(request),
		    MSG_NOSIGNAL), (ssize_t)strlen(request));
	turn();
	turn();
	n = recv(here, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = '\0';
	ck_assert_str_eq(n == 0 || (n == -1 && errno == ECONNRESET) ? "end" :
	    text, want);
}

/* --- the hub --- */

static void
setup(void)
{
	static const struct engine_ops	 ops = {
		.request = engine_request, .evict = engine_evict,
		.cancel_request = engine_cancel_request,
		.where = engine_where, .cancel = engine_cancel,
		.rows = engine_rows, .is_up = engine_is_up,
	};
	static const struct hubctl_events events = { .reload = on_reload };
	static char	 url[] = "https://f", file[] = "/t", none[] = "";
	struct sockaddr_un	 sun = { .sun_family = AF_UNIX };
	size_t			 i;
	int			 fd;

	memset(&hub, 0, sizeof(hub));
	memset(&site, 0, sizeof(site));
	memset(&engine, 0, sizeof(engine));
	memset(&x, 0, sizeof(x));
	memset(far, 0, sizeof(far));
	ck_assert_ptr_nonnull(hub.base = event_base_new());
	site.conf.fleet_url = url;
	site.conf.hub_url = none;
	site.conf.tokens_file = file;
	site.conf.drain_time = 7000;
	site.conf.ticket_lifetime = 90000;
	hub.site = &site;
	hub.engine = &engine;
	engine.ops = &ops;
	engine.is_shared = true;
	strcpy(hub.name, "h1");
	hub.started = 5;
	replay_init(&hub.evicted);
	strcpy(owner.name, "token:me");
	TAILQ_INIT(&x.harnesses);
	x.environment = "e";
	x.labels = "a=b";
	x.address = "192.0.2.1";
	x.subject = &owner;
	x.since = 3;
	x.nharness = 1;
	x.nstream = 2;
	x.bytes_in = 10;
	x.bytes_out = 11;
	x.number = 9;
	for (i = 0; i <= HUBGATHER_MAX; i++) {
		list[i] = x;
		snprintf(list_name[i], sizeof(list_name[i]), "n%04zu", i);
		list[i].environment = list_name[i];
	}
	nlist = 0;
	is_there = is_valid = may_operate = is_up = true;
	why_not = hidden = NULL;
	wait_s = pongs = 0;
	asked = NULL;
	sought = NULL;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	ck_assert_int_ne(fd, -1);
	ck_assert_int_eq(bind(fd, (struct sockaddr *)&sun,
	    sizeof(sun.sun_family)), 0);
	ck_assert_int_eq(listen(fd, 100), 0);
	ck_assert_ptr_nonnull(ctl = hubctl_new(&hub, fd, &events, &hub));
	for (i = 0; i <= MAX_FAR; i++) {
		far[i].ops = &far_ops;
		far[i].name = "token:op";
	}
	ck_assert_int_eq(hubctl_join(ctl, &far[0]), 0);
	did_forget();
}

static void
teardown(void)
{
	int	 fd = ctl->fd;

	hubctl_free(&ctl);
	fd_close(&here);
	fd_close(&fd);
	replay_fini(&hub.evicted);
	event_base_free(hub.base);
}

#define OK	"{\"ok\":true}\n"
#define FAIL(why) "{\"ok\":false,\"error\":\"" why "\"}\n"
#define ROW	"{\"row\":{\"environment\":\"e\",\"labels\":\"a=b\","	\
		"\"subject\":\"token:me\",\"address\":\"192.0.2.1\","	\
		"\"registration\":\"00000000000000000000000000000000\"," \
		"\"since\":3,\"harnesses\":1,\"streams\":2,"		\
		"\"bytes_in\":10,\"bytes_out\":11}}\n"
#define CMD(name) "{\"cmd\":\"" name "\"}"
#define ON(name) "{\"cmd\":\"" name "\",\"environment\":\"e\"}"
#define NOT_HERE FAIL("e: no such environment is attached")
#define GONE	"its hub does not answer, or the engine"

/* --- connections --- */

START_TEST(test_lines)
{
	here = connect_here();
	ck_here(CMD("nothing") "\n", FAIL("unknown request"));
	ck_here("[]\n\n{\n{\"cmd\":\"\xff\"}\n", FAIL("no JSON object")
	    FAIL("no JSON object") FAIL("no JSON object")
	    FAIL("no JSON object"));
	ck_here("{\"cmd\":", "");
	ck_here("\"undrain\"}\n{\"cmd\"", OK);
	ck_did("undrain; control; request undrain; environment ");
	close(here);
	here = connect_here();
	ck_assert_uint_eq(ctl->n, 1);
}
END_TEST

/* A request has 8 KiB at most. */
START_TEST(test_long)
{
	char	 text[8193];

	memset(text, ' ', sizeof(text));
	text[8191] = '\n';
	text[8192] = '\0';
	here = connect_here();
	ck_here(text, FAIL("no JSON object"));
	text[8191] = ' ';
	ck_here(text, "");
	ck_here(" ", "end");
	text[8190] = '\0';
	hubctl_said(&far[0], text, 8191);
	ck_did(FAIL("no JSON object"));
	hubctl_said(&far[0], text, 8192);
	ck_did(FAIL("too much is asked at once"));
	text[8191] = '\0';
	guest(text);
	ck_did("rows env to them: " FAIL("no JSON object"));
	text[8190] = text[8191] = ' ';
	guest(text);
	ck_did("");
}
END_TEST

START_TEST(test_crowds)
{
	int	 fd[MAX_HERE], i;

	for (i = 0; i < MAX_HERE; i++)
		fd[i] = connect_here();
	ck_assert_uint_eq(ctl->n, MAX_HERE);
	here = connect_here();
	ck_here("", "end");
	guest(CMD("hubs"));
	ck_did("");
	ck_assert_uint_eq(hubctl_count(ctl, "token:op"), 1);
	for (i = 1; i < MAX_FAR; i++)
		ck_assert_int_eq(hubctl_join(ctl, &far[i]), 0);
	ck_assert_int_eq(hubctl_join(ctl, &far[MAX_FAR]), -1);
	ck_assert_uint_eq(hubctl_count(ctl, "token:op"), MAX_FAR);
	ck_assert_uint_eq(hubctl_count(ctl, "token:o"), 0);
	hubctl_leave(&far[1]);
	ck_assert_int_eq(hubctl_join(ctl, &far[MAX_FAR]), 0);
	for (i = 0; i < MAX_HERE; i++)
		close(fd[i]);
}
END_TEST

/* Whoever asks too often is served later. */
START_TEST(test_turns)
{
	uint64_t	 before = timer_help_now();

	wait_s = 3;
	say(CMD("nothing"));
	ck_did("");
	ck_assert(hubctl_is_busy(&far[0]));
	ck_assert(timer_help_is_due(hub.base, before, 3000, 3000));
	say(CMD("undrain"));
	ck_did("");
	wait_s = 0;
	timer_help_fire(hub.base);
	ck_did(FAIL("unknown request") "; undrain; control; request undrain; "
	    "environment ; subject token:op; " OK);
	ck_assert(!hubctl_is_busy(&far[0]));
}
END_TEST

/* --- who may what --- */

static const struct {
	const char	*request, *kind;	/* as which it is judged */
} kinds[] = {
	{ CMD("status"), "never" }, { CMD("list"), "list" },
	{ ON("show"), "environment" }, { CMD("hubs"), "hub" },
	{ ON("ping"), "environment" }, { CMD("drain"), "hub" },
	{ ON("drain"), "environment" }, { CMD("undrain"), "hub" },
	{ ON("evict"), "environment" }, { CMD("reload"), "never" },
};

START_TEST(test_kinds)
{
	char	 want[300], cmd[20];
	size_t	 i;

	why_not = "no";
	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		say(kinds[i].request);
		ck_assert_int_eq(sscanf(kinds[i].request, "{\"cmd\":\"%19[a-z]",
		    cmd), 1);
		snprintf(want, sizeof(want), "%s?; refused %s \"\"; "
		    FAIL("no"), kinds[i].kind, cmd);
		ck_did(want);
	}
	guest(CMD("status"));
	ck_did("rows env to them: " FAIL("unknown request"));
	guest(CMD("reload"));
	ck_did("rows env to them: " FAIL("unknown request"));
}
END_TEST

/* --- what is here --- */

START_TEST(test_status)
{
	char	 want[500];

	here = connect_here();
	hub.board.nharness = 2;
	hub.conns.n = 3;
	site.tokens.n = 4;
	hub.drain.is_on = true;
	snprintf(want, sizeof(want), "\"pid\":%d,\"started\":5,\"fleet_url\":"
	    "\"https://f\",\"hub_url\":\"https://f\",\"draining\":true,"
	    "\"executors\":0,\"harnesses\":2,\"streams\":0,\"connections\":3,"
	    "\"tokens\":4,\"tokens_file\":\"/t\",\"engine_up\":true}\n",
	    (int)getpid());
	ck_assert_int_gt(send(here, CMD("status") "\n", 17, MSG_NOSIGNAL), 0);
	turn();
	turn();
	{
		char	 text[1000] = "", *at;

		ck_assert_int_gt(recv(here, text, sizeof(text) - 1, 0), 0);
		ck_assert_ptr_nonnull(at = strstr(text, "\"pid\""));
		ck_assert_str_eq(at, want);
		ck_assert_ptr_eq(strstr(text, "{\"ok\":true,\"name\":\"h1\","
		    "\"version\":\""), text);
	}
}
END_TEST

START_TEST(test_show)
{
	struct harness	 h;

	say(ON("show"));
	ck_did("may e a=b; " ROW "; " OK);
	memset(&h, 0, sizeof(h));
	h.subject = &owner;
	strcpy(h.address, "192.0.2.2");
	h.since = 4;
	h.nstream = 5;
	h.bytes_in = 6;
	h.bytes_out = 7;
	TAILQ_INSERT_TAIL(&x.harnesses, &h, entry);
	guest(ON("show"));
	ck_did("rows env to them: " ROW "{\"row\":{\"harness\":\"token:me\","
	    "\"address\":\"192.0.2.2\",\"since\":4,\"streams\":5,"
	    "\"bytes_in\":6,\"bytes_out\":7}}\n" OK);
	may_operate = false;
	say(ON("show"));
	ck_did("may e a=b; refused show \"e\"; " NOT_HERE);
}
END_TEST

START_TEST(test_acts)
{
	say(ON("drain"));
	ck_did("may e a=b; detach 1012 drained; control; request drain; "
	    "environment e; subject token:op; " OK);
	say(CMD("drain"));
	ck_did("drain 7000; control; request drain; environment ; "
	    "subject token:op; " OK);
	say("{\"cmd\":\"drain\",\"hub\":\"h1\"}");
	ck_did("drain 7000; control; request drain; environment ; "
	    "subject token:op; " OK);
	memset(x.registration, 'r', sizeof(x.registration));
	guest("{\"cmd\":\"evict\",\"environment\":\"e\",\"by\":\"token:x\"}");
	ck_did("evict; detach 1008 evicted; control; request evict; "
	    "environment e; subject token:x; rows env to them: " OK);
	ck_assert(replay_has(&hub.evicted, registration_nonce(
	    x.registration)));
	/* Only another hub says for whom it asks. */
	say("{\"cmd\":\"undrain\",\"by\":\"token:x\"}");
	ck_did("undrain; control; request undrain; environment ; subject "
	    "token:op; " OK);
}
END_TEST

START_TEST(test_reload)
{
	here = connect_here();
	ck_here(CMD("reload") "\n" CMD("nothing") "\n", "");
	ck_did("control; request reload; environment ; reload");
	hubctl_reloaded(ctl, "line 1: bad");
	ck_here("", FAIL("line 1: bad") FAIL("unknown request"));
	ck_here(CMD("reload") "\n", "");
	hubctl_reloaded(ctl, NULL);
	ck_here("", OK);
	hubctl_reloaded(ctl, NULL);
	ck_here("", "");
}
END_TEST

START_TEST(test_ping)
{
	say(ON("ping"));
	ck_did("may e a=b; ping");
	far[0].client->since = clock_us();
	timer_help_fire(hub.base);
	ck_did("");
	pongs++;
	far[0].client->since = clock_us();
	timer_help_fire(hub.base);
	ck_assert(did_begins("{\"ok\":true,\"ms\":"));
	did_forget();
	say(ON("ping"));
	did_forget();
	x.number++;
	timer_help_fire(hub.base);
	ck_did(FAIL("it was closed meanwhile"));
	say(ON("ping"));
	did_forget();
	far[0].client->since -= (uint64_t)LIMIT_HUB_PROBE * 1000;
	timer_help_fire(hub.base);
	ck_did(FAIL("no answer"));
	ck_assert(!timer_help_is_set(hub.base));
}
END_TEST

/* --- what is elsewhere --- */

static void
answer(const char *text, unsigned silent)
{
	struct engine_request	*r = asked;

	ck_assert_ptr_nonnull(r);
	r->fn(r->arg, text != NULL ? (struct span){ text, strlen(text) } :
	    (struct span){ NULL, 0 }, silent);
}

START_TEST(test_elsewhere)
{
	struct engine_place	 p = { .labels = "c=d" };

	is_there = false;
	guest(ON("show"));
	ck_did("rows env to them: " NOT_HERE);
	here = connect_here();
	ck_here(ON("show") "\n", "");
	ck_did("request e - " ON("show"));
	answer("one\n", 0);
	answer("two\n", 0);
	answer(NULL, 0);
	ck_here("", "one\ntwo\n");
	ck_here(ON("show") "\n", "");
	answer(NULL, 1);
	ck_here("", FAIL(GONE));
	ck_here(ON("show") "\n", "");
	answer(NULL, 0);
	ck_here("", NOT_HERE);
	ck_here("{\"cmd\":\"show\",\"environment\":\"a b\"}\n",
	    FAIL("a b: no such environment is attached"));
	did_forget();
	/* Of one that is far it is first of all asked where that is. */
	say(ON("show"));
	ck_did("where e");
	sought->fn(sought->arg, ENGINE_FOUND, &p);
	ck_did("may e c=d; request e - {\"cmd\":\"show\",\"environment\":\"e\","
	    "\"by\":\"token:op\"}");
	answer(NULL, 0);
	ck_did(NOT_HERE);
	may_operate = false;
	say(ON("show"));
	sought->fn(sought->arg, ENGINE_FOUND, &p);
	ck_did("where e; may e c=d; refused show \"e\"; " NOT_HERE);
	is_valid = false;
	say(ON("show"));
	sought->fn(sought->arg, ENGINE_FOUND, &p);
	ck_did("where e; " NOT_HERE);
	say(ON("show"));
	sought->fn(sought->arg, ENGINE_DOWN, NULL);
	ck_did("where e; " FAIL(GONE));
	say(ON("show"));
	sought->fn(sought->arg, ENGINE_NOBODY, NULL);
	ck_did("where e; " NOT_HERE);
	engine.is_shared = false;
	say(ON("show"));
	ck_did(NOT_HERE);
}
END_TEST

START_TEST(test_other_hub)
{
	say("{\"cmd\":\"drain\",\"hub\":\"h2\"}");
	ck_did("request - h2 {\"cmd\":\"drain\",\"by\":\"token:op\"}");
	ck_assert(hubctl_is_busy(&far[0]));
	answer(NULL, 0);
	ck_did(FAIL("there is no such hub"));
	say("{\"cmd\":\"undrain\",\"hub\":\"h2\"}");
	answer(NULL, 2);
	ck_did("request - h2 {\"cmd\":\"undrain\",\"by\":\"token:op\"}; "
	    FAIL(GONE));
	engine.is_shared = false;
	say("{\"cmd\":\"undrain\",\"hub\":\"h2\"}");
	ck_did(FAIL("there is no such hub"));
}
END_TEST

#define SELF(self) "{\"row\":{\"name\":\"h1\",\"hub_url\":\"https://f\"," \
		"\"executors\":0,\"draining\":false,\"self\":" self "}}\n"

START_TEST(test_hubs)
{
	guest(CMD("hubs"));
	ck_did("rows env to them: " SELF("false") OK);
	say(CMD("hubs"));
	ck_did(SELF("true") "; request - - {\"cmd\":\"hubs\",\"by\":"
	    "\"token:op\"}");
	answer("{\"row\":1}\n" OK, 0);
	answer("{\"row\":2}\n" OK, 0);
	ck_did("");
	answer(NULL, 0);
	ck_did("{\"row\":1}\n{\"row\":2}\n" OK);
	say(CMD("hubs"));
	did_forget();
	answer(NULL, 2);
	ck_did("{\"ok\":true,\"silent\":2}\n");
	engine.is_shared = false;
	say(CMD("hubs"));
	ck_did(SELF("true") "; " OK);
}
END_TEST

/* --- lists --- */

#define R(name)	"{\"row\":{\"environment\":\"" name "\"}}\n"

START_TEST(test_list)
{
	say("{\"cmd\":\"list\",\"label\":\"a=b\",\"after\":\"c\"}");
	ck_did("list \"a=b\" \"c\"; request - - {\"cmd\":\"list\",\"label\":"
	    "\"a=b\",\"after\":\"c\"}");
	answer(R("d") R("ab") R("b") OK, 0);
	answer(R("ab") R("a") "{\"ok\":true,\"x\":1}\n", 0);
	answer(NULL, 1);
	/* In order, each once. */
	ck_did(R("a") R("ab") R("b") R("d") "{\"ok\":true,\"silent\":1}\n");
	say(CMD("list"));
	did_forget();
	answer(R("a") "{\"ok\":true,\"next\":\"a\"}\n", 0);
	answer(NULL, 0);
	ck_did(R("a") "{\"ok\":true,\"next\":\"a\"}\n");
	/* Of one that may be nothing any more. */
	say(CMD("list"));
	did_forget();
	is_valid = false;
	answer(R("a") "{\"ok\":true,\"next\":\"a\"}\n", 0);
	answer(NULL, 0);
	ck_did(OK);
}
END_TEST

/* Whoever may not see a page is not told where it ends. */
START_TEST(test_list_hidden)
{
	hidden = "\"n0";
	nlist = HUBGATHER_MAX + 1;
	list[HUBGATHER_MAX].environment = "seen";
	engine.is_shared = false;
	say(CMD("list"));
	ck_assert(did_begins("list \"\" \"\"; list \"\" \"n0999\"; "
	    "{\"row\":{\"environment\":\"seen\","));
	did_forget();
	nlist = HUBGATHER_MAX;
	say(CMD("list"));
	ck_did("list \"\" \"\"; " OK);
}
END_TEST

/* 1000 rows, and from which to go on. */
START_TEST(test_list_long)
{
	char	 text[500000], *end;
	ssize_t	 n;
	size_t	 len = 0, rows = 0, i;

	here = connect_here();
	engine.is_shared = false;
	nlist = HUBGATHER_MAX + (size_t)_i;
	ck_assert_int_gt(send(here, CMD("list") "\n", 15, MSG_NOSIGNAL), 0);
	do {
		turn();
		while ((n = recv(here, text + len, sizeof(text) - len, 0)) > 0)
			len += (size_t)n;
	} while (len == 0 || memmem(text, len, "{\"ok\"", 5) == NULL);
	text[len] = '\0';
	for (i = 0; i < len; i++)
		rows += text[i] == '\n';
	ck_assert_uint_eq(rows, HUBGATHER_MAX + 1);
	ck_assert_ptr_nonnull(end = strstr(text, "{\"ok\""));
	ck_assert_str_eq(end, _i == 0 ? OK :
	    "{\"ok\":true,\"next\":\"n0999\"}\n");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("hubctl");
	TCase	*t = tcase_create("hubctl");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_lines);
	tcase_add_test(t, test_long);
	tcase_add_test(t, test_crowds);
	tcase_add_test(t, test_turns);
	tcase_add_test(t, test_kinds);
	tcase_add_test(t, test_status);
	tcase_add_test(t, test_show);
	tcase_add_test(t, test_acts);
	tcase_add_test(t, test_reload);
	tcase_add_test(t, test_ping);
	tcase_add_test(t, test_elsewhere);
	tcase_add_test(t, test_other_hub);
	tcase_add_test(t, test_hubs);
	tcase_add_test(t, test_list);
	tcase_add_test(t, test_list_hidden);
	tcase_add_loop_test(t, test_list_long, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_set_fork_status(r, CK_NOFORK);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
