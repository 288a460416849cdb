#include "worker/http/http_check.h"

#include <ctype.h>
#include <string.h>

#include "common/limit.h"
#include "common/process/envlist.h"

#define NAME_MAX_LEN	64	/* longer than any protected name */

/*
 * Names that the reference refuses in any case, found by experiment, besides
 * those of envlist_is_secret().
 */
static const char *const protected_names[] = {
	"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
	"CODEX_ACCESS_TOKEN", "CODEX_CONNECTORS_TOKEN", "OPENAI_API_KEY",
	NULL
};

static bool
is_tchar(unsigned char c)
{
	return c < 0x80 && (isalnum(c) ||
	    (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL));
}

bool
http_is_token(const char *s, size_t len, size_t max)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		if (!is_tchar((unsigned char)s[i]))
			return false;
	return len > 0 && len <= max;
}

static bool
http_check_has_control(const char *s, size_t len, bool tab_is_fine)
{
	size_t	 i;

	for (i = 0; i < len; i++)
		if (((unsigned char)s[i] < ' ' &&
		    !(s[i] == '\t' && tab_is_fine)) || s[i] == 0x7f)
			return true;
	return false;
}

bool
http_is_value(const char *s, size_t len)
{
	return !http_check_has_control(s, len, true);
}

bool
http_is_url(const char *s, size_t len)
{
	return len > 0 && len <= LIMIT_HTTP_LINE && !http_check_has_control(s,
	    len, false);
}

static bool
is_protected(const char *name, size_t len)
{
	char		 upper[NAME_MAX_LEN];
	size_t		 i;

	if (len >= sizeof(upper))
		return false;
	for (i = 0; i < len; i++)
		upper[i] = (char)toupper((unsigned char)name[i]);
	upper[len] = '\0';
	for (i = 0; protected_names[i] != NULL; i++)
		if (strcmp(upper, protected_names[i]) == 0)
			return true;
	return envlist_is_secret(upper);
}

const char *
http_variable(char *const *envp, const char *name, size_t len,
    const char **why_out)
{
	*why_out = "cannot use executor environment variable";
	if (is_protected(name, len))
		return NULL;
	*why_out = "requires executor environment variable";
	if (len == 0 || memchr(name, '=', len) != NULL ||
	    memchr(name, '\0', len) != NULL)
		return NULL;
	for (; *envp != NULL; envp++)
		if (strncmp(*envp, name, len) == 0 && (*envp)[len] == '=')
			break;
	if (*envp == NULL)
		return NULL;
	*why_out = "requires a non-empty executor environment variable";
	return (*envp)[len + 1] != '\0' ? *envp + len + 1 : NULL;
}
