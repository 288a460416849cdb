/*
 * The floor: the least that a server of the same shape can do.  A process for
 * each connection that answers what the bench asks, and nothing else: no
 * sandbox, no limit, no order of events, no check of what it reads.  It trusts
 * its client, so it is for measuring alone.  Commands and files are real.
 * run.sh measures against it as against an earlier build.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <dirent.h>
#include <endian.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json/b64.h"
#include "common/net/ws.h"

#define MESSAGE_MAX	((size_t)4 << 20)
#define RECV_MIN	((size_t)256 << 10)
#define PIPE_BYTES	(256 << 10)
#define AWAKE_US	200		/* that it asks before it waits */

struct command {
	pid_t	 pid;
	char	 id[32];
	int	 in, out;
	long	 seq;
};

struct floor {
	int			 fd, file;
	struct command		 command;
	struct ws_reader	 reader;
	char			 out[WS_HEADER_MAX + 2 * MESSAGE_MAX];
	uint8_t			 data[MESSAGE_MAX];
};

/* A message, or the rest of one. */
struct text {
	char	*p;
	size_t	 len;
};

static void
write_all(int fd, const void *data, size_t len)
{
	const char	*p = data;
	ssize_t		 n;

	for (; len > 0; p += n, len -= (size_t)n)
		if ((n = write(fd, p, len)) == -1)
			exit(1);		/* the client has gone */
}

/* Where the text of a message is written. */
static char *
begin(struct floor *f)
{
	return f->out + WS_HEADER_MAX;
}

/* Send it; it ends there. */
static void
finish(struct floor *f, const char *end)
{
	const size_t	 len = (size_t)(end - begin(f));
	uint8_t		 header[WS_HEADER_MAX];
	const size_t	 n = ws_header(header, true, WS_TEXT, len, NULL);

	memcpy(begin(f) - n, header, n);
	write_all(f->fd, begin(f) - n, n + len);
}

PRINTF(2, 3) static void
say(struct floor *f, const char *format, ...)
{
	va_list	ap;
	int	n;

	va_start(ap, format);
	n = vsnprintf(begin(f), MESSAGE_MAX, format, ap);
	va_end(ap);
	finish(f, begin(f) + n);
}

/* End a message with bytes in base64. */
static void
finish_bytes(struct floor *f, char *p, ssize_t n)
{
	if (n < 0)
		err(1, "read");
	p += b64_encode(p, f->data, (size_t)n);
	finish(f, (char *)mempcpy(p, "\"}}", 3));
}

/* What follows this key, which is there. */
static struct text
find(struct text t, const char *key)
{
	char	*p = memmem(t.p, t.len, key, strlen(key));

	if (p == NULL)
		errx(1, "no %s in %.*s", key, (int)t.len, t.p);
	p += strlen(key);
	return (struct text){ p, t.len - (size_t)(p - t.p) };
}

static long
number(struct text t, const char *key)
{
	return strtol(find(t, key).p, NULL, 10);
}

/* A string whose first quote was found; ends with NUL now. */
static struct text
string(struct text t)
{
	char	*end = memchr(t.p, '"', t.len);

	if (end == NULL)
		errx(1, "no end");
	*end = '\0';
	return (struct text){ t.p, (size_t)(end - t.p) };
}

/* --- commands --- */

static void
execute(char *p)
{
	char	*argv[16];
	int	 n = 0;

	for (; *p == '"' && n < 15; p += *p == ',') {
		argv[n++] = p + 1;
		p = strchr(p + 1, '"');
		*p++ = '\0';
	}
	argv[n] = NULL;
	execv(argv[0], argv);
	_exit(127);
}

