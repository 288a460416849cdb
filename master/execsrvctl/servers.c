#include "master/execsrvctl/servers.h"

#include <sys/stat.h>

#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/secret.h"

#define BLANKS		" \t\r\n"
#define LINE_MAX_LEN	8192

static int	 servers_complain(const char *fmt, ...) PRINTF(1, 2);

/* Always -1. */
static int
servers_complain(const char *fmt, ...)
{
	va_list	 ap;

	fputs("execsrvctl: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return -1;
}

/* --- a line --- */

static int
parse_option(char *word, struct host_line *out, const char **why_out)
{
	char	*value = strchr(word, '=');

	bool	 has_token = out->token != NULL || out->token_file != NULL;

	*why_out = "after the URL: token=TOKEN or token-file=PATH, and "
	    "ca-file=PATH, once";
	if (value == NULL || value[1] == '\0')
		return -1;
	*value++ = '\0';
	if (strcmp(word, "token") == 0 && !has_token)
		out->token = value;
	else if (strcmp(word, "token-file") == 0 && !has_token)
		out->token_file = value;
	else if (strcmp(word, "ca-file") == 0 && out->ca_file == NULL)
		out->ca_file = value;
	else
		return -1;
	return 0;
}

int
servers_parse(char *line, struct host_line *out, const char **why_out)
{
	char	*rest, *word;

	memset(out, 0, sizeof(*out));
	if ((out->name = strtok_r(line, BLANKS, &rest)) == NULL ||
	    out->name[0] == '#')
		return 0;
	*why_out = "a name must not contain \":\" or \"/\"";
	if (strpbrk(out->name, ":/") != NULL)
		return -1;
	*why_out = "expected a name and a URL";
	if ((out->url = strtok_r(NULL, BLANKS, &rest)) == NULL ||
	    out->url[0] == '#')
		return -1;
	while ((word = strtok_r(NULL, BLANKS, &rest)) != NULL &&
	    word[0] != '#')
		if (parse_option(word, out, why_out) == -1)
			return -1;
	return 1;
}

/* --- servers --- */

void
server_fini(struct server *s)
{
	free(s->url);
	free(s->ca_file);
	sodium_free(s->token);
	s->url = s->ca_file = s->token = NULL;
}

void
server_set_how(const struct server *s, struct execsrv_options *how)
{
	how->bearer_token = s->token;
	how->ca_file = s->ca_file;
}

int
server_set_ca(struct server *s, const char *path)
{
	char	*copy;

	if ((copy = strdup(path)) == NULL)
		return -1;
	free(s->ca_file);
	s->ca_file = copy;
	return 0;
}

int
server_set_token(struct server *s, const char *token)
{
	size_t	 size = strlen(token) + 1;
	char	*copy;

	if (sodium_init() == -1 || (copy = sodium_malloc(size)) == NULL) {
		errno = ENOMEM;
		return -1;
	}
	memcpy(copy, token, size);
	sodium_free(s->token);
	s->token = copy;
	return 0;
}

/* --- files --- */

/* Whether nobody else may read or write it. */
static bool
servers_is_ours_alone(FILE *f)
{
	struct stat	 st;

	return fstat(fileno(f), &st) == 0 && st.st_uid == geteuid() &&
	    (st.st_mode & 077) == 0;
}

static int
not_ours(const char *path)
{
	return servers_complain("%s: contains a token, so it must belong to "
	    "you and be readable by nobody else (chmod 600)", path);
}

/* Read a line into size bytes.  1; 0 at the end; -1: too long, or errno. */
static int
servers_read_line(FILE *f, char *line, int size)
{
	size_t	 n;

	errno = 0;
	if (fgets(line, size, f) == NULL)
		return ferror(f) ? -1 : 0;
	n = strlen(line);
	if (n > 0 && line[n - 1] == '\n')
		return 1;
	if (feof(f))
		return 1;
	errno = EMSGSIZE;
	return -1;
}

int
servers_read_token(const char *path, struct server *out)
{
	char	 why[128], *text, *end;
	size_t	 len;

	if (sodium_init() == -1)
		return servers_complain("%s", strerror(ENOMEM));
	if ((text = secret_read_file(path, LINE_MAX_LEN, &len, why,
	    sizeof(why))) == NULL)
		return servers_complain("%s: %s", path, why);
	end = text + strcspn(text, BLANKS);
	if (end == text || end[strspn(end, BLANKS)] != '\0') {
		servers_complain("%s: %s", path, end == text ? "it is empty" :
		    "expected a token on one line");
		sodium_free(text);
		return -1;
	}
	*end = '\0';
	sodium_free(out->token);
	out->token = text;
	return 0;
}

/* Find the folder with the hosts file.  0, or -1, having said why. */
static int
find_folder(char *out, size_t size)
{
	const char	*home = getenv("XDG_CONFIG_HOME"), *below = "";
	int		 n;

	if (home == NULL || home[0] != '/') {
		home = getenv("HOME");
		below = "/.config";
	}
	if (home == NULL || home[0] != '/')
		return servers_complain("HOME is not set: the file of hosts is "
		    "not read");
	n = snprintf(out, size, "%s%s/execsrv", home, below);
	return n < 0 || (size_t)n >= size ?
	    servers_complain("HOME is too long") : 0;
}

/* Make a path absolute, relative to folder. */
static int
beside(const char *folder, const char *path, char out[PATH_MAX])
{
	bool	 is_whole = path[0] == '/';
	int	 n;

	n = snprintf(out, PATH_MAX, "%s%s%s", is_whole ? "" : folder,
	    is_whole ? "" : "/", path);
	return n < 0 || n >= PATH_MAX ? servers_complain("%s: %s", path,
	    strerror(ENAMETOOLONG)) : 0;
}

/* Take a line if it is for that name.  1; 0: it is not; -1. */
static int
servers_take_line(FILE *f, const char *path, const char *folder,
    const struct host_line *line, struct server *out)
{
	char	 file[PATH_MAX];

	if (line->token != NULL && !servers_is_ours_alone(f))
		return not_ours(path);
	if ((out->url = strdup(line->url)) == NULL ||
	    (line->token != NULL && server_set_token(out, line->token) == -1))
		return servers_complain("%s", strerror(errno));
	if (line->ca_file != NULL) {
		if (beside(folder, line->ca_file, file) == -1)
			return -1;
		if (server_set_ca(out, file) == -1)
			return servers_complain("%s", strerror(errno));
	}
	if (line->token_file == NULL)
		return 1;
	return beside(folder, line->token_file, file) == -1 ||
	    servers_read_token(file, out) == -1 ? -1 : 1;
}

static int
find_in(FILE *f, const char *path, const char *folder, const char *name,
    struct server *out)
{
	struct host_line	 line;
	const char		*why;
	char			 text[LINE_MAX_LEN];
	unsigned		 number = 0;
	int			 got = 1, r = 0;

	while (r == 0 && (got = servers_read_line(f, text, sizeof(text))) ==
	    1) {
		number++;
		if ((r = servers_parse(text, &line, &why)) == -1)
			servers_complain("%s:%u: %s", path, number, why);
		else if (r == 1)
			r = strcmp(line.name, name) != 0 ? 0 :
			    servers_take_line(f, path, folder, &line, out);
	}
	if (got == -1)
		r = servers_complain("%s:%u: %s", path, number + 1,
		    strerror(errno));
	sodium_memzero(text, sizeof(text));
	return r;
}

int
servers_find(const char *name, struct server *out)
{
	char	 folder[PATH_MAX - 8], path[PATH_MAX];
	FILE	*f;
	int	 r;

	memset(out, 0, sizeof(*out));
	if (find_folder(folder, sizeof(folder)) == -1)
		return -1;
	snprintf(path, sizeof(path), "%s/hosts", folder);
	if ((f = fopen(path, "re")) == NULL)
		return servers_complain("%s: not a URL, and not the name of a "
		    "server: %s: %s", name, path, strerror(errno));
	setvbuf(f, NULL, _IONBF, 0);
	if ((r = find_in(f, path, folder, name, out)) == 0)
		servers_complain("%s: not a URL, and not the name of a server "
		    "in %s",
		    name, path);
	fclose(f);
	if (r == 1)
		return 0;
	server_fini(out);
	return -1;
}
