/*
 * What a server of one's own says: its log, first byte how to chop it, in lines
 * that are printable and the same for any chopping; and each line as one of its
 * news.
 */
#include <sys/socket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/client/serve/serve.h"
#include "common/fd.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
on_log(void *arg, enum execsrv_log_level level, const char *text)
{
	uint64_t	*hash = arg;
	char		*copy = strdup(text);
	const char	*p;

	MUST(copy != NULL && level >= EXECSRV_LOG_ERROR &&
	    level <= EXECSRV_LOG_DEBUG);
	execsrv_printable(copy);
	MUST(strcmp(copy, text) == 0);
	for (p = text; *p != '\0'; p++)
		*hash = (*hash ^ (uint8_t)*p) * 0x100000001b3;
	*hash = (*hash ^ (uint8_t)level) * 0x100000001b3;
	free(copy);
}

static struct execsrv_server *
server_new(uint64_t *hash)
{
	struct execsrv_server	*s = calloc(1, sizeof(*s));

	MUST(s != NULL);
	s->in = s->log = s->notify = s->epoll = s->child.pidfd = -1;
	s->on_log = on_log;
	s->arg = hash;
	*hash = 0xcbf29ce484222325;
	return s;
}

static uint64_t
hash_of(const uint8_t *data, size_t size, size_t piece)
{
	uint64_t		 hash;
	struct execsrv_server	*s = server_new(&hash);
	size_t			 n;

	for (; size > 0; data += n, size -= n) {
		n = sizeof(s->said) - s->nsaid;
		MUST(n > 0);
		n = n < piece ? n : piece;
		n = n < size ? n : size;
		memcpy(s->said + s->nsaid, data, n);
		s->nsaid += n;
		execsrv_serve_log(s);
	}
	execsrv_serve_log_end(s);
	MUST(memchr(s->why.text, '\0', sizeof(s->why.text)) != NULL);
	execsrv_server_free(&s);
	return hash;
}

static void
check_news(const uint8_t *data, size_t size)
{
	uint64_t		 hash;
	struct execsrv_server	*s = server_new(&hash);
	const uint8_t		*end;
	int			 news[2], in[2];
	size_t			 n;

	MUST(fd_packet_pair(news) == 0 && fd_packet_pair(in) == 0);
	s->notify = news[0];
	s->in = in[0];
	for (; size > 0; data += n, size -= n) {
		end = memchr(data, '\n', size);
		n = end != NULL ? (size_t)(end - data) : size;
		if (n > 0)
			MUST(send(news[1], data, n, 0) == (ssize_t)n);
		MUST(execsrv_server_dispatch(s) == 0);
		n += end != NULL;
	}
	MUST((execsrv_server_registration(s) != NULL) == (s->uplink > 0));
	MUST(execsrv_server_url(s, s->nurls) == NULL);
	execsrv_server_free(&s);
	close(news[1]);
	close(in[1]);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	MUST(hash_of(data + 1, size - 1, 1 + data[0]) ==
	    hash_of(data + 1, size - 1, SERVE_LINE_MAX));
	check_news(data + 1, size - 1);
	return 0;
}
