/*
 * master/hub/hubfar.c: what an operator elsewhere may, and sees.  The socket
 * and what is done with requests are ours; rules are real.
 */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/hub/hubaudit.h"
#include "master/hub/hubctl.h"
#include "master/hub/hubfar.h"
#include "t/unit/did_help.h"
#include "t/unit/timer_help.h"

#define NAME	"token:me"

static struct site			 site;
static struct hub			 hub;
static struct door			 door;
static struct call			 call;
static struct hubrule			 rule;
static struct hubctl_far		*far;		/* that joined */
static const struct wslink_events	*link_events;
static void				*link_arg;
static unsigned				 others;
static bool				 has_room, has_memory, is_valid,
					 is_busy;
static char				 conn;
static char	 all_names[] = "*", one[] = "e", own[] = "op",
		 *operate[] = { own }, *connect_[] = { one };

/* --- in the place of others --- */

void
call_malformed(struct call *c, const char *message)
{
	did("400 %s", message);
	c->door = NULL;
}

void
call_refuse(struct call *c, enum hub_stat stat, int status,
    const char *lines, const char *code, const char *message)
{
	ck_assert_int_eq((int)stat, HUBWHY_limit);
	did("%d %s%s: %s", status, lines, code, message);
	c->door = NULL;
}

struct hubconn *
door_upgrade(struct door *d, struct span *rest_out)
{
	ck_assert_ptr_eq(d, &door);
	*rest_out = (struct span){ "rest", 4 };
	did("upgrade");
	return (struct hubconn *)&conn;
}

void
door_free(struct door **dp)
{
	ck_assert_ptr_eq(*dp, &door);
	did("free door");
	*dp = NULL;
}

void
hubconn_free(struct hubconn **cp)
{
	ck_assert_ptr_eq(*cp, (struct hubconn *)&conn);
	did("close");
	*cp = NULL;
}

int
wslink_init(struct wslink *l, struct wslinks *all, struct hubconn **cp,
    struct span rest, const struct wslink_events *e, void *arg)
{
	(void)l;
	ck_assert_ptr_eq(all, &hub.board.links);
	ck_assert(span_is(rest, "rest"));
	if (!has_memory)
		return -1;
	*cp = NULL;
	link_events = e;
	link_arg = arg;
	return 0;
}

void
wslink_fini(struct wslink *l, uint16_t code, const char *reason)
{
	(void)l;
	did("end %d%s", code, reason);
}

void
wslink_send_text(struct wslink *l, const void *data, size_t len)
{
	(void)l;
	did("send %.*s", (int)len, (const char *)data);
}

int
hubctl_join(struct hubctl *c, struct hubctl_far *f)
{
	ck_assert_ptr_eq(c, hub.ctl);
	ck_assert_str_eq(f->name, NAME);
	if (has_room)
		far = f;
	return has_room ? 0 : -1;
}

void
hubctl_leave(struct hubctl_far *f)
{
	ck_assert_ptr_eq(f, far);
	did("leave");
	f->ops->free(f);
	far = NULL;
}

void
hubctl_said(struct hubctl_far *f, const void *data, size_t len)
{
	ck_assert_ptr_eq(f, far);
	did("said %.*s", (int)len, (const char *)data);
}

bool
hubctl_is_busy(const struct hubctl_far *f)
{
	ck_assert_ptr_eq(f, far);
	return is_busy;
}

unsigned
hubctl_count(const struct hubctl *c, const char *name)
{
	ck_assert_ptr_eq(c, hub.ctl);
	ck_assert_str_eq(name, NAME);
	return others;
}

void
identity_copy(struct identity *to, const struct identity *from)
{
	*to = *from;
	to->is.name = to->name;
}

bool
site_renew(const struct site *s, uint64_t now, struct identity *who)
{
	ck_assert_ptr_eq(s, &site);
	ck_assert_uint_gt(now, 1000000000);
	ck_assert_str_eq(who->name, NAME);
	return is_valid;
}

void
hubaudit_refused(struct hub *h, const char *what, const char *who,
    const char *environment, const char *address, const char *why)
{
	ck_assert_ptr_eq(h, &hub);
	did("%s %s %s %s %s", what, who, environment, address, why);
}

/* --- the operator --- */

