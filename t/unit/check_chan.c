/*
 * common/ipc/ipc.c and common/ipc/chan.c: what goes through, and what must not.
 */
#include <sys/socket.h>
#include <sys/uio.h>

#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/ipc/ipc.h"
#include "common/limit.h"

#define TOKEN	0xa5		/* each byte of one */
static unsigned		 nwiped;	/* pieces of memory with one in them */
static uint8_t		 token[600];

/* In the place of libc's: what is freed afterwards cannot be looked at. */
void
explicit_bzero(void *p, size_t len)
{
	volatile uint8_t	*at = p;
	size_t			 n = 0;

	for (; len > 0; at++, len--) {
		n = *at == TOKEN ? n + 1 : 0;
		nwiped += n == sizeof(token);
		*at = 0;
	}
}

/* The same where the size of what is wiped is known, see _FORTIFY_SOURCE. */
void	 __explicit_bzero_chk(void *p, size_t len, size_t size);

void
__explicit_bzero_chk(void *p, size_t len, size_t size)
{
	ck_assert_uint_le(len, size);
	explicit_bzero(p, len);
}

static int
count_fds(void)
{
	DIR	*d = opendir("/proc/self/fd");
	int	 n = 0;

	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

/* As sendmsg(2), with n descriptors. */
static void
send_raw(int sock, const void *data, size_t len, int n)
{
	union {
		struct cmsghdr	 hdr;
		char		 room[CMSG_SPACE(8 * sizeof(int))];
	} ctl;
	struct iovec	 iov = { (void *)(uintptr_t)data, len };
	struct msghdr	 msg;
	struct cmsghdr	*c;
	int		 i, fd = STDERR_FILENO;

	memset(&msg, 0, sizeof(msg));
	memset(&ctl, 0, sizeof(ctl));
	msg.msg_iov = &iov;
	msg.msg_iovlen = 1;
	if (n > 0) {
		msg.msg_control = ctl.room;
		msg.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
		for (i = 0; i < n; i++)
			memcpy(CMSG_DATA(c) + (size_t)i * sizeof(int), &fd,
			    sizeof(fd));
	}
	ck_assert_int_eq(sendmsg(sock, &msg, MSG_NOSIGNAL), (ssize_t)len);
}

/*
 * A body with something in each member, in the memory of its own type;
 * strings and bytes are shared constants.
 */
static void
fill(ProtobufCMessage *m, const ProtobufCMessageDescriptor *d)
{
	static char		 text[] = "t\303\244xt";
	static uint8_t		 bytes[] = { 0, 1, 255, 0 };
	static char		*texts[] = { text, text };
	static Ipc__CellKind	 kinds[] = { IPC__CELL_KIND__TEXT,
				     IPC__CELL_KIND__NUMBER };
	static Ipc__Settings	 settings;
	static Ipc__Process	 process;
	static Ipc__Process	*processes[] = { &process, &process };
	ProtobufCBinaryData	 data = { sizeof(bytes), bytes };
	unsigned		 i;

	d->message_init(m);
	for (i = 0; i < d->n_fields; i++) {
		const ProtobufCFieldDescriptor	*f = &d->fields[i];
		char				*at = (char *)m + f->offset;
		void				*list = NULL;

		if (f->label == PROTOBUF_C_LABEL_REPEATED) {
			*(size_t *)(void *)((char *)m +
			    f->quantifier_offset) = 2;
			list = f->type == PROTOBUF_C_TYPE_STRING ?
			    (void *)texts : f->type == PROTOBUF_C_TYPE_ENUM ?
			    (void *)kinds : (void *)processes;
			ipc__process__init(&process);
			process.command = text;
			process.state = IPC__PROCESS_STATE__CLOSED;
			memcpy(at, &list, sizeof(list));
			continue;
		}
		switch (f->type) {
		case PROTOBUF_C_TYPE_STRING:
			*(char **)(void *)at = text;
			break;
		case PROTOBUF_C_TYPE_BYTES:
			memcpy(at, &data, sizeof(data));
			break;
		case PROTOBUF_C_TYPE_UINT64:
			*(uint64_t *)(void *)at = UINT64_MAX;
			break;
		case PROTOBUF_C_TYPE_UINT32:
			*(uint32_t *)(void *)at = UINT32_MAX;
			break;
		case PROTOBUF_C_TYPE_INT32:
			*(int32_t *)(void *)at = INT32_MIN;
			break;
		case PROTOBUF_C_TYPE_ENUM:
			*(int32_t *)(void *)at = 1;
			break;
		case PROTOBUF_C_TYPE_BOOL:
			*(protobuf_c_boolean *)(void *)at = 1;
			break;
		case PROTOBUF_C_TYPE_MESSAGE:
			ipc__settings__init(&settings);
			settings.window = 12345;
			*(Ipc__Settings **)(void *)at = &settings;
			break;
		default:
			ck_abort_msg("%s: a type not thought of", f->name);
		}
	}
}

union any_body {
	ProtobufCMessage	 base;
	char			 room[512];
};

static const struct ipc_row *
make_body(int kind, union any_body *body)
{
	const struct ipc_row	*row = &ipc_rows[kind];

	ck_assert(row->type->sizeof_message <= sizeof(*body));
	memset(body, 0, sizeof(*body));
	fill(&body->base, row->type);
	return row;
}

static void
round_trip(int kind)
{
	const struct ipc_row	*row;
	struct ipc_msg		 m;
	union any_body		 body;
	uint8_t			*a, *b;
	size_t			 alen, blen;
	int			 pair[2], before;

	row = make_body(kind, &body);
	ck_assert_int_eq(fd_packet_pair(pair), 0);
	before = count_fds();
	ck_assert_int_eq(ipc_send(pair[0], (enum ipc_kind)kind, &body,
	    row->has_fd ? STDERR_FILENO : -1), 0);
	ck_assert_int_eq(ipc_recv(pair[1], row->from, row->to, &m), 1);
	ck_assert_int_eq(m.kind, kind);
	ck_assert_int_eq(m.fd != -1, row->has_fd);
	if (row->has_fd)
		ck_assert(fcntl(m.fd, F_GETFD) & FD_CLOEXEC);
	ck_assert((a = ipc_pack((enum ipc_kind)kind, &body, &alen)) != NULL);
	ck_assert((b = ipc_pack((enum ipc_kind)kind, m.body, &blen)) != NULL);
	ck_assert_uint_eq(alen, blen);
	ck_assert_mem_eq(a, b, alen);
	free(a);
	free(b);
	ipc_msg_fini(&m);
	ck_assert_int_eq(count_fds(), before);
	ck_assert_int_eq(ipc_recv(pair[1], row->from, row->to, &m), -1);
	ck_assert_int_eq(errno, EAGAIN);
	fd_close(&pair[0]);
	ck_assert_int_eq(ipc_recv(pair[1], row->from, row->to, &m), 0);
	fd_close(&pair[1]);
}

/* In one test: there are many, and a process is dear. */
START_TEST(test_round_trip)
{
	int	 kind;

	for (kind = 0; kind < IPC_KINDS; kind++)
		round_trip(kind);
}
END_TEST

static void
expect_eproto(int sock, enum ipc_role from, enum ipc_role to, int before)
{
	struct ipc_msg	 m;

	ck_assert_int_eq(ipc_recv(sock, from, to, &m), -1);
	ck_assert_int_eq(errno, EPROTO);
	ck_assert_int_eq(m.fd, -1);
	ck_assert_int_eq(count_fds(), before);
}

/* Wrong roles, descriptors too few or too many, cut and foreign bytes. */
static void
violations(int kind)
{
	static uint8_t		 large[LIMIT_CONTROL_MESSAGE + 1];
	const struct ipc_row	*row;
	struct ipc_msg		 m;
	union any_body		 body;
	uint8_t			*packet;
	size_t			 len, i;
	int			 pair[2], before, n, from, to, size = 1 << 20;

	row = make_body(kind, &body);
	ck_assert_int_eq(fd_packet_pair(pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	ck_assert((packet = ipc_pack((enum ipc_kind)kind, &body, &len)) !=
	    NULL);
	before = count_fds();
	for (n = 0; n <= 5; n++) {
		if (n == (row->has_fd ? 1 : 0))
			continue;
		send_raw(pair[0], packet, len, n);
		expect_eproto(pair[1], row->from, row->to, before);
	}
	for (from = 0; from < 4; from++)
		for (to = 0; to < 4; to++) {
			if ((enum ipc_role)from == row->from &&
			    (enum ipc_role)to == row->to)
				continue;
			send_raw(pair[0], packet, len, row->has_fd);
			expect_eproto(pair[1], (enum ipc_role)from,
			    (enum ipc_role)to, before);
		}
	/* Cut: never more than a message of the same kind. */
	for (i = 1; i < len; i++) {
		send_raw(pair[0], packet, i, row->has_fd);
		n = ipc_recv(pair[1], row->from, row->to, &m);
		ck_assert(n == 1 || (n == -1 && errno == EPROTO));
		if (n == 1)
			ipc_msg_fini(&m);
	}
	ck_assert_int_eq(count_fds(), before);
	/* A kind that is none, and one byte too many. */
	packet[0] = IPC_KINDS;
	send_raw(pair[0], packet, len, row->has_fd);
	if (row->from == IPC_ROLE_MASTER) {
		/* It may be of a later version: it is skipped. */
		ck_assert_int_eq(ipc_recv(pair[1], row->from, row->to, &m),
		    -1);
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert_int_eq(count_fds(), before);
	} else {
		expect_eproto(pair[1], row->from, row->to, before);
	}
	memset(large, 0, sizeof(large));
	large[0] = (uint8_t)kind;
	send_raw(pair[0], large, sizeof(large), row->has_fd);
	expect_eproto(pair[1], row->from, row->to, before);
	/* Nothing at all looks like the end, and no descriptor stays. */
	send_raw(pair[0], packet, 0, 1);
	ck_assert_int_eq(ipc_recv(pair[1], row->from, row->to, &m), 0);
	ck_assert_int_eq(count_fds(), before);
	free(packet);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}

START_TEST(test_violations)
{
	int	 kind;

	for (kind = 0; kind < IPC_KINDS; kind++)
		violations(kind);
}
END_TEST

/* What a later master says beside it is skipped, and no descriptor stays. */
START_TEST(test_later_master)
{
	Ipc__TranscriptRefused	 out = IPC__TRANSCRIPT_REFUSED__INIT;
	struct ipc_msg		 m;
	uint8_t			 packet[1] = { IPC_KINDS };
	int			 pair[2], before;

	ck_assert_int_eq(fd_packet_pair(pair), 0);
	before = count_fds();
	send_raw(pair[0], packet, sizeof(packet), 1);
	send_raw(pair[0], packet, sizeof(packet), 0);
	send_raw(pair[0], packet, sizeof(packet), 1);
	ck_assert_int_eq(ipc_send(pair[0], IPC_transcript_refused, &out, -1),
	    0);
	ck_assert_int_eq(ipc_recv(pair[1], IPC_ROLE_MASTER, IPC_ROLE_WORKER,
	    &m), 1);
	ck_assert_int_eq(m.kind, IPC_transcript_refused);
	ck_assert_int_eq(m.fd, -1);
	ipc_msg_fini(&m);
	ck_assert_int_eq(count_fds(), before);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}
END_TEST

START_TEST(test_too_large)
{
	Ipc__Handover	 out = IPC__HANDOVER__INIT;
	struct ipc_msg	 m;
	size_t		 len;
	int		 pair[2], size = 1 << 20;

	ck_assert_int_eq(fd_packet_pair(pair), 0);
	setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
	out.message.data = calloc(1, LIMIT_CONTROL_MESSAGE);
	out.message.len = LIMIT_FIRST_MESSAGE;
	ck_assert_int_eq(ipc_send(pair[0], IPC_handover, &out, 2), 0);
	ck_assert_int_eq(ipc_recv(pair[1], IPC_ROLE_WORKER, IPC_ROLE_MASTER,
	    &m), 1);
	ck_assert_uint_eq(((Ipc__Handover *)(void *)m.body)->message.len,
	    LIMIT_FIRST_MESSAGE);
	ipc_msg_fini(&m);
	out.message.len = LIMIT_CONTROL_MESSAGE;
	ck_assert_int_eq(ipc_send(pair[0], IPC_handover, &out, 2), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_ptr_null(ipc_pack(IPC_handover, &out, &len));
	/* As long as may be sent can be received. */
	while (ipc_send(pair[0], IPC_handover, &out, 2) == -1)
		out.message.len--;
	free(ipc_pack(IPC_handover, &out, &len));
	ck_assert_uint_eq(len, LIMIT_CONTROL_MESSAGE);
	ck_assert_int_eq(ipc_recv(pair[1], IPC_ROLE_WORKER, IPC_ROLE_MASTER,
	    &m), 1);
	ipc_msg_fini(&m);
	free(out.message.data);
	fd_close(&pair[0]);
	fd_close(&pair[1]);
}
END_TEST

/* --- channels --- */

struct side {
	struct chan	*chan;
	unsigned	 got, ends;
	uint32_t	 last;
	int		 error;
	unsigned	 free_at;	/* free the channel in this message */
	unsigned	 fail_at;	/* or send what cannot be sent */
};

static void
on_msg(void *arg, struct ipc_msg *m)
{
	static uint8_t	 much[LIMIT_CONTROL_MESSAGE];
	struct side	*s = arg;
	Ipc__Resume	 too_long;

	s->got++;
	if (m->kind == IPC_resumed) {
		ck_assert_uint_eq(((Ipc__Resumed *)(void *)m->body)->ticket,
		    s->last + 1);
		s->last++;
	}
	if (s->got == s->fail_at) {
		ipc__resume__init(&too_long);
		too_long.message.len = sizeof(much);
		too_long.message.data = much;
		chan_send(s->chan, IPC_resume, &too_long, STDERR_FILENO);
	}
	if (s->got == s->free_at)
		chan_free(&s->chan);
}

static void
on_end(void *arg, int error)
{
	struct side	*s = arg;

	s->ends++;
	s->error = error;
	chan_free(&s->chan);
}

struct both {
	struct event_base	*base;
	struct side		 master, worker;
	int			 pair[2];
};

static void
both_init(struct both *b)
{
	memset(b, 0, sizeof(*b));
	b->base = event_base_new();
	ck_assert_int_eq(fd_packet_pair(b->pair), 0);
	b->master.chan = chan_new(b->base, b->pair[0], IPC_ROLE_MASTER,
	    IPC_ROLE_WORKER, on_msg, on_end, &b->master);
	ck_assert_ptr_nonnull(b->master.chan);
}

static void
add_worker(struct both *b)
{
	b->worker.chan = chan_new(b->base, b->pair[1], IPC_ROLE_WORKER,
	    IPC_ROLE_MASTER, on_msg, on_end, &b->worker);
	ck_assert_ptr_nonnull(b->worker.chan);
}

static void
run(struct both *b)
{
	int	 i;

	for (i = 0; i < 2000; i++)
		event_base_loop(b->base, EVLOOP_NONBLOCK);
}

static void
both_fini(struct both *b)
{
	chan_free(&b->master.chan);
	chan_free(&b->worker.chan);
	event_base_free(b->base);
}

/* More than the socket holds is queued, in order, descriptors too. */
START_TEST(test_queue)
{
	Ipc__Resumed	 out = IPC__RESUMED__INIT;
	Ipc__Handover	 more = IPC__HANDOVER__INIT;
	struct both	 b;
	uint32_t	 i;
	int		 before = count_fds(), fd;

	both_init(&b);
	add_worker(&b);
	for (i = 1; i <= 3000; i++) {
		out.ticket = i;
		chan_send(b.worker.chan, IPC_resumed, &out, -1);
	}
	ck_assert(!chan_is_idle(b.worker.chan));
	ck_assert_uint_gt(chan_waiting(b.worker.chan), 0);
	fd = dup(2);
	chan_send(b.worker.chan, IPC_handover, &more, fd);
	close(fd);		/* it stays the caller's */
	run(&b);
	ck_assert_uint_eq(b.master.got, 3001);
	ck_assert(chan_is_idle(b.worker.chan));
	ck_assert_uint_eq(chan_waiting(b.worker.chan), 0);
	both_fini(&b);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

/* So many bytes may wait that this is one message more. */
START_TEST(test_limit)
{
	Ipc__Resumed	 out = IPC__RESUMED__INIT;
	struct both	 b;
	size_t		 one;

	both_init(&b);
	add_worker(&b);
	chan_hold(b.worker.chan, true);
	out.ticket = 1;
	chan_send(b.worker.chan, IPC_resumed, &out, -1);
	one = chan_waiting(b.worker.chan);
	ck_assert_uint_gt(one, 0);
	chan_set_limit(b.worker.chan, 3 * one + (size_t)_i);
	while (!chan_has_ended(b.worker.chan)) {
		out.ticket++;
		chan_send(b.worker.chan, IPC_resumed, &out, -1);
	}
	ck_assert_uint_eq(out.ticket, _i == 1 ? 5 : 4);
	event_base_loop(b.base, EVLOOP_ONCE);
	ck_assert_uint_eq(b.worker.ends, 1);
	ck_assert_int_eq(b.worker.error, ENOBUFS);
	both_fini(&b);
}
END_TEST

static void
on_held_end(void *arg, int error)
{
	unsigned	*n = arg;

	ck_assert_int_eq(error, 0);
	++*n;
}

static void
on_held_msg(void *arg, struct ipc_msg *m)
{
	(void)arg;
	(void)m;
	ck_abort_msg("nobody sent anything");
}

/* What is held back goes to another peer when the first one has left. */
START_TEST(test_renewed)
{
	struct event_base	*base = event_base_new();
	Ipc__Handover		 out = IPC__HANDOVER__INIT;
	Ipc__Resumed		 next = IPC__RESUMED__INIT;
	struct ipc_msg		 got;
	struct chan		*c;
	unsigned		 nends = 0;
	int			 first[2], then[2], before = count_fds();

	ck_assert_int_eq(fd_packet_pair(first), 0);
	ck_assert_int_eq(fd_packet_pair(then), 0);
	ck_assert_ptr_nonnull(c = chan_new(base, first[0], IPC_ROLE_WORKER,
	    IPC_ROLE_MASTER, on_held_msg, on_held_end, &nends));
	chan_hold(c, true);
	next.ticket = 7;
	chan_send(c, IPC_resumed, &next, -1);
	chan_send(c, IPC_handover, &out, STDERR_FILENO);
	close(first[1]);
	if (_i == 0) {
		event_base_loop(base, EVLOOP_NONBLOCK);
		ck_assert(nends == 1 && chan_has_ended(c));
	}
	ck_assert_int_eq(chan_renew(c, then[0]), 0);
	close(then[0]);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert(nends == (_i == 0) && !chan_has_ended(c));
	chan_hold(c, false);
	ck_assert_int_eq(ipc_recv(then[1], IPC_ROLE_WORKER, IPC_ROLE_MASTER,
	    &got), 1);
	ck_assert_int_eq(got.kind, IPC_resumed);
	ipc_msg_fini(&got);
	ck_assert_int_eq(ipc_recv(then[1], IPC_ROLE_WORKER, IPC_ROLE_MASTER,
	    &got), 1);
	ck_assert(got.kind == IPC_handover && got.fd != -1);
	ipc_msg_fini(&got);
	/* It hears the new one's end. */
	close(then[1]);
	event_base_loop(base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(nends, (_i == 0) + 1);
	chan_free(&c);
	ck_assert_int_eq(count_fds(), before);
	event_base_free(base);
}
END_TEST

/* What is held back comes later, in order, with its descriptor. */
START_TEST(test_held)
{
	Ipc__Resumed	 out = IPC__RESUMED__INIT;
	Ipc__Handover	 more = IPC__HANDOVER__INIT;
	struct both	 b;

	both_init(&b);
	add_worker(&b);
	chan_hold(b.worker.chan, true);
	out.ticket = 1;
	chan_send(b.worker.chan, IPC_resumed, &out, -1);
	chan_send(b.worker.chan, IPC_handover, &more, 2);
	event_base_loop(b.base, EVLOOP_NONBLOCK);
	ck_assert_uint_eq(b.master.got, 0);
	ck_assert(!chan_is_idle(b.worker.chan));
	chan_hold(b.worker.chan, false);
	ck_assert(chan_is_idle(b.worker.chan));
	ck_assert(!chan_is_read(b.worker.chan));
	run(&b);
	ck_assert_uint_eq(b.master.got, 2);
	ck_assert(chan_is_read(b.worker.chan));
	both_fini(&b);
}
END_TEST

/* A token may be in it: nothing of it stays in memory, sent or not. */
START_TEST(test_wiped)
{
	Ipc__Credential	 out = IPC__CREDENTIAL__INIT;
	Ipc__Resumed	 more = IPC__RESUMED__INIT;
	struct both	 b;

	memset(token, TOKEN, sizeof(token));
	out.token.data = token;
	out.token.len = sizeof(token);
	both_init(&b);
	add_worker(&b);
	nwiped = 0;
	chan_send(b.worker.chan, IPC_credential, &out, -1);
	ck_assert_uint_eq(nwiped, 1);
	while (chan_is_idle(b.worker.chan)) {
		more.ticket++;
		chan_send(b.worker.chan, IPC_resumed, &more, -1);
	}
	nwiped = 0;
	chan_send(b.worker.chan, IPC_credential, &out, -1);
	ck_assert_uint_eq(nwiped, 0);
	/* Ours when it is sent; and twice the copy of who takes both. */
	run(&b);
	ck_assert_uint_eq(nwiped, 3);
	/* One that nobody takes. */
	while (chan_is_idle(b.worker.chan)) {
		more.ticket++;
		chan_send(b.worker.chan, IPC_resumed, &more, -1);
	}
	chan_send(b.worker.chan, IPC_credential, &out, -1);
	nwiped = 0;
	chan_free(&b.worker.chan);
	ck_assert_uint_eq(nwiped, 1);
	both_fini(&b);
}
END_TEST

START_TEST(test_never_read)
{
	Ipc__Resumed	 out = IPC__RESUMED__INIT;
	struct both	 b;
	int		 i, before = count_fds();

	memset(&b, 0, sizeof(b));
	b.base = event_base_new();
	ck_assert_int_eq(fd_packet_pair(b.pair), 0);
	add_worker(&b);
	out.ticket = UINT32_MAX;
	for (i = 0; i < 40000; i++)
		chan_send(b.worker.chan, IPC_resumed, &out, -1);
	ck_assert_uint_eq(b.worker.ends, 0);	/* not under the caller */
	run(&b);
	fd_close(&b.pair[0]);
	ck_assert_uint_eq(b.worker.ends, 1);
	ck_assert_int_eq(b.worker.error, ENOBUFS);
	both_fini(&b);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

START_TEST(test_ends)
{
	struct both	 b;
	int		 before = count_fds();

	both_init(&b);
	fd_close(&b.pair[1]);
	run(&b);
	ck_assert_uint_eq(b.master.ends, 1);
	ck_assert_int_eq(b.master.error, 0);
	both_fini(&b);
	both_init(&b);
	send_raw(b.pair[1], "\377garbage", 8, 1);
	run(&b);
	ck_assert_uint_eq(b.master.ends, 1);
	ck_assert_int_eq(b.master.error, EPROTO);
	fd_close(&b.pair[1]);
	both_fini(&b);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

/*
 * Who leaves without reading what was sent resets the connection: what he had
 * said before comes all the same, whether we send once more or only read.
 */
START_TEST(test_last_words)
{
	Ipc__Resumed	 out = IPC__RESUMED__INIT;
	Ipc__Query	 query = IPC__QUERY__INIT;
	struct both	 b;
	int		 before = count_fds();

	both_init(&b);
	add_worker(&b);
	out.ticket = 1;
	chan_send(b.worker.chan, IPC_resumed, &out, -1);
	chan_send(b.master.chan, IPC_query, &query, -1);
	chan_free(&b.worker.chan);
	if (_i == 1)
		chan_send(b.master.chan, IPC_query, &query, -1);
	ck_assert_uint_eq(b.master.ends, 0);
	run(&b);
	ck_assert_uint_eq(b.master.got, 1);
	ck_assert_uint_eq(b.master.ends, 1);
	ck_assert_int_eq(b.master.error, 0);
	both_fini(&b);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

START_TEST(test_freed_in_message)
{
	Ipc__Resumed	 out = IPC__RESUMED__INIT;
	struct both	 b;
	int		 before = count_fds();

	both_init(&b);
	add_worker(&b);
	b.master.free_at = 2;
	for (out.ticket = 1; out.ticket < 5; out.ticket++)
		chan_send(b.worker.chan, IPC_resumed, &out, -1);
	run(&b);
	ck_assert_uint_eq(b.master.got, 2);
	ck_assert_uint_eq(b.master.ends, 0);
	ck_assert_uint_eq(b.worker.ends, 1);
	both_fini(&b);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

/* A channel that has failed says nothing more. */
START_TEST(test_failed_in_message)
{
	Ipc__Resumed	 out = IPC__RESUMED__INIT;
	struct both	 b;
	int		 before = count_fds();

	both_init(&b);
	add_worker(&b);
	b.master.fail_at = 2;
	for (out.ticket = 1; out.ticket < 5; out.ticket++)
		chan_send(b.worker.chan, IPC_resumed, &out, -1);
	run(&b);
	ck_assert_uint_eq(b.master.got, 2);
	ck_assert_uint_eq(b.master.ends, 1);
	ck_assert_int_eq(b.master.error, EMSGSIZE);
	both_fini(&b);
	ck_assert_int_eq(count_fds(), before);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("chan");
	TCase	*t = tcase_create("chan");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 60);
	tcase_add_test(t, test_round_trip);
	tcase_add_test(t, test_violations);
	tcase_add_test(t, test_later_master);
	tcase_add_test(t, test_too_large);
	tcase_add_test(t, test_queue);
	tcase_add_loop_test(t, test_limit, -1, 2);
	tcase_add_test(t, test_held);
	tcase_add_loop_test(t, test_renewed, 0, 2);
	tcase_add_test(t, test_wiped);
	tcase_add_test(t, test_never_read);
	tcase_add_test(t, test_ends);
	tcase_add_loop_test(t, test_last_words, 0, 2);
	tcase_add_test(t, test_freed_in_message);
	tcase_add_test(t, test_failed_in_message);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
