/* Standard input of a server in remote mode: credentials, and its end. */
#include "common/ev.h"
#include "master/remote/remote.h"

#include <sys/stat.h>

#include <errno.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

/* Whose credentials come from standard input, or NULL. */
static struct remote *
owner(struct master *m)
{
	struct remote	*r;

	TAILQ_FOREACH(r, &m->remotes, entry)
		if (r->conf->from_stdin != CONF_STDIN_NO)
			break;
	return r;
}

static void
remote_stdin_take_line(struct master *m, size_t len)
{
	struct remote	*r = owner(m);
	char		 why[128];

	if (r == NULL || r->cred.source != CRED_FRAMES)
		return;
	if (cred_take_frame(&r->cred, m->stdin_line, len,
	    r->conf->environment, why, sizeof(why)) == -1)
		log_warnx("uplink %u: a credential is not taken: %s",
		    r->number, why);
	else
		remote_send_bearer(r);
}

/* What came; a line that is too long is thrown away. */
static void
remote_stdin_take(struct master *m, const char *data, size_t n)
{
	size_t	 i;

	for (i = 0; i < n; i++) {
		if (data[i] == '\n') {
			if (m->stdin_len <= CRED_MAX)
				remote_stdin_take_line(m, m->stdin_len);
			m->stdin_len = 0;
		} else if (m->stdin_len <= CRED_MAX) {
			m->stdin_line[m->stdin_len++] = data[i];
		}
	}
}

static void
on_stdin(void *arg)
{
	struct master	*m = arg;
	char		 room[4096];
	ssize_t		 n;

	n = read(STDIN_FILENO, room, sizeof(room));
	if (n > 0 && m->stdin_is_file)
		timer_set(&m->stdin_turn, 0);
	if (n > 0) {
		remote_stdin_take(m, room, (size_t)n);
		sodium_memzero(room, (size_t)n);
	} else if (n == 0 || (errno != EAGAIN && errno != EINTR)) {
		io_stop(&m->stdin_ev);
		if (m->stdin_ends_us)
			m->events->stop(m, "standard input was closed");
	}
}

/* epoll(7) refuses files and some devices: they have all that they will. */
static int
remote_stdin_watch(struct master *m)
{
	struct stat	 st;

	if (fstat(STDIN_FILENO, &st) == -1)
		return -1;
	m->stdin_is_file = S_ISREG(st.st_mode) ||
	    (S_ISCHR(st.st_mode) && !isatty(STDIN_FILENO));
	timer_init(&m->stdin_turn, m->base, on_stdin, m);
	io_init(&m->stdin_ev, m->base, STDIN_FILENO, EV_READ | EV_PERSIST,
	    on_stdin, m);
	if (!m->stdin_is_file)
		return io_start(&m->stdin_ev);
	timer_set(&m->stdin_turn, 0);
	return 0;
}

int
remote_watch_stdin(struct master *m, bool ends_us)
{
	struct remote	*r = owner(m);

	m->stdin_ends_us = ends_us ||
	    (r != NULL && r->cred.source == CRED_FRAMES);
	if (!m->stdin_ends_us)
		return 0;
	if ((m->stdin_line = sodium_malloc(CRED_MAX + 1)) == NULL ||
	    fd_nonblock(STDIN_FILENO, 1) == -1 || remote_stdin_watch(m) == -1) {
		log_warn("standard input");
		return -1;
	}
	return 0;
}
