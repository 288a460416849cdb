/*
 * master/accept/child_assign.c: what a worker is told of its client.  Workers,
 * settings and sessions are ours.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/linux/ptree.h"
#include "common/process/envlist.h"
#include "master/accept/child_assign.h"
#include "master/accept/policy.h"
#include "master/auth/tokens.h"
#include "master/logs/audit.h"
#include "master/workers/cgroups.h"
#include "master/workers/route.h"
#include "master/world.h"

#define OTHER	4711		/* a uid that is not ours */

static struct world	 world;
static struct routes	 routes;
static bool		 drains;
static struct children	 all = { .world = &world };
static struct assigner	 by;
static struct child	 c;
static struct conf	 conf;
static struct route	 route, resumed;
static struct peer	 peer;
static bool		 has_tokens, fails;
static char		 did[300];

static void
tell(const char *what)
{
	ck_assert_uint_lt(strlen(did) + strlen(what) + 1, sizeof(did));
	strcat(did, " ");
	strcat(did, what);
}

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

/* --- what was said; copies of what is not packed --- */

static Ipc__Assign	 told;
static Ipc__Settings	 settings;
static Ipc__Figures	 figures;
static Ipc__Decided	 decided;
static uint64_t		 waiting;

void
chan_send(struct chan *ch, enum ipc_kind kind, const void *body, int fd)
{
	ck_assert_ptr_eq(ch, c.chan);
	tell(ipc_rows[kind].name);
	ck_assert_int_eq(fd, kind == IPC_environment ? 55 :
	    kind == IPC_stdio_out ? 78 : kind == IPC_assign ? 77 : -1);
	if (kind == IPC_decided) {
		decided = *(const Ipc__Decided *)body;
	} else if (kind == IPC_assign) {
		told = *(const Ipc__Assign *)body;
		settings = *told.settings;
		if (told.figures != NULL) {
			figures = *told.figures;
			ck_assert_uint_eq(figures.n_gauge, GAUGES);
			ck_assert_uint_eq(figures.n_stat, STATS);
			ck_assert_ptr_eq(figures.stat, world.stats);
			waiting = figures.gauge[GAUGE_waiting];
		}
	}
}

/* --- in the place of the rest of the master --- */

const struct conf *
policy_get(const struct world *w, const struct peer *p,
    struct conf *room)
{
	ck_assert(w == &world && p == &c.peer && room != NULL);
	if (fails)
		return NULL;
	tell("get");
	return &conf;
}

void
policy_put(const struct conf *got, struct conf *room)
{
	ck_assert(got == &conf && room != NULL);
	tell("put");
}

void
policy_settings(const struct world *w, const struct conf *got,
    struct policy_settings *out)
{
	ck_assert(w == &world && got == &conf);
	memset(out, 0, sizeof(*out));
	ipc__settings__init(&out->s);
	out->s.detached_ttl_ms = 1;
	out->s.grace_ms = 2;
	out->s.max_processes = 3;
	out->s.transcript = got->transcript;
}

void
cgroups_limit(struct cgroups *g, const struct conf *got, unsigned id,
    struct cgroups_worker *w, struct cgroups_limits *out)
{
	ck_assert(g == NULL && got == &conf && id == 9 && w == &c.cgroups);
	memset(out, 0, sizeof(*out));
	out->n = 1;
	out->as_max = 4;
	out->tasks_max = 5;
}

void
child_leaves(struct child *who)
{
	ck_assert_ptr_eq(who, &c);
	tell("leaves");
}

void
child_set_client(struct child *who, enum child_client to)
{
	ck_assert(who == &c && to == CHILD_ASSIGNED);
	tell("assigned");
}

void
child_set_state(struct child *who, enum child_state to)
{
	ck_assert(who == &c && to == CHILD_GREETING);
	tell("greeting");
}

void
child_set_token(struct child *who, enum child_token to)
{
	ck_assert(who == &c && to == CHILD_TOKEN_AWAITED);
	tell("token");
}

void
child_set_transcripts(struct child *who, enum child_transcripts to)
{
	ck_assert(who == &c && to == CHILD_TRANSCRIPTS_WANTED);
	tell("transcripts");
}

void
child_want(struct child *who, struct route *r, struct child_list *list)
{
	ck_assert(who == &c && r == NULL && list == NULL);
	tell("unwant");
}

int
envlist_to_file(void)
{
	tell("file");
	errno = EMFILE;
	return fails ? -1 : 55;
}

void
peer_is_user(struct peer *p)
{
	ck_assert_ptr_eq(p, &c.peer);
	tell("user");
}

uint64_t
ptree_new_range(void)
{
	return 6;
}

void
route_audit(const struct route *r, struct audit_what what)
{
	ck_assert_ptr_eq(r, &resumed);
	ck_assert_int_eq(what.event, AUDIT_session_resumed);
	ck_assert_str_eq(what.peer, "someone");
	tell("audit");
}

struct route *
route_new(struct routes *rs, struct child *owner)
{
	ck_assert(rs == &routes && owner == &c);
	tell("session");
	return fails ? NULL : &route;
}

