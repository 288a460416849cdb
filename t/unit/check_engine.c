/*
 * master/hub/fleet/engine_nats: what two hubs say to each other, and who gets
 * an environment that both want.  The link is ours: it hands what one sends to
 * the other, as a server would do.
 */
#include <check.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/hub/fleet/engine_nats_priv.h"

#define HUBS	2
#define SKEW	60000	/* ms; the machine may stand still */
#define ENV	"env.1"

static const char	 secret[] = "0123456789abcdef0123456789abcdef";
static const char	 other[] = "another secret, as long as needed";

struct natslink {
	const struct natslink_events	*events;
	void				*arg;
	bool				 is_up;
	unsigned			 subs, unsubs, doubts;
	struct {
		char	 subject[256], name[64];
	}				 sub[8];	/* "": none */
	struct buf			 out;	/* what was not handed over */
};

static struct hub {
	struct engine		*engine;
	struct natslink		*link;
	/* What it was asked, and how it answers. */
	bool			 keeps, has_place;
	unsigned		 claimed, asked, evicted, ups, downs;
	bool			 is_later, is_answered;
	struct engine_claim	 claim;
	struct engine_reply	 reply;
} hubs[HUBS], *a = &hubs[0], *b = &hubs[1];

static struct event_base	*base;
static struct ticket_keys	 keys;

/* --- the link --- */

struct natslink *
natslink_new(const struct natslink_how *how, const struct natslink_events *e,
    void *arg)
{
	struct natslink	*l = calloc(1, sizeof(*l));

	ck_assert_ptr_nonnull(l);
	ck_assert_ptr_eq(how->base, base);
	l->events = e;
	l->arg = arg;
	buf_init(&l->out, SIZE_MAX / 2);
	return l;
}

void
natslink_free(struct natslink **lp)
{
	buf_fini(&(*lp)->out);
	free(*lp);
	*lp = NULL;
}

bool
natslink_is_up(const struct natslink *l)
{
	return l->is_up;
}

struct event_base *
natslink_base(const struct natslink *l)
{
	(void)l;
	return base;
}

void
natslink_send(struct natslink *l, const struct buf *sent)
{
	if (l->is_up && sent->len > 0)
		ck_assert_int_eq(buf_put(&l->out, buf_data(sent), sent->len),
		    0);
}

size_t
natslink_queued(const struct natslink *l)
{
	return l->out.len;
}

void
natslink_doubt(struct natslink *l)
{
	l->doubts++;
}

/* --- the server --- */

static void
subscribe(struct natslink *l, const char *line)
{
	char	 subject[256], name[64];
	size_t	 i;

	if (sscanf(line, "UNSUB %63s\r\n", name) == 1) {
		l->unsubs++;
		for (i = 0; i < 8; i++)
			if (strcmp(l->sub[i].name, name) == 0)
				memset(&l->sub[i], 0, sizeof(l->sub[i]));
	} else if (sscanf(line, "SUB %255s %63s\r\n", subject, name) == 2) {
		l->subs++;
		for (i = 0; l->sub[i].name[0] != '\0' &&
		    strcmp(l->sub[i].name, name) != 0; i++)
			ck_assert_uint_lt(i, 7);
		strcpy(l->sub[i].subject, subject);
		strcpy(l->sub[i].name, name);
	}
}

/* A "*" at the end stands for what follows. */
static bool
hears(const struct natslink *l, const char *subject)
{
	const char	*own;
	size_t		 i, n;

	for (i = 0; i < 8; i++) {
		own = l->sub[i].subject;
		n = strlen(own);
		if (strcmp(own, subject) == 0 || (n > 0 && own[n - 1] == '*' &&
		    strncmp(own, subject, n - 1) == 0))
			return true;
	}
	return false;
}

/*
 * Hand over the first operation of one to the other, if that subscribed: as it
 * is with environments, which both have.
 */
