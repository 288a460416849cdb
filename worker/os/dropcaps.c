#include "worker/os/dropcaps.h"

#include <sys/prctl.h>
#include <sys/syscall.h>

#include <linux/capability.h>
#include <linux/securebits.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "worker/os/rawsys.h"

#define SECBITS	(SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |			\
	SECBIT_NO_SETUID_FIXUP | SECBIT_NO_SETUID_FIXUP_LOCKED |	\
	SECBIT_KEEP_CAPS_LOCKED | SECBIT_NO_CAP_AMBIENT_RAISE |		\
	SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED)

int
dropcaps(void)
{
	struct __user_cap_header_struct	 head;
	struct __user_cap_data_struct	 none[2];
	long				 r;

	/*
	 * Without CAP_SETPCAP there is nothing to regain.  That failure must
	 * not set errno, see worker/os/tvfork.h.
	 */
	r = rawsys(SYS_prctl, PR_SET_SECUREBITS, SECBITS, 0, 0, 0);
	if (r < 0 && r != -EPERM) {
		errno = (int)-r;
		return -1;
	}
	memset(&head, 0, sizeof(head));
	memset(none, 0, sizeof(none));
	head.version = _LINUX_CAPABILITY_VERSION_3;
	return (int)syscall(SYS_capset, &head, none);
}
