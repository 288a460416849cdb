#include "common/dial/netstart.h"

#include <sys/syscall.h>

#include <signal.h>
#include <sodium.h>
#include <unistd.h>

#include "common/dial/netconfine.h"
#include "common/fd.h"
#include "common/linux/confine.h"
#include "common/linux/slice.h"
#include "common/log.h"
#include "common/noise/kem.h"

int
netstart(const char *role, const char *how, bool keeps_stderr,
    struct dialer *d, struct resolver **resolver_out)
{
	int	 sock;

	/* Before the log has a descriptor of its own. */
	syscall(SYS_close_range, 3, ~0U, 0);
	log_init(role, LOG_LEVEL_INFO, how);
	if (confine_early() == -1) {
		log_warn("confinement");
		return -1;
	}
	netconfine_lock_memory();
	if ((sock = fd_take_stdin(!keeps_stderr || log_is_syslog())) == -1) {
		log_warn("standard streams");
		return -1;
	}
	signal(SIGPIPE, SIG_IGN);
	/* Ctrl-C in the terminal of who started us is not for us. */
	if (setsid() == -1)
		log_debug("already a session leader");
	if (sodium_init() == -1) {
		log_warnx("sodium_init");
		return -1;
	}
	kem_start();
	if (dialer_take_env(d) == -1) {
		log_warn("environment");
		return -1;
	}
	if ((*resolver_out = resolver_start(netconfine_resolver)) == NULL)
		return -1;
	slice_short();
	return sock;
}
