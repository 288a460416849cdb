/*
 * master/child_msg.c: which message of a worker is legal when, and what the
 * master does with it.  All that it does it with is ours.
 */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "master/accept/gate.h"
#include "master/accept/policy.h"
#include "master/child_msg.h"
#include "master/ctl/ctl.h"
#include "master/logs/logto.h"
#include "master/parts.h"
#include "master/workers/membudget.h"
#include "master/workers/pool.h"
#include "master/workers/transcript_files.h"

#define ID	"0123"

static struct master	 m;
static struct children	 all;
static struct child	 c;
static struct route	 route;
static struct held	 grants;
static uint32_t		 judged;
static bool		 exceeded, was_open, file_fails;
static char		 did[500], x[] = "x", over[] = "over";

static void
tell(const char *what)
{
	ck_assert_uint_lt(strlen(did) + strlen(what) + 1, sizeof(did));
	strcat(did, did[0] != '\0' ? " " : "");
	strcat(did, what);
}

static void
tell_of(const char *what, long long n)
{
	char	 text[100];

	snprintf(text, sizeof(text), "%s=%lld", what, n);
	tell(text);
}

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

/* --- in the place of the rest of the master --- */

static struct chan	*const chan = (struct chan *)8;

void
chan_send(struct chan *to, enum ipc_kind kind, const void *body, int fd)
{
	ck_assert_ptr_eq(to, chan);
	tell(ipc_rows[kind].name);
	if (kind == IPC_memory) {
		tell_of("output", (long long)
		    ((const Ipc__Memory *)body)->output);
		tell_of("message", (long long)
		    ((const Ipc__Memory *)body)->message);
	} else if (kind == IPC_judged) {
		tell_of("status", ((const Ipc__Judged *)body)->status);
		tell(((const Ipc__Judged *)body)->why);
	} else if (kind == IPC_transcript) {
		tell_of("ticket", ((const Ipc__Transcript *)body)->ticket);
		ck_assert_int_ne(fcntl(fd, F_GETFD), -1);
	} else if (kind == IPC_transcript_refused) {
		tell(((const Ipc__TranscriptRefused *)body)->why);
	} else if (kind == IPC_adopted) {
		tell_of("operates", ((const Ipc__Adopted *)body)->operates);
	} else if (kind == IPC_log_pipe) {
		ck_assert_int_eq(fd, 66);
	}
}

void
child_violates(struct child *who, const char *what)
{
	ck_assert_ptr_eq(who, &c);
	tell("violates:");
	tell(what);
}

void
child_set_state(struct child *who, enum child_state to)
{
	tell(to == CHILD_HANDING ? "handing" : to == CHILD_SERVING ?
	    "serving" : "?");
	who->state = to;
}

void
child_set_client(struct child *who, enum child_client to)
{
	who->client = to;
}

void
child_set_token(struct child *who, enum child_token to)
{
	who->token = to;
}

void
child_set_transcripts(struct child *who, enum child_transcripts to)
{
	who->transcripts = to;
}

void
child_set_running(struct child *who, unsigned running)
{
	ck_assert_ptr_eq(who, &c);
	tell_of("running", running);
}

void
child_leaves(struct child *who)
{
	tell("leaves");
	who->state = CHILD_LEAVING;
}

void
child_stop(struct child *who, bool is_too_many)
{
	ck_assert_ptr_eq(who, &c);
	tell(is_too_many ? "stop: too many" : "stop");
}

void
child_decide(struct child *who, Ipc__Verdict v, struct route *r)
{
	ck_assert_ptr_eq(who, &c);
	ck_assert_ptr_null(r);
	tell_of("decide", v);
}

void
route_handover(struct routes *rs, struct child *greeter, const char *id,
    const void *message, size_t len, int fd)
{
	ck_assert(rs == &m.routes && greeter == &c && message != NULL);
	ck_assert_str_eq(id, ID);
	ck_assert_int_eq(fd, 77);
	tell_of("handover", (long long)len);
}

