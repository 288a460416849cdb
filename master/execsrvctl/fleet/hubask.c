#include "master/execsrvctl/fleet/hubask.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/fd.h"
#include "common/json/json_out.h"
#include "common/json/utf8.h"
#include "common/net/target.h"
#include "common/rundirs.h"
#include "config.h"

#define HUB_SOCKET	"control.sock"
#define HUB_ANSWER_MS	5000		/* of silence; a ping takes 2 s */
#define FAR_ANSWER_MS	30000		/* the same, and to connect */
#define PATH		"/fleet/v1/control"
#define REQUEST_ROOM	8192
#define ANSWER_ROOM	((size_t)16 * 1024 * 1024)
#define CHUNK		(64 * 1024)

static int	 hubask_fail(struct control_error *, int, const char *, ...)
		    PRINTF(3, 4);

static int
hubask_fail(struct control_error *e, int status, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(e->text, sizeof(e->text), fmt, ap);
	va_end(ap);
	execsrv_printable(e->text);
	return status;
}

/* The default below /tmp could be anybody's. */
static bool
is_trusted(int fd)
{
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == 0 &&
	    (cred.uid == 0 || cred.uid == geteuid() || geteuid() == 0);
}

/* --- far --- */

/* Where its websocket is, or -1 with the reason in e. */
static int
hubask_url(const char *hub, char *out, size_t size, struct control_error *e)
{
	struct target	 t;
	size_t		 n;

	if (target_parse(&t, hub, "http", "https") == -1 &&
	    target_parse(&t, hub, "ws", "wss") == -1)
		return hubask_fail(e, -1, "%s: expected https://HUB", hub);
	if (!t.is_tls && !target_is_loopback(&t))
		return hubask_fail(e, -1, "%s: a hub on another machine "
		    "needs https://", hub);
	n = strlen(t.path);
	while (n > 0 && t.path[n - 1] == '/')
		t.path[--n] = '\0';
	if ((size_t)snprintf(out, size, strchr(t.host, ':') != NULL ?
	    "%s://[%s]:%u%s" PATH : "%s://%s:%u%s" PATH, t.is_tls ? "wss" :
	    "ws", t.host, (unsigned)t.port, t.path) >= size)
		return hubask_fail(e, -1, "%s: too long", hub);
	return 0;
}

/* In a process of its own; why it failed takes the place of an answer. */
static void NORETURN
hubask_carry(int fd, const char *url, const struct execsrv_options *how)
{
	struct execsrv_error	 e;
	struct json_out		 o;
	struct buf		 b;

	if (execsrv_carry(url, how, fd, fd, &e) == 0)
		_exit(0);
	buf_init(&b, REQUEST_ROOM);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair_bool(&o, "ok", false);
	json_out_pair(&o, "error", e.text);
	json_out_close(&o, '}');
	if (json_out_fini(&o) == 0 && buf_put(&b, "\n", 1) == 0)
		(void)!send(fd, buf_data(&b), b.len, MSG_NOSIGNAL);
	_exit(1);
}

static int
hubask_open_far(struct hubask *h, struct control_error *e)
{
	struct execsrv_options	 how = h->which->how;
	char			 url[1024];
	int			 pair[2];

	assert(h->fd == -1 && h->pid == 0);
	if (h->far.url == NULL &&
	    chooser_find(h->which, h->which->url, &h->far) == -1)
		return EXIT_OTHER;	/* it has said why */
	if (hubask_url(h->far.url, url, sizeof(url), e) == -1)
		return EXIT_OTHER;
	if (h->far.token == NULL)
		return hubask_fail(e, EXIT_OTHER, "%s: a hub wants a token "
		    "(--token-file)", h->far.url);
	server_set_how(&h->far, &how);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return hubask_fail(e, EXIT_OTHER, "%s", strerror(errno));
	if ((h->pid = fork()) == 0) {
		fd_close(&pair[0]);
		signal(SIGPIPE, SIG_IGN);
		hubask_carry(pair[1], url, &how);
	}
	fd_close(&pair[1]);
	h->fd = pair[0];
	if (h->pid != -1)
		return EXIT_OK;
	h->pid = 0;
	return hubask_fail(e, EXIT_OTHER, "%s", strerror(errno));
}

/* --- near --- */

