/*
 * In the place of worker/rpc/rpc.c, for a test of handlers that includes this:
 * what they answer is text.
 */
#pragma once

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/params.h"
#include "common/limit.h"
#include "worker/rpc/rpc.h"

static struct rpc	 rpc;
static char		 did[2000];	/* each with "; " */
static bool		 may_keep = true;
static unsigned		 nkept;		/* in all */
static void		(*on_sent)(void);	/* after rpc_end_b64() */
static char		*answer;	/* the last one that was long */

/* What was done, in order. */
static void PRINTF(1, 2)
tell(const char *format, ...)
{
	size_t	 len = strlen(did);
	va_list	 ap;

	va_start(ap, format);
	vsnprintf(did + len, sizeof(did) - len, format, ap);
	va_end(ap);
	ck_assert_uint_lt(strlen(did) + 3, sizeof(did));
	strcat(did, "; ");
}

#define DID(want)							\
	do {								\
		ck_assert_str_eq(did, want);				\
		did[0] = '\0';						\
	} while (0)

static void
rpc_begin_all(struct env *env)
{
	memset(&rpc, 0, sizeof(rpc));
	memset(env, 0, sizeof(*env));
	rpc.env = env;
	TAILQ_INIT(&rpc.waiting);
	TAILQ_INIT(&rpc.starts);
	json_init(&rpc.json);
	buf_init(&rpc.scratch, LIMIT_MESSAGE);
	did[0] = '\0';
	may_keep = true;
	on_sent = NULL;
	nkept = 0;
}

static void
unkeep(struct rpc_req *req)
{
	if (req->kept)
		TAILQ_REMOVE(&rpc.waiting, req, entry);
	req->kept = false;
}

static void
answered(struct rpc_req *req)
{
	ck_assert_ptr_eq(req->rpc, &rpc);
	unkeep(req);
	buf_drain(&rpc.scratch, rpc.scratch.len);
	if (req->owned)
		free(req);
}

/* The client goes. */
static void
rpc_cancel_all(void)
{
	struct rpc_req	*req;

	while ((req = TAILQ_FIRST(&rpc.waiting)) != NULL) {
		unkeep(req);
		if (req->cancel != NULL)
			req->cancel(req);
		free(req);
	}
}

static void
rpc_end_all(void)
{
	rpc_cancel_all();
	json_fini(&rpc.json);
	buf_fini(&rpc.scratch);
	free(answer);
	answer = NULL;
}

struct rpc_req *
rpc_keep(struct rpc_req *req, void (*cancel)(struct rpc_req *), void *waiter)
{
	struct rpc_req	*k = req;

	if (!req->kept) {
		if (!may_keep) {
			rpc_error(req, ERR_TOO_MANY, "too many wait");
			return NULL;
		}
		ck_assert_ptr_nonnull(k = malloc(sizeof(*k)));
		*k = *req;
		k->kept = k->owned = true;
		TAILQ_INSERT_TAIL(&rpc.waiting, k, entry);
		nkept++;
	}
	k->cancel = cancel;
	k->waiter = waiter;
	return k;
}

void
rpc_error(struct rpc_req *req, enum rpc_err err, const char *text)
{
	static const char	*const names[] = {
#define ERR(name, code, meaning)	#name,
#include "proto/err.def"
#undef ERR
	};

	tell("%lld %s: %s", (long long)req->id.number, names[err],
	    text != NULL ? text : "(its row)");
	answered(req);
}

void
rpc_errorf(struct rpc_req *req, enum rpc_err err, const char *fmt, ...)
{
	char	 text[256];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	rpc_error(req, err, text);
}

struct json_out *
rpc_begin(struct rpc_req *req, struct json_out *o)
{
	unkeep(req);
	json_out_init(o, &rpc.scratch);
	json_out_open(o, '{');
	return o;
}

void
rpc_end(struct rpc_req *req, struct json_out *o)
{
	struct buf	*b = &rpc.scratch;

	json_out_close(o, '}');
	ck_assert_int_eq(json_out_fini(o), 0);
	if (b->len < sizeof(did) / 2) {
		tell("%lld %.*s", (long long)req->id.number, (int)b->len,
		    (char *)buf_data(b));
	} else {
		tell("%lld long", (long long)req->id.number);
		free(answer);
		answer = strndup((char *)buf_data(b), b->len);
		ck_assert_ptr_nonnull(answer);
	}
	answered(req);
}

void
rpc_put_b64(struct json_out *o, const void *data, size_t len,
    struct rpc_b64 *part)
{
	part->data = data;
	part->len = len;
	json_out_str(o, "*");
}

void
rpc_end_b64(struct rpc_req *req, struct json_out *o,
    const struct rpc_b64 *parts, size_t n, struct buf *data)
{
	ck_assert(n == 1 && parts->len == data->len);
	ck_assert(data->len == 0 || parts->data == buf_data(data));
	tell("body %zu %.*s", data->len, data->len > 5 ? 5 : (int)data->len,
	    (char *)buf_data(data));
	buf_fini(data);
	rpc_end(req, o);
	if (on_sent != NULL)
		on_sent();
}

void
rpc_ok(struct rpc_req *req)
{
	struct json_out	 o;

	rpc_end(req, rpc_begin(req, &o));
}

void
rpc_status(struct rpc_req *req, const char *status)
{
	struct json_out	 o;

	rpc_begin(req, &o);
	json_out_pair(&o, "status", status);
	rpc_end(req, &o);
}

/* A request with a number, whose params are this JSON, for a handler. */
#define ASK(group, handler, id_, json_)				\
	do {								\
		struct rpc_req		 req = { .rpc = &rpc,		\
					    .id = { .number = id_ } };	\
		struct group##_params	 p;				\
		struct param_error	 why;				\
		static char		 copy[8192];			\
		const struct rpc_message msg = { NULL, 0 };		\
									\
		ck_assert_uint_lt(strlen(json_) + 12, sizeof(copy));	\
		sprintf(copy, "{\"params\":%s}", json_);		\
		ck_assert_int_eq(json_parse(&rpc.json, copy,		\
		    strlen(copy)), 0);					\
		ck_assert_msg(params_decode(&rpc.json,			\
		    json_find(&rpc.json, 0, "params"), fields_##group,	\
		    &p, sizeof(p), false, &why) == 0, "%s", why.text);	\
		handler(&rpc, &req, &p, &msg);				\
	} while (0)
