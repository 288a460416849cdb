/* process/... (spec/protocol.md section 5; ours: proto/cap.def). */
#include "worker/rpc_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "worker/envp.h"
#include "worker/proc.h"
#include "worker/waiter.h"

#define DEFAULT_PATH	"/bin:/usr/bin"	/* as execvp(3) without PATH */
#define DEFAULT_ROWS	24
#define DEFAULT_COLS	80

extern char **environ;

static struct proc *
find_proc(struct session *s, const struct param_text *id)
{
	return map_find(&s->procs, id->s, id->len);
}

/* --- process/start --- */

/* The strings of a JSON list; NULL with a text why not (NULL: memory). */
static char **
make_argv(const struct json *j, uint32_t list, const char *arg0,
    size_t arg0_len, enum rpc_err *err_out, const char **why_out)
{
	char		**argv;
	uint32_t	 i;
	size_t		 n = 0;

	for (i = json_first(list); json_more(j, list, i);
	    i = json_after_elem(j, i), n++) {
		*err_out = ERR_PARAMS;
		if (json_tok(j, i)->type != JSON_STRING) {
			*why_out = "argv must be a list of strings";
			return NULL;
		}
		*err_out = ERR_FAILED;
		if (memchr(json_text(j, i), '\0', json_tok(j, i)->len) !=
		    NULL) {
			*why_out = "nul byte found in argv";
			return NULL;
		}
	}
	*err_out = ERR_PARAMS;
	*why_out = "argv must not be empty";
	if (n == 0)
		return NULL;
	*err_out = ERR_FAILED;
	*why_out = NULL;
	if ((argv = calloc(n + 1, sizeof(*argv))) == NULL)
		return NULL;
	for (i = json_first(list), n = 0; json_more(j, list, i);
	    i = json_after_elem(j, i), n++) {
		argv[n] = n == 0 && arg0 != NULL ? strndup(arg0, arg0_len) :
		    strndup(json_text(j, i), json_tok(j, i)->len);
		if (argv[n] == NULL) {
			envp_free(&argv);
			return NULL;
		}
	}
	return argv;
}

/* The programs that a name may mean: itself, or one for each part of PATH. */
static char **
make_programs(const char *name, size_t len, char *const *envp)
{
	const char	*path, *part;
	char		**list;
	size_t		 n = 0, cap, plen;

	path = envp_get(envp, "PATH");
	if (path == NULL)
		path = DEFAULT_PATH;
	for (cap = 3, part = path; *part != '\0'; part++)
		cap += *part == ':';
	if ((list = calloc(cap, sizeof(*list))) == NULL)
		return NULL;
	if (memchr(name, '/', len) != NULL || len == 0) {
		if ((list[0] = strndup(name, len)) == NULL)
			goto fail;
		return list;
	}
	for (part = path;; part += plen + 1) {
		plen = strcspn(part, ":");
		/* An empty part is the working directory (environ(7)). */
		if (asprintf(&list[n], "%.*s%s%.*s", (int)plen, part,
		    plen > 0 ? "/" : "./", (int)len, name) == -1) {
			list[n] = NULL;
			goto fail;
		}
		n++;
		if (part[plen] == '\0')
			return list;
	}
 fail:
	envp_free(&list);
	return NULL;
}

static bool
is_uuid(const struct param_text *t)
{
	size_t	 i;

	if (t->len != 36)
		return false;
	for (i = 0; i < t->len; i++)
		if (i == 8 || i == 13 || i == 18 || i == 23) {
			if (t->s[i] != '-')
				return false;
		} else if (memchr("0123456789abcdefABCDEF", t->s[i], 22) ==
		    NULL) {
			return false;
		}
	return true;
}

/* Means nothing here, but the member is checked as the reference does. */
static bool
is_windows_level(const struct param_text *t)
{
	return param_is(t, "disabled") || param_is(t, "restricted-token") ||
	    param_is(t, "elevated") || param_is(t, "mxc");
}

