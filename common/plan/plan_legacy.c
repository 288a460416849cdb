/*
 * Legacy policies (PROTOCOL 9.5), translated to the permissions that replaced
 * them.
 */
#include <string.h>

#include "common/plan/plan_priv.h"

typedef int	 policy_fn(struct plan_maker *, uint32_t tok);

bool
plan_is_legacy(const struct json *j, uint32_t tok)
{
	return json_find(j, tok, "permissions") == 0 &&
	    (json_find(j, tok, "type") != 0 ||
	    json_find(j, tok, "sandboxPolicy") != 0);
}

static int
policy_full(struct plan_maker *m, uint32_t tok)
{
	(void)tok;
	return plan_put(m, PLAN_WRITE, false, "/");
}

static int
policy_external(struct plan_maker *m, uint32_t tok)
{
	struct legacy_external_params	 p;
	const struct param_text		*word;

	if (PLAN_DECODE(m, tok, legacy_external, &p) == -1)
		return -1;
	word = p.network.s != NULL ? &p.network : &p.network_v2;
	if (word->s != NULL && !param_is(word, "restricted") &&
	    !param_is(word, "enabled"))
		return plan_refuse(m, "unknown network_access");
	m->p->net_off = !param_is(word, "enabled");
	return plan_put(m, PLAN_WRITE, false, "/");
}

static int
policy_read(struct plan_maker *m, uint32_t tok)
{
	struct legacy_rights_params	 p;

	if (PLAN_DECODE(m, tok, legacy_rights, &p) == -1)
		return -1;
	m->p->net_off = !p.network && !p.network_v2;
	return plan_put(m, PLAN_READ, false, "/");
}

/* plan_settle() protects .git and the like. */
static int
policy_workspace(struct plan_maker *m, uint32_t tok)
{
	struct legacy_rights_params	 p;

	if (policy_read(m, tok) == -1 ||
	    PLAN_DECODE(m, tok, legacy_rights, &p) == -1 ||
	    plan_put_roots(m, PLAN_WRITE, false, NULL, 0) == -1 ||
	    plan_put_list(m, p.roots, "writable_roots", true) == -1 ||
	    plan_put_list(m, p.roots_v2, "writableRoots", true) == -1)
		return -1;
	if (!p.no_tmpdir && !p.no_tmpdir_v2 &&
	    plan_put_tmpdir(m, PLAN_WRITE, false) == -1)
		return -1;
	if (!p.no_slash_tmp && !p.no_slash_tmp_v2 &&
	    plan_put(m, PLAN_WRITE, false, "/tmp") == -1)
		return -1;
	return 0;
}

/* Spellings of the stock client, its app server and its manuals. */
static const struct policy {
	const char	*names[3];
	policy_fn	*fn;
} policies[] = {
	{ { "danger-full-access", "dangerFullAccess", "DangerFullAccess" },
	    policy_full },
	{ { "external-sandbox", "externalSandbox", "ExternalSandbox" },
	    policy_external },
	{ { "read-only", "readOnly", "ReadOnly" }, policy_read },
	{ { "workspace-write", "workspaceWrite", "WorkspaceWrite" },
	    policy_workspace },
};

static int
plan_legacy_put_policy(struct plan_maker *m, uint32_t tok)
{
	struct legacy_policy_params	 p;
	size_t				 i, k;

	if (PLAN_DECODE(m, tok, legacy_policy, &p) == -1)
		return -1;
	for (i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		for (k = 0; k < 3; k++)
			if (param_is(&p.type, policies[i].names[k]))
				return policies[i].fn(m, tok);
	return plan_refuse(m, "unknown type of policy");
}

int
plan_legacy(struct plan_maker *m, uint32_t tok)
{
	struct legacy_sandbox_params	 s;

	if (json_find(m->j, tok, "sandboxPolicy") == 0)
		return plan_legacy_put_policy(m, tok);
	if (PLAN_DECODE(m, tok, legacy_sandbox, &s) == -1)
		return -1;
	if (s.policy_cwd.given)
		plan_set_cwd(m, s.policy_cwd.path);
	else if (s.cwd.given)
		plan_set_cwd(m, s.cwd.path);
	return plan_legacy_put_policy(m, s.policy);
}