static void
hand_over(struct natslink *from, struct natslink *to)
{
	char		 line[512], subject[256], reply[256] = "";
	struct natswire	 w = { .op = NATSWIRE_MSG };
	const char	*text = (const char *)buf_data(&from->out), *end;
	char		*data;
	size_t		 len;

	ck_assert_ptr_nonnull(end = memchr(text, '\n', from->out.len));
	len = (size_t)(end + 1 - text);
	ck_assert_uint_lt(len, sizeof(line));
	memcpy(line, text, len);
	line[len] = '\0';
	buf_drain(&from->out, len);
	subscribe(from, line);
	if (strncmp(line, "PUB ", 4) != 0)
		return;
	if (sscanf(line, "PUB %255s %255s %zu\r\n", subject, reply, &len) != 3)
	{
		reply[0] = '\0';
		ck_assert_int_eq(sscanf(line, "PUB %255s %zu\r\n", subject,
		    &len), 2);
	}
	ck_assert_uint_ge(from->out.len, len + 2);
	ck_assert_ptr_nonnull(data = malloc(len + 1));
	memcpy(data, buf_data(&from->out), len);
	buf_drain(&from->out, len + 2);
	w.subject = (struct span){ subject, strlen(subject) };
	w.reply = (struct span){ reply, strlen(reply) };
	w.data = (struct span){ data, len };
	if (strncmp(subject, "p.q.env.", 8) == 0 || hears(to, subject))
		to->events->on_message(to->arg, &w);
	free(data);
}

static void
deliver(struct hub *from, struct hub *to)
{
	while (from->link->out.len > 0)
		hand_over(from->link, to->link);
}

static void
deliver_all(void)
{
	while (a->link->out.len > 0 || b->link->out.len > 0) {
		deliver(a, b);
		deliver(b, a);
	}
}

/* The server says that nobody subscribes to it. */
static void
nobody(struct hub *h, unsigned number)
{
	struct engine_nats	*n = nats_of(h->engine);
	char			 subject[128];
	struct natswire		 w = { .op = NATSWIRE_MSG,
				    .status = NATSWIRE_NOBODY };

	snprintf(subject, sizeof(subject), "%s.inbox.%s.%x", n->prefix,
	    n->id_text, number);
	w.subject = (struct span){ subject, strlen(subject) };
	h->link->events->on_message(h->link->arg, &w);
}

/* --- the hubs --- */

static void
on_where(void *arg, const char *environment, const uint8_t *key_hash,
    const struct engine_reply *r)
{
	struct hub		*h = arg;
	struct engine_place	 p = { .hub_url = "http://h",
				    .internal_url = "", .labels = "l",
				    .subject = "s" };

	(void)key_hash;
	h->asked++;
	if (h->has_place)
		h->engine->ops->place(h->engine, environment, r, &p);
	else
		h->engine->ops->yielded(h->engine, environment, r);
}

static void
on_claimed(void *arg, const char *environment, const struct engine_claim *c,
    bool is_later, const struct engine_reply *r)
{
	struct hub	*h = arg;

	h->claimed++;
	h->claim = *c;
	h->is_later = is_later;
	h->is_answered = r != NULL;
	if (r == NULL)
		return;
	h->reply = *r;
	if (h->keeps)
		h->engine->ops->kept(h->engine, environment, r);
	else
		h->engine->ops->yielded(h->engine, environment, r);
}

static void
on_requested(void *arg, const char *environment, struct span text,
    const struct engine_reply *r)
{
	struct hub	*h = arg;

	ck_assert_str_eq(environment, "");
	ck_assert_uint_eq(text.len, 3);
	h->engine->ops->rows(h->engine, environment, r,
	    (struct span){ "row", 3 });
	h->engine->ops->rows(h->engine, environment, r,
	    (struct span){ NULL, 0 });
}

static void
on_evicted(void *arg, const uint8_t *registration)
{
	struct hub	*h = arg;

	ck_assert_int_eq(registration[0], 9);
	h->evicted++;
}

static void
on_each(void *arg, void (*fn)(void *fn_arg, const char *environment),
    void *fn_arg)
{
	const struct hub	*h = arg;

	if (h->has_place)
		fn(fn_arg, ENV);
}

