#include "master/hub/hubcall.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/json/b64.h"
#include "common/json/utf8.h"
#include "common/limit.h"
#include "common/log.h"
#include "master/hub/hubaudit.h"

#define SUITE		"Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"
#define REASON		"x-codex-rendezvous-rejection-reason: "

/* --- refusals --- */

void
call_refuse(struct call *c, enum hub_stat stat, int status, const char *lines,
    const char *code, const char *message)
{
	assert(c->door != NULL && status >= 400);
	c->hub->stat[stat]++;
	hubaudit_refused(c->hub, c->what, c->who.name, c->environment,
	    c->door->address, code);
	log_debug("%s %s refused: %d %s", c->what, c->environment, status,
	    code);
	door_error(&c->door, status, lines, code, message);
}

/* The answers that have but one form. */
void
call_malformed(struct call *c, const char *message)
{
	call_refuse(c, HUBWHY_malformed, 400, NULL, "invalid_request",
	    message);
}

void
call_not_found(struct call *c)
{
	call_refuse(c, HUBWHY_forbidden, 404, NULL, "environment_not_found",
	    "there is no such environment for you");
}

void
call_offline(struct call *c)
{
	call_refuse(c, HUBWHY_offline, 409, HUBCALL_RETRY(1),
	    "environment_offline",
	    "the environment has no executor at the moment");
}

void
call_unknown(struct call *c)
{
	call_refuse(c, HUBWHY_engine, 503, HUBCALL_RETRY(1), "unavailable",
	    "the other hubs cannot be asked at the moment");
}

void
call_no_memory(struct call *c)
{
	call_refuse(c, HUBWHY_limit, 503, HUBCALL_RETRY(5), "unavailable",
	    "out of memory");
}

void
call_reject(struct call *c, enum hub_stat stat, int status, const char *reason)
{
	char	 lines[128];

	snprintf(lines, sizeof(lines), REASON "%s\r\n%s", reason,
	    status == 503 ? HUBCALL_RETRY(1) : "");
	call_refuse(c, stat, status, lines, reason, "the upgrade is refused");
}

/* --- who it is --- */

bool
call_has_penalty(const struct call *c, char lines[HUBCALL_LINES])
{
	const struct hub	*h = c->hub;
	const struct door	*d = c->door;
	uint64_t		 left;

	if (d->address[0] == '\0' || (left = penalties_left(h->penalties,
	    d->address, clock_ms())) == 0)
		return false;
	snprintf(lines, HUBCALL_LINES, "Retry-After: %llu\r\n",
	    (unsigned long long)(left + 999) / 1000);
	return true;
}

void
call_add_penalty(struct call *c, const char *why, bool is_guess)
{
	const struct door	*d = c->door;
	unsigned		 n;

	if (d->address[0] == '\0')
		return;
	if ((n = penalties_add(c->hub->penalties, d->address,
	    is_guess, clock_ms())) > 0)
		log_info("refused %s: %s (%u times)", d->address, why, n);
}

bool
call_identify(struct call *c)
{
	struct hub	*h = c->hub;
	struct door	*d = c->door;
	struct span	 token;
	struct subject	*s;
	const char	*why;
	char		 lines[HUBCALL_LINES];
	unsigned	 wait;
	bool		 is_guess;

	if (!httphead_token(d->request.auth, &token) || token.len == 0) {
		why = "no token";
		is_guess = false;
	} else {
		why = site_identify(h->site, token, (uint64_t)time(NULL),
		    &c->who, &is_guess);
	}
	/* Behind a proxy all have one source: a right token is taken always. */
	if (why != NULL && call_has_penalty(c, lines)) {
		call_refuse(c, HUBWHY_penalty, 429, lines, "rate_limited",
		    "too many wrong tokens from here");
		return false;
	}
	if (why != NULL) {
		call_add_penalty(c, why, is_guess);
		call_refuse(c, HUBWHY_token, 401,
		    "WWW-Authenticate: Bearer\r\n", "invalid_token",
		    "the token is not valid");
		return false;
	}
	if ((s = subject_ref(&h->subjects, c->who.name)) == NULL) {
		call_no_memory(c);
		return false;
	}
	/* One that is looked at again counts once. */
	wait = c->probe != UNKNOWN ? 0 : subject_ask(s,
	    h->site->conf.request_rate, clock_ms());
	subject_unref(&s);
	if (wait > 0)
		call_refuse(c, HUBWHY_rate, 429, HUBCALL_RETRY(1),
		    "rate_limited", "too many requests");
	return wait == 0;
}

