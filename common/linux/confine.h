/* What we give up before reading foreign bytes.  0, or -1 with errno. */
#pragma once

#include <sys/resource.h>

#include <stdbool.h>

#include "common/linux/bpf.h"

/* Die with the parent's thread, even if hung.  A change of ids undoes it. */
int	 confine_to_parent(void) MUST_CHECK;

/* No ptrace(2), which a change of ids undoes; no core, no new privileges. */
int	 confine_early(void) MUST_CHECK;

/* Hard and soft. */
int	 confine_limit(__rlimit_resource_t what, rlim_t n) MUST_CHECK;

/* Whether to confine no further (measured.h); logs it. */
bool	 confine_is_off(void);

/* A kernel without filters is no error. */
int	 confine_calls(const struct sock_filter *filter, size_t n) MUST_CHECK;

#define CONFINE_CALLS(table)						\
	confine_calls((table), sizeof(table) / sizeof((table)[0]))