static void
start_piped(struct command *c, char *argv)
{
	int	 in[2], out[2];

	if (pipe2(in, O_CLOEXEC) == -1 || pipe2(out, O_CLOEXEC) == -1)
		err(1, "pipe");
	fcntl(in[1], F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(out[0], F_SETPIPE_SZ, PIPE_BYTES);
	if ((c->pid = fork()) == 0) {
		dup2(in[0], 0);
		dup2(out[1], 1);
		execute(argv);
	}
	close(in[0]);
	close(out[1]);
	c->in = in[1];
	c->out = out[0];
}

static void
start_on_terminal(struct command *c, char *argv)
{
	if ((c->pid = forkpty(&c->out, NULL, NULL, NULL)) == 0)
		execute(argv);
	c->in = dup(c->out);
}

static void
command_start(struct floor *f, long id, struct text t)
{
	struct command	*c = &f->command;
	struct text	 argv = find(t, "\"argv\":[");

	*c = (struct command){ .pid = -1 };
	if (memmem(t.p, t.len, "\"tty\":true", 10) != NULL)
		start_on_terminal(c, argv.p);
	else
		start_piped(c, argv.p);
	if (c->pid == -1)
		err(1, "fork");
	snprintf(c->id, sizeof(c->id), "%s",
	    string(find(t, "\"processId\":\"")).p);
	say(f, "{\"id\":%ld,\"result\":{\"processId\":\"%s\"}}", id, c->id);
}

static void
command_end(struct floor *f)
{
	struct command	*c = &f->command;

	close(c->in);
	close(c->out);
	waitpid(c->pid, NULL, 0);
	say(f, "{\"method\":\"process/exited\",\"params\":{\"processId\":\"%s\""
	    ",\"seq\":%ld,\"exitCode\":0}}", c->id, ++c->seq);
	say(f, "{\"method\":\"process/closed\",\"params\":{\"processId\":\"%s\""
	    ",\"seq\":%ld}}", c->id, ++c->seq);
	*c = (struct command){ .pid = 0 };
}

static void
command_read(struct floor *f)
{
	struct command	*c = &f->command;
	ssize_t		 n = read(c->out, f->data, PIPE_BYTES);

	if (n <= 0)
		command_end(f);
	else
		finish_bytes(f, begin(f) + sprintf(begin(f), "{\"method\":"
		    "\"process/output\",\"params\":{\"processId\":\"%s\","
		    "\"seq\":%ld,\"stream\":\"stdout\",\"chunk\":\"", c->id,
		    ++c->seq), n);
}

/* Decode the string with this key into f->data; the length. */
static size_t
take_bytes(struct floor *f, struct text t, const char *key)
{
	struct text	 chunk = string(find(t, key));
	ssize_t		 n = b64_decode(f->data, chunk.p, chunk.len);

	if (n == -1)
		errx(1, "no base64");
	return (size_t)n;
}

static void
command_write(struct floor *f, long id, struct text t)
{
	write_all(f->command.in, f->data, take_bytes(f, t, "\"chunk\":\""));
	say(f, "{\"id\":%ld,\"result\":{\"status\":\"accepted\"}}", id);
}

static void
command_terminate(struct floor *f, long id, struct text t)
{
	(void)t;
	kill(f->command.pid, SIGKILL);
	say(f, "{\"id\":%ld,\"result\":{\"running\":true}}", id);
}

/* --- files --- */

static const char *
path_in(struct text t)
{
	return string(find(t, "\"path\":\"file://")).p;
}

static int
open_to_read(struct text t)
{
	int	fd = open(path_in(t), O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		err(1, "open");
	return fd;
}

static void
file_read(struct floor *f, long id, struct text t)
{
	struct stat	 st;
	int		 fd = open_to_read(t);

	if (fstat(fd, &st) == -1 || (size_t)st.st_size > MESSAGE_MAX)
		err(1, "fstat");
	finish_bytes(f, begin(f) + sprintf(begin(f), "{\"id\":%ld,\"result\":"
	    "{\"dataBase64\":\"", id), read(fd, f->data,
	    (size_t)st.st_size));
	close(fd);
}

static void
file_open(struct floor *f, long id, struct text t)
{
	f->file = open_to_read(t);
	say(f, "{\"id\":%ld,\"result\":{}}", id);
}

static void
file_block(struct floor *f, long id, struct text t)
{
	finish_bytes(f, begin(f) + sprintf(begin(f), "{\"id\":%ld,\"result\":"
	    "{\"eof\":false,\"chunk\":\"", id), pread(f->file, f->data,
	    (size_t)number(t, "\"len\":"), number(t, "\"offset\":")));
}

static void
file_close(struct floor *f, long id, struct text t)
{
	(void)t;
	close(f->file);
	say(f, "{\"id\":%ld,\"result\":{}}", id);
}

/* Under another name first: whoever looks sees the old file or the new one. */
static void
file_write(struct floor *f, long id, struct text t)
{
	const size_t	 len = take_bytes(f, t, "\"dataBase64\":\"");
	const char	*path = path_in(t);
	char		 temporary[5000];
	int		 fd;

	snprintf(temporary, sizeof(temporary), "%s.new", path);
	if ((fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0644)) == -1)
		err(1, "%s", temporary);
	write_all(fd, f->data, len);
	close(fd);
	if (rename(temporary, path) == -1)
		err(1, "%s", path);
	say(f, "{\"id\":%ld,\"result\":{}}", id);
}

static void
folder_read(struct floor *f, long id, struct text t)
{
	char		*p = begin(f);
	struct dirent	*e;
	DIR		*d = opendir(path_in(t));

	if (d == NULL)
		err(1, "opendir");
	p += sprintf(p, "{\"id\":%ld,\"result\":{\"entries\":[", id);
	while ((e = readdir(d)) != NULL)
		p += sprintf(p, "{\"fileName\":\"%s\",\"isDirectory\":%s,"
		    "\"isFile\":%s},", e->d_name, e->d_type == DT_DIR ?
		    "true" : "false", e->d_type == DT_REG ? "true" : "false");
	closedir(d);
	finish(f, (char *)mempcpy(p - 1, "]}}", 3));
}

/* --- the connection --- */

static void
initialize(struct floor *f, long id, struct text t)
{
	(void)t;
	say(f, "{\"id\":%ld,\"result\":{\"sessionId\":\"s\"}}", id);
}

static void
on_message(struct floor *f, struct text t)
{
	static const struct {
		const char	*method;
		void		(*fn)(struct floor *, long, struct text);
	} calls[] = {
		{ "process/write\"", command_write },
		{ "process/start\"", command_start },
		{ "process/terminate\"", command_terminate },
		{ "fs/readBlock\"", file_block },
		{ "fs/readFile\"", file_read },
		{ "fs/writeFile\"", file_write },
		{ "fs/readDirectory\"", folder_read },
		{ "fs/open\"", file_open },
		{ "fs/close\"", file_close },
		{ "initialize\"", initialize },
	};
	struct text	 method = find(t, "\"method\":\"");

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strncmp(method.p, calls[i].method,
		    strlen(calls[i].method)) == 0) {
			calls[i].fn(f, number(t, "\"id\":"), t);
			return;
		}
	}
	if (strncmp(method.p, "initialized\"", 12) != 0)
		errx(1, "%.40s: not here", method.p);
}

