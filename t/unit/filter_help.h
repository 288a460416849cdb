/*
 * What a filter of system calls (seccomp(2)) says of each, without any being
 * made: below it lies one that answers whatever it lets through.
 */
#pragma once

#include <sys/resource.h>
#include <sys/syscall.h>

#include <stdbool.h>
#include <stddef.h>

#define FILTER_CALLS	512	/* more than there are */
#define FILTER_LETS	0	/* verdicts: this, an error, ... */
#define FILTER_KILLS	-1

/* A call, and the verdict on it. */
struct filter_case {
	long		 nr;
	unsigned long	 arg[5];
	int		 verdict;
};

#define FILTER_CASE(verdict, name, ...)					\
	{ SYS_##name, { __VA_ARGS__ }, verdict }

/* What neither sandboxed commands nor execsrv-http may call. */
#define FILTER_NEVER							\
	SYS_ptrace, SYS_process_vm_readv, SYS_process_vm_writev,	\
	SYS_kcmp, SYS_pidfd_getfd, SYS_process_madvise,			\
	SYS_io_uring_setup, SYS_io_uring_enter, SYS_io_uring_register,	\
	SYS_keyctl, SYS_add_key, SYS_request_key, SYS_bpf,		\
	SYS_perf_event_open, SYS_userfaultfd, SYS_mount, SYS_umount2,	\
	SYS_pivot_root, SYS_chroot, SYS_move_mount, SYS_open_tree,	\
	467 /* open_tree_attr */, SYS_fsopen, SYS_fsconfig,		\
	SYS_fsmount, SYS_fspick, SYS_mount_setattr, SYS_setns,		\
	SYS_open_by_handle_at,						\
	SYS_swapon, SYS_swapoff, SYS_reboot, SYS_acct, SYS_quotactl,	\
	SYS_kexec_load, SYS_init_module, SYS_finit_module,		\
	SYS_delete_module

/*
 * Let a child install a filter, and fail the test if the verdict on any call
 * without arguments is not usual, or special if it is in the list of n calls,
 * or ENOSYS for the one that is absent (-1: none); or is another one than a
 * case says.  kills: the filter does, and each call wants a child of its own.
 */
void	 filter_check(void (*install)(void), int usual, int special,
	    const long *list, size_t n, bool kills, long absent);
void	 filter_check_cases(void (*install)(void),
	    const struct filter_case *cases, size_t n, bool kills);

/* Whether a child that calls as another architecture would is killed. */
bool	 filter_kills_foreign(void (*install)(void));

/* The hard resource limit of a child that has installed it. */
rlim_t	 filter_limit(void (*install)(void), int what);

/* In install functions: the child ends as a failure unless it is true. */
void	 filter_must(bool claim);
