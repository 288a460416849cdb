/*
 * Linked to the programs of a build with the address sanitizer.  At the end of
 * a process LeakSanitizer has a child of it look at its memory with ptrace(2).
 * That is just what our processes forbid: they are not dumpable, and a worker
 * has a real uid that is not its effective one.  A process that has come so
 * far allows it, so that its leaks are found and not only lamented.
 */
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Asked by the sanitizer before it looks; not 0: it shall not. */
int	 __lsan_is_turned_off(void);

/* Somebody else (strace) has us already, and nobody can be second. */
static int
is_traced(void)
{
	char	 line[256];
	FILE	*f;
	int	 tracer = 0;

	if ((f = fopen("/proc/self/status", "re")) == NULL)
		return 0;
	while (fgets(line, sizeof(line), f) != NULL &&
	    sscanf(line, "TracerPid: %d", &tracer) != 1)
		continue;
	fclose(f);
	return tracer != 0;
}

int
__lsan_is_turned_off(void)
{
	uid_t	 uid = geteuid();

	if (getuid() != uid && syscall(SYS_setresuid, uid, uid, uid) == -1)
		return 0;
	/* Last: a change of the uid takes it away. */
	prctl(PR_SET_DUMPABLE, 1);
	return is_traced();
}
