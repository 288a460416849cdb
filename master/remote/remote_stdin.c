#include "master/remote/remote_stdin.h"

#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <unistd.h>

#include "common/fd.h"

/* Take n bytes; drop lines longer than CRED_MAX. */
static void
remote_stdin_take(struct remote_stdin *in, const char *data, size_t n)
{
	size_t	 i;

	assert(in->line != NULL && in->len <= CRED_MAX + 1);
	for (i = 0; i < n; i++) {
		if (data[i] == '\n') {
			if (in->len <= CRED_MAX)
				in->events->on_line(in->arg, in->line,
				    in->len);
			in->len = 0;
		} else if (in->len <= CRED_MAX) {
			in->line[in->len++] = data[i];
		}
	}
}

static void
remote_stdin_on_input(void *arg)
{
	struct remote_stdin	*in = arg;
	char			 room[4096];
	ssize_t			 n;

	assert(in->line != NULL);
	n = read(STDIN_FILENO, room, sizeof(room));
	if (n > 0 && in->is_file)
		timer_set(&in->turn, 0);
	if (n > 0) {
		remote_stdin_take(in, room, (size_t)n);
		sodium_memzero(room, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		io_stop(&in->ev);
		in->events->on_end(in->arg);
	}
}

int
remote_stdin_watch(struct remote_stdin *in, struct event_base *base,
    const struct remote_stdin_events *events, void *arg)
{
	struct stat	 st;

	assert(in->line == NULL);
	in->events = events;
	in->arg = arg;
	if ((in->line = sodium_malloc(CRED_MAX + 1)) == NULL ||
	    fd_nonblock(STDIN_FILENO, 1) == -1 ||
	    fstat(STDIN_FILENO, &st) == -1)
		return -1;
	/* epoll(7) refuses files and some devices; they can always be read. */
	in->is_file = S_ISREG(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && !isatty(STDIN_FILENO));
	timer_init(&in->turn, base, remote_stdin_on_input, in);
	io_init(&in->ev, base, STDIN_FILENO, EV_READ | EV_PERSIST,
	    remote_stdin_on_input, in);
	if (!in->is_file)
		return io_start(&in->ev);
	timer_set(&in->turn, 0);
	return 0;
}

void
remote_stdin_fini(struct remote_stdin *in)
{
	io_stop(&in->ev);
	timer_stop(&in->turn);
	if (in->line != NULL)
		sodium_free(in->line);
	in->line = NULL;
	cred_fini(&in->cred);
}
