#include "common/clock.h"
#include "common/dial/registry.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json_out.h"
#include "common/limit.h"
#include "common/log.h"

#define ANSWER_MAX	(64 * 1024)	/* bytes of an answer */
#define BODY_MAX	(64 * 1024)	/* bytes of a request */
#define SCHEME		"Bearer "
#define VERSION		"codex-exec-server-v1"	/* PROTOCOL 12.8 */

struct request {
	TAILQ_ENTRY(request)	 entry;
	struct registry		*registry;
	struct dial		*dial;
	struct wsloop_timer	 soon;
	struct buf		 body, answer;
	bool			 has_body;
	bool			 is_whole;
	unsigned		 status;
	uint64_t		 retry_after;
	char			 stream[LIMIT_RELAY_STREAM_ID + 1];
	uint64_t		 number;	/* of a validation */
	void			(*on_registered)(void *,
				    const struct registry_result *);
	void			(*on_validated)(void *, uint64_t,
				    enum registry_verdict);
	void			(*on_connection)(void *,
				    const struct registry_connection *);
	char			 why[160];	/* it has no answer */
	void			*arg;
};

/* --- */

int
registry_init(struct registry *r, struct dialer *d, const char *url,
    enum answer_kind kind, const char *environment, const char *name,
    const uint8_t nonce[REGISTRY_NONCE])
{
	struct target	 t;

	memset(r, 0, sizeof(*r));
	TAILQ_INIT(&r->requests);
	r->dialer = d;
	r->kind = kind;
	r->environment = environment;
	r->name = name;
	r->nonce = nonce;
	if (target_parse(&r->base, url, "http", "https") == -1 ||
	    strchr(r->base.path, '?') != NULL) {
		errno = EINVAL;
		return -1;
	}
	t = r->base;
	return target_append(&t, "/cloud/environment/", environment,
	    "/register");
}

static void
request_free(struct request *q)
{
	TAILQ_REMOVE(&q->registry->requests, q, entry);
	wsloop_timer_clear(q->registry->dialer->loop, &q->soon);
	dial_free(&q->dial);
	buf_fini(&q->body);
	buf_fini(&q->answer);
	free(q);
}

static void
forget_bearer(struct registry *r)
{
	if (r->bearer != NULL)
		sodium_free(r->bearer);
	r->bearer = NULL;
}

void
registry_fini(struct registry *r)
{
	while (!TAILQ_EMPTY(&r->requests))
		request_free(TAILQ_FIRST(&r->requests));
	forget_bearer(r);
	assert(TAILQ_EMPTY(&r->requests));
}

int
registry_set_bearer(struct registry *r, const char *token)
{
	size_t	 len = strlen(token);

	forget_bearer(r);
	if (len == 0)
		return 0;
	if ((r->bearer = sodium_malloc(sizeof(SCHEME) + len)) == NULL)
		return -1;
	memcpy(r->bearer, SCHEME, sizeof(SCHEME) - 1);
	memcpy(r->bearer + sizeof(SCHEME) - 1, token, len + 1);
	return 0;
}

/* --- the end of a request --- */

/* It is asked every few seconds: say why not once, then hourly. */
static void PRINTF(2, 3)
complain(struct registry *r, const char *fmt, ...)
{
	char	 why[256], text[600];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "registry %s://%.200s%.100s: %s",
	    r->base.is_tls ? "https" : "http", r->base.authority,
	    strcmp(r->base.path, "/") == 0 ? "" : r->base.path, why);
	if (repeat_is_due(&r->said, text, clock_ms()))
		log_warnx("%s", text);
	else
		log_debug("%s", text);
}

