/*
 * usage: 732-cycles URL COUNT
 *
 * Connect, run a command, close, COUNT times: memory and descriptors are at the
 * end what they were near the beginning.  Prints what was wrong and ends with
 * 1, or "fine".
 */
#include <sys/resource.h>

#include <dirent.h>
#include <err.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/client/execsrv.h"

#define EARLY	20		/* cycles until all that is kept is there */
#define SLACK	(64 * 1024)	/* bytes: one leaked each time would be more */

static void
on_closed(void *arg)
{
	*(bool *)arg = true;
}

/* One in ten runs a command, one in ten leaves things open. */
static void
cycle(const char *url, unsigned n)
{
	static const struct execsrv_hooks	 hooks = { .on_closed =
						    on_closed };
	static const struct execsrv_http_hooks	 none = { .on_head = NULL };
	const char *const		 argv[] = { "true", NULL };
	struct execsrv_start		 s = { .argv = argv, .cwd = "/",
					    .inherit = true };
	struct execsrv_fs_path		 root = { .path = "/" };
	struct execsrv_http_request	 in = { .method = "GET",
					    .url = "http://127.0.0.1:1/" };
	struct execsrv_error		 e;
	struct execsrv			*x;
	bool				 is_closed = false;

	if ((x = execsrv_open(url, NULL, &e)) == NULL)
		errx(1, "cycle %u: %s", n, e.text);
	if (execsrv_fd(x) == -1)
		errx(1, "cycle %u: no descriptor", n);
	if (n % 10 == 0) {
		if (execsrv_process_start(x, &s, &hooks, &is_closed) == NULL)
			errx(1, "cycle %u: no process", n);
		while (!is_closed)
			if (execsrv_wait(x, EXECSRV_FOREVER) == -1)
				errx(1, "cycle %u: %s", n,
				    execsrv_why(x)->text);
	} else if (n % 10 == 5 && (execsrv_fs_metadata(x, &root, NULL, NULL) ==
	    -1 || execsrv_http_request(x, &in, &none, NULL) == NULL)) {
		errx(1, "cycle %u: cannot ask", n);
	}
	execsrv_close(&x);
}

static unsigned
descriptors(void)
{
	DIR		*d = opendir("/proc/self/fd");
	unsigned	 n = 0;

	if (d == NULL)
		err(1, "/proc/self/fd");
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

int
main(int argc, char **argv)
{
	unsigned	 i, n, fds = 0;
	size_t		 used = 0, now;

	if (argc != 3)
		errx(1, "usage: 732-cycles URL COUNT");
	n = (unsigned)atoi(argv[2]);
	for (i = 0; i < n; i++) {
		cycle(argv[1], i);
		if (i == EARLY) {
			used = mallinfo2().uordblks;
			fds = descriptors();
		}
	}
	now = mallinfo2().uordblks;
	if (now > used + SLACK || descriptors() != fds)
		errx(1, "%zu bytes and %u descriptors became %zu and %u", used,
		    fds, now, descriptors());
	puts("fine");
	return 0;
}
