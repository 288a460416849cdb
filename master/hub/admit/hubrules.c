#include "master/hub/admit/hubrules.h"

#include <ctype.h>
#include <string.h>

#include "master/hub/admit/ticket.h"

#define PATTERN_MAX	1024	/* bytes, with ${subject} filled in */
#define RATE_MIN	(1024 * 1024)
#define OWN_NAME	"${subject}"

static bool
hubrules_is_plain(const char *text, size_t len, const char *more)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		if (!isalnum((unsigned char)text[i]) && (text[i] == '\0' ||
		    strchr(more, text[i]) == NULL))
			return false;
	return len > 0;
}

bool
environment_is_valid(struct span id)
{
	return id.len <= ENVIRONMENT_MAX && !span_is(id, ".") &&
	    !span_is(id, "..") && hubrules_is_plain(id.at, id.len, "-_.~:@+");
}

bool
hubrules_is_denied(const struct hubconf *c, const char *name)
{
	size_t	 i;

	for (i = 0; i < c->deny_subject.n; i++)
		if (conf_pattern_list(c->deny_subject.item[i], name) != 0)
			return true;
	return false;
}

/* One negated match refuses, whatever else matches. */
static bool
hubrule_holds(const struct hubrule *r, const struct subject_is *who)
{
	char	 group[256];
	size_t	 i;
	int	 verdict, found;

	if ((found = conf_pattern_list(r->who, who->name)) < 0)
		return false;
	for (i = 0; i < who->ngroup; i++) {
		if (snprintf(group, sizeof(group), "group:%s",
		    who->group[i]) >= (int)sizeof(group))
			continue;
		if ((verdict = conf_pattern_list(r->who, group)) < 0)
			return false;
		found |= verdict;
	}
	return found == 1;
}

/*
 * Fill in the subject's own name.  False: it is too long, or could be taken for
 * a pattern.
 */
static bool
hubrules_fill(const char *pattern, const char *name, char out[PATTERN_MAX])
{
	const char	*own = strchr(name, ':'), *at;
	size_t		 len = 0, n;

	own = own != NULL ? own + 1 : name;
	while ((at = strstr(pattern, OWN_NAME)) != NULL) {
		n = (size_t)(at - pattern);
		if (!hubrules_is_plain(own, strlen(own), "-_.~@+") ||
		    len + n + strlen(own) >= PATTERN_MAX)
			return false;
		memcpy(out + len, pattern, n);
		strcpy(out + len + n, own);
		len += n + strlen(own);
		pattern = at + strlen(OWN_NAME);
	}
	if (len + strlen(pattern) >= PATTERN_MAX)
		return false;
	strcpy(out + len, pattern);
	return true;
}

static int
hubrules_match(const char *list, const char *name, const char *environment)
{
	char	 filled[PATTERN_MAX];

	return hubrules_fill(list, name, filled) ?
	    conf_pattern_list(filled, environment) : 0;
}

bool
hubrules_may_register(const struct hubconf *c, const struct subject_is *who,
    const char *environment)
{
	const struct hubrule	*r;
	size_t			 i, k;
	int			 found = 0, verdict;

	if (who->may_register != NULL)
		found = conf_pattern_list(who->may_register, environment);
	for (i = 0; i < c->nrule && found >= 0; i++) {
		r = &c->rule[i];
		if (!r->is_executor || !hubrule_holds(r, who))
			continue;
		for (k = 0; k < r->may_register.n && found >= 0; k++) {
			verdict = hubrules_match(r->may_register.item[k],
			    who->name, environment);
			found = verdict < 0 ? -1 : found | verdict;
		}
	}
	return found == 1;
}

bool
labels_have(const char *labels, const char *label)
{
	size_t	 n = strlen(label), len;

	for (;; labels += len + 1) {
		len = strcspn(labels, ",");
		if (len == n && memcmp(labels, label, n) == 0)
			return n > 0;
		if (labels[len] == '\0')
			return false;
	}
}

/* A list of patterns, some of which may be labels: as conf_pattern_list(). */
static int
hubrules_connect(const char *list, const char *name, const char *environment,
    const char *labels, bool *depends_out)
{
	char	 part[PATTERN_MAX];
	size_t	 n;
	int	 found = 0, r;
	bool	 is_not;

	for (;; list += n + 1) {
		is_not = *list == '!';
		list += is_not;
		n = strcspn(list, ",");
		if (n >= sizeof(part))
			return -1;
		memcpy(part, list, n);
		part[n] = '\0';
		if (strchr(part, '=') == NULL) {
			r = hubrules_match(part, name, environment) != 0;
		} else if (labels == NULL) {
			*depends_out = true;
			r = 0;
		} else {
			r = labels_have(labels, part);
		}
		if (r && is_not)
			return -1;
		found |= r;
		if (list[n] == '\0')
			return found;
	}
}

