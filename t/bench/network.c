/* Requests and tunnels through the proxy of a command, and its memory. */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <arpa/inet.h>
#include <netinet/tcp.h>

#include <err.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/json/b64.h"
#include "t/bench/client.h"
#include "t/bench/usage.h"

#define SECONDS		1.0
#define US		1e6
#define GIB		(1024.0 * 1024 * 1024)
#define CONNECTIONS	16
#define TUNNELS		100
#define TUNNEL_BYTES	(1UL << 30)
#define BLOCK		(1UL << 18)
#define ORIGIN_MAX	256
#define HEAD		8192
#define END		"\r\n\r\n"

static const char	answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 16\r\n"
			    "Content-Type: text/plain\r\n\r\n0123456789abcdef";

/* --- the origin, in a process of its own --- */

struct origin {
	pid_t			 pid;
	struct sockaddr_in	 pages;		/* answers requests */
	struct sockaddr_in	 bulk;		/* sends TUNNEL_BYTES */
};

static int
origin_listen(struct sockaddr_in *sin)
{
	socklen_t	 len = sizeof(*sin);
	int		 fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*sin = (struct sockaddr_in){ .sin_family = AF_INET };
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd == -1 || bind(fd, (struct sockaddr *)sin, len) == -1 ||
	    listen(fd, ORIGIN_MAX) == -1 ||
	    getsockname(fd, (struct sockaddr *)sin, &len) == -1)
		err(1, "origin");
	return fd;
}

static void
send_all(int fd, const char *data, size_t len)
{
	ssize_t	 n;

	for (; len > 0; data += n, len -= (size_t)n)
		if ((n = send(fd, data, len, 0)) <= 0)
			err(1, "send");
}

/* In a process of its own, as it blocks. */
static void
origin_bulk(int fd)
{
	static char	 block[BLOCK];

	switch (fork()) {
	case -1:
		err(1, "fork");
	case 0:
		/* bbr would pace it. */
		if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4) ==
		    -1)
			err(1, "reno");
		for (size_t sent = 0; sent < TUNNEL_BYTES; sent += BLOCK)
			send_all(fd, block, BLOCK);
		_exit(0);
	default:
		close(fd);
	}
}

/* Whether a connection goes on.  Heads come in one piece. */
static bool
origin_answer(int fd)
{
	char	 head[HEAD];
	ssize_t	 n = recv(fd, head, sizeof(head), 0);

	if (n <= 0)
		return false;
	if (n < 4 || memcmp(head + n - 4, END, 4) != 0)
		errx(1, "origin: half a request");
	send_all(fd, answer, sizeof(answer) - 1);
	return true;
}

static void
origin_serve(int pages, int bulk)
{
	struct pollfd	 p[ORIGIN_MAX] = { { pages, POLLIN, 0 },
			    { bulk, POLLIN, 0 } };
	nfds_t		 n = 2;
	int		 fd;

	for (;;) {
		if (poll(p, n, -1) == -1)
			err(1, "poll");
		for (nfds_t i = n; i-- > 2; )
			if (p[i].revents != 0 && !origin_answer(p[i].fd)) {
				close(p[i].fd);
				p[i] = p[--n];
			}
		for (nfds_t i = 0; i < 2; i++) {
			if (p[i].revents == 0)
				continue;
			if ((fd = accept(p[i].fd, NULL, NULL)) == -1)
				err(1, "accept");
			if (i == 1)
				origin_bulk(fd);
			else if (n < ORIGIN_MAX)
				p[n++] = (struct pollfd){ fd, POLLIN, 0 };
			else
				errx(1, "origin: too many connections");
		}
	}
}

static void
origin_start(struct origin *o)
{
	int	 pages = origin_listen(&o->pages);
	int	 bulk = origin_listen(&o->bulk);

	if ((o->pid = fork()) == -1)
		err(1, "fork");
	if (o->pid == 0) {
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
			err(1, "origin");
		signal(SIGCHLD, SIG_IGN);
		origin_serve(pages, bulk);
	}
	close(pages);
	close(bulk);
}

static void
origin_stop(struct origin *o)
{
	if (kill(o->pid, SIGKILL) == -1 || waitpid(o->pid, NULL, 0) == -1)
		err(1, "origin");
}

/* --- the proxy's clients --- */

