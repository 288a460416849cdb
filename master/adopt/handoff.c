#include "master/adopt/handoff.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "common/process/program.h"

static const char *const	 names[HANDOFF_KINDS] = {
#define HANDOFF(NAME, name)	[HANDOFF_##NAME] = #name,
	HANDOFF_ROWS
#undef HANDOFF
};

/* --- taking --- */

static int
handoff_take_one(struct handoff *h, struct inherited *in,
    struct activation *passed, enum handoff_kind kind, int fd,
    const char *text)
{
	assert((unsigned)kind < HANDOFF_KINDS);
	switch (kind) {
	case HANDOFF_LISTEN:
	case HANDOFF_METRICS:
		return inherited_add(in, fd, text, kind == HANDOFF_METRICS);
	case HANDOFF_PASSED:
		return activation_add(passed, fd, text);
	default:
		fd_close(&h->fd[kind]);
		free(h->text[kind]);
		h->fd[kind] = fd;
		h->text[kind] = strdup(text);
		return h->text[kind] == NULL ? -1 : 0;
	}
}

static int
handoff_take_line(struct handoff *h, struct inherited *in,
    struct activation *passed, char *line)
{
	char	*word[2], *text = NULL;
	int	 kind, fd;

	if ((word[0] = strtok_r(line, " ", &text)) == NULL ||
	    (word[1] = strtok_r(NULL, " ", &text)) == NULL) {
		errno = EINVAL;
		return -1;
	}
	fd = atoi(word[1]);
	if (fd != -1 && fd_cloexec(fd, 1) == -1)
		return -1;
	for (kind = 0; kind < HANDOFF_KINDS; kind++)
		if (strcmp(names[kind], word[0]) == 0)
			return handoff_take_one(h, in, passed,
			    (enum handoff_kind)kind, fd, text);
	/* Whoever hands it over may be of a later version. */
	log_debug("handed over: %s: not known", word[0]);
	fd_close(&fd);
	return 0;
}

int
handoff_take_env(struct handoff *h, struct inherited *in,
    struct activation *passed)
{
	const char	*env = getenv(HANDOFF_VARIABLE);
	char		*copy, *line, *next;
	int		 r = 0, kind;

	memset(h, 0, sizeof(*h));
	for (kind = 0; kind < HANDOFF_KINDS; kind++)
		h->fd[kind] = -1;
	if (env == NULL)
		return 0;
	h->is_any = true;
	if ((copy = strdup(env)) == NULL) {
		log_warn(HANDOFF_VARIABLE);
		return -1;
	}
	unsetenv(HANDOFF_VARIABLE);
	for (line = copy; line != NULL && r == 0; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = '\0';
		if (*line != '\0')
			r = handoff_take_line(h, in, passed, line);
	}
	if (r == -1)
		log_warn(HANDOFF_VARIABLE);
	free(copy);
	return r;
}

bool
handoff_is_upgrade(const struct handoff *h)
{
	return h->text[HANDOFF_FORMER] != NULL ||
	    h->text[HANDOFF_FAILED] != NULL;
}

int
handoff_take(struct handoff *h, enum handoff_kind kind)
{
	int	 fd = h->fd[kind];

	h->fd[kind] = -1;
	return fd;
}

void
handoff_fini(struct handoff *h)
{
	int	 kind;

	for (kind = 0; kind < HANDOFF_KINDS; kind++) {
		fd_close(&h->fd[kind]);
		free(h->text[kind]);
		h->text[kind] = NULL;
	}
}

/* --- giving --- */

void
handoff_lines_init(struct handoff_lines *l)
{
	buf_init(&l->text, HANDOFF_MAX);
	l->n = 0;
}

void
handoff_lines_fini(struct handoff_lines *l)
{
	assert(l->n <= sizeof(l->fd) / sizeof(l->fd[0]));
	while (l->n > 0)
		if (fd_cloexec(l->fd[--l->n], 1) == -1)
			log_warn("descriptor %d", l->fd[l->n]);
	buf_fini(&l->text);
}

int
handoff_put(struct handoff_lines *l, enum handoff_kind kind, int fd,
    const char *text)
{
	char	 head[64];
	int	 n;

	assert((unsigned)kind < HANDOFF_KINDS && fd >= -1);
	if (l->n == sizeof(l->fd) / sizeof(l->fd[0]) ||
	    strchr(text, '\n') != NULL) {
		errno = E2BIG;
		return -1;
	}
	n = snprintf(head, sizeof(head), "%s %d ", names[kind], fd);
	if (buf_put(&l->text, head, (size_t)n) == -1 ||
	    buf_put(&l->text, text, strlen(text)) == -1 ||
	    buf_put(&l->text, "\n", 1) == -1 ||
	    (fd != -1 && fd_cloexec(fd, 0) == -1))
		return -1;
	if (fd != -1)
		l->fd[l->n++] = fd;
	return 0;
}

/* Variables that name a process or descriptors: of the one before. */
static bool
is_former(const char *variable)
{
	static const char *const	 former[] = {
		HANDOFF_VARIABLE "=", "LISTEN_FDS=", "LISTEN_PID=",
		"LISTEN_FDNAMES=", "WATCHDOG_PID="
	};
	size_t	 i;

	for (i = 0; i < sizeof(former) / sizeof(former[0]); i++)
		if (strncmp(variable, former[i], strlen(former[i])) == 0)
			return true;
	return false;
}

void
handoff_program_init(struct handoff_program *p, char **argv)
{
	char	**copy;
	size_t	 n = 0, i;

	while (environ[n] != NULL)
		n++;
	if ((copy = calloc(n + 1, sizeof(*copy))) == NULL)
		fatal("memory");
	for (i = n = 0; environ[i] != NULL; i++)
		if (!is_former(environ[i]))
			copy[n++] = environ[i];
	program_self(p->path, sizeof(p->path));
	p->argv = argv;
	p->env = copy;
	p->dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	p->credential = -1;
}

void
handoff_program_fini(struct handoff_program *p)
{
	free(p->env);
	p->env = NULL;
	fd_close(&p->dir);
}

/* A copy of env with our variable, at its end. */
static char **
handoff_env(char **env, struct buf *text)
{
	char	**copy;
	size_t	 n = 0, i;

	while (env[n] != NULL)
		n++;
	if (buf_put(text, "", 1) == -1 ||
	    (copy = calloc(n + 2, sizeof(*copy))) == NULL)
		return NULL;
	for (i = 0; i < n; i++)
		copy[i] = env[i];
	if (asprintf(&copy[n], HANDOFF_VARIABLE "=%s",
	    (char *)buf_data(text)) != -1)
		return copy;
	free(copy);
	return NULL;
}

void
handoff_exec(const struct handoff_program *p, struct handoff_lines *l)
{
	char		**with = handoff_env(p->env, &l->text);
	sigset_t	 none, old;
	size_t		 n;
	int		 dir, error;

	assert(p->argv != NULL);
	if (with == NULL)
		return;
	dir = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	sigemptyset(&none);
	if (p->dir == -1 || fchdir(p->dir) == 0) {
		sigprocmask(SIG_SETMASK, &none, &old);
		execve(p->path, p->argv, with);
		error = errno;
		sigprocmask(SIG_SETMASK, &old, NULL);
		if (dir != -1 && fchdir(dir) == -1)
			log_warn("the working directory");
		errno = error;
	}
	for (n = 0; with[n + 1] != NULL; n++)
		;
	free(with[n]);
	free(with);
	fd_close(&dir);
}
