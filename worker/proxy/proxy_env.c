#include "worker/proxy/proxy_env.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum env_kind { ENV_HTTP, ENV_SOCKS, ENV_NONE, ENV_FIXED };

static const struct {
	const char	*name;
	enum env_kind	 kind;
	const char	*value;		/* of ENV_FIXED; NULL: allows_local */
} variables[] = {
#define PROXY_VAR(name, kind)		{ name, ENV_##kind, NULL },
#define PROXY_FIXED(name, value)	{ name, ENV_FIXED, value },
#include "proto/proxyenv.def"
#undef PROXY_VAR
#undef PROXY_FIXED
};

#define VARIABLES	(sizeof(variables) / sizeof(variables[0]))

static const char	 local_networks[] =
    "localhost,127.0.0.1,::1,10.0.0.0/8,172.16.0.0/12,192.168.0.0/16";

/* Return the index of a variable "NAME=value", or VARIABLES. */
static size_t
variable_of(const char *pair)
{
	size_t	 i, len;

	for (i = 0; i < VARIABLES; i++) {
		len = strlen(variables[i].name);
		if (strncmp(pair, variables[i].name, len) == 0 &&
		    pair[len] == '=')
			break;
	}
	return i;
}

static char *
make_variable(size_t i, const struct proxy_ports *p)
{
	const char	*name = variables[i].name, *value;
	char		*pair;
	int		 n;

	switch (variables[i].kind) {
	case ENV_SOCKS:
		if (p->socks != 0) {
			n = asprintf(&pair, "%s=socks5h://127.0.0.1:%u", name,
			    p->socks);
			break;
		}
		/* FALLTHROUGH */
	case ENV_HTTP:
		n = asprintf(&pair, "%s=http://127.0.0.1:%u", name, p->http);
		break;
	case ENV_NONE:
		n = asprintf(&pair, "%s=%s", name, p->allows_local ?
		    local_networks : "");
		break;
	default:
		value = variables[i].value;
		if (value == NULL)
			value = p->allows_local ? "1" : "0";
		n = asprintf(&pair, "%s=%s", name, value);
	}
	return n == -1 ? NULL : pair;
}

int
proxy_env_set(char ***envp, const struct proxy_ports *ports)
{
	char	**old = *envp, **p;
	size_t	 i, n = 0, have = 0;

	while (old[have] != NULL)
		have++;
	if ((p = reallocarray(old, have + VARIABLES + 1, sizeof(*p))) == NULL)
		return -1;
	*envp = p;
	for (i = 0; i < have; i++)
		if (variable_of(p[i]) == VARIABLES)
			p[n++] = p[i];
		else
			free(p[i]);
	p[n] = NULL;
	for (i = 0; i < VARIABLES; i++) {
		if ((p[n] = make_variable(i, ports)) == NULL)
			return -1;
		p[++n] = NULL;
	}
	return 0;
}

/* --- proxies that the client names --- */

/*
 * Return the port of a value "[SCHEME://][USER@]HOST:PORT[/...]" on loopback,
 * or 0; *at_out and *len_out: where HOST:PORT is.
 */
static uint16_t
loopback_port(const char *value, size_t *at_out, size_t *len_out)
{
	const char	*host = strstr(value, "://"), *end, *at, *p;
	unsigned long	 n = 0;
	size_t		 len;

	host = host != NULL ? host + 3 : value;
	end = host + strcspn(host, "/?#");
	if ((at = memrchr(host, '@', (size_t)(end - host))) != NULL)
		host = at + 1;
	len = strncasecmp(host, "localhost:", 10) == 0 ? 10 :
	    strncmp(host, "127.0.0.1:", 10) == 0 ? 10 : 0;
	if (len == 0 || host + len >= end || end - host - (long)len > 5)
		return 0;
	for (p = host + len; p < end; p++) {
		if (!isdigit((unsigned char)*p))
			return 0;
		n = n * 10 + (unsigned long)(*p - '0');
	}
	*at_out = (size_t)(host - value);
	*len_out = (size_t)(end - host);
	return n > 65535 ? 0 : (uint16_t)n;
}

static bool
names_proxy(const char *pair)
{
	size_t	 i = variable_of(pair);

	return i < VARIABLES && (variables[i].kind == ENV_HTTP ||
	    variables[i].kind == ENV_SOCKS);
}

static size_t
index_of(const uint16_t *list, size_t n, uint16_t port)
{
	size_t	 i;

	for (i = 0; i < n && list[i] != port; i++)
		continue;
	return i;
}

size_t
proxy_env_find(char *const *envp, uint16_t *ports, size_t max)
{
	size_t		 n = 0, at, len;
	uint16_t	 port;

	for (; *envp != NULL; envp++) {
		if (!names_proxy(*envp) || (port =
		    loopback_port(strchr(*envp, '=') + 1, &at, &len)) == 0)
			continue;
		if (n < max && index_of(ports, n, port) == n)
			ports[n++] = port;
	}
	return n;
}

int
proxy_env_change(char **envp, const uint16_t *from, const uint16_t *to,
    size_t n)
{
	const char	*value;
	char		*pair;
	size_t		 i, at, len;
	uint16_t	 port;

	for (; *envp != NULL; envp++) {
		if (!names_proxy(*envp))
			continue;
		value = strchr(*envp, '=') + 1;
		if ((port = loopback_port(value, &at, &len)) == 0 ||
		    (i = index_of(from, n, port)) == n)
			continue;
		if (asprintf(&pair, "%.*s127.0.0.1:%u%s",
		    (int)(value + at - *envp), *envp, to[i],
		    value + at + len) == -1)
			return -1;
		free(*envp);
		*envp = pair;
	}
	return 0;
}
