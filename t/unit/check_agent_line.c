/* Answers of an agent that come on one socket after another. */
#include "t/unit/agent_help.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <check.h>

#include "common/fd.h"

/* One socket for one answer after another, if it is quick. */
START_TEST(test_line)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	int			 fd = -1, i;

	sh("printf hello > f");
	start_agent(_i != 0);
	op_init(&op, FSOP_READ, "f", NULL);
	for (i = 0; i < 10; i++) {
		ck_assert_int_eq(do_it(&op, &a), 0);
		has_content(&a, "hello", 5);
		fsagent_answer_fini(&a);
		if (i > 0)
			ck_assert_int_eq(line.fd, fd);
		fd = line.fd;
		ck_assert((fd != -1) == (_i != 0));
		ck_assert_ptr_null(line.user);
	}
}
END_TEST

/* Who comes while it is in use gets another; and the answers are not mixed. */
START_TEST(test_line_taken)
{
	struct fsagent_answer	 a, b;
	struct fsop		 op;
	int			 fd[2], i;

	sh("printf hello > f; printf world > g");
	start_agent(_i != 0);
	for (i = 0; i < 10; i++) {
		op_init(&op, FSOP_READ, "f", NULL);
		fd[0] = ask_on(&line, &op, &a);
		ck_assert_ptr_eq(line.user, &a);
		op_init(&op, FSOP_READ, "g", NULL);
		fd[1] = ask_on(&line, &op, &b);
		ck_assert_ptr_eq(line.user, &a);
		ck_assert_int_eq(read_on(&b, fd[1]), 1);
		has_content(&b, "world", 5);
		fsagent_end(&line, &b, &fd[1]);
		ck_assert_int_eq(line.fd, -1);
		ck_assert_int_eq(read_on(&a, fd[0]), 1);
		has_content(&a, "hello", 5);
		fsagent_end(&line, &a, &fd[0]);
		fsagent_answer_fini(&a);
		fsagent_answer_fini(&b);
	}
}
END_TEST

/* It goes with who does not wait for the end, or with a child; then anew. */
START_TEST(test_line_lost)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	int			 fd, i;

	sh("printf hello > f; head -c 10000000 /dev/urandom > long");
	start_agent(true);
	for (i = 0; i < 5; i++) {
		op_init(&op, FSOP_STAT, "f", NULL);
		ck_assert_int_eq(do_it(&op, &a), 0);
		fsagent_answer_fini(&a);
		ck_assert_int_ne(line.fd, -1);
		fd = ask_on(&line, &op, &a);
		fsagent_answer_init(&a);
		fsagent_end(&line, &a, &fd);
		ck_assert_int_eq(line.fd, -1);
		ck_assert_int_eq(do_it(&op, &a), 0);
		ck_assert_uint_eq(a.r.size, 5);
		fsagent_answer_fini(&a);
		ck_assert_int_ne(line.fd, -1);
		op_init(&op, FSOP_READ, "long", NULL);
		ck_assert_int_eq(do_it(&op, &a), 0);
		ck_assert_uint_eq(a.r.payload.len, 10000000);
		fsagent_answer_fini(&a);
		ck_assert_int_eq(line.fd, -1);
	}
	ck_assert(children_within(false, PATIENCE));
}
END_TEST

/* An open file and data find their places behind no socket, too. */
START_TEST(test_line_files)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	char			*big;
	int			 fd, i;

	ck_assert_ptr_nonnull(big = malloc(FSAGENT_INLINE + 1));
	memset(big, 'b', FSAGENT_INLINE + 1);
	start_agent(true);
	op_init(&op, FSOP_OPEN, "f", NULL);
	op.replace = true;
	ck_assert_int_eq(do_it(&op, &a), 0);
	ck_assert_int_ne(fd = a.r.fd, -1);
	a.r.fd = -1;
	fsagent_answer_fini(&a);
	for (i = 0; i < 3; i++) {
		ck_assert_int_ne(line.fd, -1);
		op_init(&op, FSOP_PWRITE, "", NULL);
		op.fd = fd;
		op.data = big;
		op.len = FSAGENT_INLINE + 1;
		op.offset = (uint64_t)i * op.len;
		ck_assert_int_eq(do_it(&op, &a), 0);
		fsagent_answer_fini(&a);
	}
	sh("test $(tr -d b < f | wc -c) = 0;"
	    "test $(stat -c %%s f) = %d", 3 * (FSAGENT_INLINE + 1));
	fd_close(&fd);
	free(big);
}
END_TEST

