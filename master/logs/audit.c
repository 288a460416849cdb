#include "master/logs/audit.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <syslog.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/log.h"
#include "master/world.h"

#define SYSLOG_PATH	"/dev/log"
#define LINE_MAX_	(1024 * 1024)	/* bytes: an IPC packet, escaped */
#define LINE_KEPT	4096		/* bytes of memory between lines */
#define AUDIT_USER_MAX	256	/* bytes of a name */
#define RUN_LEN		16		/* hexadecimal digits */

struct audit {
	char		*path;		/* NULL: syslog */
	int		 fd;
	char		 run[RUN_LEN + 1];
	uint64_t	 seq;		/* of the last event */
	uint64_t	 lost;		/* events since the last written one */
	int		 error;		/* errno, while events are lost */
	struct buf	 line;
};

/* --- where to --- */

static bool
is_none(const char *to)
{
	return strcasecmp(to, "none") == 0 || to[0] == '\0';
}

static bool
is_syslog(const char *to)
{
	return strcasecmp(to, "syslog") == 0;
}

int
audit_check(const struct conf *c, struct conf_error *e)
{
	const char	*to = c->audit_log;

	if (to[0] == '/' || is_none(to) || is_syslog(to))
		return 0;
	conf_fail(e, "AuditLog %.200s: expected none, syslog or the "
	    "absolute path of a file", to);
	return conf_at(e, conf_where(c, CONF_ROW_audit_log, 0));
}

/* No other user can write to the file, and so forge events. */
static bool
audit_is_ours(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_nlink == 1 &&
	    (st->st_uid == geteuid() || st->st_uid == 0) &&
	    (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

static int
audit_open_file(const char *path)
{
	struct stat	 st;
	int		 fd;

	if ((fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW |
	    O_NOCTTY | O_NONBLOCK | O_CLOEXEC, 0600)) == -1)
		return -1;
	if (fstat(fd, &st) == -1) {
		fd_close(&fd);
	} else if (!audit_is_ours(&st)) {
		fd_close(&fd);
		errno = S_ISREG(st.st_mode) ? EPERM : EINVAL;
	}
	return fd;
}

/* Not syslog(3), which blocks while the daemon does not read. */
static int
audit_open_syslog(void)
{
	struct sockaddr_un	 un;
	int			 fd;

	memset(&un, 0, sizeof(un));
	un.sun_family = AF_UNIX;
	strcpy(un.sun_path, SYSLOG_PATH);
	if ((fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    0)) != -1 && connect(fd, (struct sockaddr *)&un, sizeof(un)) ==
	    -1)
		fd_close(&fd);
	return fd;
}

static int
audit_open_log(const struct audit *a)
{
	return a->path != NULL ? audit_open_file(a->path) : audit_open_syslog();
}

static const char *
audit_name_of(const struct audit *a)
{
	return a->path != NULL ? a->path : "syslog";
}

int
audit_init(struct world *w)
{
	unsigned char		 bits[RUN_LEN / 2];
	struct conf_error	 e;
	struct audit		*a;

	if (audit_check(&w->conf, &e) == -1) {
		log_warnx("%s", e.text);
		return -1;
	}
	if (is_none(w->conf.audit_log))
		return 0;
	assert(w->logs.audit == NULL);
	if ((a = calloc(1, sizeof(*a))) == NULL)
		goto fail;
	a->fd = -1;
	buf_init(&a->line, LINE_MAX_);
	randombytes_buf(bits, sizeof(bits));
	sodium_bin2hex(a->run, sizeof(a->run), bits, sizeof(bits));
	if ((!is_syslog(w->conf.audit_log) &&
	    (a->path = strdup(w->conf.audit_log)) == NULL) ||
	    (a->fd = audit_open_log(a)) == -1)
		goto fail;
	w->logs.audit = a;
	return 0;
 fail:
	log_warn("AuditLog %s", w->conf.audit_log);
	audit_free(&a);
	return -1;
}

void
audit_free(struct audit **ap)
{
	struct audit	*a = *ap;

	*ap = NULL;
	if (a == NULL)
		return;
	fd_close(&a->fd);
	buf_fini(&a->line);
	free(a->path);
	free(a);
}

/* --- events --- */

