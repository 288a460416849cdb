#include "common/signals.h"

#include <sys/syscall.h>

#include <signal.h>
#include <stdint.h>
#include <unistd.h>

/* As the kernel wants it; all zero is SIG_DFL without flags. */
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
