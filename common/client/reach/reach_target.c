#include "common/client/reach/reach_target.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "common/json/json.h"
#include "common/json/utf8.h"

/* Take a string; its closing quote is overwritten by a NUL. */
static bool
reach_target_take_text(const struct json *j, uint32_t tok, const char **out)
{
	const struct json_tok	*t = json_tok(j, tok);

	if (t->type != JSON_STRING || t->len == 0 ||
	    memchr(j->text + t->pos, '\0', t->len) != NULL)
		return false;
	j->text[t->pos + t->len] = '\0';
	*out = j->text + t->pos;
	return true;
}

static bool
take_ms(const struct json *j, uint32_t tok, uint64_t *out)
{
	return json_u64(j, tok, out) == 0 && *out > 0 && *out <= INT_MAX;
}

static bool
reach_target_take(struct reach_target *g, const struct json *j, uint32_t key)
{
	uint32_t	 value = key + 1;

	if (json_is_text(j, key, "url"))
		return reach_target_take_text(j, value, &g->url);
	if (json_is_text(j, key, "environment"))
		return reach_target_take_text(j, value, &g->environment);
	if (json_is_text(j, key, "token"))
		return reach_target_take_text(j, value, &g->token);
	if (json_is_text(j, key, "caFile"))
		return reach_target_take_text(j, value, &g->ca_file);
	if (json_is_text(j, key, "connectMs"))
		return take_ms(j, value, &g->connect_ms);
	return json_is_text(j, key, "silenceMs") &&
	    take_ms(j, value, &g->silence_ms);
}

int
reach_target_read(struct reach_target *g, char *text, size_t len)
{
	struct json	 j;
	uint32_t	 i;
	bool		 is_good;

	memset(g, 0, sizeof(*g));
	json_init(&j);
	errno = 0;
	is_good = len <= REACH_TARGET_MAX && utf8_is_valid(text, len) &&
	    json_parse(&j, text, len) == 0 &&
	    json_tok(&j, 0)->type == JSON_OBJECT;
	for (i = is_good ? json_first(0) : 0; is_good && json_more(&j, 0, i);
	    i = json_after_member(&j, i))
		is_good = reach_target_take(g, &j, i);
	json_fini(&j);
	if (is_good && g->url != NULL && g->connect_ms > 0 && g->silence_ms > 0)
		return 0;
	if (errno != ENOMEM)
		errno = EINVAL;
	return -1;
}
