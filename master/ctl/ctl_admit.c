/* Who may ask, and how many at a time. */
#include <sys/socket.h>
#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/log.h"
#include "master/auth/peer_sandbox.h"
#include "master/ctl/ctl.h"
#include "master/ctl/ctl_priv.h"

#define OTHERS_MAX	48	/* clients without sees_all */
#define USER_MAX	8	/* of them by one such user */
#define NOBODY	((uid_t)-1)	/* not a valid uid */

/* Refuse a process in a sandbox, which may not hide the run directory. */
static bool
ctl_is_inside(int fd, pid_t pid)
{
	const char	*why = peer_sandbox_why(fd, pid);

	if (why != NULL)
		log_info_with((struct log_member[]){
		    { "event", "control", 0 },
		    { "client_pid", NULL, (unsigned long long)pid },
		    { "why", why, 0 }, { NULL, NULL, 0 } },
		    "control: pid %ld: refused: %s", (long)pid, why);
	return why != NULL;
}

/* Whether only our user can enter the run directory. */
static bool
ctl_is_ours_alone(const struct world *w)
{
	struct stat	 st;

	return !w->start.is_root && stat(w->rundir.path, &st) == 0 &&
	    (st.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* Return the uid of a client, or NOBODY: not mapped (master/auth/idmap.h). */
static uid_t
user_of(const struct ctl *c, uid_t uid)
{
	return idmap_is_user(&c->world->start.idmap, uid) ||
	    ctl_is_ours_alone(c->world) ? uid : NOBODY;
}

/* Whether there is room for one more client; others leave some for root. */
static bool
ctl_has_room(const struct ctl *c, const struct ctl_who *who)
{
	const struct ctl_client	*cl;
	unsigned		 of_user = 0, of_others = 0;

	if (who->sees_all)
		return c->nclients < CTL_CLIENTS_MAX;
	TAILQ_FOREACH(cl, &c->clients, entry) {
		of_user += cl->who.uid == who->uid && !cl->who.sees_all;
		of_others += !cl->who.sees_all;
	}
	return of_user < USER_MAX && of_others < OTHERS_MAX &&
	    c->nclients < CTL_CLIENTS_MAX;
}

struct ctl_client *
ctl_admit(struct ctl *c, int fd)
{
	struct ctl_who	 who = { .session = 0 };
	struct ucred	 cred;
	socklen_t	 len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) == -1) {
		fd_close(&fd);
		return NULL;
	}
	who.uid = user_of(c, cred.uid);
	who.pid = cred.pid;
	who.sees_all = who.uid == 0 || who.uid == geteuid();
	if (!ctl_has_room(c, &who) || ctl_is_inside(fd, cred.pid)) {
		fd_close(&fd);
		return NULL;
	}
	return ctl_add(c, fd, &who);
}

static void
ctl_refuse(struct child *from, uint32_t ticket, const char *why)
{
	Ipc__OperateRefused	 out = IPC__OPERATE_REFUSED__INIT;

	out.ticket = ticket;
	out.why = (char *)(uintptr_t)why;
	chan_send(from->chan, IPC_operate_refused, &out, -1);
}

/*
 * Both ends are made here: a worker could make an end of its own block us.  A
 * user that sees all on this machine does not by a connection.
 */
void
ctl_operate(struct ctl *c, struct child *from, uint32_t ticket)
{
	struct ctl_who		 who = { .pid = from->pid };
	struct ctl_client	*cl;
	Ipc__Operating		 out = IPC__OPERATING__INIT;
	int			 pair[2];

	assert(from->route != NULL && from->chan != NULL);
	who.uid = from->route->client_uid;
	who.session = from->route->number;
	memcpy(who.identity, from->route->identity, sizeof(who.identity));
	if (c == NULL || !ctl_has_room(c, &who)) {
		ctl_refuse(from, ticket, "too many requests are waiting");
		return;
	}
	if (fd_packet_pair(pair) == -1) {
		ctl_refuse(from, ticket, strerror(errno));
		return;
	}
	if ((cl = ctl_add(c, pair[0], &who)) == NULL) {
		ctl_refuse(from, ticket, strerror(ENOMEM));
	} else {
		ctl_expect(cl);
		out.ticket = ticket;
		chan_send(from->chan, IPC_operating, &out, pair[1]);
	}
	fd_close(&pair[1]);
}
