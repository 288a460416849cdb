#include "t/unit/agent_help.h"

#include <sys/socket.h>
#include <sys/wait.h>

#include <dirent.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <check.h>

#include "common/fd.h"

int			 sock = -1;
pid_t			 agent;
struct fsagent_line	 line;

static int		 theirs = -1;

void
start_agent(bool nonblock)
{
	ck_assert_int_ne(agent = fork(), -1);
	if (agent == 0) {
		close(sock);
		fsagent_serve(theirs, -1, nonblock, true);
	}
	fd_close(&theirs);
}

void
agent_setup(void)
{
	int	 pair[2];

	tree_setup();
	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
	    pair), 0);
	sock = pair[0];
	theirs = pair[1];
	agent = 0;
	fsagent_line_init(&line);
}

void
agent_teardown(void)
{
	int	 status;

	fd_close(&sock);
	fd_close(&theirs);
	fsagent_line_fini(&line);
	if (agent != 0) {
		ck_assert_int_eq(waitpid(agent, &status, 0), agent);
		ck_assert_int_eq(status, 0);
	}
	tree_teardown();
}

int
ask_on(struct fsagent_line *l, const struct fsop *op,
    const struct fsagent_answer *a)
{
	struct fsop	 copy = *op;
	int		 data = -1, fd;

	if (op->data != NULL && op->len > FSAGENT_INLINE) {
		ck_assert_int_ne(data = fsagent_data(op), -1);
		copy.data = NULL;
	}
	ck_assert_int_ne(fd = fsagent_ask(sock, &copy, data, l, a), -1);
	fd_close(&data);
	return fd;
}

int
ask(const struct fsop *op)
{
	static const struct fsagent_answer	 other;
	struct fsagent_line	 taken = { -1, &other, AGENT_LINE_EVER };

	return ask_on(&taken, op, NULL);
}

int
read_on(struct fsagent_answer *a, int fd)
{
	struct pollfd	 p = { fd, POLLIN, 0 };
	int		 rv;

	fsagent_answer_init(a);
	while ((rv = fsagent_answer_read(a, fd)) == 0) {
		if (a->request > 0)
			ck_assert_int_eq(fsagent_grant(a, fd), 0);
		ck_assert_int_eq(poll(&p, 1, PATIENCE), 1);
	}
	return rv;
}

int
hear(struct fsagent_answer *a, int *fd)
{
	int	 rv = read_on(a, *fd);

	fd_close(fd);
	return rv;
}

int
outcome(const struct fsagent_answer *a)
{
	return a->r.why != FSWHY_NONE ? 1000 + (int)a->r.why : a->r.error;
}

int
do_it(const struct fsop *op, struct fsagent_answer *a)
{
	int	 fd = ask_on(&line, op, a);

	ck_assert_int_eq(read_on(a, fd), 1);
	fsagent_end(&line, a, &fd);
	ck_assert_int_eq(fd, -1);
	return outcome(a);
}

void
has_content(struct fsagent_answer *a, const void *want, size_t len)
{
	char	 room[64];

	if (a->r.fd != -1) {
		ck_assert_uint_eq(a->r.size, len);
		ck_assert_int_eq(pread(a->r.fd, room, sizeof(room), 0),
		    (ssize_t)len);
		ck_assert_mem_eq(room, want, len);
		return;
	}
	ck_assert_uint_eq(a->r.payload.len, len);
	ck_assert_mem_eq(buf_data(&a->r.payload), want, len);
}

void
wait_idle(pid_t pid)
{
	char	 path[64], state = 'R';
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	while (state != 'S') {
		sched_yield();
		ck_assert_ptr_nonnull(f = fopen(path, "r"));
		ck_assert_int_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
		fclose(f);
	}
}

size_t
count_fds(pid_t pid)
{
	char	 path[64];
	size_t	 n = 0;
	DIR	*d;

	snprintf(path, sizeof(path), "/proc/%ld/fd", (long)pid);
	ck_assert_ptr_nonnull(d = opendir(path));
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

bool
has_children(void)
{
	char	 path[64], first[16];
	FILE	*f;
	bool	 any;

	snprintf(path, sizeof(path), "/proc/%ld/task/%ld/children",
	    (long)agent, (long)agent);
	ck_assert_ptr_nonnull(f = fopen(path, "re"));
	any = fgets(first, sizeof(first), f) != NULL;
	fclose(f);
	return any;
}

bool
children_within(bool some, int ms)
{
	struct timespec	 t = { 0, 5000000 };

	for (; ms > 0; ms -= 5) {
		if (has_children() == some)
			return true;
		nanosleep(&t, NULL);
	}
	return false;
}
