#include "common/linux/bpf.h"

#include <stdint.h>
#include <unistd.h>

int
bpf_install(const struct sock_filter *filter, size_t n)
{
	struct sock_fprog	 prog;

	prog.filter = (struct sock_filter *)(uintptr_t)filter;
	prog.len = (unsigned short)n;
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}
