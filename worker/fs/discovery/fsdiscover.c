#include "worker/fs/discovery/fsdiscover.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/utf8.h"
#include "common/limit.h"

/* Where a plugin's manifest is, the first that is there. */
static const char *const	 manifests[] = {
	".codex-plugin/plugin.json",
	".claude-plugin/plugin.json",
	".cursor-plugin/plugin.json",
};

/* --- paths --- */

int
paths_add(struct paths *p, const char *path, size_t len)
{
	char	**bigger;
	size_t	 cap = p->cap == 0 ? 32 : 2 * p->cap;

	assert(p->n <= p->cap);
	if (p->n == p->cap) {
		if ((bigger = reallocarray(p->v, cap, sizeof(*p->v))) == NULL)
			return -1;
		p->v = bigger;
		p->cap = cap;
	}
	if ((p->v[p->n] = strndup(path, len)) == NULL)
		return -1;
	p->n++;
	return 0;
}

static int
paths_compare(const void *a, const void *b)
{
	const char *const	*x = a, *const *y = b;

	return strcmp(*x, *y);
}

void
paths_sort(struct paths *p)
{
	if (p->n > 1)
		qsort(p->v, p->n, sizeof(*p->v), paths_compare);
}

void
paths_fini(struct paths *p)
{
	size_t	 i;

	for (i = 0; i < p->n; i++)
		free(p->v[i]);
	free(p->v);
	memset(p, 0, sizeof(*p));
}

bool
discovery_join(char path[PATH_MAX], const char *folder, const char *name)
{
	int	 n = snprintf(path, PATH_MAX, "%s/%s",
	    strcmp(folder, "/") == 0 ? "" : folder, name);

	return n > 0 && n < PATH_MAX;
}

/* --- the answer --- */

void
discovery_init(struct discovery *d, const struct fsop_how *how)
{
	memset(d, 0, sizeof(*d));
	d->how = how;
	buf_init(&d->out, LIMIT_MESSAGE - 4096);
	buf_init(&d->warned, LIMIT_SKILL_WARNINGS);
	json_out_init(&d->o, &d->out);
	json_out_init(&d->warnings, &d->warned);
	json_out_open(&d->warnings, '[');
}

int
discovery_fini(struct discovery *d, int rv, struct fsop_result *r)
{
	int	 error = errno;

	assert(d->out.off == 0 && d->texts <= LIMIT_SKILL_TEXTS);
	if ((json_out_fini(&d->o) == -1 ||
	    json_out_fini(&d->warnings) == -1) && rv == 0) {
		error = errno;
		rv = -1;
	}
	if (rv == 0)
		buf_move(&r->payload, &d->out);
	buf_fini(&d->out);
	buf_fini(&d->warned);
	free(d->parent);
	free(d->parent_name);
	errno = error;
	return rv;
}

void
discovery_put_warnings(struct discovery *d)
{
	json_out_key(&d->o, "warnings");
	json_out_close(&d->warnings, ']');
	json_out_raw(&d->o, (const char *)buf_data(&d->warned),
	    d->warned.len);
}

void
discovery_warn(struct discovery *d, const char *fmt, ...)
{
	char	 text[PATH_MAX + 256];
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	/* Always leave room for the bracket. */
	if (d->warned.len + 6 * sizeof(text) < LIMIT_SKILL_WARNINGS)
		json_out_str(&d->warnings, text);
}

/* --- files --- */

/* Whether an error is about the operation as a whole. */
static bool
is_fatal(int error)
{
	return error == ECANCELED || error == ENOMEM || error == EAGAIN;
}

bool
discovery_ends_in(const char *path, size_t len, const char *const *names)
{
	size_t	 n;

	for (; *names != NULL; names++) {
		n = strlen(*names);
		if (len > n && path[len - n - 1] == '/' &&
		    memcmp(path + len - n, *names, n) == 0)
			return true;
	}
	return false;
}

static int
take_walked(const struct fsop_result *r, const char *const *names,
    struct paths *out)
{
	struct fsop_record	 rec;
	const char		*path, *text;
	size_t			 off = 0;

	while (fsop_next_record(&r->payload, &off, &rec, &path, &text))
		if (rec.type == FSOP_REC_FILE &&
		    discovery_ends_in(path, rec.name_len, names) &&
		    paths_add(out, path, rec.name_len) == -1)
			return -1;
	paths_sort(out);
	return 0;
}

int
discovery_walk(struct discovery *d, const char *root, bool follow,
    const char *const *names, struct paths *out)
{
	struct fsop_result	 r;
	struct fsop		 op;
	int			 rv = 0;

	memset(&op, 0, sizeof(op));
	op.kind = FSOP_WALK;
	op.fd = -1;
	op.max_depth = LIMIT_SKILL_DEPTH;
	op.max_dirs = LIMIT_SKILL_FOLDERS;
	op.max_entries = LIMIT_SKILL_ENTRIES;
	op.follow_dirs = follow;
	snprintf(op.path, sizeof(op.path), "%s", root);
	fsop_result_init(&r);
	fsop_run(&op, d->how, &r);
	if (is_fatal(r.error)) {
		errno = r.error;
		rv = -1;
	} else if (r.error != 0 || r.why != FSWHY_NONE) {
		if (r.error != ENOENT && r.error != ENOTDIR)
			discovery_warn(d, "%s: %s", root, strerror(r.error));
	} else {
		rv = take_walked(&r, names, out);
		if (r.truncated)
			discovery_warn(d, "%s has too many names: not all "
			    "were looked at", root);
	}
	fsop_result_fini(&r);
	return rv;
}

