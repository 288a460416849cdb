#include "master/validate.h"

#include "master/accept/listen.h"
#include "master/accept/policy.h"
#include "master/auth/names.h"
#include "master/auth/tokens.h"
#include "master/ctl/ctl.h"
#include "master/logs/audit.h"
#include "master/logs/logto.h"
#include "master/remote/remote_check.h"
#include "master/workers/transcript_files.h"

int
validate(const struct conf *c, struct conf_error *e)
{
	struct policy	*names = NULL;
	struct tokens	*tokens = NULL;
	int		 r = -1;

	if (logto_check(c, e) == 0 && audit_check(c, e) == 0 &&
	    transcript_files_check(c, e) == 0 && ctl_check(c, e) == 0 &&
	    remote_check(c, e) == 0 && (names = policy_new(c, e)) != NULL &&
	    (tokens = tokens_load(c, true, e)) != NULL)
		r = listen_check(c, tokens_wanted(c), e);
	tokens_free(&tokens);
	policy_free(&names);
	names_end();
	return r;
}
