/* Plans as Landlock rulesets. */
#include "worker/sandbox/enforce.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/linux/landlock.h"

/* Devices that commands need to write to. */
static const char *const devices[] = {
	"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom",
	"/dev/tty", "/dev/ptmx", "/dev/shm", NULL
};

/* Allow access below a path; a missing one needs no rule. */
static int
enforce_landlock_allow(int ruleset, const char *path, uint64_t access)
{
	int	 fd, rv;

	if ((fd = open(path, O_PATH | O_CLOEXEC)) == -1)
		return errno == ENOENT || errno == EACCES ||
		    errno == ENOTDIR ? 0 : -1;
	rv = landlock_allow(ruleset, fd, access);
	fd_close(&fd);
	return rv;
}

static int
enforce_landlock_rights(const struct plan_rule *r)
{
	return r->kind == PLAN_WRITE ? 2 : r->kind == PLAN_READ ? 1 : 0;
}

/* Whether a rule grants more than r where r's path really is. */
static bool
is_allowed_more(const struct plan *plan, const struct plan_rule *r,
    const char *place)
{
	char	 real[PATH_MAX];
	size_t	 i, n;

	for (i = 0; i < plan->n; i++) {
		if (plan->rules[i].kind == PLAN_HIDE ||
		    enforce_landlock_rights(&plan->rules[i]) <=
		    enforce_landlock_rights(r) || realpath(plan->rules[i].path,
		    real) == NULL)
			continue;
		n = strcmp(real, "/") == 0 ? 0 : strlen(real);
		if (strncmp(real, place, n) == 0 &&
		    (place[n] == '/' || place[n] == '\0'))
			return true;
	}
	return false;
}

/* Whether a symlink in the name of a rule could be replaced. */
static bool
has_loose_link(const struct plan *plan, const struct plan_rule *r)
{
	struct sbmount_links	 l;
	int			 rv;

	sbmount_links_start(&l, r->path);
	while ((rv = sbmount_links_next(&l)) == 1)
		if (is_allowed_more(plan, r, l.real))
			return true;
	return rv == -1;
}

/*
 * Landlock only adds rights: a rule narrower than its parent cannot be
 * expressed.  Return NULL, or why not.
 */
static const char *
landlock_lacks(const struct plan *plan, struct enforced *e)
{
	const struct plan_rule	*r;
	char			 place[PATH_MAX];
	bool			 is_missing;
	size_t			 i;

	for (i = 0; i < plan->n; i++) {
		r = &plan->rules[i];
		if (r->kind == PLAN_HIDE)
			goto fail;
		if (r->kind == PLAN_WRITE)
			continue;
		is_missing = realpath(r->path, place) == NULL;
		if (is_missing && ((errno != ENOENT && errno != ENOTDIR &&
		    errno != ELOOP) ||
		    sbmount_first_missing(r->path, place) == -1))
			goto fail;
		if (is_missing && r->if_exists)
			continue;
		if (is_allowed_more(plan, r, place) || has_loose_link(plan, r))
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

	assert(ruleset != -1 && version >= 1);
	for (i = 0; i < plan->n; i++) {
		r = &plan->rules[i];
		/* A symlink may lead out of the parent's rights. */
		if (!plan_rule_gives(plan, i))
			continue;
		access = r->kind == PLAN_WRITE ? LANDLOCK_READS |
		    landlock_writes(version) :
		    r->kind == PLAN_READ ? LANDLOCK_READS : 0;
		if ((access &= handled) != 0 &&
		    enforce_landlock_allow(ruleset, r->path, access) == -1)
			return -1;
	}
	if ((handled & LANDLOCK_WRITE_FILE) == 0)
		return 0;
	for (i = 0; devices[i] != NULL; i++)
		if (enforce_landlock_allow(ruleset, devices[i], handled) == -1)
			return -1;
	/* Not alone: these are all terminals of the user. */
	if (!alone && enforce_landlock_allow(ruleset, "/dev/pts", handled) ==
	    -1)
		return -1;
	/* A root without capabilities could still write to root's files. */
	return enforce_landlock_allow(ruleset, "/proc", geteuid() == 0 ?
	    handled & LANDLOCK_READS : handled);
}

int
enforce_landlock(const struct plan *plan, bool alone, struct enforced *e,
    int *out)
{
	uint64_t	 fs = 0, net = 0, scoped = 0;
	int		 version = landlock_abi();

	*out = -1;
	if (version < 1) {
		if (!alone)
			return 0;	/* namespaces enforce it */
		snprintf(e->why, sizeof(e->why),
		    "the kernel has no Landlock");
		return -1;
	}
	if (alone && landlock_lacks(plan, e) != NULL)
		return -1;
	if (alone && !plan->writes_all && version < LANDLOCK_ABI_TRUNCATE) {
		snprintf(e->why, sizeof(e->why), "without namespaces the "
		    "kernel's Landlock (ABI %d) does not stop truncation",
		    version);
		return -1;
	}
	if (!plan->writes_all)
		fs |= landlock_writes(version);
	if (alone && !plan->reads_all)
		fs |= LANDLOCK_READS;
	if (plan->net_off && version >= LANDLOCK_ABI_TCP)
		net = LANDLOCK_TCP;
	if (version >= LANDLOCK_ABI_SCOPE)
		scoped = LANDLOCK_SCOPES;
	if ((fs | net | scoped) == 0)
		return 0;
	if ((*out = landlock_new(version, fs, net, scoped)) == -1 ||
	    add_rules(*out, plan, fs, version, alone) == -1) {
		snprintf(e->why, sizeof(e->why), "Landlock: %s",
		    strerror(errno));
		fd_close(out);
		return -1;
	}
	return 0;
}