static struct engine_claim
claim_of(uint8_t registration)
{
	struct engine_claim	 c;

	memset(&c, 0, sizeof(c));
	memset(c.registration, registration, sizeof(c.registration));
	return c;
}

static bool
on_claim_of(void *arg, const char *environment, struct engine_claim *out)
{
	const struct hub	*h = arg;

	ck_assert_str_eq(environment, ENV);
	*out = claim_of(5);
	return h->has_place;
}

static const struct ticket_keys *
on_keys(void *arg)
{
	(void)arg;
	return &keys;
}

static void
on_state(void *arg, bool is_up)
{
	struct hub	*h = arg;

	h->ups += is_up;
	h->downs += !is_up;
}

static const struct engine_events	 events = {
	.where = on_where, .claimed = on_claimed, .requested = on_requested,
	.evicted = on_evicted, .each = on_each, .claim_of = on_claim_of,
	.keys = on_keys, .state = on_state,
};

static void
up(struct hub *h)
{
	h->link->is_up = true;
	h->link->events->on_up(h->link->arg);
}

static void
down(struct hub *h)
{
	buf_drain(&h->link->out, h->link->out.len);
	h->link->is_up = false;
	h->link->events->on_down(h->link->arg);
}

static void
set_secret(const char *text)
{
	memset(&keys, 0, sizeof(keys));
	ck_assert_int_eq(ticket_keys_add(&keys, text, strlen(text)), 0);
}

static void
setup(void)
{
	struct engine_nats_how	 how = { .skew = SKEW, .prefix = "p.q" };
	size_t			 i;

	ck_assert_int_ne(sodium_init(), -1);
	memset(hubs, 0, sizeof(hubs));
	set_secret(secret);
	ck_assert_ptr_nonnull(base = event_base_new());
	how.link.base = base;
	for (i = 0; i < HUBS; i++) {
		how.link.name = i == 0 ? "a" : "b";
		ck_assert_ptr_nonnull(hubs[i].engine = engine_nats_new(&how,
		    &events, &hubs[i]));
		hubs[i].link = nats_of(hubs[i].engine)->link;
		up(&hubs[i]);
	}
	deliver_all();
}

static void
teardown(void)
{
	size_t	 i;

	for (i = 0; i < HUBS; i++)
		hubs[i].engine->ops->free(hubs[i].engine);
	event_base_free(base);
}

/* --- answers --- */

struct asked {
	struct engine_ask	 ask;
	enum engine_answer	 answer;
	unsigned		 n;
	bool			 has_place;
};

static void
on_answer(void *arg, enum engine_answer answer, const struct engine_place *p)
{
	struct asked	*q = arg;

	q->answer = answer;
	q->has_place = p != NULL;
	q->n++;
	ck_assert_ptr_null(q->ask.pending);
}

static void
claim(struct hub *h, struct asked *q, uint8_t registration)
{
	struct engine_claim	 c = claim_of(registration);

	memset(q, 0, sizeof(*q));
	q->ask.fn = on_answer;
	q->ask.arg = q;
	h->engine->ops->claim(h->engine, ENV, &c, &q->ask);
}

static void
where(struct hub *h, struct asked *q, const uint8_t *key_hash)
{
	memset(q, 0, sizeof(*q));
	q->ask.fn = on_answer;
	q->ask.arg = q;
	h->engine->ops->where(h->engine, ENV, key_hash, &q->ask);
}

#define ANSWERED(q, what) do {					\
	ck_assert_uint_eq((q).n, 1);				\
	ck_assert_int_eq((int)(q).answer, (int)(what));		\
} while (0)

/* --- claims --- */

/* Whoever has it yields it, or keeps it. */
START_TEST(test_claim)
{
	struct asked	 q;

	b->keeps = _i == 1;
	claim(a, &q, 1);
	ck_assert_uint_eq(q.n, 0);
	deliver_all();
	ck_assert_uint_eq(b->claimed, 1);
	ck_assert(b->is_answered);
	ck_assert_mem_eq(b->claim.registration, claim_of(1).registration,
	    REGISTRATION_LEN);
	ANSWERED(q, b->keeps ? ENGINE_FOUND : ENGINE_NOBODY);
}
END_TEST