static void
report_registered(struct request *q)
{
	struct registry_result	 res;
	char			 code[64];
	char			*text = (char *)buf_data(&q->answer);
	size_t			 len = q->answer.len;

	memset(&res, 0, sizeof(res));
	res.status = q->is_whole ? q->status : 0;
	res.retry_after = q->retry_after;
	if (!q->is_whole) {
		res.result = IPC__REGISTRATION__UNREACHED;
	} else if (q->status == 200) {
		res.result = answer_registration(&res.answer, text, len,
		    q->registry->kind, q->registry->environment) == 0 ?
		    IPC__REGISTRATION__REGISTERED :
		    IPC__REGISTRATION__NONSENSE;
	} else {
		res.result = IPC__REGISTRATION__REFUSED;
		if (answer_error_code(text, len, code, sizeof(code)) &&
		    ((q->status == 503 && strcmp(code,
		    "registration_conflict") == 0) || (q->status == 502 &&
		    strcmp(code, "authentication_service_unavailable") == 0)))
			res.result = IPC__REGISTRATION__CONTENDED;
		complain(q->registry, "registration refused: %u %s", q->status,
		    code);
	}
	if (res.result == IPC__REGISTRATION__NONSENSE)
		complain(q->registry, "registration: not a valid answer");
	if (res.result == IPC__REGISTRATION__REGISTERED)
		repeat_end(&q->registry->said);
	q->on_registered(q->arg, &res);
}

/* The answer may repeat the authorization: do not log it. */
static void
report_validated(struct request *q)
{
	enum registry_verdict	 v = REGISTRY_NO;

	assert(q->on_validated != NULL);
	if (q->is_whole && q->status == 401)
		v = REGISTRY_UNKNOWN_US;
	else if (q->is_whole && q->status == 200 && answer_is_valid(
	    (char *)buf_data(&q->answer), q->answer.len))
		v = REGISTRY_YES;
	q->on_validated(q->arg, q->number, v);
}

/* The answer contains the authorization of a harness: wipe it. */
static void
report_connection(struct request *q)
{
	struct registry_connection	 res;
	struct answer_connection	*answer;
	char				*text = (char *)buf_data(&q->answer);
	size_t				 len = q->answer.len;

	memset(&res, 0, sizeof(res));
	res.status = q->is_whole ? q->status : 0;
	res.why = q->why[0] != '\0' ? q->why : "cannot be asked";
	res.is_distrusted = q->dial != NULL && dial_is_distrusted(q->dial);
	res.retry_after = q->retry_after;
	res.answer = answer = sodium_malloc(sizeof(*answer));
	if (res.status != 200)
		(void)answer_error_code(text, len, res.code,
		    sizeof(res.code));
	else
		res.is_good = answer != NULL && answer_connection(answer, text,
		    len, q->registry->environment) == 0;
	if (len > 0)
		sodium_memzero(text, len);
	q->on_connection(q->arg, &res);
	sodium_free(answer);
}

static void
registry_finish(void *arg)
{
	struct request	*q = arg;

	assert((q->on_connection != NULL) + (q->on_registered != NULL) +
	    (q->on_validated != NULL) == 1);
	if (q->on_connection != NULL)
		report_connection(q);
	else if (q->on_registered != NULL)
		report_registered(q);
	else
		report_validated(q);
	request_free(q);
}

/* Finish from the loop: this may be a callback of the connection. */
static void
schedule_finish(struct request *q)
{
	wsloop_timer_set(q->registry->dialer->loop, &q->soon, 0,
	    registry_finish, q);
}

static void
registry_on_end(void *arg, unsigned status, const char *why)
{
	struct request	*q = arg;

	assert(q->dial != NULL);
	if (q->is_whole)
		return;
	snprintf(q->why, sizeof(q->why), "%s", why);
	if (q->on_registered != NULL)
		complain(q->registry, "%s%s", why, status != 0 ?
		    " in the middle of an answer" : "");
	else
		log_info("registry: cannot validate a harness: %s", why);
	schedule_finish(q);
}

/* --- its course --- */

/* Without the LWS_PRE bytes in front, which libwebsockets writes to. */
static size_t
body_len(const struct request *q)
{
	assert(!q->has_body || q->body.len >= LWS_PRE);
	return q->has_body ? q->body.len - LWS_PRE : 0;
}

static int
registry_add_headers(struct request *q, struct lws *wsi, uint8_t **p,
    uint8_t *end)
{
	const char	*bearer = q->registry->bearer;
	char		 length[24];
	int		 r;

	snprintf(length, sizeof(length), "%zu", body_len(q));
	r = dial_put_field(wsi, "accept:", "*/*", p, end);
	if (r == 0 && q->has_body)
		r = dial_put_field(wsi, "content-type:",
		    "application/json", p, end);
	if (r == 0)
		r = dial_put_field(wsi, "content-length:", length, p, end);
	if (r == 0 && bearer != NULL)
		r = dial_put_field(wsi, "authorization:", bearer, p, end);
	if (r == 0 && q->stream[0] != '\0')
		r = dial_put_field(wsi, "x-codex-noise-stream-id:",
		    q->stream, p, end);
	if (r == 0 && q->has_body)
		lws_client_http_body_pending(wsi, 1);
	return r;
}

