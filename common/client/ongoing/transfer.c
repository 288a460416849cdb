/*
 * Files block by block, with up to SLOTS requests in flight, whose answers may
 * come in any order.
 */
#include "common/client/ongoing/transfer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"

#define BLOCK		((size_t)256 * 1024)
#define SLOTS		4		/* blocks in flight */
#define WINDOW		(SLOTS * BLOCK)	/* of what is not written: execsrv.h */

struct slot {
	struct execsrv_transfer	*t;
	bool			 is_busy;	/* in flight, or not its turn */
	bool			 is_here;
	uint64_t		 offset;
	size_t			 len;		/* asked for, then here */
	char			*data;
};

enum transfer_state {
	TRANSFER_OPENING,
	TRANSFER_OPEN,
	TRANSFER_CLOSING,
	TRANSFER_DONE
};

struct execsrv_transfer {
	TAILQ_ENTRY(execsrv_transfer)	 entry;
	struct execsrv			*x;
	char				 handle[24];
	struct execsrv_transfer_hooks	 hooks;
	void				*arg;
	enum transfer_state		 state;
	bool				 is_write, is_paused;
	bool				 is_stepping;	/* inside a hook */
	bool				 is_over;	/* no more requests */
	uint64_t			 begin, end;	/* of the file */
	uint64_t			 asked, moved;	/* offset, bytes */
	uint64_t			 failed;	/* first not written */
	struct slot			 slots[SLOTS];
	unsigned			 refs;		/* requests */
	bool				 has_failed, is_forgotten;
	struct execsrv_error		 why;
};

static void
transfer_destroy(struct execsrv_transfer *t)
{
	size_t	 i;

	TAILQ_REMOVE(&t->x->transfers.live, t, entry);
	for (i = 0; i < SLOTS; i++)
		free(t->slots[i].data);
	free(t);
}

/* Which states may follow which: bits. */
static const unsigned	 transfer_next[] = {
#define TO(state)	(1u << TRANSFER_##state)
	[TRANSFER_OPENING] = TO(OPEN) | TO(DONE),
	[TRANSFER_OPEN] = TO(CLOSING),
	[TRANSFER_CLOSING] = TO(DONE),
	[TRANSFER_DONE] = 0
#undef TO
};

static void
transfer_set_state(struct execsrv_transfer *t, enum transfer_state to)
{
	assert((transfer_next[t->state] & (1u << to)) != 0);
	t->state = to;
}

static void
unref(struct execsrv_transfer *t)
{
	assert(t->refs > 0);
	if (--t->refs == 0)
		transfer_destroy(t);
}

static void
transfer_fail(struct execsrv_transfer *t, const struct execsrv_error *why)
{
	if (!t->has_failed)
		t->why = *why;
	t->has_failed = t->is_over = true;
}

static void
transfer_fail_for(struct execsrv_transfer *t, enum execsrv_reason why,
    const char *text)
{
	struct execsrv_error	 e;

	execsrv_error_set(&e, why, "%s", text);
	transfer_fail(t, &e);
}

/* A request could not be sent. */
static void
transfer_fail_errno(struct execsrv_transfer *t)
{
	struct execsrv_error	 e;

	execsrv_error_unsent(&e, t->x);
	transfer_fail(t, &e);
}

static bool
is_idle(const struct execsrv_transfer *t)
{
	size_t	 i;

	for (i = 0; i < SLOTS; i++)
		if (t->slots[i].is_busy)
			return false;
	return true;
}

/*
 * The offset up to which the server has written all, whatever the order of its
 * answers.
 */
static uint64_t
written_to(const struct execsrv_transfer *t)
{
	uint64_t	 to = t->asked < t->failed ? t->asked : t->failed;
	size_t		 i;

	for (i = 0; i < SLOTS; i++)
		if (t->slots[i].is_busy && t->slots[i].offset < to)
			to = t->slots[i].offset;
	return to;
}

static void	 step(struct execsrv_transfer *);

static void
on_block(void *arg, const struct execsrv_block *r,
    const struct execsrv_error *e)
{
	struct slot		*s = arg;
	struct execsrv_transfer	*t = s->t;

	assert(s->is_busy && t->state == TRANSFER_OPEN);
	if (e != NULL) {
		transfer_fail(t, e);
		s->is_busy = false;
	} else if (r->bytes.len > s->len) {
		transfer_fail_for(t, EXECSRV_WHY_PROTOCOL,
		    "the server sent a longer block than was requested");
		s->is_busy = false;
	} else if ((s->data = malloc(r->bytes.len + 1)) == NULL) {
		transfer_fail_errno(t);
		s->is_busy = false;
	} else {
		memcpy(s->data, r->bytes.data, r->bytes.len);
		/* A short block: the file ends there. */
		if (r->bytes.len < s->len) {
			t->is_over = true;
			if (s->offset + r->bytes.len < t->end)
				t->end = s->offset + r->bytes.len;
		}
		s->len = r->bytes.len;
		s->is_here = true;
	}
	step(t);
	unref(t);
}