static void
receive(struct floor *f)
{
	struct ws_event	 ev;
	uint8_t		*room;
	size_t		 size;
	ssize_t		 n;

	if ((room = ws_reader_room(&f->reader, RECV_MIN, &size)) == NULL)
		err(1, "memory");
	if ((n = recv(f->fd, room, size, 0)) <= 0)
		exit(0);
	ws_reader_fed(&f->reader, (size_t)n);
	for (;;) {
		ws_reader_next(&f->reader, &ev);
		if (ev.type != WS_EV_MESSAGE)
			break;
		on_message(f, (struct text){ (char *)ev.data, ev.len });
	}
	if (ev.type == WS_EV_ERROR)
		errx(1, "no websocket");
}

/* The head of the request: what it says is the same each time. */
static void
upgrade(int fd)
{
	char	 head[4096];
	ssize_t	 n;

	do
		n = recv(fd, head, sizeof(head), MSG_PEEK);
	while (n > 0 && memmem(head, (size_t)n, "\r\n\r\n", 4) == NULL);
	if (n <= 0 || recv(fd, head, (size_t)((char *)memmem(head, (size_t)n,
	    "\r\n\r\n", 4) + 4 - head), 0) <= 0)
		exit(1);
	write_all(fd, "HTTP/1.1 101 Switching Protocols\r\n\r\n", 36);
}

/* Ask for a moment before waiting, as a server in a hurry does. */
static void
await(struct pollfd p[static 2])
{
	const uint64_t	until = clock_us() + AWAKE_US;

	do
		if (poll(p, 2, 0) > 0)
			return;
	while (clock_us() < until);
	if (poll(p, 2, -1) == -1 && errno != EINTR)
		err(1, "poll");
}

static void
serve(int fd)
{
	static struct floor	 f;
	struct pollfd		 p[2];

	f.fd = fd;
	ws_reader_init(&f.reader, true, 2 * MESSAGE_MAX, 2 * MESSAGE_MAX);
	upgrade(fd);
	for (;;) {
		p[0] = (struct pollfd){ .fd = fd, .events = POLLIN };
		p[1] = (struct pollfd){ .fd = f.command.pid > 0 ?
		    f.command.out : -1, .events = POLLIN };
		await(p);
		if (p[1].revents != 0)
			command_read(&f);
		if (p[0].revents != 0)
			receive(&f);
	}
}

int
main(void)
{
	struct sockaddr_in	 sin = { .sin_family = AF_INET,
				    .sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t		 len = sizeof(sin);
	int			 listener, fd;
	const int		 on = 1;

	signal(SIGCHLD, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	if ((listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    bind(listener, (struct sockaddr *)&sin, len) == -1 ||
	    getsockname(listener, (struct sockaddr *)&sin, &len) == -1 ||
	    setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4)
	    == -1 ||
	    listen(listener, 128) == -1)
		err(1, "listen");
	printf("ws://127.0.0.1:%d\n", ntohs(sin.sin_port));
	fflush(stdout);
	for (;;) {
		while (waitpid(-1, NULL, WNOHANG) > 0)
			continue;
		if ((fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC)) == -1)
			err(1, "accept");
		setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
		if (fork() == 0)
			serve(fd);
		close(fd);
	}
}