/*
 * A sandbox that restricts nothing may be given; any other would be betrayed.
 * NULL, or what is wrong.
 */
static const char *
check_sandbox(struct json *j, uint32_t tok)
{
	static const char	 cannot[] =
	    "this server cannot enforce a sandbox that restricts anything";
	struct sandbox_params		 sb;
	struct permissions_params	 pe;
	struct file_system_params	 fs;
	struct param_error		 e;

	if (params_decode(j, tok, fields_sandbox, &sb, sizeof(sb), false,
	    &e) == -1 || params_decode(j, sb.permissions, fields_permissions,
	    &pe, sizeof(pe), false, &e) == -1 ||
	    !is_windows_level(&sb.windows_level))
		return "the sandbox is malformed";
	if (param_is(&pe.type, "disabled"))
		return NULL;
	if (pe.network.s == NULL || !param_is(&pe.network, "enabled"))
		return cannot;
	if (param_is(&pe.type, "external"))
		return NULL;
	if (!param_is(&pe.type, "managed") || pe.file_system == 0 ||
	    params_decode(j, pe.file_system, fields_file_system, &fs,
	    sizeof(fs), false, &e) == -1)
		return "the sandbox is malformed";
	return param_is(&fs.type, "unrestricted") ? NULL : cannot;
}

/* Members that are objects of their own; NULL, or what is wrong. */
static const char *
check_objects(struct json *j, const struct process_start_params *p,
    struct spawn *sp)
{
	struct metadata_params	 md;
	struct pty_size_params	 size;
	struct param_error	 e;
	const char		*why;

	sp->rows = DEFAULT_ROWS;
	sp->cols = DEFAULT_COLS;
	if (p->metadata != 0 && (params_decode(j, p->metadata,
	    fields_metadata, &md, sizeof(md), false, &e) == -1 ||
	    (md.thread_id.s != NULL && !is_uuid(&md.thread_id))))
		return "metadata.threadId must be a UUID";
	if (p->sandbox != 0 && (why = check_sandbox(j, p->sandbox)) != NULL)
		return why;
	if (p->pty_size == 0)
		return NULL;
	if (params_decode(j, p->pty_size, fields_pty_size, &size,
	    sizeof(size), false, &e) == -1)
		return "ptySize needs rows and cols from 1 to 65535";
	sp->rows = size.rows;
	sp->cols = size.cols;
	return NULL;
}

static void
start(struct session *s, struct rpc_req *req,
    const struct process_start_params *p, struct spawn *sp)
{
	struct json_out	 o;
	struct proc	*pr;
	const char	*what;

	sp->cwd = p->cwd.path;
	sp->tty = p->tty;
	sp->pipe_stdin = p->pipe_stdin && !p->tty;
	sp->nofile = s->nofile;
	if ((pr = proc_new(s, p->process_id.s, p->process_id.len, sp,
	    &what)) == NULL) {
		rpc_errorf(req, ERR_FAILED, "failed to start process: %s: %s "
		    "(os error %d)", what, strerror(errno), errno);
		return;
	}
	pr->sandboxed = p->sandbox != 0;
	rpc_begin(req, &o);
	json_out_key(&o, "processId");
	json_out_text(&o, pr->id, pr->id_len);
	json_out_key(&o, "sandboxType");
	json_out_str(&o, pr->sandboxed ? "linuxSeccomp" : "none");
	rpc_end(req, &o);
}

