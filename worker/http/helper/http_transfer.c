#include "worker/http/helper/http_transfer.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/limit.h"

#define KEEPALIVE_S	60L	/* idle time before TCP keepalive */
#define DISCARD_MAX	65536	/* bytes read of a redirect's body */

static int	 configure(struct http_transfer *);

enum http_url_result
http_transfer_new(struct http_transfer **out, const char *method,
    const char *url)
{
	struct http_transfer	*t;
	enum http_url_result	 r = HTTP_URL_MEMORY;

	*out = NULL;
	if ((t = calloc(1, sizeof(*t))) == NULL)
		return HTTP_URL_MEMORY;
	http_fields_init(&t->headers);
	http_fields_init(&t->fields);
	t->room = LIMIT_HTTP_WINDOW;
	if ((t->method = strdup(method)) == NULL ||
	    (t->easy = curl_easy_init()) == NULL ||
	    (r = http_url_parse(&t->url, url, NULL)) != HTTP_URL_OK) {
		http_transfer_free(&t);
		return r;
	}
	*out = t;
	return HTTP_URL_OK;
}

void
http_transfer_free(struct http_transfer **tp)
{
	struct http_transfer	*t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	if (t->is_added)
		http_loop_remove(t->loop, t->easy);
	if (t->easy != NULL)
		curl_easy_cleanup(t->easy);
	curl_slist_free_all(t->list);
	http_fields_clear(&t->headers);
	http_fields_clear(&t->fields);
	http_url_fini(&t->url);
	http_url_fini(&t->next);
	free(t->method);
	free(t->body);
	free(t);
}

/* --- the request --- */

static int
list_add(struct http_transfer *t, const char *line)
{
	struct curl_slist	*list;

	if ((list = curl_slist_append(t->list, line)) == NULL)
		return -1;
	t->list = list;
	return 0;
}

/* For CURLOPT_HTTPHEADER "name;" is a header without a value. */
static int
list_add_field(struct http_transfer *t, const struct http_field *f)
{
	char	*line;
	int	 r;

	if (f->value[strspn(f->value, " \t")] == '\0')
		r = asprintf(&line, "%s;", f->name);
	else
		r = asprintf(&line, "%s: %s", f->name, f->value);
	if (r == -1)
		return -1;
	r = list_add(t, line);
	free(line);
	return r;
}

/*
 * Make the list of headers: the client's, and "name:" to remove those that
 * libcurl adds.
 */
static int
make_list(struct http_transfer *t)
{
	const struct http_field	*f;

	curl_slist_free_all(t->list);
	t->list = NULL;
	TAILQ_FOREACH(f, &t->headers.list, entry)
		if (list_add_field(t, f) == -1)
			return -1;
	if (http_fields_find(&t->headers, "accept") == NULL &&
	    list_add(t, "accept: */*") == -1)
		return -1;
	if (http_fields_find(&t->headers, "content-type") == NULL &&
	    list_add(t, "content-type:") == -1)
		return -1;
	return list_add(t, "expect:");
}

/* Turn user and password of the URL into a header, unless there is one. */
static int
use_credentials(struct http_transfer *t)
{
	static const char	 basic[] = "Basic ";
	char			*value, *at;
	size_t			 len;
	int			 r;

	if (t->url.user == NULL ||
	    http_fields_find(&t->headers, "authorization") != NULL)
		return 0;
	len = strlen(t->url.user);
	if ((value = malloc(sizeof(basic) + B64_ENCODED_LEN(len))) == NULL)
		return -1;
	at = mempcpy(value, basic, sizeof(basic) - 1);
	at[b64_encode(at, t->url.user, len)] = '\0';
	r = http_fields_add(&t->headers, "authorization", value, true);
	free(value);
	return r;
}

int
http_transfer_start(struct http_transfer *t)
{
	assert(!t->is_added && t->loop != NULL);
	/* libcurl sets length and framing. */
	http_fields_drop(&t->headers, "content-length");
	http_fields_drop(&t->headers, "transfer-encoding");
	http_fields_drop(&t->headers, "expect");
	if (use_credentials(t) == -1 || configure(t) == -1)
		return -1;
	t->is_added = http_loop_add(t->loop, t->easy) == 0;
	return t->is_added ? 0 : -1;
}

/* --- the response --- */

static bool
is_redirect(long status)
{
	return status == 301 || status == 302 || status == 303 ||
	    status == 307 || status == 308;
}

/* A Location that is no URL makes it an ordinary response. */
static bool
is_ascii(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s >= 0x80)
			return false;
	return true;
}

