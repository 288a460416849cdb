/* From a lost connection to the next one, and what was missed between them. */
#include "common/client/carry/carried.h"
#include "common/client/carry/carried_priv.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/text.h"

#define INITIALIZE_MAX	(64 * 1024)
#define INTERNAL_ERROR	(-32603)

/* --- the connection is lost --- */

/* 0, or -1 with errno. */
static int
answer_lost(struct carried *c, const struct carried_request *r)
{
	struct json_out	 o;

	carried_begin(c, &o);
	json_out_key(&o, "id");
	json_out_raw(&o, r->id, strlen(r->id));
	json_out_key(&o, "error");
	json_out_open(&o, '{');
	json_out_key(&o, "code");
	json_out_i64(&o, INTERNAL_ERROR);
	json_out_pair(&o, "message", "the connection to the server was lost "
	    "before the answer");
	return carried_end(c, &o, 2, c->ops->to_client);
}

/* A stream or a watch ends with its connection.  0, or -1 with errno. */
static int
end_object(struct carried *c, struct carried_object *x)
{
	struct json_out	 o;

	if (x->kind == KIND_STREAM) {
		carried_begin_note(c, &o, "http/request/bodyDelta", "requestId",
		    x->name);
		json_out_pair_u64(&o, "seq", x->next_seq);
		json_out_pair(&o, "deltaBase64", "");
		json_out_pair_bool(&o, "done", true);
		json_out_pair(&o, "error", "the connection to the server was "
		    "lost");
	} else {
		carried_begin_note(c, &o, "fs/missingChanged", "watchId",
		    x->name);
	}
	carried_object_end(c, x);
	return carried_end(c, &o, 2, c->ops->to_client);
}

int
carried_lose(struct carried *c)
{
	struct carried_request	*r, *next;
	struct carried_object	*o, *after;

	c->state = CARRIED_LOST;
	c->received = c->acknowledged = 0;
	c->awaited = 0;
	carried_drop_questions(c);
	for (r = TAILQ_FIRST(&c->requests); r != NULL; r = next) {
		next = TAILQ_NEXT(r, entry);
		if (r->text != NULL)
			continue;
		/* A start may run, but its client is told that it does not. */
		if (answer_lost(c, r) == -1 || (r->kind == KIND_PROCESS &&
		    carried_object_add(&c->unconfirmed, r) == -1))
			return -1;
		carried_request_end(c, r);
	}
	for (o = TAILQ_FIRST(&c->objects); o != NULL; o = after) {
		after = TAILQ_NEXT(o, entry);
		if (o->kind == KIND_PROCESS)
			o->is_behind = true;
		else if (end_object(c, o) == -1)
			return -1;
	}
	return 0;
}

int
carried_resume(struct carried *c, unsigned read_max)
{
	struct json_out	 o;
	struct buf	 b;
	int		 r = -1;

	assert(c->state == CARRIED_LOST);
	c->state = CARRIED_RESUMING;
	c->read_max = read_max;
	buf_init(&b, INITIALIZE_MAX);
	if (opening_put_initialize(c->opening, &b) == 0) {
		carried_begin_request(c, &o, "initialize");
		json_out_raw(&o, (char *)buf_data(&b), b.len);
		r = carried_end(c, &o, 1, c->ops->to_server);
	}
	buf_fini(&b);
	return r;
}

/* Ask for what a process did after what was heard.  0, or -1 with errno. */
static int
ask_read(struct carried *c, struct carried_object *p)
{
	struct json_out	 o;

	carried_begin_request(c, &o, "process/read");
	p->read_id = c->last_id;
	json_out_open(&o, '{');
	json_out_key(&o, "processId");
	json_out_raw(&o, p->name, strlen(p->name));
	json_out_pair_u64(&o, "afterSeq", p->next_seq - 1);
	json_out_pair_u64(&o, "waitMs", 0);
	/* One that holds new output back can be read in pieces. */
	if (opening_can(c->opening, "execsrvHold")) {
		json_out_pair_u64(&o, "maxBytes", c->read_max);
		json_out_pair_bool(&o, "execsrvHold", true);
	}
	return carried_end(c, &o, 2, c->ops->to_server);
}

static int
carried_end_unconfirmed(struct carried *c, struct carried_object *p)
{
	struct json_out	 o;
	int		 r;

	carried_begin_request(c, &o, "process/terminate");
	json_out_open(&o, '{');
	json_out_key(&o, "processId");
	json_out_raw(&o, p->name, strlen(p->name));
	r = carried_end(c, &o, 2, c->ops->to_server);
	TAILQ_REMOVE(&c->unconfirmed, p, entry);
	carried_object_free(p);
	return r;
}

/* All is there again: send what may be sent twice.  0, or -1 with errno. */
static int
carried_go_on(struct carried *c)
{
	struct carried_request	*r;

	c->state = CARRIED_OPEN;
	TAILQ_FOREACH(r, &c->requests, entry)
		if (c->ops->to_server(c->arg, r->text, r->len) == -1)
			return -1;
	return 0;
}

