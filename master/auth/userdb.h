/*
 * Users by uid, for their sessions: name, home, shell, groups.  Each is looked
 * up once, until the configuration is read again, by a process of its own.
 */
#pragma once

#include <sys/types.h>

#include <event2/event.h>

#include <stdbool.h>

#include "common/ipc/ipc.h"

struct userdb;

enum userdb_state {
	USERDB_ASKED,		/* not known yet: on_news will be called */
	USERDB_KNOWN,		/* also that there is no such user */
	USERDB_FAILED		/* it cannot be known now */
};

/* on_news: some users may be known now that were asked for. */
struct userdb	*userdb_new(struct event_base *base,
		    void (*on_news)(void *arg), void *arg);

/* Kills processes that look up; they are not waited for. */
void		 userdb_free(struct userdb **dp);

/* Find, or begin to look up.  KNOWN: *out is valid until the next call here. */
enum userdb_state userdb_find(struct userdb *d, uid_t uid,
		    const Ipc__User **out);

/* If it is known, valid until the next call; else NULL. */
const char	*userdb_name(const struct userdb *d, uid_t uid);

/* Forget all, since the configuration was read again. */
void		 userdb_flush(struct userdb *d);

/* Whether a process looks up for us; it was reaped: whether it did. */
bool		 userdb_has(const struct userdb *d, pid_t pid);
bool		 userdb_on_exit(struct userdb *d, pid_t pid);
