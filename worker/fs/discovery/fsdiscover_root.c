/*
 * A root of capabilityRoots/discoverV1 (PROTOCOL 8.4): the texts of skills and
 * plugins below a directory, which the client reads itself.
 */
#include "worker/fs/discovery/fsdiscover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/fd.h"

static const char *const	 skill_names[] = { "SKILL.md", NULL };
static const char *const	 manifest_names[] = {
	".codex-plugin/plugin.json", ".claude-plugin/plugin.json",
	".cursor-plugin/plugin.json", NULL
};
static const char *const	 all_names[] = {
	"SKILL.md", ".codex-plugin/plugin.json", ".claude-plugin/plugin.json",
	".cursor-plugin/plugin.json", NULL
};

/* Write the metadata beside a skill; null: there is none. */
static int
put_metadata(struct discovery *d, const char *skill)
{
	char		 folder[PATH_MAX], path[PATH_MAX];
	struct buf	 b;
	int		 got = 0;

	buf_init(&b, 0);
	snprintf(folder, sizeof(folder), "%.*s",
	    (int)(strrchr(skill, '/') - skill), skill);
	if (discovery_join(path, folder, "agents/openai.yaml"))
		got = discovery_read(d, path, &b);
	json_out_key(&d->o, "metadata");
	if (got == 1)
		discovery_put_file(d, path, discovery_text(&b));
	else
		json_out_null(&d->o);
	buf_fini(&b);
	return got == -1 ? -1 : 0;
}

static int
put_skill_texts(struct discovery *d, const struct paths *found)
{
	struct buf	 b;
	size_t		 i;
	int		 got;

	for (i = 0; i < found->n; i++) {
		if (!discovery_ends_in(found->v[i], strlen(found->v[i]),
		    skill_names))
			continue;
		if ((got = discovery_read(d, found->v[i], &b)) == 1) {
			json_out_open(&d->o, '{');
			json_out_key(&d->o, "instructions");
			discovery_put_file(d, found->v[i],
			    discovery_text(&b));
			if (put_metadata(d, found->v[i]) == -1)
				got = -1;
			json_out_close(&d->o, '}');
		}
		buf_fini(&b);
		if (got == -1)
			return -1;
	}
	return 0;
}

/* Write the manifest that counts in a folder, if it is that path, if any. */
static int
put_manifest(struct discovery *d, const char *folder, const char *wanted)
{
	char		 path[PATH_MAX];
	struct buf	 b;
	int		 got;

	got = discovery_read_manifest(d, folder, wanted != NULL, path, &b);
	if (got == 1 && (wanted == NULL || strcmp(path, wanted) == 0))
		discovery_put_file(d, path, discovery_text(&b));
	buf_fini(&b);
	return got;
}

/* Write the one of the root or the nearest above, and those below. */
static int
put_manifest_texts(struct discovery *d, const char *root,
    const struct paths *found)
{
	char	 folder[PATH_MAX];
	size_t	 i;
	int	 got;

	snprintf(folder, sizeof(folder), "%s", root);
	do {
		got = put_manifest(d, folder, NULL);
	} while (got == 0 && discovery_go_up(folder));
	for (i = 0; i < found->n && got != -1; i++) {
		if (!discovery_ends_in(found->v[i], strlen(found->v[i]),
		    manifest_names))
			continue;
		snprintf(folder, sizeof(folder), "%s", found->v[i]);
		if (discovery_go_up(folder) && discovery_go_up(folder) &&
		    strcmp(folder, root) != 0)
			got = put_manifest(d, folder, found->v[i]);
	}
	return got == -1 ? -1 : 0;
}

/* Write what is in the root, as members; without a directory, nothing is. */
static int
put_root(struct discovery *d, const char *root, bool is_there)
{
	struct manifest	 m;
	struct paths	 found;
	bool		 is_sound;
	int		 got = 0, rv = -1;

	memset(&found, 0, sizeof(found));
	json_out_key(&d->o, "plugin");
	if (is_there &&
	    (got = discovery_put_plugin(d, root, false, &m, &is_sound)) == -1)
		return -1;
	if (got == 1)
		manifest_fini(&m);
	else
		json_out_null(&d->o);
	if (is_there &&
	    discovery_walk(d, root, true, all_names, &found) == -1)
		goto out;
	json_out_key(&d->o, "skills");
	json_out_open(&d->o, '[');
	if (put_skill_texts(d, &found) == -1)
		goto out;
	json_out_close(&d->o, ']');
	json_out_key(&d->o, "namespaceManifests");
	json_out_open(&d->o, '[');
	if (is_there && put_manifest_texts(d, root, &found) == -1)
		goto out;
	json_out_close(&d->o, ']');
	rv = 0;
 out:
	paths_fini(&found);
	return rv;
}

int
fsop_root(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct discovery	 d;
	struct stat		 st;
	const char		*why = NULL;
	int			 fd, rv;

	if (how->nonblock) {
		errno = EAGAIN;
		return -1;
	}
	if ((fd = fsop_look(op->path, false, how, &st)) == -1)
		why = strerror(errno);
	else if (!S_ISDIR(st.st_mode))
		why = "not a directory";
	fd_close(&fd);
	discovery_init(&d, how);
	json_out_open(&d.o, '{');
	json_out_key(&d.o, "id");
	json_out_text(&d.o, op->len > 0 ? op->data : "", op->len);
	json_out_key(&d.o, "path");
	json_out_uri(&d.o, op->path);
	if ((rv = put_root(&d, op->path, why == NULL)) == 0) {
		discovery_put_warnings(&d);
		json_out_key(&d.o, "error");
		if (why != NULL)
			json_out_str(&d.o, why);
		else
			json_out_null(&d.o);
		json_out_close(&d.o, '}');
	}
	return discovery_fini(&d, rv, r);
}
