/*
 * Heads to and through a proxy: a head grows byte by byte without another end
 * on the way; what is passed on is valid, means the same, has one host and one
 * length, and stays as it is when it is passed on again.
 */
#include <stdlib.h>
#include <string.h>

#include "worker/proxy/helper/proxyhead.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)
#define ROOM	(1024 * 1024)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_end(const char *text, size_t size)
{
	size_t	 n, end = proxyhead_end(text, size), at;

	MUST(end <= size);
	if (size > 2048)
		return;
	for (n = 0; n < size; n++) {
		at = proxyhead_end(text, n);
		MUST(at <= n);
		/* An end that was found stays where it is. */
		if (at != 0 && at < n)
			MUST(end == at);
	}
}

/* How often a line begins with a name. */
static unsigned
count(const char *text, size_t len, const char *name)
{
	size_t		 i, n = strlen(name);
	unsigned	 found = 0;

	for (i = 2; i + n < len; i++)
		found += memcmp(text + i - 2, "\r\n", 2) == 0 &&
		    strncasecmp(text + i, name, n) == 0;
	return found;
}

static void
check_written(const struct buf *b)
{
	const char	*s = (const char *)buf_data(b);
	size_t		 i;

	MUST(b->len > 4 && memcmp(s + b->len - 4, "\r\n\r\n", 4) == 0);
	MUST(proxyhead_end(s, b->len) == b->len);
	for (i = 1; i < b->len; i++)
		MUST((s[i] == '\n') == (s[i - 1] == '\r'));
	MUST(count(s, b->len, "content-length:") +
	    count(s, b->len, "transfer-encoding:") <= 1);
	MUST(count(s, b->len, "proxy-connection:") == 0);
	MUST(count(s, b->len, "upgrade:") == 0);
	MUST(count(s, b->len, "te:") == 0);
}

static void
check_request(const struct proxyhead *h, bool absolute)
{
	struct proxyhead	 again;
	struct buf		 b, c;

	buf_init(&b, ROOM);
	buf_init(&c, ROOM);
	MUST(proxyhead_forward(h, absolute, NULL, false, &b) == 0);
	check_written(&b);
	MUST(count((char *)buf_data(&b), b.len, "host:") == 1);
	proxyhead_parse((char *)buf_data(&b), b.len, &again);
	/* A host without a scheme may be longer than what came. */
	if (again.status == 431)
		goto out;
	MUST(again.status == 0);
	MUST(strcmp(again.method, h->method) == 0);
	MUST(strcmp(again.host.text, h->host.text) == 0);
	MUST(again.port == h->port && again.body == h->body);
	MUST(again.body != PROXYBODY_LENGTH || again.length == h->length);
	MUST(proxyhead_forward(&again, absolute, NULL, false, &c) == 0);
	MUST(b.len == c.len && memcmp(buf_data(&b), buf_data(&c), b.len) ==
	    0);
 out:
	buf_fini(&b);
	buf_fini(&c);
}

static void
check_reply(const char *text, size_t len, const char *method)
{
	struct proxyreply	 r, again;
	struct buf		 b;

	proxyhead_reply(text, len, method, &r);
	if (!r.is_valid)
		return;
	buf_init(&b, ROOM);
	MUST(proxyhead_pass(&r, false, &b) == 0);
	check_written(&b);
	proxyhead_reply((char *)buf_data(&b), b.len, method, &again);
	MUST(again.is_valid && again.status == r.status);
	MUST(again.body == r.body);
	MUST(again.body != PROXYBODY_LENGTH || again.length == r.length);
	buf_fini(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct proxyhead	 h;
	char			*text;
	size_t			 len;

	MUST((text = malloc(size + 1)) != NULL);
	memcpy(text, data, size);
	check_end(text, size);
	if ((len = proxyhead_end(text, size)) > 0) {
		proxyhead_parse(text, len, &h);
		if (h.status == 0 && !h.is_connect) {
			MUST(h.host.text[0] != '\0' && h.port != 0);
			check_request(&h, false);
			check_request(&h, true);
		}
		MUST(h.status != 0 || !h.is_connect ||
		    h.body == PROXYBODY_NONE);
		check_reply(text, len, "GET");
		check_reply(text, len, "HEAD");
	}
	free(text);
	return 0;
}
