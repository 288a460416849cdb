#include "worker/fs/behind.h"

#include <sys/stat.h>

#include <fcntl.h>

#include "common/clock.h"
#include "common/fd.h"

/* Best effort: not every file system has it, and nobody waits. */
static void
begin(int *fdp)
{
	struct stat	 st;

	if (fstat(*fdp, &st) == 0 && st.st_nlink > 0)
		(void)sync_file_range(*fdp, 0, 0, SYNC_FILE_RANGE_WRITE);
	fd_close(fdp);
}

void
behind_add(struct behind *b, int *fdp)
{
	if (*fdp == -1)
		return;
	if (b->n == BEHIND_FILES)
		behind_flush(b);
	if (b->n == 0)
		b->due = clock_ms() + BEHIND_MS;
	b->fds[b->n++] = *fdp;
	*fdp = -1;
}

int
behind_wait_ms(const struct behind *b)
{
	uint64_t	 now;

	if (b->n == 0)
		return -1;
	now = clock_ms();
	return b->due > now ? (int)(b->due - now) : 0;
}

void
behind_flush(struct behind *b)
{
	while (b->n > 0)
		begin(&b->fds[--b->n]);
}
