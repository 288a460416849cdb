/*
 * Heads judged as regular expressions judge them; a head grows byte by byte
 * without another verdict on the way.
 */
#include <arpa/inet.h>

#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/net/httphead.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

#define TOKEN		"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
#define SYNTAX		0	/* one of 400, 431, 505 */

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct lines {
	char	 text[HTTPHEAD_MAX + 1];
	char	*line[HTTPHEAD_LINES_MAX + 2];
	int	 count;
};

static bool
matches(const char *text, const char *pattern, int flags)
{
	static struct {
		const char	*pattern;
		regex_t		 re;
	}		 known[64];
	int		 i;

	/* Each pattern is a constant: its address is its name. */
	for (i = 0; known[i].pattern != NULL; i++)
		if (known[i].pattern == pattern)
			return regexec(&known[i].re, text, 0, NULL, 0) == 0;
	CHECK(i < 63);
	known[i].pattern = pattern;
	CHECK(regcomp(&known[i].re, pattern,
	    REG_EXTENDED | REG_NOSUB | flags) == 0);
	return regexec(&known[i].re, text, 0, NULL, 0) == 0;
}

/* How many lines there are of a name; the value of the last one. */
static int
count(const struct lines *l, const char *name, const char **value_out)
{
	size_t	 len = strlen(name);
	int	 i, n = 0;

	*value_out = "";
	for (i = 1; i < l->count; i++)
		if (strncasecmp(l->line[i], name, len) == 0 &&
		    l->line[i][len] == ':') {
			*value_out = l->line[i] + len + 1;
			n++;
		}
	return n;
}

/* Cut the lines apart; false for what is no head at all. */
static bool
split(struct lines *l, const char *text, size_t len)
{
	char	*p, *end;
	size_t	 i;

	l->count = 0;
	if (len > HTTPHEAD_MAX)
		return false;
	memcpy(l->text, text, len);
	l->text[len] = '\0';
	for (i = 0; i < len; i++)
		if (((unsigned char)text[i] < 32 && !strchr("\r\n\t", text[i]))
		    || text[i] == '\0' || text[i] == 0x7f)
			return false;
	for (p = l->text; (end = strstr(p, "\r\n")) != NULL; p = end + 2) {
		*end = '\0';
		if (strpbrk(p, "\r\n") != NULL)
			return false;
		if (*p == '\0')
			return end[2] == '\0';
		if (l->count > HTTPHEAD_LINES_MAX)
			return false;
		l->line[l->count++] = p;
	}
	return false;
}

static bool
is_local(const char *value)
{
	char		 host[256], rest[256];
	struct in6_addr	 addr;
	unsigned int	 a, b, c, d;
	int		 port = 0;

	if (!matches(value, "^[\t ]*(localhost|(0|[1-9][0-9]{0,2})"
	    "(\\.(0|[1-9][0-9]{0,2})){3}|\\[[0-9A-Fa-f:.]+\\])"
	    "(:[0-9]{1,5})?[\t ]*$", REG_ICASE))
		return false;
	value += strspn(value, " \t");
	rest[0] = '\0';
	if (value[0] == '[') {
		if (strcspn(value, "]") > 200)
			return false;
		if (sscanf(value, "[%255[^]]]%255s", host, rest) < 1 ||
		    inet_pton(AF_INET6, host, &addr) != 1)
			return false;
		if (rest[0] == ':')
			port = atoi(rest + 1);
		return port < 65536;
	}
	if (strchr(value, ':') != NULL)
		port = atoi(strchr(value, ':') + 1);
	if (sscanf(value, "%u.%u.%u.%u", &a, &b, &c, &d) == 4 &&
	    (a > 255 || b > 255 || c > 255 || d > 255))
		return false;
	return port < 65536;
}

static bool
is_once_each(const struct lines *l)
{
	static const char	*const once[] = { "authorization",
				    "content-length", "sec-websocket-key",
				    "sec-websocket-version", "upgrade" };
	const char		*value;
	size_t			 i;

	for (i = 0; i < sizeof(once) / sizeof(once[0]); i++)
		if (count(l, once[i], &value) > 1)
			return false;
	return count(l, "host", &value) == 1;
}

static bool
is_upgrade(const struct lines *l)
{
	const char	*value;
	bool		 asked = false;
	int		 i;

	for (i = 1; i < l->count; i++)
		asked |= matches(l->line[i],
		    "^connection:(.*,)?[\t ]*upgrade[\t ]*(,.*)?$", REG_ICASE);
	return asked && count(l, "upgrade", &value) == 1 &&
	    matches(value, "^[\t ]*websocket[\t ]*$", REG_ICASE) &&
	    count(l, "sec-websocket-version", &value) == 1 &&
	    matches(value, "^[\t ]*13[\t ]*$", 0) &&
	    count(l, "sec-websocket-key", &value) == 1 &&
	    matches(value, "^[\t ]*[A-Za-z0-9+/]{21}[AQgw]==[\t ]*$", 0);
}

