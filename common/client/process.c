/* Processes: their requests, and their events in order. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/b64.h"
#include "common/client/client_priv.h"
#include "common/clock.h"
#include "common/uri.h"
#include "common/utf8.h"

#define CHUNK_MAX	(64 * 1024)	/* of one process/write */

/* Events that wait for an earlier one: servers rarely send out of order. */
#define EARLY_MAX	4096
#define EARLY_BYTES_MAX	((size_t)16 * 1024 * 1024)
#define EARLY_MS	10000

/* Of ours: what a process said while nobody heard it. */
#define REQUEST_READ	((enum execsrv_request)(EXECSRV_RESIZE + 1))

#define REQUESTS	(REQUEST_READ + 1)

enum event_kind { EV_OUTPUT, EV_EXITED, EV_CLOSED };

struct event {
	TAILQ_ENTRY(event)	 entry;
	uint64_t		 seq;
	enum event_kind		 kind;
	enum execsrv_stream	 stream;
	int			 exit_code;
	uint8_t			*data;
	size_t			 len;
};

TAILQ_HEAD(events, event);

struct execsrv_process {
	TAILQ_ENTRY(execsrv_process)	 entry;
	struct execsrv			*x;
	char				 id[24];
	struct execsrv_hooks		 hooks;
	void				*arg;
	uint64_t			 next_seq;
	bool				 closed;
	struct events			 early;		/* by seq */
	size_t				 nearly, early_bytes;
	uint64_t			 early_since;	/* ms */
	uint64_t			 writes;
	unsigned			 awaited[REQUESTS];
};

/* --- requests --- */

static struct execsrv_call *
begin(struct execsrv_process *p, const char *method,
    enum execsrv_request what, struct json_out *o)
{
	struct execsrv_call	*c;

	if ((c = execsrv_begin(p->x, method, o)) == NULL)
		return NULL;
	c->process = p;
	c->what = what;
	json_out_open(o, '{');
	json_out_key(o, "processId");
	json_out_str(o, p->id);
	return c;
}

static int
end(struct execsrv_process *p, struct execsrv_call *c, struct json_out *o)
{
	enum execsrv_request	 what = c->what;

	json_out_close(o, '}');
	if (execsrv_end(p->x, c, o) == -1)
		return -1;
	p->awaited[what]++;
	return 0;
}

unsigned
execsrv_process_awaits(const struct execsrv_process *p,
    enum execsrv_request what)
{
	return p->awaited[what];
}

static int
simple_request(struct execsrv_process *p, const char *method,
    enum execsrv_request what, bool is_safe)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = begin(p, method, what, &o)) == NULL)
		return -1;
	c->is_safe = is_safe;
	return end(p, c, &o);
}

int
execsrv_process_close_stdin(struct execsrv_process *p)
{
	/* Closed twice is closed; never told it would wait for ever. */
	return simple_request(p, "process/closeStdin", EXECSRV_CLOSE_STDIN,
	    true);
}

int
execsrv_process_terminate(struct execsrv_process *p)
{
	return simple_request(p, "process/terminate", EXECSRV_TERMINATE,
	    false);
}

int
execsrv_process_signal(struct execsrv_process *p, const char *name)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = begin(p, "process/signal", EXECSRV_SIGNAL, &o)) == NULL)
		return -1;
	json_out_key(&o, "signal");
	json_out_str(&o, name);
	return end(p, c, &o);
}

int
execsrv_process_resize(struct execsrv_process *p, uint16_t rows,
    uint16_t cols)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = begin(p, "process/resize", EXECSRV_RESIZE, &o)) == NULL)
		return -1;
	json_out_key(&o, "rows");
	json_out_u64(&o, rows);
	json_out_key(&o, "cols");
	json_out_u64(&o, cols);
	return end(p, c, &o);
}

