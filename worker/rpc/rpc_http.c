/* http/request: its parameters (PROTOCOL 7.1). */
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/http/http_check.h"
#include "worker/rpc/httpjobs.h"

#define HEADER_COST	32	/* bytes of a header besides its texts */
#define SHOWN		80	/* bytes of a name shown in an error */

extern char **environ;

/* Why the parameters are refused. */
struct refusal {
	enum rpc_err	 err;
	char		 text[256];
};

static int rpc_http_refuse(struct refusal *r, enum rpc_err err, const char *fmt,
    ...) PRINTF(3, 4);

/* Return -1, for the caller to return. */
static int
rpc_http_refuse(struct refusal *r, enum rpc_err err, const char *fmt, ...)
{
	va_list	 ap;

	r->err = err;
	va_start(ap, fmt);
	vsnprintf(r->text, sizeof(r->text), fmt, ap);
	va_end(ap);
	return -1;
}

static int
shown(size_t len)
{
	return len < SHOWN ? (int)len : SHOWN;
}

/* Set the value of h, followed by that of an environment variable. */
static int
rpc_http_read_value(const struct http_header_params *p, struct http_header *h,
    struct refusal *r)
{
	const char	*name = p->name.s, *more = "", *why;
	size_t		 n;

	if (p->variable.s != NULL && (more = http_variable(environ,
	    p->variable.s, p->variable.len, &why)) == NULL)
		return rpc_http_refuse(r, ERR_PARAMS,
		    "http/request header %.*s %s "
		    "%.*s", shown(p->name.len), name, why,
		    shown(p->variable.len), p->variable.s);
	n = strlen(more);
	if (!http_is_value(p->value.s, p->value.len) ||
	    !http_is_value(more, n))
		return rpc_http_refuse(r, ERR_PARAMS,
		    "http/request header value is "
		    "invalid for %.*s", shown(p->name.len), name);
	if (p->name.len + p->value.len + n > LIMIT_HTTP_LINE)
		return rpc_http_refuse(r, ERR_PARAMS,
		    "http/request header %.*s is "
		    "longer than %d bytes", shown(p->name.len), name,
		    LIMIT_HTTP_LINE);
	h->is_secret = p->variable.s != NULL;
	if ((h->value = malloc(p->value.len + n + 1)) == NULL)
		return rpc_http_refuse(r, ERR_FAILED, "out of memory");
	memcpy(h->value, p->value.s, p->value.len);
	memcpy(h->value + p->value.len, more, n + 1);
	return 0;
}

static int
read_header(const struct http_header_params *p, struct http_header *h,
    struct refusal *r)
{
	if (!http_is_token(p->name.s, p->name.len, LIMIT_HTTP_LINE))
		return rpc_http_refuse(r, ERR_PARAMS,
		    "http/request header name is invalid");
	if (rpc_http_read_value(p, h, r) == -1)
		return -1;
	if ((h->name = strdup(p->name.s)) == NULL)
		return rpc_http_refuse(r, ERR_FAILED, "out of memory");
	return 0;
}

static int
read_headers(const struct param_each *list, struct http_order *o,
    struct refusal *r)
{
	const struct http_header_params	*p = list->v;
	struct http_header		*h;

	if ((o->headers = calloc(list->n + 1, sizeof(*o->headers))) == NULL)
		return rpc_http_refuse(r, ERR_FAILED, "out of memory");
	while (o->nheaders < list->n) {
		h = &o->headers[o->nheaders];
		if (read_header(&p[o->nheaders++], h, r) == -1)
			return -1;
		o->cost += strlen(h->name) + strlen(h->value) + HEADER_COST;
		if (o->cost > LIMIT_HTTP_HEAD)
			return rpc_http_refuse(r, ERR_PARAMS,
			    "headers are longer "
			    "than %d bytes", LIMIT_HTTP_HEAD);
	}
	return 0;
}

/* Check all members except lists and the body. */
static int
rpc_http_check(struct rpc *rpc, const struct http_request_params *p,
    struct refusal *r)
{
	/* CONNECT would open a tunnel that nothing uses. */
	if (!http_is_token(p->method.s, p->method.len, LIMIT_HTTP_METHOD) ||
	    param_is(&p->method, "CONNECT"))
		return rpc_http_refuse(r, ERR_PARAMS,
		    "http/request method is invalid");
	if (!http_is_url(p->url.s, p->url.len))
		return rpc_http_refuse(r, ERR_PARAMS,
		    "http/request url is invalid");
	if (p->redirects.s != NULL && !param_is(&p->redirects, "follow") &&
	    !param_is(&p->redirects, "stop"))
		return rpc_http_refuse(r, ERR_PARAMS,
		    "redirectPolicy must be follow or stop");
	if (!p->stream)
		return 0;
	if (p->request_id.len > LIMIT_HTTP_ID)
		return rpc_http_refuse(r, ERR_PARAMS,
		    "requestId is longer than %d "
		    "bytes", LIMIT_HTTP_ID);
	if (httpjobs_is_streaming(rpc, p->request_id.s, p->request_id.len))
		return rpc_http_refuse(r, ERR_PARAMS,
		    "http/request streamResponse "
		    "requestId `%.*s` is already active",
		    shown(p->request_id.len), p->request_id.s);
	return 0;
}

static int
read_order(struct rpc *rpc, const struct http_request_params *p,
    struct http_order *o, struct refusal *r)
{
	if (rpc_http_check(rpc, p, r) == -1 ||
	    read_headers(&p->headers, o, r) == -1)
		return -1;
	o->id = p->request_id.s;
	o->id_len = p->request_id.len;
	o->follow = !param_is(&p->redirects, "stop");
	o->stream = p->stream;
	o->has_timeout = p->timeout_ms.given;
	o->timeout_ms = p->timeout_ms.n;
	o->body_len = p->body.len;
	o->cost += p->url.len + p->request_id.len;
	if ((o->method = strndup(p->method.s, p->method.len)) == NULL ||
	    (o->url = strndup(p->url.s, p->url.len)) == NULL ||
	    (o->body_len > 0 && (o->body = malloc(o->body_len)) == NULL))
		return rpc_http_refuse(r, ERR_FAILED, "out of memory");
	if (o->body_len > 0)
		memcpy(o->body, p->body.s, o->body_len);
	return 0;
}

void
rpc_http_request(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct http_order	 o;
	struct refusal		 r;

	(void)msg;
	memset(&o, 0, sizeof(o));
	if (read_order(rpc, params, &o, &r) == -1) {
		rpc_errorf(req, r.err, "%s%s", r.err == ERR_PARAMS ?
		    "invalid params: " : "", r.text);
		http_order_fini(&o);
		return;
	}
	httpjobs_begin(rpc, req, &o);
}
