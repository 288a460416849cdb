#include "master/auth/names.h"

#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/fd.h"
#include "common/log.h"

#define SOCK		3		/* the child's, and its only one */
#define ANSWER_MAX	(64 * 1024 * 1024)

/* Both are sent as they are. */
struct question {
	bool	 is_group;
	char	 name[512];
};
_Static_assert(sizeof(struct question) == 1 + 512, "as it is sent");

/* Before the texts: the name and the members, each with its NUL. */
struct answer {
	int		 error;
	uint32_t	 n;		/* texts; 0: there is none */
	uint32_t	 len;		/* bytes of them */
	uid_t		 uid;
	gid_t		 gid;
};
_Static_assert(sizeof(struct answer) == 5 * 4 &&
    offsetof(struct answer, len) == 2 * 4 &&
    offsetof(struct answer, gid) == 4 * 4, "as it is sent");

/*
 * A child, because modules of nsswitch.conf(5), and glibc without memory, may
 * end their process.
 */
/* One child for the whole process: not all callers have a context. */
static struct {
	pid_t		 pid;		/* 0: there is none */
	int		 sock;
	char		*text[2];	/* of a user, of a group */
	char		**list[2];	/* what is in it, and NULL */
	struct passwd	 user;
	struct group	 group;
	char		 why[640];
} names;

/* --- the child --- */

