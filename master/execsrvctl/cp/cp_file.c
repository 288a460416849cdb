/* The content of a file: transfer, progress, and signals meanwhile. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/clock.h"
#include "master/execsrvctl/cp/cp_priv.h"
#include "master/execsrvctl/cp/progress.h"
#include "master/execsrvctl/term.h"

#define SHOW_MS		200

/* A transfer. */
struct job {
	struct cp		*cp;
	const char		*name;		/* of what is copied */
	int			 fd;
	mode_t			 mode;		/* of a new file there, or 0 */
	uint64_t		 bytes, total;	/* total: 0: unknown */
	uint64_t		 begin, shown;	/* ms */
	int			 error;		/* errno of this side */
	bool			 is_done, is_whole, was_lost;
	struct execsrv_error	 why;
};

/* --- signals --- */

/* Unfinished files here and there, for the handler. */
static char			 unfinished[PATH_MAX];
static volatile sig_atomic_t	 is_unfinished_there, stopped_by;

static void
cp_file_on_signal(int sig)
{
	/* A name there is removed by a request before we end; once. */
	if (is_unfinished_there && stopped_by == 0) {
		stopped_by = sig;
		return;
	}
	if (unfinished[0] != '\0')
		unlink(unfinished);
	signal(sig, SIG_DFL);
	raise(sig);
}

void
cp_catch(void)
{
	static const int	 signals[] = { SIGHUP, SIGINT, SIGTERM };
	/* Without SA_RESTART: reading a pipe may block for ever. */
	const struct sigaction	 sa = { .sa_handler = cp_file_on_signal };
	struct sigaction	 old;
	size_t			 i;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (sigaction(signals[i], NULL, &old) == 0 &&
		    old.sa_handler != SIG_IGN)
			sigaction(signals[i], &sa, NULL);
}

/* Whether a signal came; then undo what is unfinished. */
static bool
cp_is_stopped(void)
{
	return stopped_by != 0;
}

void
cp_heed(void)
{
	if (stopped_by == 0)
		return;
	signal(stopped_by, SIG_DFL);
	raise(stopped_by);
}

void
cp_unfinished_here(const char *path)
{
	if (path == NULL)
		unfinished[0] = '\0';
	else
		snprintf(unfinished, sizeof(unfinished), "%s", path);
}

void
cp_unfinished_there(bool is_one)
{
	is_unfinished_there = is_one;
}

/* --- one file --- */

static void
cp_file_show(struct job *j, bool is_last)
{
	char		 line[512];
	uint64_t	 now = clock_ms();
	uint16_t	 rows, cols;

	if (!j->cp->is_shown || (!is_last && now - j->shown < SHOW_MS))
		return;
	j->shown = now;
	if (term_size(&rows, &cols) == -1 || cols == 0)
		cols = 80;
	progress_line(line, sizeof(line), cols - 1u, j->name, j->bytes,
	    j->total, now - j->begin);
	execsrv_printable(line);
	fprintf(stderr, "\r%s\033[K%s", line, is_last ? "\n" : "");
}

static void
cp_file_on_data(void *arg, const void *data, size_t len)
{
	struct job	*j = arg;
	const char	*from = data;
	ssize_t		 n;

	while (len > 0 && j->error == 0) {
		if ((n = write(j->fd, from, len)) == -1) {
			if (errno != EINTR)
				j->error = errno;
			continue;
		}
		from += n;
		len -= (size_t)n;
		j->bytes += (uint64_t)n;
	}
}

static ssize_t
cp_file_on_room(void *arg, void *room, size_t size)
{
	struct job	*j = arg;
	ssize_t		 n;

	do
		n = read(j->fd, room, size);
	while (n == -1 && errno == EINTR && !cp_is_stopped());
	/* The writer of a pipe may have been stopped by the same signal. */
	if (n != -1 && cp_is_stopped()) {
		errno = EINTR;
		n = -1;
	}
	if (n == -1)
		j->error = errno;
	else
		j->bytes += (uint64_t)n;
	return n;
}

static void
cp_file_on_done(void *arg, uint64_t bytes, const struct execsrv_error *e)
{
	struct job	*j = arg;

	(void)bytes;
	j->is_done = true;
	j->is_whole = e == NULL;
	if (e != NULL) {
		j->why = *e;
		j->was_lost = e->code == 0;
	}
}

static const struct execsrv_transfer_hooks	 hooks = {
	.on_data = cp_file_on_data, .on_room = cp_file_on_room,
	.on_done = cp_file_on_done
};

/* Try once, from the beginning or from where the last try ended. */
static void
try(struct job *j, const char *there)
{
	struct execsrv_file	 f = { .path = there, .mode = j->mode };
	struct execsrv_transfer	*t;

	j->is_done = j->is_whole = j->was_lost = false;
	if (j->cp->o->is_upload) {
		j->bytes = 0;
		t = execsrv_file_write(j->cp->x, &f, &hooks, j);
	} else {
		f.offset = j->bytes;
		t = execsrv_file_read(j->cp->x, &f, &hooks, j);
	}
	if (t == NULL) {
		snprintf(j->why.text, sizeof(j->why.text), "%s",
		    strerror(errno));
		return;
	}
	while (!j->is_done && j->error == 0 && !cp_is_stopped() &&
	    execsrv_wait(j->cp->x, SHOW_MS) == 0)
		cp_file_show(j, false);
	if (!j->is_done)
		j->why = *execsrv_why(j->cp->x);
	execsrv_transfer_free(&t);
}

int
cp_transfer(struct cp *c, const char *here, int fd, const char *there,
    uint64_t total, mode_t mode, struct execsrv_error *why)
{
	struct job	 j = { .cp = c, .fd = fd, .total = total,
			    .mode = mode, .begin = clock_ms(),
			    .name = c->o->is_upload ? here : there };
	unsigned	 tries;

	for (tries = 0; tries < TRIES && !cp_is_stopped(); tries++) {
		if (tries > 0 && c->o->is_upload && lseek(fd, 0, SEEK_SET) ==
		    -1)
			break;		/* a pipe cannot be read again */
		try(&j, there);
		if (!j.was_lost || j.error != 0 ||
		    execsrv_status(c->x) == EXECSRV_FAILED)
			break;
	}
	if (j.is_whole && j.error == 0) {
		cp_file_show(&j, true);
		return 0;
	}
	*why = j.why;
	if (j.error != 0) {
		cp_complain(c, here, "%s", strerror(j.error));
		why->text[0] = '\0';
	}
	return -1;
}