/* The session is there.  0, or -1 with errno. */
static int
carried_on_resumed(struct carried *c)
{
	static const char	 done[] = "{\"method\":\"initialized\"}";
	struct carried_object	*o;

	c->state = CARRIED_BEHIND;
	if (c->ops->to_server(c->arg, done, sizeof(done) - 1) == -1)
		return -1;
	while ((o = TAILQ_FIRST(&c->unconfirmed)) != NULL)
		if (carried_end_unconfirmed(c, o) == -1)
			return -1;
	TAILQ_FOREACH(o, &c->objects, entry)
		if (ask_read(c, o) == -1)
			return -1;
	return 0;
}

/* --- what was missed --- */

/* One event.  from: what has its members.  0, or -1 with errno. */
static int
tell(struct carried *c, struct carried_object *p, const char *method,
    uint32_t from, const char *const *members)
{
	struct json_out	 o;
	uint32_t	 tok;

	carried_begin_note(c, &o, method, "processId", p->name);
	json_out_pair_u64(&o, "seq", p->next_seq++);
	for (; *members != NULL; members++)
		if ((tok = json_find(&c->json, from, *members)) != 0) {
			json_out_key(&o, *members);
			execsrv_put_value(&o, &c->json, tok);
		}
	return carried_end(c, &o, 2, c->ops->to_client);
}

static int
tell_exit(struct carried *c, struct carried_object *p, uint32_t result)
{
	static const char *const	 members[] = {
		"exitCode", "sandboxDenied", NULL
	};

	p->has_exited = true;
	return tell(c, p, "process/exited", result, members);
}

/*
 * Tell the client of a chunk, and before that of the exit, which has no chunk,
 * if one number is missing.  0, or -1 with errno (EPROTO: a gap).
 */
static int
tell_chunk(struct carried *c, struct carried_object *p, uint32_t result,
    uint32_t chunk)
{
	static const char *const	 members[] = {
		"stream", "chunk", NULL
	};
	uint32_t			 tok;
	uint64_t			 seq;

	errno = EPROTO;
	if ((tok = json_find(&c->json, chunk, "seq")) == 0 ||
	    json_u64(&c->json, tok, &seq) == -1)
		return -1;
	if (seq < p->next_seq)
		return 0;
	if (seq == p->next_seq + 1 && !p->has_exited &&
	    execsrv_is_true(&c->json, result, "exited") &&
	    tell_exit(c, p, result) == -1)
		return -1;
	if (seq == p->next_seq)
		return tell(c, p, "process/output", chunk, members);
	errno = EPROTO;
	return -1;
}

/* The same for all; return how many there were. */
static int
tell_chunks(struct carried *c, struct carried_object *p, uint32_t result)
{
	const struct json	*j = &c->json;
	uint32_t		 list = json_find(j, result, "chunks"), i;
	int			 n = 0;

	errno = EPROTO;
	if (list == 0 || json_tok(j, list)->type != JSON_ARRAY)
		return -1;
	for (i = json_first(list); json_more(j, list, i);
	    i = json_after_elem(j, i), n++)
		if (tell_chunk(c, p, result, i) == -1)
			return -1;
	return n;
}

/* The exit and the end have no chunks, and the last numbers. */
static int
tell_ends(struct carried *c, struct carried_object *p, uint32_t result,
    uint64_t next)
{
	static const char *const	 none[] = { NULL };

	if (p->next_seq < next && !p->has_exited &&
	    execsrv_is_true(&c->json, result, "exited") &&
	    tell_exit(c, p, result) == -1)
		return -1;
	p->is_behind = false;
	if (p->next_seq + 1 == next &&
	    execsrv_is_true(&c->json, result, "closed")) {
		if (tell(c, p, "process/closed", result, none) == -1)
			return -1;
		carried_object_end(c, p);
		return 0;
	}
	if (p->next_seq >= next)
		return 0;
	errno = EPROTO;
	return -1;
}

/* The answer to ask_read().  0, or -1 with errno (EPROTO: a gap). */
static int
carried_on_read(struct carried *c, struct carried_object *p, uint32_t result)
{
	uint32_t	 tok = json_find(&c->json, result, "nextSeq");
	uint64_t	 next;
	int		 n;

	errno = EPROTO;
	if (tok == 0 || json_u64(&c->json, tok, &next) == -1 ||
	    (n = tell_chunks(c, p, result)) == -1)
		return -1;
	if (n > 0 && opening_can(c->opening, "execsrvHold"))
		return ask_read(c, p);	/* there may be more */
	return tell_ends(c, p, result, next);
}

/* An answer to one of our requests.  0, or -1 with e. */
int
carried_on_own_answer(struct carried *c, uint64_t id, struct execsrv_error *e)
{
	uint32_t		 result = json_find(&c->json, 0, "result");
	struct carried_object	*p;

	if (c->awaited > 0)
		c->awaited--;
	TAILQ_FOREACH(p, &c->objects, entry)
		if (p->read_id == id)
			break;
	if (result == 0 && (c->state == CARRIED_RESUMING || p != NULL)) {
		execsrv_error_read(&c->json, json_find(&c->json, 0, "error"),
		    e);
		return -1;
	}
	if (c->state == CARRIED_RESUMING ? carried_on_resumed(c) == -1 :
	    p != NULL && carried_on_read(c, p, result) == -1) {
		execsrv_error_set(e, EXECSRV_WHY_GAP, "%s", errno == EPROTO ?
		    "output was lost: the server no longer has it" :
		    strerror(errno));
		return -1;
	}
	if (c->awaited > 0 || carried_go_on(c) == 0)
		return 0;
	execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
	return -1;
}