static void
setup(void)
{
	memset(&hub, 0, sizeof(hub));
	memset(&site, 0, sizeof(site));
	memset(&door, 0, sizeof(door));
	memset(&call, 0, sizeof(call));
	memset(&rule, 0, sizeof(rule));
	ck_assert_ptr_nonnull(hub.base = event_base_new());
	hub.site = &site;
	subjects_init(&hub.subjects);
	rule.who = all_names;
	site.conf.rule = &rule;
	site.conf.nrule = 1;
	site.conf.request_rate = 1;
	door.request.is_upgrade = true;
	strcpy(door.address, "192.0.2.1");
	call.hub = &hub;
	call.door = &door;
	strcpy(call.who.name, NAME);
	far = NULL;
	others = 0;
	has_room = has_memory = is_valid = true;
	is_busy = false;
	did_forget();
}

static void
teardown(void)
{
	if (far != NULL)
		hubctl_leave(far);
	subjects_fini(&hub.subjects);
	event_base_free(hub.base);
}

static void
join(void)
{
	hubfar_open(&call);
	ck_did("upgrade; free door");
	ck_assert_ptr_nonnull(far);
	ck_assert_ptr_null(call.door);
}

START_TEST(test_refused)
{
	door.request.is_upgrade = false;
	hubfar_open(&call);
	ck_did("400 a websocket is expected here");
	door.request.is_upgrade = true;
	others = 8;
	call.door = &door;
	hubfar_open(&call);
	ck_did("429 Retry-After: 5\r\ntoo_many_connections: too many "
	    "connections");
	has_room = false;
	others = 7;
	call.door = &door;
	hubfar_open(&call);
	ck_did("end 1000; 503 Retry-After: 5\r\nunavailable: too many "
	    "operators, or out of memory");
	has_room = true;
	has_memory = false;
	call.door = &door;
	hubfar_open(&call);
	ck_did("upgrade; close; leave; end 1000; free door");
	ck_assert_uint_eq(subjects_sweep(&hub.subjects, UINT64_MAX / 2), 1);
}
END_TEST

START_TEST(test_messages)
{
	struct buf	 b;

	join();
	link_events->on_text(link_arg, (const uint8_t *)"text", 4);
	ck_did("said text");
	link_events->on_message(link_arg, (const uint8_t *)"data", 4);
	link_events->on_drained(link_arg);
	ck_did("");
	/* Lines, of which what is behind the last one is none. */
	buf_init(&b, 100);
	ck_assert_int_eq(buf_put(&b, "one\ntwo\nthree", 13), 0);
	far->ops->send(far, &b);
	ck_did("send one; send two");
	ck_assert_uint_eq(b.len, 0);
	buf_fini(&b);
	link_events->on_end(link_arg, "gone");
	ck_did("leave; end 1000");
	ck_assert_uint_eq(subjects_sweep(&hub.subjects, UINT64_MAX / 2), 1);
}
END_TEST

/* One that asks nothing for a while is sent away, but not in a request. */
START_TEST(test_idle)
{
	uint64_t	 before = timer_help_now();

	join();
	ck_assert(timer_help_is_due(hub.base, before, 30000, 30000));
	is_busy = true;
	before = timer_help_now();
	timer_help_fire(hub.base);
	ck_did("");
	ck_assert(timer_help_is_due(hub.base, before, 30000, 30000));
	is_busy = false;
	timer_help_fire(hub.base);
	ck_did("leave; end 1000");
	ck_assert(!timer_help_is_set(hub.base));
}
END_TEST

START_TEST(test_rate)
{
	unsigned	 i;

	join();
	for (i = 0; i < 10; i++)
		ck_assert_uint_eq(far->ops->wait(far), 0);
	ck_assert_uint_eq(far->ops->wait(far), 1);
}
END_TEST

/* --- who may what --- */

#define GONE	"the token is not valid any more"
#define LIST	"no rule lets this token list environments (MayList)"
#define ENV	"no rule lets this token operate environments (MayOperate)"
#define HUBS	"no rule lets this token operate hubs (MayOperateHubs)"
#define HERE	"this is done on the hub's own machine only"

static const struct {
	bool		 lists, operates, hubs;
	const char	*why[4];	/* list, environment, hub, never */
} mays[] = {
	{ false, false, false, { LIST, ENV, HUBS, HERE } },
	{ true, false, false, { NULL, ENV, HUBS, HERE } },
	{ false, true, false, { NULL, NULL, HUBS, HERE } },
	{ false, false, true, { LIST, ENV, NULL, HERE } },
};

