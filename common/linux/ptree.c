#include "common/linux/ptree.h"

#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"

#define LIST_FIRST	64	/* processes; grows */
#define MISSES		2	/* empty passes in a row that end a purge */
#define MISSES_SUSPECT	200	/* the same if something must be alive */

/* Processes found and not yet examined. */
struct pids {
	pid_t	*list;
	size_t	 n, cap;
	bool	 blind;		/* something could not be examined */
};

static int
pids_add(struct pids *p, pid_t pid)
{
	pid_t	*list;
	size_t	 cap;

	assert(p->n <= p->cap);
	if (p->n == p->cap) {
		cap = p->cap == 0 ? LIST_FIRST : p->cap * 2;
		if ((list = reallocarray(p->list, cap, sizeof(*list))) ==
		    NULL) {
			p->blind = true;
			return -1;
		}
		p->list = list;
		p->cap = cap;
	}
	p->list[p->n++] = pid;
	return 0;
}

/* ENOENT: it has exited.  Without resources nothing at all was counted. */
static void
look_failed(struct pids *p)
{
	if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
		p->blind = true;
}

/* Read the list of a thread's children, which may be long, in pieces. */
static int
add_children(struct pids *p, const char *path)
{
	char	 piece[4096];
	ssize_t	 n, i;
	pid_t	 pid = 0;
	int	 fd, r = 0;

	if ((fd = open(path, O_RDONLY | O_CLOEXEC)) == -1) {
		look_failed(p);
		return -1;
	}
	while ((n = read(fd, piece, sizeof(piece))) > 0)
		for (i = 0; i < n; i++) {
			if (piece[i] >= '0' && piece[i] <= '9') {
				pid = pid * 10 + (piece[i] - '0');
			} else if (pid != 0) {
				if (pids_add(p, pid) == -1)
					r = -1;
				pid = 0;
			}
		}
	close(fd);
	return r;
}

/* Add the children of all threads of a process. */
static void
add_process(struct pids *p, pid_t pid)
{
	char		 path[64];
	struct dirent	*e;
	DIR		*d;

	snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
	if ((d = opendir(path)) == NULL) {
		look_failed(p);
		return;
	}
	while ((e = readdir(d)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%ld/task/%.20s/children",
		    (long)pid, e->d_name);
		add_children(p, path);
	}
	closedir(d);
}

uint64_t
ptree_now(void)
{
	struct timespec	 t = { 0, 0 };
	uint64_t	 ticks = (uint64_t)sysconf(_SC_CLK_TCK);

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (uint64_t)t.tv_sec * ticks + (uint64_t)t.tv_nsec /
	    (1000000000 / ticks);
}

int
ptree_stat(pid_t pid, struct ptree_stat *out)
{
	char			 path[64], text[512], *p, state;
	long			 parent, group, session, threads;
	unsigned long long	 start;

	snprintf(path, sizeof(path), "/proc/%ld/stat", (long)pid);
	if (fd_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
	    (p = strrchr(text, ')')) == NULL ||
	    sscanf(p + 1, " %c %ld %ld %ld %*s %*s %*s %*s %*s %*s %*s %*s "
	    "%*s %*s %*s %*s %*s %ld %*s %llu", &state, &parent, &group,
	    &session, &threads, &start) != 6)
		return -1;
	out->parent = (pid_t)parent;
	out->group = (pid_t)group;
	out->session = (pid_t)session;
	out->threads = (unsigned)threads;
	out->start = start;
	out->is_stopped = state == 'T';
	out->is_alive = (state != 'Z' && state != 'X') || threads > 1;
	return 0;
}

bool
ptree_is_alive(int pidfd)
{
	struct pollfd	 p = { pidfd, POLLIN, 0 };
	int		 r;

	/* A signal interrupts even a poll without a timeout. */
	do
		r = poll(&p, 1, 0);
	while (r == -1 && errno == EINTR);
	return r == 0;
}

void
ptree_signal(pid_t pid, int pidfd, int sig)
{
	assert(pid > 1);
	if (pidfd != -1)
		syscall(SYS_pidfd_send_signal, pidfd, sig, NULL, 0);
	else
		kill(pid, sig);
}

/* Without CONFIG_PROC_CHILDREN: look at the parent of every process. */
static void
add_children_by_scan(struct pids *p, pid_t parent)
{
	struct ptree_stat	 st;
	struct dirent		*e;
	DIR			*d;
	char			*end;
	long			 pid;

	if ((d = opendir("/proc")) == NULL)
		return;
	while ((e = readdir(d)) != NULL) {
		pid = strtol(e->d_name, &end, 10);
		if (*end == '\0' && pid > 0 &&
		    ptree_stat((pid_t)pid, &st) == 0 &&
		    st.parent == parent)
			pids_add(p, (pid_t)pid);
	}
	closedir(d);
}

