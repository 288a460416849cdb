/*
 * Makes orphans for the process above us as fast as it can, in argv[1]
 * processes, until its input ends.
 */
#include <sys/wait.h>

#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define STACK	16384
#define LOT	64

static char	 stacks[2][STACK];

static int
leaf(void *arg)
{
	(void)arg;
	return 0;
}

/* In our memory, so that nothing has to be copied. */
static int
branch(void *arg)
{
	int	 i;

	(void)arg;
	for (i = 0; i < LOT; i++)
		(void)clone(leaf, stacks[0] + STACK, CLONE_VM | SIGCHLD,
		    NULL);
	return 0;
}

static void
grow(void)
{
	pid_t	 pid;

	for (;;) {
		pid = clone(branch, stacks[1] + STACK,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
		if (pid != -1)
			waitpid(pid, NULL, 0);
	}
}

int
main(int argc, char **argv)
{
	int	 n = argc > 1 ? atoi(argv[1]) : 1;
	char	 c;

	/* First: those before may leave no room for the next one. */
	if (write(STDOUT_FILENO, "on\n", 3) != 3)
		return 1;
	while (n-- > 0)
		if (fork() == 0)
			grow();
	while (read(STDIN_FILENO, &c, 1) > 0)
		;
	return 0;
}
