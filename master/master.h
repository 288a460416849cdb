/* The master: reads nothing that a client sent. */
#pragma once

struct cred;
struct master;

/* As configured; env: master/remote/remote.h.  0, or -1 after a log line. */
int	 master_init(struct master *m, const struct cred *env);

void	 master_fini(struct master *m);

/* Serve until stopped; an exit status. */
int	 master_run(struct master *m);

/* Stop sessions with their grace period; called again: kill. */
void	 master_stop(struct master *m, const char *why);