static int
discovery_read_quietly(struct discovery *d, const char *path, struct buf *b)
{
	buf_init(b, LIMIT_SKILL_FILE + 1);
	if (fsop_read_small(path, LIMIT_SKILL_FILE, d->how, b) == -1)
		return is_fatal(errno) ? -1 : 0;
	if (utf8_is_valid(buf_data(b), b->len))
		return 1;
	errno = EILSEQ;
	return 0;
}

int
discovery_read(struct discovery *d, const char *path, struct buf *b)
{
	int	 got = discovery_read_quietly(d, path, b);

	if (got != 0)
		return got;
	if (errno == EFBIG)
		discovery_warn(d, "%s is larger than %d bytes", path,
		    LIMIT_SKILL_FILE);
	else if (errno == EILSEQ)
		discovery_warn(d, "%s is not UTF-8", path);
	else if (errno != ENOENT && errno != ENOTDIR)
		discovery_warn(d, "%s: %s", path, strerror(errno));
	return 0;
}

struct span
discovery_text(const struct buf *b)
{
	struct span	 s = { "", 0 };

	if (b->len > 0) {
		s.at = (const char *)buf_data(b);
		s.len = b->len;
	}
	return s;
}

void
discovery_put_file(struct discovery *d, const char *path, struct span text)
{
	assert(d->texts <= LIMIT_SKILL_TEXTS);
	if (d->texts + text.len > LIMIT_SKILL_TEXTS) {
		discovery_warn(d, "%s: there are more than %d bytes in files",
		    path, LIMIT_SKILL_TEXTS);
		json_out_null(&d->o);
		return;
	}
	d->texts += text.len;
	json_out_open(&d->o, '{');
	json_out_key(&d->o, "path");
	json_out_uri(&d->o, path);
	json_out_key(&d->o, "contents");
	json_out_text(&d->o, text.at, text.len);
	json_out_close(&d->o, '}');
}

/* --- plugins --- */

/* Write a file that a manifest names, as a member; null: there is none. */
static int
put_named(struct discovery *d, const char *key, const char *root,
    const char *name)
{
	char		 path[PATH_MAX];
	struct buf	 b;
	int		 got = 0;

	buf_init(&b, 0);
	if (name != NULL && discovery_join(path, root, name))
		got = discovery_read(d, path, &b);
	json_out_key(&d->o, key);
	if (got == 1)
		discovery_put_file(d, path, discovery_text(&b));
	else
		json_out_null(&d->o);
	buf_fini(&b);
	return got == -1 ? -1 : 0;
}

static int
put_plugin_files(struct discovery *d, const char *root, const char *path,
    struct span text, bool inline_too, const struct manifest *m)
{
	struct span	 inside = { m->inline_mcp, 0 };

	json_out_open(&d->o, '{');
	json_out_key(&d->o, "manifest");
	discovery_put_file(d, path, text);
	if (inline_too && m->inline_mcp != NULL) {
		inside.len = strlen(m->inline_mcp);
		json_out_key(&d->o, "mcpConfig");
		discovery_put_file(d, path, inside);
	} else if (put_named(d, "mcpConfig", root, m->mcp) == -1) {
		return -1;
	}
	if (put_named(d, "appsConfig", root, m->apps) == -1)
		return -1;
	json_out_close(&d->o, '}');
	return 0;
}

int
discovery_read_manifest(struct discovery *d, const char *folder, bool warns,
    char path[PATH_MAX], struct buf *b)
{
	size_t	 i;
	int	 got = 0;

	buf_init(b, 0);
	for (i = 0; i < sizeof(manifests) / sizeof(manifests[0]) && got == 0;
	    i++) {
		buf_fini(b);
		if (discovery_join(path, folder, manifests[i]))
			got = warns ? discovery_read(d, path, b) :
			    discovery_read_quietly(d, path, b);
	}
	return got;
}

int
discovery_put_plugin(struct discovery *d, const char *root, bool inline_too,
    struct manifest *m, bool *is_sound)
{
	char		 path[PATH_MAX];
	struct buf	 b;
	int		 got;

	memset(m, 0, sizeof(*m));
	if ((got = discovery_read_manifest(d, root, true, path, &b)) == 1) {
		assert(m->apps == NULL && path[0] != '\0');
		*is_sound = manifest_parse(m, discovery_text(&b)) == 0;
		if (m->has_bad_path)
			discovery_warn(d, "%s names a path that does not "
			    "begin with ./ or leaves the plugin", path);
		if (put_plugin_files(d, root, path, discovery_text(&b),
		    inline_too, m) == -1) {
			manifest_fini(m);
			got = -1;
		}
	}
	buf_fini(&b);
	return got;
}
