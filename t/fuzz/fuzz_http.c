/*
 * What execsrv-http reads itself: lines of an answer's head, and URLs, alone
 * or as the target of a redirect.  The first line is a URL, the second one
 * where it leads to, the rest are headers.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "worker/http/helper/http_fields.h"
#include "worker/http/helper/http_url.h"

#define MUST(claim)	do { if (!(claim)) abort(); } while (0)
#define LINE_MAX_LEN	512

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* What is handed to libcurl and to servers has nothing that ends a line. */
static void
check_text(const char *s)
{
	for (; *s != '\0'; s++)
		MUST((unsigned char)*s > ' ' && *s != 0x7f && *s != '#');
}

static void
check_url(const struct http_url *u)
{
	struct http_url	 again;

	check_text(u->text);
	MUST(strncasecmp(u->text, "http://", 7) == 0 ||
	    strncasecmp(u->text, "https://", 8) == 0);
	MUST(http_url_parse(&again, u->text, NULL) == HTTP_URL_OK);
	MUST(strcmp(again.text, u->text) == 0 && again.user == NULL);
	MUST(http_url_is_same_origin(u, &again));
	http_url_fini(&again);
}

static void
fuzz_urls(const char *first, const char *second)
{
	struct http_url	 a, b;
	char		*referer;

	if (http_url_parse(&a, first, NULL) != HTTP_URL_OK) {
		MUST(a.text == NULL && a.origin == NULL && a.user == NULL);
		return;
	}
	check_url(&a);
	if (http_url_parse(&b, second, &a) == HTTP_URL_OK) {
		check_url(&b);
		if ((referer = http_url_referer(&a, &b)) != NULL)
			check_text(referer);
		free(referer);
		http_url_fini(&b);
	}
	http_url_fini(&a);
}

static void
fuzz_fields(const char *data, size_t len)
{
	struct http_fields		 f;
	const struct http_field	*e;
	const char		*end;
	size_t			 n, count = 0, size = 0;

	http_fields_init(&f);
	for (; len > 0; data += n, len -= n) {
		end = memchr(data, '\n', len);
		n = end == NULL ? len : (size_t)(end - data) + 1;
		if (http_fields_read(&f, data, n, LINE_MAX_LEN) == 0)
			count++;
	}
	MUST(f.n == count);
	TAILQ_FOREACH(e, &f.list, entry) {
		MUST(e->name[0] != '\0' && strchr(e->name, ':') == NULL);
		n = strlen(e->name) + strlen(e->value);
		MUST(n <= LINE_MAX_LEN);
		size += n + 4;
	}
	MUST(f.size == size);
	http_fields_drop_credentials(&f);
	MUST(http_fields_find(&f, "authorization") == NULL);
	http_fields_clear(&f);
	MUST(f.size == 0 && f.n == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	char	*text, *second, *rest;

	if (len > 8192 || (text = malloc(len + 3)) == NULL)
		return 0;
	memcpy(text, data, len);
	memcpy(text + len, "\n\n", 3);
	second = strchr(text, '\n');
	if (second == NULL || (size_t)(second - text) > len) {
		free(text);
		return 0;
	}
	*second++ = '\0';
	if ((rest = strchr(second, '\n')) != NULL)
		*rest++ = '\0';
	fuzz_urls(text, second);
	if (rest != NULL && (size_t)(rest - text) < len)
		fuzz_fields(rest, len - (size_t)(rest - text));
	free(text);
	return 0;
}
