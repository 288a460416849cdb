/*
 * One line for one event, to standard error, syslog or a file.  Its beginning
 * (role, process id, session) is set once.  Never log output bytes,
 * environment, tokens or file contents.
 *
 * The only mutable global state of our programs is here.  Lines go out in one
 * write(2) and never block (a full pipe loses the line).  Whatever is in the
 * text, it stays one line, and a terminal takes no orders from it: control
 * characters, and bytes that are no UTF-8, are written as \xHH, a backslash as
 * two.
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

#define LOG_HOW_MAX	32

/*
 * How lines are written is a word, so that it can be handed to programs that
 * are started: TARGET[,json][,FACILITY].  Targets:
 *
 *	stderr	standard error
 *	journal	the same, with priorities for a service manager (sd-daemon(3))
 *	syslog	its socket; FACILITY is a number of syslog(3) (LOG_DAEMON)
 *	file	standard error or log_set_fd(), with the time
 */

/* Start logging as role ("execsrvd", "worker").  NULL: stderr or journal. */
void	 log_init(const char *role, enum log_level level, const char *how);

/* Another level, role or way from here on. */
void	 log_set_level(enum log_level level);
void	 log_set_role(const char *role);
void	 log_set_how(const char *how);

/* As it is now, for log_init(). */
const char	*log_how(void);

/* Whether nothing of ours goes to standard error. */
bool	 log_is_syslog(void);

/* "journal" if our standard error is one (JOURNAL_STREAM), else "stderr". */
const char	*log_stderr_how(void);

/* Lines of "file" go there, at its end; STDERR_FILENO: to standard error. */
void	 log_set_fd(int fd);

/* What log_reopen() shall call for a file that is not ours; NULL: nothing. */
void	 log_set_reopen(void (*fn)(void *), void *arg);

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
