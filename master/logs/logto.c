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
target(const struct master *m)
{
	const char	*to = m->conf.log_to;

	if (to[0] == '/')
		return "file";
	if (strcmp(to, "syslog") == 0 || (to[0] == '\0' && m->start.is_daemon))
		return "syslog";
	return log_stderr_how();
}

static void
logto_reopen(void *arg)
{
	(void)!logfile_reopen(arg);	/* logs its failure */
}

int
logto_init(struct master *m)
{
	const char	*to = target(m);

	assert(m->logs.file == NULL);
	/* The lower three bits of a syslog number are the priority. */
	snprintf(m->logs.how, sizeof(m->logs.how), "%s%s,%d", to,
	    m->conf.log_format == CONF_FORMAT_JSON ? ",json" : "",
	    m->conf.facility << 3);
	if (strcmp(to, "stderr") == 0 || strcmp(to, "journal") == 0)
		log_set_how(m->logs.how);
	if (strcmp(to, "file") != 0)
		return 0;
	if ((m->logs.file = logfile_new(m->conf.log_to)) == NULL)
		return -1;
	log_set_reopen(logto_reopen, m->logs.file);
	return 0;
}

void
logto_switch(struct master *m)
{
	assert(m->logs.how[0] != '\0');
	log_set_how(m->logs.how);
	if (m->logs.file != NULL)
		logfile_use(m->logs.file);
}

int
logto_stderr(const struct master *m)
{
	return m->logs.file == NULL ? STDERR_FILENO :
	    logfile_pipe(m->logs.file);
}
