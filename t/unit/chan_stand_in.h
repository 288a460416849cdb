/*
 * In the place of common/ipc/chan.h, for the one file that includes this:
 * did() has what is sent, with all members that are not as they are by default.
 */
#pragma once

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/chan.h"
#include "t/unit/did_help.h"

static struct chan {
	struct event_base	*base;
	chan_msg_fn		*on_msg;
	chan_end_fn		*on_end;
	void			*arg;
	int			 sock;
	size_t			 limit, waiting;
	enum ipc_role		 self, peer;
} the_chan;
static bool	 chan_fails;

struct chan *
chan_new(struct event_base *base, int sock, enum ipc_role self,
    enum ipc_role peer, chan_msg_fn *on_msg, chan_end_fn *on_end, void *arg)
{
	ck_assert(the_chan.base == NULL && base != NULL);
	if (chan_fails)
		return NULL;
	the_chan = (struct chan){ .base = base, .on_msg = on_msg,
	    .on_end = on_end, .arg = arg, .sock = sock, .self = self,
	    .peer = peer };
	return &the_chan;
}

void
chan_free(struct chan **cp)
{
	if (*cp == NULL)
		return;
	ck_assert(*cp == &the_chan && the_chan.base != NULL);
	the_chan.base = NULL;
	*cp = NULL;
	did("chan_free");
}

static size_t
chan_member(char *out, size_t size, const ProtobufCFieldDescriptor *f,
    const void *at)
{
	const ProtobufCBinaryData	*b = at;
	const char			*text;
	uint64_t			 n;

	switch (f->type) {
	case PROTOBUF_C_TYPE_STRING:
		text = *(char *const *)at;
		return text == NULL || text[0] == '\0' ? 0 :
		    (size_t)snprintf(out, size, " %s='%s'", f->name, text);
	case PROTOBUF_C_TYPE_BYTES:
		return b->len == 0 ? 0 : b->len > 40 ?
		    (size_t)snprintf(out, size, " %s:%zu", f->name, b->len) :
		    (size_t)snprintf(out, size, " %s='%.*s'", f->name,
		    (int)b->len, (const char *)b->data);
	case PROTOBUF_C_TYPE_BOOL:
		return *(const protobuf_c_boolean *)at == 0 ? 0 :
		    (size_t)snprintf(out, size, " %s", f->name);
	case PROTOBUF_C_TYPE_UINT64:
	case PROTOBUF_C_TYPE_INT64:
		n = *(const uint64_t *)at;
		break;
	default:
		n = *(const uint32_t *)at;
	}
	return n == 0 ? 0 :
	    (size_t)snprintf(out, size, " %s=%" PRIu64, f->name, n);
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	const ProtobufCMessageDescriptor	*d = ipc_rows[kind].type;
	const ProtobufCFieldDescriptor		*f;
	char					 text[500] = "";
	const char				*at;
	size_t					 len = 0, j, n;
	unsigned				 i;

	ck_assert(c == &the_chan && c->base != NULL);
	ck_assert_int_eq(ipc_rows[kind].from, c->self);
	ck_assert(fd == -1 || ipc_rows[kind].has_fd);
	for (i = 0; i < d->n_fields; i++) {
		f = &d->fields[i];
		at = (const char *)body + f->offset;
		if (f->label != PROTOBUF_C_LABEL_REPEATED) {
			len += chan_member(text + len, sizeof(text) - len, f,
			    at);
			continue;
		}
		n = *(const size_t *)(const void *)((const char *)body +
		    f->quantifier_offset);
		ck_assert_int_eq(f->type, PROTOBUF_C_TYPE_STRING);
		if (n > 8)
			len += (size_t)snprintf(text + len, sizeof(text) - len,
			    " %s:%zu", f->name, n);
		for (j = 0; j < n && n <= 8; j++)
			len += chan_member(text + len, sizeof(text) - len, f,
			    *(char *const *const *)(const void *)at + j);
	}
	ck_assert_uint_lt(len, sizeof(text));
	did("%s%s%s", ipc_rows[kind].name, text, fd != -1 ? " +fd" : "");
}

void
chan_hold(struct chan *c, bool holds)
{
	ck_assert_ptr_eq(c, &the_chan);
	did(holds ? "hold" : "let go");
}

void
chan_set_limit(struct chan *c, size_t max)
{
	ck_assert_ptr_eq(c, &the_chan);
	c->limit = max;
}

size_t
chan_waiting(const struct chan *c)
{
	ck_assert_ptr_eq(c, &the_chan);
	return c->waiting;
}

/* The peer sends a message.  Return its descriptor, or -1: taken. */
static inline int
chan_comes(enum ipc_kind kind, void *body, int fd)
{
	struct ipc_msg	 m = { kind, body, fd };

	ck_assert_ptr_nonnull(the_chan.base);
	the_chan.on_msg(the_chan.arg, &m);
	return m.fd;
}