void
route_resumed(struct child *owner, uint32_t ticket, Ipc__Verdict v)
{
	ck_assert_ptr_eq(owner, &c);
	tell_of("resumed", ticket);
	tell_of("verdict", v);
}

bool
route_opened(struct route *r, bool operates)
{
	ck_assert_ptr_eq(r, &route);
	tell_of("opened", operates);
	return was_open;
}

void
route_attached(struct route *r)
{
	ck_assert_ptr_eq(r, &route);
	tell("attached");
}

void
route_detached(struct route *r)
{
	ck_assert_ptr_eq(r, &route);
	tell("detached");
}

void
route_used(struct route *r, const Ipc__Used *used)
{
	ck_assert_ptr_eq(r, &route);
	ck_assert_ptr_nonnull(used);
	tell("used");
}

void
route_release(struct route *r, uint64_t retain)
{
	ck_assert_ptr_eq(r, &route);
	tell_of("release", (long long)retain);
}

void
route_on_owner_gone(struct route *r, const char *why)
{
	ck_assert_ptr_eq(r, &route);
	tell("gone:");
	tell(why);
}

void
route_lose(struct route *r)
{
	ck_assert_ptr_eq(r, &route);
	tell("lose");
}

void
route_record(struct route *r)
{
	ck_assert_ptr_eq(r, &route);
	tell("record");
}

void
route_audit(const struct route *r, struct audit_what what)
{
	char	 text[200];

	ck_assert_ptr_eq(r, &route);
	snprintf(text, sizeof(text), "audit %d", (int)what.event);
	tell(text);
	if (what.pid.is_set)
		tell_of("pid", (long long)what.pid.n);
	if (what.arguments.n > 0)
		tell_of("arguments", (long long)what.arguments.n);
	if (what.cut.is_set)
		tell_of("cut", (long long)what.cut.n);
	if (what.signal.is_set)
		tell_of("signal", (long long)what.signal.n);
	if (what.exit.is_set)
		tell_of("exit", (long long)what.exit.n);
	if (what.seconds.is_set)
		tell_of("seconds", (long long)what.seconds.n);
	if (what.count.is_set)
		tell_of("count", (long long)what.count.n);
}

void
audit_peer(struct world *w, const struct peer *p, struct audit_what what)
{
	ck_assert(w == &m.world && p == &c.peer);
	ck_assert_int_eq(what.event, AUDIT_session_refused);
	tell("refused:");
	tell(what.why);
}

void
audit_missed(struct world *w, uint64_t n)
{
	ck_assert_ptr_eq(w, &m.world);
	tell_of("missed", (long long)n);
}

bool
policy_exceeded(const struct world *w, const struct routes *rs,
    const struct peer *p, bool operates)
{
	ck_assert(w == &m.world && rs == &m.routes && p == &c.peer);
	ck_assert(operates);
	return exceeded;
}

uint64_t
policy_retain(const struct world *w, const struct peer *p, uint64_t ms)
{
	ck_assert(w == &m.world && p == &c.peer);
	return ms / 2;
}

struct held
membudget_ask(struct membudget *b, struct share **sp, const char *identity,
    struct held want, uint64_t user_max, uint64_t max)
{
	ck_assert(b == NULL && sp == &c.share && identity == route.identity);
	ck_assert_uint_eq(user_max, 1000);
	ck_assert_uint_eq(max, 5000);
	(void)want;
	return grants;
}

void
ctl_on_report(struct ctl *ctl, struct child *from, const Ipc__Report *r)
{
	ck_assert(ctl == NULL && from == &c && r != NULL);
	tell("report");
}

void
ctl_on_acted(struct ctl *ctl, struct child *from, const Ipc__Acted *in)
{
	ck_assert(ctl == NULL && from == &c && in != NULL);
	tell("acted");
}

void
ctl_operate(struct ctl *ctl, struct child *from, uint32_t ticket)
{
	ck_assert(ctl == NULL && from == &c);
	tell_of("operate", ticket);
}

