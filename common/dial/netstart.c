#include "common/dial/netstart.h"

#include <sys/syscall.h>

#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <unistd.h>

#include "common/dial/netconfine.h"
#include "common/fd.h"
#include "common/linux/slice.h"
#include "common/log.h"
#include "common/noise/kem.h"

/* Nothing but the channel, on a number beyond the standard streams. */
static int
netstart_take_channel(bool keeps_stderr)
{
	int	 sock, null;

	if ((sock = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3)) == -1 ||
	    (null = open("/dev/null", O_RDWR | O_CLOEXEC)) == -1 ||
	    dup2(null, STDIN_FILENO) == -1 ||
	    dup2(null, STDOUT_FILENO) == -1 ||
	    (!keeps_stderr && dup2(null, STDERR_FILENO) == -1)) {
		log_warn("standard streams");
		return -1;
	}
	fd_close(&null);
	return sock;
}

int
netstart(const char *role, const char *how, bool keeps_stderr,
    struct dialer *d, struct resolver **resolver_out)
{
	int	 sock;

	/* Before the log has a descriptor of its own. */
	syscall(SYS_close_range, 3, ~0U, 0);
	log_init(role, LOG_LEVEL_INFO, how);
	if (netconfine_early() == -1) {
		log_warn("confinement");
		return -1;
	}
	if ((sock = netstart_take_channel(keeps_stderr &&
	    !log_is_syslog())) == -1)
		return -1;
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