static int
send_body(struct request *q, struct lws *wsi)
{
	assert(q->has_body);
	lws_client_http_body_pending(wsi, 0);
	return lws_write(wsi, buf_data(&q->body) + LWS_PRE, body_len(q),
	    LWS_WRITE_HTTP_FINAL) < 0 ? -1 : 0;
}

/* "Retry-After: 120" in ms (RFC 9110 section 10.2.3); 0: none, or a date. */
static uint64_t
read_retry_after(struct lws *wsi)
{
	char	 text[16];
	int	 n, i;

	n = lws_hdr_copy(wsi, text, sizeof(text), WSI_TOKEN_HTTP_RETRY_AFTER);
	if (n <= 0 || n > 6)
		return 0;
	for (i = 0; i < n; i++)
		if (!isdigit((unsigned char)text[i]))
			return 0;
	return (uint64_t)strtoul(text, NULL, 10) * 1000;
}

static int
take_answer(struct request *q, const void *data, size_t len)
{
	if (buf_put(&q->answer, data, len) == 0)
		return 0;
	log_warnx("registry: answer longer than %d bytes", ANSWER_MAX);
	return -1;
}

static int
registry_on_event(void *arg, struct lws *wsi, enum lws_callback_reasons reason,
    void *in, size_t len)
{
	struct request	*q = arg;

	assert(q->dial != NULL);
	switch (reason) {
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		return registry_add_headers(q, wsi, in, *(uint8_t **)in + len);
	case LWS_CALLBACK_CLIENT_HTTP_WRITEABLE:
		return q->has_body ? send_body(q, wsi) : 0;
	case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
		q->status = lws_http_client_http_response(wsi);
		q->retry_after = read_retry_after(wsi);
		return 0;
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
		return dial_pull(wsi);
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
		return take_answer(q, in, len);
	case LWS_CALLBACK_COMPLETED_CLIENT_HTTP:
		q->is_whole = true;
		schedule_finish(q);
		return 0;
	default:
		return 0;
	}
}

static const struct dial_events dial_events = { registry_on_event,
    registry_on_end };

static struct request *
request_new(struct registry *r, void *arg)
{
	struct request	*q;

	if ((q = calloc(1, sizeof(*q))) == NULL)
		return NULL;
	q->registry = r;
	q->arg = arg;
	buf_init(&q->body, BODY_MAX);
	buf_init(&q->answer, ANSWER_MAX);
	TAILQ_INSERT_TAIL(&r->requests, q, entry);
	return q;
}

/* Send, if there is a credential. */
static void
request_send(struct request *q, const char *action)
{
	struct registry	*r = q->registry;
	struct target	 t = r->base;
	const char	*kind = r->kind == ANSWER_PLAIN ? "/cloud/executor/" :
			    "/cloud/environment/";

	assert(q->dial == NULL);
	if (r->bearer == NULL) {
		log_warnx("registry: the credential is missing or has expired");
		schedule_finish(q);
		return;
	}
	if (target_append(&t, kind, r->environment, action) == -1 ||
	    (q->dial = dial_new(r->dialer, &t, "POST", LIMIT_REGISTRY,
	    &dial_events, q)) == NULL) {
		log_warn("registry");
		schedule_finish(q);
	}
}

/* --- questions --- */

static void
put_noise(struct json_out *o, const struct noise_public *key)
{
	json_out_pair(o, "security_profile", ANSWER_PROFILE);
	json_out_key(o, "executor_public_key");
	noise_public_write(o, key);
}