void
ctl_on_child_gone(struct ctl *ctl, struct child *child)
{
	ck_assert(ctl == NULL && child == &c);
	tell("ctl");
}

uint32_t
token_login_judge(const struct token_login *l, struct child *who,
    const void *shown, size_t len, char why_out[TOKEN_LOGIN_WHY_MAX])
{
	ck_assert(l == &m.login && who == &c && (len == 0 || shown != NULL));
	tell_of("judge", (long long)len);
	strcpy(why_out, judged == 0 ? "" : "because");
	return judged;
}

void
token_login_pass_on(const struct token_login *l, struct child *who, int fd,
    const void *message, size_t len)
{
	ck_assert(l == &m.login && who == &c && fd == 77 && message != NULL);
	tell_of("pass on", (long long)len);
}

int
transcript_files_open(struct route *r, bool is_terminal)
{
	ck_assert_ptr_eq(r, &route);
	tell_of("terminal", is_terminal);
	errno = ENOSPC;
	return file_fails ? -1 : open("/dev/null", O_WRONLY | O_CLOEXEC);
}

int
logto_stderr(const struct world_logs *l)
{
	ck_assert_ptr_eq(l, &m.world.logs);
	return 66;
}

void
gate_leave(struct gate *g, struct child *who)
{
	ck_assert(g == NULL && who == &c);
	tell("left");
}

void
pool_on_child_gone(struct pool *p, const struct child *who)
{
	ck_assert(p == NULL && who == &c);
	tell("pool");
}

void
pool_on_death(struct pool *p)
{
	ck_assert_ptr_null(p);
	tell("death");
}

static void
on_adopted(struct master *who)
{
	ck_assert_ptr_eq(who, &m);
	tell("on_adopted");
}

static const struct master_events	 events = { .on_adopted = on_adopted };

/* --- a worker --- */

static void
setup(void)
{
	memset(&m, 0, sizeof(m));
	memset(&c, 0, sizeof(c));
	memset(&all, 0, sizeof(all));
	memset(&route, 0, sizeof(route));
	m.world.events = &events;
	m.world.master = &m;
	m.world.conf.max_held = 5000;
	m.world.logs.audit = (struct audit *)8;
	all.world = &m.world;
	c.all = &all;
	c.chan = chan;
	c.route = &route;
	c.max_running = 10;
	c.max_held = 1000;
	c.client = CHILD_ASSIGNED;
	c.state = CHILD_SERVING;
	route.owner = &c;
	judged = 0;
	exceeded = was_open = file_fails = false;
	did[0] = '\0';
}

static void
say_with(enum ipc_kind kind, void *body, int fd)
{
	struct ipc_msg	 msg = { .kind = kind, .body = body, .fd = fd };

	child_msg_events.on_msg(&c, &msg);
}

static void
say(enum ipc_kind kind, void *body)
{
	say_with(kind, body, -1);
}

#define SAY(kind, type, ...)						\
	say(IPC_##kind, &(Ipc__##type){					\
	    .base = { NULL, 0, NULL }, __VA_ARGS__ })

/* --- when --- */

/* Where each may come: G of greeting, S of serving, L of leaving, A awaited. */
static const struct {
	enum ipc_kind	 kind;
	const char	*where;
} legal[] = {
	{ IPC_handover, "G" }, { IPC_resumed, "SL" }, { IPC_opened, "G" },
	{ IPC_attached, "S" }, { IPC_detached, "S" }, { IPC_released, "S" },
	{ IPC_ended, "S" }, { IPC_report, "SL" }, { IPC_acted, "SL" },
	{ IPC_load, "S" }, { IPC_operate, "S" }, { IPC_credential, "G" },
	{ IPC_greeted, "G" }, { IPC_turned_away, "G" },
	{ IPC_unlimited, "G" }, { IPC_command, "S" },
	{ IPC_command_ended, "S" }, { IPC_net_refused, "S" },
	{ IPC_transcript_ask, "S" }, { IPC_memory_ask, "S" },
	{ IPC_orphan, "A" },
};

