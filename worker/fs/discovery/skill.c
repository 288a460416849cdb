/* YAML of skills, by libyaml, within bounds. */
#include "worker/fs/discovery/skill.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "common/limit.h"

#define NAME_MAX_CHARS	64

/* --- documents --- */

/* Count an event.  False: more than there may be, or the end of a document. */
static bool
yaml_may_be(const yaml_event_t *e, unsigned *depth, unsigned *names)
{
	switch (e->type) {
	case YAML_MAPPING_START_EVENT:
		*names += e->data.mapping_start.anchor != NULL;
		(*depth)++;
		break;
	case YAML_SEQUENCE_START_EVENT:
		*names += e->data.sequence_start.anchor != NULL;
		(*depth)++;
		break;
	case YAML_SCALAR_EVENT:
		*names += e->data.scalar.anchor != NULL;
		break;
	case YAML_ALIAS_EVENT:
		(*names)++;
		break;
	case YAML_MAPPING_END_EVENT:
	case YAML_SEQUENCE_END_EVENT:
		(*depth)--;
		break;
	default:
		break;
	}
	return *depth <= LIMIT_YAML_DEPTH && *names <= LIMIT_YAML_NAMES;
}

/*
 * Whether it is one document within limits: loading one costs the square of
 * its anchors.
 */
static bool
yaml_is_modest(struct span text)
{
	yaml_parser_t	 p;
	yaml_event_t	 e;
	unsigned	 depth = 0, names = 0, events = 0, documents = 0;
	bool		 ok, is_end = false;

	if (text.len > LIMIT_YAML_TEXT || yaml_parser_initialize(&p) == 0)
		return false;
	yaml_parser_set_input_string(&p, (const unsigned char *)text.at,
	    text.len);
	do {
		if ((ok = yaml_parser_parse(&p, &e) != 0)) {
			documents += e.type == YAML_DOCUMENT_START_EVENT;
			is_end = e.type == YAML_STREAM_END_EVENT;
			ok = yaml_may_be(&e, &depth, &names) &&
			    documents <= 1 && ++events <= LIMIT_YAML_EVENTS;
			yaml_event_delete(&e);
		}
	} while (ok && !is_end);
	yaml_parser_delete(&p);
	return ok && documents == 1;
}

/* Aliases share the node that they name: nothing is expanded. */
static bool
yaml_load(struct span text, yaml_document_t *d)
{
	yaml_parser_t	 p;
	bool		 ok;

	if (!yaml_is_modest(text) || yaml_parser_initialize(&p) == 0)
		return false;
	yaml_parser_set_input_string(&p, (const unsigned char *)text.at,
	    text.len);
	ok = yaml_parser_load(&p, d) != 0;
	yaml_parser_delete(&p);
	return ok;
}

static bool
is_scalar(const yaml_node_t *n, const char *text)
{
	return n != NULL && n->type == YAML_SCALAR_NODE &&
	    n->data.scalar.length == strlen(text) &&
	    memcmp(n->data.scalar.value, text, strlen(text)) == 0;
}

static bool
is_null(const yaml_node_t *n)
{
	return n->type == YAML_SCALAR_NODE &&
	    n->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
	    (n->data.scalar.length == 0 || is_scalar(n, "~") ||
	    is_scalar(n, "null") || is_scalar(n, "Null") ||
	    is_scalar(n, "NULL"));
}

/*
 * Return the value of a key that is not null, or NULL.  Sets *bad if the key is
 * there twice.
 */
static yaml_node_t *
yaml_find(yaml_document_t *d, const yaml_node_t *map, const char *key,
    bool *bad)
{
	yaml_node_pair_t	*pair;
	yaml_node_t		*found = NULL;

	if (map == NULL || map->type != YAML_MAPPING_NODE)
		return NULL;
	for (pair = map->data.mapping.pairs.start;
	    pair < map->data.mapping.pairs.top; pair++)
		if (is_scalar(yaml_document_get_node(d, pair->key), key)) {
			*bad |= found != NULL;
			found = yaml_document_get_node(d, pair->value);
		}
	return found == NULL || is_null(found) ? NULL : found;
}

/* --- front matter --- */

