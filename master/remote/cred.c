#include "master/remote/cred.h"

#include <sys/socket.h>

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json/json.h"
#include "common/json/utf8.h"
#include "common/secret.h"

#define FILE_MAX	(CRED_MAX + 2)	/* bytes of a file: a token, CRLF */

static int
set_token(struct cred *c, const char *token, size_t len)
{
	char	*copy;

	assert(len > 0 && len <= CRED_MAX);
	if ((copy = sodium_malloc(len + 1)) == NULL)
		return -1;
	memcpy(copy, token, len);
	copy[len] = '\0';
	if (c->token != NULL)
		sodium_free(c->token);
	c->token = copy;
	return 0;
}

/* Visible ASCII, as a header may contain; more than RFC 6750's b64token. */
static bool
is_token(const char *s, size_t len)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		if (s[i] <= ' ' || s[i] > '~')
			return false;
	return len > 0 && len <= CRED_MAX;
}

static int
cred_refuse(char *why, size_t size, const char *text)
{
	snprintf(why, size, "%s", text);
	return -1;
}

/* --- the environment --- */

static int
take_variable(struct cred *c, const char *name, enum cred_source source)
{
	char	*value = secret_take_env(name);
	size_t	 len;
	int	 r = 0;

	if (value == NULL)
		return errno == 0 ? 0 : -1;
	len = strlen(value);
	if (c->source == CRED_NONE && len > 0) {
		c->source = source;
		/* A malformed one is an error only if it is used. */
		if (is_token(value, len))
			r = set_token(c, value, len);
	}
	sodium_free(value);
	return r;
}

int
cred_take_env(struct cred *c)
{
	int	 r;

	memset(c, 0, sizeof(*c));
	r = take_variable(c, "CODEX_EXEC_SERVER_REMOTE_BEARER_TOKEN",
	    CRED_BEARER);
	if (take_variable(c, "CODEX_API_KEY", CRED_API_KEY) == -1)
		r = -1;
	return r;
}

/* In the kernel, as a message of a socket: memory that is not swapped. */
int
cred_keep(const struct cred *c)
{
	uint8_t		 source = (uint8_t)c->source;
	struct iovec	 part[2] = { { &source, sizeof(source) },
			    { c->token, 0 } };
	struct msghdr	 m = { .msg_iov = part, .msg_iovlen = 2 };
	int		 pair[2];

	if (c->token == NULL)
		return -1;
	part[1].iov_len = strlen(c->token);
	if (fd_packet_pair(pair) == -1)
		return -2;
	if (sendmsg(pair[1], &m, MSG_NOSIGNAL) == -1) {
		fd_close(&pair[0]);
		pair[0] = -2;
	}
	fd_close(&pair[1]);
	return pair[0];
}

int
cred_take_kept(struct cred *c, int fd)
{
	char	*room;
	ssize_t	 n;
	int	 r = -1;

	memset(c, 0, sizeof(*c));
	if ((room = sodium_malloc(CRED_MAX + 1)) == NULL)
		return -1;
	errno = EPROTO;
	if ((n = recv(fd, room, CRED_MAX + 1, MSG_PEEK)) > 1 &&
	    (room[0] == CRED_API_KEY || room[0] == CRED_BEARER) &&
	    is_token(room + 1, (size_t)n - 1)) {
		c->source = (enum cred_source)room[0];
		r = set_token(c, room + 1, (size_t)n - 1);
	}
	sodium_free(room);
	return r;
}

int
cred_copy(struct cred *to, const struct cred *from)
{
	assert(from->token == NULL || from->token[0] != '\0');
	*to = *from;
	to->token = NULL;
	return from->token == NULL ? 0 :
	    set_token(to, from->token, strlen(from->token));
}

void
cred_fini(struct cred *c)
{
	if (c->token != NULL)
		sodium_free(c->token);
	memset(c, 0, sizeof(*c));
}

/* --- a file --- */

int
cred_read_file(struct cred *c, const char *path, char *why, size_t size)
{
	char	*room;
	size_t	 n;
	int	 r = -1;

	if ((room = secret_read_file(path, FILE_MAX, &n, why, size)) == NULL)
		return -1;
	while (n > 0 && (room[n - 1] == '\n' || room[n - 1] == '\r'))
		n--;
	if (!is_token(room, n))
		cred_refuse(why, size, "expected one line with a token");
	else if ((r = set_token(c, room, n)) == -1)
		cred_refuse(why, size, strerror(errno));
	else
		c->source = CRED_FILE;
	sodium_free(room);
	return r;
}

/* --- standard input --- */

static bool
is_member(const struct json *j, uint32_t key)
{
	return json_is_text(j, key, "version") ||
	    json_is_text(j, key, "environment_id") ||
	    json_is_text(j, key, "token") ||
	    json_is_text(j, key, "expires_at");
}

