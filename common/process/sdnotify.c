#include "common/process/sdnotify.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/ev.h"
#include "common/fd.h"
#include "common/log.h"

#define STATUS_MAX	256

struct sdnotify {
	struct sockaddr_un	 un;
	socklen_t		 len;		/* 0: fd is connected */
	int			 fd;
	uint64_t		 period;	/* ms; 0: no watchdog */
	struct timer		 watchdog_ev;
	struct io		 room_ev;	/* of a connected one */
	void			 (*again)(void *);
	void			*again_arg;
	char			 status[STATUS_MAX];
};

/* "/path" or "@abstract"; others (vsock:) are not for services. */
static int
sdnotify_read_address(struct sdnotify *n, const char *text)
{
	size_t	 len = strlen(text);

	if ((text[0] != '/' && text[0] != '@') || len < 2 ||
	    len >= sizeof(n->un.sun_path)) {
		log_warnx("NOTIFY_SOCKET: expected a path or an abstract "
		    "socket");
		return -1;
	}
	n->un.sun_family = AF_UNIX;
	memcpy(n->un.sun_path, text, len);
	n->len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	if (text[0] == '@')
		n->un.sun_path[0] = '\0';
	else
		n->len++;
	return 0;
}

/* The number in a variable; 0: none. */
static uint64_t
sdnotify_number_of(const char *name)
{
	const char	*text = getenv(name);
	char		*end;
	uint64_t	 value;

	if (text == NULL || text[0] < '0' || text[0] > '9')
		return 0;
	errno = 0;
	value = strtoull(text, &end, 10);
	return errno == 0 && *end == '\0' ? value : 0;
}

/* Without WATCHDOG_PID it is for any process (sd_watchdog_enabled(3)). */
static void
read_watchdog(struct sdnotify *n)
{
	uint64_t	 usec = sdnotify_number_of("WATCHDOG_USEC");

	if (usec == 0 || usec == UINT64_MAX || (getenv("WATCHDOG_PID") !=
	    NULL && sdnotify_number_of("WATCHDOG_PID") != (uint64_t)getpid()))
		return;
	n->period = usec / 2000 > 0 ? usec / 2000 : 1;
}

