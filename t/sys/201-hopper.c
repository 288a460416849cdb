/*
 * 201: a process that hops: each fork goes on and its parent exits, so that
 * no process lives longer than a moment.  Its argument is the file to write
 * when it is on its way.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_HOPS	50	/* before it says that it hops */
#define HOPS		15000	/* in all: nobody else may be able to end it */

int
main(int argc, char **argv)
{
	unsigned	 n = 0;
	int		 fd;

	if (argc < 2)
		return 2;
	signal(SIGCHLD, SIG_DFL);
	if (fork() != 0) {		/* the leader stays, to be terminated */
		for (;;)
			pause();
	}
	setsid();
	while (n < HOPS) {
		if (++n == FIRST_HOPS && (fd = open(argv[1],
		    O_WRONLY | O_CREAT, 0644)) != -1)
			close(fd);
		if (fork() > 0)
			_exit(0);
	}
	return 0;
}
