/*
 * What a master is handed when it is executed in the place of another one, by
 * the monitor or in an upgrade: descriptors that stay open over execve(2), in
 * lines "KIND DESCRIPTOR TEXT" of the variable EXECSRV_HANDOFF.
 */
#pragma once

#include <sys/types.h>

#include <stdbool.h>

#include "common/buf.h"
#include "master/accept/activation.h"
#include "master/accept/inherited.h"

#define HANDOFF_VARIABLE	"EXECSRV_HANDOFF"
#define HANDOFF_MAX		(64 * 1024)	/* bytes of lines */

/* HANDOFF(NAME, name): a line of this kind.  Text, of the first: settings. */
#define HANDOFF_ROWS							\
	HANDOFF(LISTEN, listen)		/* socket of Listen */		\
	HANDOFF(METRICS, metrics)	/* socket of MetricsListen */	\
	HANDOFF(PASSED, passed)		/* socket passed in; its name */ \
	HANDOFF(MONITOR, monitor)	/* channel to the monitor */	\
	HANDOFF(CONTROL, control)	/* the control socket */	\
	HANDOFF(CREDENTIAL, credential)	/* see cred_keep() */		\
	HANDOFF(LOCK, lock)		/* on the run directory; its path */ \
	HANDOFF(PROGRAM, program)	/* its path */			\
	HANDOFF(WATCHER, watcher)	/* channel to it; its pid */	\
	HANDOFF(ASKER, asker)		/* who asked for the upgrade */	\
	HANDOFF(FORMER, former)		/* of an upgrade: version before */ \
	HANDOFF(FAILED, failed)		/* of a rollback: why */

enum handoff_kind {
#define HANDOFF(NAME, name)	HANDOFF_##NAME,
	HANDOFF_ROWS
#undef HANDOFF
	HANDOFF_KINDS
};

/* Of the kinds that are there once. */
struct handoff {
	int	 fd[HANDOFF_KINDS];	/* -1: none, or taken */
	char	*text[HANDOFF_KINDS];	/* NULL: none */
	bool	 is_any;		/* there was a master before us */
};

/* Take it from the environment: 0, also without any; or -1: logged. */
int	 handoff_take_env(struct handoff *h, struct inherited *in,
	    struct activation *passed) MUST_CHECK;

/* Whether there was an upgrade, also one that was rolled back. */
bool	 handoff_is_upgrade(const struct handoff *h);

/* Take a descriptor, or -1. */
int	 handoff_take(struct handoff *h, enum handoff_kind kind);
void	 handoff_fini(struct handoff *h);

/* What is handed on: lines, and the descriptors in them. */
struct handoff_lines {
	struct buf	 text;
	int		 fd[INHERITED_MAX + ACTIVATION_MAX + HANDOFF_KINDS];
	size_t		 n;
};

void	 handoff_lines_init(struct handoff_lines *l);

/* Close the descriptors at execve(2) again, and free the lines. */
void	 handoff_lines_fini(struct handoff_lines *l);

/* Add a line, and let fd (-1: none) stay open.  0, or -1 with errno. */
int	 handoff_put(struct handoff_lines *l, enum handoff_kind kind, int fd,
	    const char *text) MUST_CHECK;

struct handoff_program {
	char	 path[4096];
	char	**argv, **env;
	int	 dir;		/* working directory, or -1 */
	int	 credential;	/* kept for it, or -1 */
};

/* Note how this program was started, before anything is changed. */
void	 handoff_program_init(struct handoff_program *p, char **argv);
void	 handoff_program_fini(struct handoff_program *p);

/* Execute it with these lines.  Returns on failure, with errno. */
void	 handoff_exec(const struct handoff_program *p,
	    struct handoff_lines *l);