static bool
transfer(int fd, void *data, size_t len, bool is_out)
{
	char	*p = data;
	ssize_t	 n;

	while (len > 0) {
		n = is_out ? send(fd, p, len, MSG_NOSIGNAL) :
		    recv(fd, p, len, 0);
		if (n == -1 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		p += n;
		len -= (size_t)n;
	}
	return true;
}

static bool
names_add(struct buf *b, struct answer *a, const char *text)
{
	a->n++;
	return buf_put(b, text, strlen(text) + 1) == 0;
}

/* Other errors mean that the name does not exist, as for getpwnam(3). */
static int
failure(void)
{
	return errno == ENOMEM || errno == EMFILE || errno == ENFILE ?
	    errno : 0;
}

static bool
names_look_up(const struct question *q, struct answer *a, struct buf *b)
{
	const struct passwd	*pw;
	const struct group	*gr;
	char			**m;
	bool			 is_ok;

	errno = 0;
	if (!q->is_group) {
		if ((pw = getpwnam(q->name)) == NULL) {
			a->error = failure();
			return true;
		}
		a->uid = pw->pw_uid;
		a->gid = pw->pw_gid;
		return names_add(b, a, pw->pw_name);
	}
	if ((gr = getgrnam(q->name)) == NULL) {
		a->error = failure();
		return true;
	}
	a->gid = gr->gr_gid;
	is_ok = names_add(b, a, gr->gr_name);
	for (m = gr->gr_mem; is_ok && *m != NULL; m++)
		is_ok = names_add(b, a, *m);
	return is_ok;
}

static void NORETURN
names_serve(int sock)
{
	struct question	 q;
	struct answer	 a;
	struct buf	 b;

	/* Keep no descriptor of the master. */
	if ((sock != SOCK && dup2(sock, SOCK) == -1) ||
	    syscall(SYS_close_range, SOCK + 1, ~0U, 0) == -1 ||
	    prctl(PR_SET_DUMPABLE, 0) == -1)
		_exit(1);
	while (transfer(SOCK, &q, sizeof(q), false)) {
		memset(&a, 0, sizeof(a));
		buf_init(&b, ANSWER_MAX);
		if (!names_look_up(&q, &a, &b)) {
			a.error = ENOMEM;
			a.n = 0;
			buf_fini(&b);
		}
		a.len = (uint32_t)b.len;
		if (!transfer(SOCK, &a, sizeof(a), true) ||
		    !transfer(SOCK, buf_data(&b), b.len, true))
			break;
		buf_fini(&b);
	}
	_exit(0);
}

/* --- who asks --- */

static int
names_start(void)
{
	int	 pair[2], error;

	if (names.pid != 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == -1)
		return -1;
	if ((names.pid = fork()) == 0)
		names_serve(pair[1]);
	error = errno;
	close(pair[1]);
	names.sock = pair[0];
	if (names.pid != -1)
		return 0;
	names.pid = 0;
	fd_close(&names.sock);
	errno = error;
	return -1;
}

static void
names_forget(bool is_group)
{
	free(names.text[is_group]);
	free(names.list[is_group]);
	names.text[is_group] = NULL;
	names.list[is_group] = NULL;
}

/* Reap the child and return its status. */
static int
names_finish(void)
{
	int	 status = 0;

	if (names.pid == 0)
		return 0;
	assert(names.sock != -1);
	fd_close(&names.sock);
	while (waitpid(names.pid, &status, 0) == -1 && errno == EINTR)
		continue;
	names.pid = 0;
	return status;
}

void
names_end(void)
{
	(void)names_finish();
	names_forget(false);
	names_forget(true);
}

static int
names_take(bool is_group, const struct answer *a)
{
	char		*text, **list, *at;
	uint32_t	 i;

	assert(names.text[is_group] == NULL && names.list[is_group] == NULL);
	/* Modules of the name service may have corrupted the child. */
	if (a->len > ANSWER_MAX || a->n > a->len) {
		errno = ECANCELED;
		return -1;
	}
	names.text[is_group] = text = malloc(a->len + (size_t)1);
	names.list[is_group] = list = calloc(a->n + (size_t)1, sizeof(*list));
	if (text == NULL || list == NULL)
		return -1;
	if (!transfer(names.sock, text, a->len, false)) {
		errno = ECANCELED;
		return -1;
	}
	text[a->len] = '\0';
	for (at = text, i = 0; i < a->n && at < text + a->len; i++) {
		list[i] = at;
		at += strlen(at) + 1;
	}
	if (i == a->n)
		return 0;
	errno = ECANCELED;
	return -1;
}

/* 1, or 0: there is none, or -1. */
static int
names_ask(const struct question *q, struct answer *a)
{
	if (names_start() == -1)
		return -1;
	assert(names.pid > 0);
	if (!transfer(names.sock, (void *)(uintptr_t)q, sizeof(*q), true) ||
	    !transfer(names.sock, a, sizeof(*a), false)) {
		errno = ECANCELED;
		return -1;
	}
	errno = a->error;
	if (a->n == 0)
		return a->error == 0 ? 0 : -1;
	return names_take(q->is_group, a) == -1 ? -1 : 1;
}

static void
names_explain(const struct question *q, int error, int status)
{
	snprintf(names.why, sizeof(names.why), "looking up %s %s: %s%s%s",
	    q->is_group ? "group" : "user", q->name,
	    error != ECANCELED ? strerror(error) : "the name service died",
	    WIFSIGNALED(status) ? ": " : "",
	    WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "");
	log_warnx("%s", names.why);
}

/* As names_ask(). */
static int
names_find(const char *name, bool is_group, struct answer *a)
{
	struct question	 q;
	int		 r, error;

	names_forget(is_group);
	memset(&q, 0, sizeof(q));
	errno = 0;
	if (strlen(name) >= sizeof(q.name))
		return 0;
	q.is_group = is_group;
	strcpy(q.name, name);
	if ((r = names_ask(&q, a)) != -1)
		return r;
	/* The next name gets a new child. */
	error = errno;
	names_explain(&q, error, names_finish());
	errno = ECANCELED;
	return -1;
}

const struct passwd *
names_user(const char *name)
{
	struct answer	 a;

	if (names_find(name, false, &a) != 1)
		return NULL;
	names.user.pw_name = names.list[false][0];
	names.user.pw_uid = a.uid;
	names.user.pw_gid = a.gid;
	return &names.user;
}

const struct group *
names_group(const char *name)
{
	struct answer	 a;

	if (names_find(name, true, &a) != 1)
		return NULL;
	names.group.gr_name = names.list[true][0];
	names.group.gr_gid = a.gid;
	names.group.gr_mem = names.list[true] + 1;
	return &names.group;
}

const char *
names_error(int error)
{
	return error == ECANCELED && names.why[0] != '\0' ? names.why :
	    strerror(error);
}
