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

#define IN_MAX		((size_t)16 << 20)
#define PIPE_BYTES	(256 << 10)
#define OUT_MAX		((size_t)4 << 20)
#define FRAME_HEAD	10
#define AWAKE_US	200		/* that it asks before it waits */

struct command {
	pid_t	 pid;
	char	 id[32];
	int	 in, out;
	long	 seq;
	bool	 is_terminal;
};

struct floor {
	int		 fd, file;
	struct command	 command;
	uint8_t		 in[IN_MAX];
	size_t		 pos, len;
	char		 out[FRAME_HEAD + OUT_MAX];
	uint8_t		 data[IN_MAX];
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

/* Send what stands at out + FRAME_HEAD. */
static void
send_text(struct floor *f, size_t len)
{
	char	*p = f->out + FRAME_HEAD;

	if (len > UINT16_MAX) {
		p -= 10;
		memcpy(p + 2, &(uint64_t){ htobe64(len) }, 8);
		p[1] = 127;
	} else if (len > 125) {
		p -= 4;
		memcpy(p + 2, &(uint16_t){ htobe16((uint16_t)len) }, 2);
		p[1] = 126;
	} else {
		p -= 2;
		p[1] = (char)len;
	}
	p[0] = (char)0x81;
	write_all(f->fd, p, len + (size_t)(f->out + FRAME_HEAD - p));
}

PRINTF(2, 3) static void
say(struct floor *f, const char *format, ...)
{
	va_list	ap;
	int	n;

	va_start(ap, format);
	n = vsnprintf(f->out + FRAME_HEAD, OUT_MAX, format, ap);
	va_end(ap);
	send_text(f, (size_t)n);
}

/* What follows this key; the text ends with NUL. */
static char *
find(char *text, const char *key)
{
	char	*p = strstr(text, key);

	if (p == NULL)
		errx(1, "no %s in %.200s", key, text);
	return p + strlen(key);
}

/* A string's end becomes NUL; return its length. */
static size_t
cut(char *string)
{
	char	*end = strchr(string, '"');

	if (end == NULL)
		errx(1, "no end: %.200s", string);
	*end = '\0';
	return (size_t)(end - string);
}

/* --- commands --- */

static void
execute(char *p)
{
	char	*argv[16];
	int	 n = 0;

	while (*p == '"' && n < 15) {
		argv[n++] = p + 1;
		p += 1 + cut(p + 1) + 1;
		p += *p == ',';
	}
	argv[n] = NULL;
	execv(argv[0], argv);
	_exit(127);
}

static void
command_start(struct floor *f, long id, char *text)
{
	struct command	*c = &f->command;
	char		*argv = find(text, "\"argv\":[");
	int		 in[2], out[2];

	*c = (struct command){ .in = -1, .is_terminal = strstr(argv,
	    "\"tty\":true") != NULL };
	sscanf(find(text, "\"processId\":\""), "%31[^\"]", c->id);
	if (c->is_terminal) {
		if ((c->pid = forkpty(&c->out, NULL, NULL, NULL)) == 0)
			execute(argv);
		c->in = dup(c->out);
	} else {
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
	if (c->pid == -1)
		err(1, "fork");
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
	char		*p = f->out + FRAME_HEAD;
	ssize_t		 n = read(c->out, f->data, PIPE_BYTES);

	if (n <= 0) {
		command_end(f);
		return;
	}
	p += sprintf(p, "{\"method\":\"process/output\",\"params\":{"
	    "\"processId\":\"%s\",\"seq\":%ld,\"stream\":\"stdout\","
	    "\"chunk\":\"", c->id, ++c->seq);
	p += b64_encode(p, f->data, (size_t)n);
	memcpy(p, "\"}}", 3);
	send_text(f, (size_t)(p + 3 - f->out - FRAME_HEAD));
}

static void
command_write(struct floor *f, long id, char *text)
{
	char	*chunk = find(text, "\"chunk\":\"");
	ssize_t	 n = b64_decode(f->data, chunk, cut(chunk));

	if (n == -1)
		errx(1, "no base64");
	write_all(f->command.in, f->data, (size_t)n);
	say(f, "{\"id\":%ld,\"result\":{\"status\":\"accepted\"}}", id);
}

/* --- files --- */

static char *
path_in(char *text)
{
	char	*path = find(text, "\"path\":\"file://");

	cut(path);
	return path;
}

/* So many bytes from there. */
static void
send_bytes(struct floor *f, long id, int fd, off_t offset, size_t len)
{
	char	*p = f->out + FRAME_HEAD;
	ssize_t	 n = pread(fd, f->data, len, offset);

	if (n == -1)
		err(1, "pread");
	p += sprintf(p, "{\"id\":%ld,\"result\":{\"dataBase64\":\"", id);
	p += b64_encode(p, f->data, (size_t)n);
	memcpy(p, "\"}}", 3);
	send_text(f, (size_t)(p + 3 - f->out - FRAME_HEAD));
}

static void
file_read(struct floor *f, long id, char *text)
{
	struct stat	 st;
	int		 fd = open(path_in(text), O_RDONLY | O_CLOEXEC);

	if (fd == -1 || fstat(fd, &st) == -1)
		err(1, "readFile");
	send_bytes(f, id, fd, 0, (size_t)st.st_size);
	close(fd);
}

static void
file_open(struct floor *f, long id, char *text)
{
	if ((f->file = open(path_in(text), O_RDONLY | O_CLOEXEC)) == -1)
		err(1, "open");
	say(f, "{\"id\":%ld,\"result\":{}}", id);
}

static void
file_block(struct floor *f, long id, char *text)
{
	send_bytes(f, id, f->file, atol(find(text, "\"offset\":")),
	    (size_t)atol(find(text, "\"len\":")));
}

static void
file_close(struct floor *f, long id, char *text)
{
	(void)text;
	close(f->file);
	say(f, "{\"id\":%ld,\"result\":{}}", id);
}

/* Another name first, as whoever looks sees the old file or the new one. */
static void
file_write(struct floor *f, long id, char *text)
{
	char	*chunk = find(text, "\"dataBase64\":\""), *path;
	ssize_t	 n = b64_decode(f->data, chunk, cut(chunk));
	char	 temporary[5000];
	int	 fd;

	path = path_in(text);
	snprintf(temporary, sizeof(temporary), "%s.new", path);
	if (n == -1 || (fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL |
	    O_CLOEXEC, 0644)) == -1)
		err(1, "writeFile");
	write_all(fd, f->data, (size_t)n);
	close(fd);
	if (rename(temporary, path) == -1)
		err(1, "rename");
	say(f, "{\"id\":%ld,\"result\":{}}", id);
}

static void
folder_read(struct floor *f, long id, char *text)
{
	char		*p = f->out + FRAME_HEAD;
	struct dirent	*e;
	DIR		*d = opendir(path_in(text));

	if (d == NULL)
		err(1, "readDirectory");
	p += sprintf(p, "{\"id\":%ld,\"result\":{\"entries\":[", id);
	while ((e = readdir(d)) != NULL)
		p += sprintf(p, "{\"fileName\":\"%s\",\"isDirectory\":%s,"
		    "\"isFile\":%s},", e->d_name, e->d_type == DT_DIR ?
		    "true" : "false", e->d_type == DT_REG ? "true" : "false");
	closedir(d);
	memcpy(p - 1, "]}}", 3);
	send_text(f, (size_t)(p + 2 - f->out - FRAME_HEAD));
}

/* --- the connection --- */

static void
initialize(struct floor *f, long id, char *text)
{
	(void)text;
	say(f, "{\"id\":%ld,\"result\":{\"sessionId\":\"s\"}}", id);
}

static void
command_terminate(struct floor *f, long id, char *text)
{
	(void)text;
	kill(f->command.pid, SIGKILL);
	say(f, "{\"id\":%ld,\"result\":{\"running\":true}}", id);
}

static void
on_message(struct floor *f, char *text)
{
	static const struct {
		const char	*method;
		void		(*fn)(struct floor *, long, char *);
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
	char	*method = find(text, "\"method\":\"");

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		if (strncmp(method, calls[i].method,
		    strlen(calls[i].method)) == 0) {
			calls[i].fn(f, atol(find(text, "\"id\":")), text);
			return;
		}
	}
	if (strncmp(method, "initialized\"", 12) != 0)
		errx(1, "%.80s: not of the floor", text);
}

/* Take one frame, if it is whole. */
static bool
take_frame(struct floor *f)
{
	uint8_t		*p = f->in + f->pos, *text, after;
	const size_t	 have = f->len - f->pos;
	size_t		 head, len;

	if (have < 2)
		return false;
	len = p[1] & 0x7f;
	head = len < 126 ? 6 : len == 126 ? 8 : 14;
	if (have < head)
		return false;
	if (len == 126)
		len = (size_t)p[2] << 8 | p[3];
	else if (len == 127)
		len = be64toh(*(uint64_t *)memcpy(&(uint64_t){ 0 }, p + 2, 8));
	if (head + len >= IN_MAX)
		errx(1, "a frame of %zu bytes", len);
	if (have < head + len)
		return false;
	text = p + head;
	ws_mask(text, len, (const uint8_t *)memcpy((uint8_t[4]){ 0 },
	    text - 4, 4));
	after = text[len];
	text[len] = '\0';
	if ((p[0] & 0xf) == 1)
		on_message(f, (char *)text);
	text[len] = after;
	f->pos += head + len;
	return true;
}

static void
receive(struct floor *f)
{
	ssize_t	n;

	if (f->pos == f->len)
		f->pos = f->len = 0;
	if (f->pos > 0 && f->len + ((size_t)4 << 20) > IN_MAX) {
		memmove(f->in, f->in + f->pos, f->len - f->pos);
		f->len -= f->pos;
		f->pos = 0;
	}
	n = recv(f->fd, f->in + f->len, IN_MAX - 1 - f->len, 0);
	if (n <= 0)
		exit(0);
	f->len += (size_t)n;
}

/* Ask for a moment before it waits, as a server in a hurry does. */
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
	uint8_t			*end;

	f.fd = fd;
	f.file = -1;
	do
		receive(&f);
	while ((end = memmem(f.in, f.len, "\r\n\r\n", 4)) == NULL);
	f.pos = (size_t)(end + 4 - f.in);
	write_all(fd, "HTTP/1.1 101 Switching Protocols\r\n\r\n", 36);
	for (;;) {
		while (take_frame(&f))
			continue;
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