/* An operation that takes long does not keep it from the others. */
START_TEST(test_line_held)
{
	struct fsagent_answer	 a, b;
	struct fsop		 op;
	struct pollfd		 p = { -1, POLLIN, 0 };
	int			 i;

	sh("printf hello > f; head -c 10000000 /dev/urandom > long");
	start_agent(true);
	op_init(&op, FSOP_READ, "long", NULL);
	p.fd = ask_on(&line, &op, &a);
	fsagent_answer_init(&a);
	ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	ck_assert_int_eq(fsagent_answer_read(&a, p.fd), 0);
	ck_assert_uint_gt(a.request, 0);
	/* Long ago, that is. */
	line.since -= FSAGENT_LINE_MS;
	op_init(&op, FSOP_READ, "f", NULL);
	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(do_it(&op, &b), 0);
		has_content(&b, "hello", 5);
		fsagent_answer_fini(&b);
		ck_assert_int_ne(line.fd, -1);
		ck_assert_ptr_null(line.user);
	}
	i = line.fd;
	ck_assert_int_eq(fsagent_grant(&a, p.fd), 0);
	do
		ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	while (fsagent_answer_read(&a, p.fd) == 0);
	ck_assert_uint_eq(a.r.payload.len, 10000000);
	fsagent_end(&line, &a, &p.fd);
	fsagent_answer_fini(&a);
	ck_assert_int_eq(line.fd, i);
	ck_assert_int_eq(do_it(&op, &b), 0);
	fsagent_answer_fini(&b);
}
END_TEST

/* It stays where it is when there is no room for a request. */
START_TEST(test_line_full)
{
	static const struct fsagent_answer	 other;
	struct fsagent_answer	 a;
	struct fsagent_line	 taken = { -1, &other, AGENT_LINE_EVER };
	struct fsop		 op;
	int			 fds[2000], n = 0, fd, was;

	sh("printf hello > f");
	start_agent(true);
	op_init(&op, FSOP_STAT, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	ck_assert_int_ne(was = line.fd, -1);
	ck_assert_int_eq(kill(agent, SIGSTOP), 0);
	while ((fd = fsagent_ask(sock, &op, -1, &taken, NULL)) != -1) {
		ck_assert_int_lt(n, 2000);
		fds[n++] = fd;
	}
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(fsagent_ask(sock, &op, -1, &line, &a), -1);
	ck_assert_int_eq(errno, EAGAIN);
	ck_assert_int_eq(line.fd, was);
	ck_assert_ptr_null(line.user);
	ck_assert_int_eq(kill(agent, SIGCONT), 0);
	while (n > 0) {
		ck_assert_int_eq(hear(&a, &fds[--n]), 1);
		fsagent_answer_fini(&a);
	}
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	ck_assert_int_eq(line.fd, was);
}
END_TEST

/* Nor does what is cancelled leave anything behind. */
START_TEST(test_line_leaks)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	size_t			 its;
	int			 fd, i;

	sh("printf hello > f");
	start_agent(true);
	op_init(&op, FSOP_STAT, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	wait_idle(agent);
	its = count_fds(agent);
	for (i = 0; i < 100; i++) {
		fd = ask_on(&line, &op, &a);
		fsagent_answer_init(&a);
		fsagent_end(&line, &a, &fd);
		if (i % 3 == 0)
			continue;
		ck_assert_int_eq(do_it(&op, &a), 0);
		fsagent_answer_fini(&a);
	}
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	wait_idle(agent);
	ck_assert_uint_eq(count_fds(agent), its);
}
END_TEST

/* A packet that is refused takes the line along: who waits there hears it. */
START_TEST(test_line_refused)
{
	struct fsagent_answer	 a;
	struct fsop		 op;
	int			 fd;

	sh("printf hello > f");
	start_agent(true);
	op_init(&op, FSOP_STAT, "f", NULL);
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	ck_assert_int_ne(line.fd, -1);
	op.kind = FSOP_KINDS;
	fd = ask_on(&line, &op, &a);
	ck_assert_int_eq(read_on(&a, fd), -1);
	ck_assert_int_eq(outcome(&a), REFUSED(DIED));
	fsagent_end(&line, &a, &fd);
	fsagent_answer_fini(&a);
	ck_assert_int_eq(line.fd, -1);
	op.kind = FSOP_STAT;
	ck_assert_int_eq(do_it(&op, &a), 0);
	fsagent_answer_fini(&a);
	ck_assert_int_ne(line.fd, -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("fsagent_line");
	TCase	*t = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_checked_fixture(t, agent_setup, agent_teardown);
	tcase_add_loop_test(t, test_line, 0, 2);
	tcase_add_loop_test(t, test_line_taken, 0, 2);
	tcase_add_test(t, test_line_lost);
	tcase_add_test(t, test_line_files);
	tcase_add_test(t, test_line_held);
	tcase_add_test(t, test_line_full);
	tcase_add_test(t, test_line_leaks);
	tcase_add_test(t, test_line_refused);
	tcase_set_timeout(t, 90);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