void
route_free(struct route **rp)
{
	ck_assert_ptr_eq(*rp, &route);
	*rp = NULL;
	tell("free");
}

void
route_record(struct route *r)
{
	ck_assert_ptr_eq(r, &route);
	tell("record");
}

void
route_revive(struct route *r, struct child *owner)
{
	ck_assert(r == &resumed && owner == &c);
	tell("revive");
}

bool
tokens_any(const struct tokens *t)
{
	ck_assert_ptr_null(t);
	return has_tokens;
}

static char *
unready(const struct master *master, char *why, size_t size)
{
	ck_assert_ptr_null(master);
	snprintf(why, size, "busy");
	return why;
}

static bool
is_draining(const struct master *master)
{
	ck_assert_ptr_null(master);
	return drains;
}

static void
gauges(const struct master *master, uint64_t list[GAUGES])
{
	ck_assert_ptr_null(master);
	memset(list, 0, GAUGES * sizeof(list[0]));
	list[GAUGE_waiting] = waiting;
}

/* --- */

static void
setup(void)
{
	static const struct master_events	 events = {
		.unready = unready, .gauges = gauges, .is_draining = is_draining
	};

	memset(&world, 0, sizeof(world));
	drains = false;
	memset(&by, 0, sizeof(by));
	memset(&c, 0, sizeof(c));
	memset(&conf, 0, sizeof(conf));
	memset(&route, 0, sizeof(route));
	memset(&resumed, 0, sizeof(resumed));
	memset(&peer, 0, sizeof(peer));
	has_tokens = fails = false;
	did[0] = '\0';
	world.events = &events;
	by.routes = &routes;
	by.environment = -1;
	c.all = &all;
	c.chan = (struct chan *)&c;
	c.id = 9;
	conf.max_held_per_user = 7;
	route.number = 41;
	strcpy(route.id, "its-id");
	resumed.number = 42;
	resumed.used.transcripts = 8;
	resumed.retain = 9;
	strcpy(resumed.id, "that-id");
	peer.known = true;
	peer.uid = OTHER;
	strcpy(peer.text, "someone");
}

static Ipc__Assign *
assign(int refuse, bool full)
{
	ck_assert_int_eq(child_assign(&by, &c, 77, &peer, refuse, full, NULL),
	    0);
	return &told;
}

START_TEST(test_session)
{
	peer.has_gid = true;
	peer.gid = 12;
	drains = true;
	assign(0, true);
	ck_did(" get session assigned greeting record assign put");
	ck_assert_ptr_eq(c.route, &route);
	ck_assert_uint_eq(told.number, 41);
	ck_assert_str_eq(told.session_id, "its-id");
	ck_assert_str_eq(told.peer, "someone");
	ck_assert_uint_eq(told.uid, OTHER);
	ck_assert(told.has_gid && told.gid == 12);
	ck_assert(told.full && told.draining && !told.greeted);
	ck_assert_int_eq(told.transport, IPC__TRANSPORT__WEBSOCKET);
	ck_assert_int_eq(told.asking, IPC__ASKING__NEVER);
	ck_assert_str_eq(told.unready, "busy");
	ck_assert_uint_eq(told.marks, 6);
	ck_assert(!told.strict && told.refuse == 0);
	ck_assert(settings.n_cgroup_limit == 1 && settings.as_max == 4 &&
	    settings.tasks_max == 5);
	ck_assert(c.detached_ttl == 1 && c.grace == 2 && c.max_running == 3);
	ck_assert(c.max_held == 7 && c.marks == 6 && c.since != 0);
}
END_TEST

/* Who is asked for a token, and who gets a session at once. */
static const struct {
	int		 refuse;
	unsigned	 uplink;
	bool		 must_show, has_tokens;
	Ipc__Asking	 asking;
	bool		 has_session;
} rows[] = {
	{ 0, 0, false, false, IPC__ASKING__NEVER, true },
	{ 0, 0, false, true, IPC__ASKING__IF_SHOWN, true },
	{ 0, 0, true, true, IPC__ASKING__ALWAYS, false },
	{ 0, 0, true, false, IPC__ASKING__ALWAYS, false },
	{ 0, 3, false, true, IPC__ASKING__NEVER, true },
	{ 403, 0, false, true, IPC__ASKING__NEVER, false },
	{ 403, 0, true, true, IPC__ASKING__NEVER, false },
};

START_TEST(test_asking)
{
	peer.uplink = rows[_i].uplink;
	peer.must_show = rows[_i].must_show;
	peer.known = !peer.must_show && rows[_i].refuse == 0;
	peer.is_strict = rows[_i].uplink != 0;
	peer.why = "for a reason";
	has_tokens = rows[_i].has_tokens;
	assign(rows[_i].refuse, false);
	ck_assert_int_eq(told.asking, rows[_i].asking);
	ck_assert_int_eq(strstr(did, " token") != NULL,
	    told.asking != IPC__ASKING__NEVER);
	ck_assert_int_eq(told.number != 0, rows[_i].has_session);
	ck_assert_int_eq(told.refuse, rows[_i].refuse);
	ck_assert_int_eq(told.transport, rows[_i].uplink == 0 ?
	    IPC__TRANSPORT__WEBSOCKET : IPC__TRANSPORT__STREAM);
	ck_assert_int_eq(told.strict, peer.is_strict);
	ck_assert_str_eq(told.why, told.refuse != 0 ? "for a reason" : "");
}
END_TEST