static bool
is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Return a copy of a scalar, each run of blanks one of them; NULL: none. */
static char *
yaml_words(const yaml_node_t *n)
{
	const char	*at, *end;
	char		*words, *to;

	if (n == NULL || n->type != YAML_SCALAR_NODE)
		return NULL;
	at = (const char *)n->data.scalar.value;
	end = at + n->data.scalar.length;
	if (memchr(at, '\0', n->data.scalar.length) != NULL ||
	    (words = to = malloc(n->data.scalar.length + 1)) == NULL)
		return NULL;
	for (; at < end; at++)
		if (!is_space(*at))
			*to++ = *at;
		else if (to > words && to[-1] != ' ')
			*to++ = ' ';
	if (to > words && to[-1] == ' ')
		to--;
	*to = '\0';
	return words;
}

/* Take a line, with its end. */
static struct span
take_line(struct span *text)
{
	struct span	 line = *text;
	const char	*end = text->len == 0 ? NULL :
			    memchr(text->at, '\n', text->len);

	if (end != NULL)
		line.len = (size_t)(end - line.at) + 1;
	text->at += line.len;
	text->len -= line.len;
	return line;
}

/* Whether a line is "---", with blanks behind it. */
static bool
is_fence(struct span line)
{
	while (line.len > 0 && is_space(line.at[line.len - 1]))
		line.len--;
	return span_is(line, "---");
}

static bool
find_front(struct span text, struct span *front)
{
	struct span	 line;

	if (!is_fence(take_line(&text)))
		return false;
	front->at = text.at;
	while (text.len > 0) {
		line = take_line(&text);
		if (is_fence(line)) {
			front->len = (size_t)(line.at - front->at);
			return front->len > 0;
		}
	}
	return false;
}

