#include "t/bench/hubside.h"

#include <sys/socket.h>
#include <sys/stat.h>

#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t/bench/program.h"

#define TOKEN		"bench-token"
#define SUITE		"Noise_hybridIK_X25519+MLKEM768_AESGCM_SHA256"
#define ATTACH		"/cloud-agent-nodelay/route/ws/environment/"
#define ANSWER_MAX	16384
#define START_SECONDS	10

/* --- connections --- */

static void
side_own(struct side *s, int fd, SSL_CTX *tls)
{
	const int	 on = 1;

	s->fd = fd;
	s->ssl = NULL;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (tls != NULL && ((s->ssl = SSL_new(tls)) == NULL ||
	    SSL_set_fd(s->ssl, fd) != 1 || SSL_connect(s->ssl) != 1))
		errx(1, "TLS with the hub");
}

void
side_put(struct side *s, const void *data, size_t len)
{
	ssize_t	 n;

	for (; len > 0; len -= (size_t)n) {
		n = s->ssl != NULL ? SSL_write(s->ssl, data, (int)len) :
		    send(s->fd, data, len, MSG_NOSIGNAL);
		if (n <= 0)
			err(1, "sending to the hub");
		data = (const char *)data + n;
	}
}

size_t
side_read(struct side *s, void *out, size_t size)
{
	ssize_t	 n;

	n = s->ssl != NULL ? SSL_read(s->ssl, out, (int)size) :
	    recv(s->fd, out, size, 0);
	return n > 0 ? (size_t)n : 0;
}

bool
side_get(struct side *s, void *out, size_t len)
{
	size_t	 n;

	for (; len > 0; len -= n) {
		if ((n = side_read(s, out, len)) == 0)
			return false;
		out = (char *)out + n;
	}
	return true;
}

void
side_close(struct side *s)
{
	if (s->fd != -1)
		close(s->fd);
	SSL_free(s->ssl);
	s->fd = -1;
	s->ssl = NULL;
}

/* A socket on a free port of loopback; with a listener, unless it is NULL. */
static int
loopback(struct sockaddr_in *sin, bool listens)
{
	socklen_t	 len = sizeof(*sin);
	int		 fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*sin = (struct sockaddr_in){ .sin_family = AF_INET };
	sin->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd == -1 || bind(fd, (struct sockaddr *)sin, len) == -1 ||
	    (listens && listen(fd, 1) == -1) ||
	    getsockname(fd, (struct sockaddr *)sin, &len) == -1)
		err(1, "loopback");
	return fd;
}

void
side_pair(struct side *a, struct side *b)
{
	struct sockaddr_in	 sin;
	int			 door = loopback(&sin, true);
	int			 fd = socket(AF_INET, SOCK_STREAM, 0), other;

	if (fd == -1 || connect(fd, (struct sockaddr *)&sin, sizeof(sin)) ==
	    -1 || (other = accept(door, NULL, NULL)) == -1)
		err(1, "a pair of sockets");
	close(door);
	side_own(a, fd, NULL);
	side_own(b, other, NULL);
}