/* --- bodies --- */

bool
call_parse(struct call *c)
{
	struct span	 body = c->door->body;

	assert(c->body == NULL);
	if ((c->body = malloc(body.len + 1)) == NULL)
		return false;
	memcpy(c->body, body.at, body.len);
	return utf8_is_valid(c->body, body.len) &&
	    json_parse(&c->json, c->body, body.len) == 0 &&
	    json_tok(&c->json, 0)->type == JSON_OBJECT;
}

static bool
api_take_bytes(const struct json *j, uint32_t i, void *out, size_t size)
{
	uint8_t	 bytes[B64_DECODED_MAX(B64_ENCODED_LEN(HUBKEY_KEM_LEN))];
	size_t	 len;

	if (i == 0 || json_tok(j, i)->type != JSON_STRING)
		return false;
	len = json_tok(j, i)->len;
	if (len != B64_ENCODED_LEN(size) || b64_decode(bytes,
	    json_text(j, i), len) != (ssize_t)size)
		return false;
	memcpy(out, bytes, size);
	return true;
}

bool
call_take_key(const struct call *c, const char *member, struct hubkey *out)
{
	const struct json	*j = &c->json;
	uint32_t		 key = json_find(j, 0, member), suite;

	return key != 0 && (suite = json_find(j, key, "suite")) != 0 &&
	    json_is_text(j, suite, SUITE) &&
	    api_take_bytes(j, json_find(j, key, "x25519_public_key"), out->dh,
	    sizeof(out->dh)) &&
	    api_take_bytes(j, json_find(j, key, "mlkem768_public_key"),
	    out->kem, sizeof(out->kem));
}

bool
call_text_is(const struct call *c, const char *member, const char *text)
{
	uint32_t	 i = json_find(&c->json, 0, member);

	return i != 0 && json_is_text(&c->json, i, text);
}

/* --- answers --- */

void
call_put_key(struct json_out *o, const char *member, const struct hubkey *key)
{
	json_out_key(o, member);
	json_out_open(o, '{');
	json_out_pair(o, "suite", SUITE);
	json_out_key(o, "x25519_public_key");
	json_out_b64(o, key->dh, sizeof(key->dh));
	json_out_key(o, "mlkem768_public_key");
	json_out_b64(o, key->kem, sizeof(key->kem));
	json_out_close(o, '}');
}

void
call_answer(struct call *c, struct json_out *o, struct buf *b)
{
	if (json_out_fini(o) == -1)
		door_error(&c->door, 503, HUBCALL_RETRY(5), "unavailable",
		    "out of memory");
	else
		door_answer(&c->door, 200, NULL, NULL, buf_data(b), b->len);
	buf_fini(b);
}

/* --- probes: does the one who is there live? --- */

struct probing {
	struct hubprobe	 probe;
	struct hub	*hub;
	struct door	*door;
	void		(*again)(struct hub *, struct door *, enum probe);
};

static void
probing_free(void *arg)
{
	struct probing	*p = arg;

	hubprobe_stop(&p->probe);
	free(p);
}

static void
probing_on_answer(void *arg, enum probe probe)
{
	struct probing	*p = arg;
	struct hub	*h = p->hub;
	struct door	*d = p->door;
	void		(*again)(struct hub *, struct door *, enum probe);

	assert(d->cancel == probing_free && d->cancel_arg == p);
	again = p->again;
	d->cancel = NULL;
	probing_free(p);
	again(h, d, probe);
}

void
call_probe(struct call *c, struct executor *x)
{
	struct probing	*p;

	assert(c->probe == UNKNOWN && c->again != NULL);
	if ((p = calloc(1, sizeof(*p))) == NULL) {
		call_no_memory(c);
		return;
	}
	p->hub = c->hub;
	p->door = c->door;
	p->again = c->again;
	door_wait(c->door, probing_free, p);
	hubprobe_start(&p->probe, c->hub, x, probing_on_answer, p);
	c->door = NULL;
}

bool
call_same_key(const struct hubkey *a, const struct hubkey *b)
{
	return memcmp(a, b, sizeof(*a)) == 0;
}