static int
write_chunk(struct execsrv_process *p, const void *data, size_t len)
{
	struct execsrv_call	*c;
	struct json_out		 o;
	char			 id[24];

	if ((c = begin(p, "process/write", EXECSRV_WRITE, &o)) == NULL)
		return -1;
	c->is_safe = true;		/* the server knows them by their ids */
	snprintf(id, sizeof(id), "w%llu", (unsigned long long)++p->writes);
	json_out_key(&o, "writeId");
	json_out_str(&o, id);
	json_out_key(&o, "chunk");
	json_out_b64(&o, data, len);
	return end(p, c, &o);
}

int
execsrv_process_write(struct execsrv_process *p, const void *data, size_t len)
{
	const char	*from = data;
	size_t		 n;

	for (; len > 0; from += n, len -= n) {
		n = len < CHUNK_MAX ? len : CHUNK_MAX;
		if (write_chunk(p, from, n) == -1)
			return -1;
	}
	return 0;
}

/* --- process/start --- */

static bool
are_utf8(const char *const *list)
{
	for (; *list != NULL; list++)
		if (!utf8_is_valid(*list, strlen(*list)))
			return false;
	return true;
}

/* Whether it can be said in JSON at all.  0, or -1 with errno. */
static int
check_start(const struct execsrv_start *s)
{
	const char *const	*v;

	if (!are_utf8(s->argv) || !are_utf8(s->env)) {
		errno = EILSEQ;
		return -1;
	}
	errno = EINVAL;
	if (s->argv[0] == NULL || s->cwd[0] != '/')
		return -1;
	for (v = s->env; *v != NULL; v++)
		if (**v == '=' || strchr(*v, '=') == NULL)
			return -1;
	return 0;
}

/* Whether a later one has the same name: a key is given but once. */
static bool
is_overridden(const char *const *v)
{
	const char *const	*w;
	size_t			 n = strcspn(*v, "=") + 1;

	for (w = v + 1; *w != NULL; w++)
		if (strncmp(*v, *w, n) == 0)
			return true;
	return false;
}

static void
put_env(struct json_out *o, const char *const *env)
{
	const char *const	*v;
	size_t			 n;

	json_out_key(o, "env");
	json_out_open(o, '{');
	for (v = env; *v != NULL; v++) {
		if (is_overridden(v))
			continue;
		n = strcspn(*v, "=");
		json_out_key_text(o, *v, n);
		json_out_str(o, *v + n + 1);
	}
	json_out_close(o, '}');
}

static void
put_policy(struct json_out *o)
{
	static const char	 all[] = "{\"inherit\":\"all\","
	    "\"ignoreDefaultExcludes\":true,\"exclude\":[],\"set\":{},"
	    "\"includeOnly\":[]}";

	json_out_key(o, "envPolicy");
	json_out_raw(o, all, strlen(all));
}

static void
put_size(struct json_out *o, uint16_t rows, uint16_t cols)
{
	json_out_key(o, "ptySize");
	json_out_open(o, '{');
	json_out_key(o, "rows");
	json_out_u64(o, rows);
	json_out_key(o, "cols");
	json_out_u64(o, cols);
	json_out_close(o, '}');
}

static void
put_start(struct json_out *o, const struct execsrv *x,
    const struct execsrv_start *s, const char *cwd)
{
	const char *const	*v;

	json_out_key(o, "argv");
	json_out_open(o, '[');
	for (v = s->argv; *v != NULL; v++)
		json_out_str(o, *v);
	json_out_close(o, ']');
	json_out_key(o, "cwd");
	json_out_str(o, cwd);
	put_env(o, s->env);
	if (s->inherit)
		put_policy(o);
	json_out_key(o, "tty");
	json_out_bool(o, s->tty);
	json_out_key(o, "pipeStdin");
	json_out_bool(o, s->pipe_stdin);
	if (s->tty && s->rows > 0 && s->cols > 0 &&
	    execsrv_can(x, "execsrvPtySize"))
		put_size(o, s->rows, s->cols);
}

