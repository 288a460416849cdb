/*
 * environmentConfig/read (PROTOCOL 8.2): the user's configuration of the
 * client's program on this machine.
 *
 * The reference returns the contents of the files, cut to the requested keys,
 * for which a reader and writer of TOML is needed.  We have none, and only
 * report that there is no configuration: an answer without layers is correct
 * then.  (Project files count only where one of the files below trusts them.)
 * If there is or may be any, the capability is not announced and the method
 * fails, since an empty answer would hide the configuration.
 */
#include "worker/rpc/rpc_priv.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fd.h"
#include "worker/fs/lookup.h"

static const char *const	 system_files[] = {
	"/etc/codex/config.toml",
	"/etc/codex/managed_config.toml",
	"/etc/codex/requirements.toml",
};

/* Return the user's directory of the client's program, absolute.  0, or -1. */
static int
codex_home(char *path, size_t size)
{
	const char	*home;
	int		 n;

	if ((home = getenv("CODEX_HOME")) != NULL && home[0] != '\0')
		n = snprintf(path, size, "%s", home);
	else if ((home = getenv("HOME")) != NULL)
		n = snprintf(path, size, "%s/.codex", home);
	else
		return -1;
	return n < 0 || (size_t)n >= size || path[0] != '/' ? -1 : 0;
}

/* Whether a file certainly does not exist. */
static bool
is_absent(const char *path)
{
	static const struct lookup	 how = { .nonblock = true };
	struct statx			 x;
	int				 fd;

	if ((fd = lookup(path, &how, &x)) == -1)
		return errno == ENOENT;
	fd_close(&fd);
	return false;
}

bool
rpc_config_is_none(void)
{
	char	 home[PATH_MAX], path[PATH_MAX + sizeof("/config.toml")];
	size_t	 i;

	if (codex_home(home, sizeof(home)) == -1)
		return false;
	snprintf(path, sizeof(path), "%s/config.toml", home);
	if (!is_absent(path))
		return false;
	for (i = 0; i < sizeof(system_files) / sizeof(system_files[0]); i++)
		if (!is_absent(system_files[i]))
			return false;
	return true;
}

static void
put_no_layers(struct json_out *o, const char *key)
{
	json_out_key(o, key);
	json_out_open(o, '{');
	json_out_key(o, "layers");
	json_out_open(o, '[');
	json_out_close(o, ']');
	json_out_key(o, "cloudInsertionIndex");
	json_out_u64(o, 0);
	json_out_close(o, '}');
}

static void
rpc_config_answer(struct rpc_req *req)
{
	struct json_out	 o;
	char		 home[PATH_MAX], host[HOST_NAME_MAX + 1];

	/* Not the canonical name: a name service may block. */
	if (codex_home(home, sizeof(home)) == -1 ||
	    gethostname(host, sizeof(host)) == -1) {
		rpc_error(req, ERR_FAILED, NULL);
		return;
	}
	host[sizeof(host) - 1] = '\0';
	rpc_begin(req, &o);
	rpc_put_uri(&o, "userHomeDir", getenv("HOME"));
	rpc_put_uri(&o, "codexHomeDir", home);
	json_out_key(&o, "hostname");
	json_out_str(&o, host);
	put_no_layers(&o, "config");
	put_no_layers(&o, "requirements");
	rpc_end(req, &o);
}

void
rpc_config_read(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct config_read_params	*p = params;

	(void)rpc;
	(void)msg;
	if (p->config.n == 0 && p->requirements.n == 0)
		rpc_error(req, ERR_PARAMS, "invalid params: at least one "
		    "config or requirements path is required");
	else if (!rpc_config_is_none())
		rpc_error(req, ERR_FAILED, "there may be a configuration on "
		    "this machine, which this server does not read");
	else
		rpc_config_answer(req);
}
