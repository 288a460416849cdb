/*
 * The template and the workers that wait: so many as SpareWorkers says, more
 * after a rush, none for a moment when they die quickly.  There is another
 * template after TemplateMaxForks workers.
 */
#ifndef MASTER_WORKERS_POOL_H
#define MASTER_WORKERS_POOL_H

#include "master/workers/child.h"
#include "master/world.h"

struct pool;

/* Start the template, and see it executed.  NULL after a line in the log. */
struct pool	*pool_new(struct master *m);
void		 pool_free(struct pool **pp);

/*
 * A worker for a connection: one that waits, else one being started.  NULL:
 * none can be had now.
 */
struct child	*pool_take(struct pool *p);

/* A worker that nobody had died unasked or lied; a worker is settled. */
void		 pool_on_death(struct pool *p);
void		 pool_on_child_gone(struct pool *p, const struct child *c);

/* A process of ours ended; whether it was the template. */
bool		 pool_on_exit(struct pool *p, pid_t pid, int status);

/* SpareWorkers has changed. */
void		 pool_reload(struct pool *p);

/* No more workers; let go those that wait. */
void		 pool_stop(struct pool *p);

/* Whether the template ended without having done anything, or does nothing. */
bool		 pool_is_broken(const struct pool *p);

/* Whether a process is a template; whether there is none; end all. */
bool		 pool_has(const struct pool *p, pid_t pid);
bool		 pool_is_gone(const struct pool *p);
void		 pool_kill(struct pool *p);

/* What the host lets sandboxes of ordinary users be made of, for people. */
const char	*pool_sandbox(const struct pool *p);

size_t		 pool_spare(const struct master *m);

#endif