static struct execsrv_process *
process_new(struct execsrv *x, const struct execsrv_hooks *hooks, void *arg)
{
	struct execsrv_process	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->x = x;
	p->hooks = *hooks;
	p->arg = arg;
	p->next_seq = 1;
	TAILQ_INIT(&p->early);
	snprintf(p->id, sizeof(p->id), "p%llu",
	    (unsigned long long)++x->last_process);
	TAILQ_INSERT_TAIL(&x->processes, p, entry);
	return p;
}

struct execsrv_process *
execsrv_process_start(struct execsrv *x, const struct execsrv_start *s,
    const struct execsrv_hooks *hooks, void *arg)
{
	char			 cwd[3 * PATH_MAX + 8];
	struct execsrv_process	*p;
	struct execsrv_call	*c;
	struct json_out		 o;
	int			 error;

	if (check_start(s) == -1 ||
	    uri_from_path(s->cwd, cwd, sizeof(cwd)) == -1 ||
	    (p = process_new(x, hooks, arg)) == NULL)
		return NULL;
	if ((c = begin(p, "process/start", EXECSRV_START, &o)) == NULL)
		goto fail;
	put_start(&o, x, s, cwd);
	if (end(p, c, &o) == -1)
		goto fail;
	return p;
 fail:
	error = errno;
	execsrv_process_free(&p);
	errno = error;
	return NULL;
}

static void
event_free(struct execsrv_process *p, struct event *ev)
{
	TAILQ_REMOVE(&p->early, ev, entry);
	p->nearly--;
	p->early_bytes -= ev->len;
	free(ev->data);
	free(ev);
}

static void
drop_early(struct execsrv_process *p)
{
	while (!TAILQ_EMPTY(&p->early))
		event_free(p, TAILQ_FIRST(&p->early));
}

static void
on_nobodys_read(void *arg, const struct execsrv_answer *a)
{
	struct execsrv	*x = arg;

	(void)a;
	x->behind--;
}

void
execsrv_process_free(struct execsrv_process **pp)
{
	struct execsrv_process	*p = *pp;
	struct execsrv_call	*c;

	*pp = NULL;
	if (p == NULL)
		return;
	TAILQ_FOREACH(c, &p->x->calls, entry)
		if (c->process == p) {
			c->process = NULL;
			if (c->what == REQUEST_READ) {
				c->fn = on_nobodys_read;
				c->arg = p->x;
			}
		}
	drop_early(p);
	TAILQ_REMOVE(&p->x->processes, p, entry);
	free(p);
}

/* --- answers --- */

static void	 on_read(struct execsrv_process *p,
		    const struct execsrv_answer *a);

void
execsrv_process_answer(struct execsrv_process *p, enum execsrv_request what,
    const struct execsrv_answer *a)
{
	const struct execsrv_error	*e = a->error;
	struct execsrv_error		 refused;
	uint32_t			 tok;
	char				 status[32];

	p->awaited[what]--;
	if (what == REQUEST_READ) {
		on_read(p, a);
		return;
	}
	if (e == NULL && (what == EXECSRV_WRITE ||
	    what == EXECSRV_CLOSE_STDIN)) {
		tok = json_find(a->json, a->result, "status");
		execsrv_copy_text(a->json, tok, status, sizeof(status));
		if (tok != 0 && strcmp(status, "accepted") != 0) {
			execsrv_error_set(&refused, 0, "%s", status);
			e = &refused;
		}
	}
	if (p->hooks.on_answer != NULL)
		p->hooks.on_answer(p->arg, what, e);
}

/* --- events --- */

static void
deliver(struct execsrv_process *p, const struct event *ev)
{
	p->next_seq = ev->seq + 1;
	p->x->has_moved = true;
	p->early_since = p->x->clock();
	switch (ev->kind) {
	case EV_OUTPUT:
		if (p->hooks.on_output != NULL)
			p->hooks.on_output(p->arg, ev->stream, ev->data,
			    ev->len);
		break;
	case EV_EXITED:
		if (p->hooks.on_exited != NULL)
			p->hooks.on_exited(p->arg, ev->exit_code);
		break;
	case EV_CLOSED:
		p->closed = true;
		if (p->hooks.on_closed != NULL)
			p->hooks.on_closed(p->arg);
		break;
	}
}

