/* A real agent: what it answers, what it leaves out, and that it ends. */
#include "t/unit/agent_help.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/fd.h"
#include "common/limit.h"
#include "worker/fs/writeback.h"

#define FIXED	(offsetof(struct fsop, path) + 1) /* and where to answer */
#define WHERE_LINE	2
#define WHERES		3

/* --- in the place of fork(2): what it refuses, in the agent as well --- */

static int	*refusals;

pid_t
fork(void)
{
	if (refusals != NULL && *refusals > 0) {
		--*refusals;
		errno = EAGAIN;
		return -1;
	}
	return _Fork();
}

static void
refuse_forks(int n)
{
	if (refusals == NULL)
		refusals = mmap(NULL, sizeof(*refusals), PROT_READ |
		    PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(refusals, MAP_FAILED);
	*refusals = n;
}

/* It waits for a child, and others go on; but not for ever. */
START_TEST(test_no_children)
{
	struct fsagent_answer	 a, b;
	struct fsop		 op;
	char			*big = malloc(FSAGENT_INLINE);
	int			 fds[3], i;

	ck_assert_ptr_nonnull(big);
	memset(big, 'x', FSAGENT_INLINE);
	sh("printf hello > f; mkdir d; touch d/x");
	refuse_forks(0);
	start_agent(false);
	refuse_forks(4);
	op_init(&op, FSOP_READ, "f", NULL);
	fds[0] = ask(&op);
	op_init(&op, FSOP_WRITE, "g", NULL);
	op.data = big;
	op.len = FSAGENT_INLINE;
	fds[1] = ask(&op);
	op_init(&op, FSOP_WRITE, "h", NULL);
	op.data = "other";
	op.len = 5;
	fds[2] = ask(&op);
	ck_assert_int_eq(hear(&a, &fds[0]), 1);
	has_content(&a, "hello", 5);
	fsagent_answer_fini(&a);
	for (i = 1; i < 3; i++) {
		ck_assert_int_eq(hear(&a, &fds[i]), 1);
		ck_assert_int_eq(outcome(&a), 0);
		fsagent_answer_fini(&a);
	}
	ck_assert_int_eq(*refusals, 0);
	sh("test $(wc -c < g) = $(tr -dc x < g | wc -c)");
	sh("test \"$(cat h)\" = other");
	refuse_forks(1000000);
	op_init(&op, FSOP_READ, "f", NULL);
	fds[0] = ask(&op);
	ck_assert_int_eq(hear(&b, &fds[0]), 1);
	ck_assert_int_eq(outcome(&b), REFUSED(NO_PROCESS));
	fsagent_answer_fini(&b);
	/* Who does not wait is not waited for. */
	fds[0] = ask(&op);
	fd_close(&fds[0]);
	refuse_forks(0);
	op_init(&op, FSOP_STAT, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	free(big);
}
END_TEST

/* --- answers; loop index: quick or not --- */

START_TEST(test_answers)
{
	struct fsagent_answer	 a;
	struct fsop		 op;

	sh("printf hello > f; mkdir d; touch d/x; ln -s f fl");
	start_agent(_i != 0);
	op_init(&op, FSOP_STAT, "fl", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	ck_assert(a.r.is_file && a.r.is_symlink && !a.r.is_dir);
	ck_assert_uint_eq(a.r.size, 5);
	ck_assert_int_gt(a.r.modified_ms, 1600000000000);
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_READ, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	has_content(&a, "hello", 5);
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_READ, "nope", NULL);
	ck_assert_int_eq(do_it(&op, &a), ENOENT);
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_READ, "d", NULL);
	ck_assert_int_eq(do_it(&op, &a), REFUSED(NOT_REGULAR));
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_LIST, "d", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	ck_assert_uint_gt(a.r.payload.len, 0);
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_COPY, "d", "e/e");
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	sh("test -f e/e/x");
}
END_TEST

