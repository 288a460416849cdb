/*
 * 201: a process that hops: each fork goes on and its parent exits, so that
 * no process lives longer than a moment.  Its second argument is the file to
 * write when it is on its way.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define LEADER_ROUNDS	50	/* hops before it says that it hops */

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
	for (;;) {
		if (++n == LEADER_ROUNDS && (fd = open(argv[1],
		    O_WRONLY | O_CREAT, 0644)) != -1)
			close(fd);
		if (fork() > 0)
			_exit(0);
	}
}
