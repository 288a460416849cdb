#include "worker/fs/mounted_inodes.h"

#include <sys/mman.h>

#include <assert.h>
#include <stdatomic.h>
#include <string.h>

#define ROOM	8192		/* files; with more, any file may be one */

/* A seqlock: version is odd while the list is written. */
static struct {
	atomic_uint	 version;
	bool		 all;
	size_t		 n;
	struct mounted_inodes	 list[ROOM];
} *table;

int
mounted_inodes_init(void)
{
	void	*p;

	if (table != NULL)
		return 0;
	p = mmap(NULL, sizeof(*table), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return -1;
	table = p;
	return 0;
}

void
mounted_inodes_begin(void)
{
	assert(table != NULL && table->version % 2 == 0);
	atomic_fetch_add(&table->version, 1);
	table->n = 0;
	table->all = false;
}

void
mounted_inodes_add(const struct mounted_inodes *list, size_t n)
{
	assert(table->version % 2 != 0 && table->n <= ROOM);
	if (n > ROOM - table->n) {
		table->all = true;
		return;
	}
	if (n > 0)
		memcpy(table->list + table->n, list, n * sizeof(*list));
	table->n += n;
}

void
mounted_inodes_all(void)
{
	assert(table->version % 2 != 0);
	table->all = true;
}

void
mounted_inodes_end(void)
{
	assert(table->version % 2 != 0);
	atomic_fetch_add(&table->version, 1);
}

int
mounted_inodes_seal(void)
{
	return table == NULL ? 0 : mprotect(table, sizeof(*table), PROT_READ);
}

bool
mounted_inodes_has(const struct stat *st)
{
	unsigned	 version;
	size_t		 i, n;

	if (table == NULL)
		return false;
	version = atomic_load(&table->version);
	if (version % 2 != 0 || table->all || (n = table->n) > ROOM)
		return true;
	for (i = 0; i < n; i++)
		if (table->list[i].dev == st->st_dev &&
		    table->list[i].ino == st->st_ino)
			return true;
	atomic_thread_fence(memory_order_acquire);
	/* If it changed, what was read is not one consistent list. */
	return atomic_load(&table->version) != version;
}