void
rpc_process_start(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_start_params	*p = params;
	struct spawn			 sp;
	enum rpc_err			 err = ERR_FAILED;
	const char			*why = NULL;
	char				**argv = NULL, **envp = NULL;
	char				**programs = NULL;
	uint32_t			 first = json_first(p->argv);

	(void)msg;
	memset(&sp, 0, sizeof(sp));
	if ((argv = make_argv(&s->json, p->argv, p->arg0.s, p->arg0.len, &err,
	    &why)) == NULL)
		goto out;
	if ((envp = envp_make(&s->json, p->env, p->env_policy, environ,
	    &why)) == NULL) {
		err = why != NULL && strncmp(why, "nul", 3) != 0 ? ERR_PARAMS :
		    ERR_FAILED;
		goto out;
	}
	if ((why = check_objects(&s->json, p, &sp)) != NULL) {
		err = ERR_PARAMS;
		goto out;
	}
	if (find_proc(s, &p->process_id) != NULL) {
		err = ERR_PROCESS_EXISTS;
		goto out;
	}
	if (s->running >= s->set.max_processes) {
		err = ERR_TOO_MANY;
		why = "too many processes run in this session";
		goto out;
	}
	if ((programs = make_programs(json_text(&s->json, first),
	    json_tok(&s->json, first)->len, envp)) == NULL)
		goto out;
	sp.argv = argv;
	sp.envp = envp;
	sp.programs = programs;
	start(s, req, p, &sp);
	req = NULL;
 out:
	if (req != NULL)
		rpc_error(req, err, why);
	envp_free(&argv);
	envp_free(&programs);
	envp_free(&envp);
}

/* --- the others --- */

void
rpc_process_read(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_read_params	*p = params;
	struct proc_read		 r;
	struct proc			*pr;

	(void)msg;
	if ((pr = find_proc(s, &p->process_id)) == NULL) {
		rpc_error(req, ERR_UNKNOWN_PROCESS, NULL);
		return;
	}
	r.after_seq = p->after_seq.n;
	r.has_max = p->max_bytes.given;
	r.max_bytes = p->max_bytes.n;
	r.wait_ms = p->wait_ms.n;
	proc_read(pr, req, &r);
}

static void
cancel_write(struct rpc_req *req)
{
	struct proc	*pr = req->waiter;
	struct parked	*pk;

	/* What it wanted written stays in its turn. */
	TAILQ_FOREACH(pk, &pr->input.parked, entry)
		if (pk->req == req)
			pk->req = NULL;
}

/* Whether it was taken; if not, the error is answered. */
static bool
write_to(struct session *s, struct proc *pr, struct rpc_req *req,
    const struct param_text *chunk)
{
	struct rpc_req	*kept = NULL;

	/* Only a write that may have to wait needs its request kept. */
	if (!input_has_room(&pr->input, chunk->len) &&
	    (kept = rpc_keep(req, cancel_write, pr)) == NULL)
		return false;
	s->bytes_in += chunk->len;
	proc_on_input(pr);
	switch (input_write(&pr->input, chunk->s, chunk->len, kept)) {
	case INPUT_ACCEPTED:
		rpc_status(kept != NULL ? kept : req, "accepted");
		return true;
	case INPUT_PARKED:
		return true;
	case INPUT_FULL:
		rpc_error(kept != NULL ? kept : req, ERR_TOO_MANY,
		    "too much input waits for processes that do not read");
		break;
	case INPUT_ERROR:
		rpc_errorf(kept != NULL ? kept : req, ERR_FAILED, "%s",
		    strerror(errno));
		break;
	}
	return false;
}

void
rpc_process_write(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_write_params	*p = params;
	struct proc			*pr;

	(void)msg;
	if (p->write_id.s != NULL && p->write_id.len == 0) {
		rpc_error(req, ERR_PARAMS, "writeId must not be empty");
		return;
	}
	if ((pr = find_proc(s, &p->process_id)) == NULL) {
		rpc_status(req, "unknownProcess");
		return;
	}
	if (!pr->has_input || pr->input.closing) {
		rpc_status(req, "stdinClosed");
		return;
	}
	if (p->write_id.s != NULL && input_knows(&pr->input, p->write_id.s,
	    p->write_id.len))
		rpc_status(req, "accepted");
	else if (write_to(s, pr, req, &p->chunk) && p->write_id.s != NULL &&
	    input_remember(&pr->input, p->write_id.s, p->write_id.len) == -1)
		log_warn("a write id was not remembered");
}

