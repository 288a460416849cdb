/* What logs are told of commands (AuditLog, LogArguments). */
#ifndef WORKER_TOLD_H
#define WORKER_TOLD_H

#include <stdbool.h>

struct proc;
struct spawn;

/* Whether there is room for all of these arguments (LIMIT_TOLD_ARGUMENTS). */
bool	 told_fits(char *const *argv);

/* A process was started: the audit log's business, if there is one. */
void	 told_start(const struct proc *p, const struct spawn *sp);

#endif
