#include "worker/proc/envp.h"

#include <stdlib.h>
#include <string.h>

#include "common/map.h"
#include "common/process/envlist.h"
#include "common/wildcard.h"

#define PATTERN_MAX	1024	/* bytes */

/* Names kept by inherit "core". */
static const char *const core_names[] = {
	"HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "SHELL",
	"TEMP", "TMP", "TMPDIR", "USER", NULL
};

/* Patterns excluded unless ignoreDefaultExcludes. */
static const char *const default_excludes[] = {
	"*KEY*", "*SECRET*", "*TOKEN*", NULL
};

/* A variable "NAME=value"; its name is the key. */
struct var {
	struct map_node	 node;
	char		*pair;
};

/* An environment being made, in order of insertion. */
struct env {
	struct map	 names;
	struct var	**list;
	size_t		 n, cap;
};

static bool
envp_is_listed(const char *const *list, const char *name, size_t len)
{
	for (; *list != NULL; list++)
		if (strlen(*list) == len && memcmp(*list, name, len) == 0)
			return true;
	return false;
}

/* Whether a name matches any of the patterns. */
static bool
matches_list(const struct param_texts *list, const char *name)
{
	size_t	 i, len = strcspn(name, "=");

	for (i = 0; i < list->n; i++)
		if (wildcard_matches(list->v[i].s, list->v[i].len, name, len))
			return true;
	return false;
}

static bool
matches_default(const char *name)
{
	size_t	 i, len = strcspn(name, "=");

	for (i = 0; default_excludes[i] != NULL; i++)
		if (wildcard_matches(default_excludes[i],
		    strlen(default_excludes[i]), name, len))
			return true;
	return false;
}

/* Wiped: a later fork would have a copy. */
static void
pair_free(char *pair)
{
	if (pair != NULL)
		explicit_bzero(pair, strlen(pair));
	free(pair);
}

/* Add "NAME=value" (taken over); it replaces one of the same name. */
static int
env_put(struct env *e, char *pair)
{
	size_t		 len = strcspn(pair, "=");
	struct var	*v, **list;

	if ((v = map_find(&e->names, pair, len)) != NULL) {
		map_del(&e->names, &v->node);
		pair_free(v->pair);
		v->pair = pair;
		return map_add(&e->names, &v->node, pair, len, v);
	}
	if (e->n == e->cap) {
		e->cap = e->cap == 0 ? 64 : e->cap * 2;
		if ((list = reallocarray(e->list, e->cap,
		    sizeof(*list))) == NULL)
			goto fail;
		e->list = list;
	}
	if ((v = calloc(1, sizeof(*v))) == NULL ||
	    map_add(&e->names, &v->node, pair, len, v) == -1)
		goto fail;
	v->pair = pair;
	e->list[e->n++] = v;
	return 0;
 fail:
	free(v);
	pair_free(pair);
	return -1;
}

static void
env_init(struct env *e)
{
	memset(e, 0, sizeof(*e));
	map_init(&e->names);
}

/* Free, also the pairs unless they were taken. */
static void
env_fini(struct env *e)
{
	size_t	 i;

	for (i = 0; i < e->n; i++) {
		pair_free(e->list[i]->pair);
		free(e->list[i]);
	}
	free(e->list);
	map_fini(&e->names);
}

/* Make an environ(7) array; the pairs are the caller's.  NULL with errno. */
static char **
env_take(struct env *e)
{
	char	**envp;
	size_t	 i;

	if ((envp = calloc(e->n + 1, sizeof(*envp))) == NULL)
		return NULL;
	for (i = 0; i < e->n; i++) {
		envp[i] = e->list[i]->pair;
		e->list[i]->pair = NULL;
	}
	return envp;
}

static char *
make_pair(const struct param_pair *p)
{
	char	*pair, *at;

	if ((pair = malloc(p->name.len + p->value.len + 2)) == NULL)
		return NULL;
	at = mempcpy(pair, p->name.s, p->name.len);
	*at++ = '=';
	memcpy(at, p->value.s, p->value.len + 1);
	return pair;
}

static int
malformed(struct envp_error *e, const char *text)
{
	e->is_malformed = true;
	e->text = text;
	return -1;
}

