#include "master/hub/hubfar.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/log.h"
#include "master/hub/hubaudit.h"
#include "master/hub/hubctl.h"

#define IDLE_MS		30000	/* without a request */
#define PER_SUBJECT	8	/* connections */
#define ROW_MAX		4096	/* bytes of one, in JSON */

struct hubfar {
	struct hubctl_far	 far;		/* comes first */
	struct hub		*hub;
	struct wslink		 link;
	struct identity		 who;
	struct subject		*subject;
	char			 address[DOOR_ADDRESS_MAX];
	struct timer		 idle;
};

/* --- the websocket --- */

static void
hubfar_on_message(void *arg, const uint8_t *data, size_t len)
{
	(void)arg;
	(void)data;
	(void)len;
}

static void
hubfar_on_text(void *arg, const uint8_t *data, size_t len)
{
	struct hubfar	*f = arg;

	timer_set(&f->idle, IDLE_MS);
	hubctl_said(&f->far, data, len);
}

static void
hubfar_on_drained(void *arg)
{
	(void)arg;
}

static void
hubfar_on_end(void *arg, const char *why)
{
	struct hubfar	*f = arg;

	log_debug("operator %s: %s", f->who.name, why);
	hubctl_leave(&f->far);
}

static const struct wslink_events hubfar_events = {
	.on_message = hubfar_on_message,
	.on_text = hubfar_on_text,
	.on_drained = hubfar_on_drained,
	.on_end = hubfar_on_end,
};

static void
hubfar_on_idle(void *arg)
{
	struct hubfar	*f = arg;

	if (hubctl_is_busy(&f->far))
		timer_set(&f->idle, IDLE_MS);
	else
		hubfar_on_end(f, "idle");
}

/* --- who may what --- */

static struct hubfar *
hubfar_of(struct hubctl_far *far)
{
	return (struct hubfar *)far;
}

static void
hubfar_send(struct hubctl_far *far, struct buf *b)
{
	struct span	 rest = { (const char *)buf_data(b), b->len }, line;

	while (span_cut(&rest, '\n', &line))
		wslink_send_text(&hubfar_of(far)->link, line.at, line.len);
	buf_drain(b, b->len);
}

static unsigned
hubfar_wait(struct hubctl_far *far)
{
	struct hubfar	*f = hubfar_of(far);

	return subject_ask(f->subject, f->hub->site->conf.request_rate,
	    clock_ms());
}

static bool
hubfar_renew(struct hubctl_far *far)
{
	struct hubfar	*f = hubfar_of(far);

	return site_renew(f->hub->site, (uint64_t)time(NULL), &f->who);
}

static const char *
hubfar_why_not(struct hubctl_far *far, enum hubctl_kind kind)
{
	struct hubfar		*f = hubfar_of(far);
	struct subject_limits	 may;

	if (!hubfar_renew(far))
		return "the token is not valid any more";
	hubrules_limits(&f->hub->site->conf, &f->who.is, false, &may);
	switch (kind) {
	case HUBCTL_LIST:
		return may.may_list || may.operates ? NULL :
		    "no rule lets this token list environments (MayList)";
	case HUBCTL_ENVIRONMENT:
		return may.operates ? NULL : "no rule lets this token "
		    "operate environments (MayOperate)";
	case HUBCTL_HUB:
		return may.operates_hubs ? NULL : "no rule lets this token "
		    "operate hubs (MayOperateHubs)";
	default:
		return "this is done on the hub's own machine only";
	}
}

static bool
hubfar_may(struct hubctl_far *far, const char *environment,
    const char *labels)
{
	struct hubfar	*f = hubfar_of(far);

	return hubrules_may_operate(&f->hub->site->conf, &f->who.is,
	    environment, labels);
}

static void
hubfar_refused(struct hubctl_far *far, const char *cmd,
    const char *environment)
{
	struct hubfar	*f = hubfar_of(far);

	HUB_REFUSED(f->hub, forbidden);
	hubaudit_refused(f->hub, cmd, f->who.name, environment, f->address,
	    "not_allowed");
}

/* --- lists --- */

/* Who may only list does not see who has it. */
static int
hubfar_put_short(const char *environment, const char *labels,
    uint64_t since, struct buf *b)
{
	struct json_out	 o;

	json_out_init(&o, b);
	json_out_open(&o, '{');
	json_out_key(&o, "row");
	json_out_open(&o, '{');
	json_out_pair(&o, "environment", environment);
	json_out_pair(&o, "labels", labels);
	json_out_pair_u64(&o, "since", since);
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	return json_out_fini(&o) == -1 ? -1 : 1;
}

