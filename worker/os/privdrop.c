#include "worker/os/privdrop.h"

#include <sys/prctl.h>
#include <sys/stat.h>

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "common/process/envlist.h"
#include "common/process/signals.h"
#include "worker/os/dropcaps.h"
#include "worker/os/preauth.h"

#define NOBODY		65534		/* if the user database has none */

/*
 * Real uids of workers: this plus the pid, which is below 2^22.  Not allocated:
 * systemd assigns up to 1879048191, and nothing uses ids just below 2^31
 * (systemd, docs/UIDS-GIDS.md).
 */
#define REAL_UIDS	((uid_t)0x7fc00000)
#define DEFAULT_PATH	"/usr/local/bin:/usr/bin:/bin"

static void
must(int r, const char *what)
{
	if (r == -1)
		fatal("%s", what);
}

void
privdrop_worker(void)
{
	sigset_t	 empty;

	signals_default();
	signal(SIGPIPE, SIG_IGN);
	/* RLIMIT_FSIZE gives EFBIG instead of ending us. */
	signal(SIGXFSZ, SIG_IGN);
	sigemptyset(&empty);
	must(sigprocmask(SIG_SETMASK, &empty, NULL), "sigprocmask");
	umask(022);
	/* No core dump either.  RLIMIT_CORE stays for the commands. */
	must(prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
}

/* Set the environment as login(1) does. */
static void
set_environment(const char *name, const char *home, const char *shell)
{
	char	**kept, **p;

	if ((kept = envlist_locale()) == NULL || clearenv() != 0)
		fatal("cannot set the environment");
	for (p = kept; *p != NULL; p++)
		must(putenv(*p) == 0 ? 0 : -1, "putenv");
	free(kept);
	must(setenv("HOME", home, 1), "setenv");
	must(setenv("SHELL", shell, 1), "setenv");
	must(setenv("USER", name, 1), "setenv");
	must(setenv("LOGNAME", name, 1), "setenv");
	must(setenv("PATH", DEFAULT_PATH, 1), "setenv");
}

/*
 * uid: effective, owns our files; real: who may signal us.  The kernel compares
 * the sender's uid with the target's real and saved ones.
 */
static void
drop_to(uid_t uid, uid_t real, gid_t gid)
{
	uid_t	 r, e, s;
	gid_t	 gr, ge, gs;

	must(setresgid(gid, gid, gid), "setresgid");
	/* A container's user namespace may not map the number. */
	if (setresuid(real, uid, real) == -1) {
		real = uid;
		must(setresuid(uid, uid, uid), "setresuid");
	}
	must(getresuid(&r, &e, &s), "getresuid");
	must(getresgid(&gr, &ge, &gs), "getresgid");
	if (r != real || e != uid || s != real || gr != gid || ge != gid ||
	    gs != gid || (uid != 0 && setresuid(0, 0, 0) != -1))
		fatalx("user or group ids are wrong after dropping privileges");
}

uid_t
privdrop_real(void)
{
	return REAL_UIDS + (uid_t)getpid();
}

static void
set_groups(const Ipc__User *u)
{
	gid_t	*list;
	size_t	 i;

	if ((list = calloc(u->n_group + 1, sizeof(*list))) == NULL)
		fatal("groups");
	for (i = 0; i < u->n_group; i++)
		list[i] = (gid_t)u->group[i];
	must(setgroups(u->n_group, list), "setgroups");
	free(list);
}

/* As root, become a user, which the master has looked up. */
static void
privdrop_other(const Ipc__Assign *a)
{
	const Ipc__User	*u = a->user;
	char		 name[32];
	gid_t		 gid;

	if (u == NULL) {
		fatalx("the master does not tell who uid %u is", a->uid);
	} else if (u->found) {
		set_groups(u);
		set_environment(u->name, u->home, u->shell);
		gid = (gid_t)u->gid;
	} else if (a->has_gid) {
		/* No passwd entry, as in containers: no home, no groups. */
		snprintf(name, sizeof(name), "%u", a->uid);
		gid = (gid_t)a->gid;
		must(setgroups(0, NULL), "setgroups");
		set_environment(name, "/", "/bin/sh");
	} else {
		fatalx("uid %u is not in the user database", a->uid);
	}
	drop_to((uid_t)a->uid, privdrop_real(), gid);
	if (chdir(getenv("HOME")) == -1)
		must(chdir("/"), "chdir");
}

void
privdrop_user(const Ipc__Assign *a, int environment)
{
	if (geteuid() == 0 && a->uid != 0)
		privdrop_other(a);
	else if (geteuid() != (uid_t)a->uid)
		fatalx("cannot become uid %u", a->uid);
	else if (envlist_from_file(environment) == -1)
		fatal("the environment of the server");
	/* setresuid(2) may have reset it. */
	must(prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
	must(prctl(PR_SET_CHILD_SUBREAPER, 1), "PR_SET_CHILD_SUBREAPER");
}

/* Return false on failure. */
static bool
drop_to_nobody(uid_t real)
{
	/* EINVAL: a user namespace that maps one user only. */
	if (geteuid() != 0 || (setresgid((gid_t)-1, NOBODY, (gid_t)-1) ==
	    -1 && errno == EINVAL))
		return false;
	must(setgroups(0, NULL), "setgroups");
	drop_to(NOBODY, real, NOBODY);
	return true;
}

void
privdrop_anybody(void)
{
	drop_to_nobody(NOBODY);
	must(prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
}

void
privdrop_preauth(void)
{
	bool	 is_alone = drop_to_nobody(privdrop_real());

	must(prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE");
	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "PR_SET_NO_NEW_PRIVS");
	if (geteuid() == 0)		/* no other user mapped */
		must(dropcaps(), "capabilities");
	must(preauth_confine(is_alone), "confinement");
}