START_TEST(test_writes)
{
	static const size_t	 lens[] = { FSAGENT_INLINE, FSAGENT_INLINE + 1,
		LIMIT_FILE_QUICK + 1 };
	struct fsagent_answer	 a;
	struct fsop		 op;
	char			*big;
	size_t			 i;

	ck_assert_ptr_nonnull(big = malloc(LIMIT_FILE_QUICK + 1));
	memset(big, 'b', LIMIT_FILE_QUICK + 1);
	start_agent(_i != 0);
	op_init(&op, FSOP_WRITE, "f", NULL);
	op.data = "text";
	op.len = 4;
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_WRITE, "empty", NULL);
	op.data = "";
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_WRITE, "big", NULL);
	op.data = big;
	for (i = 0; i < 3; i++) {
		sh("printf old > big; echo '#!/bin/sh' > run; chmod 755 run");
		op.len = lens[i];
		ck_assert_int_eq(do_it(&op, &a), 0);
		fsagent_answer_fini(&a);
		sh("test $(tr -d b < big | wc -c) = 0;"
		    "test $(stat -c %%s big) = %zu", lens[i]);
	}
	/* What was written can be run at once, whatever follows it. */
	op_init(&op, FSOP_WRITE, "run", NULL);
	op.data = "#!/bin/sh\nexit 0";
	op.len = strlen(op.data);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(do_it(&op, &a), 0);
		fsagent_answer_fini(&a);
		sh("./run");
	}
	sh("test \"$(cat f)\" = text; test -f empty; ! test -s empty");
	free(big);
}
END_TEST

START_TEST(test_blocks)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	int			 fd;

	start_agent(_i != 0);
	op_init(&op, FSOP_OPEN, "f", NULL);
	op.replace = true;
	ck_assert_int_eq(do_it(&op, &a), 0);
	ck_assert_int_ne(fd = a.r.fd, -1);
	a.r.fd = -1;
	ck_assert(a.r.is_local);
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_PWRITE, "", NULL);
	op.fd = fd;
	op.data = "block";
	op.len = 5;
	op.offset = 3;
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	fd_close(&fd);
	op_init(&op, FSOP_OPEN, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	op_init(&op, FSOP_PREAD, "", NULL);
	op.fd = a.r.fd;
	op.offset = 2;
	op.len = LIMIT_FILE_BLOCK;
	fd = ask(&op);
	fsagent_answer_fini(&a);
	ck_assert_int_eq(hear(&a, &fd), 1);
	has_content(&a, "\0block", 6);
	fsagent_answer_fini(&a);
}
END_TEST

/* A long one is announced before it is read. */
START_TEST(test_long_answer)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	struct pollfd		 p = { -1, POLLIN, 0 };
	int			 fd;

	sh("head -c 10000000 /dev/urandom > f");
	start_agent(_i != 0);
	op_init(&op, FSOP_READ, "f", NULL);
	p.fd = fd = ask(&op);
	fsagent_answer_init(&a);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_int_eq(fsagent_answer_read(&a, fd), 0);
	ck_assert_uint_eq(a.request, 10000001);
	ck_assert_uint_eq(a.payload_len, 0);
	/* Nothing more until it may. */
	ck_assert_int_eq(poll(&p, 1, 100), 0);
	ck_assert_int_eq(fsagent_grant(&a, fd), 0);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_int_eq(fsagent_answer_read(&a, fd), 0);
	ck_assert_uint_eq(a.payload_len, 10000000);
	ck_assert_uint_eq(a.r.payload.len, 0);
	ck_assert(has_children());
	while (fsagent_answer_read(&a, fd) == 0)
		ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_uint_eq(a.r.payload.len, 10000000);
	ck_assert_int_eq(a.r.error, 0);
	fd_close(&fd);
	fsagent_answer_fini(&a);
	ck_assert(children_within(false, PATIENCE));
}
END_TEST

/* A folder of long names asks for as much as there could be. */
START_TEST(test_long_list)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	struct pollfd		 p = { -1, POLLIN, 0 };
	char			 word[241];

	memset(word, 'x', 240);
	word[240] = '\0';
	sh("mkdir d; cd d; seq -f %s-%%.0f 10000 | xargs touch", word);
	start_agent(_i != 0);
	op_init(&op, FSOP_LIST, "d", NULL);
	p.fd = ask(&op);
	fsagent_answer_init(&a);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_int_eq(fsagent_answer_read(&a, p.fd), 0);
	ck_assert_uint_gt(a.request, LIMIT_FILE_QUICK);
	ck_assert_uint_gt(a.request, LIMIT_FOLDER_ENTRIES * NAME_MAX);
	ck_assert_int_eq(fsagent_grant(&a, p.fd), 0);
	ck_assert_int_eq(hear(&a, &p.fd), 1);
	ck_assert_int_eq(outcome(&a), 0);
	ck_assert_uint_gt(a.r.payload.len, 10000 * 240);
	fsagent_answer_fini(&a);
}
END_TEST

