#include "common/envlist.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const	 network[] = {
	"https_proxy", "HTTPS_PROXY", "http_proxy", "all_proxy", "ALL_PROXY",
	"no_proxy", "NO_PROXY", "SSL_CERT_FILE", "TZ", "ASAN_OPTIONS",
	"UBSAN_OPTIONS", "LSAN_OPTIONS"
};

static bool
is_among(const char *variable, const char *const *names, size_t n)
{
	size_t	 i, len = strcspn(variable, "=");

	for (i = 0; i < n; i++)
		if (strlen(names[i]) == len &&
		    memcmp(names[i], variable, len) == 0)
			return true;
	return false;
}

char **
envlist_filter(char *const *env, const char *const *names, size_t n,
    bool is_kept)
{
	char	**out;
	size_t	 i, len = 0;

	while (env != NULL && env[len] != NULL)
		len++;
	if ((out = calloc(len + 1, sizeof(*out))) == NULL)
		return NULL;
	for (i = 0, len = 0; env != NULL && env[i] != NULL; i++)
		if (is_among(env[i], names, n) == is_kept)
			out[len++] = env[i];
	return out;
}

char **
envlist_network(void)
{
	return envlist_filter(environ, network,
	    sizeof(network) / sizeof(network[0]), true);
}
