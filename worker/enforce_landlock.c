/*
 * Landlock (landlock(7)): rights on files below given paths, TCP, and whom a
 * process may signal.  Debian 12's headers know the first version only, so the
 * numbers of later ones are here.
 */
#include "worker/enforce.h"

#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define FS_EXECUTE	(1ULL << 0)
#define FS_WRITE_FILE	(1ULL << 1)
#define FS_READ_FILE	(1ULL << 2)
#define FS_READ_DIR	(1ULL << 3)
#define FS_REMOVE_MAKE	(0x1ffULL << 4)		/* REMOVE_DIR to MAKE_SYM */
#define FS_REFER	(1ULL << 13)		/* ABI 2 */
#define FS_TRUNCATE	(1ULL << 14)		/* ABI 3 */
#define NET_TCP		(3ULL << 0)		/* ABI 4: bind, connect */
#define SCOPES		(3ULL << 0)		/* ABI 6: abstract, signals */

#define READS		(FS_EXECUTE | FS_READ_FILE | FS_READ_DIR)
#define ON_FILES	(FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE |	\
	FS_TRUNCATE)

#define ABI_REFER	2
#define ABI_TRUNCATE	3
#define ABI_NET		4
#define ABI_SCOPE	6

struct attributes {
	uint64_t	 fs, net, scoped;
};

struct beneath {
	uint64_t	 access;
	int32_t		 fd;
} __attribute__((packed));

/* What commands need to write to besides what the plan says. */
static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	"/dev/tty", "/dev/ptmx", "/dev/shm", NULL
};

static int
abi(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
	    1 /* LANDLOCK_CREATE_RULESET_VERSION */);
}

static int
create(const struct attributes *a, int version)
{
	size_t	 size = version >= ABI_SCOPE ? 24 : version >= ABI_NET ? 16 :
	    8;

	return (int)syscall(SYS_landlock_create_ruleset, a, size, 0);
}

static uint64_t
writes(int version)
{
	return FS_WRITE_FILE | FS_REMOVE_MAKE |
	    (version >= ABI_REFER ? FS_REFER : 0) |
	    (version >= ABI_TRUNCATE ? FS_TRUNCATE : 0);
}

/* Allow access below a path; one that is not there needs nothing. */
static int
allow(int ruleset, const char *path, uint64_t access)
{
	struct beneath	 b;
	struct stat	 st;
	int		 rv, saved;

	memset(&b, 0, sizeof(b));
	if ((b.fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		return errno == ENOENT || errno == EACCES ||
		    errno == ENOTDIR ? 0 : -1;
	b.access = access;
	if ((rv = fstat(b.fd, &st)) == 0 && !S_ISDIR(st.st_mode))
		b.access &= ON_FILES;
	if (rv == 0 && b.access != 0)
		rv = (int)syscall(SYS_landlock_add_rule, ruleset,
		    1 /* LANDLOCK_RULE_PATH_BENEATH */, &b, 0);
	saved = errno;
	close(b.fd);
	errno = saved;
	return rv;
}

/*
 * Landlock adds rights and never takes any: what is narrower than what is
 * around it cannot be said.  NULL, or why not.
 */
static const char *
cannot_say(const struct plan *plan, struct enforced *e)
{
	const struct plan_rule	*r;
	enum plan_kind		 around;
	char			 parent[4096], *slash;
	struct stat		 st;
	size_t			 i;

	for (i = 0; i < plan->n; i++) {
		r = &plan->rules[i];
		if (r->kind == PLAN_HIDE)
			goto fail;
		if (strcmp(r->path, "/") == 0 || r->kind == PLAN_WRITE ||
		    strlen(r->path) >= sizeof(parent))
			continue;
		strcpy(parent, r->path);
		if ((slash = strrchr(parent, '/')) != NULL)
			slash[slash == parent] = '\0';
		around = plan_decide(plan, parent);
		if (around == PLAN_DENY || around == r->kind)
			continue;
		if (r->if_exists && lstat(r->path, &st) == -1 &&
		    errno == ENOENT)
			continue;
		goto fail;
	}
	return NULL;
 fail:
	snprintf(e->why, sizeof(e->why), "without namespaces %.100s cannot "
	    "be protected from what is allowed around it", r->path);
	return e->why;
}

static int
add_rules(int ruleset, const struct plan *plan, uint64_t handled, int version,
    bool alone)
{
	const struct plan_rule	*r;
	uint64_t		 access;
	size_t			 i;

	for (i = 0; i < plan->n; i++) {
		r = &plan->rules[i];
		access = r->kind == PLAN_WRITE ? READS | writes(version) :
		    r->kind == PLAN_READ ? READS : 0;
		if ((access &= handled) != 0 &&
		    allow(ruleset, r->path, access) == -1)
			return -1;
	}
	if ((handled & FS_WRITE_FILE) == 0)
		return 0;
	for (i = 0; devices[i] != NULL; i++)
		if (allow(ruleset, devices[i], handled) == -1)
			return -1;
	/* Alone: they are those of all of the user's terminals. */
	if (!alone && allow(ruleset, "/dev/pts", handled) == -1)
		return -1;
	/* Root, with no rights left, could write what the kernel gives root. */
	return allow(ruleset, "/proc", geteuid() == 0 ? handled & READS :
	    handled);
}

int
enforce_landlock(const struct plan *plan, bool alone, struct enforced *e,
    int *out)
{
	struct attributes	 a;
	int			 version = abi();

	*out = -1;
	if (version < 1) {
		if (!alone)
			return 0;	/* the namespaces do */
		snprintf(e->why, sizeof(e->why),
		    "the kernel has no Landlock");
		return -1;
	}
	if (alone && cannot_say(plan, e) != NULL)
		return -1;
	if (alone && !plan->writes_all && version < ABI_TRUNCATE) {
		snprintf(e->why, sizeof(e->why), "without namespaces the "
		    "kernel's Landlock (ABI %d) does not stop truncation",
		    version);
		return -1;
	}
	memset(&a, 0, sizeof(a));
	if (!plan->writes_all)
		a.fs |= writes(version);
	if (alone && !plan->reads_all)
		a.fs |= READS;
	if (plan->net_off && version >= ABI_NET)
		a.net = NET_TCP;
	if (version >= ABI_SCOPE)
		a.scoped = SCOPES;
	if ((a.fs | a.net | a.scoped) == 0)
		return 0;
	if ((*out = create(&a, version)) == -1 ||
	    add_rules(*out, plan, a.fs, version, alone) == -1) {
		snprintf(e->why, sizeof(e->why), "Landlock: %s",
		    strerror(errno));
		fd_close(out);
		return -1;
	}
	return fd_cloexec(*out, 1);
}

int
enforce_ruleset(int fd)
{
	return (int)syscall(SYS_landlock_restrict_self, fd, 0);
}