static const char *
where(enum ipc_kind kind)
{
	size_t	 i;

	for (i = 0; i < sizeof(legal) / sizeof(legal[0]); i++)
		if (legal[i].kind == kind)
			return legal[i].where;
	return "";
}

/* What came too early is the end; what comes too late is read and forgotten. */
START_TEST(test_illegal)
{
	static const char	 letters[CHILD_STATES] = {
		[CHILD_STARTING] = 's', [CHILD_IDLE] = 'i',
		[CHILD_GREETING] = 'G', [CHILD_HANDING] = 'h',
		[CHILD_SERVING] = 'S', [CHILD_AWAITED] = 'A',
		[CHILD_LEAVING] = 'L'
	};
	char			 want[100];
	int			 kind;

	for (kind = 0; kind < IPC_KINDS; kind++) {
		if (strchr(where(kind), letters[_i]) != NULL)
			continue;
		c.state = _i;
		say(kind, NULL);
		snprintf(want, sizeof(want), "violates: %s",
		    ipc_rows[kind].name);
		ck_did(_i == CHILD_LEAVING ? "" : want);
		ck_assert_int_eq(c.state, _i);
	}
}
END_TEST

START_TEST(test_late)
{
	c.state = CHILD_LEAVING;
	SAY(resumed, Resumed, .ticket = 3, .verdict = 2);
	SAY(report, Report, .ticket = 1);
	SAY(acted, Acted, .ticket = 1);
	ck_did("resumed=3 verdict=2 report acted");
}
END_TEST

/* --- a client --- */

static void
hand_over(size_t len, int fd)
{
	static uint8_t	 message[LIMIT_FIRST_MESSAGE + 1];
	char		 id[] = ID;
	Ipc__Handover	 in = IPC__HANDOVER__INIT;

	c.state = CHILD_GREETING;
	in.session_id = id;
	in.message.data = message;
	in.message.len = len;
	say_with(IPC_handover, &in, fd);
}

START_TEST(test_handover)
{
	char	 want[100];

	hand_over(LIMIT_FIRST_MESSAGE, 77);
	snprintf(want, sizeof(want), "handing handover=%zu",
	    (size_t)LIMIT_FIRST_MESSAGE);
	ck_did(want);
	hand_over(LIMIT_FIRST_MESSAGE + 1, 77);
	ck_did("violates: handover");
	hand_over(5, -1);
	snprintf(want, sizeof(want), "handing decide=%d",
	    IPC__VERDICT__ATTACHED);
	ck_did(want);
	c.route = NULL;
	hand_over(5, 77);
	ck_did("violates: handover");
}
END_TEST

START_TEST(test_opened)
{
	char	 want[200];

	c.state = CHILD_GREETING;
	if (_i == 3)
		c.route = NULL;
	was_open = _i == 1;
	exceeded = _i == 2;
	SAY(opened, Opened, .client = x, .operates = true);
	snprintf(want, sizeof(want), "serving opened=1 audit %d%s",
	    AUDIT_session_opened, _i == 2 ?
	    " refused: too many sessions stop: too many" : "");
	ck_did(_i == 3 ? "violates: opened" :
	    _i == 1 ? "serving opened=1" : want);
	ck_assert_uint_eq(m.world.stats[STAT_opened], _i == 0 || _i == 2);
	ck_assert_int_eq(c.client, _i == 2 ? CHILD_TURNED_AWAY :
	    CHILD_ASSIGNED);
}
END_TEST

/* It is in the audit log once, whatever comes again. */
START_TEST(test_turned_away)
{
	c.state = CHILD_GREETING;
	m.drain.is_on = _i == 1;
	SAY(turned_away, TurnedAway, );
	ck_did(_i == 1 ? "refused: the server is draining" :
	    "refused: too many sessions");
	SAY(turned_away, TurnedAway, );
	SAY(unlimited, Unlimited, );
	ck_did("");
	ck_assert_uint_eq(m.world.stats[STAT_unlimited], 0);
}
END_TEST

