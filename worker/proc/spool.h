/*
 * Memory that is a file's without a name, so that the kernel can write it to
 * the disk: for output that nobody may ever ask for again.  What is freed is
 * given back to the disk as well, in parts of SPOOL_PART bytes.
 */
#ifndef WORKER_PROC_SPOOL_H
#define WORKER_PROC_SPOOL_H

#include <sys/queue.h>

#include <stddef.h>
#include <stdint.h>

#define SPOOL_PART	((size_t)1024 * 1024)

struct spool_part {
	TAILQ_ENTRY(spool_part)	 entry;
	uint64_t		 offset;
	uint8_t			*at;		/* NULL: free */
	size_t			 used;		/* bytes, from its beginning */
	size_t			 left;		/* pieces not freed */
};

/* Embedded; members are private. */
struct spool {
	int			 fd;		/* -1: no file yet */
	uint64_t		 size;		/* of the file */
	TAILQ_HEAD(spool_parts, spool_part) parts;	/* the last: in use */
	struct spool_parts	 unused;	/* room in the file */
};

void	 spool_init(struct spool *s);

/* Everything in it is gone. */
void	 spool_fini(struct spool *s);

/*
 * len bytes, aligned for any type; *part_out is what spool_free() wants.
 * NULL with errno: too long for a part, no room on the disk, or no file.
 */
void	*spool_alloc(struct spool *s, size_t len, struct spool_part **part_out)
	    __attribute__((warn_unused_result));

/* A piece of that part is not needed any more. */
void	 spool_free(struct spool *s, struct spool_part *p);

#endif
