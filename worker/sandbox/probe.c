#include "worker/sandbox/probe.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/ipc/ipc.h"
#include "common/log.h"
#include "worker/os/privdrop.h"
#include "worker/sandbox/enforce.h"
#include "worker/sandbox/sockmark.h"

static void
probe_send(int sock, const char *text)
{
	Ipc__Ability	 out = IPC__ABILITY__INIT;

	out.sandbox = (char *)(uintptr_t)text;
	/* EPIPE: the daemon has ended meanwhile. */
	if (ipc_send(sock, IPC_ability, &out, -1) == -1 && errno != EPIPE)
		log_warn("cannot report the means of sandboxing");
}

/* Confined like a holder, add what commands add. */
static void
probe_send_all(int sock, const struct enforced *e)
{
	char		 text[ENFORCE_WHY + 300], network[100] = "";
	bool		 is_alone = e->nsset.fds[NSSET_USER] == -1;
	const char	*how = is_alone ? e->why :
			    e->nsset.fds[NSSET_RULESET] == -1 ? "namespaces" :
			    "namespaces and Landlock";
	int		 error = sockmark_try();

	if (error != 0)
		snprintf(network, sizeof(network), "; no network in it while "
		    "we listen on ws: %s", strerror(error));
	snprintf(text, sizeof(text), "%s%s%s", how, is_alone ? "; not "
	    "protected: modes, owners, times and attributes of files if "
	    "anything may be written, and .git and the like where they do "
	    "not exist" : "", network);
	probe_send(sock, text);
}

/* Read all but one path, write nothing, no network. */
static void
probe(int sock)
{
	static char		 root[] = "/", hidden[] = "/dev/null/x";
	struct plan_rule	 rules[] = {
		{ PLAN_READ, false, root, false },
		{ PLAN_DENY, true, hidden, false }
	};
	struct plan		 plan;
	struct enforced		 e;

	memset(&plan, 0, sizeof(plan));
	memset(&e, 0, sizeof(e));
	plan.net_off = true;
	plan.rules = rules;
	plan.n = sizeof(rules) / sizeof(rules[0]);
	nsset_init(&e.nsset);
	switch (enforce(&plan, NULL, -1, &e)) {
	case 0:
			break;			/* the holder answers */
	case 1:
		probe_send_all(sock, &e);
		break;
	default:
		probe_send(sock, e.why);
	}
}

void
probe_start(int sock)
{
	pid_t	 pid;

	if ((pid = fork()) == -1)
		log_warn("cannot fork to probe for sandboxing");
	if (pid != 0)
		return;
	signal(SIGCHLD, SIG_DFL);
	log_set_role("probe");
	privdrop_anybody();
	probe(sock);
	_exit(0);
}
