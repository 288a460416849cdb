/*
 * 984: an execsrv-uplink that has been broken into.  What it says that it must
 * not, once it is told to register, is in the name of its environment.
 */
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/ipc.h"
#include "common/limit.h"

#define MUST(claim)	do { if (!(claim)) exit(3); } while (0)
#define SAID		7	/* streams, when all of it is said */

#define DENIED		500	/* times that a credential is of no use */

static char	 what[64];
static unsigned	 nbearers;	/* credentials that came */

static void
tell(enum ipc_kind kind, const void *body)
{
	struct pollfd	 p = { STDIN_FILENO, POLLOUT, 0 };

	MUST(poll(&p, 1, -1) == 1);
	if (ipc_send(STDIN_FILENO, kind, body, -1) == -1)
		exit(0);		/* it has thrown us out */
}

static void
answer(Ipc__Registration result, uint32_t status, uint64_t retry_after)
{
	Ipc__UplinkAnswer	 out = IPC__UPLINK_ANSWER__INIT;

	out.result = result;
	out.status = status;
	out.retry_after_ms = retry_after;
	tell(IPC_uplink_answer, &out);
}

static void
lie(void)
{
	Ipc__UplinkStatus	 out = IPC__UPLINK_STATUS__INIT;
	Ipc__UplinkDenied	 denied = IPC__UPLINK_DENIED__INIT;
	int			 i;

#define WHAT(name)	(strcmp(what, name) == 0)
	if (WHAT("refused-then-not")) {
		answer(IPC__REGISTRATION__REFUSED, 503, 60000);
		answer(IPC__REGISTRATION__REGISTERED, 200, 0);
	} else if (WHAT("registered-then-not")) {
		answer(IPC__REGISTRATION__REGISTERED, 200, 0);
		answer(IPC__REGISTRATION__REFUSED, 503, 0);
		answer(IPC__REGISTRATION__NONSENSE, 0, 0);
	} else if (WHAT("for-ever")) {
		answer(IPC__REGISTRATION__REFUSED, 503,
		    LIMIT_UPLINK_RETRY_AFTER + 1);
	} else if (WHAT("denied") && nbearers < 2) {
		for (i = 0; i < DENIED; i++)
			tell(IPC_uplink_denied, &denied);
		answer(IPC__REGISTRATION__REFUSED, 503, 0);
		return;
	} else if (!WHAT("denied")) {
		exit(4);
	}
	out.streams = SAID;
	out.bytes_in = nbearers;
	tell(IPC_uplink_status, &out);
}

int
main(void)
{
	struct ipc_msg	 m;

	while (ipc_wait(STDIN_FILENO, IPC_ROLE_MASTER, IPC_ROLE_UPLINK,
	    &m) == 1) {
		if (m.kind == IPC_uplink_start)
			strncpy(what, ((const Ipc__UplinkStart *)m.body)->
			    environment, sizeof(what) - 1);
		else if (m.kind == IPC_uplink_bearer)
			nbearers++;
		else if (m.kind == IPC_uplink_register)
			lie();
		ipc_msg_fini(&m);
	}
	return 0;
}