static int
hubfar_put_row(struct hubfar *f, struct span line, const struct json *j,
    uint32_t row, struct buf *b)
{
	const struct hubconf	*conf = &f->hub->site->conf;
	struct subject_limits	 may;
	char			 environment[ENVIRONMENT_MAX + 1];
	char			 labels[TICKET_LABELS_MAX + 1];
	uint64_t		 since;
	uint32_t		 i = json_find(j, row, "since");

	json_copy_text(j, json_find(j, row, "environment"), environment,
	    sizeof(environment));
	json_copy_text(j, json_find(j, row, "labels"), labels, sizeof(labels));
	if (i == 0 || json_u64(j, i, &since) == -1)
		since = 0;
	if (hubfar_may(&f->far, environment, labels))
		return buf_put(b, line.at, line.len) == -1 ? -1 : 1;
	hubrules_limits(conf, &f->who.is, false, &may);
	return may.may_list && hubrules_may_connect(conf, &f->who.is,
	    environment, labels) == RULES_YES ? hubfar_put_short(environment,
	    labels, since, b) : 0;
}

static int
hubfar_put(struct hubctl_far *far, struct span line, struct buf *b)
{
	struct json	 j;
	uint32_t	 row;
	char		 text[ROW_MAX];
	int		 r = 0;

	if (line.len > sizeof(text))
		return 0;
	memcpy(text, line.at, line.len);	/* is parsed in place */
	json_init(&j);
	if (json_parse(&j, text, line.len) == 0 &&
	    (row = json_find(&j, 0, "row")) != 0)
		r = hubfar_put_row(hubfar_of(far), line, &j, row, b);
	json_fini(&j);
	return r;
}

/* --- life --- */

static void
hubfar_free(struct hubctl_far *far)
{
	struct hubfar	*f = hubfar_of(far);

	wslink_fini(&f->link, WSLINK_NORMAL, "");
	timer_stop(&f->idle);
	subject_unref(&f->subject);
	free(f);
}

static const struct hubctl_far_ops hubfar_ops = {
	.send = hubfar_send,
	.wait = hubfar_wait,
	.renew = hubfar_renew,
	.why_not = hubfar_why_not,
	.may = hubfar_may,
	.refused = hubfar_refused,
	.put = hubfar_put,
	.free = hubfar_free,
};

static struct hubfar *
hubfar_new(struct hub *h, const struct call *c)
{
	struct hubfar	*f;

	if ((f = calloc(1, sizeof(*f))) == NULL)
		return NULL;
	f->hub = h;
	f->far.ops = &hubfar_ops;
	f->far.name = f->who.name;
	identity_copy(&f->who, &c->who);
	memcpy(f->address, c->door->address, sizeof(f->address));
	timer_init(&f->idle, h->base, hubfar_on_idle, f);
	if ((f->subject = subject_ref(&h->subjects, f->who.name)) == NULL) {
		free(f);
		return NULL;
	}
	if (hubctl_join(h->ctl, &f->far) == 0)
		return f;
	hubfar_free(&f->far);
	return NULL;
}

void
hubfar_open(struct call *c)
{
	struct hub	*h = c->hub;
	struct hubfar	*f;
	struct hubconn	*conn;
	struct span	 rest;

	if (!c->door->request.is_upgrade) {
		call_malformed(c, "a websocket is expected here");
		return;
	}
	if (hubctl_count(h->ctl, c->who.name) >= PER_SUBJECT) {
		call_refuse(c, HUBWHY_limit, 429, HUBCALL_RETRY(5),
		    "too_many_connections", "too many connections");
		return;
	}
	if ((f = hubfar_new(h, c)) == NULL) {
		call_refuse(c, HUBWHY_limit, 503, HUBCALL_RETRY(5),
		    "unavailable", "too many operators, or out of memory");
		return;
	}
	conn = door_upgrade(c->door, &rest);
	timer_set(&f->idle, IDLE_MS);
	if (wslink_init(&f->link, &h->board.links, &conn, rest,
	    &hubfar_events, f) == -1) {
		log_warn("operator %s", f->who.name);
		hubconn_free(&conn);
		hubctl_leave(&f->far);
	}
	door_free(&c->door);
}