static struct event *
event_copy(const struct event *ev)
{
	struct event	*copy;

	if ((copy = malloc(sizeof(*copy))) == NULL)
		return NULL;
	*copy = *ev;
	copy->data = NULL;
	if (ev->len > 0) {
		if ((copy->data = malloc(ev->len)) == NULL) {
			free(copy);
			return NULL;
		}
		memcpy(copy->data, ev->data, ev->len);
	}
	return copy;
}

/* Keep an event that came before its turn. */
static void
keep(struct execsrv_process *p, const struct event *ev)
{
	struct event	*copy, *at;

	TAILQ_FOREACH_REVERSE(at, &p->early, events, entry)
		if (at->seq <= ev->seq)
			break;
	if (at != NULL && at->seq == ev->seq)
		return;
	if (p->nearly >= EARLY_MAX ||
	    p->early_bytes + ev->len > EARLY_BYTES_MAX) {
		execsrv_lose(p->x, "the server left out an event");
		return;
	}
	if ((copy = event_copy(ev)) == NULL) {
		execsrv_fail(p->x, "out of memory");
		return;
	}
	if (TAILQ_EMPTY(&p->early))
		p->early_since = p->x->clock();
	if (at != NULL)
		TAILQ_INSERT_AFTER(&p->early, at, copy, entry);
	else
		TAILQ_INSERT_HEAD(&p->early, copy, entry);
	p->nearly++;
	p->early_bytes += copy->len;
}

static void
on_event(struct execsrv_process *p, const struct event *ev)
{
	struct event	*next;

	if (p->closed || ev->seq < p->next_seq)
		return;
	if (ev->seq > p->next_seq) {
		keep(p, ev);
		return;
	}
	deliver(p, ev);
	while (!p->closed && (next = TAILQ_FIRST(&p->early)) != NULL &&
	    next->seq <= p->next_seq) {
		if (next->seq == p->next_seq)
			deliver(p, next);
		event_free(p, next);
	}
	/* Behind the last nothing is due: what came early was never meant. */
	if (p->closed)
		drop_early(p);
}

static struct execsrv_process *
find(struct execsrv *x, uint32_t params)
{
	struct execsrv_process	*p;
	uint32_t		 tok = json_find(&x->json, params, "processId");

	if (params != 0 && tok != 0)
		TAILQ_FOREACH(p, &x->processes, entry)
			if (json_is_text(&x->json, tok, p->id))
				return p;
	return NULL;
}

static bool
read_output(const struct json *j, uint32_t params, struct event *ev)
{
	static const char *const	 streams[] = {
		[EXECSRV_STDOUT] = "stdout", [EXECSRV_STDERR] = "stderr",
		[EXECSRV_PTY] = "pty"
	};
	uint32_t	 chunk = json_find(j, params, "chunk");
	uint32_t	 stream = json_find(j, params, "stream");
	ssize_t		 n;
	size_t		 i;

	if (chunk == 0 || json_tok(j, chunk)->type != JSON_STRING ||
	    stream == 0)
		return false;
	for (i = 0; !json_is_text(j, stream, streams[i]); i++)
		if (i == EXECSRV_PTY)
			return false;
	ev->stream = (enum execsrv_stream)i;
	/* In place, where it came. */
	ev->data = (uint8_t *)j->text + json_tok(j, chunk)->pos;
	if ((n = b64_decode(ev->data, json_text(j, chunk),
	    json_tok(j, chunk)->len)) == -1)
		return false;
	ev->len = (size_t)n;
	return true;
}

static bool
read_exited(const struct json *j, uint32_t params, struct event *ev)
{
	uint32_t	 tok = json_find(j, params, "exitCode");
	int64_t		 n;

	if (tok == 0 || json_i64(j, tok, &n) == -1 || n < INT_MIN ||
	    n > INT_MAX)
		return false;
	ev->exit_code = (int)n;
	return true;
}

static bool
read_closed(const struct json *j, uint32_t params, struct event *ev)
{
	(void)j;
	(void)params;
	(void)ev;
	return true;
}

