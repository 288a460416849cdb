/* Versions of plugins, as names of folders.  Pure. */
#pragma once

/*
 * Which is the later one: by Semantic Versioning 2.0.0 if both are such, by
 * name otherwise and where that makes no difference.  As strcmp().
 */
int	 pluginver_compare(const char *a, const char *b);
