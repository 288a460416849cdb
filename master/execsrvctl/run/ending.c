#include "master/execsrvctl/run/ending.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/execsrv.h"
#include "common/json/json.h"
#include "master/execsrvctl/term.h"

/* Write the reason, made printable.  False: another method, or none. */
static bool
ending_reason(const char *method, const char *params, size_t len, char *out,
    size_t size)
{
	struct json	 j;
	char		*copy;
	bool		 has;

	if (strcmp(method, "session/ending") != 0 || params == NULL ||
	    (copy = strndup(params, len)) == NULL)
		return false;
	json_init(&j);
	has = json_parse(&j, copy, strlen(copy)) == 0 &&
	    json_copy_text(&j, json_find(&j, 0, "reason"), out, size);
	if (has)
		execsrv_printable(out);
	json_fini(&j);
	free(copy);
	return has;
}

/* Otherwise an exit status of 143 looks as if the command were killed. */
void
ending_on_note(void *arg, const char *method, const char *params, size_t len)
{
	char	 why[128];

	(void)arg;
	if (!ending_reason(method, params, len, why, sizeof(why)))
		return;
	term_restore();
	fprintf(stderr, "execsrvctl: the server ends the session: %s\n", why);
}

void
ending_hint(const struct execsrv *x, const char *url)
{
	enum execsrv_reason	 why = execsrv_why(x)->reason;
	const char		*session = execsrv_session(x);

	if (session == NULL || (execsrv_status(x) != EXECSRV_RECOVERING &&
	    why != EXECSRV_WHY_LOST && why != EXECSRV_WHY_CONNECT &&
	    why != EXECSRV_WHY_TIMEOUT))
		return;
	term_restore();
	fprintf(stderr, "execsrvctl: the command may go on for a while: "
	    "\"execsrvctl attach -u %s %s\" comes back to it\n", url,
	    session);
}
