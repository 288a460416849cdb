/* Match blocks: criteria and settings. */
#include "common/conf/conf_priv.h"

#include <sys/socket.h>

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PART_MAX	256	/* bytes of one pattern */

enum kind { TEXT, TEXTS, ADDRESS };

static const struct {
	const char	*keyword;
	enum kind	 kind;
} criteria[] = {
#define CRITERION(keyword, member, kind, help)	{ #keyword, kind },
#include "proto/confmatch.def"
#undef CRITERION
};

/* --- patterns --- */

/* Backtracking to the last star only is enough, hence linear per star. */
static bool
conf_match_matches(const char *pattern, const char *text)
{
	const char	*star = NULL, *from = NULL;

	while (*text != '\0') {
		if (*pattern == '*') {
			star = pattern++;
			from = text;
		} else if (*pattern == '?' || *pattern == *text) {
			pattern++;
			text++;
		} else if (star != NULL) {
			pattern = star + 1;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return *pattern == '\0';
}

struct address {
	uint8_t	 byte[16];
	unsigned bits;
};

/* An IPv4-mapped address counts as IPv4. */
static bool
conf_match_read_address(const char *text, struct address *a)
{
	static const uint8_t	 mapped[12] = { [10] = 0xff, [11] = 0xff };

	memset(a, 0, sizeof(*a));
	a->bits = 32;
	if (inet_pton(AF_INET, text, a->byte) == 1)
		return true;
	a->bits = 128;
	if (inet_pton(AF_INET6, text, a->byte) != 1)
		return false;
	if (memcmp(a->byte, mapped, sizeof(mapped)) == 0) {
		memmove(a->byte, a->byte + 12, 4);
		memset(a->byte + 4, 0, 12);
		a->bits = 32;
	}
	return true;
}

static bool
same_bits(const struct address *a, const struct address *b, unsigned bits)
{
	unsigned	 i;

	assert(bits <= b->bits);
	for (i = 0; i < bits; i++)
		if (((a->byte[i / 8] ^ b->byte[i / 8]) >> (7 - i % 8)) & 1)
			return false;
	return a->bits == b->bits;
}

/* Parse "ADDRESS/LENGTH", cut up in place: 0, or -1. */
static int
read_network(char *text, struct address *net, unsigned *bits_out)
{
	char		*slash = strchr(text, '/'), *end;
	unsigned long	 n;
	unsigned	 i;

	*slash++ = '\0';
	if (*slash < '0' || *slash > '9' || !conf_match_read_address(text, net))
		return -1;
	n = strtoul(slash, &end, 10);
	if (*end != '\0' || n > net->bits)
		return -1;
	*bits_out = (unsigned)n;
	for (i = *bits_out; i < net->bits; i++)
		if ((net->byte[i / 8] >> (7 - i % 8)) & 1)
			return -1;
	return 0;
}

/* The pseudo addresses of clients that have none. */
static bool
is_place(const char *text)
{
	return strcmp(text, "unix") == 0 || strcmp(text, "stdio") == 0 ||
	    strcmp(text, "remote") == 0;
}

/* Match one pattern for an address: 1, 0, or -1: not a valid one. */
static int
matches_address(char *pattern, const char *text)
{
	struct address	 a, net;
	unsigned	 bits;

	if (strpbrk(pattern, "*?") != NULL || is_place(pattern))
		return conf_match_matches(pattern, text);
	if (strchr(pattern, '/') == NULL)
		return !conf_match_read_address(pattern, &net) ? -1 :
		    conf_match_read_address(text, &a) &&
		    same_bits(&a, &net, net.bits);
	if (read_network(pattern, &net, &bits) == -1)
		return -1;
	return conf_match_read_address(text, &a) && same_bits(&a, &net, bits);
}

/* As conf_address_list(). */
static int
match_list(const char *list, const char *text, bool is_address)
{
	char	 part[PART_MAX];
	size_t	 n;
	int	 r, found = 0;
	bool	 is_not;

	for (;; list += n + 1) {
		if ((is_not = *list == '!'))
			list++;
		n = strcspn(list, ",");
		if (n == 0 || n >= sizeof(part))
			return -2;
		memcpy(part, list, n);
		part[n] = '\0';
		r = is_address ? matches_address(part, text) :
		    conf_match_matches(part, text);
		if (r == -1)
			return -2;
		if (r == 1 && is_not)
			found = -1;
		else if (r == 1 && found == 0)
			found = 1;
		if (list[n] == '\0')
			return found;
	}
}

int
conf_pattern_list(const char *list, const char *text)
{
	return match_list(list, text, false);
}

int
conf_address_list(const char *list, const char *address)
{
	return match_list(list, address, true);
}

/* --- blocks --- */

/* One negated match among the groups refuses, whatever else matches. */
static bool
match_groups(const char *list, const struct conf_client *who)
{
	size_t	 i;
	int	 r;
	bool	 found = false;

	for (i = 0; i < who->ngroup; i++) {
		if ((r = conf_pattern_list(list, who->group[i])) < 0)
			return false;
		found |= r == 1;
	}
	return found;
}

bool
conf_match_holds(const struct conf_match *m, const struct conf_client *who)
{
	const char	*text;
	size_t		 i;

	for (i = 0; i < CONF_CRITERIA; i++) {
		if (m->pattern[i] == NULL)
			continue;
		text = who->text[i] != NULL ? who->text[i] : "";
		if (criteria[i].kind == TEXTS) {
			if (!match_groups(m->pattern[i], who))
				return false;
		} else if (match_list(m->pattern[i], text,
		    criteria[i].kind == ADDRESS) != 1) {
			return false;
		}
	}
	return true;
}

void
conf_match_fini(struct conf_match *m)
{
	size_t	 i;

	for (i = 0; i < CONF_CRITERIA; i++)
		free(m->pattern[i]);
	for (i = 0; i < m->nvalue; i++)
		free(m->value[i].text);
	free(m->value);
	free(m->where);
	memset(m, 0, sizeof(*m));
}

bool
conf_pattern_can_hold(const char *list)
{
	for (; *list == '!'; list++)
		if ((list = strchr(list, ',')) == NULL)
			return false;
	return true;
}

static int
add_criterion(struct conf_match *m, const char *word, const char *pattern,
    struct conf_error *e)
{
	size_t	 i;

	for (i = 0; i < CONF_CRITERIA; i++)
		if (strcasecmp(criteria[i].keyword, word) == 0)
			break;
	if (i == CONF_CRITERIA)
		return conf_fail(e, "Match: \"%.60s\" is none of Address, "
		    "Group, Identity, Listener, User, all", word);
	if (m->pattern[i] != NULL)
		return conf_fail(e, "Match: %s twice", criteria[i].keyword);
	if (match_list(pattern, "", criteria[i].kind == ADDRESS) == -2)
		return conf_fail(e, "Match %s: bad pattern \"%.150s\": "
		    "expected %s, separated by commas without blanks",
		    criteria[i].keyword, pattern, criteria[i].kind == ADDRESS ?
		    "addresses, networks such as 10.0.0.0/8, unix, stdio or "
		    "remote" : "names or patterns with * and ?");
	if (!conf_pattern_can_hold(pattern))
		return conf_fail(e, "Match %s: \"%.200s\" matches nobody: put "
		    "\"*,\" before it", criteria[i].keyword, pattern);
	if ((m->pattern[i] = strdup(pattern)) == NULL)
		return conf_fail(e, "Match: %s", strerror(errno));
	return 0;
}

/* Parse "Criterion patterns ...", cut up in place, or "all". */
static int
read_criteria(struct conf_match *m, char *text, struct conf_error *e)
{
	char	*word, *pattern;
	size_t	 n = 0;
	int	 r;

	while ((r = conf_word_next(&text, &word)) == 1) {
		if (strcasecmp(word, "all") == 0) {
			if (n > 0 || conf_word_next(&text, &word) != 0)
				return conf_fail(e, "Match: \"all\" stands "
				    "alone");
			return 0;
		}
		n++;
		if ((r = conf_word_next(&text, &pattern)) == 0)
			return conf_fail(e, "Match: %.60s without a pattern "
			    "(a list has commas, no blanks)", word);
		if (r == -1)
			break;
		if (add_criterion(m, word, pattern, e) == -1)
			return -1;
	}
	if (r == -1)
		return conf_fail(e, "Match: unbalanced quote");
	return n > 0 ? 0 : conf_fail(e, "Match: expected all, or "
	    "User, Group, Address, Identity or Listener with patterns");
}

int
conf_match_begin(struct conf *c, const char *text, const char *where,
    struct conf_error *e)
{
	struct conf_match	*m;
	char			*copy = NULL;

	if ((m = reallocarray(c->match, c->nmatch + 1, sizeof(*m))) == NULL)
		return conf_fail(e, "Match: %s", strerror(errno));
	c->match = m;
	m += c->nmatch;
	memset(m, 0, sizeof(*m));
	if ((copy = strdup(text)) == NULL ||
	    (m->where = strdup(where)) == NULL) {
		conf_fail(e, "Match: %s", strerror(errno));
		goto fail;
	}
	if (read_criteria(m, copy, e) == -1)
		goto fail;
	free(copy);
	c->nmatch++;
	c->block = CONF_IN_MATCH;
	return 0;
 fail:
	free(copy);
	conf_match_fini(m);
	return -1;
}

int
conf_match_set(struct conf *c, const struct conf_row *row, const char *value,
    struct conf_error *e)
{
	struct conf_match	*m = &c->match[c->nmatch - 1];
	struct conf_value	*v;

	assert(c->block == CONF_IN_MATCH && c->nmatch > 0);
	if ((v = reallocarray(m->value, m->nvalue + 1, sizeof(*v))) == NULL)
		return conf_fail(e, "%s: %s", row->keyword, strerror(errno));
	m->value = v;
	v += m->nvalue;
	v->row = (size_t)(row - conf_row_at(0));
	if ((v->text = strdup(value)) == NULL)
		return conf_fail(e, "%s: %s", row->keyword, strerror(errno));
	m->nvalue++;
	return 0;
}

void
conf_match_print(const struct conf_match *m, FILE *out)
{
	size_t	 i;
	bool	 is_all = true;

	fputs("Match", out);
	for (i = 0; i < CONF_CRITERIA; i++) {
		if (m->pattern[i] == NULL)
			continue;
		is_all = false;
		fprintf(out, " %s ", criteria[i].keyword);
		conf_print_quoted(m->pattern[i], out);
	}
	fputs(is_all ? " all\n" : "\n", out);
	for (i = 0; i < m->nvalue; i++) {
		fputc('\t', out);
		conf_print_line(conf_row_at(m->value[i].row)->keyword,
		    m->value[i].text, out);
	}
}

/* --- a client as text --- */

static int
add_to_spec(struct conf_spec *s, const char *key, char *value,
    struct conf_error *e)
{
	struct address	 a;
	size_t		 i;

	if (strcasecmp(key, "addr") == 0)
		key = "address";
	for (i = 0; i < CONF_CRITERIA; i++)
		if (strcasecmp(criteria[i].keyword, key) == 0)
			break;
	if (i == CONF_CRITERIA)
		return conf_fail(e, "\"%.60s\" is none of identity, user, "
		    "group, addr, listener", key);
	if (criteria[i].kind == ADDRESS && !is_place(value) &&
	    !conf_match_read_address(value, &a))
		return conf_fail(e, "\"%.60s\" is no address, nor unix, stdio "
		    "or remote", value);
	if (criteria[i].kind != TEXTS) {
		s->client.text[i] = value;
		return 0;
	}
	s->groups[s->client.ngroup++] = value;
	return 0;
}

int
conf_spec_parse(struct conf_spec *s, const char *text, struct conf_error *e)
{
	char	*part, *next, *value;

	memset(s, 0, sizeof(*s));
	/* At most one group for each byte. */
	if ((s->copy = strdup(text)) == NULL || (s->groups =
	    calloc(strlen(text) + 1, sizeof(*s->groups))) == NULL) {
		conf_fail(e, "%s", strerror(errno));
		goto fail;
	}
	s->client.group = s->groups;
	for (part = s->copy; part != NULL; part = next) {
		if ((next = strchr(part, ',')) != NULL)
			*next++ = '\0';
		if (*part == '\0')
			continue;
		if ((value = strchr(part, '=')) == NULL) {
			conf_fail(e, "\"%.60s\" has no \"=\"", part);
			goto fail;
		}
		*value++ = '\0';
		if (add_to_spec(s, part, value, e) == -1)
			goto fail;
	}
	return 0;
 fail:
	conf_spec_fini(s);
	return -1;
}

void
conf_spec_fini(struct conf_spec *s)
{
	free(s->copy);
	free(s->groups);
	memset(s, 0, sizeof(*s));
}
