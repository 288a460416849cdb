/*
 * The audit log (AuditLog): an event per line, in a file that only the master
 * has open, or to syslog.  If writing fails, sessions go on and lost events are
 * counted.
 */
#pragma once

#include "common/conf/conf.h"
#include "master/logs/audit_line.h"

struct audit;
struct world;
struct peer;

/* Check the settings.  0, or -1 with the reason in e. */
int	 audit_check(const struct conf *c, struct conf_error *e) MUST_CHECK;

/* Open w->logs.audit, if configured.  0, or -1 after a line in the log. */
int	 audit_init(struct world *w) MUST_CHECK;
void	 audit_free(struct audit **ap);

/* Nothing without an audit log; audit_peer() fills in what is known of it. */
void	 audit(struct world *w, const struct audit_what *what);
void	 audit_peer(struct world *w, const struct peer *p,
	    struct audit_what what);

/* Count n events that a worker could not report. */
void	 audit_missed(struct world *w, uint64_t n);

/* Reopen the file, which was moved, or syslog. */
void	 audit_reopen(struct world *w);

/* Its state for people; malloc'd or NULL. */
char	*audit_describe(const struct world *w);
