/* The template, replaced after TemplateMaxForks, and the spare workers. */
#pragma once

#include "master/workers/child.h"

struct pool;
struct world;

/* Waits for the template's exec.  NULL after a line in the log. */
struct pool	*pool_new(struct world *w, struct children *cs);
void		 pool_free(struct pool **pp);

/* A spare worker, else one being started; NULL: none can be now. */
struct child	*pool_take(struct pool *p);

/* on_early_death, on_settled of struct child_events. */
void		 pool_on_death(struct pool *p);
void		 pool_on_child_gone(struct pool *p, const struct child *c);

/* A child process was reaped.  Whether it was a template. */
bool		 pool_on_exit(struct pool *p, pid_t pid, int status);

/* Apply changed settings. */
void		 pool_reload(struct pool *p);

/* Start no more workers, and let templates exit. */
void		 pool_stop(struct pool *p);

/* Whether the template exited without an answer, or does not answer. */
bool		 pool_is_broken(const struct pool *p);

/* Whether a process is a template; whether there is none; kill all. */
bool		 pool_has(const struct pool *p, pid_t pid);
bool		 pool_is_gone(const struct pool *p);
void		 pool_kill(struct pool *p);

/* What sandboxes of ordinary users can use on this host, as text. */
const char	*pool_sandbox(const struct pool *p);
