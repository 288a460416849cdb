/*
 * What libexecsrv costs its program: processor time for output received, and
 * time for an echo, each beside a bare socket.  For output that reads the same
 * bytes, looks at nothing but the heads of frames and answers pings, without
 * which the server would stop; for the echo it is client.c, which says the
 * same and looks for what it wants where it lies.  In turn, in one process.
 */
#include <sys/resource.h>
#include <sys/socket.h>

#include <arpa/inet.h>

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/execsrv.h"
#include "t/bench/client.h"

#define GIB		(1024.0 * 1024 * 1024)
#define OUTPUT_BYTES	(512UL * 1024 * 1024)
#define RECV_SIZE	(1 << 18)
#define SHORT_FRAME	1024	/* longer ones are output */
#define WARM_UP		20
#define SECONDS		3.0
#define US		1e6

/* User and system time of this process, in seconds. */
static double
own_cpu(void)
{
	struct rusage	 u;

	if (getrusage(RUSAGE_SELF, &u) == -1)
		err(1, "getrusage");
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	    (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* --- by the library --- */

struct seen {
	unsigned long	 bytes;
	bool		 is_answered, is_closed;
	double		 at;		/* of the last output */
};

static void
on_answer(void *arg, enum execsrv_request what, const struct execsrv_error *e)
{
	(void)what;
	if (e != NULL)
		errx(1, "%s", e->text);
	((struct seen *)arg)->is_answered = true;
}

static void
on_output(void *arg, enum execsrv_stream stream, const void *data, size_t len)
{
	struct seen	*s = arg;

	(void)stream;
	(void)data;
	s->bytes += len;
	s->at = now();
}

static void
on_closed(void *arg)
{
	((struct seen *)arg)->is_closed = true;
}

static const struct execsrv_hooks	 hooks = {
	.on_answer = on_answer, .on_output = on_output, .on_closed = on_closed
};

static void
turn(struct execsrv *x)
{
	if (execsrv_wait(x, EXECSRV_FOREVER) == -1)
		errx(1, "%s", execsrv_why(x)->text);
}

static struct execsrv *
library_open(const struct bench *b)
{
	struct execsrv_error	 e;
	struct execsrv		*x;
	char			 url[64];

	snprintf(url, sizeof(url), "ws://%s:%u", inet_ntoa(b->sin.sin_addr),
	    ntohs(b->sin.sin_port));
	if ((x = execsrv_open(url, NULL, &e)) == NULL)
		errx(1, "%s", e.text);
	return x;
}

static struct execsrv_process *
library_start(struct execsrv *x, const char *const *argv, bool has_input,
    struct seen *s)
{
	struct execsrv_start	 start = { .argv = argv, .cwd = "/",
				    .pipe_stdin = has_input };
	struct execsrv_process	*p;

	if ((p = execsrv_process_start(x, &start, &hooks, s)) == NULL)
		err(1, "start");
	return p;
}

static void
library_output(const struct bench *b)
{
	struct execsrv		*x = library_open(b);
	char			 bytes[24];
	const char *const	 argv[] = { b->command, "blocks", bytes,
				    NULL };
	struct seen		 s = { 0 };
	double			 before = own_cpu();

	snprintf(bytes, sizeof(bytes), "%lu", OUTPUT_BYTES);
	(void)library_start(x, argv, false, &s);
	while (!s.is_closed)
		turn(x);
	if (s.bytes != OUTPUT_BYTES)
		errx(1, "%lu bytes instead of %lu", s.bytes, OUTPUT_BYTES);
	report(VALUE_lib_cpu, (own_cpu() - before) /
	    ((double)OUTPUT_BYTES / GIB));
	execsrv_close(&x);
}

static double
library_echo(struct execsrv *x, struct execsrv_process *p, struct seen *s)
{
	double	 begin = now();

	s->is_answered = false;
	s->bytes = 0;
	if (execsrv_process_write(p, "a", 1) == -1)
		errx(1, "%s", execsrv_why(x)->text);
	while (!s->is_answered || s->bytes == 0)
		turn(x);
	return s->at - begin;
}

/* --- by a bare socket --- */

struct bare {
	int		 fd;
	uint8_t		 room[RECV_SIZE];
	size_t		 n, at;
};

/* The next bytes, at least one; where they are. */
static uint8_t *
bare_some(struct bare *r, size_t *len_out)
{
	ssize_t	 n;

	if (r->at == r->n) {
		if ((n = recv(r->fd, r->room, sizeof(r->room), 0)) <= 0)
			err(1, "recv");
		r->n = (size_t)n;
		r->at = 0;
	}
	*len_out = r->n - r->at;
	return r->room + r->at;
}

static void
bare_take(struct bare *r, uint8_t *out, size_t len)
{
	size_t	 n;
	uint8_t	*p;

	for (; len > 0; len -= n) {
		p = bare_some(r, &n);
		n = n < len ? n : len;
		if (out != NULL) {
			memcpy(out, p, n);
			out += n;
		}
		r->at += n;
	}
}

/* A pong with a mask of zeroes. */
static void
bare_pong(struct bare *r, const uint8_t *text, size_t len)
{
	uint8_t	 out[6 + 125] = { 0x8a, (uint8_t)(0x80 | len) };

	memcpy(out + 6, text, len);
	if (send(r->fd, out, 6 + len, 0) != (ssize_t)(6 + len))
		err(1, "send");
}

/* A frame; whether it was the end of the process. */
static bool
bare_frame(struct bare *r)
{
	uint8_t	 head[2], more[8], text[SHORT_FRAME];
	size_t	 i, size, len;

	bare_take(r, head, 2);
	len = head[1] & 0x7f;
	size = len == 126 ? 2 : len == 127 ? 8 : 0;
	bare_take(r, more, size);
	for (i = 0, len = size > 0 ? 0 : len; i < size; i++)
		len = len << 8 | more[i];
	if (len > sizeof(text)) {
		bare_take(r, NULL, len);
		return false;
	}
	bare_take(r, text, len);
	if ((head[0] & 15) == 9)
		bare_pong(r, text, len);
	return memmem(text, len, "process/closed", 14) != NULL;
}

static void
bare_output(const struct bench *b)
{
	struct client	*c = client_open(b, 0);
	struct bare	*r = calloc(1, sizeof(*r));
	struct msg	 m;
	double		 before = own_cpu();

	if (r == NULL)
		err(1, NULL);
	/* One message is one frame of its own until here. */
	client_wait_reply(c, client_call(c, "environment/status", "{}"), &m);
	r->fd = client_fd(c);
	client_start(c, "p", false, "\"%s\",\"blocks\",\"%lu\"", b->command,
	    OUTPUT_BYTES);
	while (!bare_frame(r))
		continue;
	report(VALUE_lib_cpu_bare, (own_cpu() - before) /
	    ((double)OUTPUT_BYTES / GIB));
	client_close(&c);
	free(r);
}

static void
measure_echoes(const struct bench *b)
{
	static struct samples	 lib, bare, added;
	const char *const	 argv[] = { "/bin/cat", NULL };
	struct seen		 s = { 0 };
	struct execsrv		*x = library_open(b);
	struct execsrv_process	*p = library_start(x, argv, true, &s);
	struct client		*c = client_open(b, 0);
	struct msg		 m;
	double			 one, other;
	int			 number = 0;

	client_wait_reply(c, client_start(c, "cat", true, "\"/bin/cat\""), &m);
	while (!s.is_answered)
		turn(x);
	for (; number < WARM_UP; number++) {
		(void)library_echo(x, p, &s);
		(void)client_echo(c, number);
	}
	samples_init(&lib, SECONDS);
	samples_init(&bare, SECONDS);
	samples_init(&added, SECONDS);
	/* One of each in turn: what others do meanwhile is done to both. */
	while (samples_more(&lib)) {
		one = library_echo(x, p, &s);
		other = client_echo(c, number++);
		samples_add(&lib, one);
		samples_add(&bare, other);
		samples_add(&added, one - other);
	}
	report(VALUE_lib_echo, samples_at(&lib, 0.5) * US);
	report(VALUE_lib_echo_bare, samples_at(&bare, 0.5) * US);
	report(VALUE_lib_echo_added, samples_at(&added, 0.5) * US);
	client_terminate(c, "cat");
	client_close(&c);
	execsrv_close(&x);
}

void
bench_library(const struct bench *b)
{
	library_output(b);
	bare_output(b);
	measure_echoes(b);
}
