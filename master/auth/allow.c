#include "master/auth/allow.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "master/auth/names.h"

/* --- one client --- */

/* As conf_pattern_list(), of all lines of a keyword. */
static int
allow_matches(const struct conf_list *l, const char *name)
{
	size_t	 i;
	int	 r, found = 0;

	for (i = 0; i < l->n; i++) {
		if ((r = conf_pattern_list(l->item[i], name)) < 0)
			return -1;
		found |= r;
	}
	return found;
}

static bool
has_user(const struct conf_list *l, const struct conf_client *who)
{
	const char	*name = who->text[CONF_MATCH_user];

	return name != NULL && allow_matches(l, name) == 1;
}

/* As Match Group: one with ! is one too many. */
static bool
has_group(const struct conf_list *l, const struct conf_client *who)
{
	size_t	 i;
	int	 r;
	bool	 found = false;

	for (i = 0; i < who->ngroup; i++) {
		if ((r = allow_matches(l, who->group[i])) < 0)
			return false;
		found |= r == 1;
	}
	return found;
}

const char *
allow_denies(const struct conf *c, const struct conf_client *who)
{
	if (has_user(&c->deny_users, who))
		return "DenyUsers names this user";
	if (has_group(&c->deny_groups, who))
		return "DenyGroups names a group of this user";
	return NULL;
}

const char *
allow_judge(const struct conf *c, const struct conf_client *who)
{
	const char	*why = allow_denies(c, who);

	if (why != NULL)
		return why;
	if (c->allow_users.n > 0 && !has_user(&c->allow_users, who))
		return "AllowUsers does not name this user";
	if (c->allow_groups.n > 0 && !has_group(&c->allow_groups, who))
		return "AllowGroups names no group of this user";
	return NULL;
}

/* --- all lists --- */

struct list {
	const char	*keyword;
	size_t		 row;
	bool		 is_group;
};

static const struct list lists[] = {
	{ "AllowGroups", CONF_ROW_allow_groups, true },
	{ "AllowUsers",	 CONF_ROW_allow_users,	false },
	{ "DenyGroups",	 CONF_ROW_deny_groups,	true },
	{ "DenyUsers",	 CONF_ROW_deny_users,	false },
};
#define LISTS	(sizeof(lists) / sizeof(lists[0]))

static const struct conf_list *
outer_list(const struct conf *c, size_t row)
{
	switch (row) {
	case CONF_ROW_allow_groups:
		return &c->allow_groups;
	case CONF_ROW_allow_users:
		return &c->allow_users;
	case CONF_ROW_deny_groups:
		return &c->deny_groups;
	default:
		return &c->deny_users;
	}
}

/* What a Match block says of a keyword is as it was read. */
static int
each_in_block(const struct conf_match *m, const struct list *l, allow_fn *fn,
    void *arg)
{
	char	*copy;
	size_t	 i;
	int	 r = 0;

	for (i = 0; r == 0 && i < m->nvalue; i++) {
		if (m->value[i].row != l->row)
			continue;
		if ((copy = strdup(m->value[i].text)) == NULL)
			return -1;
		conf_join_names(copy);
		r = fn(arg, l->keyword, m->where, copy);
		free(copy);
	}
	return r;
}

static int
each_of(const struct conf *c, const struct list *l, allow_fn *fn, void *arg)
{
	const struct conf_list	*outer = outer_list(c, l->row);
	size_t			 i;
	int			 r = 0;

	for (i = 0; r == 0 && i < outer->n; i++)
		r = fn(arg, l->keyword, conf_where(c, l->row, i),
		    outer->item[i]);
	for (i = 0; r == 0 && i < c->nmatch; i++)
		r = each_in_block(&c->match[i], l, fn, arg);
	return r;
}

int
allow_each(const struct conf *c, bool is_group, allow_fn *fn, void *arg)
{
	const char	*list;
	size_t		 i;
	int		 r = 0;

	for (i = 0; r == 0 && i < c->nmatch; i++)
		if ((list = c->match[i].pattern[is_group ? CONF_MATCH_group :
		    CONF_MATCH_user]) != NULL)
			r = fn(arg, is_group ? "Match Group" : "Match User",
			    c->match[i].where, list);
	for (i = 0; r == 0 && i < LISTS; i++)
		if (lists[i].is_group == is_group)
			r = each_of(c, &lists[i], fn, arg);
	return r;
}

int
allow_names(const char *list, allow_name_fn *fn, void *arg)
{
	char	 name[ALLOW_NAME_MAX];
	size_t	 n;
	int	 r;

	for (; *list != '\0'; list += n + (list[n] == ',')) {
		if (*list == '!')
			list++;
		n = strcspn(list, ",");
		if (n == 0 || n >= sizeof(name))
			continue;
		memcpy(name, list, n);
		name[n] = '\0';
		if ((r = fn(arg, name, strpbrk(name, "*?") != NULL)) != 0)
			return r;
	}
	return 0;
}

/* --- names that nobody has --- */

struct warning {
	FILE		*out;
	const char	*keyword, *where;
	bool		 is_group;
};

/* A user without a name is matched by his number. */
static bool
allow_is_number(const char *name)
{
	return name[strspn(name, "0123456789")] == '\0';
}

static int
warn_name(void *arg, const char *name, bool is_pattern)
{
	const struct warning	*w = arg;

	if (is_pattern || (!w->is_group && allow_is_number(name)) ||
	    (w->is_group ? names_group(name) != NULL :
	    names_user(name) != NULL))
		return 0;
	if (errno != 0)
		return -1;
	fprintf(w->out, "execsrvd: warning: %s%s%s: there is no %s \"%s\"\n",
	    w->where, w->where[0] != '\0' ? ": " : "", w->keyword,
	    w->is_group ? "group" : "user", name);
	return 0;
}

static int
warn_list(void *arg, const char *keyword, const char *where, const char *list)
{
	struct warning	*w = arg;

	w->keyword = keyword;
	w->where = where;
	return allow_names(list, warn_name, w);
}

void
allow_warn(const struct conf *c, FILE *out)
{
	struct warning	 w = { .out = out };
	int		 r;

	r = allow_each(c, false, warn_list, &w);
	w.is_group = true;
	if (r != 0 || allow_each(c, true, warn_list, &w) != 0)
		fprintf(out, "execsrvd: names: %s\n", names_error(errno));
	names_end();
}