START_TEST(test_unlimited)
{
	c.state = CHILD_GREETING;
	SAY(unlimited, Unlimited, );
	ck_did("refused: the limits of the session cannot be set");
	SAY(unlimited, Unlimited, );
	ck_did("");
	ck_assert_uint_eq(m.world.stats[STAT_unlimited], 1);
}
END_TEST

/* --- tokens --- */

static void
show(size_t len)
{
	static uint8_t	 token[LIMIT_CREDENTIAL + 1];
	Ipc__Credential	 in = IPC__CREDENTIAL__INIT;
	bool		 is_due = c.token == CHILD_TOKEN_AWAITED;

	memset(token, 'x', sizeof(token));
	c.state = CHILD_GREETING;
	in.token.data = token;
	in.token.len = len;
	say(IPC_credential, &in);
	/* It is wiped once it has been judged. */
	if (is_due && len > 0 && len <= LIMIT_CREDENTIAL)
		ck_assert(token[0] == 0 && token[len - 1] == 0);
	ck_assert_uint_eq(token[LIMIT_CREDENTIAL], 'x');
}

START_TEST(test_credential)
{
	char	 want[200];

	c.token = CHILD_TOKEN_AWAITED;
	judged = _i == 0 ? 0 : 401;
	show(LIMIT_CREDENTIAL);
	snprintf(want, sizeof(want), "judge=%zu judged status=%u %s",
	    (size_t)LIMIT_CREDENTIAL, judged, _i == 0 ? "" : "because");
	ck_did(want);
	ck_assert_int_eq(c.token, _i == 0 ? CHILD_TOKEN_GOOD :
	    CHILD_TOKEN_REFUSED);
	/* Each guess takes a connection. */
	show(3);
	ck_did("violates: credential");
}
END_TEST

START_TEST(test_credential_wrong)
{
	c.token = CHILD_TOKEN_AWAITED;
	show(LIMIT_CREDENTIAL + 1);
	ck_did("violates: credential");
	ck_assert_int_eq(c.token, CHILD_TOKEN_AWAITED);
	c.token = CHILD_TOKEN_NONE;
	show(3);
	ck_did("violates: credential");
	c.token = CHILD_TOKEN_AWAITED;
	judged = 401;
	show(0);
	ck_did("judge=0 judged status=401 because");
}
END_TEST

static void
greeted(size_t len, int fd)
{
	static uint8_t	 message[LIMIT_FIRST_MESSAGE + 1];
	Ipc__Greeted	 in = IPC__GREETED__INIT;

	c.state = CHILD_GREETING;
	in.message.data = message;
	in.message.len = len;
	say_with(IPC_greeted, &in, fd);
}

START_TEST(test_greeted)
{
	char	 want[100];

	c.token = CHILD_TOKEN_GOOD;
	greeted(LIMIT_FIRST_MESSAGE, 77);
	snprintf(want, sizeof(want), "leaves pass on=%zu",
	    (size_t)LIMIT_FIRST_MESSAGE);
	ck_did(want);
	greeted(LIMIT_FIRST_MESSAGE + 1, 77);
	ck_did("violates: greeted");
	greeted(5, -1);
	ck_did("leaves");
	for (c.token = 0; c.token < CHILD_TOKENS; c.token++)
		if (c.token != CHILD_TOKEN_GOOD) {
			greeted(5, 77);
			ck_did("violates: greeted");
		}
}
END_TEST

/* --- a session --- */

START_TEST(test_session)
{
	SAY(attached, Attached, );
	SAY(detached, Detached, );
	SAY(operate, Operate, .ticket = 4);
	ck_did("attached detached operate=4");
	SAY(load, Load, .running = 10);
	SAY(load, Load, .running = 11);
	SAY(load, Load, .running = 9);
	ck_did("running=10 running=10 running=9");
	c.route = NULL;
	SAY(attached, Attached, );
	SAY(detached, Detached, );
	ck_did("");
	SAY(operate, Operate, .ticket = 4);
	ck_did("violates: operate");
}
END_TEST

