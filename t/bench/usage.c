#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t/bench/usage.h"

#define PROCS_MAX	32768

struct proc {
	pid_t		pid, parent;
	unsigned long	ticks;
	unsigned long	reaped;		/* those of children that it reaped */
	bool		counts;
};

struct procs {
	struct proc	v[PROCS_MAX];
	size_t		n;
};

/* Is it a server, by the name of its executable? Its commands are not. */
static bool
is_server(pid_t pid)
{
	static const char *const names[] = { "execsrv", "codex" };
	char		 path[64], exe[4096];
	const char	*name;
	ssize_t		 n;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	if ((n = readlink(path, exe, sizeof(exe) - 1)) == -1) {
		if (errno != ENOENT && errno != ESRCH)
			err(1, "%s (be root)", path);
		return false;
	}
	exe[n] = '\0';
	name = strrchr(exe, '/');
	name = name == NULL ? exe : name + 1;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

/* Read parent and times; -1 when the process has gone. */
static int
read_proc(pid_t pid, struct proc *p)
{
	char		 path[64], text[1024];
	const char	*rest;
	unsigned long	 user, sys;
	long		 user_reaped, sys_reaped;
	FILE		*f;
	size_t		 n;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	if ((f = fopen(path, "re")) == NULL)
		return -1;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	/* The name may hold anything, also brackets. */
	if ((rest = strrchr(text, ')')) == NULL || sscanf(rest, ") %*c %d "
	    "%*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld", &p->parent,
	    &user, &sys, &user_reaped, &sys_reaped) != 5)
		return -1;
	p->pid = pid;
	p->ticks = user + sys;
	p->reaped = (unsigned long)(user_reaped + sys_reaped);
	p->counts = false;
	return 0;
}

static void
mark_children(struct procs *all, pid_t parent)
{
	for (size_t i = 0; i < all->n; i++) {
		struct proc	*p = &all->v[i];

		if (p->counts || p->parent != parent || !is_server(p->pid))
			continue;
		p->counts = true;
		mark_children(all, p->pid);
	}
}

/* All processes, those of this server marked. */
static void
read_tree(pid_t root, struct procs *all)
{
	DIR		*d;
	struct dirent	*e;

	all->n = 0;
	if ((d = opendir("/proc")) == NULL)
		err(1, "/proc");
	while ((e = readdir(d)) != NULL && all->n < PROCS_MAX)
		if (isdigit((unsigned char)e->d_name[0]) &&
		    read_proc(atoi(e->d_name), &all->v[all->n]) == 0)
			all->n++;
	closedir(d);
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].pid == root)
			all->v[i].counts = true;
	mark_children(all, root);
}

/* Act for another user; whom it was for so far. */
static uid_t
become(uid_t uid)
{
	uid_t	was = geteuid();

	if (was != uid && seteuid(uid) == -1)
		err(1, "user %u", (unsigned)uid);
	return was;
}

static struct procs *
tree(pid_t root)
{
	struct procs	*all;

	if ((all = malloc(sizeof(*all))) == NULL)
		err(1, "processes");
	read_tree(root, all);
	return all;
}

static double
cpu_of(pid_t root, bool with_reaped)
{
	uid_t		 was = become(getuid());
	struct procs	*all = tree(root);
	unsigned long	 ticks = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].counts)
			ticks += all->v[i].ticks + (with_reaped &&
			    all->v[i].pid == root ? all->v[i].reaped : 0);
	free(all);
	become(was);
	return (double)ticks / (double)sysconf(_SC_CLK_TCK);
}

double
usage_cpu(pid_t root)
{
	return cpu_of(root, false);
}

double
usage_cpu_reaped(pid_t root)
{
	return cpu_of(root, true);
}

/* A line of smaps_rollup; 0 when the process has gone. */
static double
read_rollup(pid_t pid, const char *key)
{
	char	 path[64], line[256];
	double	 kib = 0;
	FILE	*f;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", (int)pid);
	if ((f = fopen(path, "re")) == NULL) {
		if (errno != ENOENT && errno != ESRCH)
			err(1, "%s (be root)", path);
		return 0;
	}
	while (fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtod(line + strlen(key), NULL);
	fclose(f);
	return kib;
}

static double
sum_rollup(pid_t root, const char *key)
{
	uid_t		 was = become(getuid());
	struct procs	*all = tree(root);
	double		 kib = 0;

	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].counts)
			kib += read_rollup(all->v[i].pid, key);
	free(all);
	become(was);
	return kib;
}

double
usage_pss(pid_t root)
{
	return sum_rollup(root, "Pss:");
}

double
usage_anon(pid_t root)
{
	return sum_rollup(root, "Pss_Anon:");
}
