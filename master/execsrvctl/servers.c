#include "master/execsrvctl/servers.h"

#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sodium.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/editdist.h"
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

/* An option of a line: where its value goes, and how often. */
static const struct host_row {
	const char	*name;
	size_t		 at, n;
} host_rows[] = {
#define HOST(member, name, value, help)					\
	{ name, offsetof(struct host_line, member), 1 },
#define HOSTS(member, name, value, help)				\
	{ name, offsetof(struct host_line, member), SERVERS_ENV_MAX },
#include "proto/host.def"
#undef HOST
#undef HOSTS
};

#define HOST_ROWS	(sizeof(host_rows) / sizeof(host_rows[0]))

static const char *
host_word(const void *arg, size_t i)
{
	(void)arg;
	return i < HOST_ROWS ? host_rows[i].name : NULL;
}

int
servers_read_sandbox(const char *name, enum execsrv_sandbox *out)
{
	if (strcmp(name, "read-only") == 0)
		*out = EXECSRV_READ_ONLY;
	else if (strcmp(name, "workspace-write") == 0)
		*out = EXECSRV_WORKSPACE_WRITE;
	else if (strcmp(name, "none") == 0)
		*out = (enum execsrv_sandbox)0;
	else
		return -1;
	return 0;
}

static int	 host_refuse(char *, const char *, ...) PRINTF(2, 3);

/* Always -1. */
static int
host_refuse(char *why, const char *fmt, ...)
{
	va_list	 ap;

	va_start(ap, fmt);
	vsnprintf(why, SERVERS_WHY, fmt, ap);
	va_end(ap);
	execsrv_printable(why);
	return -1;
}

/* Say what would be right instead of a word. */
static int
refuse_option(const char *word, char *why)
{
	const char	*meant = editdist_nearest(word, host_word, NULL);
	char		 all[128] = "";
	size_t		 i, used = 0;

	for (i = 0; i < HOST_ROWS; i++)
		used += (size_t)snprintf(all + used, sizeof(all) - used,
		    "%s%s=", i > 0 ? ", " : "", host_rows[i].name);
	assert(used < sizeof(all));
	if (meant != NULL)
		return host_refuse(why, "no option \"%.32s\": did you mean "
		    "\"%s=\"?", word, meant);
	return host_refuse(why, "no option \"%.32s\": expected %s", word, all);
}

/* What only some values are. */
static int
check_option(const struct host_line *l, const char *word, const char *value,
    char *why)
{
	enum execsrv_sandbox	 sandbox;

	if (l->token != NULL && l->token_file != NULL)
		return host_refuse(why, "token= or token-file=, not both");
	if (strcmp(word, "env") == 0 && (value[0] == '=' ||
	    strchr(value, '=') == NULL))
		return host_refuse(why, "env=%.64s: expected env=NAME=VALUE",
		    value);
	if (strcmp(word, "cwd") == 0 && value[0] != '/')
		return host_refuse(why, "cwd=%.64s: not an absolute path",
		    value);
	if (strcmp(word, "sandbox") == 0 &&
	    servers_read_sandbox(value, &sandbox) == -1)
		return host_refuse(why, "sandbox=%.32s: expected read-only, "
		    "workspace-write or none", value);
	return 0;
}

static int
parse_option(char *word, struct host_line *out, char *why)
{
	const struct host_row	*row = host_rows;
	char			*value = strchr(word, '='), **to;
	size_t			 i;

	if (value != NULL)
		*value++ = '\0';
	while (row < host_rows + HOST_ROWS && strcmp(row->name, word) != 0)
		row++;
	if (row == host_rows + HOST_ROWS)
		return refuse_option(word, why);
	if (value == NULL || value[0] == '\0')
		return host_refuse(why, "%s=: a value is missing", word);
	to = (char **)((char *)out + row->at);
	for (i = 0; i < row->n && to[i] != NULL; i++)
		continue;
	if (i == row->n)
		return host_refuse(why, "%s=: given more than %s", word,
		    row->n == 1 ? "once" : "32 times");
	to[i] = value;
	return check_option(out, word, value, why);
}

int
servers_parse(char *line, struct host_line *out, char why[SERVERS_WHY])
{
	char	*rest, *word;

	memset(out, 0, sizeof(*out));
	if ((out->name = strtok_r(line, BLANKS, &rest)) == NULL ||
	    out->name[0] == '#')
		return 0;
	if (strpbrk(out->name, ":/") != NULL)
		return host_refuse(why, "a name must not contain \":\" or "
		    "\"/\"");
	if ((out->url = strtok_r(NULL, BLANKS, &rest)) == NULL ||
	    out->url[0] == '#')
		return host_refuse(why, "expected a name and a URL");
	while ((word = strtok_r(NULL, BLANKS, &rest)) != NULL &&
	    word[0] != '#')
		if (parse_option(word, out, why) == -1)
			return -1;
	return 1;
}

