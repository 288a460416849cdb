/*
 * master/auth/nettable.c: a line is a connection or nothing; what is read
 * stands there in so many words, and nothing is read beyond the line.
 */
#include <sys/types.h>

#include <arpa/inet.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/auth/nettable.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
print_end(const struct nettable_end *e, char out[48])
{
	uint32_t	 w[4];
	size_t		 n = 0;

	memcpy(w, &e->address, sizeof(w));
	if (IN6_IS_ADDR_V4MAPPED(&e->address))
		w[0] = w[3];
	else
		n = (size_t)snprintf(out, 48, "%08X%08X%08X", w[0], w[1],
		    w[2]);
	snprintf(out + n, 48 - n, "%08X:%04X", n == 0 ? w[0] : w[3], e->port);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nettable_row	 row;
	char			*text = malloc(size + 1), *exact, end[48];
	char			 inode[24];

	MUST(text != NULL && (exact = malloc(size + (size == 0))) != NULL);
	if (size > 0) {
		memcpy(text, data, size);
		memcpy(exact, data, size);
	}
	text[size] = '\0';
	if (nettable_parse(exact, size, &row) == 0) {
		print_end(&row.local, end);
		/* A mapped one may have been written either way. */
		MUST(strstr(text, end) != NULL);
		print_end(&row.remote, end);
		MUST(strstr(text, end) != NULL);
		snprintf(inode, sizeof(inode), "%" PRIu64, row.inode);
		MUST(strstr(text, inode) != NULL);
	}
	free(exact);
	free(text);
	return 0;
}
