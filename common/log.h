/*
 * The log: a line per event, to standard error, syslog or a file.  Never log
 * output bytes, environment, tokens or file contents.
 *
 * The state in log.c is the only mutable global state of our programs.  A line
 * is one write(2) that never blocks: a full pipe loses it.  Control characters,
 * invalid UTF-8 (as \xHH) and backslashes are escaped.
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
 * how is a word, so that it can be passed to other programs:
 * TARGET[,json][,FACILITY], where TARGET is one of
 *
 *	stderr	standard error
 *	journal	the same, with priorities for a service manager (sd-daemon(3))
 *	syslog	its socket; FACILITY is a number of syslog(3) (LOG_DAEMON)
 *	file	standard error or log_set_fd(), with the time
 *
 * NULL: stderr, or journal if stderr is one.  role begins each line.
 */
void	 log_init(const char *role, enum log_level level, const char *how);

/* Change one of them later. */
void	 log_set_level(enum log_level level);
void	 log_set_role(const char *role);
void	 log_set_how(const char *how);

/* Return the current one, for log_init() in another program. */
const char	*log_how(void);

/* Whether standard error is unused by the log. */
bool	 log_is_syslog(void);

/* Return "journal" if standard error is one (JOURNAL_STREAM), else "stderr". */
const char	*log_stderr_how(void);

/* Set the file for "file", STDERR_FILENO for none. */
void	 log_set_fd(int fd);

/* Reopen the destination after rotation or restart; call fn for a log file. */
void	 log_set_reopen(void (*fn)(void *), void *arg);
void	 log_reopen(void);

/*
 * Copy a peer's name as a word for logs and tables, which it cannot forge:
 * printable ASCII without blanks, '?' for all else, and a NUL.
 */
void	 log_word(char *out, size_t size, const char *text, size_t len);

/* Name the session in all further lines; 0: none. */
void	 log_set_session(unsigned number);

#define LOG_FORMAT(n)	PRINTF(n, n + 1)

void	 log_debug(const char *fmt, ...) LOG_FORMAT(1);
void	 log_info(const char *fmt, ...) LOG_FORMAT(1);
void	 log_warn(const char *fmt, ...) LOG_FORMAT(1);	/* with errno */
void	 log_warnx(const char *fmt, ...) LOG_FORMAT(1);

/*
 * A line that in JSON has members of its own besides its text: until one
 * without a key; text NULL: a number.  What does not fit with the text is left
 * out.
 */
struct log_member {
	const char		*key;
	const char		*text;
	unsigned long long	 n;
};
void	 log_info_with(const struct log_member *members, const char *fmt, ...)
	    LOG_FORMAT(2);

/* Log and exit(1): at start-up, or when an invariant of ours is broken. */
void	 fatal(const char *fmt, ...) LOG_FORMAT(1) NORETURN;
void	 fatalx(const char *fmt, ...) LOG_FORMAT(1) NORETURN;
