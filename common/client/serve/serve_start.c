/* Start and end of a server of one's own, and its credentials. */
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "common/buf.h"
#include "common/client/error.h"
#include "common/client/serve/launch.h"
#include "common/client/serve/serve.h"
#include "common/clock.h"
#include "common/fd.h"
#include "common/json/json_out.h"

#define START_MS	10000
#define DIE_MS		2000	/* to end, if it was not ready in time */
#define FRAME_MAX	(16 * 1024)	/* bytes that execsrvd takes */
#define FOR_GOOD	253402300799	/* the end of the year 9999 */

/* The descriptors that it is started with. */
struct start_fds {
	int	 fds[5];		/* in, out, log, settings, notify */
	int	 settings, null;	/* to be closed */
	int	 in, log, notify;	/* its ends of pipes and sockets */
};

/* --- credentials --- */

static int
serve_start_put_frame(const char *environment, const char *credential,
    int64_t expires, struct buf *b)
{
	struct json_out	 o;

	/* All of it now: growing would leave a copy of the credential. */
	if (buf_reserve(b, FRAME_MAX) == NULL)
		return -1;
	json_out_init(&o, b);
	json_out_open(&o, '{');
	json_out_pair_u64(&o, "version", 1);
	json_out_pair(&o, "environment_id", environment);
	json_out_pair(&o, "token", credential);
	json_out_key(&o, "expires_at");
	json_out_i64(&o, expires != 0 ? expires : FOR_GOOD);
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1)
		return -1;
	return buf_put(b, "\n", 1);
}

/* Send all of it or nothing.  0, or -1 with errno. */
static int
serve_start_send_frame(int fd, const struct buf *b)
{
	ssize_t	 n = send(fd, buf_data(b), b->len, MSG_NOSIGNAL |
		    MSG_DONTWAIT);

	if (n == (ssize_t)b->len)
		return 0;
	/* After a part of a frame no other can follow. */
	if (n != -1) {
		shutdown(fd, SHUT_WR);
		errno = EPIPE;
	}
	return -1;
}

int
execsrv_server_credential(struct execsrv_server *s, const char *credential,
    int64_t expires)
{
	struct buf	 b;
	int		 r = -1, error;

	if (!s->has_frames || !execsrv_serve_is_credential(credential)) {
		errno = EINVAL;
		return -1;
	}
	buf_init(&b, FRAME_MAX + 1);
	if (serve_start_put_frame(s->environment, credential, expires, &b) == 0)
		r = serve_start_send_frame(s->in, &b);
	error = errno;
	if (b.len > 0)
		sodium_memzero(buf_data(&b), b.len);
	buf_fini(&b);
	errno = error;
	return r;
}

/* --- starting --- */

/* An anonymous file (memfd) that only our user may write. */
static int
open_settings(const char *text)
{
	size_t	 len = strlen(text);
	int	 fd;

	if ((fd = memfd_create("execsrvd.conf", MFD_CLOEXEC)) == -1)
		return -1;
	if (fchmod(fd, 0600) == -1 || write(fd, text, len) != (ssize_t)len)
		fd_close(&fd);
	return fd;
}

static int
open_ends(struct execsrv_server *s, struct start_fds *b)
{
	int	 pair[2];

	assert(s->in == -1 && s->log == -1 && s->notify == -1);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	s->in = pair[0];
	b->in = pair[1];
	if (pipe2(pair, O_CLOEXEC) == -1)
		return -1;
	s->log = pair[0];
	b->log = pair[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	s->notify = pair[0];
	b->notify = pair[1];
	return fd_nonblock(s->log, 1);
}

static int
serve_start_watch(const struct execsrv_server *s, int fd)
{
	struct epoll_event	 ev = { .events = EPOLLIN };

	return fd == -1 ? 0 : epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &ev);
}

static int
launch(struct execsrv_server *s, const struct execsrv_serve *conf,
    const char *path, struct start_fds *b)
{
	char		 *control = NULL;
	const char	**argv;
	struct launch	  how = { .env = environ, .fds = b->fds, .nfds = 5,
			    .is_server = true };
	int		  r = -1, error;

	if ((argv = execsrv_serve_argv(conf, path, &control)) != NULL) {
		how.argv = argv;
		r = execsrv_launch(&how, &s->child);
	}
	error = errno;
	free(argv);
	free(control);
	errno = error;
	return r;
}

