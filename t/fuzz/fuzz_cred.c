/*
 * cred_take_frame() of master/remote/cred.c on any line: it is taken or c stays
 * as it was, the line is wiped in any case, and no reason repeats what was in
 * it.
 */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "master/remote/cred.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
take(struct cred *c, const uint8_t *data, size_t size, const char *environment)
{
	static const char *const	 reasons[] = {
		"invalid frame", "a credential for another environment",
		"an expired credential"
	};
	char	*line = malloc(size == 0 ? 1 : size), why[64] = "";
	int	 r;
	size_t	 i;

	MUST(line != NULL);
	memcpy(line, data, size);
	r = cred_take_frame(c, line, size, environment, why, sizeof(why));
	MUST(sodium_is_zero((unsigned char *)line, size));
	free(line);
	for (i = 0; r == -1; i++) {
		MUST(i < sizeof(reasons) / sizeof(reasons[0]));
		if (strcmp(why, reasons[i]) == 0)
			break;
	}
	return r;
}

static void
check_token(const struct cred *c, const uint8_t *data, size_t size)
{
	const char	*s;

	MUST(c->source == CRED_FRAMES && cred_is_good(c));
	MUST(c->expires > (uint64_t)time(NULL) && c->expires <= INT64_MAX);
	MUST(c->token[0] != '\0' && strlen(c->token) <= CRED_MAX);
	MUST(strlen(c->token) < size && memchr(data, '{', size) != NULL);
	for (s = c->token; *s != '\0'; s++)
		MUST(*s > ' ' && *s <= '~');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char	 first[] = "{\"version\":1,\"token\":\"first\","
	    "\"environment_id\":\"env\",\"expires_at\":4102444800}";
	struct cred		 c;

	MUST(sodium_init() >= 0);
	memset(&c, 0, sizeof(c));
	MUST(take(&c, (const uint8_t *)first, sizeof(first) - 1, "env") == 0);
	if (take(&c, data, size, "env") == 0) {
		check_token(&c, data, size);
		MUST(take(&c, data, size, "en") == -1);
		MUST(take(&c, data, size, "env2") == -1);
		check_token(&c, data, size);
	} else {
		MUST(strcmp(c.token, "first") == 0);
		MUST(c.expires == 4102444800 && c.source == CRED_FRAMES);
	}
	cred_fini(&c);
	return 0;
}
