/* Processes: starting one, and what may be asked of it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/process_priv.h"
#include "common/client/jsonmap.h"
#include "common/limit.h"

#define CHUNK_MAX	(64 * 1024)	/* of one process/write */

/* --- requests --- */

struct execsrv_call *
execsrv_process_begin(struct execsrv_process *p, const char *method,
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

int
execsrv_process_end(struct execsrv_process *p, struct execsrv_call *c,
    struct json_out *o)
{
	enum execsrv_request	 what = c->what;

	json_out_close(o, '}');
	if (execsrv_end(p->x, c, o) == -1)
		return -1;
	p->awaited[what]++;
	return 0;
}

const char *
execsrv_process_id(const struct execsrv_process *p)
{
	return p->id;
}

unsigned
execsrv_process_awaits(const struct execsrv_process *p,
    enum execsrv_request what)
{
	return p->awaited[what];
}

int
execsrv_process_close_stdin(struct execsrv_process *p)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = execsrv_process_begin(p, "process/closeStdin",
	    EXECSRV_CLOSE_STDIN, &o)) == NULL)
		return -1;
	/* Closed twice is closed; never told it would wait for ever. */
	c->is_safe = true;
	return execsrv_process_end(p, c, &o);
}

int
execsrv_process_terminate(struct execsrv_process *p, unsigned grace_ms)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = execsrv_process_begin(p, "process/terminate",
	    EXECSRV_TERMINATE, &o)) == NULL)
		return -1;
	if (grace_ms > 0) {
		json_out_key(&o, "graceMs");
		json_out_u64(&o, grace_ms);
	}
	return execsrv_process_end(p, c, &o);
}

int
execsrv_process_signal(struct execsrv_process *p, const char *name)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = execsrv_process_begin(p, "process/signal",
	    EXECSRV_SIGNAL, &o)) == NULL)
		return -1;
	json_out_key(&o, "signal");
	json_out_str(&o, name);
	return execsrv_process_end(p, c, &o);
}

int
execsrv_process_resize(struct execsrv_process *p, uint16_t rows,
    uint16_t cols)
{
	struct execsrv_call	*c;
	struct json_out		 o;

	if ((c = execsrv_process_begin(p, "process/resize",
	    EXECSRV_RESIZE, &o)) == NULL)
		return -1;
	json_out_key(&o, "rows");
	json_out_u64(&o, rows);
	json_out_key(&o, "cols");
	json_out_u64(&o, cols);
	return execsrv_process_end(p, c, &o);
}

