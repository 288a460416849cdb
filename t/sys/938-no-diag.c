/*
 * 938-no-diag PROGRAM [ARG...]: run it as on a kernel without sock_diag(7).
 */
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>

#include <err.h>
#include <errno.h>
#include <stddef.h>
#include <unistd.h>

#define LOAD(at)	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (unsigned)(at))
#define ARG(n)		offsetof(struct seccomp_data, args[n])
#define ELSE(v, skip)	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (v), 0, (skip))

int
main(int argc, char *argv[])
{
	static struct sock_filter	 filter[] = {
		LOAD(offsetof(struct seccomp_data, nr)),
		ELSE(SYS_socket, 5),
		LOAD(ARG(0)), ELSE(AF_NETLINK, 3),
		LOAD(ARG(2)), ELSE(NETLINK_SOCK_DIAG, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO |
		    EPROTONOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
	};
	struct sock_fprog		 prog = {
		sizeof(filter) / sizeof(filter[0]), filter
	};

	if (argc < 2)
		errx(1, "usage: 938-no-diag PROGRAM [ARG...]");
	if (geteuid() != 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1)
		err(1, "prctl");
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog) == -1)
		err(1, "seccomp");
	execvp(argv[1], argv + 1);
	err(1, "%s", argv[1]);
}
