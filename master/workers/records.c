#include "master/workers/records.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "config.h"

#define VERSION		1
#define STEP		64	/* slots by which the file grows */
#define SLOTS_MAX	(1u << 20)
#define SIZE_MAX_READ	((size_t)SLOTS_MAX * 2 * sizeof(struct record))
#define RECORD_MAX	4096	/* bytes of a record of another version */
#define BOOT_ID		"/proc/sys/kernel/random/boot_id"

static const char	 magic[8] = "execsrv\n";

_Static_assert(sizeof(struct record) % 8 == 0 &&
    sizeof(struct records_head) % 8 == 0, "no padding");

/* Two copies of a record. */
struct slot {
	struct record	 copy[2];
};

struct records {
	char			*path, *fresh;
	bool			 is_published;
	int			 fd;
	uint8_t			*map;
	size_t			 size;
	size_t			 nslots;
	uint32_t		*free;		/* slots, a stack */
	size_t			 nfree;
};

/*
 * Against accidents, not attackers, who cannot write there: hence the key is
 * known.  SipHash is what libsodium has that is fast.
 */
static uint64_t
sum_of(const void *data, size_t len)
{
	static const uint8_t	 key[crypto_shorthash_KEYBYTES];
	uint64_t		 sum;

	_Static_assert(crypto_shorthash_BYTES == sizeof(sum), "SipHash-2-4");
	crypto_shorthash((uint8_t *)&sum, data, len, key);
	return sum;
}

/* The sum over size bytes of a record, with its seq. */
static uint64_t
record_sum(const void *record, size_t size)
{
	uint64_t	 seq;
	size_t		 skip = offsetof(struct record, kind);

	memcpy(&seq, record, sizeof(seq));
	return sum_of((const uint8_t *)record + skip, size - skip) ^ seq;
}

static uint64_t
head_sum(const void *head, size_t size)
{
	size_t	 skip = offsetof(struct records_head, instance);
	size_t	 end = sizeof(struct records_head) -
		    offsetof(struct records_head, next_number);

	/* What is before the sum, and what is behind it. */
	return sum_of(head, offsetof(struct records_head, sum)) ^
	    sum_of((const uint8_t *)head + skip, size - skip - end);
}

/* --- reading --- */

static int
say(char why[RECORDS_WHY], const char *what)
{
	snprintf(why, RECORDS_WHY, "%s", what);
	return -1;
}

static bool
is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

/* Why a record with a valid sum cannot be used, or NULL. */
static const char *
judge_record(const struct record *r)
{
	if (r->kind < RECORD_SESSION || r->kind > RECORD_UPLINK)
		return "of an unknown kind";
	if (!is_text(r->id, sizeof(r->id)) || r->id[0] == '\0' ||
	    !is_text(r->identity, sizeof(r->identity)) ||
	    !is_text(r->peer, sizeof(r->peer)) ||
	    !is_text(r->transcript, sizeof(r->transcript)))
		return "a text does not end";
	if (r->pid < 0 || r->pid == 1 || r->number == 0)
		return "its numbers cannot be";
	return NULL;
}

/* Take a copy, if its sum is right.  False: it is damaged, or empty. */
static bool
take_copy(const uint8_t *at, size_t size, struct record *out)
{
	uint64_t	 sum;

	memcpy(&sum, at + offsetof(struct record, sum), sizeof(sum));
	memset(out, 0, sizeof(*out));
	memcpy(out, at, size < sizeof(*out) ? size : sizeof(*out));
	return out->seq != 0 && sum == record_sum(at, size);
}

static bool
is_empty(const uint8_t *at, size_t size)
{
	size_t	 i;

	for (i = 0; i < size; i++)
		if (at[i] != 0)
			return false;
	return true;
}

static void
parse_slot(const uint8_t *at, size_t size, size_t position,
    const struct records_events *events, void *arg)
{
	struct record	 copy[2], *r;
	const char	*why;
	bool		 ok[2];

	ok[0] = take_copy(at, size, &copy[0]);
	ok[1] = take_copy(at + size, size, &copy[1]);
	if (!ok[0] && !ok[1]) {
		if (!is_empty(at, 2 * size))
			events->on_damaged(arg, position, "its sum is wrong");
		return;
	}
	/* A copy whose writing was cut off counts for nothing. */
	r = !ok[1] || (ok[0] && copy[0].seq > copy[1].seq) ? &copy[0] :
	    &copy[1];
	if (r->kind == RECORD_FREE)
		return;
	if ((why = judge_record(r)) != NULL)
		events->on_damaged(arg, position, why);
	else
		events->on_record(arg, r);
}

