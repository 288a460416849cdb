/*
 * capabilities/discoverV2 (PROTOCOL 8.3): the skills of the user and of this
 * machine, and the plugins that the stock client has installed.
 */
#include "worker/fs/discovery/fsdiscover.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/fs/discovery/pluginver.h"

static const char *const	 skill_names[] = { "SKILL.md", NULL };

#define IDS_MAX		(16 * LIMIT_PLUGINS)	/* before they are sorted */

/* A folder of skills that has an id. */
struct root {
	const char	*id, *path;
};

/* --- skills --- */

static void
put_skill(struct discovery *d, const struct root *root, const char *path,
    const char *name, const struct skill *s, struct span meta)
{
	json_out_open(&d->o, '{');
	json_out_pair(&d->o, "name", name);
	json_out_pair(&d->o, "description", s->description);
	json_out_key(&d->o, "shortDescription");
	if (s->short_description != NULL && s->short_description[0] != '\0')
		json_out_str(&d->o, s->short_description);
	else
		json_out_null(&d->o);
	json_out_key(&d->o, "path");
	json_out_uri(&d->o, path);
	if (root != NULL) {
		json_out_key(&d->o, "discoveryRoot");
		json_out_open(&d->o, '{');
		json_out_pair(&d->o, "id", root->id);
		json_out_key(&d->o, "path");
		json_out_uri(&d->o, root->path);
		json_out_close(&d->o, '}');
	}
	skill_put_metadata(&d->o, meta);
	json_out_close(&d->o, '}');
}

/* Write a skill with its metadata and the name of its plugin, or warn. */
static int
put_with_name(struct discovery *d, const struct root *root, const char *path,
    const char *folder, const struct skill *s)
{
	static const struct span	 none = { NULL, 0 };
	char				 more[PATH_MAX];
	char				*plugin, *full = NULL;
	struct buf			 meta;
	int				 got = 0, rv = -1;

	buf_init(&meta, 0);
	if (discovery_find_namespace(d, folder, &plugin) == -1)
		return -1;
	if (plugin != NULL &&
	    (full = skill_full_name(plugin, s->name)) == NULL) {
		if (errno != ENAMETOOLONG)
			goto out;
		discovery_warn(d, "%s: the name is too long with that of its "
		    "plugin", path);
	} else {
		if (discovery_join(more, folder, "agents/openai.yaml") &&
		    (got = discovery_read(d, more, &meta)) == -1)
			goto out;
		put_skill(d, root, path, full != NULL ? full : s->name, s,
		    got == 1 ? discovery_text(&meta) : none);
	}
	rv = 0;
 out:
	free(plugin);
	free(full);
	buf_fini(&meta);
	return rv;
}

static int
put_parsed(struct discovery *d, const struct root *root, const char *path,
    struct span text)
{
	char		 folder[PATH_MAX];
	struct skill	 s;
	const char	*why;
	int		 rv = 0;

	snprintf(folder, sizeof(folder), "%.*s",
	    (int)(strrchr(path, '/') - path), path);
	if (skill_parse(&s, text, strrchr(folder, '/') + 1, &why) == -1) {
		discovery_warn(d, "%s: %s", path, why);
	} else if (d->texts + text.len > LIMIT_SKILL_TEXTS) {
		discovery_warn(d, "%s: there are more than %d bytes in files",
		    path, LIMIT_SKILL_TEXTS);
	} else {
		d->texts += text.len;
		rv = put_with_name(d, root, path, folder, &s);
	}
	skill_fini(&s);
	return rv;
}

/* Write the skills below a folder; root: of which it is told, or NULL. */
static int
put_skills(struct discovery *d, const struct root *root, const char *folder)
{
	struct paths	 found;
	struct buf	 b;
	size_t		 i;
	int		 got;

	memset(&found, 0, sizeof(found));
	got = discovery_walk(d, folder, true, skill_names, &found);
	for (i = 0; i < found.n && got != -1; i++) {
		if ((got = discovery_read(d, found.v[i], &b)) == 1)
			got = put_parsed(d, root, found.v[i],
			    discovery_text(&b));
		buf_fini(&b);
	}
	paths_fini(&found);
	return got == -1 ? -1 : 0;
}