static void
transfer_on_written(void *arg, const struct execsrv_error *e)
{
	struct slot		*s = arg;
	struct execsrv_transfer	*t = s->t;

	assert(s->is_busy && t->state == TRANSFER_OPEN);
	s->is_busy = false;
	if (e != NULL) {
		transfer_fail(t, e);
		if (s->offset < t->failed)
			t->failed = s->offset;
	}
	step(t);
	unref(t);
}

static void
transfer_ask_read(struct execsrv_transfer *t, struct slot *s)
{
	struct execsrv_fs_read_block	 in = { .handle = t->handle };

	assert(!s->is_busy && t->asked < t->end);
	s->offset = in.offset = t->asked;
	s->len = t->end - t->asked < BLOCK ? (size_t)(t->end - t->asked) :
	    BLOCK;
	in.len = s->len;
	if (execsrv_fs_read_block(t->x, &in, on_block, s) == -1) {
		transfer_fail_errno(t);
		return;
	}
	t->refs++;
	s->is_busy = true;
	t->asked += s->len;
	t->is_over |= t->asked == t->end;
}

static void
send_write(struct execsrv_transfer *t, struct slot *s)
{
	struct execsrv_fs_write_block	 in = { .handle = t->handle };
	ssize_t				 n;

	assert(!s->is_busy && t->hooks.on_room != NULL);
	if (s->data == NULL && (s->data = malloc(BLOCK)) == NULL) {
		transfer_fail_errno(t);
		return;
	}
	n = t->hooks.on_room(t->arg, s->data, BLOCK);
	if (n < 0 || (size_t)n > BLOCK) {
		transfer_fail_for(t, EXECSRV_WHY_CANCELLED,
		    "cancelled by the caller");
		return;
	}
	if (n == 0) {
		t->is_over |= !t->is_paused;
		return;
	}
	s->offset = in.offset = t->asked;
	in.bytes.data = s->data;
	s->len = in.bytes.len = (size_t)n;
	if (execsrv_fs_write_block(t->x, &in, transfer_on_written, s) == -1) {
		transfer_fail_errno(t);
		return;
	}
	t->refs++;
	s->is_busy = true;
	t->asked += (size_t)n;
}

/* Fill the free slots with requests. */
static void
transfer_ask(struct execsrv_transfer *t)
{
	size_t	 i;

	assert(t->state == TRANSFER_OPEN);
	for (i = 0; i < SLOTS && !t->is_over && !t->is_paused; i++) {
		if (t->slots[i].is_busy)
			continue;
		if (!t->is_write)
			transfer_ask_read(t, &t->slots[i]);
		else if (t->asked - written_to(t) <= WINDOW - BLOCK)
			send_write(t, &t->slots[i]);
	}
}

/* Deliver the blocks whose turn it is. */
static void
transfer_deliver(struct execsrv_transfer *t)
{
	struct slot	*s;
	size_t		 i;

	for (i = 0; i < SLOTS && !t->has_failed; i++) {
		s = &t->slots[i];
		/* An empty block only marks the end. */
		if (!s->is_here || s->len == 0 ||
		    s->offset != t->begin + t->moved)
			continue;
		if (t->hooks.on_data != NULL)
			t->hooks.on_data(t->arg, s->data, s->len);
		t->moved += s->len;
		i = SIZE_MAX;		/* from the first again */
	}
}

/* Free the slots of blocks that were delivered, or never will be. */
static void
clear(struct execsrv_transfer *t)
{
	struct slot	*s;
	size_t		 i;

	for (i = 0; i < SLOTS; i++) {
		s = &t->slots[i];
		if (!s->is_here || (!t->has_failed && s->offset < t->end &&
		    s->offset >= t->begin + t->moved))
			continue;
		free(s->data);
		s->data = NULL;
		s->is_here = s->is_busy = false;
	}
}

/* Call on_done, which may free t; the caller holds a reference. */
static void
transfer_finish(struct execsrv_transfer *t)
{
	transfer_set_state(t, TRANSFER_DONE);
	if (t->is_write)
		t->moved = written_to(t) - t->begin;
	if (t->hooks.on_done != NULL && !t->is_forgotten)
		t->hooks.on_done(t->arg, t->moved,
		    t->has_failed ? &t->why : NULL);
}

static void
transfer_on_closed(void *arg, const struct execsrv_error *e)
{
	struct execsrv_transfer	*t = arg;

	assert(t->state == TRANSFER_CLOSING);
	if (e != NULL)
		transfer_fail(t, e);
	transfer_finish(t);
	unref(t);
}