/* Our environment is for sessions of our own user, once they are its. */
START_TEST(test_environment)
{
	peer.uid = geteuid();
	conf.transcript = CONF_TRANSCRIPT_NONE + 1;
	assign(0, false);
	ck_did(" get session transcripts assigned greeting record file "
	    "environment assign put");
	c.route = NULL;
	assign(0, false);
	ck_did(" get session transcripts assigned greeting record "
	    "environment assign put");
	conf.transcript = CONF_TRANSCRIPT_NONE;
	c.route = NULL;
	assign(503, false);
	ck_did(" get assigned greeting assign put");
	peer.must_show = true;
	assign(0, false);
	ck_did(" get token assigned greeting assign put");
}
END_TEST

START_TEST(test_metrics)
{
	peer.uid = geteuid();
	peer.is_metrics = true;
	waiting = 5;
	assign(0, false);
	ck_did(" get assigned greeting assign put");
	ck_assert_ptr_nonnull(told.figures);
	ck_assert_uint_eq(waiting, 4);		/* without this one */
	waiting = 0;
	assign(0, false);
	ck_assert_uint_eq(waiting, 0);
}
END_TEST

START_TEST(test_greeted)
{
	drains = true;
	ck_assert_int_eq(child_assign_greeted(&by, &c, 77, &peer, true,
	    "hello", 5, NULL), 0);
	ck_did(" get session assigned greeting record assign put");
	ck_assert(told.greeted && told.full && told.draining);
	ck_assert_int_eq(told.transport, IPC__TRANSPORT__WEBSOCKET);
	ck_assert_uint_eq(told.message.len, 5);
	ck_assert_mem_eq(told.message.data, "hello", 5);
	ck_assert_int_eq(told.asking, IPC__ASKING__NEVER);
}
END_TEST

START_TEST(test_stdio)
{
	by.environment = 55;
	ck_assert_int_eq(child_assign_stdio(&by, &c, 77, 78), 0);
	ck_did(" user stdio_out get session assigned greeting record "
	    "environment assign put");
	ck_assert_int_eq(told.transport, IPC__TRANSPORT__STDIO);
	ck_assert_uint_eq(told.uid, geteuid());
	ck_assert_str_eq(told.peer, "stdio");
	ck_assert_str_eq(c.peer.address, "stdio");
	ck_assert_str_eq(c.peer.listener, "stdio");
	ck_assert(c.peer.known);
}
END_TEST

START_TEST(test_fails)
{
	fails = true;
	ck_assert_int_eq(child_assign(&by, &c, 77, &peer, 0, false, NULL), -1);
	ck_did("");
}
END_TEST

/* --- resuming --- */

static const struct {
	Ipc__Verdict	 verdict;
	const char	*did;
	unsigned	 resumes;
} verdicts[] = {
	{ IPC__VERDICT__UNKNOWN, " unwant greeting decided", 0 },
	{ IPC__VERDICT__ATTACHED, " unwant greeting decided", 0 },
	{ IPC__VERDICT__TAKEN, " unwant leaves audit decided", 1 },
	{ IPC__VERDICT__YOURS, " unwant greeting audit free revive decided",
	    1 },
};

START_TEST(test_decide)
{
	c.state = CHILD_HANDING;
	c.route = &route;
	c.peer = peer;
	child_decide(&c, verdicts[_i].verdict, &resumed);
	ck_did(verdicts[_i].did);
	ck_assert_int_eq(decided.verdict, verdicts[_i].verdict);
	ck_assert_uint_eq(world.stats[STAT_resumed], verdicts[_i].resumes);
	if (verdicts[_i].verdict == IPC__VERDICT__YOURS) {
		ck_assert_str_eq(decided.session_id, "that-id");
		ck_assert_uint_eq(decided.number, 42);
		ck_assert_uint_eq(decided.transcripts, 8);
		ck_assert_uint_eq(decided.retain_ms, 9);
		ck_assert_str_eq(resumed.peer, "someone");
	}
	/* One that does not ask is told nothing. */
	c.state = CHILD_SERVING;
	child_decide(&c, IPC__VERDICT__UNKNOWN, NULL);
	ck_did(" unwant");
	c.state = CHILD_HANDING;
	c.chan = NULL;
	child_decide(&c, IPC__VERDICT__UNKNOWN, NULL);
	ck_did(" unwant");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("child_assign");
	TCase	*t = tcase_create("all");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_session);
	tcase_add_loop_test(t, test_asking, 0,
	    (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(t, test_environment);
	tcase_add_test(t, test_metrics);
	tcase_add_test(t, test_greeted);
	tcase_add_test(t, test_stdio);
	tcase_add_test(t, test_fails);
	tcase_add_loop_test(t, test_decide, 0,
	    (int)(sizeof(verdicts) / sizeof(verdicts[0])));
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