/* Of two executors that come here the one that registered last goes on. */
START_TEST(test_claim_twice)
{
	struct asked	 first, second;

	claim(a, &first, _i == 0 ? 1 : 2);
	claim(a, &second, _i == 0 ? 2 : _i == 1 ? 1 : 2);
	if (_i == 1) {
		ANSWERED(second, ENGINE_FOUND);
		ck_assert_uint_eq(first.n, 0);
		deliver_all();
		ANSWERED(first, ENGINE_NOBODY);
		return;
	}
	ANSWERED(first, ENGINE_FOUND);
	ck_assert_uint_eq(second.n, 0);
	deliver_all();
	ANSWERED(second, ENGINE_NOBODY);
	ck_assert_uint_eq(first.n, 1);
}
END_TEST

/* Of two that come to two hubs at once one gets it, whoever hears first. */
START_TEST(test_claim_at_once)
{
	static const uint8_t	 ids[][2] = { { 1, 2 }, { 2, 1 }, { 3, 3 },
				    { 1, 2 }, { 2, 1 }, { 3, 3 } };
	const uint8_t		*id = ids[_i];
	struct asked		 x, y;
	bool			 is_first;

	is_first = id[0] > id[1] || (id[0] == id[1] &&
	    memcmp(nats_of(a->engine)->id, nats_of(b->engine)->id,
	    FLEETMSG_ID_LEN) > 0);
	claim(a, &x, id[0]);
	claim(b, &y, id[1]);
	if (_i < 3)
		deliver(a, b);
	else
		deliver(b, a);
	deliver_all();
	ANSWERED(x, is_first ? ENGINE_NOBODY : ENGINE_FOUND);
	ANSWERED(y, is_first ? ENGINE_FOUND : ENGINE_NOBODY);
}
END_TEST

/* What is under way holds it, so that a release does not let go of it. */
START_TEST(test_release)
{
	struct asked	 q;

	claim(a, &q, 1);
	a->engine->ops->release(a->engine, ENV);
	deliver_all();
	ANSWERED(q, ENGINE_NOBODY);
	ck_assert_uint_eq(a->link->unsubs, 0);
	a->engine->ops->release(a->engine, ENV);
	deliver_all();
	ck_assert_uint_eq(a->link->unsubs, 1);
}
END_TEST

START_TEST(test_down)
{
	struct asked	 q, w;

	claim(a, &q, 1);
	where(a, &w, NULL);
	down(a);
	ANSWERED(q, ENGINE_DOWN);
	ANSWERED(w, ENGINE_DOWN);
	claim(a, &q, 1);
	ANSWERED(q, ENGINE_DOWN);
	where(a, &w, NULL);
	ANSWERED(w, ENGINE_DOWN);
	ck_assert(!a->engine->ops->is_up(a->engine));
}
END_TEST

/* What is here is claimed once more when the server is back; nobody answers. */
START_TEST(test_again)
{
	down(a);
	a->has_place = true;
	a->link->subs = 0;
	up(a);
	deliver_all();
	ck_assert_uint_eq(b->claimed, 1);
	ck_assert(b->claim.is_again && !b->is_answered);
	/* Three of the hub's own, and the environment. */
	ck_assert_uint_eq(a->link->subs, 4);
	a->engine->ops->claim_again(a->engine, ENV);
	a->has_place = false;
	a->engine->ops->claim_again(a->engine, ENV);
	deliver_all();
	ck_assert_uint_eq(b->claimed, 2);
}
END_TEST

/* --- who has it --- */

