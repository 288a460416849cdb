/*
 * common/client/carry/carried.c on lines of a client and a server, and losses
 * between them: by the first byte of a line, 'c' the client's, 's' the
 * server's, 'l' the connection is lost, 'r' there is another one.  What is of
 * ours is JSON; nothing is sent twice to a client.
 */
#include <stdlib.h>
#include <string.h>

#include "common/client/carry/carried.h"

#define MUST(c)	do { if (!(c)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct said {
	const char	*line;		/* that is taken, or NULL */
	size_t		 len;
	size_t		 passed;
};

static int
fuzz_on_message(void *arg, const char *text, size_t len)
{
	struct said	*s = arg;
	struct json	 j;
	char		*copy;

	if (s->line != NULL && len == s->len &&
	    memcmp(text, s->line, len) == 0) {
		s->passed++;
		return 0;
	}
	MUST((copy = malloc(len + 1)) != NULL);
	memcpy(copy, text, len);
	json_init(&j);
	/* What was kept may be sent again, whatever it is. */
	MUST(json_parse(&j, copy, len) == 0);
	json_fini(&j);
	free(copy);
	return 0;
}

static void
take_line(struct carried *c, struct said *s, char what)
{
	struct execsrv_error	 e;

	s->passed = 0;
	if (what == 'c' && carried_is_ready(c))
		MUST(carried_from_client(c, s->line, s->len) == 0);
	else if (what == 's' && c->state != CARRIED_LOST)
		(void)!carried_from_server(c, s->line, s->len, &e);
	else if (what == 'l' && carried_can_resume(c))
		MUST(carried_lose(c) == 0);
	else if (what == 'r' && c->state == CARRIED_LOST)
		MUST(carried_resume(c, 1000) == 0);
	MUST(s->passed <= 1 || what == 'l' || what == 'r');
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct carried_ops	 ops = {
		.to_client = fuzz_on_message, .to_server = fuzz_on_message
	};
	struct said		 s = { .line = NULL };
	struct opening		 o;
	struct carried		 c;
	const uint8_t		*end;
	char			*line;

	opening_init(&o);
	MUST((o.name = strdup("fuzz")) != NULL);
	carried_init(&c, &o, &ops, &s);
	for (; size > 0; size -= (size_t)(end - data), data = end) {
		end = memchr(data, '\n', size);
		end = end == NULL ? data + size : end + 1;
		s.len = (size_t)(end - data) - 1;
		MUST((line = malloc(s.len + 1)) != NULL);
		memcpy(line, data + 1, s.len);
		s.line = line;
		take_line(&c, &s, (char)data[0]);
		free(line);
	}
	carried_fini(&c);
	opening_fini(&o);
	return 0;
}
