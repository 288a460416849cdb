#include "worker/proc/snapshot_text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "worker/proc/envp.h"

#define BEGIN		"\0EXECSRV_SNAPSHOT"	/* and a NUL */
#define END		"EXECSRV_SNAPSHOT_END"	/* and a NUL */
#define PIECE		"__EXECSRV_SNAPSHOT_"
#define PIECE_SIZE	(60 * 1024)	/* the kernel allows 128 KiB */
#define PIECES_MAX	(LIMIT_SNAPSHOT / PIECE_SIZE + 1)

/*
 * What startup files put out comes before the beginning.  Options of patterns
 * come before functions that use them, aliases after functions, which are not
 * to be changed by them, and options that end a script last.
 */
#define SCRIPT_BEGIN							\
	"exec 2>/dev/null\n"						\
	"if [ -z \"${BASH_ENV-}\" ] && [ -n \"${HOME-}\" ] && "		\
	"[ -r \"$HOME/.bashrc\" ]; then . \"$HOME/.bashrc\" >&2; fi\n"
#define SCRIPT_END							\
	"\\printf '\\0'\n"						\
	"\\command env -0 || /usr/bin/env -0\n"				\
	"\\printf '" END "\\0'\n"

static const struct {
	const char	*name, *script, *flags, *first;
} shells[] = {
	[SNAPSHOT_BASH] = { "bash",
	    SCRIPT_BEGIN
	    "\\printf '\\0EXECSRV_SNAPSHOT\\0'\n"
	    "\\printf 'unalias -a\\n'\n"
	    "\\shopt -p\n"
	    "\\declare -f\n"
	    "\\declare -Fx\n"
	    "\\alias -p\n"
	    "\\set +o\n"
	    SCRIPT_END,
	    "-pc", "set +o privileged\n" },
	[SNAPSHOT_SH] = { "sh",
	    "exec 2>/dev/null\n"
	    "\\printf '\\0EXECSRV_SNAPSHOT\\0'\n"
	    "\\printf 'unalias -a\\n'\n"
	    "\\alias | while IFS= \\read -r line; do "
	    "\\printf 'alias %s\\n' \"${line#alias }\"; done\n"
	    "\\set +o\n"
	    SCRIPT_END,
	    "-c", "" },
	[SNAPSHOT_ZSH] = { "zsh", NULL, NULL, NULL },
};

/* Not of a command: they are those of the shell that was asked. */
static const char *const	 dropped[] = {
	"_", "OLDPWD", "PWD", "SHLVL"
};

int
snapshot_shell_find(const struct param_text *name, enum snapshot_shell *out)
{
	size_t	 i;

	for (i = 0; i < sizeof(shells) / sizeof(shells[0]); i++)
		if (param_is(name, shells[i].name)) {
			*out = (enum snapshot_shell)i;
			return 0;
		}
	return -1;
}

const char *
snapshot_script(enum snapshot_shell shell)
{
	return shells[shell].script;
}

/* --- output --- */

bool
snapshot_is_complete(const char *out, size_t len, size_t old)
{
	size_t	 from = old > sizeof(END) ? old - sizeof(END) : 0;

	return len > from && memmem(out + from, len - from, END,
	    sizeof(END)) != NULL;
}

static bool
is_dropped(const char *pair, size_t name_len)
{
	size_t	 i;

	for (i = 0; i < sizeof(dropped) / sizeof(dropped[0]); i++)
		if (strlen(dropped[i]) == name_len &&
		    memcmp(dropped[i], pair, name_len) == 0)
			return true;
	return name_len == 0 || strncmp(pair, PIECE, strlen(PIECE)) == 0;
}

/* Take the pairs up to the end. */
static char **
take_pairs(const char *at, const char *end)
{
	char		**list;
	const char	*p;
	size_t		 n = 0, cap = 1, name;

	for (p = at; p < end; p++)
		cap += *p == '\0';
	if ((list = calloc(cap, sizeof(*list))) == NULL)
		return NULL;
	for (; at < end && strcmp(at, END) != 0; at += strlen(at) + 1) {
		name = strcspn(at, "=");
		if (at[name] != '=' || is_dropped(at, name))
			continue;
		if ((list[n++] = strdup(at)) == NULL) {
			envp_free(&list);
			return NULL;
		}
	}
	return list;
}

int
snapshot_parse(const char *out, size_t len, char **state_out,
    char ***envp_out)
{
	const char	*state, *pairs, *end;

	*state_out = NULL;
	*envp_out = NULL;
	if (len == 0 || (state = memmem(out, len, BEGIN,
	    sizeof(BEGIN))) == NULL)
		return -1;
	state += sizeof(BEGIN);
	len -= (size_t)(state - out);
	/* All texts below end in a NUL that is before the end. */
	if ((end = memmem(state, len, END, sizeof(END))) == NULL)
		return -1;
	end += sizeof(END);
	if ((pairs = memchr(state, '\0', (size_t)(end - state))) == NULL)
		return -1;
	pairs++;
	if ((*state_out = strdup(state)) != NULL &&
	    strlen(*state_out) <= LIMIT_SNAPSHOT &&
	    (*envp_out = take_pairs(pairs, end)) != NULL)
		return 0;
	free(*state_out);
	*state_out = NULL;
	return -1;
}

/* --- use --- */

static size_t
pieces(const char *state)
{
	return (strlen(state) + PIECE_SIZE - 1) / PIECE_SIZE;
}

