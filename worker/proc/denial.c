#include "worker/proc/denial.h"

#include <ctype.h>
#include <signal.h>
#include <string.h>

#include "common/limit.h"

/* Lower case. */
static const char *const phrases[] = {
	"operation not permitted", "permission denied",
	"read-only file system", "seccomp", "sandbox", "landlock",
	"failed to write file", NULL
};

#define PHRASE_MAX	24	/* length of the longest, rounded up */
#define PART		4096	/* bytes searched at a time */

/* The end of the previous part, and the next one. */
struct sight {
	char	 text[PHRASE_MAX + PART];
	size_t	 len;
};

static bool
has_phrase(const struct sight *t)
{
	size_t	 i;

	for (i = 0; phrases[i] != NULL; i++)
		if (memmem(t->text, t->len, phrases[i],
		    strlen(phrases[i])) != NULL)
			return true;
	return false;
}

static bool
denial_look_at(struct sight *t, const uint8_t *data, size_t len)
{
	size_t	 i, n;

	for (; len > 0; data += n, len -= n) {
		n = len < PART ? len : PART;
		if (t->len > PHRASE_MAX) {
			memmove(t->text, t->text + t->len - PHRASE_MAX,
			    PHRASE_MAX);
			t->len = PHRASE_MAX;
		}
		for (i = 0; i < n; i++)
			t->text[t->len++] = (char)tolower(data[i]);
		if (has_phrase(t))
			return true;
	}
	return false;
}

static const struct chunk *
first_looked_at(const struct retain *r)
{
	const struct chunk	*c, *first = NULL;
	size_t			 sum = 0;

	TAILQ_FOREACH_REVERSE(c, &r->chunks, chunk_list, retain_entry) {
		if ((sum += c->len) > LIMIT_RETAINED)
			break;
		first = c;
	}
	return first;
}

static bool
sounds_denied(const struct retain *r, uint8_t stream)
{
	const struct chunk	*c;
	struct sight		 t;

	t.len = 0;
	for (c = first_looked_at(r); c != NULL; c = TAILQ_NEXT(c, retain_entry))
		if (c->stream == stream && denial_look_at(&t, c->data, c->len))
			return true;
	return false;
}

bool
denial(const struct retain *r, int exit_code)
{
	uint8_t	 stream;

	if (exit_code == 0)
		return false;
	for (stream = 0; stream < 3; stream++)
		if (sounds_denied(r, stream))
			return true;
	return exit_code == 128 + SIGSYS;
}
