#include "master/hub/admit/hubconf.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/conf/conf_priv.h"
#include "common/editdist.h"

#define set_CHOICE_level	set_choice
#define set_CHOICE_reach	set_choice
#define set_CHOICE_yesno	set_choice
#define print_CHOICE_level	print_choice
#define print_CHOICE_reach	print_choice
#define print_CHOICE_yesno	print_choice

static const struct conf_row hub_rows[] = {
#define HUB(keyword, type, member, value, when, help)			\
	{ #keyword, #type, set_##type, print_##type,			\
	  offsetof(struct hubconf, member), sizeof(CONF_##type), value,	\
	  CONF_##when },
#define HUB_RULE(keyword, type, member, value, who, help)
#include "proto/hub.def"
#undef HUB
#undef HUB_RULE
};

static const struct conf_row rule_rows[] = {
#define HUB(keyword, type, member, value, when, help)
#define HUB_RULE(keyword, type, member, value, who, help)		\
	{ #keyword, #type, set_##type, print_##type,			\
	  offsetof(struct hubrule, member), sizeof(CONF_##type), value,	\
	  CONF_LIVE },
#include "proto/hub.def"
#undef HUB
#undef HUB_RULE
};

enum { FOR_EXECUTOR = 1, FOR_HARNESS, FOR_BOTH };

static const uint8_t rule_for[] = {
#define HUB(keyword, type, member, value, when, help)
#define HUB_RULE(keyword, type, member, value, who, help) FOR_##who,
#include "proto/hub.def"
#undef HUB
#undef HUB_RULE
};

int
hubconf_init(struct hubconf *c)
{
	memset(c, 0, sizeof(*c));
	if (conf_rows_init(hub_rows, HUBCONF_ROWS, c) == 0)
		return 0;
	hubconf_fini(c);
	return -1;
}

static void
hubrule_fini(struct hubrule *r)
{
	conf_rows_fini(rule_rows, HUBRULE_ROWS, r);
	free(r->who);
}

void
hubconf_fini(struct hubconf *c)
{
	size_t	 i;

	conf_rows_fini(hub_rows, HUBCONF_ROWS, c);
	for (i = 0; i < c->nrule; i++)
		hubrule_fini(&c->rule[i]);
	free(c->rule);
	memset(c, 0, sizeof(*c));
}

/* --- one keyword --- */

static const char *
hubconf_keyword(const void *arg, size_t i)
{
	(void)arg;
	return i < HUBCONF_ROWS ? hub_rows[i].keyword :
	    i < HUBCONF_ROWS + HUBRULE_ROWS ?
	    rule_rows[i - HUBCONF_ROWS].keyword :
	    i == HUBCONF_ROWS + HUBRULE_ROWS ? "Match" :
	    i == HUBCONF_ROWS + HUBRULE_ROWS + 1 ? "Include" : NULL;
}

static int
hubconf_unknown(const char *keyword, bool is_in_block, struct conf_error *e)
{
	const struct conf_row	*r;
	const char		*meant;

	if ((r = conf_rows_find(hub_rows, HUBCONF_ROWS, keyword)) != NULL)
		return conf_fail(e, "\"%s\" belongs before the first Match",
		    r->keyword);
	if ((r = conf_rows_find(rule_rows, HUBRULE_ROWS, keyword)) != NULL)
		return conf_fail(e, "\"%s\" %s", r->keyword, is_in_block ?
		    "belongs in a block for the other side" :
		    "belongs in a Match block");
	if ((meant = editdist_nearest(keyword, hubconf_keyword, NULL)) != NULL)
		return conf_fail(e, "unknown keyword \"%.60s\": did you mean "
		    "\"%s\"?", keyword, meant);
	return conf_fail(e, "unknown keyword \"%.60s\"", keyword);
}

/* Set a row; the first value counts, unless it is a list. */
static int
hubconf_row(const struct conf_row *row, void *base, bool *given,
    const char *value, const char *file, struct conf_error *e)
{
	char	*path = NULL;
	void	*member = (char *)base + row->offset;
	int	 r;

	if (conf_row_is_list(row) && *value == '\0')
		return conf_fail(e, "%s: it needs a value", row->keyword);
	if (*given && !conf_row_is_list(row))
		return 0;
	if (row->set == set_PATH && file != NULL &&
	    (path = conf_beside(file, value)) == NULL)
		return conf_fail(e, "%s: %s", row->keyword, strerror(errno));
	r = row->set(row, member, path != NULL ? path : value);
	free(path);
	if (r == -1)
		return conf_bad_value(row, value, e);
	*given = true;
	return 0;
}

int
hubconf_set(struct hubconf *c, const char *keyword, const char *value,
    struct conf_error *e)
{
	const struct conf_row	*row;

	if ((row = conf_rows_find(hub_rows, HUBCONF_ROWS, keyword)) == NULL)
		return hubconf_unknown(keyword, false, e);
	return hubconf_row(row, c, &c->given[row - hub_rows], value, NULL, e);
}

/* Begin a block: "Executor PATTERNS" or "Harness PATTERNS"; they may be all. */
static int
hubconf_match(struct hubconf *c, char *text, struct conf_error *e)
{
	struct hubrule	*r;
	char		*side, *who, *rest;

	if (conf_word_next(&text, &side) != 1 ||
	    (strcasecmp(side, "Executor") != 0 &&
	    strcasecmp(side, "Harness") != 0))
		return conf_fail(e, "Match: expected Executor or Harness");
	if (conf_word_next(&text, &who) != 1 ||
	    conf_word_next(&text, &rest) != 0)
		return conf_fail(e, "Match %s: expected patterns such as "
		    "token:build-*,jwt:alice,group:ci without blanks, or all",
		    side);
	if (strcasecmp(who, "all") == 0)
		who = strcpy(who, "*");
	if (conf_pattern_list(who, "") == -2 || !conf_pattern_can_hold(who))
		return conf_fail(e, "Match %s: bad patterns \"%.150s\"", side,
		    who);
	/* An executor comes back with a ticket, which does not have them. */
	if (strcasecmp(side, "Executor") == 0 && strstr(who, "group:") != NULL)
		return conf_fail(e, "Match Executor: groups are for Harness "
		    "only");
	if ((r = reallocarray(c->rule, c->nrule + 1, sizeof(*r))) == NULL)
		return conf_fail(e, "Match: %s", strerror(errno));
	c->rule = r;
	r += c->nrule;
	memset(r, 0, sizeof(*r));
	r->is_executor = strcasecmp(side, "Executor") == 0;
	if ((r->who = strdup(who)) == NULL ||
	    conf_rows_init(rule_rows, HUBRULE_ROWS, r) == -1) {
		hubrule_fini(r);
		return conf_fail(e, "Match: %s", strerror(errno));
	}
	c->nrule++;
	return 0;
}

/* The block that lines belong to. */
enum hubconf_block { OUTER, IN_MATCH, IN_WRONG };

struct hubconf_reading {
	struct hubconf		*conf;
	enum hubconf_block	 block;
	conf_include_fn		*include;
	void			*arg;
};

static int
hubconf_on_line(void *arg, const struct conf_line *l, struct conf_error *why,
    struct conf_error *e)
{
	struct hubconf_reading	*rd = arg;
	struct hubconf		*c = rd->conf;
	const struct conf_row	*row;
	struct hubrule		*r;
	size_t			 n;

	if (strcasecmp(l->keyword, "Include") == 0 && rd->include != NULL)
		return rd->block != OUTER ? conf_fail(why, "\"Include\" "
		    "belongs before the first Match") :
		    conf_include(c, l->value, rd->include, rd->arg, why, e);
	if (strcasecmp(l->keyword, "Match") == 0) {
		rd->block = hubconf_match(c, l->value, why) == 0 ? IN_MATCH :
		    IN_WRONG;
		return rd->block == IN_MATCH ? 0 : -1;
	}
	if (rd->block == IN_WRONG)
		return 0;
	if (rd->block == OUTER) {
		if ((row = conf_rows_find(hub_rows, HUBCONF_ROWS,
		    l->keyword)) == NULL)
			return hubconf_unknown(l->keyword, false, why);
		return hubconf_row(row, c, &c->given[row - hub_rows],
		    l->value, l->name, why);
	}
	assert(c->nrule > 0);
	r = &c->rule[c->nrule - 1];
	row = conf_rows_find(rule_rows, HUBRULE_ROWS, l->keyword);
	n = row == NULL ? 0 : (size_t)(row - rule_rows);
	if (row == NULL || (rule_for[n] & (r->is_executor ? FOR_EXECUTOR :
	    FOR_HARNESS)) == 0)
		return hubconf_unknown(l->keyword, true, why);
	return hubconf_row(row, r, &r->given[n], l->value, l->name, why);
}

int
hubconf_parse(struct hubconf *c, const char *name, char *text, size_t len,
    conf_include_fn *include, void *arg, struct conf_error *e)
{
	struct hubconf_reading	 rd = { .conf = c, .block = OUTER,
				    .include = include, .arg = arg };

	return conf_lines(name, text, len, hubconf_on_line, &rd, e);
}

static int
hubconf_parse_file(void *c, const char *name, char *text, size_t len,
    conf_include_fn *include, void *arg, struct conf_error *e)
{
	return hubconf_parse(c, name, text, len, include, arg, e);
}

int
hubconf_load(struct hubconf *c, const char *path, struct conf_error *e)
{
	return conf_files(c, path, hubconf_parse_file, e);
}

int
hubconf_keep(struct hubconf *now, const struct hubconf *old,
    void (*on_kept)(void *, const char *), void *arg)
{
	return conf_rows_keep(hub_rows, HUBCONF_ROWS, now, old, on_kept, arg);
}

/* A daemon has no folder that a relative path could be in. */
int
hubconf_check(const struct hubconf *c, struct conf_error *e)
{
	if (c->audit_log[0] != '/' && strcmp(c->audit_log, "none") != 0)
		return conf_fail(e, "AuditLog %.200s: expected none or the "
		    "absolute path of a file", c->audit_log);
	if (c->log_to[0] != '\0' && strcmp(c->log_to, "stderr") != 0 &&
	    strcmp(c->log_to, "syslog") != 0)
		return conf_fail(e, "LogTo %.200s: expected stderr or syslog",
		    c->log_to);
	if (c->runtime_dir[0] != '\0' && c->runtime_dir[0] != '/')
		return conf_fail(e, "RuntimeDirectory %.200s: expected an "
		    "absolute path", c->runtime_dir);
	return 0;
}

void
hubconf_print(const struct hubconf *c, FILE *out)
{
	const struct hubrule	*r;
	size_t			 i, k;

	conf_rows_print(hub_rows, HUBCONF_ROWS, c, out);
	for (i = 0; i < c->nrule; i++) {
		r = &c->rule[i];
		fprintf(out, "Match %s %s\n", r->is_executor ? "Executor" :
		    "Harness", r->who);
		for (k = 0; k < HUBRULE_ROWS; k++) {
			if (!r->given[k])
				continue;
			fputc('\t', out);
			/* One that is given and empty counts, too. */
			if (k == HUBRULE_labels)
				conf_print_line(rule_rows[k].keyword,
				    r->labels, out);
			else
				rule_rows[k].print(&rule_rows[k],
				    (const char *)r + rule_rows[k].offset,
				    out);
		}
	}
}
