#include "worker/proc/spool.h"

#include <sys/mman.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"

#define ALIGN		(sizeof(max_align_t))

void
spool_init(struct spool *s)
{
	s->fd = -1;
	s->size = 0;
	s->is_coherent = false;
	TAILQ_INIT(&s->parts);
	TAILQ_INIT(&s->unused);
}

void
spool_fini(struct spool *s)
{
	struct spool_part	*p;

	while ((p = TAILQ_FIRST(&s->parts)) != NULL) {
		TAILQ_REMOVE(&s->parts, p, entry);
		munmap(p->at, SPOOL_PART);
		free(p);
	}
	while ((p = TAILQ_FIRST(&s->unused)) != NULL) {
		TAILQ_REMOVE(&s->unused, p, entry);
		free(p);
	}
	fd_close(&s->fd);
}

/* In /var/tmp, where disks are large; not every file system has O_TMPFILE. */
static int
spool_open_file(void)
{
	static const char *const	 dirs[] = { "/var/tmp", "/tmp" };
	char				 name[] = "/tmp/execsrv.XXXXXX";
	size_t				 i;
	int				 fd;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if ((fd = open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC |
		    O_EXCL, 0600)) != -1)
			return fd;
	if ((fd = mkostemp(name, O_CLOEXEC)) != -1)
		unlink(name);
	return fd;
}

bool
spool_is_coherent(int fd, struct spool_part *p)
{
	p->at[0] = 1;
	p->at[1] = 1;
	return pwrite(fd, "\2", 1, (off_t)p->offset + 1) == 1 &&
	    p->at[0] == 1 && p->at[1] == 2;
}

/* Allocate disk space now: a full disk would be a SIGBUS later. */
static int
open_part(struct spool *s, struct spool_part *p)
{
	assert(p->at == NULL);
	if (s->fd == -1 && (s->fd = spool_open_file()) == -1)
		return -1;
	if ((errno = posix_fallocate(s->fd, (off_t)p->offset,
	    (off_t)SPOOL_PART)) != 0)
		return -1;
	p->at = mmap(NULL, SPOOL_PART, PROT_READ | PROT_WRITE, MAP_SHARED,
	    s->fd, (off_t)p->offset);
	if (p->at == MAP_FAILED) {
		p->at = NULL;
		return -1;
	}
	p->used = p->left = 0;
	if (!s->is_coherent)
		s->is_coherent = spool_is_coherent(s->fd, p);
	return 0;
}

static struct spool_part *
new_part(struct spool *s)
{
	struct spool_part	*p = TAILQ_FIRST(&s->unused);

	if (p == NULL) {
		if ((p = calloc(1, sizeof(*p))) == NULL)
			return NULL;
		p->offset = s->size;
		s->size += SPOOL_PART;
		TAILQ_INSERT_HEAD(&s->unused, p, entry);
	}
	if (open_part(s, p) == -1)
		return NULL;
	TAILQ_REMOVE(&s->unused, p, entry);
	TAILQ_INSERT_TAIL(&s->parts, p, entry);
	return p;
}

static void
drop_part(struct spool *s, struct spool_part *p)
{
	assert(p->at != NULL && p->left == 0);
	munmap(p->at, SPOOL_PART);
	p->at = NULL;
	(void)fallocate(s->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
	    (off_t)p->offset, (off_t)SPOOL_PART);
	TAILQ_REMOVE(&s->parts, p, entry);
	TAILQ_INSERT_HEAD(&s->unused, p, entry);
}

void *
spool_alloc(struct spool *s, size_t len, struct spool_part **part_out)
{
	struct spool_part	*p = TAILQ_LAST(&s->parts, spool_parts);
	uint8_t			*at;

	assert(len > 0);
	if (len > SPOOL_PART) {
		errno = EFBIG;
		return NULL;
	}
	len = (len + ALIGN - 1) / ALIGN * ALIGN;
	if ((p == NULL || SPOOL_PART - p->used < len) &&
	    (p = new_part(s)) == NULL)
		return NULL;
	at = p->at + p->used;
	p->used += len;
	p->left++;
	*part_out = p;
	return at;
}

void
spool_write(struct spool *s, const struct spool_part *p, void *to,
    const void *data, size_t len)
{
	size_t	 offset = (size_t)((uint8_t *)to - p->at);

	assert(offset + len <= p->used && p->left > 0);
	/* It may also fail, for example by RLIMIT_FSIZE. */
	if (!s->is_coherent || pwrite(s->fd, data, len,
	    (off_t)(p->offset + offset)) != (ssize_t)len)
		memcpy(to, data, len);
}

void
spool_free(struct spool *s, struct spool_part *p)
{
	assert(p->left > 0 && p->at != NULL);
	if (--p->left > 0)
		return;
	if (p == TAILQ_LAST(&s->parts, spool_parts))
		p->used = 0;		/* all freed: start again */
	else
		drop_part(s, p);
}
