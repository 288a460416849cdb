#include "master/logs/logto.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "master/logs/logfile.h"

int
logto_check(const struct conf *c, struct conf_error *e)
{
	const char	*to = c->log_to;

	if (to[0] == '/' || to[0] == '\0' || strcmp(to, "stderr") == 0 ||
	    strcmp(to, "syslog") == 0)
		return 0;
	conf_fail(e, "LogTo %.200s: expected stderr, syslog or the absolute "
	    "path of a file", to);
	return conf_at(e, conf_where(c, CONF_ROW_log_to, 0));
}

static const char *
target(const struct conf *c, bool is_daemon)
{
	const char	*to = c->log_to;

	if (to[0] == '/')
		return "file";
	if (strcmp(to, "syslog") == 0 || (to[0] == '\0' && is_daemon))
		return "syslog";
	return log_stderr_how();
}

static void
logto_reopen(void *arg)
{
	(void)!logfile_reopen(arg);	/* logs its failure */
}

int
logto_init(struct world_logs *l, const struct conf *c, bool is_daemon)
{
	const char	*to = target(c, is_daemon);

	assert(l->file == NULL);
	/* The lower three bits of a syslog number are the priority. */
	snprintf(l->how, sizeof(l->how), "%s%s,%d", to,
	    c->log_format == CONF_FORMAT_JSON ? ",json" : "",
	    c->facility << 3);
	if (strcmp(to, "stderr") == 0 || strcmp(to, "journal") == 0)
		log_set_how(l->how);
	if (strcmp(to, "file") != 0)
		return 0;
	if ((l->file = logfile_new(c->log_to)) == NULL)
		return -1;
	log_set_reopen(logto_reopen, l->file);
	return 0;
}

bool
logto_daemon(const struct conf *c)
{
	char	 how[LOG_HOW_MAX];

	if (strcmp(c->log_to, "stderr") == 0)
		return false;
	snprintf(how, sizeof(how), "syslog%s,%d", c->log_format ==
	    CONF_FORMAT_JSON ? ",json" : "", c->facility << 3);
	log_set_how(how);
	return true;
}

void
logto_switch(const struct world_logs *l)
{
	assert(l->how[0] != '\0');
	log_set_how(l->how);
	if (l->file != NULL)
		logfile_use(l->file);
}

int
logto_stderr(const struct world_logs *l)
{
	return l->file == NULL ? STDERR_FILENO : logfile_pipe(l->file);
}
