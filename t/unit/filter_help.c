#include "t/unit/filter_help.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <check.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/linux/bpf.h"

#define MARK	0x5ecc0de5U	/* the sixth argument of calls to judge */
#define THROUGH	ENOANO		/* what becomes of them below: nobody's error */

static const struct sock_filter floor_filter[] = {
	LOAD_ARG(5), IF_EQ(MARK, 0, 1), REFUSE(THROUGH), ALLOW
};

static void NORETURN
leave(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

void
filter_must(bool claim)
{
	if (!claim)
		leave(2);
}

static void
begin(void (*install)(void))
{
	filter_must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    BPF_INSTALL(floor_filter) == 0);
	install();
}

static int
judge(long nr, const unsigned long arg[5])
{
	long	 r = syscall(nr, arg[0], arg[1], arg[2], arg[3], arg[4],
		    (unsigned long)MARK);
	int	 error = errno;

	/* Calls with fewer arguments leave the sixth one as it was. */
	syscall(SYS_getpid, 0, 0, 0, 0, 0, 0);
	filter_must(r == -1);
	return error == THROUGH ? FILTER_LETS : error;
}

/* Verdicts on n cases by one child, or by a child each. */
static void
judge_all(void (*install)(void), const struct filter_case *cases, size_t n,
    bool kills, int *out)
{
	size_t	 i, j, step = kills ? 1 : n;
	pid_t	 pid;
	int	 status;

	for (i = 0; i < n; i += step) {
		ck_assert_int_ne(pid = fork(), -1);
		if (pid == 0) {
			begin(install);
			for (j = i; j < i + step; j++)
				out[j] = judge(cases[j].nr, cases[j].arg);
			leave(0);
		}
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		if (kills && WIFSIGNALED(status) &&
		    WTERMSIG(status) == SIGSYS)
			out[i] = FILTER_KILLS;
		else
			ck_assert_msg(status == 0, "a child ended with %x",
			    (unsigned)status);
	}
}

static int *
new_verdicts(size_t n)
{
	int	*out;

	out = mmap(NULL, n * sizeof(*out), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ck_assert_ptr_ne(out, MAP_FAILED);
	return out;
}

void
filter_check_cases(void (*install)(void), const struct filter_case *cases,
    size_t n, bool kills)
{
	int	*verdicts = new_verdicts(n);
	size_t	 i;

	judge_all(install, cases, n, kills, verdicts);
	for (i = 0; i < n; i++)
		ck_assert_msg(verdicts[i] == cases[i].verdict,
		    "case %zu, call %ld: %d, not %d", i, cases[i].nr,
		    verdicts[i], cases[i].verdict);
	munmap(verdicts, n * sizeof(*verdicts));
}

/* uretprobe and uprobe: made by the kernel itself, whatever a filter says. */
static bool
is_beyond_filters(long nr)
{
#ifdef __x86_64__
	return nr == 335 || nr == 336;
#else
	(void)nr;
	return false;
#endif
}

static int
find_verdict(long nr, int usual, int special, const long *list, size_t n,
    long absent)
{
	size_t	 i;

	for (i = 0; i < n; i++)
		if (list[i] == nr)
			return special;
	return nr == absent ? ENOSYS : usual;
}

void
filter_check(void (*install)(void), int usual, int special, const long *list,
    size_t n, bool kills, long absent)
{
	struct filter_case	 cases[FILTER_CALLS];
	size_t			 ncases = 0;
	long			 nr;

	for (nr = 0; nr < FILTER_CALLS; nr++)
		if (!is_beyond_filters(nr))
			cases[ncases++] = (struct filter_case){ nr, { 0 },
			    find_verdict(nr, usual, special, list, n,
			    absent) };
	filter_check_cases(install, cases, ncases, kills);
}

rlim_t
filter_limit(void (*install)(void), int what)
{
	struct rlimit	 rl;
	char		 byte;
	pid_t		 pid;
	int		 there[2], done[2];

	ck_assert(pipe(there) == 0 && pipe(done) == 0);
	ck_assert_int_ne(pid = fork(), -1);
	if (pid == 0) {
		begin(install);
		filter_must(write(there[1], "", 1) == 1);
		leave((int)read(done[0], &byte, 1));
	}
	ck_assert_int_eq(read(there[0], &byte, 1), 1);
	ck_assert_int_eq(prlimit(pid, what, NULL, &rl), 0);
	ck_assert_int_eq(write(done[1], "", 1), 1);
	ck_assert_int_eq(waitpid(pid, NULL, 0), pid);
	return rl.rlim_max;
}

#ifdef __x86_64__
/* getpid(2) of i386, whose number is another call's here. */
static void
call_foreign(void)
{
	int	 r;

	__asm__ volatile ("int $0x80" : "=a"(r) : "a"(20) : "memory");
}

bool
filter_kills_foreign(void (*install)(void))
{
	pid_t	 pid = fork();
	int	 status;

	ck_assert_int_ne(pid, -1);
	if (pid == 0) {
		/* Of kernels without such calls; a sanitizer would exit. */
		signal(SIGSEGV, SIG_DFL);
		begin(install);
		call_foreign();
		leave(0);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status);
}
#else
bool
filter_kills_foreign(void (*install)(void))
{
	(void)install;
	return true;
}
#endif