static int
write_chunk(struct execsrv_process *p, const void *data, size_t len)
{
	struct execsrv_call	*c;
	struct json_out		 o;
	char			 id[40];

	if ((c = execsrv_process_begin(p, "process/write",
	    EXECSRV_WRITE, &o)) == NULL)
		return -1;
	c->is_safe = true;		/* the server knows them by their ids */
	snprintf(id, sizeof(id), "w%s%llu", p->x->tag,
	    (unsigned long long)++p->writes);
	json_out_key(&o, "writeId");
	json_out_str(&o, id);
	json_out_key(&o, "chunk");
	json_out_b64(&o, data, len);
	return execsrv_process_end(p, c, &o);
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

static int
put_group(struct json_out *o, const char *key, const struct jsonmap *map,
    const void *from)
{
	json_out_key(o, key);
	return execsrv_jsonmap_put_object(o, map, from);
}

static int
process_put_policy(struct json_out *o, const struct execsrv_start *s)
{
	static const struct execsrv_env_policy	 all = {
		.inherit = "all", .keep_secrets = true
	};
	const struct execsrv_env_policy		*p = s->env_policy;

	if (s->inherit)
		p = &all;
	return p == NULL ? 0 :
	    put_group(o, "envPolicy", &execsrv_jsonmap_env_policy, p);
}

static int
process_put_sandbox(struct json_out *o, const struct execsrv_start *s)
{
	char	*made = NULL;
	int	 r = 0;

	if (s->preset != 0 &&
	    (made = execsrv_sandbox_json(s->preset, s->cwd)) == NULL)
		return -1;
	if (made == NULL && s->sandbox != NULL)
		r = execsrv_check_json(s->sandbox, strlen(s->sandbox));
	if (r == 0 && (made != NULL || s->sandbox != NULL)) {
		json_out_key(o, "sandbox");
		json_out_raw(o, made != NULL ? made : s->sandbox,
		    strlen(made != NULL ? made : s->sandbox));
	}
	free(made);
	return r;
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

/* What is asked, before a process of ours is known.  0, or -1 with errno. */
static int
process_put_start(struct buf *b, const struct execsrv *x,
    const struct execsrv_start *s)
{
	static const char *const	 none[] = { NULL };
	struct execsrv_start		 copy = *s;
	struct json_out			 o;

	if (s->argv == NULL || s->argv[0] == NULL) {
		errno = EINVAL;
		return -1;
	}
	if (s->env == NULL)
		copy.env = none;
	json_out_init(&o, b);
	o.need_comma = true;
	if (execsrv_jsonmap_put(&o, &execsrv_jsonmap_start, &copy) == -1 ||
	    process_put_policy(&o, s) == -1 || process_put_sandbox(&o, s) == -1)
		return -1;
	if (s->tty && s->rows > 0 && s->cols > 0 &&
	    execsrv_can(x, "execsrvPtySize"))
		put_size(&o, s->rows, s->cols);
	return json_out_fini(&o);
}

struct execsrv_process *
execsrv_process_new(struct execsrv *x, const char *id,
    const struct execsrv_hooks *hooks, void *arg)
{
	struct execsrv_process	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL)
		return NULL;
	p->x = x;
	if (hooks != NULL)
		p->hooks = *hooks;
	p->arg = arg;
	p->next_seq = 1;
	TAILQ_INIT(&p->early);
	if (id != NULL)
		snprintf(p->id, sizeof(p->id), "%s", id);
	else
		snprintf(p->id, sizeof(p->id), "p%s%llu", x->tag,
		    (unsigned long long)++x->last_process);
	TAILQ_INSERT_TAIL(&x->processes, p, entry);
	return p;
}

struct execsrv_process *
execsrv_process_start(struct execsrv *x, const struct execsrv_start *s,
    const struct execsrv_hooks *hooks, void *arg)
{
	struct execsrv_process	*p = NULL;
	struct execsrv_call	*c;
	struct json_out		 o;
	struct buf		 b;
	int			 error;

	buf_init(&b, LIMIT_MESSAGE);
	if (process_put_start(&b, x, s) == -1 ||
	    (p = execsrv_process_new(x, NULL, hooks, arg)) == NULL ||
	    (c = execsrv_process_begin(p, "process/start",
	    EXECSRV_START, &o)) == NULL)
		goto fail;
	/* Its members begin with their comma. */
	o.need_comma = false;
	json_out_raw(&o, (char *)buf_data(&b), b.len);
	if (execsrv_process_end(p, c, &o) == -1)
		goto fail;
	buf_fini(&b);
	return p;
 fail:
	error = errno;
	execsrv_process_free(&p);
	buf_fini(&b);
	errno = error;
	return NULL;
}

/*
 * Inside a hook, whoever called it goes on with the process when it returns,
 * and so with what waits for its turn: its memory stays until then.
 */
void
execsrv_process_bury(struct execsrv *x)
{
	struct execsrv_process	*p;

	while (!x->is_busy && (p = TAILQ_FIRST(&x->freed)) != NULL) {
		TAILQ_REMOVE(&x->freed, p, entry);
		execsrv_event_drop(p);
		free(p);
	}
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
				c->fn = execsrv_process_nobodys_read;
				c->arg = p->x;
			}
		}
	if (p->is_behind)
		execsrv_process_read_no_more(p);
	p->closed = true;
	memset(&p->hooks, 0, sizeof(p->hooks));
	TAILQ_REMOVE(&p->x->processes, p, entry);
	TAILQ_INSERT_TAIL(&p->x->freed, p, entry);
	execsrv_process_bury(p->x);
}

/* --- answers --- */

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
		execsrv_process_on_read(p, a);
		return;
	}
	if (what == REQUEST_DENIED) {
		execsrv_event_on_denied(p, a);
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
	/* One that never ran cannot be lost. */
	if (e != NULL && what == EXECSRV_START)
		p->closed = true;
	if (p->hooks.on_answer != NULL)
		p->hooks.on_answer(p->arg, what, e);
}
