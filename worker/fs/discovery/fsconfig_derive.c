/*
 * managed_config.toml, the older way to manage a machine, sets values; the
 * newer, requirements.toml, says which values are allowed.  What the former
 * sets is what the latter allows, and for some the safer value besides.
 */
#include "worker/fs/discovery/fsconfig.h"

#include <stddef.h>
#include <string.h>

/* A value that a setting may have, and what is allowed then. */
struct choice {
	const char	*value;
	const char	*allows;	/* TOML */
};

static const struct choice	 approvals[] = {
	{ "never",		"[\"never\"]" },
	{ "on-failure",		"[\"on-request\"]" },
	{ "on-request",		"[\"on-request\"]" },
	{ "untrusted",		"[\"untrusted\"]" },
	{ NULL, NULL }
};

static const struct choice	 reviewers[] = {
	{ "auto_review",	"[\"auto_review\", \"user\"]" },
	{ "guardian_subagent",	"[\"auto_review\", \"user\"]" },
	{ "user",		"[\"user\"]" },
	{ NULL, NULL }
};

static const struct choice	 sandboxes[] = {
	{ "danger-full-access",	"[\"read-only\", \"danger-full-access\"]" },
	{ "read-only",		"[\"read-only\"]" },
	{ "workspace-write",	"[\"read-only\", \"workspace-write\"]" },
	{ NULL, NULL }
};

static const struct setting {
	const char		*key, *allowed;
	const struct choice	*choices;
	const char		*why;
} settings[] = {
	{ "approval_policy", "allowed_approval_policies", approvals,
	    "unknown value of approval_policy" },
	{ "approvals_reviewer", "allowed_approvals_reviewers", reviewers,
	    "unknown value of approvals_reviewer" },
	{ "sandbox_mode", "allowed_sandbox_modes", sandboxes,
	    "unknown value of sandbox_mode" },
};

/* The switches of a granular policy, and which of them must be given. */
static const struct {
	const char	*name;
	bool		 is_needed;
} switches[] = {
	{ "sandbox_approval", true },
	{ "rules", true },
	{ "skill_approval", false },
	{ "request_permissions", false },
	{ "mcp_elicitations", true },
};

static struct span
fsconfig_span_of(const char *text)
{
	struct span	 s = { text, strlen(text) };

	return s;
}

static int
fsconfig_put(struct buf *b, const char *text)
{
	return buf_put(b, text, strlen(text));
}

static const char *
find_choice(const struct choice *c, struct span value)
{
	for (; c->value != NULL; c++)
		if (span_is(value, c->value))
			return c->allows;
	return NULL;
}

/* Put approval_policy = { granular = v }: the only value that is a table. */
static int
put_granular(const struct toml *t, const struct toml_value *v,
    struct buf *out, const char **why)
{
	const struct toml_value	*given;
	size_t			 i;
	int			 is_on;

	*why = "approval_policy.granular needs the booleans sandbox_approval, "
	    "rules and mcp_elicitations";
	if (fsconfig_put(out, "[{ granular = { ") == -1)
		goto no_memory;
	for (i = 0; i < sizeof(switches) / sizeof(switches[0]); i++) {
		given = toml_get(t, v, fsconfig_span_of(switches[i].name));
		if (given == NULL && switches[i].is_needed)
			return -1;
		if ((is_on = given == NULL ? 0 : toml_bool(given)) == -1)
			return -1;
		if ((i > 0 && fsconfig_put(out, ", ") == -1) ||
		    fsconfig_put(out, switches[i].name) == -1 ||
		    fsconfig_put(out, is_on ? " = true" : " = false") == -1)
			goto no_memory;
	}
	if (fsconfig_put(out, " } }]") == 0)
		return 0;
 no_memory:
	*why = NULL;
	return -1;
}

/* Put what a setting's value allows: a word, or { word = {} }. */
static int
put_allowed(const struct toml *t, const struct setting *s,
    const struct toml_value *v, struct buf *out, const char **why)
{
	const struct toml_value	*only = toml_first(v);
	const char		*allows;
	struct span		 word;

	*why = s->why;
	if (only != NULL && (toml_next(only) != NULL || !toml_is_table(only)))
		return -1;
	word = only != NULL ? toml_key(only) : toml_string(v);
	if (only != NULL && s->choices == approvals &&
	    span_is(word, "granular"))
		return put_granular(t, only, out, why);
	if (word.at == NULL ||
	    (allows = find_choice(s->choices, word)) == NULL)
		return -1;
	*why = NULL;
	return fsconfig_put(out, allows);
}

int
fsconfig_derive(const struct toml *managed, struct buf *out,
    const char **why_out)
{
	const struct toml_value	*v;
	size_t			 i;

	*why_out = NULL;
	for (i = 0; i < sizeof(settings) / sizeof(settings[0]); i++) {
		v = toml_get(managed, toml_root(managed),
		    fsconfig_span_of(settings[i].key));
		if (v == NULL)
			continue;
		if (fsconfig_put(out, settings[i].allowed) == -1 ||
		    fsconfig_put(out, " = ") == -1 ||
		    put_allowed(managed, &settings[i], v, out,
		    why_out) == -1 || fsconfig_put(out, "\n") == -1)
			return -1;
	}
	return 0;
}
