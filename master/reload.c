#include "master/reload.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#include "common/limit.h"
#include "common/log.h"
#include "master/accept/listen.h"
#include "master/accept/policy.h"
#include "master/auth/names.h"
#include "master/auth/tokens.h"
#include "master/auth/userdb.h"
#include "master/cmdline.h"
#include "master/logs/audit.h"
#include "master/parts.h"
#include "common/process/sdnotify.h"
#include "master/validate.h"
#include "master/workers/cgroups.h"
#include "master/workers/pool.h"
#include "master/workers/transcript_files.h"

/* Note a changed setting that needs a restart; left out of a full list. */
static void
on_kept(void *arg, const char *keyword)
{
	struct reloaded	*out = arg;

	log_warnx("reload: %s has changed, which needs a restart", keyword);
	if (buf_put(&out->kept, keyword, strlen(keyword)) == 0 &&
	    buf_put(&out->kept, "\n", 1) == -1)
		out->kept.len -= strlen(keyword);
}

/* Validate a configuration; sockets that were passed in count as listeners. */
static int
reload_check(const struct master *m, const struct conf *c, struct conf_error *e)
{
	if (validate(c, e) == -1)
		return -1;
	if (cmdline_has_listeners(c) || m->listen.activation.n > 0)
		return 0;
	return conf_fail(e, "nothing to listen on");
}

/* Apply a valid configuration; takes now, names and tokens. */
static void
reload_commit(struct master *m, struct conf *now, struct policy *names,
    struct tokens *tokens, struct reloaded *out)
{
	assert(names != NULL && tokens != NULL);
	if (cmdline_has_stdio(now) != m->world.start.is_stdio)
		on_kept(out, "Listen stdio");
	out->removed = listen_reduce(&m->listen);
	listen_publish(&m->listen);
	conf_fini(&m->world.conf);
	m->world.conf = *now;
	policy_free(&m->world.policy);
	m->world.policy = names;
	tokens_wipe(&m->world.conf);
	tokens_free(&m->world.tokens);
	m->world.tokens = tokens;
	cgroups_warn(m->cgroups, &m->world.conf);
	log_set_level((enum log_level)m->world.conf.log_level);
	pool_reload(m->pool);
	userdb_flush(m->userdb);
	log_info("the configuration was read again; %u listeners added, %u "
	    "removed", out->added, out->removed);
}

static void
log_refused(const struct conf_error *e)
{
	const char	*at = e->text, *line;
	size_t		 len;

	while ((line = conf_error_line(&at, &len)) != NULL)
		log_warnx("reload failed, the old configuration stays: %.*s",
		    (int)len, line);
}

static int
take_over(struct master *m, struct reloaded *out, struct conf_error *e)
{
	struct policy	*names = NULL;
	struct tokens	*tokens = NULL;
	struct conf	 now;

	memset(out, 0, sizeof(*out));
	buf_init(&out->kept, (size_t)LIMIT_CONTROL_MESSAGE / 2);
	if (cmdline_load(m->world.start.cmdline, &now, e) != CMDLINE_OK)
		goto fail;
	if (reload_check(m, &now, e) == -1 || transcript_files_prepare(&now,
	    e) == -1 || (names = policy_new(&now, e)) == NULL ||
	    (tokens = tokens_load(&now, e)) == NULL ||
	    listen_check(&now, tokens_any(tokens), e) == -1 ||
	    listen_extend(&m->listen, &now, &out->added, e) == -1)
		goto undo;
	if (conf_keep(&now, &m->world.conf, on_kept, out) == 0) {
		reload_commit(m, &now, names, tokens, out);
		return 0;
	}
	/* Close the listeners just opened. */
	conf_fail(e, "out of memory");
	(void)!listen_extend(&m->listen, &m->world.conf, &out->added, e);
	listen_reduce(&m->listen);
 undo:
	tokens_free(&tokens);
	policy_free(&names);
	tokens_wipe(&now);
	conf_fini(&now);
 fail:
	buf_fini(&out->kept);
	log_refused(e);
	return -1;
}

/* After RELOADING=1 the service manager waits for READY=1, even on failure. */
int
reload(struct master *m, struct reloaded *out, struct conf_error *e)
{
	struct audit_what	 what = { .event = AUDIT_configuration_read };
	int			 r;

	assert(!world_is_stopping(&m->world));
	sdnotify_reloading(m->sdnotify);
	r = take_over(m, out, e);
	names_end();
	m->world.start.is_reload_refused = r == -1;
	if (r == 0)
		m->world.start.loaded = time(NULL);
	what.result = r == 0 ? "done" : "failed";
	what.why = r == 0 ? NULL : e->text;
	audit(&m->world, &what);
	sdnotify_ready(m->sdnotify);
	return r;
}

void
reload_on_signal(struct master *m)
{
	struct reloaded		 done;
	struct conf_error	 e;

	audit_reopen(&m->world);
	if (!world_is_stopping(&m->world) && reload(m, &done, &e) == 0)
		buf_fini(&done.kept);
}
