/* What the audit log is told of commands (AuditLog, LogArguments). */
#ifndef WORKER_TOLD_H
#define WORKER_TOLD_H

struct proc;
struct spawn;

/* A process was started, of which that much is known; if it wants to know. */
void	 told_start(const struct proc *p, const struct spawn *sp);

#endif