static int
hub_dial(const struct hub *h)
{
	struct sockaddr_in	 sin = { .sin_family = AF_INET,
				    .sin_port = htons(h->port) };
	int			 fd = socket(AF_INET, SOCK_STREAM |
				    SOCK_CLOEXEC, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd != -1 && connect(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0)
		return fd;
	close(fd);
	return -1;
}

static void
hub_open(const struct hub *h, struct side *out)
{
	int	 fd;

	if ((fd = hub_dial(h)) == -1)
		err(1, "connecting to the hub");
	side_own(out, fd, h->tls);
}

/* --- a hub --- */

static void
hub_file(const struct hub *h, const char *name, const char *text)
{
	char	 path[256];
	FILE	*f;

	snprintf(path, sizeof(path), "%s/%s", h->dir, name);
	if ((f = fopen(path, "we")) == NULL || chmod(path, 0600) == -1 ||
	    fputs(text, f) == EOF || fclose(f) == EOF)
		err(1, "%s", path);
}

static void
hub_configure(const struct hub *h, const char *folder)
{
	uint8_t	 hash[crypto_hash_sha256_BYTES];
	char	 hex[2 * sizeof(hash) + 1], text[2048], engine[512] = "";
	const char *scheme = h->tls != NULL ? "https" : "http";

	crypto_hash_sha256(hash, (const uint8_t *)TOKEN, strlen(TOKEN));
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(text, sizeof(text), "bench sha256:%s\n", hex);
	hub_file(h, "tokens", text);
	hub_file(h, "secret", "a secret that is long enough for a hub\n");
	if (h->engine != NULL)
		snprintf(engine, sizeof(engine), "Engine %s\n"
		    "HubName hub-%u\nHubUrl http://127.0.0.1:%u\n",
		    h->engine, h->port, h->port);
	snprintf(text, sizeof(text), "Listen %s://127.0.0.1:%u\n"
	    "FleetUrl %s://127.0.0.1:%u\nSecretFile secret\n"
	    "TokensFile tokens\nRuntimeDirectory %s/run\nHubUser nobody\n"
	    "RequestRate 1000000\nMaxConnections 19000\nPingInterval 1h\n"
	    "LogLevel error\n%s%s%s/cert.pem\nCertificateKey %s/key.pem\n"
	    "Match Executor all\n\tMayRegister *\n"
	    "Match Harness all\n\tMayConnect *\n", scheme, h->port, scheme,
	    h->port, h->dir, engine, "Certificate ", folder, folder);
	hub_file(h, "conf", text);
}

static void
hub_start_one(struct hub *h, const struct bench *b, bool is_tls,
    const char *engine)
{
	struct sockaddr_in	 sin;
	double			 end = now() + START_SECONDS;
	char			 conf[256];
	char			*argv[] = { b->argv[0], (char []){ "-f" },
				    conf, NULL };
	int			 fd;

	if (b->argv[1] == NULL)
		errx(2, "a folder with cert.pem and key.pem is missing");
	memset(h, 0, sizeof(*h));
	h->engine = engine;
	snprintf(h->dir, sizeof(h->dir), "%s/hub.XXXXXX", b->argv[1]);
	if (sodium_init() == -1 || mkdtemp(h->dir) == NULL)
		err(1, "%s", h->dir);
	if (is_tls && (h->tls = SSL_CTX_new(TLS_client_method())) == NULL)
		errx(1, "TLS");
	/* Free until now, at least. */
	fd = loopback(&sin, false);
	h->port = ntohs(sin.sin_port);
	close(fd);
	hub_configure(h, b->argv[1]);
	snprintf(conf, sizeof(conf), "%s/conf", h->dir);
	h->pid = program_start(argv, NULL);
	while ((fd = hub_dial(h)) == -1) {
		if (now() > end)
			errx(1, "the hub does not listen");
		nap(0.01);
	}
	close(fd);
}

void
hub_start(struct hub *h, const struct bench *b, bool is_tls)
{
	hub_start_one(h, b, is_tls, NULL);
}

void
hub_start_two(struct hub h[2], const struct bench *b)
{
	if (b->argv[2] == NULL)
		errx(2, "the URL of a nats-server is missing");
	hub_start_one(&h[0], b, false, b->argv[2]);
	hub_start_one(&h[1], b, false, b->argv[2]);
	h[0].other = &h[1];
}

void
hub_stop(struct hub *h)
{
	program_stop(h->pid);
	SSL_CTX_free(h->tls);
}

void
hub_kill_worker(const struct hub *h)
{
	char	 path[64];
	int	 pid;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)h->pid,
	    (int)h->pid);
	if ((f = fopen(path, "re")) == NULL || fscanf(f, "%d", &pid) != 1 ||
	    kill(pid, SIGKILL) == -1)
		err(1, "the hub's worker");
	fclose(f);
}

/* --- requests --- */

/* Keys that look like some: a hub does not use them. */
static void
key_text(char *out, size_t size)
{
	uint8_t	 key[1184];
	char	 dh[64], kem[1600];

	randombytes_buf(key, sizeof(key));
	sodium_bin2base64(dh, sizeof(dh), key, 32,
	    sodium_base64_VARIANT_ORIGINAL);
	sodium_bin2base64(kem, sizeof(kem), key, sizeof(key),
	    sodium_base64_VARIANT_ORIGINAL);
	snprintf(out, size, "{\"suite\":\"" SUITE "\",\"x25519_public_key\":"
	    "\"%s\",\"mlkem768_public_key\":\"%s\"}", dh, kem);
}