/* Who asks whether it may hold more and hears nothing ends with its client. */
START_TEST(test_cancelled_asking)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	struct pollfd		 p = { -1, POLLIN, 0 };

	sh("head -c 10000000 /dev/zero > f");
	start_agent(_i != 0);
	op_init(&op, FSOP_READ, "f", NULL);
	p.fd = ask(&op);
	fsagent_answer_init(&a);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_int_eq(fsagent_answer_read(&a, p.fd), 0);
	ck_assert_uint_gt(a.request, 0);
	ck_assert(has_children());
	fd_close(&p.fd);
	ck_assert(children_within(false, PATIENCE));
	fsagent_answer_fini(&a);
}
END_TEST

/* Hundreds at once, each with an answer of its own. */
START_TEST(test_many)
{
	struct fsagent_answer	 a;
	struct fsagent_line	 taken = { -1, &a, AGENT_LINE_EVER };
	struct fsop		 op;
	int			 fds[300], i, got = 0;
	char			 name[32];

	sh("for i in $(seq 0 299); do echo $i > f$i; done");
	start_agent(_i != 0);
	for (i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "f%d", i);
		op_init(&op, FSOP_READ, name, NULL);
		while ((fds[i] = fsagent_ask(sock, &op, -1, &taken,
		    NULL)) == -1) {
			ck_assert_int_eq(errno, EAGAIN);
			ck_assert_int_lt(got, i);
			ck_assert_int_eq(hear(&a, &fds[got++]), 1);
			fsagent_answer_fini(&a);
		}
	}
	for (; got < 300; got++) {
		ck_assert_int_eq(hear(&a, &fds[got]), 1);
		ck_assert_int_eq(outcome(&a), 0);
		snprintf(name, sizeof(name), "%d\n", got);
		has_content(&a, name, strlen(name));
		fsagent_answer_fini(&a);
	}
}
END_TEST

/* --- cancelled --- */

/* Before it was even looked at: nothing is done. */
START_TEST(test_cancelled_before)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	int			 fd;

	op_init(&op, FSOP_WRITE, "f", NULL);
	op.data = "text";
	op.len = 4;
	fd = ask(&op);
	fd_close(&fd);
	op_init(&op, FSOP_STAT, "f", NULL);
	fd = ask(&op);
	start_agent(_i != 0);
	ck_assert_int_eq(hear(&a, &fd), 1);
	ck_assert_int_eq(outcome(&a), ENOENT);
	fsagent_answer_fini(&a);
}
END_TEST

/* In the middle of its work, or of its answer. */
START_TEST(test_cancelled_during)
{
	struct fsop	 op;
	int		 fd;

	sh("head -c 30000000 /dev/zero > f; mkdir t; cd t;"
	    "seq 30000 | xargs touch");
	start_agent(_i != 0);
	op_init(&op, FSOP_READ, "f", NULL);
	fd = ask(&op);
	ck_assert(children_within(true, PATIENCE));
	fd_close(&fd);
	ck_assert(children_within(false, PATIENCE));
	op_init(&op, FSOP_COPY, "t", "copy");
	fd = ask(&op);
	ck_assert(children_within(true, PATIENCE));
	fd_close(&fd);
	ck_assert(children_within(false, PATIENCE));
	sh("test $(ls copy | wc -l) -lt 30000");
}
END_TEST

/* --- what is no request --- */

/* What comes before the paths; answered on a socket that comes along. */
static void
fill(char *packet, const struct fsop *op)
{
	memcpy(packet, op, FIXED - 1);
	packet[FIXED - 1] = 0;
}

/* Send bytes with n descriptors of our own side of a socket. */
static int
send_raw(const void *data, size_t len, size_t n)
{
	union {
		struct cmsghdr	 align;
		char		 room[CMSG_SPACE(8 * sizeof(int))];
	} u;
	struct iovec	 iov = { (void *)(uintptr_t)data, len };
	struct msghdr	 m = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr	*c;
	int		 pair[2], fds[8];
	size_t		 i;

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    pair), 0);
	memset(&u, 0, sizeof(u));
	for (i = 0; i < n; i++)
		fds[i] = pair[1];
	if (n > 0) {
		m.msg_control = u.room;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n * sizeof(int));
	}
	ck_assert_int_eq(sendmsg(sock, &m, MSG_NOSIGNAL), (ssize_t)len);
	close(pair[1]);
	return pair[0];
}