/* --- servers --- */

void
server_fini(struct server *s)
{
	size_t	 i;

	free(s->url);
	free(s->ca_file);
	free(s->cwd);
	sodium_free(s->token);
	for (i = 0; i < s->nenv; i++)
		free(s->env[i]);
	memset(s, 0, sizeof(*s));
}

const char **
server_env(const struct server *s, const char *const *env)
{
	const char	**list;
	size_t		 i, n;

	for (n = 0; env != NULL && env[n] != NULL; n++)
		continue;
	if ((list = calloc(s->nenv + n + 1, sizeof(*list))) == NULL)
		return NULL;
	for (i = 0; i < s->nenv; i++)
		list[i] = s->env[i];
	for (i = 0; i < n; i++)
		list[s->nenv + i] = env[i];
	return list;
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

/* Whoever has the token may do all that its user may. */
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

/* Take what commands have there.  0, or -1 with errno. */
static int
take_defaults(const struct host_line *line, struct server *out)
{
	size_t	 i;

	assert(out->nenv == 0 && out->cwd == NULL);
	for (i = 0; i < SERVERS_ENV_MAX && line->env[i] != NULL; i++) {
		if ((out->env[i] = strdup(line->env[i])) == NULL)
			return -1;
		out->nenv++;
	}
	if (line->sandbox != NULL &&
	    servers_read_sandbox(line->sandbox, &out->sandbox) == -1)
		return -1;
	return line->cwd == NULL || (out->cwd = strdup(line->cwd)) != NULL ?
	    0 : -1;
}

/* Take a line if it is for that name.  1; 0: it is not; -1. */
static int
servers_take_line(FILE *f, const char *path, const char *folder,
    const struct host_line *line, struct server *out)
{
	char	 file[PATH_MAX];

	assert(out->url == NULL && out->token == NULL);
	if (line->token != NULL && !servers_is_ours_alone(f))
		return not_ours(path);
	if ((out->url = strdup(line->url)) == NULL ||
	    (line->token != NULL && server_set_token(out, line->token) ==
	    -1) || take_defaults(line, out) == -1)
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
	char			 text[LINE_MAX_LEN], why[SERVERS_WHY];
	unsigned		 number = 0;
	int			 got = 1, r = 0;

	while (r == 0 && (got = servers_read_line(f, text, sizeof(text))) ==
	    1) {
		number++;
		if ((r = servers_parse(text, &line, why)) == -1)
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

/* Open the file of hosts, without a copy of its secrets in memory. */
static FILE *
servers_open(const char *folder, char path[PATH_MAX])
{
	FILE	*f;

	snprintf(path, PATH_MAX, "%s/hosts", folder);
	if ((f = fopen(path, "re")) != NULL)
		setvbuf(f, NULL, _IONBF, 0);
	return f;
}

/* Say whether a line is right, and what it is about.  0, or -1. */
static int
check_line(FILE *f, char *text, const char *path, unsigned number)
{
	struct host_line	 line;
	char			 why[SERVERS_WHY];
	int			 r = servers_parse(text, &line, why);

	if (r == -1)
		return servers_complain("%s:%u: %s", path, number, why);
	if (r == 0)
		return 0;
	execsrv_printable(line.name);
	execsrv_printable(line.url);
	printf("%s %s\n", line.name, line.url);
	return line.token == NULL || servers_is_ours_alone(f) ? 0 :
	    not_ours(path);
}

int
servers_check(void)
{
	char		 folder[PATH_MAX - 8], path[PATH_MAX];
	char		 text[LINE_MAX_LEN];
	unsigned	 number = 0;
	int		 got, r = 0;
	FILE		*f;

	if (find_folder(folder, sizeof(folder)) == -1)
		return -1;
	if ((f = servers_open(folder, path)) == NULL)
		return servers_complain("%s: %s", path, strerror(errno));
	while ((got = servers_read_line(f, text, sizeof(text))) == 1)
		if (check_line(f, text, path, ++number) == -1)
			r = -1;
	if (got == -1)
		r = servers_complain("%s:%u: %s", path, number + 1,
		    strerror(errno));
	sodium_memzero(text, sizeof(text));
	fclose(f);
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
	if ((f = servers_open(folder, path)) == NULL)
		return servers_complain("%s: not a URL, and not the name of a "
		    "server: %s: %s", name, path, strerror(errno));
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
