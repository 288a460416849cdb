/*
 * usage: 757-open REACH CA URL MS
 *
 * Opens a connection without waiting, in a loop that has a timer of its own,
 * and runs a command.  Prints what that says and "connected", or the reason
 * why there is none; then how often the timer went off meanwhile.
 */
#include <sys/timerfd.h>

#include <err.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"

#define TICK_NS		5000000

static bool	 is_done;

static void
on_output(void *arg, enum execsrv_stream stream, const void *data, size_t len)
{
	(void)arg;
	(void)stream;
	fwrite(data, 1, len, stdout);
}

static void
on_closed(void *arg)
{
	(void)arg;
	is_done = true;
}

static const struct execsrv_hooks	 hooks = {
	.on_output = on_output, .on_closed = on_closed,
};

static int
ticker(void)
{
	struct itimerspec	 t = { .it_value = { .tv_nsec = TICK_NS },
				    .it_interval = { .tv_nsec = TICK_NS } };
	int			 fd;

	if ((fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)) == -1 ||
	    timerfd_settime(fd, 0, &t, NULL) == -1)
		err(1, "timer");
	return fd;
}

int
main(int argc, char **argv)
{
	const char *const	 command[] = { "echo", "on", NULL };
	struct execsrv_start	 s = { .argv = command, .cwd = "/",
				    .inherit = true };
	struct execsrv_options	 o = { .no_wait = true };
	struct execsrv_error	 e;
	struct execsrv		*x;
	struct pollfd		 pfd[2];
	uint64_t		 n;
	unsigned		 turns = 0;

	if (argc != 5)
		errx(1, "usage: 757-open REACH CA URL MS");
	o.reach_program = argv[1];
	o.ca_file = argv[2];
	o.connect_ms = o.initialize_ms = atoi(argv[4]);
	if ((x = execsrv_open(argv[3], &o, &e)) == NULL)
		errx(1, "%s", e.text);
	/* It waits for the connection. */
	if (execsrv_process_start(x, &s, &hooks, NULL) == NULL)
		errx(1, "no process");
	pfd[0] = (struct pollfd){ .fd = execsrv_fd(x), .events = POLLIN };
	pfd[1] = (struct pollfd){ .fd = ticker(), .events = POLLIN };
	while (!is_done && execsrv_status(x) != EXECSRV_FAILED) {
		if (poll(pfd, 2, -1) == -1)
			err(1, "poll");
		if (pfd[1].revents != 0 && read(pfd[1].fd, &n, sizeof(n)) ==
		    sizeof(n) && execsrv_status(x) == EXECSRV_OPENING)
			turns++;
		/* Its failure is seen above. */
		if (pfd[0].revents != 0 && execsrv_dispatch(x) == -1)
			continue;
	}
	puts(is_done ? "connected" : execsrv_why(x)->text);
	printf("%u turns\n", turns);
	execsrv_close(&x);
	close(pfd[1].fd);
	return 0;
}