static int
put_root_skills(struct discovery *d, const char *id, const char *folder,
    const char *name)
{
	char		 path[PATH_MAX];
	struct root	 root = { id, path };

	if (folder[0] != '/' || !discovery_join(path, folder, name))
		return 0;
	return put_skills(d, &root, path);
}

/* --- plugins --- */

/* Whether of ASCII letters, digits, "-", "_" and what else is named. */
static bool
is_plain_name(const char *s, const char *more)
{
	size_t	 i, len = strlen(s);

	for (i = 0; i < len; i++)
		if (!isascii(s[i]) || (!isalnum(s[i]) && s[i] != '-' &&
		    s[i] != '_' && strchr(more, s[i]) == NULL))
			return false;
	/* FUSE has longer names; id[] of add_ids() is for these. */
	return len > 0 && len <= NAME_MAX;
}

static bool
is_plugin(const char *s)
{
	return is_plain_name(s, ".") && s[0] != '.' && strstr(s, "..") == NULL;
}

static bool
is_version(const char *s)
{
	return is_plain_name(s, ".+") && strcmp(s, ".") != 0 &&
	    strcmp(s, "..") != 0;
}

/* Add the names of the directories in a directory, sorted. */
static int
list_folders(struct discovery *d, const char *folder, struct paths *out)
{
	struct fsop_result	 r;
	struct fsop_record	 rec;
	struct fsop		 op;
	const char		*name, *text;
	size_t			 off = 0;
	int			 rv = 0;

	memset(&op, 0, sizeof(op));
	op.kind = FSOP_LIST;
	op.fd = -1;
	snprintf(op.path, sizeof(op.path), "%s", folder);
	fsop_result_init(&r);
	fsop_run(&op, d->how, &r);
	if (r.error == ECANCELED || r.error == ENOMEM) {
		errno = r.error;
		rv = -1;
	} else if (r.why != FSWHY_NONE) {
		discovery_warn(d, "%s has too many names", folder);
	} else if (r.error != 0 && r.error != ENOENT) {
		discovery_warn(d, "%s: %s", folder, strerror(r.error));
	}
	while (rv == 0 && fsop_next_record(&r.payload, &off, &rec, &name,
	    &text))
		if (rec.type == FSOP_REC_DIR)
			rv = paths_add(out, name, rec.name_len);
	paths_sort(out);
	fsop_result_fini(&r);
	return rv;
}

/* Return the version in use: one being worked on, or the last; or NULL. */
static const char *
choose_version(const struct paths *versions)
{
	const char	*last = NULL;
	size_t		 i;

	for (i = 0; i < versions->n; i++) {
		if (strcmp(versions->v[i], "local") == 0)
			return versions->v[i];
		if (is_version(versions->v[i]) && (last == NULL ||
		    pluginver_compare(versions->v[i], last) > 0))
			last = versions->v[i];
	}
	return last;
}

static int
put_plugin(struct discovery *d, const char *root, const char *id,
    const char *version)
{
	struct manifest	 m;
	struct json_out	 whole = d->o;
	const char	*name = version;
	size_t		 begun = d->out.len, texts = d->texts;
	bool		 is_sound = false;
	int		 got, rv;

	/* What the manifest says is known when its files are written. */
	json_out_open(&d->o, '{');
	json_out_pair(&d->o, "id", id);
	json_out_key(&d->o, "remotePluginId");
	json_out_null(&d->o);
	json_out_pair(&d->o, "version", version);
	json_out_key(&d->o, "root");
	json_out_uri(&d->o, root);
	json_out_key(&d->o, "files");
	if ((got = discovery_put_plugin(d, root, true, &m, &is_sound)) == -1)
		return -1;
	if (got == 0 || !is_sound) {
		if (got == 1)
			discovery_warn(d, "%s: the manifest is malformed",
			    root);
		/* As if it had not begun. */
		assert(d->out.len >= begun && d->texts >= texts);
		d->out.len = begun;
		d->texts = texts;
		whole.error = d->o.error;
		d->o = whole;
		if (got == 1)
			manifest_fini(&m);
		return 0;
	}
	if (m.name != NULL)
		name = m.name;
	json_out_key(&d->o, "displayName");
	json_out_str(&d->o, m.display_name != NULL ? m.display_name : name);
	manifest_fini(&m);
	json_out_key(&d->o, "skills");
	json_out_open(&d->o, '[');
	rv = put_skills(d, NULL, root);
	json_out_close(&d->o, ']');
	json_out_close(&d->o, '}');
	return rv;
}