/* What its rules say in one of these lists, and its token in own. */
static enum hubrules_answer
hubrules_may(const struct hubconf *c, const struct subject_is *who,
    const char *own, bool is_operator, const char *environment,
    const char *labels)
{
	const struct hubrule	*r;
	const struct conf_list	*l;
	size_t			 i, k;
	int			 found = 0, verdict;
	bool			 depends = false;

	if (own != NULL)
		found = hubrules_connect(own, who->name, environment, labels,
		    &depends);
	for (i = 0; i < c->nrule && found >= 0; i++) {
		r = &c->rule[i];
		l = is_operator ? &r->may_operate : &r->may_connect;
		if (r->is_executor || !hubrule_holds(r, who))
			continue;
		for (k = 0; k < l->n && found >= 0; k++) {
			verdict = hubrules_connect(l->item[k], who->name,
			    environment, labels, &depends);
			found = verdict < 0 ? -1 : found | verdict;
		}
	}
	return found < 0 ? RULES_NO : depends ? RULES_DEPENDS :
	    found ? RULES_YES : RULES_NO;
}

enum hubrules_answer
hubrules_may_connect(const struct hubconf *c, const struct subject_is *who,
    const char *environment, const char *labels)
{
	return hubrules_may(c, who, who->may_connect, false, environment,
	    labels);
}

bool
hubrules_may_operate(const struct hubconf *c, const struct subject_is *who,
    const char *environment, const char *labels)
{
	return hubrules_may(c, who, NULL, true, environment, labels) ==
	    RULES_YES;
}

const char *
hubrules_labels(const struct hubconf *c, const struct subject_is *who)
{
	size_t	 i;

	for (i = 0; i < c->nrule; i++)
		if (c->rule[i].is_executor &&
		    c->rule[i].given[HUBRULE_labels] &&
		    hubrule_holds(&c->rule[i], who))
			return c->rule[i].labels;
	return "";
}

void
hubrules_limits(const struct hubconf *c, const struct subject_is *who,
    bool is_executor, struct subject_limits *out)
{
	const struct hubrule	*r;
	bool			 given[HUBRULE_ROWS] = { false };
	size_t			 i;

	memset(out, 0, sizeof(*out));
#define FIRST(member, to) do {						\
	if (r->given[HUBRULE_##member] && !given[HUBRULE_##member]) {	\
		given[HUBRULE_##member] = true;				\
		(to) = r->member;					\
	}								\
} while (0)
	for (i = 0; i < c->nrule; i++) {
		r = &c->rule[i];
		if (r->is_executor != is_executor || !hubrule_holds(r, who))
			continue;
		FIRST(max_environments, out->environments);
		FIRST(max_streams, out->streams);
		FIRST(max_rate, out->rate);
		FIRST(may_list, out->may_list);
		FIRST(may_operate_hubs, out->operates_hubs);
		out->operates |= r->may_operate.n > 0;
	}
#undef FIRST
}

/* Nothing else is filled in: it would be taken as it stands. */
static int
hubrules_check_names(const struct conf_list *l, const char *keyword,
    struct conf_error *e)
{
	const char	*at;
	size_t		 i;

	for (i = 0; i < l->n; i++)
		for (at = l->item[i]; (at = strstr(at, "${")) != NULL; at++)
			if (strncmp(at, OWN_NAME, strlen(OWN_NAME)) != 0)
				return conf_fail(e, "%s %.150s: only "
				    OWN_NAME " is filled in", keyword,
				    l->item[i]);
	return 0;
}

int
hubrules_check(const struct hubconf *c, struct conf_error *e)
{
	const struct hubrule	*r;
	const char		*at;
	size_t			 i, n;

	for (i = 0; i < c->nrule; i++) {
		r = &c->rule[i];
		if (hubrules_check_names(&r->may_register, "MayRegister",
		    e) == -1 || hubrules_check_names(&r->may_connect,
		    "MayConnect", e) == -1 || hubrules_check_names(
		    &r->may_operate, "MayOperate", e) == -1)
			return -1;
		if (r->max_rate > 0 && r->max_rate < RATE_MIN)
			return conf_fail(e, "MaxBytesPerSecond: less than "
			    "%d would reset streams for being slow",
			    RATE_MIN);
		if (strlen(r->labels) > TICKET_LABELS_MAX)
			return conf_fail(e, "Label %.150s: longer than %d "
			    "bytes", r->labels, TICKET_LABELS_MAX);
		for (at = r->labels; *at != '\0'; at += n + (at[n] == ',')) {
			n = strcspn(at, ",");
			if (memchr(at, '=', n) == NULL ||
			    !hubrules_is_plain(at, n, "-_.~:@+=/"))
				return conf_fail(e, "Label %.150s: expected "
				    "KEY=VALUE, separated by commas",
				    r->labels);
		}
	}
	return 0;
}
