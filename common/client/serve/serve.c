/* A server that runs under us: its notifications, its log, its end. */
#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/error.h"
#include "common/client/serve/serve.h"
#include "common/fd.h"

#define NOTICE_MAX	1024	/* bytes of a message */

void
execsrv_server_free(struct execsrv_server **sp)
{
	struct execsrv_server	*s = *sp;
	size_t			 i;

	*sp = NULL;
	if (s == NULL)
		return;
	fd_close(&s->in);
	fd_close(&s->log);
	fd_close(&s->notify);
	fd_close(&s->epoll);
	fd_close(&s->child.pidfd);
	for (i = 0; i < s->nurls; i++)
		free(s->urls[i]);
	free(s->urls);
	free(s->environment);
	free(s);
}

/* --- notifications --- */

static void
add_url(struct execsrv_server *s, const char *url)
{
	char	**more;

	if ((more = reallocarray(s->urls, s->nurls + 1, sizeof(*more))) !=
	    NULL) {
		s->urls = more;
		if ((more[s->nurls] = strdup(url)) != NULL) {
			s->nurls++;
			return;
		}
	}
	s->is_short = true;
}

/* "NUMBER IS_REGISTERED STATE"; the uplink of the caller is the last one. */
static void
take_uplink(struct execsrv_server *s, const char *text)
{
	unsigned	 number, is_registered;
	int		 n = 0;

	if (sscanf(text, "%9u %1u %n", &number, &is_registered, &n) < 2 ||
	    n == 0 || text[n] == '\0' || number == 0 || number < s->uplink)
		return;
	s->uplink = number;
	s->is_registered = is_registered == 1;
	snprintf(s->registration, sizeof(s->registration), "%s", text + n);
	execsrv_printable(s->registration);
}

static void
take_notice(struct execsrv_server *s, const char *text)
{
	static const char	 listen[] = "X_EXECSRV_LISTEN=",
				 uplink[] = "X_EXECSRV_UPLINK=";

	if (strcmp(text, "READY=1") == 0)
		s->is_serving = true;
	else if (strcmp(text, "STOPPING=1") == 0)
		s->is_serving = s->is_registered = false;
	else if (strncmp(text, listen, sizeof(listen) - 1) == 0)
		add_url(s, text + sizeof(listen) - 1);
	else if (strncmp(text, uplink, sizeof(uplink) - 1) == 0)
		take_uplink(s, text + sizeof(uplink) - 1);
}

static void
read_notices(struct execsrv_server *s)
{
	char	 text[NOTICE_MAX];
	ssize_t	 n = 0;

	while (s->notify != -1 && ((n = recv(s->notify, text, sizeof(text) - 1,
	    MSG_DONTWAIT)) > 0 || (n == -1 && errno == EINTR)))
		if (n > 0) {
			text[n] = '\0';
			take_notice(s, text);
		}
	if (s->notify != -1 && (n == 0 || errno != EAGAIN))
		fd_close(&s->notify);	/* the kernel removes it from epoll */
}

static void
read_log(struct execsrv_server *s)
{
	ssize_t	 n = 0;

	assert(s->nsaid <= sizeof(s->said));
	while (s->log != -1 && ((n = read(s->log, s->said + s->nsaid,
	    sizeof(s->said) - s->nsaid)) > 0 || (n == -1 && errno == EINTR)))
		if (n > 0) {
			s->nsaid += (size_t)n;
			execsrv_serve_log(s);
		}
	if (s->log != -1 && (n == 0 || errno != EAGAIN))
		fd_close(&s->log);
}

/* Without a pidfd the end of its input tells, a moment before its death. */
static bool
has_ended(const struct execsrv_server *s)
{
	char	 byte;

	return s->child.pidfd != -1 ? execsrv_launched_ends(&s->child, 0) :
	    recv(s->in, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
}

static void
serve_on_end(struct execsrv_server *s)
{
	char	 reason[sizeof(s->why.text)];

	assert(!s->has_ended);
	read_notices(s);
	s->is_serving = s->is_registered = false;
	s->has_ended = true;
	s->status = execsrv_launched_status(&s->child);
	read_log(s);
	execsrv_serve_log_end(s);
	snprintf(reason, sizeof(reason), "%s", s->why.text);
	execsrv_error_set(&s->why, EXECSRV_WHY_ENDED,
	    s->status == -1 ? "the server exited" :
	    s->status > 128 ? "the server was killed by signal %d" :
	    "the server exited with status %d",
	    s->status > 128 ? s->status - 128 : s->status);
	if (reason[0] != '\0')
		execsrv_error_add(&s->why, reason);
}

/* --- the loop --- */

int
execsrv_server_fd(const struct execsrv_server *s)
{
	return s->epoll;
}

int
execsrv_server_dispatch(struct execsrv_server *s)
{
	if (s->has_ended)
		return -1;
	read_notices(s);
	read_log(s);
	if (has_ended(s))
		serve_on_end(s);
	return s->has_ended ? -1 : 0;
}

int
execsrv_server_wait(struct execsrv_server *s, int timeout_ms)
{
	struct pollfd	 pfd = { .fd = s->epoll, .events = POLLIN };

	if (!s->has_ended && poll(&pfd, 1, timeout_ms < 0 ? -1 : timeout_ms) ==
	    -1 && errno != EINTR) {
		execsrv_error_set(&s->why, EXECSRV_WHY_SYSTEM, "poll: %s",
		    strerror(errno));
		return -1;
	}
	return execsrv_server_dispatch(s);
}

const struct execsrv_error *
execsrv_server_why(const struct execsrv_server *s)
{
	return &s->why;
}

const char *
execsrv_server_url(const struct execsrv_server *s, size_t n)
{
	return n < s->nurls ? s->urls[n] : NULL;
}

bool
execsrv_server_is_ready(const struct execsrv_server *s)
{
	return s->is_serving && !s->is_short &&
	    (s->environment == NULL || s->is_registered);
}

const char *
execsrv_server_registration(const struct execsrv_server *s)
{
	return s->uplink > 0 ? s->registration : NULL;
}