/* Add those of a list whose names are not there yet. */
static int
add_missing(char **list, size_t *n, char *const *more)
{
	size_t	 i, name, before = *n;

	for (; *more != NULL; more++) {
		name = strcspn(*more, "=") + 1;
		for (i = 0; i < before; i++)
			if (strncmp(list[i], *more, name) == 0)
				break;
		if (i == before && (list[(*n)++] = strdup(*more)) == NULL)
			return -1;
	}
	return 0;
}

static size_t
count(char *const *list)
{
	size_t	 n = 0;

	while (list[n] != NULL)
		n++;
	return n;
}

char **
snapshot_envp(char *const *own, char *const *left, char *const *prepared,
    const char *state)
{
	char	**list;
	size_t	 n = 0, i, k = pieces(state);

	if ((list = calloc(count(own) + count(left) + count(prepared) + k + 1,
	    sizeof(*list))) == NULL)
		return NULL;
	if (add_missing(list, &n, own) == -1 ||
	    add_missing(list, &n, left) == -1 ||
	    add_missing(list, &n, prepared) == -1)
		goto fail;
	for (i = 0; i < k; i++, n++)
		if (asprintf(&list[n], PIECE "%zu=%.*s", i, PIECE_SIZE,
		    state + i * PIECE_SIZE) == -1) {
			list[n] = NULL;
			goto fail;
		}
	return list;
 fail:
	envp_free(&list);
	return NULL;
}

/* Make the script that brings the state back, and goes on with a command. */
static char *
restoring(enum snapshot_shell shell, const char *command, const char *state)
{
	char	 unset[PIECES_MAX * 32], values[PIECES_MAX * 32], *script;
	size_t	 i, k = pieces(state);
	int	 u = 0, v = 0;

	unset[0] = values[0] = '\0';
	for (i = 0; i < k; i++) {
		u += snprintf(unset + u, sizeof(unset) - (size_t)u,
		    " " PIECE "%zu", i);
		v += snprintf(values + v, sizeof(values) - (size_t)v,
		    "${" PIECE "%zu}", i);
	}
	if (asprintf(&script, "%sif ! eval \"unset%s\n%s\" >/dev/null "
	    "2>&1; then printf '%%s\\n' 'the state of the shell was not "
	    "restored' >&2; fi\n%s", shells[shell].first, unset, values,
	    command) == -1)
		return NULL;
	return script;
}

char **
snapshot_argv(enum snapshot_shell shell, char *const *argv, const char *state)
{
	char	**list;
	size_t	 i;

	if ((list = calloc(count(argv) + 1, sizeof(*list))) == NULL)
		return NULL;
	for (i = 0; argv[i] != NULL; i++) {
		list[i] = i == 2 ? restoring(shell, argv[i], state) :
		    strdup(i == 1 ? shells[shell].flags : argv[i]);
		if (list[i] == NULL) {
			envp_free(&list);
			return NULL;
		}
	}
	return list;
}

/* --- policies --- */

/* Copy a text to the block, or count what it takes. */
static void
put_policy_text(char **at, size_t *size, struct param_text *to,
    const struct param_text *from)
{
	if (*at != NULL) {
		to->s = *at;
		to->len = from->len;
		memcpy(*at, from->s, from->len);
		(*at)[from->len] = '\0';
		*at += from->len + 1;
	}
	*size += from->len + 1;
}

static void
put_policy_texts(char **at, size_t *size, struct param_texts *to,
    const struct param_texts *from)
{
	size_t	 i;

	for (i = 0; i < from->n; i++)
		put_policy_text(at, size, &to->v[i], &from->v[i]);
	to->n = from->n;
}

/* Copy all texts; at NULL: only count them. */
static size_t
put_all_policy(char *at, struct env_policy_params *to,
    const struct env_policy_params *from)
{
	size_t	 i, size = 0;

	put_policy_texts(&at, &size, &to->exclude, &from->exclude);
	put_policy_texts(&at, &size, &to->include_only, &from->include_only);
	for (i = 0; i < from->set.n; i++) {
		put_policy_text(&at, &size, &to->set.v[i].name,
		    &from->set.v[i].name);
		put_policy_text(&at, &size, &to->set.v[i].value,
		    &from->set.v[i].value);
	}
	to->set.n = from->set.n;
	return size;
}

int
snapshot_policy_init(struct snapshot_policy *copy,
    const struct env_policy_params *policy)
{
	struct env_policy_params	*p = &copy->params;

	memset(copy, 0, sizeof(*copy));
	p->given = true;
	/* It is only read. */
	p->inherit.s = (char *)(uintptr_t)"all";
	p->inherit.len = strlen(p->inherit.s);
	p->ignore_default = policy == NULL || policy->ignore_default;
	if (policy == NULL)
		return 0;
	p->exclude.v = calloc(policy->exclude.n + 1, sizeof(*p->exclude.v));
	p->include_only.v = calloc(policy->include_only.n + 1,
	    sizeof(*p->include_only.v));
	p->set.v = calloc(policy->set.n + 1, sizeof(*p->set.v));
	if (p->exclude.v == NULL || p->include_only.v == NULL ||
	    p->set.v == NULL ||
	    (copy->block = malloc(put_all_policy(NULL, p, policy) + 1)) ==
	    NULL) {
		snapshot_policy_fini(copy);
		errno = ENOMEM;
		return -1;
	}
	put_all_policy(copy->block, p, policy);
	return 0;
}

void
snapshot_policy_fini(struct snapshot_policy *copy)
{
	free(copy->params.exclude.v);
	free(copy->params.include_only.v);
	free(copy->params.set.v);
	free(copy->block);
	memset(copy, 0, sizeof(*copy));
}