static int
serve_start_start(struct execsrv_server *s, const struct execsrv_serve *conf,
    const char *path, struct start_fds *b)
{
	if ((b->null = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1 ||
	    (conf->config != NULL && (b->settings =
	    open_settings(conf->config)) == -1) || open_ends(s, b) == -1 ||
	    (s->epoll = epoll_create1(EPOLL_CLOEXEC)) == -1)
		return -1;
	b->fds[0] = b->in;
	b->fds[1] = b->null;
	b->fds[2] = b->log;
	b->fds[3] = b->settings != -1 ? b->settings : b->null;
	b->fds[4] = b->notify;
	if (conf->environment != NULL && (s->environment =
	    strdup(conf->environment)) == NULL)
		return -1;
	s->has_frames = conf->credential != NULL;
	if (s->has_frames && execsrv_server_credential(s, conf->credential,
	    conf->credential_expires) == -1)
		return -1;
	if (launch(s, conf, path, b) == -1)
		return -1;
	return serve_start_watch(s, s->in) == -1 ||
	    serve_start_watch(s, s->log) == -1 ||
	    serve_start_watch(s, s->notify) == -1 ||
	    serve_start_watch(s, s->child.pidfd) == -1 ? -1 : 0;
}

static struct execsrv_server *
server_new(const struct execsrv_serve *conf)
{
	struct execsrv_server	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL)
		return NULL;
	s->in = s->log = s->notify = s->epoll = s->child.pidfd = -1;
	s->on_log = conf->on_log;
	s->arg = conf->arg;
	return s;
}

/* 0, or -1 with the reason in e. */
static int
wait_ready(struct execsrv_server *s, int ms, struct execsrv_error *e)
{
	uint64_t	 until = clock_ms() + (uint64_t)ms, now;

	while (!execsrv_server_is_ready(s)) {
		if ((now = clock_ms()) >= until) {
			execsrv_error_set(e, EXECSRV_WHY_TIMEOUT, "the server "
			    "was not ready within %d ms", ms);
			if (s->uplink > 0)
				execsrv_error_add(e, s->registration);
			else if (s->why.text[0] != '\0')
				execsrv_error_add(e, s->why.text);
			return -1;
		}
		if (execsrv_server_wait(s, (int)(until - now)) == -1) {
			*e = s->why;
			return -1;
		}
	}
	return 0;
}

struct execsrv_server *
execsrv_serve(const struct execsrv_serve *conf, struct execsrv_error *e)
{
	struct start_fds		 b = {
		.settings = -1, .null = -1, .in = -1, .log = -1, .notify = -1
	};
	struct execsrv_server	*s;
	char			 path[PATH_MAX];
	int			 r = -1;

	if (execsrv_serve_check(conf, e) == -1 ||
	    execsrv_find_server(conf->program, path, e) == -1)
		return NULL;
	if ((s = server_new(conf)) == NULL || (r = serve_start_start(s, conf,
	    path, &b)) == -1)
		execsrv_error_set(e, EXECSRV_WHY_SYSTEM, "%s: %s", path,
		    strerror(errno));
	fd_close(&b.settings);
	fd_close(&b.null);
	fd_close(&b.in);
	fd_close(&b.log);
	fd_close(&b.notify);
	if (r == 0 && conf->start_ms >= 0)
		r = wait_ready(s, conf->start_ms > 0 ? conf->start_ms :
		    START_MS, e);
	if (r == -1)
		(void)execsrv_server_stop(&s, DIE_MS);
	return s;
}

/* --- ending --- */

/* Wait for its end, for ms at the most. */
static void
wait_end(struct execsrv_server *s, int ms)
{
	uint64_t	 until = clock_ms() + (uint64_t)ms, now;

	while ((now = clock_ms()) < until &&
	    execsrv_server_wait(s, (int)(until - now)) == 0)
		continue;
}

int
execsrv_server_stop(struct execsrv_server **sp, int timeout_ms)
{
	struct execsrv_server	*s = *sp;
	int			 status;

	if (s == NULL)
		return -1;
	if (s->child.pid != 0 && timeout_ms > 0) {
		execsrv_launched_signal(&s->child, SIGTERM);
		wait_end(s, timeout_ms);
	}
	if (s->child.pid != 0) {
		execsrv_launched_signal(&s->child, SIGKILL);
		s->status = execsrv_launched_status(&s->child);
	}
	status = s->status;
	execsrv_server_free(sp);
	return status;
}
