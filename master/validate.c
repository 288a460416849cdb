#include "master/validate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "common/net/netpattern.h"
#include "master/accept/listen.h"
#include "master/accept/policy.h"
#include "master/auth/names.h"
#include "master/auth/tokens.h"
#include "master/ctl/ctl.h"
#include "master/logs/audit.h"
#include "master/logs/logto.h"
#include "master/remote/remote_check.h"
#include "master/workers/transcript_files.h"

/* Whether a file can be written, or made where it is to be. */
static bool
can_write(const char *path)
{
	const char	*slash = strrchr(path, '/');
	char		*folder;
	int		 r;

	if (access(path, W_OK) == 0)
		return true;
	if (errno != ENOENT || slash == NULL)
		return false;
	folder = slash == path ? strdup("/") :
	    strndup(path, (size_t)(slash - path));
	if (folder == NULL)
		return false;
	r = access(folder, W_OK | X_OK);
	free(folder);
	return r == 0;
}

static int
validate_output(const struct conf *c, const char *keyword, size_t row,
    const char *path, struct conf_error *e)
{
	if (path[0] != '/' || can_write(path))
		return 0;
	conf_fail(e, "%s %.200s: %s", keyword, path, strerror(errno));
	return conf_at(e, conf_where(c, row, 0));
}

/* The files, and the folder, that a start opens for writing. */
static int
validate_outputs(const struct conf *c, struct conf_error *e)
{
	struct conf_error	 all = { .text = "" };

	if (validate_output(c, "AuditLog", CONF_ROW_audit_log, c->audit_log,
	    e) == -1)
		conf_more(&all, e);
	if (validate_output(c, "LogTo", CONF_ROW_log_to, c->log_to, e) == -1)
		conf_more(&all, e);
	if (validate_output(c, "PidFile", CONF_ROW_pid_file, c->pid_file, e) ==
	    -1)
		conf_more(&all, e);
	if (transcript_files_is_wanted(c) && validate_output(c,
	    "TranscriptDir", CONF_ROW_transcript_dir, c->transcript_dir, e) ==
	    -1)
		conf_more(&all, e);
	if (all.text[0] == '\0')
		return 0;
	*e = all;
	return -1;
}

static int
validate_policy(const struct conf *c, struct conf_error *e)
{
	struct policy	*names = policy_new(c, e);
	int		 r = names == NULL ? -1 : 0;

	policy_free(&names);
	return r;
}

static int
validate_tokens(const struct conf *c, struct conf_error *e)
{
	struct tokens	*tokens = tokens_load(c, e);
	int		 r = tokens == NULL ? -1 : 0;

	tokens_free(&tokens);
	return r;
}

static int
validate_listeners(const struct conf *c, struct conf_error *e)
{
	return listen_check(c, tokens_wanted(c), e);
}

static int
validate_domain(const char *keyword, const char *text, size_t *sum,
    const char *where, struct conf_error *e)
{
	char		 pattern[NETHOST_MAX];
	const char	*why;

	*sum += strlen(text) + 4;
	why = netpattern_make(text, strlen(text), pattern);
	if (why == NULL && *sum > LIMIT_NET_DOMAINS)
		why = "too many of them";
	if (why == NULL)
		return 0;
	conf_fail(e, "%s %.200s: %s", keyword, text, why);
	return conf_at(e, where);
}

static int
validate_domain_row(const struct conf *c, const char *keyword, size_t row,
    const struct conf_list *list, struct conf_error *e)
{
	const struct conf_match	*m;
	size_t			 i, j, sum = 0;

	for (i = 0; i < list->n; i++)
		if (validate_domain(keyword, list->item[i], &sum,
		    conf_where(c, row, i), e) == -1)
			return -1;
	for (i = 0; i < c->nmatch; i++) {
		m = &c->match[i];
		for (j = 0; j < m->nvalue; j++)
			if (m->value[j].row == row &&
			    validate_domain(keyword, m->value[j].text, &sum,
			    m->where, e) == -1)
				return -1;
	}
	return 0;
}

static int
validate_domains(const struct conf *c, struct conf_error *e)
{
	return validate_domain_row(c, "AllowDomain", CONF_ROW_allow_domain,
	    &c->allow_domain, e) == -1 ? -1 :
	    validate_domain_row(c, "DenyDomain", CONF_ROW_deny_domain,
	    &c->deny_domain, e);
}

/* What is not as meant if one of these keywords was wrong. */
static const char *const	 of_uplinks[] = {
	"Uplink", "RemoteUser", "UplinkCaFile", "UplinkUser",
#define UPLINK(keyword, type, member, value, help)	#keyword,
#include "proto/uplink.def"
#undef UPLINK
	NULL
};
static const char *const	 of_tokens[] = {
	"BearerAudience", "BearerIssuer", "BearerKeysFile", "BearerSecretFile",
	"RequireToken", "SessionUser", "Token", "TokenFile", "TokenSecretFile",
	"TokenUser", NULL
};

static const struct check {
	int			 (*fn)(const struct conf *,
				    struct conf_error *);
	const char *const	*of;	/* or NULL: of one keyword each */
} checks[] = {
	{ logto_check, NULL }, { audit_check, NULL },
	{ validate_outputs, NULL }, { transcript_files_check, NULL },
	{ ctl_check, NULL }, { remote_check, of_uplinks },
	{ validate_policy, NULL }, { validate_tokens, of_tokens },
	{ validate_listeners, of_tokens }, { validate_domains, NULL }
};

/* Whether what it would say may come from a mistake that is known. */
static bool
validate_is_moot(const struct conf *c, const char *const *of)
{
	for (; of != NULL && *of != NULL; of++)
		if (conf_is_wrong(c, *of))
			return true;
	return false;
}

int
validate(const struct conf *c, struct conf_error *e)
{
	struct conf_error	 all = { .text = "" };
	size_t			 i;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (!validate_is_moot(c, checks[i].of) &&
		    checks[i].fn(c, e) == -1)
			conf_more(&all, e);
	names_end();
	if (all.text[0] == '\0')
		return 0;
	*e = all;
	return -1;
}
