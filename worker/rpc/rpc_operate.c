#include "worker/rpc/operations.h"

#include <sys/queue.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/limit.h"
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"
#include "worker/session/link.h"

#define ROWS_MAX	(16 * 1024 * 1024)	/* bytes of an answer */
#define PIECES_MAX	(512 * 1024)	/* bytes of output in an answer */

static const char	 kind_names[][8] = {
	[IPC__CELL_KIND__TEXT] = "text", [IPC__CELL_KIND__NUMBER] = "number",
	[IPC__CELL_KIND__LIST] = "list", [IPC__CELL_KIND__FLAG] = "flag"
};

static const char	 stream_names[][8] = {
	[IPC__TAIL_STREAM__OUTPUT] = "stdout",
	[IPC__TAIL_STREAM__ERRORS] = "stderr",
	[IPC__TAIL_STREAM__TERMINAL] = "pty"
};

/* A command that waits for the master's answer. */
struct operation {
	TAILQ_ENTRY(operation)	 entry;
	struct operations	*all;
	struct rpc_req		*req;
	uint32_t		 ticket;
	char			*command;
	char			**arg;
	size_t			 narg;
	bool			 option;
	struct chan		*chan;		/* NULL: not yet */
	size_t			 ncolumns;
	struct buf		 columns, rows;	/* JSON: lists */
	struct json_out		 out;		/* of rows */
	int			 stream;	/* for session/tail; or -1 */
};

struct operations {
	struct rpc		*rpc;
	TAILQ_HEAD(, operation)	 list;
	uint32_t		 last_ticket;
	/* The output that session/tail returns; -1: none. */
	int			 stream;
	struct rpc_req		*reader;	/* kept; or NULL */
	struct io		 stream_ev;
	struct timer		 late_ev;	/* for the reader */
};

static void	 operations_on_stream(void *);
static void	 operations_on_late(void *);

static struct operations *
operations_get(struct rpc *rpc)
{
	struct operations	*all = rpc->operations;

	if (all != NULL || (all = calloc(1, sizeof(*all))) == NULL)
		return all;
	all->rpc = rpc;
	all->stream = -1;
	TAILQ_INIT(&all->list);
	timer_init(&all->late_ev, rpc->env->base, operations_on_late, all);
	return rpc->operations = all;
}

/* --- an operation --- */

static void
operation_free(struct operation *op)
{
	size_t	 i;

	TAILQ_REMOVE(&op->all->list, op, entry);
	for (i = 0; i < op->narg; i++)
		free(op->arg[i]);
	free(op->arg);
	free(op->command);
	chan_free(&op->chan);
	buf_fini(&op->columns);
	buf_fini(&op->rows);
	fd_close(&op->stream);
	free(op);
}

static void
operation_cancel(struct rpc_req *req)
{
	operation_free(req->waiter);
}

static void
operation_fail(struct operation *op, const char *why)
{
	struct rpc_req	*req = op->req;

	operation_free(op);
	rpc_error(req, ERR_FAILED, why);
}

static int
operation_copy(struct operation *op, const struct operate_params *p)
{
	size_t	 i;

	op->option = p->option;
	op->arg = calloc(p->arguments.n + 1, sizeof(*op->arg));
	if (op->arg == NULL || (op->command = strdup(p->command.s)) == NULL)
		return -1;
	for (i = 0; i < p->arguments.n; i++) {
		if ((op->arg[i] = strdup(p->arguments.v[i].s)) == NULL)
			return -1;
		op->narg++;
	}
	return 0;
}

static bool
has_nul(const struct operate_params *p)
{
	size_t	 i;

	for (i = 0; i < p->arguments.n; i++)
		if (strlen(p->arguments.v[i].s) != p->arguments.v[i].len)
			return true;
	return false;
}

void
rpc_operate(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct operate_params	*p = params;
	struct operations	*all = operations_get(rpc);
	struct operation	*op;

	(void)msg;
	if (has_nul(p)) {
		rpc_error(req, ERR_PARAMS, "an argument has a NUL in it");
		return;
	}
	if (all == NULL || (op = calloc(1, sizeof(*op))) == NULL) {
		rpc_error(req, ERR_FAILED, "out of memory");
		return;
	}
	op->all = all;
	op->stream = -1;
	buf_init(&op->columns, LIMIT_CONTROL_MESSAGE);
	buf_init(&op->rows, ROWS_MAX);
	json_out_init(&op->out, &op->rows);
	json_out_open(&op->out, '[');
	TAILQ_INSERT_TAIL(&all->list, op, entry);
	if ((op->req = rpc_keep(req, operation_cancel, op)) == NULL) {
		operation_free(op);
		return;
	}
	if (operation_copy(op, p) == -1) {
		operation_fail(op, "out of memory");
		return;
	}
	op->ticket = ++all->last_ticket;
	if (link_operate(rpc->link, op->ticket) == -1)
		operation_fail(op, "the server cannot do that now");
}