static int
reach(const struct sockaddr_in *sin)
{
	int	 fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd == -1 ||
	    connect(fd, (const struct sockaddr *)sin, sizeof(*sin)) == -1)
		err(1, "connect");
	return fd;
}

/* Start a command that stays, with a proxy whose address it tells, or none. */
static void
start_command(const struct bench *b, struct client *c, bool proxied,
    struct sockaddr_in *proxy_out)
{
	struct msg	 m;
	const char	*chunk;
	char		 text[64];
	unsigned short	 port;
	ssize_t		 n;

	client_call(c, "process/start", "{\"processId\":\"%s\",\"argv\":"
	    "[\"/bin/sh\",\"-c\",\"echo $HTTP_PROXY; exec sleep 1000\"],"
	    "\"cwd\":\"file://%s\",\"env\":{},\"tty\":false,\"pipeStdin\":"
	    "false,\"arg0\":null%s}", proxied ? "proxied" : "plain",
	    b->folder, proxied ? ",\"networkProxy\":{\"proxy\":{"
	    "\"enabled\":true,\"enableSocks5\":true,\"enableSocks5Udp\":false,"
	    "\"allowUpstreamProxy\":false,\"mode\":\"full\","
	    "\"dangerouslyAllowAllUnixSockets\":false,"
	    "\"allowLocalBinding\":true,\"domains\":{\"127.0.0.1\":"
	    "\"allow\"}}}" : "");
	client_wait(c, MSG_OUTPUT, &m);
	if (!proxied)
		return;
	if ((chunk = memmem(m.text, m.len, "\"chunk\":\"", 9)) == NULL)
		errx(1, "no chunk");
	chunk += 9;
	n = b64_decode(text, chunk, strcspn(chunk, "\"") > 60 ? 0 :
	    strcspn(chunk, "\""));
	text[n < 0 ? 0 : n] = '\0';
	if (sscanf(text, "http://127.0.0.1:%hu", &port) != 1)
		errx(1, "no proxy: %s", text);
	*proxy_out = (struct sockaddr_in){ .sin_family = AF_INET,
	    .sin_port = htons(port) };
	proxy_out->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

static int
tunnel(const struct sockaddr_in *proxy, const struct sockaddr_in *to)
{
	char	 head[HEAD];
	int	 fd = reach(proxy);
	size_t	 got = 0;
	ssize_t	 n;

	send_all(fd, head, (size_t)snprintf(head, sizeof(head),
	    "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: 127.0.0.1:%d" END,
	    ntohs(to->sin_port), ntohs(to->sin_port)));
	/* Byte by byte: what follows is the tunnel's. */
	while (got < 4 || memcmp(head + got - 4, END, 4) != 0) {
		if (got == sizeof(head) || (n = recv(fd, head + got, 1, 0)) <=
		    0)
			errx(1, "no tunnel: %.*s", (int)got, head);
		got += (size_t)n;
	}
	if (got < 12 || memcmp(head + 9, "200", 3) != 0)
		errx(1, "no tunnel: %.*s", (int)got, head);
	return fd;
}

static void
measure_tunnel(const struct bench *b, const struct origin *o,
    const struct sockaddr_in *proxy)
{
	static char	 block[BLOCK];
	double		 cpu = usage_cpu(b->pid), begin = now();
	int		 fd = tunnel(proxy, &o->bulk);
	size_t		 bytes = 0;
	ssize_t		 n;

	while ((n = recv(fd, block, sizeof(block), 0)) > 0)
		bytes += (size_t)n;
	if (bytes != TUNNEL_BYTES)
		errx(1, "%zu bytes through the tunnel", bytes);
	report(VALUE_net_tunnel, (double)bytes / 1e6 / (now() - begin));
	report(VALUE_net_tunnel_cpu, (usage_cpu(b->pid) - cpu) /
	    ((double)bytes / GIB));
	close(fd);
}

/* Ask for a page; through the proxy if the target is a whole URL. */
static void
page_ask(int fd, const struct origin *o, bool proxied)
{
	char	 head[HEAD], base[64] = "";

	if (proxied)
		snprintf(base, sizeof(base), "http://127.0.0.1:%d",
		    ntohs(o->pages.sin_port));
	send_all(fd, head, (size_t)snprintf(head, sizeof(head),
	    "GET %s/page HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n"
	    "User-Agent: bench\r\nAccept: */*" END, base,
	    ntohs(o->pages.sin_port)));
}

/* Take what has come of an answer that ends with the page; true: all. */
static bool
page_take(int fd, char text[HEAD], size_t *len)
{
	ssize_t	 n = recv(fd, text + *len, HEAD - *len, 0);

	if (n <= 0)
		errx(1, "no answer: %.*s", (int)*len, text);
	*len += (size_t)n;
	if (*len < 32 || memcmp(text + *len - 16, "0123456789abcdef", 16) != 0)
		return false;
	if (memcmp(text + 9, "200", 3) != 0)
		errx(1, "refused: %.*s", (int)*len, text);
	*len = 0;
	return true;
}

static double
page_once(int fd, const struct origin *o, bool proxied)
{
	char	 text[HEAD];
	size_t	 len = 0;
	double	 begin = now();

	page_ask(fd, o, proxied);
	while (!page_take(fd, text, &len))
		continue;
	return now() - begin;
}

static void
measure_latency(const struct origin *o, const struct sockaddr_in *proxy)
{
	int		 through = reach(proxy), straight = reach(&o->pages);
	struct samples	 a, b;
	double		 p50;

	for (int i = 0; i < 20; i++) {
		page_once(through, o, true);
		page_once(straight, o, false);
	}
	samples_init(&a, SECONDS);
	samples_init(&b, SECONDS);
	while (samples_more(&a)) {
		samples_add(&a, page_once(through, o, true));
		samples_add(&b, page_once(straight, o, false));
	}
	p50 = samples_at(&a, 0.5);
	report(VALUE_net_page, p50 * US);
	report(VALUE_net_page_added, (p50 - samples_at(&b, 0.5)) * US);
	close(through);
	close(straight);
}

static void
measure_rate(const struct origin *o, const struct sockaddr_in *proxy)
{
	static char	 text[CONNECTIONS][HEAD];
	size_t		 len[CONNECTIONS] = { 0 };
	struct pollfd	 p[CONNECTIONS];
	double		 begin = now(), warm = begin + 0.3;
	long		 count = 0;

	for (int i = 0; i < CONNECTIONS; i++) {
		p[i] = (struct pollfd){ reach(proxy), POLLIN, 0 };
		page_ask(p[i].fd, o, true);
	}
	while (now() < warm + SECONDS) {
		if (begin < warm && now() >= warm) {
			count = 0;
			begin = now();
		}
		if (poll(p, CONNECTIONS, 30000) <= 0)
			errx(1, "no answer");
		for (int i = 0; i < CONNECTIONS; i++) {
			if (p[i].revents == 0 ||
			    !page_take(p[i].fd, text[i], &len[i]))
				continue;
			count++;
			page_ask(p[i].fd, o, true);
		}
	}
	report(VALUE_net_rate, (double)count / (now() - begin));
	for (int i = 0; i < CONNECTIONS; i++)
		close(p[i].fd);
}

/*
 * By how much the server grows for the proxy of a command, first without a
 * connection, then with tunnels.
 */
static void
measure_memory(const struct bench *b, struct client *c,
    const struct origin *o, struct sockaddr_in *proxy)
{
	double	 before;
	int	 fd[TUNNELS];

	start_command(b, c, false, NULL);
	nap(0.5);
	before = usage_pss(b->pid);
	start_command(b, c, true, proxy);
	nap(0.5);
	report(VALUE_net_memory, usage_pss(b->pid) - before);
	for (int i = 0; i < TUNNELS; i++)
		fd[i] = tunnel(proxy, &o->pages);
	nap(0.5);
	report(VALUE_net_memory100, usage_pss(b->pid) - before);
	for (int i = 0; i < TUNNELS; i++)
		close(fd[i]);
}

void
bench_network(const struct bench *b)
{
	struct client		*c = client_open(b, 0);
	struct origin		 o;
	struct sockaddr_in	 proxy;

	origin_start(&o);
	measure_memory(b, c, &o, &proxy);
	measure_tunnel(b, &o, &proxy);
	measure_rate(&o, &proxy);
	measure_latency(&o, &proxy);
	origin_stop(&o);
	client_close(&c);
}