START_TEST(test_end)
{
	Ipc__Used	 used = IPC__USED__INIT;

	if (_i > 1)
		c.route = NULL;
	if (_i == 4)
		SAY(ended, Ended, .why = over, .used = &used);
	else if (_i % 2 == 0)
		SAY(released, Released, .retain_ms = 100, .used = &used);
	else
		SAY(ended, Ended, .reason = IPC__END_REASON__EXPIRED,
		    .why = over, .used = &used);
	ck_did(_i > 1 ? "leaves" : _i == 0 ? "leaves used release=50" :
	    "leaves used gone: over");
	ck_assert_uint_eq(m.world.stats[STAT_expired], _i % 2 == 1);
}
END_TEST

START_TEST(test_memory)
{
	char	 want[100];

	grants = (struct held){ _i == 1 ? 6 : 7, _i == 2 ? 2 : 3 };
	SAY(memory_ask, MemoryAsk, .output = 7, .message = 3);
	snprintf(want, sizeof(want), "memory output=%d message=%d",
	    _i == 1 ? 6 : 7, _i == 2 ? 2 : 3);
	ck_did(want);
	ck_assert_uint_eq(m.world.stats[STAT_memory_refused], _i != 0);
	c.route = NULL;
	SAY(memory_ask, MemoryAsk, .output = 7, .message = 3);
	ck_did("");
}
END_TEST

START_TEST(test_transcript)
{
	SAY(transcript_ask, TranscriptAsk, .ticket = 4);
	ck_did("violates: transcript");
	c.transcripts = CHILD_TRANSCRIPTS_WANTED;
	SAY(transcript_ask, TranscriptAsk, .ticket = 4, .terminal = true);
	ck_did("terminal=1 record transcript ticket=4");
	file_fails = true;
	SAY(transcript_ask, TranscriptAsk, .ticket = 5);
	ck_did("terminal=0 transcript_refused No space left on device");
	ck_assert_int_eq(c.transcripts, CHILD_TRANSCRIPTS_REFUSED);
	c.route = NULL;
	SAY(transcript_ask, TranscriptAsk, .ticket = 5);
	ck_did("violates: transcript");
}
END_TEST

/* --- the audit log --- */

START_TEST(test_command)
{
	char	*argument[] = { x, x }, want[200];

	SAY(command, Command, .missed = 2, .pid = 7, .program = x,
	    .cwd = x, .n_argument = 2, .argument = argument, .cut = true);
	snprintf(want, sizeof(want), "missed=2 audit %d pid=7 arguments=2 "
	    "cut=1", AUDIT_process_started);
	ck_did(want);
	SAY(command, Command, .pid = 7, .program = x, .cwd = x);
	snprintf(want, sizeof(want), "missed=0 audit %d pid=7",
	    AUDIT_process_started);
	ck_did(want);
	SAY(command_ended, CommandEnded, .pid = 7, .signal = 9,
	    .exit_code = 1, .ms = 1999);
	snprintf(want, sizeof(want), "missed=0 audit %d pid=7 signal=9 "
	    "seconds=1", AUDIT_process_ended);
	ck_did(want);
	SAY(command_ended, CommandEnded, .pid = 7, .exit_code = 1,
	    .ms = 2000);
	snprintf(want, sizeof(want), "missed=0 audit %d pid=7 exit=1 "
	    "seconds=2", AUDIT_process_ended);
	ck_did(want);
}
END_TEST

START_TEST(test_net_refused)
{
	char	 want[200];

	SAY(net_refused, NetRefused, .host = x, .port = 1, .why = x,
	    .count = 3, .missed = 1);
	snprintf(want, sizeof(want), "missed=1 audit %d count=3",
	    AUDIT_network_refused);
	ck_did(want);
	ck_assert_uint_eq(m.world.stats[STAT_net_refused], 3);
	/* One worker cannot make the counter start anew. */
	SAY(net_refused, NetRefused, .host = x, .why = x,
	    .count = UINT64_MAX);
	ck_assert_uint_eq(m.world.stats[STAT_net_refused],
	    (uint64_t)UINT32_MAX + 3);
}
END_TEST

