#include "worker/http/helper/http_url.h"

#include <curl/curl.h>

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Escaped by the WHATWG URL standard, besides blanks and non-ASCII. */
#define IN_PATH		"\"<>`{}"
#define IN_QUERY	"\"<>'"

static bool
http_url_has_control(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return true;
	return false;
}

/*
 * Escape path and query, which begin at byte from, and drop the fragment.
 * (CURLU_URLENCODE would write a blank as plus.)  malloc'd, or NULL.
 */
static char *
escape(const char *s, size_t from)
{
	static const char	 hex[] = "0123456789ABCDEF";
	const char		*which = IN_PATH, *p;
	char			*out, *at;

	if ((out = at = malloc(3 * strlen(s) + 1)) == NULL)
		return NULL;
	for (p = s; *p != '\0' && *p != '#'; p++) {
		if ((size_t)(p - s) >= from && (*p == ' ' ||
		    (unsigned char)*p >= 0x80 || strchr(which, *p) != NULL)) {
			*at++ = '%';
			*at++ = hex[(unsigned char)*p >> 4];
			*at++ = hex[*p & 15];
		} else {
			*at++ = *p;
		}
		if (*p == '?')
			which = IN_QUERY;
	}
	*at = '\0';
	return out;
}

/* RFC 3986 section 3.1 */
static bool
is_scheme_char(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

/* Return where path and query begin: after the host, if any. */
static size_t
authority_len(const char *s)
{
	size_t	 n = 0;

	while (is_scheme_char(s[n]))
		n++;
	if (n > 0 && strncmp(s + n, "://", 3) == 0)
		n += 3;
	else if (strncmp(s, "//", 2) == 0)
		n = 2;
	else
		return 0;
	return n + strcspn(s + n, "/?#");
}

/* Get a part, malloc'd by us; NULL: none, or no memory. */
static char *
http_url_get(CURLU *h, CURLUPart part, unsigned flags)
{
	char	*value = NULL, *copy;

	if (curl_url_get(h, part, &value, flags) != CURLUE_OK)
		return NULL;
	copy = strdup(value);
	curl_free(value);
	return copy;
}

static char *
http_url_join(const char *a, const char *between, const char *b)
{
	size_t	 la = strlen(a), lm = strlen(between), lb = strlen(b);
	char	*s;

	if ((s = malloc(la + lm + lb + 1)) == NULL)
		return NULL;
	memcpy(s, a, la);
	memcpy(s + la, between, lm);
	memcpy(s + la + lm, b, lb + 1);
	return s;
}

/* Take user:password out of the URL.  0, or -1: no memory. */
static int
take_user(CURLU *h, struct http_url *u)
{
	char	*name = http_url_get(h, CURLUPART_USER, CURLU_URLDECODE);
	char	*password = http_url_get(h, CURLUPART_PASSWORD,
	    CURLU_URLDECODE);
	int	 r = 0;

	if (name != NULL || password != NULL) {
		u->user = http_url_join(name != NULL ? name : "", ":",
		    password != NULL ? password : "");
		r = u->user == NULL ? -1 : 0;
	}
	free(name);
	free(password);
	if (curl_url_set(h, CURLUPART_USER, NULL, 0) != CURLUE_OK ||
	    curl_url_set(h, CURLUPART_PASSWORD, NULL, 0) != CURLUE_OK)
		r = -1;
	return r;
}

static int
make_origin(CURLU *h, const char *scheme, struct http_url *u)
{
	char	*host = http_url_get(h, CURLUPART_HOST, 0), *front = NULL;
	char	*port = http_url_get(h, CURLUPART_PORT, CURLU_DEFAULT_PORT);

	if (host != NULL && port != NULL &&
	    (front = http_url_join(scheme, "://", host)) != NULL)
		u->origin = http_url_join(front, ":", port);
	free(front);
	free(host);
	free(port);
	return u->origin == NULL ? -1 : 0;
}

static enum http_url_result
take_apart(CURLU *h, struct http_url *u)
{
	char		*scheme;
	enum http_url_result	 r = HTTP_URL_BAD;

	if ((scheme = http_url_get(h, CURLUPART_SCHEME, 0)) == NULL)
		return HTTP_URL_BAD;
	if (strcasecmp(scheme, "http") != 0 && strcasecmp(scheme, "https") != 0)
		r = HTTP_URL_SCHEME;
	else if (take_user(h, u) == -1 || make_origin(h, scheme, u) == -1 ||
	    (u->text = http_url_get(h, CURLUPART_URL, 0)) == NULL)
		r = HTTP_URL_MEMORY;
	else
		r = HTTP_URL_OK;
	free(scheme);
	return r;
}

/* Set escaped text, relative to base. */
static CURLUcode
http_url_resolve(CURLU *h, const char *text, const struct http_url *base)
{
	CURLUcode	 code = CURLUE_OK;

	if (base != NULL)
		code = curl_url_set(h, CURLUPART_URL, base->text, 0);
	/* An empty reference is the same URL. */
	if (code == CURLUE_OK && (base == NULL || text[0] != '\0'))
		code = curl_url_set(h, CURLUPART_URL, text,
		    CURLU_NON_SUPPORT_SCHEME);
	return code;
}

enum http_url_result
http_url_parse(struct http_url *u, const char *text,
    const struct http_url *base)
{
	CURLU		*h = NULL;
	CURLUcode	 code;
	char		*trimmed, *escaped = NULL;
	size_t		 len;
	enum http_url_result	 r = HTTP_URL_MEMORY;

	memset(u, 0, sizeof(*u));
	text += strspn(text, " ");
	for (len = strlen(text); len > 0 && text[len - 1] == ' '; len--)
		continue;
	if ((trimmed = strndup(text, len)) == NULL)
		return HTTP_URL_MEMORY;
	if (http_url_has_control(trimmed))
		r = HTTP_URL_BAD;
	else if ((escaped = escape(trimmed, authority_len(trimmed))) != NULL &&
	    (h = curl_url()) != NULL) {
		code = http_url_resolve(h, escaped, base);
		if (code == CURLUE_OK)
			r = take_apart(h, u);
		else if (code != CURLUE_OUT_OF_MEMORY)
			r = HTTP_URL_BAD;
	}
	if (r != HTTP_URL_OK)
		http_url_fini(u);
	if (h != NULL)
		curl_url_cleanup(h);
	free(escaped);
	free(trimmed);
	return r;
}

void
http_url_fini(struct http_url *u)
{
	free(u->text);
	free(u->origin);
	free(u->user);
	memset(u, 0, sizeof(*u));
}

bool
http_url_is_same_origin(const struct http_url *a, const struct http_url *b)
{
	return strcasecmp(a->origin, b->origin) == 0;
}

char *
http_url_referer(const struct http_url *from, const struct http_url *to)
{
	const char	*slash;

	if (strncasecmp(from->origin, "https:", 6) == 0 &&
	    strncasecmp(to->origin, "https:", 6) != 0)
		return NULL;
	if (http_url_is_same_origin(from, to))
		return strdup(from->text);
	/* As written, without a default port. */
	slash = strchr(from->text + strlen("https://"), '/');
	return strndup(from->text, slash == NULL ? strlen(from->text) :
	    (size_t)(slash - from->text) + 1);
}
