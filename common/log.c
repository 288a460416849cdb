#include "common/log.h"

#include <sys/types.h>

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#define LOG_LINE_MAX	1024	/* longer lines are cut */

static struct {
	char		 role[16];
	enum log_level	 level;
	bool		 to_syslog;
	bool		 prefix;	/* priorities for a service manager */
	unsigned	 session;
} sink = { "execsrv", LOG_LEVEL_INFO, false, false, 0 };

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

void
log_set_syslog(bool to_syslog)
{
	sink.to_syslog = to_syslog;
	if (to_syslog)
		openlog("execsrvd", LOG_NDELAY | LOG_PID, LOG_DAEMON);
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
	ssize_t	 ignored;
	int	 saved = errno, m;

	if (level > sink.level)
		return;
	if (sink.prefix && !sink.to_syslog)
		n = put(line, n, "<%d>", priorities[level]);
	n = put(line, n, "%s", sink.role);
	if (!sink.to_syslog)
		n = put(line, n, "[%ld]", (long)getpid());
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
		syslog(priorities[level], "%s", line);
	} else {
		line[n++] = '\n';
		ignored = write(STDERR_FILENO, line, n);
		(void)ignored;	/* a log that is full must not stop us */
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