static size_t
count_chars(const char *s)
{
	size_t	 n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static const char *
fill(struct skill *s, yaml_document_t *d, const char *fallback)
{
	yaml_node_t	*root = yaml_document_get_root_node(d), *name, *more;
	bool		 bad = false;

	assert(s->name == NULL && s->description == NULL);
	if (root == NULL || root->type != YAML_MAPPING_NODE)
		return "the front matter is no mapping";
	name = yaml_find(d, root, "name", &bad);
	s->name = name == NULL ? NULL : yaml_words(name);
	/* A blank one as well; but not what is no text. */
	if (name == NULL || (s->name != NULL && s->name[0] == '\0')) {
		free(s->name);
		s->name = strdup(fallback);
	}
	s->description = yaml_words(yaml_find(d, root, "description", &bad));
	more = yaml_find(d, root, "metadata", &bad);
	s->short_description = yaml_words(yaml_find(d, more,
	    "short-description", &bad));
	if (more != NULL && more->type != YAML_MAPPING_NODE)
		return "metadata is no mapping";
	if (bad)
		return "a key is there twice";
	if (s->name == NULL || s->name[0] == '\0' ||
	    count_chars(s->name) > NAME_MAX_CHARS)
		return "the name is missing or too long";
	if (s->description == NULL || s->description[0] == '\0')
		return "there is no description";
	return NULL;
}

/* Whether a value of a line may be meant as text, but not be such YAML. */
static bool
wants_quotes(struct span value)
{
	return value.len > 0 && memchr("\"'|>", value.at[0], 4) == NULL;
}

/* Cut a line into what is before its value, and the value without blanks. */
static bool
cut_value(struct span line, struct span *before, struct span *value)
{
	const char	*colon = memchr(line.at, ':', line.len);

	if (colon == NULL)
		return false;
	before->at = line.at;
	before->len = (size_t)(colon - line.at) + 1;
	value->at = line.at + before->len;
	value->len = line.len - before->len;
	while (value->len > 0 && is_space(value->at[value->len - 1]))
		value->len--;
	if (value->len == 0 || !is_space(value->at[0]))
		return false;
	while (is_space(value->at[0])) {
		value->at++;
		value->len--;
	}
	return wants_quotes(*value);
}

/*
 * People write "description: this: that" and brackets.  Put quotes around what
 * follows the first colon of each line, as the reference does if the YAML is
 * malformed.  0, or -1 with errno.
 */
static int
put_quoted(struct buf *b, struct span front)
{
	struct span	 line, before, value;
	size_t		 i;

	while (front.len > 0) {
		line = take_line(&front);
		if (!cut_value(line, &before, &value)) {
			if (buf_put(b, line.at, line.len) == -1)
				return -1;
			continue;
		}
		if (buf_put(b, before.at, before.len) == -1 ||
		    buf_put(b, " '", 2) == -1)
			return -1;
		for (i = 0; i < value.len; i++)
			if (buf_put(b, value.at[i] == '\'' ? "''" :
			    &value.at[i], value.at[i] == '\'' ? 2 : 1) == -1)
				return -1;
		if (buf_put(b, "'\n", 2) == -1)
			return -1;
	}
	return 0;
}

static const char *
parse_quoted(struct skill *s, struct span front, const char *fallback)
{
	const char	*why = "the front matter is malformed";
	yaml_document_t	 d;
	struct buf	 b;
	struct span	 text;

	buf_init(&b, 2 * LIMIT_YAML_TEXT);
	if (put_quoted(&b, front) == 0) {
		text.at = (const char *)buf_data(&b);
		text.len = b.len;
		if (yaml_load(text, &d)) {
			why = fill(s, &d, fallback);
			yaml_document_delete(&d);
		}
	}
	buf_fini(&b);
	return why;
}

int
skill_parse(struct skill *s, struct span text, const char *fallback,
    const char **why_out)
{
	struct span	 front;
	yaml_document_t	 d;

	memset(s, 0, sizeof(*s));
	if (!find_front(text, &front)) {
		*why_out = "there is no front matter";
	} else if (yaml_load(front, &d)) {
		*why_out = fill(s, &d, fallback);
		yaml_document_delete(&d);
	} else {
		*why_out = parse_quoted(s, front, fallback);
	}
	return *why_out == NULL ? 0 : -1;
}

void
skill_fini(struct skill *s)
{
	free(s->name);
	free(s->description);
	free(s->short_description);
	memset(s, 0, sizeof(*s));
}

char *
skill_full_name(const char *plugin, const char *name)
{
	char	*full;

	if (asprintf(&full, "%s:%s", plugin, name) == -1)
		return NULL;
	if (count_chars(full) <= 2 * NAME_MAX_CHARS + 1)
		return full;
	free(full);
	errno = ENAMETOOLONG;
	return NULL;
}

/* --- openai.yaml --- */

#define TOOLS_MAX	128

static const char *const	 products[] = { "atlas", "chatgpt", "codex" };
static const char *const	 members[] = {
	"type", "value", "description", "transport", "command", "url"
};
#define NEEDED		2	/* of them */
#define MEMBERS		(sizeof(members) / sizeof(members[0]))

struct meta {
	yaml_document_t	 d;
	yaml_node_t	*policy;	/* a mapping, or NULL */
	yaml_node_t	*tools;		/* a sequence, or NULL */
	bool		 bad;
};

/* 1, 0; -1: no boolean. */
static int
yaml_bool(const yaml_node_t *n)
{
	if (n->type != YAML_SCALAR_NODE ||
	    n->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
		return -1;
	if (is_scalar(n, "true") || is_scalar(n, "True") ||
	    is_scalar(n, "TRUE"))
		return 1;
	return is_scalar(n, "false") || is_scalar(n, "False") ||
	    is_scalar(n, "FALSE") ? 0 : -1;
}

static bool
is_product(const yaml_node_t *n)
{
	size_t	 i;

	for (i = 0; i < sizeof(products) / sizeof(products[0]); i++)
		if (is_scalar(n, products[i]))
			return true;
	return false;
}

static yaml_node_t *
item(struct meta *m, const yaml_node_t *list, size_t i)
{
	return list->data.sequence.items.start + i <
	    list->data.sequence.items.top ? yaml_document_get_node(&m->d,
	    list->data.sequence.items.start[i]) : NULL;
}

/* A member of a mapping, which must be of that type if it is there. */
static yaml_node_t *
meta_find(struct meta *m, const yaml_node_t *map, const char *key,
    yaml_node_type_t type)
{
	yaml_node_t	*n = yaml_find(&m->d, map, key, &m->bad);

	m->bad |= n != NULL && n->type != type;
	return n;
}

static void
meta_check_policy(struct meta *m)
{
	yaml_node_t	*n;
	size_t		 i;

	m->policy = meta_find(m, yaml_document_get_root_node(&m->d), "policy",
	    YAML_MAPPING_NODE);
	n = meta_find(m, m->policy, "allow_implicit_invocation",
	    YAML_SCALAR_NODE);
	m->bad |= n != NULL && yaml_bool(n) == -1;
	n = meta_find(m, m->policy, "products", YAML_SEQUENCE_NODE);
	for (i = 0; !m->bad && n != NULL && item(m, n, i) != NULL; i++)
		m->bad |= !is_product(item(m, n, i));
}

static bool
is_tool(struct meta *m, const yaml_node_t *tool)
{
	size_t	 i;

	for (i = 0; i < NEEDED; i++)
		if (meta_find(m, tool, members[i], YAML_SCALAR_NODE) == NULL)
			return false;
	return true;
}

/* Return a port; -1: there is none. */
static int
tool_port(struct meta *m, const yaml_node_t *tool)
{
	yaml_node_t	*n;
	char		*end;
	long		 port;

	n = meta_find(m, meta_find(m, tool, "oauth", YAML_MAPPING_NODE),
	    "callback_port", YAML_SCALAR_NODE);
	if (m->bad || n == NULL)
		return -1;
	port = strtol((const char *)n->data.scalar.value, &end, 10);
	m->bad |= *end != '\0' || n->data.scalar.length == 0 || port < 0 ||
	    port > 65535;
	return m->bad ? -1 : (int)port;
}

static void
meta_check_tools(struct meta *m)
{
	yaml_node_t	*deps, *tool;
	size_t		 i, k, n = 0;

	deps = meta_find(m, yaml_document_get_root_node(&m->d),
	    "dependencies", YAML_MAPPING_NODE);
	m->tools = meta_find(m, deps, "tools", YAML_SEQUENCE_NODE);
	if (m->bad || m->tools == NULL)
		return;
	for (i = 0; (tool = item(m, m->tools, i)) != NULL; i++) {
		m->bad |= tool->type != YAML_MAPPING_NODE || i >= TOOLS_MAX;
		for (k = 0; k < MEMBERS; k++)
			(void)meta_find(m, tool, members[k],
			    YAML_SCALAR_NODE);
		(void)tool_port(m, tool);
		if (m->bad)
			return;
		n += is_tool(m, tool);
	}
	if (n == 0)
		m->tools = NULL;
}

static void
put_words(struct json_out *o, const char *key, const yaml_node_t *n)
{
	char	*words = yaml_words(n);

	json_out_key(o, key);
	if (words == NULL || words[0] == '\0')
		json_out_null(o);
	else
		json_out_str(o, words);
	free(words);
}

static void
put_tools(struct meta *m, struct json_out *o)
{
	yaml_node_t	*tool;
	size_t		 i, k;
	int		 port;

	assert(!m->bad && m->tools != NULL);
	json_out_open(o, '{');
	json_out_key(o, "tools");
	json_out_open(o, '[');
	for (i = 0; (tool = item(m, m->tools, i)) != NULL; i++) {
		if (!is_tool(m, tool))
			continue;
		json_out_open(o, '{');
		for (k = 0; k < MEMBERS; k++)
			put_words(o, members[k], yaml_find(&m->d, tool,
			    members[k], &m->bad));
		json_out_key(o, "oauthCallbackPort");
		if ((port = tool_port(m, tool)) == -1)
			json_out_null(o);
		else
			json_out_u64(o, (uint64_t)port);
		json_out_close(o, '}');
	}
	json_out_close(o, ']');
	json_out_close(o, '}');
}

static void
put_policy(struct meta *m, struct json_out *o)
{
	yaml_node_t	*n, *product;
	size_t		 i;

	assert(!m->bad && m->policy != NULL);
	json_out_open(o, '{');
	json_out_key(o, "allowImplicitInvocation");
	n = yaml_find(&m->d, m->policy, "allow_implicit_invocation", &m->bad);
	if (n == NULL)
		json_out_null(o);
	else
		json_out_bool(o, yaml_bool(n) == 1);
	json_out_key(o, "products");
	json_out_open(o, '[');
	n = yaml_find(&m->d, m->policy, "products", &m->bad);
	for (i = 0; n != NULL && (product = item(m, n, i)) != NULL; i++)
		json_out_text(o, (const char *)product->data.scalar.value,
		    product->data.scalar.length);
	json_out_close(o, ']');
	json_out_close(o, '}');
}

void
skill_put_metadata(struct json_out *o, struct span text)
{
	struct meta	 m;
	bool		 is_loaded;

	memset(&m, 0, sizeof(m));
	is_loaded = text.at != NULL && yaml_load(text, &m.d);
	if (is_loaded) {
		meta_check_policy(&m);
		meta_check_tools(&m);
	}
	json_out_key(o, "dependencies");
	if (is_loaded && !m.bad && m.tools != NULL)
		put_tools(&m, o);
	else
		json_out_null(o);
	json_out_key(o, "policy");
	if (is_loaded && !m.bad && m.policy != NULL)
		put_policy(&m, o);
	else
		json_out_null(o);
	if (is_loaded)
		yaml_document_delete(&m.d);
}