void
rpc_process_closestdin(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_params	*p = params;
	struct proc		*pr;

	(void)msg;
	if ((pr = find_proc(s, &p->process_id)) == NULL) {
		rpc_status(req, "unknownProcess");
	} else if (!pr->has_input || (pr->input.closing && !pr->tty)) {
		rpc_status(req, "stdinClosed");
	} else {
		proc_on_input(pr);
		input_end(&pr->input);
		rpc_status(req, "accepted");
	}
}

/* The number of a signal that a client names; 0: no such signal. */
static int
signal_number(const struct param_text *name)
{
	static const struct {
		const char	*name;
		int		 number;
	} signals[] = {
#define SIGNAL_NAME(n)	{ "SIG" #n, SIG##n },
#include "proto/signal.def"
#undef SIGNAL_NAME
		{ "interrupt", SIGINT },
	};
	size_t	 i;
	int	 n, used;
	char	 text[16];

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (param_is(name, signals[i].name))
			return signals[i].number;
	if (name->len >= sizeof(text))
		return 0;
	memcpy(text, name->s, name->len);
	text[name->len] = '\0';
	if (param_is(name, "SIGRTMIN"))
		return SIGRTMIN;
	if (sscanf(text, "SIGRTMIN+%2d%n", &n, &used) == 1 &&
	    (size_t)used == name->len && n >= 0 && SIGRTMIN + n <= SIGRTMAX)
		return SIGRTMIN + n;
	return 0;
}

void
rpc_process_signal(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_signal_params	*p = params;
	struct proc			*pr;
	int				 sig;

	(void)msg;
	if ((sig = signal_number(&p->signal)) == 0) {
		rpc_error(req, ERR_PARAMS, "unknown signal");
		return;
	}
	if ((pr = find_proc(s, &p->process_id)) != NULL)
		proc_signal(pr, sig);
	rpc_ok(req);
}

void
rpc_process_terminate(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_terminate_params	*p = params;
	struct json_out			 o;
	struct proc			*pr;
	bool				 running;

	(void)msg;
	pr = find_proc(s, &p->process_id);
	running = pr != NULL && proc_terminate(pr, p->grace_ms.n);
	rpc_begin(req, &o);
	json_out_key(&o, "running");
	json_out_bool(&o, running);
	rpc_end(req, &o);
}

void
rpc_process_resize(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_resize_params	*p = params;
	struct proc			*pr;

	(void)msg;
	if ((pr = find_proc(s, &p->process_id)) == NULL)
		rpc_error(req, ERR_UNKNOWN_PROCESS, NULL);
	else if (proc_resize(pr, p->rows, p->cols) == -1)
		rpc_errorf(req, errno == ENOTTY ? ERR_MALFORMED : ERR_FAILED,
		    "%s", errno == ENOTTY ? "the process has no terminal" :
		    strerror(errno));
	else
		rpc_ok(req);
}

void
rpc_process_list(struct session *s, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct json_out	 o;
	struct proc	*p;

	(void)params;
	(void)msg;
	rpc_begin(req, &o);
	json_out_key(&o, "processes");
	json_out_open(&o, '[');
	TAILQ_FOREACH(p, &s->all, entry) {
		json_out_open(&o, '{');
		json_out_key(&o, "processId");
		json_out_text(&o, p->id, p->id_len);
		json_out_key(&o, "pid");
		json_out_i64(&o, p->pid);
		json_out_key(&o, "tty");
		json_out_bool(&o, p->tty);
		proc_put_state(p, &o);
		json_out_key(&o, "nextSeq");
		json_out_u64(&o, p->ring.next_seq);
		json_out_close(&o, '}');
	}
	json_out_close(&o, ']');
	rpc_end(req, &o);
}
