/*
 * What programs of ours that read foreign bytes give up before anything else.
 * Each returns 0, or -1 with errno.
 */
#pragma once

#include <sys/resource.h>

#include <stdbool.h>

#include "common/linux/bpf.h"

/*
 * Be killed when the parent's thread ends: also a process that hangs, and does
 * not see its channel close.  A change of ids undoes it.
 */
int	 confine_to_parent(void) MUST_CHECK;

/* No ptrace(2), which a change of ids undoes; no core, no new privileges. */
int	 confine_early(void) MUST_CHECK;

/* Set both limits. */
int	 confine_limit(__rlimit_resource_t what, rlim_t n) MUST_CHECK;

/* Whether to confine no further: a measured program.  Logs it. */
bool	 confine_is_off(void);

/* Install a filter.  A kernel without filters is no error. */
int	 confine_calls(const struct sock_filter *filter, size_t n) MUST_CHECK;

#define CONFINE_CALLS(table)						\
	confine_calls((table), sizeof(table) / sizeof((table)[0]))