static int
audit_put_syslog(struct audit *a, const char *line, size_t len)
{
	char		 head[64];
	struct iovec	 iov[2];
	struct msghdr	 msg;
	int		 n, fresh;

	assert(len > 0 && line[len - 1] == '\n');
	n = snprintf(head, sizeof(head), "<%d>execsrvd[%ld]: ",
	    LOG_AUTHPRIV | LOG_NOTICE, (long)getpid());
	iov[0].iov_base = head;
	iov[0].iov_len = (size_t)n;
	iov[1].iov_base = (void *)(uintptr_t)line;
	iov[1].iov_len = len - 1;	/* a datagram has no LF */
	memset(&msg, 0, sizeof(msg));
	msg.msg_iov = iov;
	msg.msg_iovlen = 2;
	if (sendmsg(a->fd, &msg, MSG_NOSIGNAL) != -1)
		return 0;
	/* EAGAIN: it does not read.  Else it may have been restarted. */
	if (errno == EAGAIN || (fresh = audit_open_syslog()) == -1)
		return -1;
	fd_close(&a->fd);
	a->fd = fresh;
	return sendmsg(a->fd, &msg, MSG_NOSIGNAL) == -1 ? -1 : 0;
}

static int
write_event(struct audit *a, const struct audit_what *what)
{
	struct audit_head	 head = { .run = a->run, .seq = a->seq + 1 };
	const char		*line;
	int			 r = -1;

	assert((unsigned)what->event < AUDIT_EVENTS && a->line.len == 0);
	clock_gettime(CLOCK_REALTIME, &head.time);
	if (audit_line(&a->line, &head, what) == 0) {
		line = (const char *)buf_data(&a->line);
		r = a->path != NULL ? fd_append(a->fd, line, a->line.len) :
		    audit_put_syslog(a, line, a->line.len);
	}
	a->seq += r == 0;
	buf_drain(&a->line, a->line.len);
	buf_trim(&a->line, LINE_KEPT);
	return r;
}

/*
 * After lost events write how many, before the next event.  If that fails, as a
 * full disk may have room for the shorter line only, the count goes on.
 */
static int
write_lost(struct audit *a)
{
	struct audit_what	 what = { .event = AUDIT_events_lost };

	if (a->lost == 0)
		return 0;
	what.count = AUDIT_N(a->lost);
	what.why = a->error != 0 ? strerror(a->error) : NULL;
	if (write_event(a, &what) == -1)
		return -1;
	if (a->error != 0)
		log_warnx("AuditLog %s: %llu events were lost",
		    audit_name_of(a), (unsigned long long)a->lost);
	a->lost = 0;
	a->error = 0;
	return 0;
}

static const char *
audit_name_of_user(struct world *w, AUDIT_NUMBER uid)
{
	return uid.is_set && uid.n <= UINT32_MAX ?
	    w->events->user_name(w->master, (uid_t)uid.n) : NULL;
}

void
audit(struct world *w, const struct audit_what *given)
{
	struct audit		*a = w->logs.audit;
	struct audit_what	 what = *given;
	char			 by[AUDIT_USER_MAX];

	if (a == NULL && !w->events->is_watched(w->master))
		return;
	what.by_user = audit_name_of_user(w, what.by_uid);
	if (what.by_user != NULL) {
		snprintf(by, sizeof(by), "%s", what.by_user);
		what.by_user = by;
	}
	what.user = audit_name_of_user(w, what.uid);
	w->events->on_event(w->master, &what);
	if (a == NULL)
		return;
	if (write_lost(a) == 0 && write_event(a, &what) == 0)
		return;
	if (a->error == 0) {
		a->error = errno;
		log_warn("AuditLog %s: events are lost", audit_name_of(a));
	}
	a->lost++;
	a->seq++;
	STAT_INC(w, unaudited);
}

void
audit_missed(struct world *w, uint64_t n)
{
	if (w->logs.audit == NULL || n == 0)
		return;
	w->logs.audit->lost += n;
	w->logs.audit->seq += n;
	w->stats[STAT_unaudited] += n;
}

void
audit_peer(struct world *w, const struct peer *p, struct audit_what what)
{
	if (w->logs.audit == NULL)
		return;
	what.identity = p->identity;
	if (p->known)
		what.uid = AUDIT_N(p->uid);
	what.peer = p->text;
	what.listener = p->listener;
	audit(w, &what);
}

void
audit_reopen(struct world *w)
{
	struct audit	*a = w->logs.audit;
	int		 fd;

	if (a == NULL)
		return;
	if ((fd = audit_open_log(a)) == -1) {
		log_warn("AuditLog %s: cannot be reopened, the old file is "
		    "used", audit_name_of(a));
		return;
	}
	fd_close(&a->fd);
	a->fd = fd;
	audit(w, &(struct audit_what){ .event = AUDIT_log_reopened });
}

char *
audit_describe(const struct world *w)
{
	const struct audit	*a = w->logs.audit;
	char			*text;

	if (a == NULL)
		return strdup("none");
	if (a->error == 0)
		return strdup(audit_name_of(a));
	return asprintf(&text, "%s; events are lost: %s", audit_name_of(a),
	    strerror(a->error)) == -1 ? NULL : text;
}
