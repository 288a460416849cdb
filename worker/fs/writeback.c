#include "worker/fs/writeback.h"

#include <sys/stat.h>

#include <assert.h>
#include <fcntl.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/trick.h"

/* Best effort: not every file system supports it, errors are ignored. */
static void
writeback_begin(int *fdp)
{
	struct stat	 st;

	assert(*fdp != -1);
	if (fstat(*fdp, &st) == 0 && st.st_nlink > 0)
		(void)sync_file_range(*fdp, 0, 0, SYNC_FILE_RANGE_WRITE);
	fd_close(fdp);
}

void
writeback_add(struct writeback *b, int *fdp)
{
	assert(b->n <= WRITEBACK_FILES);
	if (*fdp == -1)
		return;
	if (!HAS_TRICK(writeback)) {
		writeback_begin(fdp);
		return;
	}
	if (b->n == WRITEBACK_FILES)
		writeback_flush(b);
	if (b->n == 0)
		b->due = clock_ms() + WRITEBACK_MS;
	b->fds[b->n++] = *fdp;
	*fdp = -1;
}

int
writeback_wait_ms(const struct writeback *b)
{
	uint64_t	 now;

	if (b->n == 0)
		return -1;
	now = clock_ms();
	return b->due > now ? (int)(b->due - now) : 0;
}

void
writeback_flush(struct writeback *b)
{
	assert(b->n <= WRITEBACK_FILES);
	while (b->n > 0)
		writeback_begin(&b->fds[--b->n]);
}
