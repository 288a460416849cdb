#include "common/signals.h"

#include <sys/syscall.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
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

int
signals_number(const char *name)
{
	static const struct {
		const char	*name;
		int		 number;
	} signals[] = {
#define SIGNAL_NAME(n)	{ "SIG" #n, SIG##n },
#include "proto/signal.def"
#undef SIGNAL_NAME
	};
	size_t	 i;
	int	 n, used = 0;

	for (i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (strcmp(name, signals[i].name) == 0)
			return signals[i].number;
	if (strcmp(name, "SIGRTMIN") == 0)
		return SIGRTMIN;
	if (sscanf(name, "SIGRTMIN+%2d%n", &n, &used) == 1 &&
	    name[used] == '\0' && n >= 0 && SIGRTMIN + n <= SIGRTMAX)
		return SIGRTMIN + n;
	return 0;
}