static struct sdnotify *
sdnotify_new(const char *path)
{
	struct sdnotify	*n;

	if ((n = calloc(1, sizeof(*n))) == NULL ||
	    (n->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1) {
		log_warn("NOTIFY_SOCKET");
		free(n);
		return NULL;
	}
	read_watchdog(n);
	if (sdnotify_read_address(n, path) == -1)
		sdnotify_free(&n);
	return n;
}

struct sdnotify *
sdnotify_take_env(void)
{
	const char	*path = getenv("NOTIFY_SOCKET");
	struct sdnotify	*n = NULL;

	if (path != NULL && path[0] != '\0')
		n = sdnotify_new(path);
	unsetenv("NOTIFY_SOCKET");
	unsetenv("WATCHDOG_USEC");
	unsetenv("WATCHDOG_PID");
	return n;
}

/* Whether fd is an end of a pair that keeps message boundaries. */
static bool
is_packet_end(int fd)
{
	struct sockaddr_un	 un;
	socklen_t		 len = sizeof(un);

	return fd_is_socket(fd, SOCK_SEQPACKET) &&
	    getpeername(fd, (struct sockaddr *)&un, &len) == 0 &&
	    un.sun_family == AF_UNIX;
}

int
sdnotify_take_fd(struct sdnotify **np, int fd)
{
	struct sdnotify	*n;

	if (!is_packet_end(fd)) {
		log_warnx("--notify-fd %d: expected one end of a "
		    "SOCK_SEQPACKET pair",
		    fd);
		return -1;
	}
	if (fd_cloexec(fd, 1) == -1 || (n = calloc(1, sizeof(*n))) == NULL) {
		log_warn("--notify-fd");
		return -1;
	}
	n->fd = fd;
	sdnotify_free(np);
	*np = n;
	return 0;
}

void
sdnotify_free(struct sdnotify **np)
{
	struct sdnotify	*n = *np;

	*np = NULL;
	if (n == NULL)
		return;
	timer_stop(&n->watchdog_ev);
	io_stop(&n->room_ev);
	fd_close(&n->fd);
	free(n);
}

/* Send, without waiting.  False with errno: not sent, which is only logged. */
static bool
sdnotify_send(struct sdnotify *n, const char *text)
{
	if (n == NULL || sendto(n->fd, text, strlen(text), MSG_NOSIGNAL |
	    MSG_DONTWAIT, n->len == 0 ? NULL : (const struct sockaddr *)&n->un,
	    n->len) != -1)
		return true;
	log_debug("service manager: %s", strerror(errno));
	return false;
}

static void
on_watchdog(void *arg)
{
	struct sdnotify	*n = arg;

	assert(n->period > 0);
	timer_set(&n->watchdog_ev, n->period);
	sdnotify_send(n, "WATCHDOG=1");
}

static void
sdnotify_on_room(void *arg)
{
	struct sdnotify	*n = arg;

	assert(n->again != NULL && n->len == 0);
	n->again(n->again_arg);
}

void
sdnotify_start(struct sdnotify *n, struct event_base *base)
{
	if (n == NULL)
		return;
	io_init(&n->room_ev, base, n->fd, EV_WRITE, sdnotify_on_room, n);
	timer_init(&n->watchdog_ev, base, on_watchdog, n);
	if (n->period != 0)
		timer_set(&n->watchdog_ev, n->period);
}

void
sdnotify_ready(struct sdnotify *n)
{
	sdnotify_send(n, "READY=1");
}

void
sdnotify_reloading(struct sdnotify *n)
{
	char		 text[80];
	struct timespec	 ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	snprintf(text, sizeof(text), "RELOADING=1\nMONOTONIC_USEC=%llu",
	    (unsigned long long)ts.tv_sec * 1000000 +
	    (unsigned long long)ts.tv_nsec / 1000);
	sdnotify_send(n, text);
}

void
sdnotify_main_pid(struct sdnotify *n, pid_t pid)
{
	char	 text[32];

	if (n == NULL || n->len == 0)
		return;
	snprintf(text, sizeof(text), "MAINPID=%ld", (long)pid);
	sdnotify_send(n, text);
}

int
sdnotify_fd(const struct sdnotify *n)
{
	return n == NULL ? -1 : n->fd;
}

bool
sdnotify_is_given(const struct sdnotify *n)
{
	return n != NULL && n->len == 0;
}

void
sdnotify_stopping(struct sdnotify *n)
{
	sdnotify_send(n, "STOPPING=1");
}

void
sdnotify_listen(struct sdnotify *n, const char *url)
{
	char	 text[256 + STATUS_MAX];

	if (n == NULL || n->len != 0)
		return;
	snprintf(text, sizeof(text), "X_EXECSRV_LISTEN=%s", url);
	sdnotify_send(n, text);
}

void
sdnotify_uplink(struct sdnotify *n, unsigned number, bool is_registered,
    const char *state, void (*again)(void *), void *arg)
{
	char	 text[STATUS_MAX];

	if (n == NULL || n->len != 0)
		return;
	n->again = again;
	n->again_arg = arg;
	snprintf(text, sizeof(text), "X_EXECSRV_UPLINK=%u %d %s", number,
	    is_registered, state);
	if (!sdnotify_send(n, text) && errno == EAGAIN)
		io_start(&n->room_ev);
}

void
sdnotify_status(struct sdnotify *n, const char *fmt, ...)
{
	char	 line[STATUS_MAX], text[STATUS_MAX + 16];
	va_list	 ap;

	if (n == NULL)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (strcmp(line, n->status) == 0)
		return;
	memcpy(n->status, line, sizeof(line));
	snprintf(text, sizeof(text), "STATUS=%s", line);
	sdnotify_send(n, text);
}
