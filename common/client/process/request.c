/* Requests about a process. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/jsonmap.h"
#include "common/client/process/process_priv.h"
#include "common/client/text.h"
#include "common/limit.h"
#include "common/process/signals.h"

#define CHUNK_MAX	(64 * 1024)	/* bytes of one process/write */
#define WRITES_MAX	8	/* unanswered: the command does not read */

int
execsrv_process_begin(struct execsrv_process *p, const char *method,
    struct json_out *o)
{
	if (execsrv_begin(p->x, method, o) == -1)
		return -1;
	json_out_open(o, '{');
	json_out_pair(o, "processId", p->id);
	return 0;
}

int
execsrv_process_end(struct execsrv_process *p, enum execsrv_request what,
    bool is_safe, struct json_out *o)
{
	struct execsrv_call_opts	 opts = {
		.fn = execsrv_process_on_answer, .arg = p, .tag = (int)what,
		.is_safe = is_safe, .is_internal = what >= REQUEST_READ,
		.is_quiet = true	/* on_lost tells it */
	};

	assert(what < REQUESTS);
	json_out_close(o, '}');
	if (execsrv_end(p->x, &opts, o) == -1)
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

size_t
execsrv_process_room(const struct execsrv_process *p)
{
	unsigned	 n = p->awaited[EXECSRV_WRITE];
	size_t		 room = transport_room(&p->x->transport, n == 0);

	if (n >= WRITES_MAX)
		return 0;
	/* On its way it is base64. */
	return room / 4 * 3 < CHUNK_MAX ? room / 4 * 3 : CHUNK_MAX;
}

int
execsrv_process_close_stdin(struct execsrv_process *p)
{
	struct json_out	 o;

	if (execsrv_process_begin(p, "process/closeStdin", &o) == -1)
		return -1;
	/* Safe: closing twice does no harm. */
	return execsrv_process_end(p, EXECSRV_CLOSE_STDIN, true, &o);
}

int
execsrv_process_terminate(struct execsrv_process *p, unsigned grace_ms)
{
	struct json_out	 o;

	if (execsrv_process_begin(p, "process/terminate", &o) == -1)
		return -1;
	if (grace_ms > 0)
		json_out_pair_u64(&o, "graceMs", grace_ms);
	return execsrv_process_end(p, EXECSRV_TERMINATE, false, &o);
}

int
execsrv_process_signal(struct execsrv_process *p, const char *name)
{
	struct json_out	 o;
	char		 full[SIGNALS_NAME];

	if (execsrv_process_begin(p, "process/signal", &o) == -1)
		return -1;
	json_out_key(&o, "signal");
	json_out_str(&o, signals_read(name, full) != 0 ? full : name);
	return execsrv_process_end(p, EXECSRV_SIGNAL, false, &o);
}

int
execsrv_process_resize(struct execsrv_process *p, uint16_t rows,
    uint16_t cols)
{
	struct json_out	 o;

	if (execsrv_process_begin(p, "process/resize", &o) == -1)
		return -1;
	json_out_pair_u64(&o, "rows", rows);
	json_out_pair_u64(&o, "cols", cols);
	return execsrv_process_end(p, EXECSRV_RESIZE, false, &o);
}

static int
write_chunk(struct execsrv_process *p, const void *data, size_t len)
{
	struct json_out	 o;
	char		 id[40];

	if (execsrv_process_begin(p, "process/write", &o) == -1)
		return -1;
	execsrv_make_id(p->x, 'w', ++p->writes, id, sizeof(id));
	json_out_pair(&o, "writeId", id);
	json_out_key(&o, "chunk");
	json_out_b64(&o, data, len);
	/* Safe: the server knows it by its id. */
	return execsrv_process_end(p, EXECSRV_WRITE, true, &o);
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
process_put_network(struct json_out *o, const struct execsrv_start *s)
{
	const char *const	*d = s->allow_domains;

	if (d == NULL)
		return;
	json_out_pair_bool(o, "enforceManagedNetwork", s->preset != 0 ||
	    s->sandbox != NULL);
	json_out_key(o, "networkProxy");
	json_out_open(o, '{');
	json_out_key(o, "proxy");
	json_out_open(o, '{');
	json_out_pair_bool(o, "enabled", true);
	json_out_pair_bool(o, "enableSocks5", true);
	json_out_pair_bool(o, "enableSocks5Udp", false);
	json_out_pair_bool(o, "allowUpstreamProxy", true);
	json_out_pair_bool(o, "dangerouslyAllowAllUnixSockets", false);
	json_out_pair_bool(o, "allowLocalBinding", false);
	json_out_pair(o, "mode", "full");
	json_out_key(o, "domains");
	json_out_open(o, '{');
	for (; *d != NULL; d++) {
		json_out_key_text(o, *d, strlen(*d));
		json_out_str(o, "allow");
	}
	json_out_close(o, '}');
	json_out_close(o, '}');
	json_out_close(o, '}');
}

static void
put_size(struct json_out *o, uint16_t rows, uint16_t cols)
{
	json_out_key(o, "ptySize");
	json_out_open(o, '{');
	json_out_pair_u64(o, "rows", rows);
	json_out_pair_u64(o, "cols", cols);
	json_out_close(o, '}');
}

/* Write the parameters but for processId.  0, or -1 with errno. */
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
	if (s->allow_domains != NULL &&
	    !execsrv_can(x, "networkProxyLaunch")) {
		errno = EOPNOTSUPP;
		return -1;
	}
	if (s->env == NULL)
		copy.env = none;
	json_out_init(&o, b);
	o.need_comma = true;
	if (execsrv_jsonmap_put(&o, &execsrv_jsonmap_start, &copy) == -1 ||
	    process_put_policy(&o, s) == -1 || process_put_sandbox(&o, s) == -1)
		return -1;
	process_put_network(&o, s);
	if (s->tty && s->rows > 0 && s->cols > 0 &&
	    execsrv_can(x, "execsrvPtySize"))
		put_size(&o, s->rows, s->cols);
	return json_out_fini(&o);
}

struct execsrv_process *
execsrv_process_start(struct execsrv *x, const struct execsrv_start *s,
    const struct execsrv_hooks *hooks, void *arg)
{
	struct execsrv_process	*p = NULL;
	struct json_out	 o;
	struct buf		 b;
	int			 error;

	buf_init(&b, LIMIT_MESSAGE);
	if (process_put_start(&b, x, s) == -1 ||
	    (p = execsrv_process_new(x, NULL, hooks, arg)) == NULL ||
	    execsrv_process_begin(p, "process/start", &o) == -1)
		goto fail;
	/* b begins with a comma. */
	o.need_comma = false;
	json_out_raw(&o, (char *)buf_data(&b), b.len);
	if (execsrv_process_end(p, EXECSRV_START, false, &o) == -1)
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

