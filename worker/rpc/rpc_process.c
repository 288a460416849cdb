/* process/... (PROTOCOL 5; our extensions: 10.1). */
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/process/signals.h"
#include "worker/proc/envp.h"
#include "worker/proc/proc.h"
#include "worker/rpc/procread.h"
#include "worker/rpc/start.h"

static struct proc *
find_proc(struct rpc *rpc, const struct param_text *id)
{
	return procs_find(rpc->procs, id->s, id->len);
}

void
rpc_process_read(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_read_params	*p = params;
	struct proc_read		 r;
	struct proc			*pr;

	(void)msg;
	if ((pr = find_proc(rpc, &p->process_id)) == NULL) {
		rpc_error(req, ERR_UNKNOWN_PROCESS, NULL);
		return;
	}
	r.after_seq = p->after_seq.n;
	r.has_max = p->max_bytes.given;
	r.holds = p->holds;
	r.max_bytes = p->max_bytes.n;
	r.wait_ms = p->wait_ms.n;
	proc_read(pr, req, &r);
}

static void
cancel_write(struct rpc_req *req)
{
	struct proc	*pr = req->waiter;
	struct parked	*pk;

	/* The input stays in the queue. */
	TAILQ_FOREACH(pk, &pr->procin.parked, entry)
		if (pk->req == req)
			pk->req = NULL;
}

/* Whether the input was accepted; if not, answers the error. */
static bool
write_to(struct rpc *rpc, struct proc *pr, struct rpc_req *req,
    const struct param_text *chunk)
{
	struct rpc_req	*kept = NULL;

	/* Keep the request only if the write may have to wait. */
	if (!procin_has_room(&pr->procin, chunk->len) &&
	    (kept = rpc_keep(req, cancel_write, pr)) == NULL)
		return false;
	rpc->procs->bytes_in += chunk->len;
	proc_on_input(pr);
	switch (procin_write(&pr->procin, chunk->s, chunk->len, kept)) {
	case PROCIN_ACCEPTED:
		rpc_status(kept != NULL ? kept : req, "accepted");
		return true;
	case PROCIN_PARKED:
		return true;
	case PROCIN_FULL:
		rpc_error(kept != NULL ? kept : req, ERR_TOO_MANY,
		    "too much input is waiting for processes that do not read "
		    "it");
		break;
	case PROCIN_ERROR:
		rpc_errorf(kept != NULL ? kept : req, ERR_FAILED, "%s",
		    strerror(errno));
		break;
	}
	return false;
}

void
rpc_process_write(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_write_params	*p = params;
	struct proc			*pr;

	(void)msg;
	if (p->write_id.s != NULL && p->write_id.len == 0) {
		rpc_error(req, ERR_PARAMS, "writeId must not be empty");
		return;
	}
	if ((pr = find_proc(rpc, &p->process_id)) == NULL) {
		rpc_status(req, start_waits(rpc, p->process_id.s,
		    p->process_id.len) ? "starting" : "unknownProcess");
		return;
	}
	if (!pr->has_input || pr->procin.closing) {
		rpc_status(req, "stdinClosed");
		return;
	}
	if (p->write_id.s != NULL && procin_has_id(&pr->procin, p->write_id.s,
	    p->write_id.len))
		rpc_status(req, "accepted");
	else if (write_to(rpc, pr, req, &p->chunk) && p->write_id.s != NULL &&
	    procin_remember(&pr->procin, p->write_id.s, p->write_id.len) == -1)
		log_warn("out of memory: a writeId cannot be remembered");
}

void
rpc_process_closestdin(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_params	*p = params;
	struct proc		*pr;

	(void)msg;
	if ((pr = find_proc(rpc, &p->process_id)) == NULL) {
		rpc_status(req, "unknownProcess");
	} else if (!pr->has_input || (pr->procin.closing && !pr->tty)) {
		rpc_status(req, "stdinClosed");
	} else {
		proc_on_input(pr);
		procin_end(&pr->procin);
		rpc_status(req, "accepted");
	}
}

/* Return the number of a signal name; 0: unknown. */
static int
signal_number(const struct param_text *name)
{
	char	 text[16];

	if (param_is(name, "interrupt"))
		return SIGINT;
	if (name->len >= sizeof(text) ||
	    memchr(name->s, '\0', name->len) != NULL)
		return 0;
	memcpy(text, name->s, name->len);
	text[name->len] = '\0';
	return signals_number(text);
}

void
rpc_process_signal(struct rpc *rpc, struct rpc_req *req, void *params,
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
	if ((pr = find_proc(rpc, &p->process_id)) != NULL)
		proc_signal(pr, sig);
	rpc_ok(req);
}

void
rpc_process_terminate(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_terminate_params	*p = params;
	struct json_out			 o;
	struct proc			*pr;
	bool				 running;

	(void)msg;
	pr = find_proc(rpc, &p->process_id);
	running = pr != NULL ? proc_terminate(pr, p->grace_ms.n) :
	    start_cancel(rpc, p->process_id.s, p->process_id.len);
	rpc_begin(req, &o);
	json_out_pair_bool(&o, "running", running);
	rpc_end(req, &o);
}

void
rpc_process_resize(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct process_resize_params	*p = params;
	struct proc			*pr;

	(void)msg;
	if ((pr = find_proc(rpc, &p->process_id)) == NULL)
		rpc_error(req, ERR_UNKNOWN_PROCESS, NULL);
	else if (proc_resize(pr, p->rows, p->cols) == -1)
		rpc_errorf(req, errno == ENOTTY ? ERR_MALFORMED : ERR_FAILED,
		    "%s", errno == ENOTTY ? "the process has no terminal" :
		    strerror(errno));
	else
		rpc_ok(req);
}

void
rpc_process_list(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct json_out	 o;
	struct proc	*p;

	(void)params;
	(void)msg;
	rpc_begin(req, &o);
	json_out_key(&o, "processes");
	json_out_open(&o, '[');
	TAILQ_FOREACH(p, &rpc->procs->all, entry) {
		if (p->is_internal)
			continue;
		json_out_open(&o, '{');
		json_out_key(&o, "processId");
		json_out_text(&o, p->id, p->id_len);
		json_out_key(&o, "pid");
		json_out_i64(&o, p->pid);
		json_out_pair_bool(&o, "tty", p->tty);
		proc_put_state(p, &o);
		json_out_pair_u64(&o, "nextSeq", p->retain.next_seq);
		json_out_close(&o, '}');
	}
	json_out_close(&o, ']');
	rpc_end(req, &o);
}