void
hub_ask(const struct hub *h, struct ticket_path *out, const char *environment,
    bool is_harness)
{
	struct side	 s;
	char		 key[2048], body[2400], head[512];
	char		 answer[ANSWER_MAX];
	const char	*path;
	size_t		 n, len = 0;

	key_text(key, sizeof(key));
	snprintf(body, sizeof(body), "{\"security_profile\":"
	    "\"noise_hybrid_ik_v1\",\"%s_public_key\":%s}", is_harness ?
	    "harness" : "executor", key);
	n = (size_t)snprintf(head, sizeof(head),
	    "POST /cloud/environment/%s/%s HTTP/1.1\r\nHost: hub\r\n"
	    "Authorization: Bearer " TOKEN "\r\nContent-Length: %zu\r\n\r\n",
	    environment, is_harness ? "connect" : "register", strlen(body));
	hub_open(h, &s);
	side_put(&s, head, n);
	side_put(&s, body, strlen(body));
	while (len + 1 < sizeof(answer) && (n = side_read(&s, answer + len,
	    sizeof(answer) - 1 - len)) > 0)
		len += n;
	answer[len] = '\0';
	side_close(&s);
	/* The hub was killed, or the executor is not back yet, or known. */
	if (is_harness && (len == 0 ||
	    strncmp(answer, "HTTP/1.1 409 ", 13) == 0 ||
	    strncmp(answer, "HTTP/1.1 503 ", 13) == 0))
		return;
	if ((path = strstr(answer, ATTACH)) == NULL ||
	    (n = strcspn(path, "\"")) >= sizeof(out->text))
		errx(1, "the hub answered: %.200s", answer);
	memcpy(out->text, path, n);
	out->text[n] = '\0';
}

void
hub_register(const struct hub *h, struct ticket_path *out,
    const char *environment)
{
	hub_ask(h, out, environment, false);
}

void
hub_upgrade_begin(const struct hub *h, struct side *out,
    const struct ticket_path *path)
{
	char	 text[sizeof(path->text) + 256];
	size_t	 n;

	n = (size_t)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n"
	    "Host: hub\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
	    "Sec-WebSocket-Version: 13\r\n"
	    "Sec-WebSocket-Key: AAECAwQFBgcICQoLDA0ODw==\r\n\r\n",
	    path->text);
	hub_open(h, out);
	side_put(out, text, n);
}

void
hub_upgrade_end(struct side *s)
{
	char	 answer[1024];
	size_t	 n, len = 0;

	/* Nothing comes behind the head: nobody sends yet. */
	do {
		if (len + 1 == sizeof(answer) || (n = side_read(s, answer +
		    len, sizeof(answer) - 1 - len)) == 0)
			errx(1, "no answer to an upgrade");
		answer[len += n] = '\0';
	} while (strstr(answer, "\r\n\r\n") == NULL);
	if (strncmp(answer, "HTTP/1.1 101 ", 13) != 0)
		errx(1, "the hub answered: %.200s", answer);
}

void
hub_upgrade(const struct hub *h, struct side *out,
    const struct ticket_path *path)
{
	hub_upgrade_begin(h, out, path);
	hub_upgrade_end(out);
}

void
hub_attach(const struct hub *h, struct side *out, const char *environment)
{
	struct ticket_path	 path;

	hub_ask(h, &path, environment, false);
	hub_upgrade(h, out, &path);
}

void
hub_connect(const struct hub *h, struct side *out, const char *environment)
{
	struct ticket_path	 path = { .text = "" };
	double			 end = now() + START_SECONDS;

	while (path.text[0] == '\0') {
		if (now() > end)
			errx(1, "no hub has the executor");
		hub_ask(h->other != NULL ? h->other : h, &path, environment,
		    true);
		if (path.text[0] == '\0')
			nap(0.01);
	}
	hub_upgrade(h, out, &path);
}
