/* Sandbox objects to entries; plan_entry.c handles these. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/plan/pathglob.h"
#include "common/plan/plan_priv.h"

int
plan_refuse(struct plan_maker *m, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(m->why, m->why_size, fmt, ap);
	va_end(ap);
	return -1;
}

/* Turn errno of plan_add() and the like into a reason. */
static int
refuse_errno(struct plan_maker *m)
{
	return plan_refuse(m, "%s", errno == E2BIG ?
	    "too many rules" : strerror(errno));
}

int
plan_put(struct plan_maker *m, enum plan_kind kind, bool if_exists,
    const char *path)
{
	return plan_add(m->p, kind, if_exists, path) == 0 ? 0 :
	    refuse_errno(m);
}

int
plan_decode(struct plan_maker *m, uint32_t tok, const struct field *fields,
    void *out, size_t size)
{
	struct param_error	 e;

	if (params_decode(m->j, tok, fields, out, size, m->ctx->native_paths,
	    &e) == 0)
		return 0;
	return plan_refuse(m, "%s", e.text);
}

/* --- paths --- */

/* Remove the last name; false for a wildcard, of which ".." has no meaning. */
static int
go_up(char *path, enum plan_dots dots)
{
	char	*slash = strrchr(path, '/');

	if (dots == DOTS_IN_PATTERN &&
	    (pathglob_is_wild(slash + 1, strlen(slash + 1)) ||
	    strchr(slash, '\\') != NULL)) {
		errno = EINVAL;
		return -1;
	}
	slash[slash == path] = '\0';
	return 0;
}

/* "\.." is "..": it would be in the path without being resolved. */
static bool
is_escaped_dots(const char *name, size_t len)
{
	size_t	 i, n = 0;

	for (i = 0; i < len; i++, n++) {
		if (name[i] == '\\' && i + 1 < len)
			i++;
		if (name[i] != '.')
			return false;
	}
	return n <= 2 && n < len;
}

static int
join_name(char *path, const char *name, size_t len, enum plan_dots dots)
{
	size_t	 n = strlen(path);
	bool	 is_here, is_up;

	if (len == 0)
		return 0;
	is_here = len == 1 && name[0] == '.';
	is_up = len == 2 && name[0] == '.' && name[1] == '.';
	if (memchr(name, '\0', len) != NULL ||
	    (dots == DOTS_REFUSED && (is_here || is_up)) ||
	    (dots == DOTS_IN_PATTERN && is_escaped_dots(name, len))) {
		errno = EINVAL;
		return -1;
	}
	if (is_here)
		return 0;
	if (is_up)
		return go_up(path, dots);
	n -= n == 1;			/* the root ends in a slash */
	if (n + 1 + len >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return -1;
	}
	path[n] = '/';
	memcpy(path + n + 1, name, len);
	path[n + 1 + len] = '\0';
	return 0;
}

int
plan_join(char *path, const char *names, size_t len, enum plan_dots dots)
{
	const char	*end, *slash;

	if (len == 0)			/* names may be NULL */
		return 0;
	for (end = names + len; names < end; names = slash + 1) {
		slash = memchr(names, '/', (size_t)(end - names));
		if (slash == NULL)
			slash = end;
		if (join_name(path, names, (size_t)(slash - names), dots) ==
		    -1)
			return -1;
	}
	return 0;
}

/* Copy a normalized absolute path; false: not absolute, or too long. */
static bool
tidy(char *out, const char *path)
{
	if (path == NULL || path[0] != '/')
		return false;
	strcpy(out, "/");
	return plan_join(out, path, strlen(path), DOTS_RESOLVED) == 0;
}

int
plan_put_list(struct plan_maker *m, uint32_t list, const char *what,
    bool is_writable)
{
	struct param_path	 p;
	char			 path[PATH_MAX];
	uint32_t		 i;

	if (list == 0)
		return 0;
	for (i = json_first(list); json_more(m->j, list, i);
	    i = json_after_elem(m->j, i)) {
		if (param_path(m->j, i, m->ctx->native_paths, &p) == -1 ||
		    !tidy(path, p.path))
			return plan_refuse(m, "%s must be a list of "
			    "file: URIs", what);
		if (is_writable && plan_put(m, PLAN_WRITE, false, path) == -1)
			return -1;
	}
	return 0;
}

/* --- folders that entries refer to --- */

static int
put_below(struct plan_maker *m, enum plan_kind kind, bool if_exists,
    const char *root, const char *sub, size_t len)
{
	char	 path[PATH_MAX];

	if (!tidy(path, root) ||
	    (len > 0 && sub[0] == '/') ||
	    plan_join(path, sub, len, DOTS_REFUSED) == -1)
		return plan_refuse(m, "entries[%zu]: a subpath leads "
		    "down, without dots", m->entry);
	return plan_put(m, kind, if_exists, path);
}

int
plan_put_roots(struct plan_maker *m, enum plan_kind kind, bool if_exists,
    const char *sub, size_t len)
{
	struct param_path	 p;
	uint32_t		 i;

	if (m->cwd_is_root) {
		if (!m->has_cwd)
			return plan_refuse(m, "permissions that "
			    "depend on a folder need cwd or workspaceRoots");
		return put_below(m, kind, if_exists, m->cwd, sub, len);
	}
	if (m->roots == 0)
		return 0;
	for (i = json_first(m->roots); json_more(m->j, m->roots, i);
	    i = json_after_elem(m->j, i))
		if (param_path(m->j, i, m->ctx->native_paths, &p) == -1)
			return plan_refuse(m, "a workspace root that "
			    "is none");
		else if (put_below(m, kind, if_exists, p.path, sub, len) == -1)
			return -1;
	return 0;
}

