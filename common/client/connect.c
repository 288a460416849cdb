#include "common/client/connect.h"

#include <errno.h>
#include <string.h>

#include "common/client/ask.h"
#include "common/client/error.h"
#include "common/client/handshake.h"
#include "common/client/loop.h"
#include "common/clock.h"

#define CLOSE_MS	500	/* for the last bytes to leave */

static int
ms_left(uint64_t deadline)
{
	uint64_t	 now = clock_ms();

	return now >= deadline ? 0 : (int)(deadline - now);
}

/* --- opening --- */

static const struct execsrv_options	 no_options;

/* Open what was prepared.  x, or NULL with the reason in e: it is freed. */
static struct execsrv *
begin_open(struct execsrv *x, const struct execsrv_options *options,
    struct execsrv_error *e)
{
	handshake_open(x);
	if (options->no_wait)
		return x;
	while (execsrv_status(x) == EXECSRV_OPENING)
		if (execsrv_wait(x, EXECSRV_FOREVER) == -1)
			break;
	if (execsrv_status(x) == EXECSRV_FAILED) {
		*e = *execsrv_why(x);
		execsrv_free(&x);
	}
	return x;
}

struct execsrv *
execsrv_open(const char *url, const struct execsrv_options *options,
    struct execsrv_error *e)
{
	struct execsrv	*x;

	if (options == NULL)
		options = &no_options;
	if (url == NULL) {
		execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, "no URL to connect "
		    "to");
		return NULL;
	}
	if ((x = execsrv_new()) == NULL) {
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
		return NULL;
	}
	if (handshake_prepare(x, url, options, e) == -1) {
		execsrv_free(&x);
		return NULL;
	}
	return begin_open(x, options, e);
}

struct execsrv *
execsrv_spawn_open(const char *const *argv, bool is_server,
    const struct execsrv_options *options, struct execsrv_error *e)
{
	struct execsrv	*x;

	if (options == NULL)
		options = &no_options;
	if (argv == NULL || argv[0] == NULL) {
		execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, "no command to "
		    "start");
		return NULL;
	}
	if ((x = execsrv_new()) == NULL) {
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s", strerror(errno));
		return NULL;
	}
	if (handshake_prepare_command(x, argv, is_server, options, e) == -1) {
		execsrv_free(&x);
		return NULL;
	}
	return begin_open(x, options, e);
}

struct execsrv *
execsrv_spawn_local(const char *const *argv,
    const struct execsrv_options *options, struct execsrv_error *e)
{
	return execsrv_spawn_open(argv, false, options, e);
}

/* --- closing --- */

static void
on_session_closed(void *arg, const struct execsrv_answer *a)
{
	(void)a;
	*(bool *)arg = true;
}

int
execsrv_close_session(struct execsrv *x, int timeout_ms,
    struct execsrv_error *e)
{
	uint64_t	 deadline = clock_ms() + (uint64_t)timeout_ms;
	bool		 is_closed = false;

	execsrv_hold(x, false);
	execsrv_end_recovery(x);	/* what is over is not resumed */
	/* The server closes right after the answer: that is success here. */
	if (execsrv_ask(x, "session/close", NULL, 0, timeout_ms,
	    on_session_closed, &is_closed, e) == -1 && !is_closed)
		return -1;
	while (ms_left(deadline) > 0 && execsrv_wait(x, ms_left(deadline)) ==
	    0)
		;
	return 0;
}

void
execsrv_close(struct execsrv **xp)
{
	struct execsrv	*x = *xp;
	uint64_t	 deadline = clock_ms() + CLOSE_MS;

	if (x != NULL && execsrv_is_open(x) && handshake_begin_close(x)) {
		while (handshake_is_closing(x) &&
		    ms_left(deadline) > 0 &&
		    execsrv_wait(x, ms_left(deadline)) == 0)
			;
		handshake_end_close(x);
	}
	execsrv_free(xp);
}
