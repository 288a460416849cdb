#include "common/log.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#define LOG_LINE_MAX	1024	/* longer lines are cut */

#define SYSLOG_PATH	"/dev/log"

static struct {
	int		 fd;		/* of syslog, or -1 */
	char		 role[16];
	enum log_level	 level;
	bool		 to_syslog;
	bool		 prefix;	/* priorities for a service manager */
	unsigned	 session;
} sink = { -1, "execsrv", LOG_LEVEL_INFO, false, false, 0 };

static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };

void
log_init(const char *role, enum log_level level, bool to_syslog)
{
	log_set_role(role);
	sink.level = level;
	sink.prefix = getenv("JOURNAL_STREAM") != NULL;
	log_set_syslog(to_syslog);
}

void
log_set_level(enum log_level level)
{
	sink.level = level;
}

void
log_set_role(const char *role)
{
	snprintf(sink.role, sizeof(sink.role), "%s", role);
}

/*
 * syslog(3) waits for a log daemon that does not read, and so would we: the
 * same datagrams (RFC 3164) by a socket that does not block.
 */
static void
open_syslog(void)
{
	struct sockaddr_un	 un;

	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strcpy(un.sun_path, SYSLOG_PATH);
	if (sink.fd != -1)
		close(sink.fd);
	if ((sink.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) != -1 && connect(sink.fd,
	    (struct sockaddr *)&un, sizeof(un)) == -1) {
		close(sink.fd);
		sink.fd = -1;
	}
}

static void
put_syslog(const char *line, size_t len)
{
	if (sink.fd != -1 && send(sink.fd, line, len, MSG_NOSIGNAL) != -1)
		return;
	if (sink.fd != -1 && errno == EAGAIN)
		return;			/* nobody reads: the line is lost */
	open_syslog();			/* it was started again, perhaps */
	if (sink.fd != -1)
		(void)!send(sink.fd, line, len, MSG_NOSIGNAL);
}

/* Whoever reads our standard error may have stopped: never wait for him. */
static void
put_stderr(const char *line, size_t len)
{
	struct pollfd	 p = { STDERR_FILENO, POLLOUT, 0 };

	if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0)
		(void)!write(STDERR_FILENO, line, len);
}

void
log_set_syslog(bool to_syslog)
{
	sink.to_syslog = to_syslog;
	if (to_syslog)
		open_syslog();
}

void
log_reopen(void)
{
	if (sink.to_syslog)
		open_syslog();
}

void
log_set_session(unsigned number)
{
	sink.session = number;
}

/* Room left at the end of a line, which always keeps one byte for LF. */
static size_t
put(char *line, size_t at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static size_t
put(char *line, size_t at, const char *fmt, ...)
{
	va_list	 ap;
	int	 n;

	va_start(ap, fmt);
	n = vsnprintf(line + at, LOG_LINE_MAX - 1 - at, fmt, ap);
	va_end(ap);
	if (n < 0)
		return at;
	at += (size_t)n;
	return at < LOG_LINE_MAX - 2 ? at : LOG_LINE_MAX - 2;
}

static void
clean(char *text)
{
	for (; *text != '\0'; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			*text = '?';
}

static void
emit(enum log_level level, int error, const char *fmt, va_list ap)
{
	char	 line[LOG_LINE_MAX];
	size_t	 n = 0, head;
	int	 saved = errno, m;

	if (level > sink.level)
		return;
	if (sink.to_syslog)
		n = put(line, n, "<%d>execsrvd", LOG_DAEMON |
		    priorities[level]);
	else if (sink.prefix)
		n = put(line, n, "<%d>", priorities[level]);
	if (!sink.to_syslog)
		n = put(line, n, "%s", sink.role);
	n = put(line, n, "[%ld]", (long)getpid());
	if (sink.to_syslog)
		n = put(line, n, ": %s", sink.role);
	if (sink.session != 0)
		n = put(line, n, " session %u", sink.session);
	n = put(line, n, ": ");
	head = n;
	m = vsnprintf(line + n, LOG_LINE_MAX - 1 - n, fmt, ap);
	n += m < 0 ? 0 : (size_t)m;
	if (n > LOG_LINE_MAX - 2)
		n = LOG_LINE_MAX - 2;
	if (error != 0)
		n = put(line, n, ": %s", strerror(error));
	line[n] = '\0';
	clean(line + head);
	if (sink.to_syslog) {
		put_syslog(line, n);
	} else {
		line[n++] = '\n';
		put_stderr(line, n);
	}
	errno = saved;
}

#define EMIT(level, error) do {						\
	va_list	 ap;							\
									\
	va_start(ap, fmt);						\
	emit(level, error, fmt, ap);					\
	va_end(ap);							\
} while (0)

void
log_debug(const char *fmt, ...)
{
	EMIT(LOG_LEVEL_DEBUG, 0);
}

void
log_info(const char *fmt, ...)
{
	EMIT(LOG_LEVEL_INFO, 0);
}

void
log_warn(const char *fmt, ...)
{
	EMIT(LOG_LEVEL_WARNING, errno);
}

void
log_warnx(const char *fmt, ...)
{
	EMIT(LOG_LEVEL_WARNING, 0);
}

void
fatal(const char *fmt, ...)
{
	EMIT(LOG_LEVEL_ERROR, errno);
	exit(1);
}

void
fatalx(const char *fmt, ...)
{
	EMIT(LOG_LEVEL_ERROR, 0);
	exit(1);
}