/* Without such a folder an entry for it has no effect. */
int
plan_put_tmpdir(struct plan_maker *m, enum plan_kind kind, bool if_exists)
{
	char	 path[PATH_MAX];

	if (!tidy(path, m->ctx->tmpdir))
		return 0;
	return plan_put(m, kind, if_exists, path);
}

void
plan_set_cwd(struct plan_maker *m, const char *path)
{
	m->has_cwd = tidy(m->cwd, path);
}

/*
 * Find the working folder and the project roots.  As in the reference, the
 * object's context is used before its own cwd.  Without workspaceRoots (older
 * clients) the cwd is the only root.
 */
static int
find_folders(struct plan_maker *m, const struct sandbox_params *s)
{
	struct policy_context_params	 c;

	if (plan_put_list(m, s->roots, "workspaceRoots", false) == -1 ||
	    plan_put_list(m, s->tmpdirs, "temporaryDirectories", false) == -1)
		return -1;
	plan_set_cwd(m, s->cwd.given ? s->cwd.path : m->ctx->cwd);
	m->roots = s->roots;
	m->cwd_is_root = s->roots == 0 && s->context == 0;
	if (s->context == 0)
		return 0;
	if (PLAN_DECODE(m, s->context, policy_context, &c) == -1 ||
	    plan_put_list(m, c.roots, "workspaceRoots", false) == -1)
		return -1;
	if (c.cwd.given)
		plan_set_cwd(m, c.cwd.path);
	m->roots = c.roots;
	return 0;
}

/* --- rights --- */

static int
set_network(struct plan_maker *m, const struct param_text *word)
{
	if (!param_is(word, "restricted") && !param_is(word, "enabled"))
		return plan_refuse(m, "network must be restricted or "
		    "enabled");
	m->p->net_off = param_is(word, "restricted");
	return 0;
}

static int
put_file_system(struct plan_maker *m, const struct file_system_params *f)
{
	uint32_t	 i;

	if (f->glob_depth.given &&
	    (f->glob_depth.n == 0 || f->glob_depth.n > UINT32_MAX))
		return plan_refuse(m, "glob_scan_max_depth is out of "
		    "range");
	m->p->glob_depth = (unsigned)f->glob_depth.n;
	if (param_is(&f->type, "unrestricted"))
		return plan_put(m, PLAN_WRITE, false, "/");
	if (!param_is(&f->type, "restricted"))
		return plan_refuse(m, "file_system.type must be "
		    "restricted or unrestricted");
	if (f->entries == 0)
		return plan_refuse(m, "missing \"entries\"");
	for (i = json_first(f->entries); json_more(m->j, f->entries, i);
	    i = json_after_elem(m->j, i), m->entry++)
		if (plan_entry(m, i) == -1)
			return -1;
	return 0;
}

static int
put_permissions(struct plan_maker *m, uint32_t tok)
{
	struct permissions_params	 pe;
	struct file_system_params	 fs;

	if (PLAN_DECODE(m, tok, permissions, &pe) == -1)
		return -1;
	if (param_is(&pe.type, "disabled"))
		return plan_put(m, PLAN_WRITE, false, "/");
	if (!param_is(&pe.type, "external") && !param_is(&pe.type, "managed"))
		return plan_refuse(m, "permissions.type must be "
		    "disabled, external or managed");
	if (set_network(m, &pe.network) == -1)
		return -1;
	if (param_is(&pe.type, "external"))
		return plan_put(m, PLAN_WRITE, false, "/");
	if (pe.file_system == 0)
		return plan_refuse(m, "missing \"file_system\"");
	if (PLAN_DECODE(m, pe.file_system, file_system, &fs) == -1)
		return -1;
	return put_file_system(m, &fs);
}

/* Fields for Windows have no effect, but must be valid as in the reference. */
static int
check_windows(struct plan_maker *m, const struct sandbox_params *s)
{
	static const char	*const levels[] = { "disabled",
				    "restricted-token", "elevated", "mxc" };
	size_t			 i;

	for (i = 0; i < 4 && !param_is(&s->windows_level, levels[i]); i++)
		;
	if (i == 4)
		return plan_refuse(m, "unknown windowsSandboxLevel");
	if (s->windows_proxy.s != NULL &&
	    !param_is(&s->windows_proxy, "reconcile") &&
	    !param_is(&s->windows_proxy, "preserve"))
		return plan_refuse(m, "unknown "
		    "windowsSandboxProxySettingsMode");
	return 0;
}

static int
plan_make_make(struct plan_maker *m, uint32_t tok)
{
	struct sandbox_params	 s;

	if (plan_is_legacy(m->j, tok)) {
		plan_set_cwd(m, m->ctx->cwd);
		m->cwd_is_root = true;
		return plan_legacy(m, tok);
	}
	if (PLAN_DECODE(m, tok, sandbox, &s) == -1 ||
	    check_windows(m, &s) == -1 || find_folders(m, &s) == -1)
		return -1;
	return put_permissions(m, s.permissions);
}

int
plan_make(struct plan *p, struct json *j, unsigned tok,
    const struct plan_context *ctx, char *why, size_t size)
{
	struct plan_maker	 m = { .p = p, .j = j, .ctx = ctx, .why = why,
				    .why_size = size };

	memset(p, 0, sizeof(*p));
	if (plan_make_make(&m, tok) == -1)
		return -1;
	return plan_settle(p, m.has_minimal) == 0 ? 0 : refuse_errno(&m);
}
