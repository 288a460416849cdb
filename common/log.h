/*
 * The log: a line per event, to standard error, syslog or a file; a full pipe
 * loses it.  Control characters, invalid UTF-8 and backslashes are escaped.
 * Never log output bytes, environment, tokens or file contents.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum log_level {
	LOG_LEVEL_ERROR,
	LOG_LEVEL_WARNING,
	LOG_LEVEL_INFO,
	LOG_LEVEL_DEBUG
};

#define LOG_HOW_MAX	32

/*
 * role begins each line.  how: TARGET[,json][,FACILITY], as a word that other
 * programs can be given; TARGET is one of
 *
 *	stderr	standard error
 *	journal	the same, with priorities for a service manager (sd-daemon(3))
 *	syslog	its socket; FACILITY is a number of syslog(3) (LOG_DAEMON)
 *	file	standard error or log_set_fd(), with the time
 *
 * NULL: log_stderr_how().
 */
void	 log_init(const char *role, enum log_level level, const char *how);

void	 log_set_level(enum log_level level);
void	 log_set_role(const char *role);
void	 log_set_how(const char *how);

/* Return what log_init() in another program needs. */
const char	*log_how(void);

/* Whether standard error is unused by the log. */
bool	 log_is_syslog(void);

/* Return "journal" if standard error is one (JOURNAL_STREAM), else "stderr". */
const char	*log_stderr_how(void);

/* For "file"; STDERR_FILENO: none. */
void	 log_set_fd(int fd);

/* Reopen after rotation or restart; a log file by fn. */
void	 log_set_reopen(void (*fn)(void *), void *arg);
void	 log_reopen(void);

/* Copy a peer's name, anything but visible ASCII as '?', with a NUL. */
void	 log_word(char *out, size_t size, const char *text, size_t len);

/* In all further lines; 0: none. */
void	 log_set_session(unsigned number);

#define LOG_FORMAT(n)	PRINTF(n, n + 1)

void	 log_debug(const char *fmt, ...) LOG_FORMAT(1);
void	 log_info(const char *fmt, ...) LOG_FORMAT(1);
void	 log_warn(const char *fmt, ...) LOG_FORMAT(1);	/* with errno */
void	 log_warnx(const char *fmt, ...) LOG_FORMAT(1);

/* In JSON, with members, as far as they fit, up to one without a key. */
struct log_member {
	const char		*key;
	const char		*text;
	unsigned long long	 n;
};
void	 log_info_with(const struct log_member *members, const char *fmt, ...)
	    LOG_FORMAT(2);

/* Log and exit(1): at start-up, or when our own invariant is broken. */
void	 fatal(const char *fmt, ...) LOG_FORMAT(1) NORETURN;
void	 fatalx(const char *fmt, ...) LOG_FORMAT(1) NORETURN;
