#include "common/process/signals.h"

#include <sys/syscall.h>

#include <ctype.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The kernel's struct; all zero is SIG_DFL without flags. */
struct kernel_sigaction {
	uintptr_t	 handler;
	unsigned long	 flags;
	uintptr_t	 restorer;
	uint64_t	 mask;
};

void
signals_default(void)
{
	static const struct kernel_sigaction	 sa;
	int					 sig;

	for (sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			syscall(SYS_rt_sigaction, sig, &sa, NULL,
			    sizeof(sa.mask));
}

void
signals_reset(void)
{
	sigset_t	 none;

	signals_default();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static const struct {
	const char	*name;
	int		 number;
} signals[] = {
#define SIGNAL_NAME(n)	{ "SIG" #n, SIG##n },
#include "proto/signal.def"
#undef SIGNAL_NAME
};

#define SIGNALS	(sizeof(signals) / sizeof(signals[0]))

int
signals_number(const char *name)
{
	size_t	 i;
	int	 n, used = 0;

	for (i = 0; i < SIGNALS; i++)
		if (strcmp(name, signals[i].name) == 0)
			return signals[i].number;
	if (strcmp(name, "SIGRTMIN") == 0)
		return SIGRTMIN;
	if (sscanf(name, "SIGRTMIN+%2d%n", &n, &used) == 1 &&
	    name[used] == '\0' && n >= 0 && SIGRTMIN + n <= SIGRTMAX)
		return SIGRTMIN + n;
	return 0;
}

/* By its number; one of SIGRTMIN and up, or another one that has a row. */
static int
read_number(long n, char name[SIGNALS_NAME])
{
	size_t	 i;

	if (n >= SIGRTMIN && n <= SIGRTMAX) {
		snprintf(name, SIGNALS_NAME, "SIGRTMIN+%d",
		    (int)n - SIGRTMIN);
		return (int)n;
	}
	for (i = 0; i < SIGNALS; i++)
		if (signals[i].number == n) {
			snprintf(name, SIGNALS_NAME, "%s", signals[i].name);
			return signals[i].number;
		}
	return 0;
}

int
signals_read(const char *text, char name[SIGNALS_NAME])
{
	size_t	 i, at = 3;
	char	*end;
	long	 n;

	n = strtol(text, &end, 10);
	if (isdigit((unsigned char)text[0]) && *end == '\0')
		return read_number(n, name);
	if (strncasecmp(text, "SIG", 3) == 0)
		text += 3;
	memcpy(name, "SIG", at);
	for (i = 0; text[i] != '\0' && at < SIGNALS_NAME - 1; i++)
		name[at++] = (char)toupper((unsigned char)text[i]);
	name[at] = '\0';
	return text[i] == '\0' ? signals_number(name) : 0;
}
