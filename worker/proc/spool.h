/* Memory of an unlinked file, freed in parts: the kernel can write it out. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SPOOL_PART	((size_t)1024 * 1024)

struct spool_part {
	TAILQ_ENTRY(spool_part)	 entry;
	uint64_t		 offset;
	uint8_t			*at;		/* NULL: unused */
	size_t			 used;		/* bytes from its start */
	size_t			 left;		/* allocations not freed */
};

/* Embedded; private. */
struct spool {
	int			 fd;		/* -1: no file */
	uint64_t		 size;		/* of the file */
	TAILQ_HEAD(spool_parts, spool_part) parts;	/* last: current */
	struct spool_parts	 unused;	/* free space in the file */
	bool			 is_coherent;	/* spool_is_coherent() */
};

void	 spool_init(struct spool *s);

/* With all in it. */
void	 spool_fini(struct spool *s);

/* Aligned for any type; *part_out is for spool_free().  NULL with errno. */
void	*spool_alloc(struct spool *s, size_t len, struct spool_part **part_out)
	    MUST_CHECK;

/*
 * Copy to an allocation, by write(2): it costs a fraction of the page faults of
 * writing to the memory.
 */
void	 spool_write(struct spool *s, const struct spool_part *p, void *to,
	    const void *data, size_t len);

/*
 * Whether the part shows what is written to the file, and keeps what was stored
 * beside it, which network file systems do not promise.  For a new part.
 */
bool	 spool_is_coherent(int fd, struct spool_part *p);

/* One allocation. */
void	 spool_free(struct spool *s, struct spool_part *p);
