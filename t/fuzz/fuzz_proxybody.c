/* Bodies that a proxy passes on end in the same place however they come. */
#include <stdlib.h>
#include <string.h>

#include "t/fuzz/chop.h"
#include "worker/proxy/helper/proxybody.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Where it ends; -1: malformed, -2: incomplete. */
static ssize_t
run(enum proxybody_kind kind, uint64_t length, uint8_t how, const char *s,
    size_t len)
{
	struct proxybody	 b;
	uint32_t		 state = how;
	size_t			 at = 0, n;
	ssize_t			 got;

	proxybody_start(&b, kind, length);
	while (at < len && !b.is_over) {
		n = chop(&state, how, len - at);
		if ((got = proxybody_take(&b, s + at, n)) == -1)
			return -1;
		MUST(got >= 0 && (size_t)got <= n);
		MUST((size_t)got == n || b.is_over);
		at += (size_t)got;
	}
	return b.is_over ? (ssize_t)at : -2;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char		*text;
	uint64_t	 length;
	ssize_t		 end;

	if (size < 2)
		return 0;
	MUST((text = malloc(size)) != NULL);
	memcpy(text, data + 2, size - 2);
	end = run(PROXYBODY_CHUNKED, 0, 0, text, size - 2);
	MUST(end == run(PROXYBODY_CHUNKED, 0, data[0], text, size - 2));
	MUST(end == run(PROXYBODY_CHUNKED, 0, 1, text, size - 2));
	MUST(end < 0 || (end >= 5 && memcmp(text + end - 4, "\r\n\r\n", 4) ==
	    0));
	length = data[1];
	end = run(PROXYBODY_LENGTH, length, data[0], text, size - 2);
	MUST(end == (length <= size - 2 ? (ssize_t)length : -2));
	MUST(run(PROXYBODY_NONE, 0, data[0], text, size - 2) == 0);
	MUST(run(PROXYBODY_TO_END, 0, data[0], text, size - 2) == -2);
	free(text);
	return 0;
}
