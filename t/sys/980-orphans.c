/*
 * Orphans for the process above us, as many as argv[1] in lots of argv[2]; for
 * each lot the milliseconds until all of it was reaped.  1: one was not in a
 * minute.
 */
#include <sys/types.h>
#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define MINUTE	60000

static long
now_ms(void)
{
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (long)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Children that end at once, and are nobody's when their parent ends. */
static void
leave_behind(long n)
{
	pid_t	 pid;

	if (setpgid(0, 0) == -1)
		_exit(1);
	while (n > 0)
		if ((pid = fork()) == 0)
			_exit(0);
		else if (pid != -1)
			n--;
		else if (errno == EAGAIN)
			usleep(1000);
		else
			_exit(1);
	_exit(0);
}

int
main(int argc, char **argv)
{
	long	 left = argc > 2 ? atol(argv[1]) : 0, lot, began;
	pid_t	 pid;
	int	 status;

	for (; left > 0; left -= lot) {
		lot = atol(argv[2]) < left ? atol(argv[2]) : left;
		if ((pid = fork()) == 0)
			leave_behind(lot);
		if (pid == -1 || waitpid(pid, &status, 0) != pid ||
		    status != 0)
			return 1;
		began = now_ms();
		/* A zombie is a process that can be signalled. */
		while (kill(-pid, 0) == 0) {
			if (now_ms() - began > MINUTE)
				return 1;
			usleep(1000);
		}
		printf("%ld %ld\n", lot, now_ms() - began);
		fflush(stdout);
	}
	return 0;
}
