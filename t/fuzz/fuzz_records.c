/*
 * master/workers/records.c: a file that anything was done to.  The first byte
 * says what is made right again before it is read, so that what is behind the
 * sums is reached: the head (1), each record (2).
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "master/workers/records.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)
#define END	(2 * sizeof(uint32_t))	/* of a head: not in its sum */

struct found {
	size_t	 n, ndamaged;
	size_t	 room;			/* slots of the file */
};

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool
is_text(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static void
on_record(void *arg, const struct record *r)
{
	struct found	*f = arg;

	f->n++;
	MUST(r->kind != RECORD_FREE && r->number != 0 && r->seq != 0);
	MUST(r->pid >= 0 && r->pid != 1);
	MUST(is_text(r->id, sizeof(r->id)) && r->id[0] != '\0');
	MUST(is_text(r->identity, sizeof(r->identity)));
	MUST(is_text(r->peer, sizeof(r->peer)));
	MUST(is_text(r->transcript, sizeof(r->transcript)));
}

static void
on_damaged(void *arg, size_t position, const char *why)
{
	struct found	*f = arg;

	f->ndamaged++;
	MUST(position <= f->room && why[0] != '\0');
}

static const struct records_events	 events = { on_record, on_damaged };

static uint64_t
sum_of(const uint8_t *data, size_t len)
{
	static const uint8_t	 key[crypto_shorthash_KEYBYTES];
	uint64_t		 sum;

	crypto_shorthash((uint8_t *)&sum, data, len, key);
	return sum;
}

static void
repair_record(uint8_t *at, size_t size)
{
	size_t		 skip = offsetof(struct record, kind);
	uint64_t	 sum, seq;

	memcpy(&seq, at, sizeof(seq));
	sum = sum_of(at + skip, size - skip) ^ seq;
	memcpy(at + offsetof(struct record, sum), &sum, sizeof(sum));
}

/* Write sums where there is room for them. */
static void
repair(uint8_t *file, size_t size, uint8_t how)
{
	struct records_head	 h;
	size_t			 at, skip = offsetof(struct records_head,
				    instance);

	if (size < sizeof(h))
		return;
	memcpy(&h, file, sizeof(h));
	if (h.head_size < sizeof(h) || h.head_size > size)
		return;
	if ((how & 1) != 0) {
		h.sum = sum_of(file, offsetof(struct records_head, sum)) ^
		    sum_of(file + skip, h.head_size - skip - END);
		memcpy(file + offsetof(struct records_head, sum), &h.sum,
		    sizeof(h.sum));
	}
	if ((how & 2) == 0 || h.record_size < offsetof(struct record, kind))
		return;
	for (at = h.head_size; size - at >= h.record_size;
	    at += h.record_size)
		repair_record(file + at, h.record_size);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t	 boot[16];
	struct records_head	 h;
	struct found		 f = { 0, 0, size }, again = { 0, 0, size };
	uint8_t			*file;
	char			 why[RECORDS_WHY] = "";
	int			 r;

	if (size == 0)
		return 0;
	MUST((file = malloc(size)) != NULL);
	size--;
	memcpy(file, data + 1, size);
	repair(file, size, data[0]);
	r = records_parse(file, size, boot, &h, &events, &f, why);
	MUST(r == 0 || (why[0] != '\0' && f.n + f.ndamaged == 0));
	if (r == 0) {
		MUST(is_text(h.program, sizeof(h.program)));
		f.room = (size - h.head_size) / (2 * h.record_size);
		MUST(f.n + f.ndamaged <= f.room + 1);
	}
	/* A shorter one has no more, and none that it had not. */
	if (r == 0 && size > h.head_size) {
		MUST(records_parse(file, size - 1, boot, &h, &events, &again,
		    why) == 0);
		MUST(again.n <= f.n);
	}
	free(file);
	return 0;
}