/* What httphead_judge() must say: a status, SYNTAX, or minus a kind. */
static int
naive(const char *text, size_t len, bool is_metrics_site)
{
	static struct lines	 l;
	const char		*value;
	bool			 is_get, is_head, is_root, is_live, is_ready;
	bool			 is_metrics;
	int			 i;

	if (!split(&l, text, len) || l.count == 0)
		return SYNTAX;
	if (!matches(l.line[0], "^(CONNECT [!\"$-~]+|" TOKEN
	    " /[!\"$-~]*) HTTP/1\\.1$", 0))
		return SYNTAX;
	for (i = 1; i < l.count; i++)
		if (!matches(l.line[i], "^" TOKEN ":", 0))
			return SYNTAX;
	if (!is_once_each(&l))
		return SYNTAX;
	count(&l, "host", &value);
	if (!is_local(value) || count(&l, "origin", &value) > 0)
		return 403;
	is_root = !is_metrics_site &&
	    matches(l.line[0], "^[^ ]+ /([?][^ ]*)? ", 0);
	is_metrics = is_metrics_site &&
	    matches(l.line[0], "^[^ ]+ /metrics([?][^ ]*)? ", 0);
	is_live = matches(l.line[0], "^[^ ]+ /livez([?][^ ]*)? ", 0);
	is_ready = matches(l.line[0], "^[^ ]+ /readyz([?][^ ]*)? ", 0);
	is_get = matches(l.line[0], "^GET ", 0);
	is_head = matches(l.line[0], "^HEAD ", 0);
	if (matches(l.line[0], "^CONNECT ", 0))
		return 405;
	if (!is_root && !is_live && !is_ready && !is_metrics)
		return 404;
	if (!is_get && (is_root || !is_head))
		return 405;
	if (count(&l, "transfer-encoding", &value) > 0 ||
	    (count(&l, "content-length", &value) > 0 &&
	    !matches(value, "^[\t ]*0+[\t ]*$", 0)))
		return 400;
	if (is_metrics)
		return -HTTPHEAD_METRICS;
	if (!is_root)
		return is_live ? -HTTPHEAD_LIVE : -HTTPHEAD_READY;
	return is_upgrade(&l) ? -HTTPHEAD_UPGRADE : 400;
}

static bool
is_inside(const char *p, size_t n, const char *text, size_t len)
{
	return p == NULL ? n == 0 : p >= text && p + n <= text + len;
}

static void
check_judge_at(const char *data, size_t len, bool is_metrics_site)
{
	struct httphead	 h;
	struct span	 token;
	char		*text = malloc(len), out[512];
	int		 want = naive(data, len, is_metrics_site);
	size_t		 n;

	CHECK(text != NULL || len == 0);
	if (len > 0)
		memcpy(text, data, len);
	if (is_metrics_site)
		httphead_judge_metrics(text, len, NULL, 0, &h);
	else
		httphead_judge(text, len, NULL, 0, &h);
	if (want == SYNTAX)
		CHECK(h.kind == HTTPHEAD_ERROR && (h.status == 400 ||
		    h.status == 431 || h.status == 505));
	else if (want > 0)
		CHECK(h.kind == HTTPHEAD_ERROR && h.status == want);
	else
		CHECK((int)h.kind == -want && h.status == 0);
	CHECK(is_inside(h.key, h.key_len, text, len));
	CHECK(is_inside(h.auth, h.auth_len, text, len));
	if (httphead_bearer(&h, &token)) {
		CHECK(is_inside(token.at, token.len, h.auth, h.auth_len));
		CHECK(token.len == 0 || memchr(token.at, ' ', token.len) ==
		    NULL);
	} else {
		CHECK(token.len == 0);
	}
	if (h.kind == HTTPHEAD_UPGRADE) {
		CHECK(h.key_len == 24 && !h.is_head);
		n = httphead_switch(&h, out, sizeof(out));
		CHECK(n == strlen(out) && httphead_end(out, n) == n);
	} else {
		n = httphead_answer(h.kind == HTTPHEAD_ERROR ? h.status : 200,
		    "a reason", h.is_head, out, sizeof(out));
		CHECK(n == strlen(out) && strstr(out, "\r\n\r\n") != NULL);
		CHECK(strncmp(out, "HTTP/1.1 500", 12) != 0);
	}
	free(text);
}

static void
check_judge(const char *data, size_t len)
{
	check_judge_at(data, len, false);
	check_judge_at(data, len, true);
}

/* What a prefix says must hold for the whole. */
static void
check_end(const char *data, size_t size)
{
	const char	*p = memmem(data, size, "\r\n\r\n", 4);
	size_t		 whole = p != NULL ? (size_t)(p - data) + 4 : 0;
	size_t		 len, n;
	struct httphead	 h;
	char		*text;

	for (len = 0; len <= size; len++) {
		text = malloc(len);
		CHECK(text != NULL || len == 0);
		if (len > 0)
			memcpy(text, data, len);
		n = httphead_end(text, len);
		free(text);
		if (whole > 0 && len >= whole) {
			CHECK(n == whole);
			continue;
		}
		if (n == 0)
			continue;
		/* Given up: neither this nor what followed was a good head. */
		CHECK(n == len);
		httphead_judge(data, n, NULL, 0, &h);
		CHECK(h.kind == HTTPHEAD_ERROR);
		CHECK(h.status == 400 || h.status == 431 || h.status == 505);
		if (whole > 0)
			CHECK(naive(data, whole, false) == SYNTAX);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char	*text = (const char *)data;
	size_t		 n;

	if (size > HTTPHEAD_MAX + 64)
		return 0;
	check_judge(text, size);
	if (size < 600)
		check_end(text, size);
	if (size > 0 && (n = httphead_end(text, size)) > 0 && n < size)
		check_judge(text, n);
	return 0;
}