/* Check names and values.  0, or -1. */
static int
check_names(const struct param_pairs *list, struct envp_error *e)
{
	const struct param_pair	*p;
	size_t			 i;

	for (i = 0; i < list->n; i++) {
		p = &list->v[i];
		if (p->name.len == 0 ||
		    memchr(p->name.s, '=', p->name.len) != NULL)
			return malformed(e,
			    "a name in env is empty or contains =");
		if (strlen(p->name.s) != p->name.len ||
		    strlen(p->value.s) != p->value.len) {
			e->text = "nul byte found in the environment";
			return -1;
		}
	}
	return 0;
}

static int
check_patterns(const struct param_texts *list, struct envp_error *e)
{
	size_t	 i;

	for (i = 0; i < list->n; i++)
		if (list->v[i].len > PATTERN_MAX)
			return malformed(e,
			    "a pattern of envPolicy is too long");
	return 0;
}

static int
add_pairs(struct env *e, const struct param_pairs *list)
{
	size_t	 i;
	char	*pair;

	for (i = 0; i < list->n; i++) {
		if ((pair = make_pair(&list->v[i])) == NULL)
			return -1;
		if (envlist_is_secret(pair))
			pair_free(pair);
		else if (env_put(e, pair) == -1)
			return -1;
	}
	return 0;
}

/* Steps 1 to 3: variables of the server. */
static int
add_server(struct env *e, const struct env_policy_params *p,
    char *const *server)
{
	bool	 core = param_is(&p->inherit, "core");
	char	*pair;

	for (; *server != NULL; server++) {
		if (strchr(*server, '=') == NULL ||
		    envlist_is_secret(*server) ||
		    (core && !envp_is_listed(core_names, *server,
		    strcspn(*server, "="))) ||
		    (!p->ignore_default && matches_default(*server)) ||
		    matches_list(&p->exclude, *server))
			continue;
		if ((pair = strdup(*server)) == NULL ||
		    env_put(e, pair) == -1)
			return -1;
	}
	return 0;
}

/* Step 5. */
static void
envp_keep_only(struct env *e, const struct param_texts *list)
{
	size_t	 i, n = 0;

	if (list->n == 0)
		return;
	for (i = 0; i < e->n; i++)
		if (matches_list(list, e->list[i]->pair)) {
			e->list[n++] = e->list[i];
		} else {
			map_del(&e->names, &e->list[i]->node);
			pair_free(e->list[i]->pair);
			free(e->list[i]);
		}
	e->n = n;
}

static int
check_policy(const struct env_policy_params *p, struct envp_error *e)
{
	if (!param_is(&p->inherit, "all") && !param_is(&p->inherit, "core") &&
	    !param_is(&p->inherit, "none"))
		return malformed(e,
		    "envPolicy.inherit must be all, core or none");
	if (check_patterns(&p->exclude, e) == -1 ||
	    check_patterns(&p->include_only, e) == -1)
		return -1;
	return check_names(&p->set, e);
}

char **
envp_make(const struct param_pairs *env,
    const struct env_policy_params *policy, char *const *server,
    struct envp_error *error)
{
	struct env	 e;
	char		**envp = NULL;

	memset(error, 0, sizeof(*error));
	if (check_names(env, error) == -1 ||
	    (policy != NULL && check_policy(policy, error) == -1))
		return NULL;
	env_init(&e);
	if (policy != NULL) {
		if (!param_is(&policy->inherit, "none") &&
		    add_server(&e, policy, server) == -1)
			goto out;
		if (add_pairs(&e, &policy->set) == -1)
			goto out;
		envp_keep_only(&e, &policy->include_only);
	}
	if (add_pairs(&e, env) == 0)
		envp = env_take(&e);
 out:
	env_fini(&e);
	return envp;
}

void
envp_free(char ***envp)
{
	char	**p;

	for (p = *envp; p != NULL && *p != NULL; p++)
		pair_free(*p);
	free(*envp);
	*envp = NULL;
}

const char *
envp_get(char *const *envp, const char *name)
{
	size_t	 len = strlen(name);

	for (; *envp != NULL; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			return *envp + len + 1;
	return NULL;
}
