/* initialize, session/close, session/retain (PROTOCOL 4.1, 4.6, 10.1). */
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc.h"
#include "common/limit.h"
#include "worker/conn/conn.h"

static void
answer_initialize(struct rpc *rpc, struct rpc_req *req)
{
	struct json_out	 o;

	session_attach(rpc->session);
	rpc->phase = PHASE_ATTACHED;
	rpc_begin(req, &o);
	json_out_pair(&o, "sessionId", session_id(rpc->session));
	json_out_key(&o, "environmentInfo");
	rpc_put_environment(rpc, &o);
	overflow_put(rpc->overflow, &o);
	rpc_end(req, &o);
}

void
rpc_on_decided(void *arg, struct rpc_req *req, Ipc__Verdict v)
{
	struct rpc	*rpc = arg;

	if (v == IPC__VERDICT__YOURS)
		answer_initialize(rpc, req);
	else if (v == IPC__VERDICT__LOST)
		rpc_error(req, ERR_UNKNOWN_SESSION, "the session was lost: its "
		    "process died");
	else
		rpc_error(req, v == IPC__VERDICT__ATTACHED ? ERR_ATTACHED :
		    ERR_UNKNOWN_SESSION, NULL);
}

bool
rpc_wants_to_take(const void *text, size_t len)
{
	struct json	 j;
	uint32_t	 params, takes;
	char		*copy = malloc(len + 1);
	bool		 r = false;

	json_init(&j);
	if (copy != NULL && memmem(text, len, "execsrvTake", 11) != NULL) {
		memcpy(copy, text, len);	/* the parser changes it */
		r = json_parse(&j, copy, len) == 0 &&
		    json_tok(&j, 0)->type == JSON_OBJECT &&
		    (params = json_find(&j, 0, "params")) != 0 &&
		    json_tok(&j, params)->type == JSON_OBJECT &&
		    (takes = json_find(&j, params, "execsrvTake")) != 0 &&
		    json_tok(&j, takes)->type == JSON_TRUE;
	}
	json_fini(&j);
	free(copy);
	return r;
}

static void
forget_handing(struct rpc_req *req)
{
	session_forget_handing(req->rpc->session);
}

void
rpc_session_initialize(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct initialize_params	*p = params;
	struct session			*s = rpc->session;
	char				 id[SESSION_ID_MAX];
	const char			*why;

	if (msg->len > LIMIT_FIRST_MESSAGE) {
		rpc_error(req, ERR_PARAMS, jsonrpc_too_long);
		return;
	}
	session_set_delivery(s, p->has_receipts, p->holds);
	if (p->resume.s == NULL && p->operates && session_is_new(s)) {
		session_set_operates(s);
	} else if (p->resume.s == NULL && (why = session_refuses(s)) != NULL) {
		rpc_error(req, ERR_TOO_MANY, why);
		return;
	}
	if (p->resume.s == NULL || session_is_resuming(s)) {
		session_set_client(s, p->client_name.s, p->client_name.len);
		answer_initialize(rpc, req);
		return;
	}
	if (!session_may_hand_over(s) || msg->raw == NULL ||
	    p->resume.len == 0 || p->resume.len >= SESSION_ID_MAX ||
	    memchr(p->resume.s, '\0', p->resume.len) != NULL) {
		rpc_error(req, ERR_UNKNOWN_SESSION, NULL);
		return;
	}
	memcpy(id, p->resume.s, p->resume.len);
	id[p->resume.len] = '\0';
	if ((req = rpc_keep(req, forget_handing, NULL)) == NULL)
		return;
	session_set_client(s, p->client_name.s, p->client_name.len);
	session_hand_over(s, req, id, msg->raw, msg->len);
}

void
rpc_session_close(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	(void)params;
	(void)msg;
	rpc_ok(req);
	/* Also if the answer ended the connection: no client will resume. */
	session_close(rpc->session);
}

void
rpc_session_retain(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct session_retain_params	*p = params;
	struct json_out			 o;

	(void)msg;
	rpc_begin(req, &o);
	json_out_key(&o, "ttlMs");
	json_out_u64(&o, session_retain(rpc->session, p->ttl_ms.n));
	rpc_end(req, &o);
}