/* It is left out: its descriptors are closed without a word. */
static void
is_left_out(const void *data, size_t len, size_t n)
{
	char	 byte;
	int	 fd = send_raw(data, len, n);
	struct pollfd	 p = { fd, POLLIN, 0 };

	ck_assert_msg(poll(&p, 1, PATIENCE) == 1, "%zu bytes", len);
	ck_assert_int_eq(read(fd, &byte, 1), 0);
	close(fd);
}

START_TEST(test_garbage)
{
	static char		 packet[FIXED + 3 * PATH_MAX];
	struct fsagent_answer	 a;
	struct fsop		 op;
	size_t			 len, before;
	int			 kind;

	sh("touch f");
	start_agent(_i != 0);
	op_init(&op, FSOP_STAT, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	ck_assert(children_within(false, PATIENCE));
	before = count_fds(agent);
	fill(packet, &op);
	strcpy(packet + FIXED, op.path);
	len = FIXED + strlen(op.path) + 1;
	/* Cut off: not even a path, or one without its end. */
	is_left_out(packet, 1, 1);
	is_left_out(packet, FIXED, 1);
	is_left_out(packet, FIXED + 1, 1);
	is_left_out(packet, len - 1, 1);
	/* No kind there is. */
	kind = FSOP_KINDS;
	memcpy(packet + offsetof(struct fsop, kind), &kind, sizeof(kind));
	is_left_out(packet, len, 1);
	is_left_out(packet, len, 3);
	is_left_out(packet, len, 8);
	kind = -1;
	memcpy(packet + offsetof(struct fsop, kind), &kind, sizeof(kind));
	is_left_out(packet, len, 1);
	/* To be answered nobody knows where, or on a line that is not there. */
	fill(packet, &op);
	packet[FIXED - 1] = WHERES;
	is_left_out(packet, len, 1);
	packet[FIXED - 1] = WHERE_LINE;
	is_left_out(packet, len, 3);
	is_left_out(packet, len, 8);
	fsagent_line_fini(&line);
	/* Paths longer than any is. */
	fill(packet, &op);
	memset(packet + FIXED, '/', sizeof(packet) - FIXED);
	packet[FIXED + PATH_MAX] = '\0';
	is_left_out(packet, FIXED + PATH_MAX + 1, 1);
	packet[FIXED + 1] = '\0';
	packet[FIXED + 2 + PATH_MAX] = '\0';
	is_left_out(packet, FIXED + 3 + PATH_MAX, 1);
	packet[FIXED + PATH_MAX] = '/';
	packet[sizeof(packet) - 1] = '\0';
	is_left_out(packet, sizeof(packet), 1);
	/* Data of another length than it says, or for what takes none. */
	memset(packet, 0, sizeof(packet));
	op.kind = FSOP_WRITE;
	op.len = 3;
	fill(packet, &op);
	memcpy(packet + FIXED, "/", 1);
	is_left_out(packet, FIXED + 3 + 2, 1);
	is_left_out(packet, FIXED + 3 + 4, 1);
	op.kind = FSOP_STAT;
	fill(packet, &op);
	is_left_out(packet, FIXED + 3 + 3, 1);
	op_init(&op, FSOP_STAT, "f", NULL);
	/* Nobody to answer. */
	close(send_raw(packet, len, 0));
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	ck_assert_uint_le(count_fds(agent), before + 8);
}
END_TEST

/* A block of a file that is not there, or not sent along. */
START_TEST(test_without_file)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	char			 packet[FIXED + 3] = { 0 };
	int			 fd;

	start_agent(_i != 0);
	op_init(&op, FSOP_PREAD, "/", NULL);
	op.len = 10;
	fill(packet, &op);
	packet[FIXED] = '/';
	fd = send_raw(packet, sizeof(packet), 1);
	ck_assert_int_eq(hear(&a, &fd), 1);
	ck_assert_int_eq(outcome(&a), EBADF);
	fsagent_answer_fini(&a);
	op.kind = FSOP_WRITE;
	fill(packet, &op);
	fd = send_raw(packet, sizeof(packet), 1);
	ck_assert_int_eq(hear(&a, &fd), 1);
	ck_assert_int_eq(outcome(&a), EBADF);
	fsagent_answer_fini(&a);
}
END_TEST