/* Without a session, or such a log, there is nothing to write. */
START_TEST(test_no_audit)
{
	if (_i == 0)
		c.route = NULL;
	else
		m.world.logs.audit = NULL;
	SAY(command, Command, .program = x, .cwd = x);
	SAY(command_ended, CommandEnded, .pid = 7);
	SAY(net_refused, NetRefused, .host = x, .why = x, .count = 3);
	ck_did("");
	ck_assert_uint_eq(m.world.stats[STAT_net_refused], 3);
}
END_TEST

/* --- adopted --- */

START_TEST(test_orphan)
{
	c.state = CHILD_AWAITED;
	route.opened = true;
	route.attached = _i == 1;
	SAY(orphan, Orphan, .version = x, .attached = true, .running = 12);
	ck_did(_i == 1 ? "serving adopted operates=1 running=10 on_adopted" :
	    "serving adopted operates=1 attached running=10 on_adopted");
	ck_assert_str_eq(c.version, "x");
	ck_assert_uint_eq(m.world.stats[STAT_adopted], 1);
	ck_assert_uint_eq(m.world.stats[STAT_opened], 0);
}
END_TEST

/* Its client had the answer, and the master before did not know. */
START_TEST(test_orphan_new)
{
	char	 want[200];

	c.state = CHILD_AWAITED;
	c.end = CHILD_STOPS;
	m.world.logs.file = (struct logfile *)8;
	route.attached = true;
	grants = (struct held){ _i, 1 - _i };
	SAY(orphan, Orphan, .version = x, .output = _i, .message = 1 - _i);
	snprintf(want, sizeof(want), "serving adopted operates=1 log_pipe "
	    "opened=0 audit %d detached running=0 memory output=%d "
	    "message=%d stop on_adopted", AUDIT_session_opened, _i, 1 - _i);
	ck_did(want);
	ck_assert_uint_eq(m.world.stats[STAT_opened], 1);
}
END_TEST

/* --- what else happens --- */

START_TEST(test_state)
{
	c.state = _i;
	child_msg_events.on_state(&c);
	ck_did(_i == CHILD_GREETING || _i == CHILD_HANDING ? "" : "left");
}
END_TEST

START_TEST(test_events)
{
	child_msg_events.on_pid(&c);
	ck_did("record");
	ck_assert_uint_gt(c.started, 0);
	c.client = CHILD_SPARE;
	child_msg_events.on_early_death(&c);
	ck_did("death");
	c.state = CHILD_LEAVING;
	c.chan = NULL;
	child_msg_events.on_settled(&c);
	ck_did("pool ctl lose");
	c.route = NULL;
	child_msg_events.on_settled(&c);
	ck_did("pool ctl");
	child_msg_events.on_pid(&c);
	ck_did("");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("child_msg");
	TCase	*t = tcase_create("child_msg");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_loop_test(t, test_illegal, 0, CHILD_STATES);
	tcase_add_test(t, test_late);
	tcase_add_test(t, test_handover);
	tcase_add_loop_test(t, test_opened, 0, 4);
	tcase_add_loop_test(t, test_turned_away, 0, 2);
	tcase_add_test(t, test_unlimited);
	tcase_add_loop_test(t, test_credential, 0, 2);
	tcase_add_test(t, test_credential_wrong);
	tcase_add_test(t, test_greeted);
	tcase_add_test(t, test_session);
	tcase_add_loop_test(t, test_end, 0, 5);
	tcase_add_loop_test(t, test_memory, 0, 3);
	tcase_add_test(t, test_transcript);
	tcase_add_test(t, test_command);
	tcase_add_test(t, test_net_refused);
	tcase_add_loop_test(t, test_no_audit, 0, 2);
	tcase_add_loop_test(t, test_orphan, 0, 2);
	tcase_add_loop_test(t, test_orphan_new, 0, 2);
	tcase_add_loop_test(t, test_state, 0, CHILD_STATES);
	tcase_add_test(t, test_events);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
