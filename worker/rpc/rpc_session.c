/* initialize, session/close, session/retain (PROTOCOL 4.1, 4.6, 10.1). */
#include "worker/rpc/rpc_priv.h"

#include <stdlib.h>
#include <string.h>

#include "common/ipc/ipc.h"
#include "common/limit.h"
#include "worker/conn/conn.h"
#include "worker/session/link.h"

#define CLIENT_MAX	64	/* bytes of clientName kept for operators */

/* Remember who the client says it is, printable. */
static void
set_client(struct session *s, const struct param_text *name)
{
	size_t	 i, n = name->len < CLIENT_MAX ? name->len : CLIENT_MAX;

	free(s->client);
	if ((s->client = malloc(n + 1)) == NULL)
		return;
	for (i = 0; i < n; i++)
		s->client[i] = name->s[i] >= ' ' && name->s[i] < 0x7f ?
		    name->s[i] : '?';
	s->client[n] = '\0';
}

static void
answer_initialize(struct session *s, struct rpc_req *req)
{
	struct json_out	 o;

	s->receipt_base = conn_pos(s->conn);
	session_attach(s);
	rpc_begin(req, &o);
	json_out_key(&o, "sessionId");
	json_out_str(&o, s->id);
	json_out_key(&o, "environmentInfo");
	rpc_put_environment(s, &o);
	overflow_tell(&s->overflow, &o);
	rpc_end(req, &o);
}

void
rpc_on_decided(struct session *s, struct rpc_req *req, Ipc__Verdict v)
{
	if (v == IPC__VERDICT__YOURS)
		answer_initialize(s, req);
	else
		rpc_error(req, v == IPC__VERDICT__ATTACHED ? ERR_ATTACHED :
		    ERR_UNKNOWN_SESSION, NULL);
}

static void
forget_handing(struct rpc_req *req)
{
	req->session->handing = NULL;
}

void
rpc_session_initialize(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct initialize_params	*p = params;
	char				 id[SESSION_ID_MAX];

	if (msg->len > LIMIT_FIRST_MESSAGE) {
		rpc_error(req, ERR_PARAMS, jsonrpc_too_long);
		return;
	}
	s->has_receipts = p->has_receipts;
	s->holds = p->holds;
	if (p->resume.s == NULL && s->is_full) {
		rpc_error(req, ERR_TOO_MANY, s->is_draining ?
		    "the server drains" : "too many sessions");
		if (!s->was_turned_away)
			link_turned_away(s->link);
		s->was_turned_away = true;
		return;
	}
	if (p->resume.s == NULL || s->resuming) {
		set_client(s, &p->client_name);
		answer_initialize(s, req);
		return;
	}
	if (s->is_stdio || msg->raw == NULL || p->resume.len == 0 ||
	    p->resume.len >= SESSION_ID_MAX ||
	    memchr(p->resume.s, '\0', p->resume.len) != NULL) {
		rpc_error(req, ERR_UNKNOWN_SESSION, NULL);
		return;
	}
	memcpy(id, p->resume.s, p->resume.len);
	id[p->resume.len] = '\0';
	/* Whose session that is only the master knows. */
	if ((s->handing = rpc_keep(req, forget_handing, NULL)) == NULL)
		return;
	set_client(s, &p->client_name);
	session_set_state(s, SESSION_HANDING);
	conn_pause(s->conn, true);
	link_handover(s->link, id, msg->raw, msg->len, conn_fd(s->conn));
}

void
rpc_session_close(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	(void)params;
	(void)msg;
	rpc_ok(req);
	/* Even if that was the end of the connection: it is not resumed. */
	session_close(s);
}

void
rpc_session_retain(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct session_retain_params	*p = params;
	struct json_out			 o;

	(void)msg;
	rpc_begin(req, &o);
	json_out_key(&o, "ttlMs");
	json_out_u64(&o, session_retain(s, p->ttl_ms.n));
	rpc_end(req, &o);
}
