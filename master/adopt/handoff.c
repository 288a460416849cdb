#include "master/adopt/handoff.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"

static const char *const	 names[HANDOFF_KINDS] = {
	[HANDOFF_MONITOR] = "monitor",
	[HANDOFF_LISTEN] = "listen",
	[HANDOFF_METRICS] = "metrics"
};

/* --- taking --- */

static int
handoff_take_one(struct inherited *in, int *monitor, enum handoff_kind kind,
    int fd, const char *text)
{
	if (fd == -1) {
		errno = EBADF;
		return -1;
	}
	if (kind != HANDOFF_MONITOR)
		return inherited_add(in, fd, text, kind == HANDOFF_METRICS);
	*monitor = fd;
	return 0;
}

static int
handoff_take_line(struct inherited *in, int *monitor, char *line)
{
	char	*word[2], *text = NULL;
	int	 kind, fd;

	if ((word[0] = strtok_r(line, " ", &text)) == NULL ||
	    (word[1] = strtok_r(NULL, " ", &text)) == NULL) {
		errno = EINVAL;
		return -1;
	}
	fd = atoi(word[1]);
	if (fd_cloexec(fd, 1) == -1)
		return -1;
	for (kind = 0; kind < HANDOFF_KINDS; kind++)
		if (strcmp(names[kind], word[0]) == 0)
			return handoff_take_one(in, monitor,
			    (enum handoff_kind)kind, fd, text);
	/* The monitor may be of a later version. */
	log_debug("handed over: %s: not known", word[0]);
	fd_close(&fd);
	return 0;
}

int
handoff_take_env(struct inherited *in, int *monitor_out)
{
	const char	*env = getenv(HANDOFF_VARIABLE);
	char		*copy, *line, *next;
	int		 r = 0;

	*monitor_out = -1;
	if (env == NULL)
		return 0;
	if ((copy = strdup(env)) == NULL) {
		log_warn(HANDOFF_VARIABLE);
		return -1;
	}
	unsetenv(HANDOFF_VARIABLE);
	for (line = copy; line != NULL && r == 0; line = next) {
		if ((next = strchr(line, '\n')) != NULL)
			*next++ = '\0';
		if (*line != '\0')
			r = handoff_take_line(in, monitor_out, line);
	}
	if (r == -1)
		log_warn(HANDOFF_VARIABLE);
	free(copy);
	return r;
}

/* --- giving --- */

int
handoff_put(struct buf *b, enum handoff_kind kind, int fd, const char *text)
{
	char	 head[64];

	assert(strchr(text, '\n') == NULL);
	if (fd_cloexec(fd, 0) == -1)
		return -1;
	snprintf(head, sizeof(head), "%s %d ", names[kind], fd);
	return buf_put(b, head, strlen(head)) == -1 ||
	    buf_put(b, text, strlen(text)) == -1 || buf_put(b, "\n", 1) == -1 ?
	    -1 : 0;
}

/* A copy of env with our variable. */
static char **
handoff_env(char **env, struct buf *b)
{
	char	**copy;
	size_t	 n = 0, i;

	while (env[n] != NULL)
		n++;
	if (buf_put(b, "", 1) == -1 ||
	    (copy = calloc(n + 2, sizeof(*copy))) == NULL)
		return NULL;
	for (i = 0; i < n; i++)
		copy[i] = env[i];
	return asprintf(&copy[n], HANDOFF_VARIABLE "=%s",
	    (char *)buf_data(b)) == -1 ? NULL : copy;
}

void
handoff_exec(const char *path, char **argv, char **env, int dir, struct buf *b)
{
	char		**with = handoff_env(env, b);
	sigset_t	 none;

	if (with == NULL || (dir != -1 && fchdir(dir) == -1))
		return;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(path, argv, with);
}
