/*
 * What the probes of the sandbox share.  A probe is called as
 *	PROGRAM [-x NAME,...] KEY=VALUE... [NAME...]
 * and tries the attacks of those names (all), each in a process of its own.
 * It prints a line for each, "NAME: refused", "NAME: skipped" or "NAME:
 * ESCAPED", with a reason, and ends with 1 if there was one of the last kind.
 * Keys name what is attacked; an attack whose key is missing is skipped.  So is
 * one that could not be prepared, or was not done in time, or ended by a signal
 * that is no answer to it: nothing is known of that.  With -l it tries nothing
 * and lists the names.
 */
#pragma once

#include <sys/wait.h>

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum verdict { REFUSED, ESCAPED, SKIPPED };

struct attack {
	const char	*name;
	enum verdict	(*fn)(void);
};

/* For LeakSanitizer, which could not trace us in a sandbox. */
int	 __lsan_is_turned_off(void);

int
__lsan_is_turned_off(void)
{
	return 1;
}

#define ATTACK_SECONDS	20
#define MAX_KEYS	16

static const char	*keys[MAX_KEYS];
static size_t		 nkeys;

/* The value of a key; without it the attack is skipped. */
static inline const char *
key(const char *name)
{
	size_t	 i, n = strlen(name);

	for (i = 0; i < nkeys; i++)
		if (strncmp(keys[i], name, n) == 0 && keys[i][n] == '=')
			return keys[i] + n + 1;
	printf("no %s given", name);
	fflush(stdout);
	_exit(SKIPPED);
}

/* key/name; one of a few buffers. */
static inline const char *
in(const char *name, const char *rest)
{
	static char	 texts[8][4096];
	static unsigned	 turn;
	char		*out = texts[turn++ % 8];

	snprintf(out, sizeof(texts[0]), "%s/%s", key(name), rest);
	return out;
}

/* A verdict with its reason; errno's text where nothing else is to say. */
static inline enum verdict
tell(enum verdict v, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	return v;
}

/* A call that has to fail: its result. */
static inline enum verdict
must_fail(long rv)
{
	int	 error = errno;

	if (rv != -1)
		return tell(ESCAPED, "it works");
	return tell(error == ENOSYS ? SKIPPED : REFUSED, "%s",
	    strerror(error));
}

static inline enum verdict
try(const struct attack *a)
{
	static const char *const words[] = { "refused", "ESCAPED", "skipped" };
	char		 why[200] = "";
	int		 pipe_fds[2], status, v;
	ssize_t		 n, got = 0;
	pid_t		 pid;

	if (pipe(pipe_fds) == -1 || (pid = fork()) == -1)
		exit(2);
	if (pid == 0) {
		close(pipe_fds[0]);
		if (dup2(pipe_fds[1], STDOUT_FILENO) == -1)
			_exit(SKIPPED);
		close(pipe_fds[1]);
		alarm(ATTACK_SECONDS);
		v = (int)a->fn();
		fflush(stdout);
		_exit(v);
	}
	close(pipe_fds[1]);
	while (got < (ssize_t)sizeof(why) - 1 && (n = read(pipe_fds[0],
	    why + got, sizeof(why) - 1 - (size_t)got)) > 0)
		got += n;
	close(pipe_fds[0]);
	while (waitpid(pid, &status, 0) == -1 && errno == EINTR)
		continue;
	v = WIFEXITED(status) ? WEXITSTATUS(status) : REFUSED;
	if (WIFSIGNALED(status))
		snprintf(why, sizeof(why), "signal %d", WTERMSIG(status));
	/* What filters send, and what holds in /proc when others are read. */
	if (WIFSIGNALED(status) && WTERMSIG(status) != SIGSYS)
		v = SKIPPED;
	printf("%s: %s: %s\n", a->name, words[v > SKIPPED ? SKIPPED : v],
	    why);
	fflush(stdout);
	return (enum verdict)v;
}

/* Whether a name is in a list with commas. */
static inline bool
is_in(const char *list, const char *name)
{
	size_t	 n = strlen(name);

	for (; list != NULL; list = strchr(list, ',')) {
		list += *list == ',';
		if (strncmp(list, name, n) == 0 &&
		    (list[n] == ',' || list[n] == '\0'))
			return true;
	}
	return false;
}

static inline int
probe_main(int argc, char **argv, const struct attack *attacks)
{
	const struct attack	*a;
	const char		*except = NULL;
	bool			 escaped = false, chosen;
	int			 i, first;

	if (argc == 2 && strcmp(argv[1], "-l") == 0) {
		for (a = attacks; a->name != NULL; a++)
			puts(a->name);
		return 0;
	}
	if (argc > 2 && strcmp(argv[1], "-x") == 0) {
		except = argv[2];
		argc -= 2;
		argv += 2;
	}
	for (first = 1; first < argc && strchr(argv[first], '=') != NULL &&
	    nkeys < MAX_KEYS; first++)
		keys[nkeys++] = argv[first];
	for (a = attacks; a->name != NULL; a++) {
		chosen = first == argc && !is_in(except, a->name);
		for (i = first; i < argc; i++)
			chosen |= strcmp(argv[i], a->name) == 0;
		if (chosen && try(a) == ESCAPED)
			escaped = true;
	}
	return escaped ? 1 : 0;
}