static const struct {
	const char	*method;
	enum event_kind	 kind;
	bool		(*read)(const struct json *, uint32_t,
			    struct event *);
} notes[] = {
	{ "process/output",	EV_OUTPUT,	read_output },
	{ "process/exited",	EV_EXITED,	read_exited },
	{ "process/closed",	EV_CLOSED,	read_closed },
};

bool
execsrv_process_note(struct execsrv *x, const char *method, uint32_t params)
{
	struct execsrv_process	*p;
	struct event		 ev = { .len = 0 };
	uint32_t		 seq;
	size_t			 i;

	for (i = 0; strcmp(notes[i].method, method) != 0; i++)
		if (i + 1 == sizeof(notes) / sizeof(notes[0]))
			return false;
	/* Nobody's business any more. */
	if ((p = find(x, params)) == NULL)
		return true;
	ev.kind = notes[i].kind;
	if ((seq = json_find(&x->json, params, "seq")) == 0 ||
	    json_u64(&x->json, seq, &ev.seq) == -1 || ev.seq == UINT64_MAX ||
	    !notes[i].read(&x->json, params, &ev))
		execsrv_lose(x, "the server sent a malformed %s", method);
	else
		on_event(p, &ev);
	return true;
}

/* --- after another connection was made --- */

void
execsrv_process_orphan(struct execsrv_process *p)
{
	struct execsrv_orphan	*o;

	if ((o = calloc(1, sizeof(*o))) == NULL)
		return;			/* it ends with its session */
	memcpy(o->id, p->id, sizeof(o->id));
	TAILQ_INSERT_TAIL(&p->x->orphans, o, entry);
	p->closed = true;
}

/* It cannot be known any more what it said. */
static void
lose_process(struct execsrv_process *p, const char *why)
{
	struct execsrv_error	 e;

	if (p->closed)
		return;
	p->closed = true;
	drop_early(p);
	execsrv_error_set(&e, 0, "%s", why);
	if (p->hooks.on_lost != NULL)
		p->hooks.on_lost(p->arg, &e);
}

static bool
read_chunk(const struct json *j, uint32_t chunk, struct event *ev)
{
	uint32_t	 seq = json_find(j, chunk, "seq");

	ev->kind = EV_OUTPUT;
	return seq != 0 && json_u64(j, seq, &ev->seq) == 0 &&
	    read_output(j, chunk, ev);
}

/* Deliver the chunks.  How many; -1: they are no such thing. */
static int
take_chunks(struct execsrv_process *p, const struct json *j, uint32_t list)
{
	struct event	 ev;
	uint32_t	 i;
	int		 n = 0;

	if (list == 0 || json_tok(j, list)->type != JSON_ARRAY)
		return -1;
	for (i = json_first(list); json_more(j, list, i);
	    i = json_after_elem(j, i)) {
		memset(&ev, 0, sizeof(ev));
		if (!read_chunk(j, i, &ev))
			return -1;
		on_event(p, &ev);
		n++;
	}
	return n;
}

static bool
is_true(const struct json *j, uint32_t result, const char *key)
{
	uint32_t	 i = json_find(j, result, key);

	return i != 0 && json_tok(j, i)->type == JSON_TRUE;
}

static bool
is_early(const struct execsrv_process *p, uint64_t seq)
{
	const struct event	*ev;

	TAILQ_FOREACH(ev, &p->early, entry)
		if (ev->seq == seq)
			return true;
	return false;
}

/*
 * Numbers that no chunk has are those of the exit and of the end, which the
 * answer tells without them: the end is the last, the exit the other one.
 */