static void
close_file(struct execsrv_transfer *t)
{
	struct execsrv_fs_handle	 in = { .handle = t->handle };
	bool				 is_waiting = !t->has_failed;

	transfer_set_state(t, TRANSFER_CLOSING);
	/* After a failure, do not wait for the answer. */
	if (execsrv_fs_close(t->x, &in, is_waiting ? transfer_on_closed :
	    NULL, t) == -1) {
		transfer_fail_errno(t);
		is_waiting = false;
	}
	if (is_waiting)
		t->refs++;
	else
		transfer_finish(t);
}

/* Do all that can be done now; the caller holds a reference. */
static void
step(struct execsrv_transfer *t)
{
	/* Called from inside a hook: the outer call goes on. */
	if (t->is_stepping || t->state != TRANSFER_OPEN)
		return;
	t->is_stepping = true;
	if (!t->is_write) {
		transfer_deliver(t);
		clear(t);
	}
	transfer_ask(t);
	t->is_stepping = false;
	if (t->is_over && is_idle(t))
		close_file(t);
}

static void
transfer_on_open(void *arg, const struct execsrv_error *e)
{
	struct execsrv_transfer	*t = arg;

	assert(t->state == TRANSFER_OPENING && t->refs > 0);
	if (e != NULL) {
		transfer_fail(t, e);
		transfer_finish(t);
	} else {
		/* If it was freed meanwhile, this closes the file. */
		transfer_set_state(t, TRANSFER_OPEN);
		step(t);
	}
	unref(t);
}

static struct execsrv_transfer *
transfer_begin(struct execsrv *x, const struct execsrv_file *f, bool is_write,
    const struct execsrv_transfer_hooks *hooks, void *arg)
{
	struct execsrv_fs_open	 in = { .path = f->path,
				    .sandbox = f->sandbox,
				    .permissions = f->mode };
	struct execsrv_transfer	*t;
	size_t			 i;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return NULL;
	t->x = x;
	t->is_write = is_write;
	if (hooks != NULL)
		t->hooks = *hooks;
	t->arg = arg;
	t->begin = t->asked = f->offset;
	t->failed = UINT64_MAX;
	if (!is_write) {
		t->end = f->len > 0 && f->len < UINT64_MAX - f->offset ?
		    f->offset + f->len : UINT64_MAX;
	}
	for (i = 0; i < SLOTS; i++)
		t->slots[i].t = t;
	snprintf(t->handle, sizeof(t->handle), ".%llu",
	    (unsigned long long)++x->transfers.last_id);
	in.handle = t->handle;
	in.mode = !is_write ? NULL : f->offset > 0 ? "update" : "replace";
	if (execsrv_fs_open(x, &in, transfer_on_open, t) == -1) {
		free(t);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&x->transfers.live, t, entry);
	t->refs = 2;			/* the caller's, the request's */
	return t;
}

struct execsrv_transfer *
execsrv_file_read(struct execsrv *x, const struct execsrv_file *f,
    const struct execsrv_transfer_hooks *hooks, void *arg)
{
	return transfer_begin(x, f, false, hooks, arg);
}

struct execsrv_transfer *
execsrv_file_write(struct execsrv *x, const struct execsrv_file *f,
    const struct execsrv_transfer_hooks *hooks, void *arg)
{
	if (hooks == NULL || hooks->on_room == NULL) {
		errno = EINVAL;
		return NULL;
	}
	return transfer_begin(x, f, true, hooks, arg);
}

void
execsrv_transfer_pause(struct execsrv_transfer *t, bool is_paused)
{
	t->is_paused = is_paused;
	/* Hooks are called from the loop only: leave it to the next turn. */
	if (!is_paused) {
		t->x->transfers.has_work = true;
		execsrv_changed(t->x);
	}
}

void
execsrv_transfer_free(struct execsrv_transfer **tp)
{
	struct execsrv_transfer	*t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	t->is_forgotten = true;
	if (t->state != TRANSFER_DONE)
		transfer_fail_for(t, EXECSRV_WHY_CANCELLED,
		    "freed before it had ended");
	/* Requests in flight end first, then the file is closed. */
	step(t);
	unref(t);
}

void
execsrv_transfer_work(struct execsrv *x)
{
	struct execsrv_transfer	*t, *next;

	x->transfers.has_work = false;
	for (t = TAILQ_FIRST(&x->transfers.live); t != NULL; t = next) {
		t->refs++;
		step(t);
		/* Hooks may have freed others, but not t: we hold it. */
		next = TAILQ_NEXT(t, entry);
		unref(t);
	}
}

void
execsrv_transfer_free_all(struct execsrv *x)
{
	while (!TAILQ_EMPTY(&x->transfers.live))
		transfer_destroy(TAILQ_FIRST(&x->transfers.live));
}
