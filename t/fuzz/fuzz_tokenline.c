/*
 * master/auth/tokenline.c: any bytes are a token or a reason; written again,
 * what was read is the same.
 */
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "master/auth/tokenline.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_again(const struct tokenline *t)
{
	struct tokenline	 again;
	char			 hex[2 * TOKEN_HASH_LEN + 1], text[512];
	int			 n;

	sodium_bin2hex(hex, sizeof(hex), t->hash, sizeof(t->hash));
	n = snprintf(text, sizeof(text), "%s sha256:%s%s%s", t->name, hex,
	    t->user[0] != '\0' ? " user=" : "", t->user);
	MUST(tokenline_parse(text, (size_t)n, &again) == NULL);
	MUST(memcmp(t, &again, sizeof(again)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tokenline	 t;
	const char		*why;
	char			*text = malloc(size == 0 ? 1 : size);

	MUST(text != NULL);
	if (size > 0)
		memcpy(text, data, size);
	why = tokenline_parse(text, size, &t);
	free(text);
	if (why == NULL)
		check_again(&t);
	else
		MUST(why[0] != '\0');
	return 0;
}