/* Whether to follow a redirect; sets failure if that is not allowed. */
static bool
find_next(struct http_transfer *t, long status)
{
	const struct http_field	*location;

	assert(!t->is_answered && !t->is_redirected);
	if (!t->follow || !is_redirect(status) ||
	    (location = http_fields_find(&t->fields, "location")) == NULL ||
	    !is_ascii(location->value))
		return false;
	switch (http_url_parse(&t->next, location->value, &t->url)) {
	case HTTP_URL_OK:
		break;
	case HTTP_URL_BAD:
		return false;
	case HTTP_URL_SCHEME:
		t->failure = "redirect to a URL that is not http or https";
		return false;
	case HTTP_URL_MEMORY:
		t->failure = "out of memory";
		return false;
	}
	if (t->redirects == LIMIT_HTTP_REDIRECTS) {
		t->failure = "too many redirects";
		return false;
	}
	t->redirects++;
	t->is_redirected = true;
	return true;
}

/* Whether to read a short body of a redirect, to reuse the connection. */
static bool
is_short(const struct http_transfer *t)
{
	const struct http_field	*length;

	if (strcmp(t->method, "HEAD") == 0)
		return true;
	length = http_fields_find(&t->fields, "content-length");
	return length != NULL &&
	    strtoull(length->value, NULL, 10) <= DISCARD_MAX;
}

/* Different Content-Length fields: request smuggling (RFC 9112, 11.2). */
static bool
has_two_lengths(const struct http_fields *f)
{
	const struct http_field	*first, *e;

	if ((first = http_fields_find(f, "content-length")) == NULL)
		return false;
	for (e = TAILQ_NEXT(first, entry); e != NULL; e = TAILQ_NEXT(e, entry))
		if (strcmp(e->name, first->name) == 0 &&
		    strcmp(e->value, first->value) != 0)
			return true;
	return false;
}

/* Return -1 to abort the transfer. */
static int
head_is_complete(struct http_transfer *t)
{
	long	 status = 0;

	assert(!t->is_answered);
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	if (status < 200 && status != 101)
		return 0;		/* 1xx: the final response follows */
	if (find_next(t, status))
		return is_short(t) ? 0 : -1;
	if (status > 999)
		t->failure = "the status of the answer is not a three-digit "
		    "number";
	else if (has_two_lengths(&t->fields))
		t->failure = "the answer has two different lengths";
	if (t->failure != NULL)
		return -1;
	t->is_answered = true;
	t->events->on_answer(t, (unsigned)status, &t->fields);
	http_fields_clear(&t->fields);
	/* 101: another protocol follows, which is not supported. */
	t->is_cut = status == 101;
	return t->is_cut ? -1 : 0;
}

/* CURLOPT_HEADERFUNCTION: any number but len aborts. */
static size_t
http_transfer_on_header(char *line, size_t one, size_t len, void *arg)
{
	struct http_transfer	*t = arg;

	(void)one;
	if (t->is_answered || t->is_redirected)
		return len;		/* trailers */
	if (len >= 5 && memcmp(line, "HTTP/", 5) == 0) {
		http_fields_clear(&t->fields);	/* of 1xx responses */
		return len;
	}
	if (len <= 2 && (len == 0 || line[0] == '\r' || line[0] == '\n'))
		return head_is_complete(t) == 0 ? len : len + 1;
	switch (http_fields_read(&t->fields, line, len, LIMIT_HTTP_LINE)) {
	case 0:
		break;
	case 1:
		t->failure = "the answer has a malformed header";
		return len + 1;
	default:
		t->failure = "out of memory";
		return len + 1;
	}
	if (t->fields.size > LIMIT_HTTP_HEAD) {
		t->failure = "the answer has too many headers";
		return len + 1;
	}
	return len;
}

