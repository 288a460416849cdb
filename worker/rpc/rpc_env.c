/* environment/info and environment/status (PROTOCOL 4.4). */
#include "worker/rpc/netjobs.h"
#include "worker/rpc/rpc.h"
#include "worker/rpc/rpc_priv.h"
#include "worker/rpc/start.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"

/*
 * The version of the exec server whose protocol this is (PROTOCOL 4.4), and
 * after it, as semantic versioning has it, what was built.  The stock client
 * compares the first part: it uses discovery only from 0.164.0 on.
 */
#define EXECUTOR_VERSION	"0.169.0+execsrv." PACKAGE_VERSION

/*
 * Write a path as a URI: a member, or an element if key is NULL.  Nothing if
 * path is NULL or not absolute.
 */
static void
rpc_put_uri(struct json_out *o, const char *key, const char *path)
{
	if (path == NULL || path[0] != '/')
		return;
	if (key != NULL)
		json_out_key(o, key);
	json_out_uri(o, path);
}

static void
put_shell(struct json_out *o)
{
	const char	*shell = getenv("SHELL"), *name;

	if (shell == NULL || shell[0] != '/' || access(shell, X_OK) == -1)
		shell = access("/bin/bash", X_OK) == 0 ? "/bin/bash" :
		    "/bin/sh";
	name = strrchr(shell, '/') + 1;
	json_out_key(o, "shell");
	json_out_open(o, '{');
	json_out_pair(o, "name", name);
	json_out_pair(o, "path", shell);
	json_out_close(o, '}');
}

void
rpc_put_environment(struct rpc *rpc, struct json_out *o)
{
	const char	*tmp = getenv("TMPDIR");
	char		 cwd[PATH_MAX];

	(void)rpc;
	json_out_open(o, '{');
	put_shell(o);
	json_out_pair(o, "executorVersion", EXECUTOR_VERSION);
	json_out_pair(o, "providerId", "execsrv " PACKAGE_VERSION);
	rpc_put_uri(o, "cwd", getcwd(cwd, sizeof(cwd)));
	rpc_put_uri(o, "userHomeDir", getenv("HOME"));
	json_out_pair(o, "platformOs", "linux");
	json_out_key(o, "temporaryDirectories");
	json_out_open(o, '[');
	rpc_put_uri(o, NULL, tmp);
	json_out_close(o, ']');
	rpc_put_uri(o, "tempDir", tmp != NULL && tmp[0] == '/' ? tmp :
	    "/tmp");
	json_out_key(o, "capabilities");
	json_out_open(o, '{');
#define CAP(name, meaning)						\
	json_out_key(o, name);						\
	json_out_bool(o, true);
#define CAP_IF(name, meaning, when)					\
	if (when(rpc)) {						\
		CAP(name, meaning)					\
	}
#include "proto/cap.def"
#undef CAP
#undef CAP_IF
	json_out_close(o, '}');
	json_out_close(o, '}');
}

void
rpc_env_info(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	struct json_out	 o;

	(void)params;
	(void)msg;
	/* The result is the object: no braces of rpc_begin(). */
	rpc_begin_value(req, &o);
	rpc_put_environment(rpc, &o);
	rpc_end_value(req, &o);
}

void
rpc_env_status(struct rpc *rpc, struct rpc_req *req, void *params,
    const struct rpc_message *msg)
{
	(void)rpc;
	(void)params;
	(void)msg;
	rpc_status(req, "ready");
}
