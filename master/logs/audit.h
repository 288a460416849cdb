/*
 * The audit log (AuditLog): who did what here, an event a line, for those who
 * have to find out later.  The master writes it, to a file that only it has
 * open, or to syslog.  A daemon that is to keep one and cannot does not start;
 * when it cannot any more, sessions go on, and what is lost is counted.
 */
#ifndef MASTER_LOGS_AUDIT_H
#define MASTER_LOGS_AUDIT_H

#include "common/conf/conf.h"
#include "master/logs/audit_line.h"

struct audit;
struct master;
struct peer;

/* Whether a configuration says where, if at all.  0, or -1 with the reason. */
int	 audit_check(const struct conf *c, struct conf_error *e)
	    __attribute__((warn_unused_result));

/*
 * Open it, m->audit, if there is to be one.  0, or -1 after a line in the
 * log.
 */
int	 audit_init(struct master *m) __attribute__((warn_unused_result));
void	 audit_free(struct audit **ap);

/* Tell it something; m may have none. */
void	 audit(struct master *m, const struct audit_what *what);

/* The same about a peer: who that is, and where, is filled in. */
void	 audit_peer(struct master *m, const struct peer *p,
	    struct audit_what what);

/* So many were not told by who should have. */
void	 audit_missed(struct master *m, uint64_t n);

/* Its file was moved away, or its daemon started again. */
void	 audit_reopen(struct master *m);

/* How it stands, for people; malloc'd or NULL. */
char	*audit_describe(const struct master *m);

#endif
