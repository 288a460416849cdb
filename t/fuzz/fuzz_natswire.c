/* What a NATS server sends, and messages of hubs in it. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "master/hub/fleet/fleetmsg.h"
#include "master/hub/fleet/natswire.h"

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int
is_inside(struct span s, const char *text, size_t len)
{
	return s.at == NULL || (s.at >= text && s.at + s.len <= text + len);
}

static void
bodies(struct span data)
{
	struct fleetmsg_texts	 texts;
	struct engine_place	 p;
	struct engine_claim	 c;

	if (fleetmsg_get_place(data, &texts, &p) == 0 &&
	    strlen(texts.hub_url) > ENGINE_URL_MAX)
		abort();
	(void)!fleetmsg_get_claim(data, &c);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	const char	*text = (const char *)data;
	struct natswire	 w;
	size_t		 n;

	for (;;) {
		n = natswire_read(text, len, &w);
		if ((n == 0) != (w.op == NATSWIRE_PART ||
		    w.op == NATSWIRE_BAD) || n > len)
			abort();
		if (n == 0)
			return 0;
		if (!is_inside(w.subject, text, n) ||
		    !is_inside(w.reply, text, n) ||
		    !is_inside(w.data, text, n))
			abort();
		if (w.op == NATSWIRE_MSG)
			bodies(w.data);
		text += n;
		len -= n;
	}
}
