#include "master/validate.h"

#include "master/audit.h"
#include "master/ctl.h"
#include "master/listen.h"
#include "master/logto.h"
#include "master/names.h"
#include "master/policy.h"
#include "master/remote.h"
#include "master/tokens.h"
#include "master/transcript.h"

int
validate(const struct conf *c, struct conf_error *e)
{
	struct policy	*names = NULL;
	struct tokens	*tokens = NULL;
	int		 r = -1;

	if (logto_check(c, e) == 0 && audit_check(c, e) == 0 &&
	    transcript_check(c, e) == 0 && ctl_check(c, e) == 0 &&
	    remote_check(c, e) == 0 && (names = policy_new(c, e)) != NULL &&
	    (tokens = tokens_load(c, true, e)) != NULL)
		r = listen_check(c, tokens_wanted(c), e);
	tokens_free(&tokens);
	policy_free(&names);
	names_end();
	return r;
}
