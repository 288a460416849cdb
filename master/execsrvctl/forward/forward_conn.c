#include "master/execsrvctl/forward/forward_priv.h"

#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "master/execsrvctl/forward/forward_local.h"

#define CHUNK		(64 * 1024)
#define HOLD_ABOVE	(1024 * 1024)	/* bytes not taken by the socket */
#define GO_ON_BELOW	(256 * 1024)
#define OUT_MAX		((size_t)256 * 1024 * 1024)
#define NO_END		UINT64_MAX

void
forward_complain(const struct forward_end *e, const char *why)
{
	char	 text[FORWARD_TEXT];

	forward_end_text(e, text);
	fprintf(stderr, "execsrvctl: %s: %s\n", text, why);
}

/* Give it up: the process goes, too. */
static void
conn_drop(struct forward_conn *c, const char *why)
{
	if (c->is_dead)
		return;
	if (why != NULL)
		forward_complain(&c->spec->to, why);
	if (!c->is_closed)
		(void)execsrv_process_terminate(c->p, 0);
	c->is_dead = true;
}

/* --- what the process says --- */

static void
conn_on_answer(void *arg, enum execsrv_request what,
    const struct execsrv_error *e)
{
	struct forward_conn	*c = arg;

	if (what != EXECSRV_START)
		return;
	c->is_started = e == NULL;
	if (e != NULL) {
		c->is_closed = true;
		conn_drop(c, e->text);
	}
}

static void
forward_on_line(struct forward_conn *c, const char *line)
{
	if (strcmp(line, "open") == 0) {
		c->is_open = true;
	} else if (strncmp(line, "eof ", 4) == 0) {
		c->end = strtoull(line + 4, NULL, 10);
	} else {
		/* Its own name for the target says where it failed. */
		fprintf(stderr, "execsrvctl: forward: ");
		for (; *line != '\0'; line++)
			putc((unsigned char)*line < ' ' || *line == 0x7f ?
			    '?' : *line, stderr);
		putc('\n', stderr);
		c->has_failed = true;
	}
}

static void
on_error_text(struct forward_conn *c, const char *data, size_t len)
{
	size_t	 i;

	for (i = 0; i < len; i++) {
		if (data[i] == '\n') {
			c->line[c->len] = '\0';
			c->len = 0;
			forward_on_line(c, c->line);
		} else if (c->len + 1 < sizeof(c->line)) {
			c->line[c->len++] = data[i];
		}
	}
}

static void
conn_on_output(void *arg, enum execsrv_stream stream, const void *data,
    size_t len)
{
	struct forward_conn	*c = arg;

	if (c->is_dead)
		return;
	if (stream == EXECSRV_STDERR) {
		on_error_text(c, data, len);
		return;
	}
	c->got += len;
	if (buf_put(&c->out, data, len) == -1)
		conn_drop(c, strerror(errno));
}

static void
conn_on_closed(void *arg)
{
	struct forward_conn	*c = arg;

	c->is_closed = true;
}

static void
conn_on_lost(void *arg, const struct execsrv_error *e)
{
	struct forward_conn	*c = arg;

	c->is_closed = true;
	conn_drop(c, e->text);
}

static const struct execsrv_hooks	 conn_hooks = {
	.on_answer = conn_on_answer, .on_output = conn_on_output,
	.on_closed = conn_on_closed, .on_lost = conn_on_lost,
};

/* --- the beginning and the end --- */

struct execsrv_process *
forward_start(struct execsrv *x, const char *const *words,
    const struct execsrv_hooks *hooks, void *arg)
{
	const char		*argv[5] = { FORWARD_PROGRAM };
	struct execsrv_start	 s = { .argv = argv, .cwd = "/",
				    .inherit = true, .pipe_stdin = true };
	size_t			 i;

	for (i = 0; i < 3 && words[i] != NULL; i++)
		argv[i + 1] = words[i];
	return execsrv_process_start(x, &s, hooks, arg);
}

struct forward_conn *
forward_conn_new(struct execsrv *x, const struct forward_spec *spec, int fd,
    const char *token)
{
	const char		*words[4] = { "connect", spec->to.name };
	struct forward_conn	*c;

	assert(fd != -1 || token[0] != '\0');
	if (spec->to.port[0] != '\0')
		words[2] = spec->to.port;
	if (fd == -1) {
		words[0] = "accept";
		words[1] = token;
		words[2] = NULL;
	}
	if ((c = calloc(1, sizeof(*c))) == NULL) {
		forward_complain(&spec->from, strerror(errno));
		fd_close(&fd);
		return NULL;
	}
	c->x = x;
	c->spec = spec;
	c->fd = fd;
	c->waits = fd == -1;
	c->end = NO_END;
	buf_init(&c->out, OUT_MAX);
	if ((c->p = forward_start(x, words, &conn_hooks, c)) != NULL)
		return c;
	forward_complain(&spec->from, strerror(errno));
	forward_conn_free(c);
	return NULL;
}

