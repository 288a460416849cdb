#include "common/linux/landlock.h"

#include <sys/stat.h>
#include <sys/syscall.h>

#include <assert.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

struct attributes {
	uint64_t	 fs, net, scoped;
};

struct beneath {
	uint64_t	 access;
	int32_t		 fd;
} __attribute__((packed));

int
landlock_abi(void)
{
	return (int)syscall(SYS_landlock_create_ruleset, NULL, 0,
	    1 /* LANDLOCK_CREATE_RULESET_VERSION */);
}

uint64_t
landlock_writes(int abi)
{
	return LANDLOCK_WRITE_FILE | LANDLOCK_REMOVE_MAKE |
	    (abi >= 2 ? LANDLOCK_REFER : 0) |
	    (abi >= LANDLOCK_ABI_TRUNCATE ? LANDLOCK_TRUNCATE : 0);
}

int
landlock_new(int abi, uint64_t fs, uint64_t net, uint64_t scoped)
{
	struct attributes	 a = { fs, net, scoped };
	size_t			 size;
	int			 fd;

	assert(abi >= 1);
	size = abi >= LANDLOCK_ABI_SCOPE ? 24 :
	    abi >= LANDLOCK_ABI_TCP ? 16 : 8;
	fd = (int)syscall(SYS_landlock_create_ruleset, &a, size, 0);
	if (fd != -1 && fd_cloexec(fd, 1) == -1)
		fd_close(&fd);
	return fd;
}

int
landlock_allow(int ruleset, int fd, uint64_t access)
{
	struct beneath	 b;
	struct stat	 st;

	assert(ruleset != -1 && fd != -1);
	if (fstat(fd, &st) == -1)
		return -1;
	memset(&b, 0, sizeof(b));
	b.fd = fd;
	b.access = S_ISDIR(st.st_mode) ? access : access & LANDLOCK_ON_FILES;
	if (b.access == 0)
		return 0;
	return (int)syscall(SYS_landlock_add_rule, ruleset,
	    1 /* LANDLOCK_RULE_PATH_BENEATH */, &b, 0);
}

int
landlock_join(int ruleset)
{
	return (int)syscall(SYS_landlock_restrict_self, ruleset, 0);
}

/* --- */

static int
allow_reading(int ruleset, const char *const *paths)
{
	int	 fd, r = 0;

	for (; *paths != NULL && r == 0; paths++) {
		if ((fd = open(*paths, O_PATH | O_CLOEXEC)) == -1)
			continue;
		r = landlock_allow(ruleset, fd,
		    LANDLOCK_READ_FILE | LANDLOCK_READ_DIR);
		fd_close(&fd);
	}
	return r;
}

int
landlock_only_read(const char *const *paths, const char *const *more,
    bool scopes)
{
	int	 abi = landlock_abi(), ruleset, r = -1;

	if (abi < 1)
		return 0;
	if ((ruleset = landlock_new(abi,
	    LANDLOCK_READS | landlock_writes(abi), 0,
	    scopes && abi >= LANDLOCK_ABI_SCOPE ? LANDLOCK_SCOPES : 0)) == -1)
		return -1;
	if (allow_reading(ruleset, paths) == 0 &&
	    allow_reading(ruleset, more) == 0)
		r = landlock_join(ruleset);
	fd_close(&ruleset);
	return r;
}