static int
parse_head(const uint8_t *data, size_t size, const uint8_t boot[16],
    struct records_head *h, char why[RECORDS_WHY])
{
	uint32_t	 end[2];

	if (size < sizeof(*h))
		return say(why, "it is too short");
	memcpy(h, data, sizeof(*h));
	if (memcmp(h->magic, magic, sizeof(magic)) != 0)
		return say(why, "it is not a table of sessions");
	if (h->version != VERSION) {
		snprintf(why, RECORDS_WHY, "its format is %u, and this program "
		    "reads %d", h->version, VERSION);
		return -1;
	}
	if (h->head_size < sizeof(*h) || h->head_size > size ||
	    h->head_size % 8 != 0 || h->record_size % 8 != 0 ||
	    h->record_size < offsetof(struct record, reserved) ||
	    h->record_size > RECORD_MAX)
		return say(why, "its sizes cannot be");
	if (h->sum != head_sum(data, h->head_size))
		return say(why, "its head is damaged");
	memcpy(end, data + h->head_size - sizeof(end), sizeof(end));
	h->next_number = end[0];
	h->has_marks = end[1];
	if (memcmp(h->boot, boot, sizeof(h->boot)) != 0)
		return say(why, "it is from before the last boot");
	h->program[sizeof(h->program) - 1] = '\0';
	return 0;
}

int
records_parse(const void *data, size_t size, const uint8_t boot[16],
    struct records_head *head_out, const struct records_events *events,
    void *arg, char why[RECORDS_WHY])
{
	const uint8_t	*at = data;
	size_t		 i, stride, n;

	assert(events->on_record != NULL && events->on_damaged != NULL);
	if (parse_head(data, size, boot, head_out, why) == -1)
		return -1;
	for (i = 0; i < RECORDS_GROUPS; i++)
		head_out->group[i][sizeof(head_out->group[i]) - 1] = '\0';
	stride = 2 * (size_t)head_out->record_size;
	n = (size - head_out->head_size) / stride;
	for (i = 0; i < n && i < SLOTS_MAX; i++)
		parse_slot(at + head_out->head_size + i * stride,
		    head_out->record_size, i, events, arg);
	if ((size - head_out->head_size) % stride != 0)
		events->on_damaged(arg, n, "the file ends in it");
	return 0;
}

/* Which boot this is; all zero where /proc does not tell. */
static void
read_boot(uint8_t boot[16])
{
	char	 text[64];
	size_t	 len;

	memset(boot, 0, 16);
	if (fd_read_file(AT_FDCWD, BOOT_ID, text, sizeof(text)) <= 0)
		return;
	if (sodium_hex2bin(boot, 16, text, strlen(text), "-\n", &len, NULL) ==
	    -1 || len != 16)
		memset(boot, 0, 16);
}

/* By read(2): a mapping of a file that shrinks would kill us. */
static uint8_t *
slurp(int fd, size_t *size_out)
{
	struct stat	 st;
	uint8_t		*data;
	size_t		 got = 0, size;
	ssize_t		 n = 1;

	if (fstat(fd, &st) == -1)
		return NULL;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_size < 0 || (uint64_t)st.st_size > SIZE_MAX_READ) {
		errno = EINVAL;
		return NULL;
	}
	size = (size_t)st.st_size;
	if ((data = malloc(size + 1)) == NULL)
		return NULL;
	while (got < size && n > 0) {
		n = read(fd, data + got, size - got);
		if (n == -1 && errno == EINTR)
			n = 1;
		else if (n > 0)
			got += (size_t)n;
	}
	if (n == -1) {
		free(data);
		return NULL;
	}
	*size_out = got;
	return data;
}

int
records_read(const char *dir, struct records_head *head_out,
    const struct records_events *events, void *arg, char why[RECORDS_WHY])
{
	uint8_t	 boot[16], *data;
	char	*path;
	size_t	 size;
	int	 fd, r;

	if (asprintf(&path, "%s/" RECORDS_FILE, dir) == -1)
		return say(why, "out of memory");
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	free(path);
	if (fd == -1)
		return errno == ENOENT ? 0 : say(why, strerror(errno));
	data = slurp(fd, &size);
	r = data == NULL ? say(why, strerror(errno)) : 0;
	fd_close(&fd);
	if (r == -1)
		return -1;
	read_boot(boot);
	r = records_parse(data, size, boot, head_out, events, arg, why);
	free(data);
	return r == 0 ? 1 : -1;
}

/* --- writing --- */

