/*
 * One line for one event, to standard error (with a priority prefix as
 * sd-daemon(3) when a service manager reads it) or to syslog.  The prefix
 * (role, process id, session) is set once. Never log output bytes,
 * environment, tokens or file contents.
 *
 * The only mutable global of the house lives here.  Lines go out in one
 * write(2), never block (a full pipe loses the line), and control characters
 * in them are replaced.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

/* Start logging as role ("master", "worker"); syslog or standard error. */
void	 log_init(const char *role, enum log_level level, bool to_syslog);

/* Another level, role or destination from here on. */
void	 log_set_level(enum log_level level);
void	 log_set_role(const char *role);
void	 log_set_syslog(bool to_syslog);

/* Open the destination anew: its file was moved away, its daemon restarted. */
void	 log_reopen(void);

/* The session that further lines are about; 0: none. */
void	 log_set_session(unsigned number);

#define LOG_FORMAT(n)	__attribute__((format(printf, n, n + 1)))

void	 log_debug(const char *fmt, ...) LOG_FORMAT(1);
void	 log_info(const char *fmt, ...) LOG_FORMAT(1);
void	 log_warn(const char *fmt, ...) LOG_FORMAT(1);	/* with errno */
void	 log_warnx(const char *fmt, ...) LOG_FORMAT(1);

/* For start-up and for our own broken promises: log, then exit(1). */
void	 fatal(const char *fmt, ...) LOG_FORMAT(1) __attribute__((noreturn));
void	 fatalx(const char *fmt, ...) LOG_FORMAT(1) __attribute__((noreturn));

#endif