static int
hubask_open_near(struct hubask *h, struct control_error *e)
{
	struct sockaddr_un	 un;
	char			 dir[sizeof(un.sun_path)];

	if (rundirs_hub(h->which->dir, dir, sizeof(dir)) == -1 ||
	    rundirs_address(dir, HUB_SOCKET, &un) == -1)
		return hubask_fail(e, EXIT_OTHER, "%s", strerror(
		    ENAMETOOLONG));
	if ((h->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    connect(h->fd, (struct sockaddr *)&un, sizeof(un)) == -1)
		return hubask_fail(e, errno == ENOENT || errno ==
		    ECONNREFUSED ? EXIT_NO_DAEMON : EXIT_UNKNOWN,
		    "no hub answers (%s/%s: %s)", dir, HUB_SOCKET,
		    strerror(errno));
	if (is_trusted(h->fd))
		return EXIT_OK;
	return hubask_fail(e, EXIT_UNKNOWN, "%s/%s: belongs to somebody else",
	    dir, HUB_SOCKET);
}

/* --- a connection --- */

void
hubask_init(struct hubask *h, const struct chooser *which)
{
	memset(h, 0, sizeof(*h));
	h->which = which;
	h->fd = -1;
	buf_init(&h->in, ANSWER_ROOM);
}

static void
hubask_close(struct hubask *h)
{
	fd_close(&h->fd);
	buf_fini(&h->in);
	if (h->pid > 0)
		while (waitpid(h->pid, NULL, 0) == -1 && errno == EINTR)
			continue;
	h->pid = 0;
}

void
hubask_fini(struct hubask *h)
{
	hubask_close(h);
	server_fini(&h->far);
}

bool
hubask_is_far(const struct hubask *h)
{
	return h->which->url != NULL;
}

static int
hubask_send(int fd, const char *const *m)
{
	struct json_out		 o;
	struct buf		 b;
	int			 r = -1;

	buf_init(&b, REQUEST_ROOM);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	for (; *m != NULL; m += 2)
		json_out_pair(&o, m[0], m[1]);
	json_out_close(&o, '}');
	if (json_out_fini(&o) == 0 && buf_put(&b, "\n", 1) == 0 &&
	    send(fd, buf_data(&b), b.len, MSG_NOSIGNAL) == (ssize_t)b.len)
		r = 0;
	buf_fini(&b);
	return r;
}

/* Read to the end of a line.  Its length, or -1 with errno. */
static ssize_t
hubask_line(int fd, struct buf *b, int ms)
{
	struct pollfd	 p = { .fd = fd, .events = POLLIN };
	size_t		 seen = 0;
	char		*end, *data;
	void		*room;
	ssize_t		 n;

	for (;;) {
		data = (char *)buf_data(b);
		if (b->len > seen && (end = memchr(data + seen, '\n', b->len -
		    seen)) != NULL)
			return end - data;
		seen = b->len;
		if ((room = buf_reserve(b, CHUNK)) == NULL)
			return -1;
		if (poll(&p, 1, ms) == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		if ((n = read(fd, room, CHUNK)) == 0)
			errno = ECONNRESET;
		if (n <= 0 && errno != EINTR)
			return -1;
		buf_commit(b, n > 0 ? (size_t)n : 0);
	}
}

/*
 * Take a line.  Return whether more follow; e->text is why it failed, or "".
 */
static bool
hubask_take(char *line, size_t len, hubask_row_fn *fn, void *arg,
    struct json *j, struct control_error *e)
{
	uint32_t	 row, ok;
	char		 why[512];
	bool		 is_end;

	e->text[0] = '\0';
	if (!utf8_is_valid(line, len) || json_parse(j, line, len) == -1 ||
	    json_tok(j, 0)->type != JSON_OBJECT)
		return hubask_fail(e, true, "the hub's answer is malformed");
	row = json_find(j, 0, "row");
	ok = json_find(j, 0, "ok");
	is_end = ok != 0 && json_tok(j, ok)->type == JSON_TRUE;
	if (row != 0 || is_end) {
		if (fn(arg, j, row) == -1)
			hubask_fail(e, -1, "%s", strerror(errno));
		return !is_end;
	}
	hubask_text(j, 0, "error", why, sizeof(why));
	return hubask_fail(e, why[0] == '\0', "%s", why[0] != '\0' ? why :
	    "the hub's answer is malformed");
}

int
hubask(struct hubask *h, const char *const *member, hubask_row_fn *fn,
    void *arg, struct control_error *e)
{
	struct json	 j;
	ssize_t		 n;
	bool		 is_far = hubask_is_far(h), is_more = true;
	int		 status = EXIT_OK;

	assert(h->fd != -1 || h->in.len == 0);
	memset(e, 0, sizeof(*e));
	json_init(&j);
	if (h->fd == -1)
		status = is_far ? hubask_open_far(h, e) :
		    hubask_open_near(h, e);
	if (status == EXIT_OK && hubask_send(h->fd, member) == -1)
		status = hubask_fail(e, EXIT_UNKNOWN, "the hub: %s",
		    strerror(errno));
	while (status == EXIT_OK && is_more) {
		if ((n = hubask_line(h->fd, &h->in, is_far ? FAR_ANSWER_MS :
		    HUB_ANSWER_MS)) == -1) {
			status = hubask_fail(e, EXIT_UNKNOWN, "the hub: %s",
			    strerror(errno));
			break;
		}
		is_more = hubask_take((char *)buf_data(&h->in), (size_t)n, fn,
		    arg, &j, e);
		if (e->text[0] != '\0')
			status = EXIT_OTHER;
		buf_drain(&h->in, (size_t)n + 1);
	}
	/* What is left of an answer is not one to the next question. */
	if (is_more)
		hubask_close(h);
	json_fini(&j);
	return status;
}

void
hubask_text(const struct json *j, uint32_t obj, const char *key, char *out,
    size_t size)
{
	uint32_t	 i = json_find(j, obj, key);

	out[0] = '\0';
	/* What is not there is token 0: an object, which has no text. */
	switch (json_tok(j, i)->type) {
	case JSON_TRUE:
		snprintf(out, size, "yes");
		break;
	case JSON_FALSE:
		snprintf(out, size, "no");
		break;
	case JSON_NUMBER:
	case JSON_STRING:
		snprintf(out, size, "%.*s", (int)json_tok(j, i)->len,
		    json_text(j, i));
		break;
	default:
		break;
	}
}
