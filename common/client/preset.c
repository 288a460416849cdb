/* The usual sandboxes, as the stock client writes them. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/client/execsrv.h"
#include "common/json/json_out.h"
#include "common/json/uri.h"

#define READ_ROOT							\
	"{\"path\":{\"type\":\"special\","				\
	"\"value\":{\"kind\":\"root\"}},\"access\":\"read\"}"
#define WRITE_KIND(kind)						\
	",{\"path\":{\"type\":\"special\","				\
	"\"value\":{\"kind\":\"" kind "\"}},\"access\":\"write\"}"
/* Files that make other programs run commands must not be written. */
#define KEEP(name)							\
	",{\"path\":{\"type\":\"special\",\"value\":"			\
	"{\"kind\":\"project_roots\",\"subpath\":\"" name "\"}},"	\
	"\"access\":\"read\",\"missing_path_behavior\":\"skip\"}"

#define ONLY(entries)							\
	"{\"type\":\"managed\",\"network\":\"restricted\","		\
	"\"file_system\":{\"type\":\"restricted\",\"entries\":["	\
	entries "]}}"

static const char *const	 permissions[] = {
	[EXECSRV_READ_ONLY] = ONLY(READ_ROOT),
	[EXECSRV_WORKSPACE_WRITE] = ONLY(READ_ROOT
	    WRITE_KIND("project_roots") WRITE_KIND("slash_tmp")
	    WRITE_KIND("tmpdir") KEEP(".git") KEEP(".agents") KEEP(".codex")),
};

static void
put_folders(struct json_out *o, const char *cwd)
{
	json_out_pair(o, "cwd", cwd);
	json_out_key(o, "workspaceRoots");
	json_out_open(o, '[');
	json_out_str(o, cwd);
	json_out_close(o, ']');
}

static void
preset_put_sandbox(struct json_out *o, const char *allowed, const char *cwd)
{
	json_out_open(o, '{');
	json_out_key(o, "permissions");
	json_out_raw(o, allowed, strlen(allowed));
	put_folders(o, cwd);
	json_out_key(o, "policyContext");	/* of requests for files */
	json_out_open(o, '{');
	put_folders(o, cwd);
	json_out_close(o, '}');
	json_out_pair(o, "windowsSandboxLevel", "disabled");
	json_out_close(o, '}');
}

char *
execsrv_sandbox_json(enum execsrv_sandbox sandbox, const char *cwd)
{
	char		 uri[3 * PATH_MAX + 8], *text = NULL;
	struct json_out	 o;
	struct buf	 b;

	if (sandbox != EXECSRV_READ_ONLY &&
	    sandbox != EXECSRV_WORKSPACE_WRITE) {
		errno = EINVAL;
		return NULL;
	}
	if (uri_from_path(cwd, uri, sizeof(uri)) == -1)
		return NULL;
	buf_init(&b, SIZE_MAX);
	json_out_init(&o, &b);
	preset_put_sandbox(&o, permissions[sandbox], uri);
	if (json_out_fini(&o) == 0 && buf_put(&b, "", 1) == 0)
		text = strdup((char *)buf_data(&b));
	buf_fini(&b);
	return text;
}
