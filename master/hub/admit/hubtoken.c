#include "master/hub/admit/hubtoken.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf/conf_priv.h"

#define TOKENS_MAX	100000
#define DIGITS_MAX	12	/* of a time */

void
hubtokens_fini(struct hubtokens *t)
{
	size_t	 i;

	for (i = 0; i < t->n; i++) {
		free(t->list[i].may_register);
		free(t->list[i].may_connect);
	}
	if (t->list != NULL)
		sodium_memzero(t->list, t->n * sizeof(*t->list));
	free(t->list);
	memset(t, 0, sizeof(*t));
}

static int
hubtoken_patterns(char **out, const char *list, const char *what,
    struct conf_error *e)
{
	if (*out != NULL)
		return conf_fail(e, "%s twice", what);
	if (strstr(list, "${") != NULL)
		return conf_fail(e, "%s: nothing is filled in: \"%.150s\"",
		    what, list);
	if (conf_pattern_list(list, "") == -2 || !conf_pattern_can_hold(list))
		return conf_fail(e, "%s: bad patterns \"%.150s\"", what, list);
	return (*out = strdup(list)) != NULL ? 0 : conf_fail(e, "%s",
	    strerror(errno));
}

static int
hubtoken_option(struct hubtoken *t, char *word, struct conf_error *e)
{
	char	*value = strchr(word, '='), *end;

	if (value != NULL)
		*value++ = '\0';
	if (value != NULL && strcmp(word, "register") == 0)
		return hubtoken_patterns(&t->may_register, value, word, e);
	if (value != NULL && strcmp(word, "connect") == 0)
		return hubtoken_patterns(&t->may_connect, value, word, e);
	if (value == NULL || strcmp(word, "expires") != 0)
		return conf_fail(e, "\"%.60s\" is none of register=, connect=, "
		    "expires=", word);
	t->expires = strtoull(value, &end, 10);
	return *value >= '0' && *value <= '9' && *end == '\0' &&
	    strlen(value) <= DIGITS_MAX ? 0 : conf_fail(e,
	    "expires=: expected Unix seconds");
}

static int
hubtoken_fill(struct hubtoken *t, const char *name, char *rest,
    struct conf_error *e)
{
	struct tokenline	 line;
	char			 head[TOKEN_NAME_MAX + 128], *word;
	const char		*wrong;
	int			 r;

	if (conf_word_next(&rest, &word) != 1)
		return conf_fail(e, "expected a name and a hash");
	snprintf(head, sizeof(head), "%s %s", name, word);
	if ((wrong = tokenline_parse(head, strlen(head), &line)) != NULL)
		return conf_fail(e, "%s", wrong);
	memcpy(t->name, line.name, sizeof(t->name));
	memcpy(t->hash, line.hash, sizeof(t->hash));
	while ((r = conf_word_next(&rest, &word)) == 1)
		if (hubtoken_option(t, word, e) == -1)
			return -1;
	return r == 0 ? 0 : conf_fail(e, "unbalanced quote");
}

static int
hubtokens_on_line(void *arg, const struct conf_line *l, struct conf_error *why,
    struct conf_error *e)
{
	struct hubtokens	*t = arg;
	struct hubtoken		*new;

	(void)e;
	if (t->n == TOKENS_MAX)
		return conf_fail(why, "more than %d tokens", TOKENS_MAX);
	if ((t->n & (t->n + 1)) == 0 || t->list == NULL) {
		if ((new = reallocarray(t->list, 2 * (t->n + 1),
		    sizeof(*new))) == NULL)
			return conf_fail(why, "%s", strerror(errno));
		t->list = new;
	}
	new = &t->list[t->n++];
	memset(new, 0, sizeof(*new));
	return hubtoken_fill(new, l->keyword, l->value, why);
}

int
hubtokens_parse(struct hubtokens *t, const char *name, char *text, size_t len,
    struct conf_error *e)
{
	memset(t, 0, sizeof(*t));
	if (conf_lines(name, text, len, hubtokens_on_line, t, e) == 0)
		return 0;
	hubtokens_fini(t);
	return -1;
}

/* Compare all, so that the time does not tell which. */
const struct hubtoken *
hubtokens_find(const struct hubtokens *t, struct span shown)
{
	const struct hubtoken	*found = NULL;
	uint8_t			 hash[TOKEN_HASH_LEN];
	size_t			 i;

	crypto_hash_sha256(hash, (const uint8_t *)shown.at, shown.len);
	for (i = 0; i < t->n; i++)
		if (sodium_memcmp(hash, t->list[i].hash, sizeof(hash)) == 0)
			found = &t->list[i];
	sodium_memzero(hash, sizeof(hash));
	return found;
}

const struct hubtoken *
hubtokens_named(const struct hubtokens *t, const char *name)
{
	size_t	 i;

	for (i = 0; i < t->n; i++)
		if (strcmp(t->list[i].name, name) == 0)
			return &t->list[i];
	return NULL;
}
