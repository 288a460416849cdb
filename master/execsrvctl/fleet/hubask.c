#include "master/execsrvctl/fleet/hubask.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <poll.h>
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
#include "common/rundirs.h"
#include "config.h"

#define HUB_SOCKET	"control.sock"
#define HUB_ANSWER_MS	5000		/* of silence; a ping takes 2 s */
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

static int
hubask_open(const char *told, int *fd_out, struct control_error *e)
{
	struct sockaddr_un	 un;
	char			 dir[sizeof(un.sun_path)];

	*fd_out = -1;
	if (rundirs_hub(told, dir, sizeof(dir)) == -1 ||
	    rundirs_address(dir, HUB_SOCKET, &un) == -1)
		return hubask_fail(e, EXIT_OTHER, "%s", strerror(
		    ENAMETOOLONG));
	if ((*fd_out = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) == -1 ||
	    connect(*fd_out, (struct sockaddr *)&un, sizeof(un)) == -1)
		return hubask_fail(e, errno == ENOENT || errno ==
		    ECONNREFUSED ? EXIT_NO_DAEMON : EXIT_UNKNOWN,
		    "no hub answers (%s/%s: %s)", dir, HUB_SOCKET,
		    strerror(errno));
	if (is_trusted(*fd_out))
		return EXIT_OK;
	return hubask_fail(e, EXIT_UNKNOWN, "%s/%s: belongs to somebody else",
	    dir, HUB_SOCKET);
}

static int
hubask_send(int fd, const struct hubask_request *q)
{
	const char *const	*m;
	struct json_out		 o;
	struct buf		 b;
	int			 r = -1;

	buf_init(&b, REQUEST_ROOM);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	for (m = q->member; *m != NULL; m += 2)
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
hubask_line(int fd, struct buf *b)
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
		if (poll(&p, 1, HUB_ANSWER_MS) == 0) {
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

/* Take a line: 1: more follow; 0: it is the end; -1 with the reason. */
static int
hubask_take(char *line, size_t len, hubask_row_fn *fn, void *arg,
    struct json *j, struct control_error *e)
{
	uint32_t	 row, ok;
	char		 why[512];
	bool		 is_end;

	e->text[0] = '\0';
	if (!utf8_is_valid(line, len) || json_parse(j, line, len) == -1 ||
	    json_tok(j, 0)->type != JSON_OBJECT)
		return hubask_fail(e, -1, "the hub's answer is malformed");
	row = json_find(j, 0, "row");
	ok = json_find(j, 0, "ok");
	is_end = ok != 0 && json_tok(j, ok)->type == JSON_TRUE;
	if (row != 0 || is_end) {
		if (fn(arg, j, row) == 0)
			return is_end ? 0 : 1;
		return hubask_fail(e, -1, "%s", strerror(errno));
	}
	hubask_text(j, 0, "error", why, sizeof(why));
	return hubask_fail(e, -1, "%s", why[0] != '\0' ? why :
	    "the hub's answer is malformed");
}

int
hubask(const struct hubask_request *q, hubask_row_fn *fn, void *arg,
    struct control_error *e)
{
	struct json	 j;
	struct buf	 b;
	ssize_t		 n;
	int		 fd, status, r = 1;

	memset(e, 0, sizeof(*e));
	json_init(&j);
	buf_init(&b, ANSWER_ROOM);
	status = hubask_open(q->dir, &fd, e);
	if (status == EXIT_OK && hubask_send(fd, q) == -1)
		status = hubask_fail(e, EXIT_UNKNOWN, "the hub: %s",
		    strerror(errno));
	while (status == EXIT_OK && r == 1) {
		if ((n = hubask_line(fd, &b)) == -1) {
			status = hubask_fail(e, EXIT_UNKNOWN, "the hub: %s",
			    strerror(errno));
			break;
		}
		if ((r = hubask_take((char *)buf_data(&b), (size_t)n, fn, arg,
		    &j, e)) == -1)
			status = EXIT_OTHER;
		buf_drain(&b, (size_t)n + 1);
	}
	json_fini(&j);
	buf_fini(&b);
	fd_close(&fd);
	return status;
}

void
hubask_text(const struct json *j, uint32_t obj, const char *key, char *out,
    size_t size)
{
	uint32_t	 i = json_find(j, obj, key);

	out[0] = '\0';
	if (i == 0)
		return;
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