START_TEST(test_where)
{
	static const uint8_t	 hash[HUBKEY_HASH_LEN];
	struct asked		 q;

	b->has_place = true;
	where(a, &q, _i == 0 ? NULL : hash);
	deliver_all();
	ANSWERED(q, ENGINE_FOUND);
	ck_assert(q.has_place);
	/* By key the one that answers knows; else another one may have it. */
	b->has_place = false;
	where(a, &q, _i == 0 ? NULL : hash);
	deliver_all();
	if (_i == 0) {
		ck_assert_uint_eq(q.n, 0);
		a->engine->ops->cancel(a->engine, &q.ask);
		ck_assert_ptr_null(q.ask.pending);
	} else {
		ANSWERED(q, ENGINE_NOBODY);
	}
	where(a, &q, NULL);
	nobody(a, 3);
	ANSWERED(q, ENGINE_NOBODY);
	ck_assert(!q.has_place);
}
END_TEST

/* --- requests --- */

struct requested {
	struct engine_request	 q;
	unsigned		 rows, ends, silent;
};

static void
on_row(void *arg, struct span text, unsigned silent)
{
	struct requested	*r = arg;

	if (text.at != NULL) {
		r->rows++;
		return;
	}
	r->ends++;
	r->silent = silent;
}

START_TEST(test_request)
{
	struct requested	 r = { .q = { .fn = on_row, .arg = &r } };

	a->engine->ops->request(a->engine, NULL, _i == 0 ? "b" : NULL,
	    (struct span){ "ask", 3 }, &r.q);
	ck_assert_uint_eq(r.ends, 0);
	deliver_all();
	ck_assert_uint_eq(r.rows, 1);
	ck_assert_uint_eq(r.ends, 1);
	ck_assert_uint_eq(r.silent, 0);
	ck_assert_ptr_null(r.q.pending);
}
END_TEST

START_TEST(test_evict)
{
	uint8_t	 registration[REGISTRATION_LEN];

	memset(registration, 9, sizeof(registration));
	a->engine->ops->evict(a->engine, registration);
	deliver_all();
	ck_assert_uint_eq(b->evicted, 1);
	ck_assert_uint_eq(a->evicted, 0);
}
END_TEST

/* --- what is not believed --- */

/* What was said once is not heard twice. */
START_TEST(test_replayed)
{
	struct buf	 copy;
	struct asked	 q;

	claim(a, &q, 1);
	buf_init(&copy, SIZE_MAX / 2);
	ck_assert_int_eq(buf_put(&copy, buf_data(&a->link->out),
	    a->link->out.len), 0);
	deliver_all();
	ck_assert_uint_eq(b->claimed, 1);
	ck_assert_int_eq(buf_put(&a->link->out, buf_data(&copy), copy.len),
	    0);
	deliver_all();
	ck_assert_uint_eq(b->claimed, 1);
	ck_assert_uint_eq(b->engine->counts.replayed, 1);
	buf_fini(&copy);
}
END_TEST

/* Neither questions nor answers that another site has signed. */
START_TEST(test_forged)
{
	struct asked	 q;

	claim(a, &q, 1);
	if (_i == 1)
		deliver(a, b);
	set_secret(other);
	deliver_all();
	ck_assert_uint_eq(q.n, 0);
	ck_assert_uint_eq(a->engine->counts.forged, _i == 1);
	ck_assert_uint_eq(b->engine->counts.forged, _i == 0);
	ck_assert_uint_eq(b->claimed, _i == 1);
	a->engine->ops->cancel(a->engine, &q.ask);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("engine");
	TCase	*t = tcase_create("engine");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_loop_test(t, test_claim, 0, 2);
	tcase_add_loop_test(t, test_claim_twice, 0, 3);
	tcase_add_loop_test(t, test_claim_at_once, 0, 6);
	tcase_add_test(t, test_release);
	tcase_add_test(t, test_down);
	tcase_add_test(t, test_again);
	tcase_add_loop_test(t, test_where, 0, 2);
	tcase_add_loop_test(t, test_request, 0, 2);
	tcase_add_test(t, test_evict);
	tcase_add_test(t, test_replayed);
	tcase_add_loop_test(t, test_forged, 0, 2);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