static void
set_rule(bool lists, bool operates, bool hubs)
{
	rule.may_list = lists;
	rule.given[HUBRULE_may_list] = lists;
	rule.may_operate_hubs = hubs;
	rule.given[HUBRULE_may_operate_hubs] = hubs;
	rule.may_operate.item = operate;
	rule.may_operate.n = operates ? 1 : 0;
}

START_TEST(test_may)
{
	static const enum hubctl_kind kinds[] = { HUBCTL_LIST,
		HUBCTL_ENVIRONMENT, HUBCTL_HUB, HUBCTL_NEVER };
	size_t			 i, k;
	const char		*why;

	join();
	for (i = 0; i < sizeof(mays) / sizeof(mays[0]); i++)
		for (k = 0; k < 4; k++) {
			set_rule(mays[i].lists, mays[i].operates,
			    mays[i].hubs);
			why = far->ops->why_not(far, kinds[k]);
			ck_assert_str_eq(why != NULL ? why : "it may",
			    mays[i].why[k] != NULL ? mays[i].why[k] :
			    "it may");
		}
	set_rule(false, true, false);
	ck_assert(far->ops->may(far, "op", ""));
	ck_assert(!far->ops->may(far, "e", ""));
	ck_assert(far->ops->renew(far));
	is_valid = false;
	ck_assert(!far->ops->renew(far));
	for (k = 0; k < 4; k++)
		ck_assert_str_eq(far->ops->why_not(far, kinds[k]), GONE);
	far->ops->refused(far, "evict", "e");
	ck_did("evict " NAME " e 192.0.2.1 not_allowed");
	ck_assert_uint_eq(hub.stat[HUBWHY_forbidden], 1);
}
END_TEST

/* --- lists --- */

#define ROW(name) "{\"row\":{\"environment\":\"" name "\",\"labels\":"	\
		"\"a=b\",\"subject\":\"s\",\"since\":7}}"
#define SHORT	"{\"row\":{\"environment\":\"e\",\"labels\":\"a=b\","	\
		"\"since\":7}}"

static void
ck_put(const char *line, const char *want)
{
	struct buf	 b;

	buf_init(&b, 5000);
	ck_assert_int_eq(far->ops->put(far, (struct span){ line,
	    strlen(line) }, &b), *want != '\0');
	ck_assert_uint_eq(b.len, strlen(want));
	if (b.len > 0)
		ck_assert_mem_eq(buf_data(&b), want, b.len);
	buf_fini(&b);
}

/* All of what it operates; of what it may connect to and list, not whose. */
START_TEST(test_put)
{
	char		 line[4200];
	struct buf	 none;

	join();
	rule.may_connect.item = connect_;
	rule.may_connect.n = 1;
	set_rule(false, false, false);
	ck_put(ROW("e"), "");
	set_rule(true, false, false);
	ck_put(ROW("e"), SHORT);
	ck_put(ROW("f"), "");
	ck_put(ROW("op"), "");
	set_rule(false, true, false);
	ck_put(ROW("op"), ROW("op"));
	ck_put(ROW("e"), "");
	set_rule(true, true, false);
	ck_put(ROW("op"), ROW("op"));
	ck_put(ROW("e"), SHORT);
	ck_put("{\"row\":{\"environment\":\"e\",\"labels\":\"a=b\"}}",
	    "{\"row\":{\"environment\":\"e\",\"labels\":\"a=b\",\"since\":0}}");
	ck_put("{\"ok\":true}", "");
	ck_put("{\"row\":", "");
	/* As long as one may be, and longer. */
	snprintf(line, sizeof(line), "%-4096s", ROW("op"));
	ck_put(line, line);
	snprintf(line, sizeof(line), "%-4097s", ROW("op"));
	ck_put(line, "");
	buf_init(&none, 10);
	ck_assert_int_eq(far->ops->put(far, (struct span){ ROW("op"),
	    strlen(ROW("op")) }, &none), -1);
	ck_assert_int_eq(far->ops->put(far, (struct span){ ROW("e"),
	    strlen(ROW("e")) }, &none), -1);
	buf_fini(&none);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("hubfar");
	TCase	*t = tcase_create("hubfar");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_refused);
	tcase_add_test(t, test_messages);
	tcase_add_test(t, test_idle);
	tcase_add_test(t, test_rate);
	tcase_add_test(t, test_may);
	tcase_add_test(t, test_put);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_set_fork_status(r, CK_NOFORK);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
