/* plugin.json: what a plugin has. */
#include "worker/fs/discovery/skill.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"

#define DEFAULT_MCP	".mcp.json"
#define DEFAULT_APPS	".app.json"
#define BLANKS		" \t\n\v\f\r"

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

/* Return a copy of "./" and names, without what means nothing; NULL: none. */
static char *
copy_inside(const char *path)
{
	char	*inside, *to;
	size_t	 n;

	if (strncmp(path, "./", 2) != 0 ||
	    (inside = to = malloc(strlen(path) + 1)) == NULL)
		return NULL;
	for (; *path != '\0'; path += n) {
		path += strspn(path, "/");
		n = strcspn(path, "/");
		if (n == 2 && strncmp(path, "..", 2) == 0)
			break;
		if (n == 0 || (n == 1 && path[0] == '.'))
			continue;
		if (to > inside)
			*to++ = '/';
		memcpy(to, path, n);
		to += n;
	}
	*to = '\0';
	if (*path == '\0' && to > inside)
		return inside;
	free(inside);
	return NULL;
}

/* A member that is such a path; otherwise what is usual. */
static char *
path_or(struct manifest *m, const struct json *j, uint32_t tok,
    const char *by_default)
{
	char	*path = copy_name(j, tok), *inside = NULL;

	if (path != NULL)
		inside = copy_inside(path);
	m->has_bad_path |= inside == NULL && tok != 0 &&
	    json_tok(j, tok)->type != JSON_NULL;
	free(path);
	return inside != NULL ? inside : strdup(by_default);
}

/* Whether a member is missing, null, or of that type. */
static bool
is_type_or_null(const struct json *j, uint32_t tok, enum json_type type)
{
	return tok == 0 || json_tok(j, tok)->type == JSON_NULL ||
	    json_tok(j, tok)->type == type;
}

static bool
is_sound(const struct json *j, uint32_t interface, uint32_t display)
{
	return is_type_or_null(j, interface, JSON_OBJECT) &&
	    is_type_or_null(j, display, JSON_STRING) &&
	    is_type_or_null(j, json_find(j, 0, "apps"), JSON_STRING);
}

/* Cut blanks off both ends; NULL: nothing is left. */
static void
trim(char **text)
{
	char	*at = *text;
	size_t	 n;

	if (at == NULL)
		return;
	at += strspn(at, BLANKS);
	for (n = strlen(at); n > 0 && strchr(BLANKS, at[n - 1]) != NULL; n--)
		;
	memmove(*text, at, n);
	(*text)[n] = '\0';
	if (n == 0) {
		free(*text);
		*text = NULL;
	}
}

/* text: as it was; parsing has changed that of j.  Goes on if it is unsound. */
static int
take_all(struct manifest *m, const struct json *j, struct span text)
{
	uint32_t	 mcp = json_find(j, 0, "mcpServers");
	uint32_t	 interface = json_find(j, 0, "interface"), display = 0;
	uint32_t	 name = json_find(j, 0, "name");

	if (json_tok(j, 0)->type != JSON_OBJECT)
		return -1;
	if (interface != 0 && json_tok(j, interface)->type == JSON_OBJECT)
		display = json_find(j, interface, "displayName");
	m->is_named = name == 0 || json_tok(j, name)->type == JSON_STRING;
	m->name = copy_name(j, name);
	m->display_name = copy_name(j, display);
	trim(&m->display_name);
	m->apps = path_or(m, j, json_find(j, 0, "apps"), DEFAULT_APPS);
	if (mcp != 0 && json_tok(j, mcp)->type == JSON_OBJECT)
		m->inline_mcp = strndup(text.at + json_tok(j, mcp)->pos,
		    json_tok(j, mcp)->len);
	else
		m->mcp = path_or(m, j, mcp, DEFAULT_MCP);
	if (m->apps == NULL || (m->mcp == NULL && m->inline_mcp == NULL))
		return -1;
	return m->is_named && is_sound(j, interface, display) ? 0 : -1;
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
	free(m->name);
	free(m->display_name);
	free(m->mcp);
	free(m->apps);
	free(m->inline_mcp);
	memset(m, 0, sizeof(*m));
}