/* Check for exactly these members.  NULL, or what is wrong. */
static const char *
check_frame(const struct json *j, const char *environment, uint32_t *token,
    uint64_t *expires)
{
	uint32_t	 i, id = json_find(j, 0, "environment_id");
	uint64_t	 version;

	if (json_tok(j, 0)->type != JSON_OBJECT)
		return "invalid frame";
	for (i = json_first(0); json_more(j, 0, i);
	    i = json_after_member(j, i))
		if (!is_member(j, i))
			return "invalid frame";
	*token = json_find(j, 0, "token");
	if ((i = json_find(j, 0, "version")) == 0 ||
	    json_u64(j, i, &version) == -1 || version != 1)
		return "invalid frame";
	if (id == 0 || json_tok(j, id)->type != JSON_STRING || *token == 0 ||
	    json_tok(j, *token)->type != JSON_STRING ||
	    !is_token(json_text(j, *token), json_tok(j, *token)->len) ||
	    (i = json_find(j, 0, "expires_at")) == 0 ||
	    json_u64(j, i, expires) == -1 || *expires > INT64_MAX)
		return "invalid frame";
	if (!json_is_text(j, id, environment))
		return "a credential for another environment";
	return *expires <= (uint64_t)time(NULL) ? "an expired credential" :
	    NULL;
}

int
cred_take_frame(struct cred *c, char *line, size_t len,
    const char *environment, char *why, size_t size)
{
	struct json	 j;
	const char	*wrong = "invalid frame";
	uint32_t	 token;
	uint64_t	 expires;
	int		 r = -1;

	json_init(&j);
	if (utf8_is_valid(line, len) && json_parse(&j, line, len) == 0)
		wrong = check_frame(&j, environment, &token, &expires);
	if (wrong != NULL) {
		cred_refuse(why, size, wrong);
	} else if ((r = set_token(c, json_text(&j, token),
	    json_tok(&j, token)->len)) == -1) {
		cred_refuse(why, size, strerror(errno));
	} else {
		c->source = CRED_FRAMES;
		c->expires = expires;
	}
	json_fini(&j);
	sodium_memzero(line, len);
	return r;
}

/* Byte by byte, as more lines may follow. */
static ssize_t
cred_read_line(char *line, size_t size)
{
	struct pollfd	 p = { STDIN_FILENO, POLLIN, 0 };
	size_t		 n = 0;
	ssize_t		 r;

	while (n < size) {
		r = read(STDIN_FILENO, line + n, 1);
		if (r == -1 && errno == EINTR)
			continue;
		if (r == -1 && errno == EAGAIN &&
		    (poll(&p, 1, -1) != -1 || errno == EINTR))
			continue;
		if (r <= 0)
			return -1;
		if (line[n] == '\n')
			return (ssize_t)n;
		n++;
	}
	return -1;
}

int
cred_read_stdin(struct cred *c, bool frames, const char *environment,
    char *why, size_t size)
{
	char	*line;
	ssize_t	 n;
	int	 r = -1;

	if ((line = sodium_malloc(CRED_MAX + 1)) == NULL)
		return cred_refuse(why, size, strerror(errno));
	n = cred_read_line(line, CRED_MAX + 1);
	if (n == -1) {
		cred_refuse(why, size, "expected a line of up to 16 KiB");
	} else if (frames) {
		r = cred_take_frame(c, line, (size_t)n, environment, why,
		    size);
	} else {
		if (n > 0 && line[n - 1] == '\r')
			n--;
		if (!is_token(line, (size_t)n))
			cred_refuse(why, size, "a token must not contain "
			    "blanks");
		else if ((r = set_token(c, line, (size_t)n)) == -1)
			cred_refuse(why, size, strerror(errno));
		else
			c->source = CRED_LINE;
	}
	sodium_free(line);
	return r;
}

bool
cred_is_good(const struct cred *c)
{
	return c->token != NULL &&
	    (c->expires == 0 || c->expires > (uint64_t)time(NULL));
}

/* Whether s, behind a host, is a port, a path or empty, not a password. */
static bool
is_host_end(const char *s)
{
	if (*s == ':')
		while (isdigit((unsigned char)*++s))
			continue;
	return *s == '\0' || *s == '/' || *s == '?';
}

bool
cred_is_safe(const char *url)
{
	static const char *const	 hosts[] = {
		"localhost", "127.0.0.1", "[::1]"
	};
	size_t				 i, n;

	if (strncasecmp(url, "https://", 8) == 0)
		return true;
	if (strncasecmp(url, "http://", 7) != 0)
		return false;
	url += 7;
	for (i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
		n = strlen(hosts[i]);
		if (strncasecmp(url, hosts[i], n) == 0 &&
		    is_host_end(url + n))
			return true;
	}
	return false;
}