/* CURLOPT_WRITEFUNCTION */
static size_t
on_body(char *data, size_t one, size_t len, void *arg)
{
	struct http_transfer	*t = arg;

	(void)one;
	if (t->is_redirected)
		return len;
	if (!t->is_answered)
		return CURL_WRITEFUNC_PAUSE;	/* never */
	if (len > t->room) {
		t->is_paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	if (len > 0) {
		t->room -= len;
		t->events->on_piece(t, data, len);
	}
	return len;
}

void
http_transfer_give_room(struct http_transfer *t, size_t bytes)
{
	t->room += bytes;
	/* libcurl holds up to this much of the last piece. */
	if (!t->is_paused || t->room < CURL_MAX_WRITE_SIZE)
		return;
	t->is_paused = false;
	curl_easy_pause(t->easy, CURLPAUSE_CONT);
}

/* --- redirects (RFC 9110 section 15.4), as the reference does them --- */

static int
set_referer(struct http_transfer *t)
{
	char	*referer;
	int	 r = 0;

	http_fields_drop(&t->headers, "referer");
	if ((referer = http_url_referer(&t->url, &t->next)) != NULL)
		r = http_fields_add(&t->headers, "referer", referer, false);
	free(referer);
	return r;
}

static int
drop_body(struct http_transfer *t, long status)
{
	bool	 is_head = strcmp(t->method, "HEAD") == 0;
	char	*get;

	if (status != 303 && (status == 307 || status == 308 ||
	    strcmp(t->method, "POST") != 0))
		return 0;
	free(t->body);
	t->body = NULL;
	t->body_len = 0;
	http_fields_drop_content(&t->headers);
	if (is_head)
		return 0;
	if ((get = strdup("GET")) == NULL)
		return -1;
	free(t->method);
	t->method = get;
	return 0;
}

static int
go_on(struct http_transfer *t)
{
	long	 status = 0;

	assert(!t->is_added && t->is_redirected);
	curl_easy_getinfo(t->easy, CURLINFO_RESPONSE_CODE, &status);
	t->is_redirected = false;
	if (drop_body(t, status) == -1 || set_referer(t) == -1)
		return -1;
	if (!http_url_is_same_origin(&t->url, &t->next))
		http_fields_drop_credentials(&t->headers);
	http_url_fini(&t->url);
	t->url = t->next;
	memset(&t->next, 0, sizeof(t->next));
	if (use_credentials(t) == -1 || configure(t) == -1)
		return -1;
	t->is_added = http_loop_add(t->loop, t->easy) == 0;
	return t->is_added ? 0 : -1;
}

int
http_transfer_done(struct http_transfer *t, CURLcode result,
    const char **error_out)
{
	assert(t->is_added);
	http_loop_remove(t->loop, t->easy);
	t->is_added = false;
	*error_out = t->failure;
	if (t->failure != NULL)
		return 0;
	if (t->is_redirected) {
		if (go_on(t) == 0)
			return 1;
		*error_out = "out of memory";
		return 0;
	}
	if (result != CURLE_OK && !t->is_cut)
		*error_out = t->error[0] != '\0' ? t->error :
		    curl_easy_strerror(result);
	else if (!t->is_answered)
		*error_out = "there was no answer";
	return 0;
}

/* --- options --- */

#define SET(option, value)						\
	do {								\
		if (curl_easy_setopt(t->easy, option, value) != CURLE_OK) \
			return -1;					\
	} while (0)

/* What to request, and the callbacks. */
static int
set_request(struct http_transfer *t)
{
	SET(CURLOPT_URL, t->url.text);
	SET(CURLOPT_HTTPHEADER, t->list);
	if (t->body != NULL) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)t->body_len);
		SET(CURLOPT_POSTFIELDS, t->body);
	} else {
		SET(CURLOPT_HTTPGET, 1L);
	}
	if (strcmp(t->method, "HEAD") == 0)
		SET(CURLOPT_NOBODY, 1L);
	SET(CURLOPT_CUSTOMREQUEST, t->method);
	SET(CURLOPT_PRIVATE, t);
	SET(CURLOPT_ERRORBUFFER, t->error);
	SET(CURLOPT_HEADERFUNCTION, http_transfer_on_header);
	SET(CURLOPT_HEADERDATA, t);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, t);
	return 0;
}

/*
 * How to do it.  HTTP/1.1 only: with a connection for each transfer a slow
 * client does not block others, and there is one parser less.  Redirects are
 * followed here.  Not set, thus off: cookies, netrc, alt-svc, HSTS, HTTP/0.9,
 * decompression.
 */
static int
set_manner(struct http_transfer *t)
{
#if LIBCURL_VERSION_NUM >= 0x075500
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
#else
	SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
	SET(CURLOPT_REDIR_PROTOCOLS,
	    (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
	SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CURLOPT_TCP_KEEPALIVE, 1L);
	SET(CURLOPT_TCP_KEEPIDLE, KEEPALIVE_S);
	SET(CURLOPT_TCP_KEEPINTVL, KEEPALIVE_S);
#if LIBCURL_VERSION_NUM >= 0x075700
	/* On cancel do not wait for the resolver thread. */
	SET(CURLOPT_QUICK_EXIT, 1L);
#endif
	if (t->ca_file != NULL)
		SET(CURLOPT_CAINFO, t->ca_file);
	if (t->ca_folder != NULL)
		SET(CURLOPT_CAPATH, t->ca_folder);
	return 0;
}

/* Set up the first request, or the next one of a redirect. */
static int
configure(struct http_transfer *t)
{
	assert(!t->is_added && t->url.text != NULL);
	http_fields_clear(&t->fields);
	t->error[0] = '\0';
	curl_easy_reset(t->easy);
	if (make_list(t) == -1)
		return -1;
	return set_request(t) == -1 || set_manner(t) == -1 ? -1 : 0;
}
