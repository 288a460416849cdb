/*
 * Why a server refuses a WebSocket: libwebsockets drops the body of its answer.
 * So the request is sent once more, as one of HTTP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/reach/reach_conn.h"
#include "common/net/httpwhy.h"

#define KEY	"AAAAAAAAAAAAAAAAAAAAAA=="	/* nothing comes of it */
#define ANSWER_MAX	4096
#define WHY_MAX	120	/* bytes of a reason that is shown */

struct refusal {
	struct dial	*dial;
	char		 type[64];	/* of the body */
	struct buf	 body;
};

static int
refusal_put_fields(const struct reach *r, struct lws *wsi, uint8_t **p,
    uint8_t *end)
{
	const char	*bearer = r->authorization;

	if (dial_put_field(wsi, "upgrade:", "websocket", p, end) != 0 ||
	    dial_put_field(wsi, "connection:", "upgrade", p, end) != 0 ||
	    dial_put_field(wsi, "sec-websocket-key:", KEY, p, end) != 0 ||
	    dial_put_field(wsi, "sec-websocket-version:", "13", p, end) != 0)
		return -1;
	return bearer == NULL ? 0 : dial_put_field(wsi, "authorization:",
	    bearer, p, end);
}

static int
refusal_on_event(void *arg, struct lws *wsi, enum lws_callback_reasons reason,
    void *in, size_t len)
{
	struct reach	*r = arg;
	struct refusal	*f = r->refusal;
	int		 n;

	switch (reason) {
	case LWS_CALLBACK_CLIENT_APPEND_HANDSHAKE_HEADER:
		return refusal_put_fields(r, wsi, in, *(uint8_t **)in + len);
	case LWS_CALLBACK_ESTABLISHED_CLIENT_HTTP:
		n = lws_hdr_copy(wsi, f->type, sizeof(f->type),
		    WSI_TOKEN_HTTP_CONTENT_TYPE);
		if (n <= 0)
			f->type[0] = '\0';
		return 0;
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP:
		return dial_pull(wsi);
	case LWS_CALLBACK_RECEIVE_CLIENT_HTTP_READ:
		return buf_put(&f->body, in, len);
	default:
		return 0;
	}
}

/* It is over: say what it said, or at least the status. */
static void
refusal_on_end(void *arg, unsigned status, const char *text)
{
	struct reach	*r = arg;
	struct refusal	*f = r->refusal;
	struct span	 type = { f->type, strlen(f->type) };
	struct span	 body = { (char *)buf_data(&f->body), f->body.len };
	struct span	 why;

	(void)status;
	(void)text;
	why = httpwhy_find(type, body, (struct span){ "Forbidden", 9 });
	if (why.len > WHY_MAX)
		why.len = WHY_MAX;
	reach_fail(r, true, "the server refused: HTTP 403 Forbidden%s%.*s",
	    why.len > 0 ? ": " : "", (int)why.len, why.at);
	dial_free(&f->dial);
}

static const struct dial_events	 refusal_events = {
	refusal_on_event, refusal_on_end
};

int
reach_ask_why(struct reach *r)
{
	if (r->refusal != NULL ||
	    (r->refusal = calloc(1, sizeof(*r->refusal))) == NULL)
		return -1;
	buf_init(&r->refusal->body, ANSWER_MAX);
	r->refusal->dial = dial_new(&r->dialer, &r->target, "GET",
	    r->reach_target.connect_ms, &refusal_events, r);
	return r->refusal->dial == NULL ? -1 : 0;
}

void
reach_refusal_fini(struct reach *r)
{
	if (r->refusal == NULL)
		return;
	dial_free(&r->refusal->dial);
	buf_fini(&r->refusal->body);
	free(r->refusal);
	r->refusal = NULL;
}
