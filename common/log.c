#include "common/log.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "common/json/utf8.h"
#include "common/utc.h"

#define LOG_LINE_MAX	1024	/* longer lines are cut */
#define LOG_JSON_MAX	4000	/* the same for JSON; below PIPE_BUF */

#define SYSLOG_PATH	"/dev/log"

enum target { TO_STDERR, TO_JOURNAL, TO_SYSLOG, TO_FILE };

static const char *const targets[] = { "stderr", "journal", "syslog", "file" };

/* The only mutable global state of our programs. */
static struct {
	int		 sock;		/* of syslog, or -1 */
	int		 fd;		/* for anything else */
	char		 role[16];
	enum log_level	 level;
	enum target	 target;
	bool		 json;
	int		 facility;
	char		 how[LOG_HOW_MAX];
	unsigned	 session;
	void		 (*reopen)(void *);
	void		*reopen_arg;
} sink = { -1, STDERR_FILENO, "execsrv", LOG_LEVEL_INFO, TO_STDERR, false,
	LOG_DAEMON, "stderr", 0, NULL, NULL };

static const int priorities[] = { LOG_ERR, LOG_WARNING, LOG_INFO, LOG_DEBUG };
static const char *const level_names[] = {
	"error", "warning", "info", "debug"
};

/* A line being built; one byte is reserved for LF. */
struct line {
	char	 text[LOG_JSON_MAX];
	size_t	 n, max;
};