/* Room on the disk for more slots first: a hole may turn out to have none. */
static int
grow(struct records *t)
{
	size_t		 i, n = t->nslots + STEP;
	size_t		 size = sizeof(struct records_head) +
			    n * sizeof(struct slot);
	uint32_t	*free_slots;
	void		*map;
	int		 error;

	if (n > SLOTS_MAX) {
		errno = ENOSPC;
		return -1;
	}
	if ((error = posix_fallocate(t->fd, 0, (off_t)size)) != 0) {
		errno = error;
		return -1;
	}
	if ((free_slots = reallocarray(t->free, n, sizeof(*free_slots))) ==
	    NULL)
		return -1;
	t->free = free_slots;
	map = t->map == NULL ? mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED, t->fd, 0) : mremap(t->map, t->size, size,
	    MREMAP_MAYMOVE);
	if (map == MAP_FAILED)
		return -1;
	t->map = map;
	t->size = size;
	/* The lowest on top of the stack. */
	for (i = n; i-- > t->nslots;)
		t->free[t->nfree++] = (uint32_t)i;
	t->nslots = n;
	return 0;
}

static struct slot *
slot_at(const struct records *t, int slot)
{
	assert(slot >= 0 && (size_t)slot < t->nslots);
	return (struct slot *)(void *)(t->map + sizeof(struct records_head)) +
	    slot;
}

struct records_head *
records_head(struct records *t)
{
	return (struct records_head *)(void *)t->map;
}

static void
begin_head(struct records_head *h)
{
	memcpy(h->magic, magic, sizeof(magic));
	h->version = VERSION;
	h->head_size = sizeof(*h);
	h->record_size = sizeof(struct record);
	randombytes_buf(&h->instance, sizeof(h->instance));
	read_boot(h->boot);
	snprintf(h->program, sizeof(h->program), "%s", PACKAGE_VERSION);
}

struct records *
records_new(const char *dir)
{
	struct records	*t;
	int		 error;

	if ((t = calloc(1, sizeof(*t))) == NULL)
		return NULL;
	t->fd = -1;
	if (asprintf(&t->path, "%s/" RECORDS_FILE, dir) == -1)
		t->path = NULL;
	if (asprintf(&t->fresh, "%s/" RECORDS_FILE ".new", dir) == -1)
		t->fresh = NULL;
	if (t->path == NULL || t->fresh == NULL ||
	    (unlink(t->fresh) == -1 && errno != ENOENT) ||
	    (t->fd = open(t->fresh, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC |
	    O_NOFOLLOW, 0600)) == -1 || grow(t) == -1) {
		error = errno;
		records_free(&t, false);
		errno = error;
		return NULL;
	}
	begin_head(records_head(t));
	return t;
}

int
records_publish(struct records *t)
{
	struct records_head	*h = records_head(t);

	assert(!t->is_published);
	h->sum = head_sum(h, sizeof(*h));
	if (rename(t->fresh, t->path) == -1)
		return -1;
	t->is_published = true;
	return 0;
}

void
records_free(struct records **tp, bool is_kept)
{
	struct records	*t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	if (t->fd != -1 && !(is_kept && t->is_published))
		unlink(t->is_published ? t->path : t->fresh);
	if (t->map != NULL)
		munmap(t->map, t->size);
	fd_close(&t->fd);
	free(t->free);
	free(t->path);
	free(t->fresh);
	free(t);
}

/*
 * Overwrite the older copy.  Until its seq is there it does not count, and then
 * it is complete: a process that is killed has made all its earlier stores.
 * The file is mapped and written by plain stores, so that a change costs no
 * system call and is kept when we are killed.
 */
static void
write_copy(struct slot *s, struct record *r)
{
	struct record	*older = &s->copy[s->copy[0].seq > s->copy[1].seq];
	uint64_t	 last = s->copy[0].seq > s->copy[1].seq ?
			    s->copy[0].seq : s->copy[1].seq;

	r->seq = last + 1;
	r->sum = record_sum(r, sizeof(*r));
	older->seq = 0;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy((uint8_t *)older + sizeof(r->seq), (uint8_t *)r +
	    sizeof(r->seq), sizeof(*r) - sizeof(r->seq));
	atomic_signal_fence(memory_order_seq_cst);
	older->seq = r->seq;
}

int
records_put(struct records *t, int *slot, struct record *r)
{
	if (*slot == -1) {
		if (t->nfree == 0 && grow(t) == -1)
			return -1;
		*slot = (int)t->free[--t->nfree];
	}
	write_copy(slot_at(t, *slot), r);
	return 0;
}

void
records_drop(struct records *t, int *slot)
{
	struct record	 none;

	if (*slot == -1)
		return;
	memset(&none, 0, sizeof(none));
	none.kind = RECORD_FREE;
	write_copy(slot_at(t, *slot), &none);
	t->free[t->nfree++] = (uint32_t)*slot;
	*slot = -1;
}
