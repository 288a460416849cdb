/* The command line of a server of one's own. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/client/error.h"
#include "common/client/serve/serve.h"

#define WORDS	28		/* arguments beside addresses, with the NULL */

static int
serve_argv_refuse(struct execsrv_error *e, const char *why)
{
	execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, "%s", why);
	return -1;
}

static int
check_listen(const char *const *listen, struct execsrv_error *e)
{
	struct execsrv_url	 u;
	enum execsrv_url_error	 error;

	for (; listen != NULL && *listen != NULL; listen++) {
		if ((error = execsrv_url_parse_listen(*listen, &u)) ==
		    EXECSRV_URL_OK && u.kind != EXECSRV_WS &&
		    u.kind != EXECSRV_UNIX)
			error = EXECSRV_URL_SCHEME;
		if (error != EXECSRV_URL_OK) {
			execsrv_error_set(e, EXECSRV_WHY_ARGUMENT, "%s: %s",
			    *listen, error == EXECSRV_URL_SCHEME ? "neither "
			    "ws:// nor unix:" : execsrv_url_strerror(error));
			return -1;
		}
	}
	return 0;
}

bool
execsrv_serve_is_credential(const char *text)
{
	size_t	 i;

	for (i = 0; text[i] > ' ' && text[i] <= '~'; i++)
		continue;
	return i > 0 && text[i] == '\0';
}

int
execsrv_serve_check(const struct execsrv_serve *conf, struct execsrv_error *e)
{
	if (check_listen(conf->listen, e) == -1)
		return -1;
	if ((conf->registry == NULL) != (conf->environment == NULL))
		return serve_argv_refuse(e,
		    "registry and environment must be given together");
	if (conf->registry == NULL && (conf->name != NULL ||
	    conf->credential != NULL))
		return serve_argv_refuse(e,
		    "name and credential need a registry");
	if (conf->credential != NULL &&
	    !execsrv_serve_is_credential(conf->credential))
		return serve_argv_refuse(e,
		    "credential must be printable ASCII without blanks");
	if (conf->config != NULL && conf->config_file != NULL)
		return serve_argv_refuse(e,
		    "config and config_file exclude each other");
	if (conf->log_level > EXECSRV_LOG_DEBUG)
		return serve_argv_refuse(e,
		    "log_level is not one of execsrv_log_level");
	return 0;
}

static const char *
word_of_level(enum execsrv_log_level level)
{
	static const char *const	 words[] = {
		[EXECSRV_LOG_ERROR] = "LogLevel=error",
		[EXECSRV_LOG_WARNING] = "LogLevel=warning",
		[EXECSRV_LOG_INFO] = "LogLevel=info",
		[EXECSRV_LOG_DEBUG] = "LogLevel=debug",
	};

	return words[level];
}

static size_t
put_remote(const struct execsrv_serve *conf, const char **v)
{
	size_t	 n = 0;

	if (conf->registry != NULL) {
		v[n++] = "--remote";
		v[n++] = conf->registry;
		v[n++] = "--environment-id";
		v[n++] = conf->environment;
	}
	if (conf->name != NULL) {
		v[n++] = "--name";
		v[n++] = conf->name;
	}
	/* With frames of credentials it ends with its input, too. */
	v[n++] = conf->credential != NULL ? "--executor-credential-stdin" :
	    "--exit-on-stdin-close";
	return n;
}

static size_t
put_listen(const struct execsrv_serve *conf, const char **v)
{
	static const char *const	 usual[] = { EXECSRV_DEFAULT_URL,
					    NULL };
	const char *const		*url = conf->listen;
	size_t				 n = 0;

	if (url == NULL && conf->registry == NULL && conf->config == NULL &&
	    conf->config_file == NULL)
		url = usual;
	for (; url != NULL && *url != NULL; url++) {
		v[n++] = "--listen";
		v[n++] = *url;
	}
	return n;
}

const char **
execsrv_serve_argv(const struct execsrv_serve *conf, const char *path,
    char **control_out)
{
	const char	**v;
	size_t		  n = 1;	/* addresses, and the default */

	while (conf->listen != NULL && conf->listen[n - 1] != NULL)
		n++;
	if (asprintf(control_out, "RuntimeDirectory=%s", conf->control !=
	    NULL ? conf->control : "none") == -1) {
		*control_out = NULL;
		return NULL;
	}
	if ((v = calloc(WORDS + 2 * n, sizeof(*v))) == NULL)
		return NULL;
	n = 0;
	v[n++] = path;
	v[n++] = "-D";
	v[n++] = "-f";
	v[n++] = conf->config != NULL ? "/dev/fd/3" :
	    conf->config_file != NULL ? conf->config_file : "none";
	v[n++] = "--notify-fd";
	v[n++] = "4";
	v[n++] = "-o";
	v[n++] = "LogFormat=json";
	v[n++] = "-o";
	v[n++] = *control_out;
	if (conf->log_level != 0) {
		v[n++] = "-o";
		v[n++] = word_of_level(conf->log_level);
	}
	n += put_remote(conf, v + n);
	put_listen(conf, v + n);
	return v;
}
