/* Commands in logs (AuditLog, LogArguments). */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/ipc/ipc.h"

struct link;
struct spawn;

/* LIMIT_TOLD_ARGUMENTS */
bool	 exec_audit_fits(char *const *argv);

/* ms: its age; status, ru: of wait4(2). */
void	 exec_audit_end(struct link *link, const Ipc__Settings *set, pid_t pid,
	    int status, uint64_t ms, const struct rusage *ru);

/* To the audit log, if there is one. */
void	 exec_audit_start(struct link *link, const Ipc__Settings *set,
	    pid_t pid, bool is_sandboxed, const struct spawn *sp);