/* --- the master's answer --- */

static int
operation_on_head(struct operation *op, const Ipc__CtlHead *head)
{
	struct json_out	 o;
	size_t		 i;

	if (op->ncolumns != 0 || head->n_column != head->n_kind)
		return -1;
	op->ncolumns = head->n_column;
	json_out_init(&o, &op->columns);
	json_out_open(&o, '[');
	for (i = 0; i < head->n_column; i++) {
		if ((size_t)head->kind[i] >= sizeof(kind_names) /
		    sizeof(kind_names[0]))
			return -1;
		json_out_open(&o, '{');
		json_out_pair(&o, "name", head->column[i]);
		json_out_pair(&o, "kind", kind_names[head->kind[i]]);
		json_out_close(&o, '}');
	}
	json_out_close(&o, ']');
	return json_out_fini(&o);
}

static int
operation_on_rows(struct operation *op, const Ipc__CtlRow *row)
{
	size_t	 i;

	if (op->ncolumns == 0 || row->n_cell % op->ncolumns != 0)
		return -1;
	for (i = 0; i < row->n_cell; i++) {
		if (i % op->ncolumns == 0)
			json_out_open(&op->out, '[');
		json_out_str(&op->out, row->cell[i]);
		if (i % op->ncolumns == op->ncolumns - 1)
			json_out_close(&op->out, ']');
	}
	return 0;
}

static void
set_stream(struct operations *all, int *fd)
{
	io_stop(&all->stream_ev);
	fd_close(&all->stream);
	all->stream = *fd;
	*fd = -1;
	if (all->stream != -1)
		io_init(&all->stream_ev, all->rpc->env->base, all->stream,
		    EV_READ | EV_PERSIST, operations_on_stream, all);
}

static void
operation_on_end(struct operation *op, const Ipc__CtlEnd *end)
{
	struct rpc_req		*req = op->req;
	struct buf		 columns = op->columns, rows;
	struct json_out		 o;
	bool			 has_stream = op->stream != -1 &&
				    op->all->reader == NULL;

	json_out_close(&op->out, ']');
	if (json_out_fini(&op->out) == -1) {
		operation_fail(op, "there are too many rows");
		return;
	}
	rows = op->rows;
	buf_init(&op->columns, 0);
	buf_init(&op->rows, 0);
	if (has_stream)
		set_stream(op->all, &op->stream);
	operation_free(op);
	rpc_begin(req, &o);
	json_out_key(&o, "columns");
	if (columns.len > 0)
		json_out_raw(&o, (char *)buf_data(&columns), columns.len);
	else
		json_out_raw(&o, "[]", 2);
	json_out_key(&o, "rows");
	json_out_raw(&o, (char *)buf_data(&rows), rows.len);
	json_out_pair_u64(&o, "exitCode", end->exit_code);
	json_out_pair(&o, "error", end->error);
	json_out_pair_bool(&o, "hasOutput", has_stream);
	rpc_end(req, &o);
	buf_fini(&columns);
	buf_fini(&rows);
}

static void
operation_on_msg(void *arg, struct ipc_msg *m)
{
	struct operation	*op = arg;
	int			 r = 0;

	switch (m->kind) {
	case IPC_ctl_head:
		r = operation_on_head(op, (const Ipc__CtlHead *)m->body);
		break;
	case IPC_ctl_row:
		r = operation_on_rows(op, (const Ipc__CtlRow *)m->body);
		break;
	case IPC_ctl_stream:
		fd_close(&op->stream);
		op->stream = m->fd;
		m->fd = -1;
		break;
	default:
		operation_on_end(op, (const Ipc__CtlEnd *)m->body);
		return;
	}
	if (r == -1)
		operation_fail(op, "the server's answer is malformed");
}

static void
operation_on_chan_end(void *arg, int error)
{
	(void)error;
	operation_fail(arg, "the server does not answer");
}

static struct operation *
operations_find(struct rpc *rpc, uint32_t ticket)
{
	struct operation	*op;

	if (rpc->operations == NULL)
		return NULL;
	TAILQ_FOREACH(op, &rpc->operations->list, entry)
		if (op->ticket == ticket && op->chan == NULL)
			return op;
	return NULL;
}

void
operations_on_channel(struct rpc *rpc, const Ipc__Operating *in,
    struct ipc_msg *m)
{
	Ipc__CtlRequest		 out = IPC__CTL_REQUEST__INIT;
	struct operation	*op = operations_find(rpc, in->ticket);

	if (op == NULL)
		return;			/* its client has gone */
	if (m->fd == -1 || (op->chan = chan_new(rpc->env->base, m->fd,
	    IPC_ROLE_OPERATOR, IPC_ROLE_MASTER, operation_on_msg,
	    operation_on_chan_end, op)) == NULL) {
		operation_fail(op, "out of descriptors or memory");
		return;
	}
	m->fd = -1;
	out.command = op->command;
	out.arg = op->arg;
	out.n_arg = op->narg;
	out.option = op->option;
	chan_send(op->chan, IPC_ctl_request, &out, -1);
}