START_TEST(test_no_leaks)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	size_t			 mine, its;
	int			 i;

	sh("printf hello > f");
	start_agent(_i != 0);
	op_init(&op, FSOP_OPEN, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	ck_assert(children_within(false, PATIENCE));
	mine = count_fds(getpid());
	its = count_fds(agent);
	for (i = 0; i < 200; i++) {
		op_init(&op, i % 2 != 0 ? FSOP_OPEN : FSOP_READ,
		    i % 3 != 0 ? "f" : "nope", NULL);
		(void)do_it(&op, &a);
		fsagent_answer_fini(&a);
		op_init(&op, FSOP_WRITE, "new", NULL);
		op.data = "x";
		op.len = 1;
		ck_assert_int_eq(do_it(&op, &a), 0);
		fsagent_answer_fini(&a);
	}
	ck_assert(children_within(false, PATIENCE));
	ck_assert_uint_eq(count_fds(getpid()), mine);
	/* It may be about to close what the last one was about. */
	ck_assert_uint_le(count_fds(agent), its + 8 + WRITEBACK_FILES);
}
END_TEST

/* --- answers that are none --- */

START_TEST(test_broken_answers)
{
	static const size_t	 lens[] = { 0, 1, 20, 128 };
	struct fsagent_answer	 a;
	unsigned char		 junk[128];
	int			 pair[2];

	memset(junk, 0xff, sizeof(junk));
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0,
	    pair), 0);
	ck_assert_int_eq(write(pair[1], junk, lens[_i]), (ssize_t)lens[_i]);
	close(pair[1]);
	ck_assert_int_eq(hear(&a, &pair[0]), -1);
	ck_assert_int_eq(outcome(&a), REFUSED(DIED));
	ck_assert_uint_eq(a.r.payload.len, 0);
	fsagent_answer_fini(&a);
}
END_TEST

/* The child dies while it asks, or with half of its answer sent. */
START_TEST(test_killed)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	struct pollfd		 p = { -1, POLLIN, 0 };
	char			 path[64];
	long			 child = 0;
	FILE			*f;
	int			 fd, rv;

	sh("head -c 30000000 /dev/zero > f");
	start_agent((_i & 1) != 0);
	op_init(&op, FSOP_READ, "f", NULL);
	p.fd = fd = ask(&op);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children",
	    (long)agent, (long)agent);
	ck_assert_ptr_nonnull(f = fopen(path, "re"));
	ck_assert_int_eq(fscanf(f, "%ld", &child), 1);
	fclose(f);
	ck_assert_int_gt(child, 1);
	fsagent_answer_init(&a);
	ck_assert_int_eq(fsagent_answer_read(&a, fd), 0);
	ck_assert_uint_gt(a.request, 0);
	if ((_i & 2) != 0) {
		ck_assert_int_eq(fsagent_grant(&a, fd), 0);
		ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
		ck_assert_int_eq(fsagent_answer_read(&a, fd), 0);
		ck_assert_uint_gt(a.payload_len, 0);
	}
	ck_assert_int_eq(kill((pid_t)child, SIGKILL), 0);
	while ((rv = fsagent_answer_read(&a, fd)) == 0)
		ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	fd_close(&fd);
	ck_assert_int_eq(rv, -1);
	ck_assert_int_eq(outcome(&a), REFUSED(DIED));
	ck_assert_uint_eq(a.r.payload.len, 0);
	fsagent_answer_fini(&a);
	op_init(&op, FSOP_STAT, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("fsagent");
	TCase	*t = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, agent_setup, agent_teardown);
	tcase_add_test(t, test_no_children);
	tcase_add_loop_test(t, test_answers, 0, 2);
	tcase_add_loop_test(t, test_writes, 0, 2);
	tcase_add_loop_test(t, test_blocks, 0, 2);
	tcase_add_loop_test(t, test_long_answer, 0, 2);
	tcase_add_loop_test(t, test_long_list, 0, 2);
	tcase_add_loop_test(t, test_cancelled_asking, 0, 2);
	tcase_add_loop_test(t, test_many, 0, 2);
	tcase_add_loop_test(t, test_cancelled_before, 0, 2);
	tcase_add_loop_test(t, test_cancelled_during, 0, 2);
	tcase_add_loop_test(t, test_garbage, 0, 2);
	tcase_add_loop_test(t, test_without_file, 0, 2);
	tcase_add_loop_test(t, test_no_leaks, 0, 2);
	tcase_add_loop_test(t, test_broken_answers, 0, 4);
	tcase_add_loop_test(t, test_killed, 0, 4);
	tcase_set_timeout(t, 90);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