void
log_init(const char *role, enum log_level level, const char *how)
{
	/* tzset() opens a file, which a confined process could not later. */
	tzset();
	log_set_role(role);
	sink.level = level;
	log_set_how(how != NULL ? how : log_stderr_how());
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

const char *
log_stderr_how(void)
{
	const char		*stream = getenv("JOURNAL_STREAM");
	unsigned long long	 dev, ino;
	struct stat		 st;

	/* Check: a child may inherit the variable with another stderr. */
	if (stream != NULL && sscanf(stream, "%llu:%llu", &dev, &ino) == 2 &&
	    fstat(STDERR_FILENO, &st) == 0 && st.st_dev == dev &&
	    st.st_ino == ino)
		return "journal";
	return "stderr";
}

const char *
log_how(void)
{
	return sink.how;
}

bool
log_is_syslog(void)
{
	return sink.target == TO_SYSLOG;
}

void
log_set_fd(int fd)
{
	sink.fd = fd;
}

/*
 * syslog(3) blocks while the log daemon does not read.  So send its datagrams
 * (RFC 3164) on a non-blocking socket of our own.
 */
static void
log_open_syslog(void)
{
	struct sockaddr_un	 un;

	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strcpy(un.sun_path, SYSLOG_PATH);
	if (sink.sock != -1)
		close(sink.sock);
	if ((sink.sock = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) != -1 && connect(sink.sock,
	    (struct sockaddr *)&un, sizeof(un)) == -1) {
		close(sink.sock);
		sink.sock = -1;
	}
}

static void
log_put_syslog(const char *line, size_t len)
{
	if (sink.sock != -1 && send(sink.sock, line, len, MSG_NOSIGNAL) != -1)
		return;
	if (sink.sock != -1 && errno == EAGAIN)
		return;			/* socket full: drop the line */
	log_open_syslog();	/* the daemon may have been restarted */
	if (sink.sock != -1)
		(void)!send(sink.sock, line, len, MSG_NOSIGNAL);
}

/* The reader of a pipe may have stopped: drop the line instead of waiting. */
static void
put_fd(const char *line, size_t len)
{
	struct pollfd	 p = { sink.fd, POLLOUT, 0 };

	/* O_APPEND would do this, but splice(2) refuses such a file. */
	if (sink.fd != STDERR_FILENO)
		lseek(sink.fd, 0, SEEK_END);
	if (poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0)
		(void)!write(sink.fd, line, len);
}

void
log_set_how(const char *how)
{
	const char	*p;
	size_t		 i, len;

	snprintf(sink.how, sizeof(sink.how), "%s", how);
	sink.target = TO_STDERR;
	sink.json = false;
	sink.facility = LOG_DAEMON;
	for (p = sink.how; *p != '\0'; p += len + (p[len] == ',')) {
		len = strcspn(p, ",");
		for (i = 0; i < sizeof(targets) / sizeof(targets[0]); i++)
			if (strlen(targets[i]) == len &&
			    memcmp(targets[i], p, len) == 0)
				sink.target = (enum target)i;
		if (len == 4 && memcmp(p, "json", 4) == 0)
			sink.json = true;
		if (*p >= '0' && *p <= '9')
			sink.facility = atoi(p);
	}
	if (sink.target == TO_SYSLOG)
		log_open_syslog();
}

void
log_set_reopen(void (*fn)(void *), void *arg)
{
	sink.reopen = fn;
	sink.reopen_arg = arg;
}

void
log_reopen(void)
{
	if (sink.target == TO_SYSLOG)
		log_open_syslog();
	if (sink.reopen != NULL)
		sink.reopen(sink.reopen_arg);
}

void
log_set_session(unsigned number)
{
	sink.session = number;
}

static void
log_put(struct line *l, const char *fmt, ...) PRINTF(2, 3);

static void
log_put(struct line *l, const char *fmt, ...)
{
	va_list	 ap;
	int	 n;

	assert(l->n < l->max && l->max <= sizeof(l->text));
	va_start(ap, fmt);
	n = vsnprintf(l->text + l->n, l->max - l->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		l->n = l->n + (size_t)n < l->max ? l->n + (size_t)n :
		    l->max - 1;
}

/* Return the length of a printable character at p, or 0. */
static size_t
showable(const char *p)
{
	unsigned char	 c = (unsigned char)*p;
	size_t		 len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;

	if (c < ' ' || c == 0x7f || c == '\\' || strnlen(p, len) < len ||
	    !utf8_is_valid(p, len) ||
	    /* C1 control characters, U+0080 to U+009F */
	    (c == 0xc2 && (unsigned char)p[1] < 0xa0))
		return 0;
	return len;
}

/* Return the length of the text at p that needs no escape. */
static size_t
plain(const char *p)
{
	size_t	 n = 0;

	while (p[n] >= ' ' && p[n] < 0x7f && p[n] != '\\' && p[n] != '"')
		n++;
	return n;
}

/* Append text, escaped for a line or for a JSON string, as far as it fits. */
static void
put_clean(struct line *l, const char *p, bool json)
{
	unsigned char	 c;
	size_t		 len, room;
	char		 code[8];

	assert(l->n < l->max);
	for (; (c = (unsigned char)*p) != '\0'; p += len) {
		if ((len = plain(p)) > 0) {
			room = l->max - 1 - l->n;
			memcpy(l->text + l->n, p, len < room ? len : room);
			l->n += len < room ? len : room;
			if (len > room)
				return;
			continue;
		}
		if ((len = showable(p)) > 0 && !(json && c == '"')) {
			snprintf(code, sizeof(code), "%.*s", (int)len, p);
		} else {
			len = 1;
			if (c == '\\' || c == '"')
				snprintf(code, sizeof(code), "\\%c", c);
			else if (json && c >= 0x80)
				snprintf(code, sizeof(code), "\\ufffd");
			else
				snprintf(code, sizeof(code), json ?
				    "\\u%04x" : "\\x%02x", c);
		}
		room = l->max - 1 - l->n;
		if (strlen(code) > room)
			return;
		log_put(l, "%s", code);
	}
}

static void
log_put_time(struct line *l)
{
	char	 text[UTC_MAX];

	utc_now(text);
	log_put(l, "%s", text);
}

static void
put_text_line(struct line *l, const char *text)
{
	if (sink.target == TO_FILE) {
		log_put_time(l);
		log_put(l, " ");
	}
	if (sink.target == TO_SYSLOG)
		log_put(l, "execsrvd[%ld]: %s", (long)getpid(), sink.role);
	else
		log_put(l, "%s[%ld]", sink.role, (long)getpid());
	if (sink.session != 0)
		log_put(l, " session %u", sink.session);
	log_put(l, ": ");
	put_clean(l, text, false);
}

/* Each as a whole, or not at all. */
static void
log_put_members(struct line *l, const struct log_member *m)
{
	size_t	 room;

	for (; m != NULL && m->key != NULL; m++) {
		/* Escaped, a byte becomes six at most. */
		room = strlen(m->key) + 32 +
		    (m->text != NULL ? 6 * strlen(m->text) : 0);
		if (l->max - 1 - l->n < room)
			continue;
		if (m->text == NULL) {
			log_put(l, ",\"%s\":%llu", m->key, m->n);
			continue;
		}
		log_put(l, ",\"%s\":\"", m->key);
		put_clean(l, m->text, true);
		log_put(l, "\"");
	}
}

static void
put_json_line(struct line *l, enum log_level level, const char *text,
    const struct log_member *members)
{
	if (sink.target == TO_SYSLOG)
		log_put(l, "execsrvd[%ld]: ", (long)getpid());
	log_put(l, "{\"time\":\"");
	log_put_time(l);
	log_put(l, "\",\"level\":\"%s\",\"role\":\"%s\",\"pid\":%ld",
	    level_names[level], sink.role, (long)getpid());
	if (sink.session != 0)
		log_put(l, ",\"session\":%u", sink.session);
	log_put(l, ",\"message\":\"");
	l->max -= 2;			/* for the closing "} */
	put_clean(l, text, true);
	l->max += 2;
	log_put(l, "\"");
	l->max--;
	log_put_members(l, members);
	l->max++;
	log_put(l, "}");
}

static void
emit(enum log_level level, int error, const struct log_member *members,
    const char *fmt, va_list ap)
{
	char		 text[LOG_LINE_MAX];
	struct line	 l;
	int		 saved = errno, n;

	if (level > sink.level)
		return;
	text[0] = '\0';
	n = vsnprintf(text, sizeof(text), fmt, ap);
	if (error != 0 && n >= 0 && (size_t)n < sizeof(text))
		snprintf(text + n, sizeof(text) - (size_t)n, ": %s",
		    strerror(error));
	l.n = 0;
	l.max = (sink.json ? LOG_JSON_MAX : LOG_LINE_MAX) - 1;
	if (sink.target == TO_SYSLOG)
		log_put(&l, "<%d>", sink.facility | priorities[level]);
	else if (sink.target == TO_JOURNAL)
		log_put(&l, "<%d>", priorities[level]);
	if (sink.json)
		put_json_line(&l, level, text, members);
	else
		put_text_line(&l, text);
	if (sink.target == TO_SYSLOG) {
		log_put_syslog(l.text, l.n);
	} else {
		assert(l.n < sizeof(l.text));
		l.text[l.n++] = '\n';
		put_fd(l.text, l.n);
	}
	errno = saved;
}

#define EMIT(level, error) do {						\
	va_list	 ap;							\
									\
	va_start(ap, fmt);						\
	emit(level, error, NULL, fmt, ap);				\
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
log_info_with(const struct log_member *members, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	emit(LOG_LEVEL_INFO, 0, members, fmt, ap);
	va_end(ap);
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

void
log_word(char *out, size_t size, const char *text, size_t len)
{
	size_t	 i;

	for (i = 0; i < size - 1 && i < len; i++)
		out[i] = text[i] > ' ' && text[i] < 0x7f ? text[i] : '?';
	out[i] = '\0';
}
