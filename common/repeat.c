#include "common/repeat.h"

#include <string.h>

/* FNV-1a: a text mistaken for another one is said an hour later. */
static uint32_t
repeat_hash(const char *text)
{
	uint32_t	 h = 2166136261u;

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 16777619u;
	return h;
}

bool
repeat_is_due(struct repeat *r, const char *text, uint64_t now)
{
	uint32_t	 hash = repeat_hash(text);

	if (r->is_said && r->hash == hash && now - r->at < REPEAT_MS)
		return false;
	r->is_said = true;
	r->hash = hash;
	r->at = now;
	return true;
}

void
repeat_end(struct repeat *r)
{
	memset(r, 0, sizeof(*r));
}