/* The idempotency id is a hash that names this run of the daemon. */
static void
registry_put_plain(struct json_out *o, const struct registry *r)
{
	crypto_hash_sha256_state	 s;
	unsigned char			 hash[crypto_hash_sha256_BYTES];
	char				 hex[2 * sizeof(hash) + 1];
	char				 id[sizeof(hex) + 20];

	crypto_hash_sha256_init(&s);
	crypto_hash_sha256_update(&s, (const void *)r->environment,
	    strlen(r->environment) + 1);
	crypto_hash_sha256_update(&s, (const void *)r->name,
	    strlen(r->name) + 1);
	crypto_hash_sha256_update(&s, (const void *)VERSION, sizeof(VERSION));
	crypto_hash_sha256_update(&s, r->nonce, REGISTRY_NONCE);
	crypto_hash_sha256_final(&s, hash);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(id, sizeof(id), "codex-exec-server-%s", hex);
	json_out_pair(o, "idempotency_id", id);
	json_out_pair(o, "executor_id", r->environment);
	json_out_pair(o, "name", r->name);
	json_out_key(o, "labels");
	json_out_raw(o, "{}", 2);
	json_out_key(o, "metadata");
	json_out_raw(o, "{}", 2);
}

static const uint8_t pre[LWS_PRE];

/* Begin a body: room for libwebsockets, then an object. */
static void
begin_body(struct request *q, struct json_out *o)
{
	q->has_body = true;
	json_out_init(o, &q->body);
	if (buf_put(&q->body, pre, sizeof(pre)) == -1)
		o->error = errno;
	json_out_open(o, '{');
}

static int
end_body(struct json_out *o)
{
	json_out_close(o, '}');
	return json_out_fini(o);
}

void
registry_register(struct registry *r, const struct noise_public *key,
    void (*on_done)(void *arg, const struct registry_result *res), void *arg)
{
	struct registry_result	 failure;
	struct request		*q;
	struct json_out		 o;

	if ((q = request_new(r, arg)) == NULL) {
		memset(&failure, 0, sizeof(failure));
		failure.result = IPC__REGISTRATION__UNREACHED;
		on_done(arg, &failure);
		return;
	}
	q->on_registered = on_done;
	if (r->kind != ANSWER_CLEAR) {
		begin_body(q, &o);
		if (r->kind == ANSWER_NOISE)
			put_noise(&o, key);
		else
			registry_put_plain(&o, r);
		if (end_body(&o) == -1) {
			schedule_finish(q);
			return;
		}
	}
	request_send(q, "/register");
}

void
registry_connect(struct registry *r, const struct noise_public *key,
    void (*on_done)(void *arg, const struct registry_connection *res),
    void *arg)
{
	struct registry_connection	 failure;
	struct request			*q;
	struct json_out			 o;

	if ((q = request_new(r, arg)) == NULL) {
		memset(&failure, 0, sizeof(failure));
		failure.why = "out of memory";
		on_done(arg, &failure);
		return;
	}
	q->on_connection = on_done;
	begin_body(q, &o);
	json_out_key(&o, "harness_public_key");
	noise_public_write(&o, key);
	if (end_body(&o) == -1)
		schedule_finish(q);
	else
		request_send(q, "/connect");
}

void
registry_validate(struct registry *r, const struct registry_question *in,
    void (*on_done)(void *arg, uint64_t number,
    enum registry_verdict verdict), void *arg)
{
	struct request	*q;
	struct json_out	 o;

	if ((q = request_new(r, arg)) == NULL) {
		on_done(arg, in->number, REGISTRY_NO);
		return;
	}
	q->on_validated = on_done;
	q->number = in->number;
	snprintf(q->stream, sizeof(q->stream), "%.*s",
	    (int)in->stream.len, in->stream.at);
	begin_body(q, &o);
	json_out_pair(&o, "executor_registration_id", in->registration);
	json_out_key(&o, "harness_public_key");
	noise_public_write(&o, in->harness);
	json_out_key(&o, "harness_key_authorization");
	json_out_text(&o, in->authorization.at, in->authorization.len);
	if (end_body(&o) == -1) {
		schedule_finish(q);
		return;
	}
	request_send(q, "/validate");
}

void
registry_forget(struct registry *r, uint64_t number)
{
	struct request	*q, *next;

	for (q = TAILQ_FIRST(&r->requests); q != NULL; q = next) {
		next = TAILQ_NEXT(q, entry);
		if (q->on_validated != NULL &&
		    (number == 0 || q->number == number))
			request_free(q);
	}
}