/* Write the plugin with that id, name@market, from its directory. */
static int
put_versions(struct discovery *d, const char *cache, const char *id)
{
	struct paths	 versions;
	const char	*at = strchr(id, '@'), *version;
	char		 folder[PATH_MAX], root[PATH_MAX];
	int		 n, rv = 0;

	assert(at != NULL);
	memset(&versions, 0, sizeof(versions));
	n = snprintf(folder, sizeof(folder), "%s/%s/%.*s", cache, at + 1,
	    (int)(at - id), id);
	if (n < 0 || (size_t)n >= sizeof(folder))
		return 0;
	if (list_folders(d, folder, &versions) == -1)
		rv = -1;
	else if ((version = choose_version(&versions)) != NULL &&
	    discovery_join(root, folder, version))
		rv = put_plugin(d, root, id, version);
	paths_fini(&versions);
	return rv;
}

/* Add the ids of the plugins from a marketplace. */
static int
add_ids(struct discovery *d, const char *cache, const char *market,
    struct paths *ids)
{
	struct paths	 names;
	char		 folder[PATH_MAX], id[2 * NAME_MAX + 2];
	size_t		 i;
	int		 n, rv;

	memset(&names, 0, sizeof(names));
	if (!is_plain_name(market, "") ||
	    !discovery_join(folder, cache, market)) {
		discovery_warn(d, "%s: not the name of a marketplace: %s",
		    cache, market);
		return 0;
	}
	rv = list_folders(d, folder, &names);
	for (i = 0; i < names.n && rv == 0 && ids->n < IDS_MAX; i++) {
		if (!is_plugin(names.v[i])) {
			discovery_warn(d, "%s: not the name of a plugin: %s",
			    folder, names.v[i]);
			continue;
		}
		n = snprintf(id, sizeof(id), "%s@%s", names.v[i], market);
		rv = paths_add(ids, id, (size_t)n);
	}
	paths_fini(&names);
	return rv;
}

static int
put_plugins(struct discovery *d, const char *home)
{
	struct paths	 markets, ids;
	char		 cache[PATH_MAX];
	size_t		 i;
	int		 rv;

	memset(&markets, 0, sizeof(markets));
	memset(&ids, 0, sizeof(ids));
	if (!discovery_join(cache, home, "plugins/cache"))
		return 0;
	rv = list_folders(d, cache, &markets);
	for (i = 0; i < markets.n && rv == 0; i++)
		rv = add_ids(d, cache, markets.v[i], &ids);
	paths_sort(&ids);
	if (ids.n > LIMIT_PLUGINS)
		discovery_warn(d, "%s: more than %d plugins", cache,
		    LIMIT_PLUGINS);
	for (i = 0; i < ids.n && i < LIMIT_PLUGINS && rv == 0; i++)
		rv = put_versions(d, cache, ids.v[i]);
	paths_fini(&markets);
	paths_fini(&ids);
	return rv;
}

/* --- all --- */

static int
put_all(struct discovery *d, const struct fsop *op)
{
	json_out_open(&d->o, '{');
	json_out_key(&d->o, "plugins");
	json_out_open(&d->o, '[');
	if (put_plugins(d, op->path) == -1)
		return -1;
	json_out_close(&d->o, ']');
	json_out_key(&d->o, "skills");
	json_out_open(&d->o, '[');
	if (put_root_skills(d, "codex-home-skills", op->path,
	    "skills") == -1 ||
	    put_root_skills(d, "user-agent-skills", op->to,
	    ".agents/skills") == -1 ||
	    put_root_skills(d, "system-skills", "/etc/codex", "skills") == -1)
		return -1;
	json_out_close(&d->o, ']');
	discovery_put_warnings(d);
	json_out_close(&d->o, '}');
	return 0;
}

int
fsop_discover(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct discovery	 d;

	if (how->nonblock) {
		errno = EAGAIN;
		return -1;
	}
	discovery_init(&d, how);
	return discovery_fini(&d, put_all(&d, op), r);
}