void
operations_on_refused(struct rpc *rpc, const Ipc__OperateRefused *in)
{
	struct operation	*op = operations_find(rpc, in->ticket);

	if (op != NULL)
		operation_fail(op, in->why);
}

/* --- output --- */

/*
 * Write the pieces that are there, to PIECES_MAX.  Return how many bytes; 0:
 * none; -1: none, and none will come.
 */
static ssize_t
put_pieces(int fd, struct json_out *o)
{
	const Ipc__TailPiece	*p;
	struct ipc_msg		 m;
	ssize_t			 n = 0;
	int			 r;

	while (n < PIECES_MAX && (r = ipc_recv(fd, IPC_ROLE_WORKER,
	    IPC_ROLE_OPERATOR, &m)) == 1) {
		p = (const Ipc__TailPiece *)m.body;
		json_out_open(o, '{');
		json_out_pair_u64(o, "seq", p->seq);
		json_out_key(o, "stream");
		json_out_str(o, stream_names[(size_t)p->stream <
		    sizeof(stream_names) / sizeof(stream_names[0]) ?
		    p->stream : IPC__TAIL_STREAM__OUTPUT]);
		json_out_key(o, "chunk");
		json_out_b64(o, p->data.data, p->data.len);
		json_out_close(o, '}');
		n += (ssize_t)p->data.len + 1;
		ipc_msg_fini(&m);
	}
	return n > 0 ? n : r == -1 && errno == EAGAIN ? 0 : -1;
}

/* Answer the reader, if there is something to tell or its time is over. */
static void
answer_reader(struct operations *all, bool is_late)
{
	struct rpc_req	*req = all->reader;
	struct buf	 b;
	struct json_out	 pieces, o;
	ssize_t		 n;

	buf_init(&b, 4 * (size_t)PIECES_MAX);
	json_out_init(&pieces, &b);
	json_out_open(&pieces, '[');
	n = put_pieces(all->stream, &pieces);
	json_out_close(&pieces, ']');
	if (n == 0 && !is_late) {
		buf_fini(&b);
		return;
	}
	all->reader = NULL;
	timer_stop(&all->late_ev);
	io_stop(&all->stream_ev);
	if (n == -1)
		fd_close(&all->stream);
	if (json_out_fini(&pieces) == -1) {
		rpc_error(req, ERR_FAILED, "out of memory");
	} else {
		rpc_begin(req, &o);
		json_out_key(&o, "pieces");
		json_out_raw(&o, (char *)buf_data(&b), b.len);
		json_out_pair_bool(&o, "isOver", n == -1);
		rpc_end(req, &o);
	}
	buf_fini(&b);
}

static void
operations_on_stream(void *arg)
{
	answer_reader(arg, false);
}

static void
operations_on_late(void *arg)
{
	answer_reader(arg, true);
}

static void
reader_cancel(struct rpc_req *req)
{
	struct operations	*all = req->waiter;

	all->reader = NULL;
}

void
rpc_operate_tail(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct operate_tail_params	*p = params;
	struct operations		*all = rpc->operations;

	(void)msg;
	if (all == NULL || all->stream == -1 || all->reader != NULL) {
		rpc_error(req, ERR_MALFORMED, all != NULL && all->reader !=
		    NULL ? "one session/tail at a time" :
		    "there is no output to read: session/operate first");
		return;
	}
	if ((all->reader = rpc_keep(req, reader_cancel, all)) == NULL)
		return;
	if (io_start(&all->stream_ev) == -1)
		answer_reader(all, true);
	else
		timer_set(&all->late_ev, p->wait_ms.n);
}

/* --- the end --- */

void
operations_on_orphaned(struct rpc *rpc)
{
	struct operations	*all = rpc->operations;
	struct operation	*op, *next;

	for (op = all != NULL ? TAILQ_FIRST(&all->list) : NULL; op != NULL;
	    op = next) {
		next = TAILQ_NEXT(op, entry);
		if (op->chan == NULL) {
			operation_fail(op, "the server does not answer");
			/* An answer may end the connection, and all of them. */
			next = TAILQ_FIRST(&all->list);
		}
	}
}

void
operations_on_conn_end(struct rpc *rpc)
{
	struct operations	*all = rpc->operations;
	int			 none = -1;

	if (all == NULL)
		return;
	/* Requests are cancelled already. */
	assert(TAILQ_EMPTY(&all->list) && all->reader == NULL);
	timer_stop(&all->late_ev);
	set_stream(all, &none);
}

void
operations_free(struct rpc *rpc)
{
	struct operations	*all = rpc->operations;
	int			 none = -1;

	rpc->operations = NULL;
	if (all == NULL)
		return;
	while (!TAILQ_EMPTY(&all->list))
		operation_free(TAILQ_FIRST(&all->list));
	timer_stop(&all->late_ev);
	set_stream(all, &none);
	free(all);
}