bool
ptree_purge(ptree_match_fn *skip, ptree_match_fn *match, void *arg,
    bool is_suspect, uint64_t ms, void (*reap)(void *), void *reap_arg)
{
	int		 misses = 0, enough;
	uint64_t	 until = clock_ms() + ms;
	bool		 found = false;

	enough = is_suspect ? MISSES_SUSPECT : MISSES;
	/* Once at least: what was not looked at must not count as empty. */
	do {
		reap(reap_arg);
		if (ptree_kill(SIGKILL, skip, match, arg) > 0) {
			found = true;
			misses = 0;
		} else {
			misses++;
		}
	} while (misses < enough && clock_ms() <= until);
	return found || is_suspect;
}

/* Return the signal that stopped a tracee; not SIGTRAP, sent by exec(2). */
static long
signal_of_stop(const siginfo_t *info)
{
	return info->si_status > 0 && info->si_status < NSIG &&
	    info->si_status != SIGTRAP ? info->si_status : 0;
}

static pid_t
peek(idtype_t which, pid_t pid)
{
	siginfo_t	 info;

	info.si_pid = 0;
	if (waitid(which, (id_t)pid, &info,
	    WEXITED | WNOHANG | WNOWAIT) == -1 ||
	    info.si_pid == 0)
		return 0;
	if (info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)
		return info.si_pid;
	if (ptrace(PTRACE_DETACH, info.si_pid, 0, signal_of_stop(&info)) == 0)
		return -1;
	/* Detaching fails if it is dying: it will be reported again. */
	kill(info.si_pid, SIGKILL);
	return 0;
}

pid_t
ptree_peek(void)
{
	return peek(P_ALL, 0);
}

pid_t
ptree_peek_one(pid_t pid)
{
	return peek(P_PID, pid);
}

/* The mark is the hard limit. */
int
ptree_read_mark(pid_t pid, uint64_t *mark_out)
{
	static const char	 label[] = "Max file locks";
	struct rlimit		 rl;
	char			 path[64], text[4096], *line;
	unsigned long long	 mark;

	if (prlimit(pid, RLIMIT_LOCKS, NULL, &rl) == 0) {
		*mark_out = rl.rlim_max;
		return 0;
	}
	if (errno != EPERM)
		return -1;
	/* EPERM: of another user (set-user-ID).  /proc shows it anyway. */
	snprintf(path, sizeof(path), "/proc/%ld/limits", (long)pid);
	if (fd_read_file(AT_FDCWD, path, text, sizeof(text)) <= 0 ||
	    (line = strstr(text, label)) == NULL)
		return -1;
	if (sscanf(line + sizeof(label) - 1, "%*s %llu", &mark) == 1)
		*mark_out = mark;
	else
		*mark_out = RLIM_INFINITY;
	return 0;
}

uint64_t
ptree_mark_of(pid_t pid)
{
	uint64_t	 mark;

	return ptree_read_mark(pid, &mark) == 0 ? mark : RLIM_INFINITY;
}

static bool
is_known(const struct pids *p, pid_t pid)
{
	size_t	 i;

	for (i = 0; i < p->n; i++)
		if (p->list[i] == pid)
			return true;
	return pid == getpid();
}

/*
 * Signal one of the list if it lives and matches.  The pidfd pins the process
 * before /proc is read; a parent from our list then proves that the pid was
 * not reused since it was listed.
 */
static bool
kill_one(struct pids *p, pid_t pid, int sig, ptree_match_fn *match,
    void *arg)
{
	struct ptree_stat	 st;
	bool			 found = false;
	int			 fd;

	if ((fd = (int)syscall(SYS_pidfd_open, pid, 0)) == -1) {
		look_failed(p);
		return false;
	}
	if (ptree_stat(pid, &st) == 0 && st.is_alive &&
	    is_known(p, st.parent) &&
	    (match == NULL || match(pid, arg))) {
		found = true;
		if (sig != 0)
			syscall(SYS_pidfd_send_signal, fd, sig, NULL, 0);
	}
	close(fd);
	return found;
}

/* Remove the children to be skipped. */
static void
prune(struct pids *p, ptree_match_fn *skip, void *arg)
{
	size_t	 i, n = 0;

	for (i = 0; i < p->n; i++)
		if (!skip(p->list[i], arg))
			p->list[n++] = p->list[i];
	p->n = n;
}

/* Whether we have no child, of which /proc would be asked in vain. */
static bool
has_none(void)
{
	siginfo_t	 info;

	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT | __WALL) ==
	    -1 && errno == ECHILD;
}