static void
take_ends(struct execsrv_process *p, const struct json *j, uint32_t result,
    uint64_t next)
{
	struct event	 ev;
	bool		 is_closed = is_true(j, result, "closed");
	uint64_t	 last = is_closed ? next - 1 : next, seq;

	memset(&ev, 0, sizeof(ev));
	if (is_true(j, result, "exited") && read_exited(j, result, &ev)) {
		for (seq = p->next_seq; seq < last && is_early(p, seq); seq++)
			continue;
		if (seq < last) {
			ev.seq = seq;
			ev.kind = EV_EXITED;
			on_event(p, &ev);
		}
	}
	if (is_closed && p->next_seq <= next - 1) {
		memset(&ev, 0, sizeof(ev));
		ev.seq = next - 1;
		ev.kind = EV_CLOSED;
		on_event(p, &ev);
	}
}

static void	 ask_read(struct execsrv_process *p);

static void
on_read(struct execsrv_process *p, const struct execsrv_answer *a)
{
	const struct json	*j = a->json;
	uint32_t		 tok;
	uint64_t		 next;
	int			 n;

	p->x->behind--;
	/* Lost again: it is asked anew. */
	if (p->closed || (a->error != NULL && a->error->code == 0))
		return;
	if (a->error != NULL) {
		lose_process(p, a->error->text);
		return;
	}
	tok = json_find(j, a->result, "nextSeq");
	if (tok == 0 || json_u64(j, tok, &next) == -1 || next == 0 ||
	    (n = take_chunks(p, j, json_find(j, a->result, "chunks"))) ==
	    -1) {
		execsrv_lose(p->x, "the server sent a malformed answer to "
		    "process/read");
		return;
	}
	if (!p->closed && p->next_seq < next && n == 0)
		take_ends(p, j, a->result, next);
	if (!p->closed && p->next_seq < next)
		lose_process(p, "output was lost: the server kept too "
		    "little of it");
	else if (!p->closed && n > 0)
		ask_read(p);		/* there may be more */
}

static void
ask_read(struct execsrv_process *p)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = begin(p, "process/read", REQUEST_READ, &o)) == NULL)
		return;
	c->is_ours = true;
	json_out_key(&o, "afterSeq");
	json_out_u64(&o, p->next_seq - 1);
	json_out_key(&o, "waitMs");
	json_out_u64(&o, 0);
	json_out_key(&o, "maxBytes");
	json_out_u64(&o, p->x->read_max);
	if (end(p, c, &o) == 0)
		p->x->behind++;
}

static void
end_orphan(struct execsrv *x, struct execsrv_orphan *orphan)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = execsrv_begin(x, "process/terminate", &o)) != NULL) {
		c->is_ours = true;
		json_out_open(&o, '{');
		json_out_key(&o, "processId");
		json_out_str(&o, orphan->id);
		json_out_close(&o, '}');
		(void)execsrv_end(x, c, &o);
	}
	TAILQ_REMOVE(&x->orphans, orphan, entry);
	free(orphan);
}

void
execsrv_process_catch_up(struct execsrv *x)
{
	struct execsrv_process	*p;

	while (!TAILQ_EMPTY(&x->orphans) && execsrv_has_frames(x))
		end_orphan(x, TAILQ_FIRST(&x->orphans));
	TAILQ_FOREACH(p, &x->processes, entry)
		/* One whose start still waits has said nothing. */
		if (!p->closed && p->awaited[EXECSRV_START] == 0)
			ask_read(p);
}

/* --- missing events --- */

void
execsrv_process_restart_wait(struct execsrv *x)
{
	struct execsrv_process	*p;

	TAILQ_FOREACH(p, &x->processes, entry)
		p->early_since = p->x->clock();
}

int
execsrv_process_wait_ms(const struct execsrv *x)
{
	const struct execsrv_process	*p;
	uint64_t			 waited;
	int				 left, min = -1;

	TAILQ_FOREACH(p, &x->processes, entry) {
		if (TAILQ_EMPTY(&p->early))
			continue;
		waited = p->x->clock() - p->early_since;
		left = waited < EARLY_MS ? (int)(EARLY_MS - waited) : 0;
		if (min == -1 || left < min)
			min = left;
	}
	return min;
}

void
execsrv_process_check(struct execsrv *x)
{
	/* A number that never comes would be waited for for ever. */
	if (execsrv_process_wait_ms(x) == 0)
		execsrv_lose(x, "the server left out an event");
}
