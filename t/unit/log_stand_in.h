/*
 * In the place of the log, for the one file that includes this: did() has the
 * lines.  A test that ends by fatal() or fatalx() is one of
 * tcase_add_exit_test(), with FATAL_EXIT.
 */
#pragma once

#include <check.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "t/unit/did_help.h"

#define FATAL_EXIT	7

static const char	*want_fatal;	/* its line */

#define LOG_STAND_IN(name)						\
	void								\
	name(const char *format, ...)					\
	{								\
		char	 text[400];					\
		va_list	 ap;						\
									\
		va_start(ap, format);					\
		vsnprintf(text, sizeof(text), format, ap);		\
		va_end(ap);						\
		did(#name ": %s", text);				\
	}
LOG_STAND_IN(log_info)
LOG_STAND_IN(log_warn)
LOG_STAND_IN(log_warnx)

#define FATAL_STAND_IN(name)						\
	void								\
	name(const char *format, ...)					\
	{								\
		char	 text[400];					\
		va_list	 ap;						\
									\
		va_start(ap, format);					\
		vsnprintf(text, sizeof(text), format, ap);		\
		va_end(ap);						\
		if (want_fatal == NULL || strcmp(text, want_fatal) != 0) \
			ck_abort_msg(#name ": %s", text);		\
		_exit(FATAL_EXIT);					\
	}
FATAL_STAND_IN(fatal)
FATAL_STAND_IN(fatalx)
