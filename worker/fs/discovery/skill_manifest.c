/* plugin.json: what a plugin has. */
#include "worker/fs/discovery/skill.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"

#define SKILLS_MAX	64
#define DEFAULT_MCP	".mcp.json"
#define DEFAULT_APPS	".app.json"
#define DEFAULT_SKILLS	"skills"

/* Return a copy of a text without NUL and not empty; NULL: it is none. */
static char *
copy_name(const struct json *j, uint32_t tok)
{
	const struct json_tok	*t = json_tok(j, tok);

	if (tok == 0 || t->type != JSON_STRING || t->len == 0 ||
	    memchr(json_text(j, tok), '\0', t->len) != NULL)
		return NULL;
	return strndup(json_text(j, tok), t->len);
}

/* Whether a path stays in the folder: "./" and names. */
static bool
is_inside(const char *path)
{
	const char	*at = path + 2;
	size_t		 n;

	if (strncmp(path, "./", 2) != 0 || *at == '\0')
		return false;
	for (;; at += n + 1) {
		n = strcspn(at, "/");
		if (n == 0 ? at[0] == '/' : n == 2 && strncmp(at, "..",
		    2) == 0)
			return false;
		if (at[n] == '\0')
			return true;
	}
}

/* Return a copy of such a path without "./"; NULL: it is none. */
static char *
copy_path(struct manifest *m, const struct json *j, uint32_t tok)
{
	char	*path = copy_name(j, tok), *inside = NULL;

	if (path != NULL && is_inside(path))
		inside = strdup(path + 2);
	m->has_bad_path |= inside == NULL;
	free(path);
	return inside;
}

/* A member that is a path, or if it is absent by default. */
static char *
path_or(struct manifest *m, const struct json *j, const char *key,
    const char *by_default)
{
	uint32_t	 tok = json_find(j, 0, key);

	return tok == 0 || json_tok(j, tok)->type == JSON_NULL ?
	    strdup(by_default) : copy_path(m, j, tok);
}

static int
take_skills(struct manifest *m, const struct json *j)
{
	uint32_t	 tok = json_find(j, 0, "skills"), i;
	size_t		 n = 0;

	assert(m->skills == NULL);
	if ((m->skills = calloc(SKILLS_MAX + 2, sizeof(*m->skills))) == NULL ||
	    (m->skills[n] = strdup(DEFAULT_SKILLS)) == NULL)
		return -1;
	n++;
	if (tok == 0 || json_tok(j, tok)->type == JSON_NULL)
		return 0;
	if (json_tok(j, tok)->type != JSON_ARRAY) {
		m->skills[n] = copy_path(m, j, tok);
		return 0;
	}
	for (i = json_first(tok); json_more(j, tok, i) && n < SKILLS_MAX;
	    i = json_after_elem(j, i))
		if ((m->skills[n] = copy_path(m, j, i)) != NULL)
			n++;
	return 0;
}

/* text: as it was; parsing has changed that of j. */
static int
take_all(struct manifest *m, const struct json *j, struct span text)
{
	uint32_t	 mcp = json_find(j, 0, "mcpServers");
	uint32_t	 interface = json_find(j, 0, "interface");

	if (json_tok(j, 0)->type != JSON_OBJECT)
		return -1;
	m->name = copy_name(j, json_find(j, 0, "name"));
	if (interface != 0)
		m->display_name = copy_name(j, json_find(j, interface,
		    "displayName"));
	m->apps = path_or(m, j, "apps", DEFAULT_APPS);
	if (mcp != 0 && json_tok(j, mcp)->type == JSON_OBJECT) {
		m->inline_mcp = strndup(text.at + json_tok(j, mcp)->pos,
		    json_tok(j, mcp)->len);
		if (m->inline_mcp == NULL)
			return -1;
	} else {
		m->mcp = path_or(m, j, "mcpServers", DEFAULT_MCP);
	}
	return take_skills(m, j);
}

int
manifest_parse(struct manifest *m, struct span text)
{
	struct json	 j;
	char		*copy;
	int		 rv = -1;

	memset(m, 0, sizeof(*m));
	json_init(&j);
	if ((copy = malloc(text.len + 1)) != NULL) {
		memcpy(copy, text.at, text.len);
		copy[text.len] = '\0';
		if (json_parse(&j, copy, text.len) == 0)
			rv = take_all(m, &j, text);
	}
	json_fini(&j);
	free(copy);
	return rv;
}

void
manifest_fini(struct manifest *m)
{
	size_t	 i;

	for (i = 0; m->skills != NULL && m->skills[i] != NULL; i++)
		free(m->skills[i]);
	free(m->skills);
	free(m->name);
	free(m->display_name);
	free(m->mcp);
	free(m->apps);
	free(m->inline_mcp);
	memset(m, 0, sizeof(*m));
}