/* List our children.  Whether /proc has such lists. */
static bool
list_children(struct pids *p)
{
	if (has_none())
		return true;
	/* This process has one thread, the calling one. */
	if (add_children(p, "/proc/thread-self/children") == 0 ||
	    errno != ENOENT)
		return true;
	add_children_by_scan(p, getpid());
	return false;
}

bool
ptree_has_child(ptree_match_fn *skip, ptree_match_fn *match, void *arg)
{
	struct pids	 p = { NULL, 0, 0, false };
	size_t		 i;
	bool		 found;

	list_children(&p);
	found = p.blind;
	for (i = p.n; !found && i-- > 0;)
		found = !skip(p.list[i], arg) && match(p.list[i], arg);
	free(p.list);
	return found;
}

size_t
ptree_kill(int sig, ptree_match_fn *skip, ptree_match_fn *match, void *arg)
{
	struct pids	 p = { NULL, 0, 0, false };
	bool		 by_file;
	size_t		 begin, end, i, found = 0;

	by_file = list_children(&p);
	if (skip != NULL)
		prune(&p, skip, arg);
	/*
	 * Generation by generation, the youngest first, and signal before
	 * looking for children: a fork chain is alive for microseconds only and
	 * its head is last in the list.  Orphans that are missed this way are
	 * reparented to us and found in the next pass.
	 */
	for (begin = 0; begin < p.n; begin = end) {
		end = p.n;
		for (i = end; i-- > begin;)
			found += kill_one(&p, p.list[i], sig, match, arg);
		for (i = begin; i < end; i++)
			if (by_file)
				add_process(&p, p.list[i]);
			else
				add_children_by_scan(&p, p.list[i]);
	}
	free(p.list);
	return found == 0 && p.blind ? 1 : found;
}

/* Below a session of another execsrvd the hard limit is its mark. */
static uint64_t
top_mark(void)
{
	uint64_t	 top = 1ULL << 62;
	struct rlimit	 rl;

	return getrlimit(RLIMIT_LOCKS, &rl) == 0 && rl.rlim_max < top ?
	    rl.rlim_max : top;
}

static uint64_t
new_mark_below(uint64_t top)
{
	uint64_t	 n;

	if (top < 4)
		return top;
	randombytes_buf(&n, sizeof(n));
	return top / 2 + n % (top / 2 - 1);
}

uint64_t
ptree_new_mark(void)
{
	return new_mark_below(top_mark());
}

uint64_t
ptree_new_range(void)
{
	uint64_t	 top = top_mark(), mark = new_mark_below(top);

	if (top < 8 * PTREE_MARKS)
		return 0;
	mark -= mark % PTREE_MARKS;
	return top - mark < PTREE_MARKS ? mark - PTREE_MARKS : mark;
}

/* Some ranges of marks. */
struct ranges {
	const uint64_t	*first;
	size_t		 n;
};

static bool
is_in_ranges(const struct ranges *r, pid_t pid)
{
	uint64_t	 mark = ptree_mark_of(pid);
	size_t		 i;

	for (i = 0; i < r->n && mark != RLIM_INFINITY; i++)
		if (mark >= r->first[i] && mark - r->first[i] < PTREE_MARKS)
			return true;
	return false;
}

/* The pidfd pins the process before its mark is read. */
static size_t
kill_in_ranges(const struct ranges *r, pid_t pid)
{
	struct ptree_stat	 st;
	size_t			 n = 0;
	int			 fd;

	if (!is_in_ranges(r, pid) ||
	    (fd = (int)syscall(SYS_pidfd_open, pid, 0)) == -1)
		return 0;
	if (is_in_ranges(r, pid) && ptree_stat(pid, &st) == 0 &&
	    st.is_alive) {
		syscall(SYS_pidfd_send_signal, fd, SIGKILL, NULL, 0);
		n = 1;
	}
	close(fd);
	return n;
}

size_t
ptree_kill_ranges(const uint64_t *first, size_t n)
{
	struct ranges	 r = { first, n };
	struct dirent	*e;
	DIR		*d;
	size_t		 found = 0;
	long		 pid;

	if ((d = opendir("/proc")) == NULL)
		return 1;
	while ((e = readdir(d)) != NULL)
		if ((pid = strtol(e->d_name, NULL, 10)) > 0)
			found += kill_in_ranges(&r, (pid_t)pid);
	closedir(d);
	return found;
}

bool
ptree_is_marked(pid_t pid)
{
	uint64_t	 mark = ptree_mark_of(pid);

	return mark != RLIM_INFINITY && mark != ptree_mark_of(getpid());
}
