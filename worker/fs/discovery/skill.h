/* Skills and plugins of the stock client, as JSON.  Pure; may take long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/json/json_out.h"
#include "common/span.h"

struct skill {
	char	*name, *description;
	char	*short_description;	/* or NULL */
};

/* A SKILL.md's front matter, or fallback.  -1: why.  Then skill_fini(). */
int	 skill_parse(struct skill *s, struct span text, const char *fallback,
	    const char **why_out) MUST_CHECK;
void	 skill_fini(struct skill *s);

/* plugin:name, allocated.  NULL with errno (ENAMETOOLONG). */
char	*skill_full_name(const char *plugin, const char *name) MUST_CHECK;

/* dependencies and policy of an openai.yaml; null: no text.at, malformed. */
void	 skill_put_metadata(struct json_out *o, struct span text);

/* Owns its texts. */
struct manifest {
	bool	 is_named;		/* even if the rest is malformed */
	char	*name, *display_name;	/* or NULL: that of the folder */
	char	*mcp, *apps;		/* relative paths; mcp: or NULL */
	char	*inline_mcp;		/* JSON instead of a path, or NULL */
	bool	 has_bad_path;		/* that is none inside the plugin */
};

/* -1: malformed (but may have paths), or no memory.  Then manifest_fini(). */
int	 manifest_parse(struct manifest *m, struct span text) MUST_CHECK;
void	 manifest_fini(struct manifest *m);
