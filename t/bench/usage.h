/*
 * What a server costs: sums over the process whose id is given and those of
 * its descendants that are server programs too (workers, not commands).
 * Workers are not dumpable: only root can measure them (also while acting for
 * another, seteuid(2)); others end here.
 */
#pragma once

#include <sys/types.h>

/* User and system time so far, in seconds. */
double	 usage_cpu(pid_t);

/* The same, and that of all that the process has reaped: workers. */
double	 usage_cpu_reaped(pid_t);

/* Proportional set size, in KiB, and its anonymous part. */
double	 usage_pss(pid_t);
double	 usage_anon(pid_t);
