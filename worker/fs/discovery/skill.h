/*
 * The texts of skills and plugins of the stock client: what their YAML and JSON
 * say, written as members of JSON.  Pure; for a process of its own, as YAML can
 * take long.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/json/json_out.h"
#include "common/span.h"

struct skill {
	char	*name, *description;
	char	*short_description;	/* or NULL */
};

/*
 * Read the front matter of a SKILL.md.  fallback is the name of a skill without
 * one.  0, or -1 with the reason; skill_fini() after either.
 */
int	 skill_parse(struct skill *s, struct span text, const char *fallback,
	    const char **why_out) MUST_CHECK;
void	 skill_fini(struct skill *s);

/*
 * Write the members dependencies and policy of an openai.yaml; null if text.at
 * is NULL or if it is malformed.
 */
void	 skill_put_metadata(struct json_out *o, struct span text);

/* What a plugin's manifest names; texts are in memory of its own. */
struct manifest {
	char	*name, *display_name;	/* or NULL */
	char	*mcp, *apps;		/* relative paths, or NULL: none */
	char	*inline_mcp;		/* JSON instead of a path, or NULL */
	char	**skills;		/* relative paths, ended by NULL */
	bool	 has_bad_path;		/* one that leaves the plugin */
};

/* 0, or -1: malformed, or no memory.  manifest_fini() after either. */
int	 manifest_parse(struct manifest *m, struct span text) MUST_CHECK;
void	 manifest_fini(struct manifest *m);
