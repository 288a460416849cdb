/* seccomp(2) filters.  A test skips the next t (true) or f (false). */
#pragma once

#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <errno.h>
#include <stddef.h>

#if defined(__x86_64__)
#define BPF_ARCH	AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define BPF_ARCH	AUDIT_ARCH_AARCH64
#else
#error "which audit architecture is this?"
#endif

#define BPF_FIELD(f)	((unsigned)offsetof(struct seccomp_data, f))
#define LOAD(f)		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, BPF_FIELD(f))
/* The lower half of a 64-bit argument. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define LOAD_ARG(n)	LOAD(args[n])
#define LOAD_HIGH(n)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS,		\
	BPF_FIELD(args[n]) + 4)
#else
#error "the lower half of an argument comes second here"
#endif
#define AND(v)		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, (v))
#define RETURN(v)	BPF_STMT(BPF_RET | BPF_K, (v))
#define REFUSE(e)	RETURN(SECCOMP_RET_ERRNO | (e))
#define ALLOW		RETURN(SECCOMP_RET_ALLOW)
#define IF_EQ(v, t, f)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (v), (t), (f))
#define IF_ANY(v, t, f)	BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (v), (t), (f))
#define IF_GE(v, t, f)	BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (v), (t), (f))

/* EPERM.  The number is loaded, here and for MAY(). */
#define NEVER(name)	IF_EQ(SYS_##name, 0, 1), REFUSE(EPERM)

/* Our architecture only; then the number is loaded. */
#define BPF_HEAD							\
	LOAD(arch), IF_EQ(BPF_ARCH, 1, 0), RETURN(SECCOMP_RET_KILL_PROCESS), \
	LOAD(nr)

#define MAY(name)	IF_EQ(SYS_##name, 0, 1), ALLOW

#ifdef SYS_poll
#define BPF_OLD		MAY(poll), MAY(stat), MAY(time)
#else
#define BPF_OLD		MAY(ppoll)
#endif

/* Memory, time, open descriptors, and the end. */
#define BPF_BASICS							\
	BPF_OLD,							\
	MAY(read), MAY(write), MAY(readv), MAY(writev), MAY(close),	\
	MAY(recvfrom), MAY(recvmsg), MAY(sendto), MAY(sendmsg),		\
	MAY(ppoll), MAY(mmap), MAY(munmap), MAY(mremap), MAY(mprotect),	\
	MAY(madvise), MAY(brk), MAY(mlock), MAY(munlock), MAY(futex),	\
	MAY(clock_gettime), MAY(clock_nanosleep), MAY(gettimeofday),	\
	MAY(getrandom), MAY(getpid), MAY(gettid), MAY(getuid),		\
	MAY(geteuid), MAY(fcntl), MAY(dup), MAY(dup3), MAY(fstat),	\
	MAY(newfstatat), MAY(lseek), MAY(ioctl), MAY(exit),		\
	MAY(exit_group),						\
	MAY(rt_sigreturn), MAY(rt_sigprocmask), MAY(rt_sigaction),	\
	MAY(restart_syscall), MAY(tgkill), MAY(uname), MAY(sysinfo),	\
	MAY(rseq), MAY(pipe2), MAY(sched_yield)

/* After PR_SET_NO_NEW_PRIVS.  0, or -1 with errno.  A system call only. */
int	 bpf_install(const struct sock_filter *filter, size_t n) MUST_CHECK;

#define BPF_INSTALL(table)						\
	bpf_install((table), sizeof(table) / sizeof((table)[0]))