void
forward_conn_free(struct forward_conn *c)
{
	execsrv_process_free(&c->p);
	fd_close(&c->fd);
	buf_fini(&c->out);
	free(c);
}

/* --- the socket --- */

static bool
wants_more(const struct forward_conn *c)
{
	return c->is_started && !c->is_eof && !c->is_closed && !c->connects &&
	    execsrv_process_room(c->p) > 0;
}

void
forward_conn_prepare(const struct forward_conn *c, struct pollfd *p)
{
	p->events = 0;
	if (c->connects || c->out.len > 0)
		p->events |= POLLOUT;
	if (wants_more(c))
		p->events |= POLLIN;
	p->fd = p->events != 0 ? c->fd : -1;
}

/* Begin to connect here, with the next address if that fails at once. */
static void
connect_here(struct forward_conn *c)
{
	const char	*why;
	int		 error = 0;

	assert(c->waits && c->is_open && !c->connects);
	fd_close(&c->fd);
	for (;;) {
		c->fd = forward_local_connect(&c->spec->to, c->address++,
		    &why);
		if (c->fd != -1) {
			c->connects = true;
			return;
		}
		if (why != NULL || (errno == ENOENT && c->address > 1)) {
			conn_drop(c, why != NULL ? why : strerror(error != 0 ?
			    error : ECONNREFUSED));
			return;
		}
		error = errno;
	}
}

static void
here_on_connected(struct forward_conn *c)
{
	int		 error = 0;
	socklen_t	 len = sizeof(error);

	assert(c->connects && c->fd != -1);
	if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == -1)
		error = errno;
	c->connects = false;
	if (error != 0)
		connect_here(c);
}

static void
forward_on_input(struct forward_conn *c)
{
	char	 data[CHUNK];
	size_t	 room = execsrv_process_room(c->p);
	ssize_t	 n;

	assert(c->is_started && !c->is_eof);
	assert(room > 0 && room <= sizeof(data));
	if ((n = recv(c->fd, data, room, MSG_DONTWAIT)) == -1) {
		if (errno != EAGAIN && errno != EINTR)
			conn_drop(c, NULL);
		return;
	}
	if (n > 0) {
		(void)execsrv_process_write(c->p, data, (size_t)n);
		return;
	}
	c->is_eof = true;
	(void)execsrv_process_close_stdin(c->p);
}

void
forward_conn_on_ready(struct forward_conn *c, short events)
{
	if (events == 0 || c->is_dead)
		return;
	if (c->connects)
		here_on_connected(c);
	else if (wants_more(c) && (events & ~POLLOUT) != 0)
		forward_on_input(c);
}

/*
 * Tell the other end not to read while too much waits here; again if more
 * comes all the same (worker/forward/forward_carry.h).
 */
static void
hold_back(struct forward_conn *c)
{
	if (c->out.len > c->held_at + HOLD_ABOVE) {
		c->held_at = c->out.len;
		(void)execsrv_process_signal(c->p, "SIGUSR1");
	} else if (c->held_at > 0 && c->out.len < GO_ON_BELOW) {
		c->held_at = 0;
		(void)execsrv_process_signal(c->p, "SIGUSR2");
	}
}

/* Send what waits. */
static void
send_out(struct forward_conn *c)
{
	ssize_t	 n;

	if (c->fd == -1 || c->connects)
		return;
	while (c->out.len > 0) {
		n = send(c->fd, buf_data(&c->out), c->out.len,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n == -1 && (errno == EAGAIN || errno == EINTR))
			break;
		if (n == -1) {
			conn_drop(c, NULL);
			return;
		}
		buf_drain(&c->out, (size_t)n);
	}
	buf_trim(&c->out, 0);
	if (!c->is_closed)
		hold_back(c);
}

void
forward_conn_update(struct forward_conn *c)
{
	if (c->is_dead)
		return;
	if (c->waits && c->is_open && c->fd == -1)
		connect_here(c);
	if (!c->is_dead)
		send_out(c);
	if (c->is_dead || c->out.len > 0)
		return;
	if (c->is_closed) {
		c->is_dead = true;
	} else if (c->got >= c->end && !c->is_shut && c->fd != -1 &&
	    !c->connects) {
		(void)shutdown(c->fd, SHUT_WR);	/* the peer may have gone */
		c->is_shut = true;
	}
}
