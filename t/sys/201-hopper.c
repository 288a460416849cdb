/*
 * 201: a process that hops: each fork goes on and its parent exits, so that
 * no process lives longer than a moment.  Its argument is the file to write
 * when it is on its way.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define FIRST_HOPS	50	/* before it says that it hops */
#define HOP_S		15	/* then it ends: nobody else may be able to,
				   and no test takes it for killed so late */

int
main(int argc, char **argv)
{
	unsigned	 n = 0;
	time_t		 until;
	int		 fd;

	if (argc < 2)
		return 2;
	signal(SIGCHLD, SIG_DFL);
	until = time(NULL) + HOP_S;
	if (fork() != 0) {		/* the leader stays, to be terminated */
		for (;;)
			pause();
	}
	setsid();
	while (time(NULL) < until) {
		if (++n == FIRST_HOPS && (fd = open(argv[1],
		    O_WRONLY | O_CREAT, 0644)) != -1)
			close(fd);
		if (fork() > 0)
			_exit(0);
	}
	return 0;
}
