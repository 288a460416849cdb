#include "master/execsrvctl/fleet/fleet_token.h"

#include <sys/stat.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/client/execsrv.h"
#include "common/fd.h"
#include "master/execsrvctl/control.h"

#define NAME_CHARACTERS							\
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#define NAME_MAX_LEN	64
#define TOKEN_BYTES	32
#define DAYS_MAX	36500
#define HASH_MARK	"sha256:"

/* The file, before and after. */
struct edit {
	const char	*path;
	FILE		*from, *to;	/* from NULL: there is none yet */
	char		 new[PATH_MAX];
};

static int
token_complain(const char *what, const char *why)
{
	fprintf(stderr, "execsrvctl: %s: %s\n", what, why);
	return EXIT_OTHER;
}

/* --- the file --- */

/* Open it, and the one that takes its place, with its owner and mode. */
static int
edit_begin(struct edit *x, const char *path)
{
	struct stat	 st = { .st_uid = geteuid(), .st_gid = getegid() };
	int		 fd;

	memset(x, 0, sizeof(*x));
	x->path = path;
	if ((size_t)snprintf(x->new, sizeof(x->new), "%s.new", path) >=
	    sizeof(x->new))
		return token_complain(path, strerror(ENAMETOOLONG));
	if ((x->from = fopen(path, "re")) == NULL && errno != ENOENT)
		return token_complain(path, strerror(errno));
	if ((x->from != NULL && fstat(fileno(x->from), &st) == -1) ||
	    (fd = open(x->new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600)) == -1)
		return token_complain(x->new, strerror(errno));
	if ((st.st_uid != geteuid() || st.st_gid != getegid()) &&
	    fchown(fd, st.st_uid, st.st_gid) == -1) {
		token_complain(x->new, strerror(errno));
		fd_close(&fd);
		(void)!unlink(x->new);
		return EXIT_OTHER;
	}
	if ((x->to = fdopen(fd, "w")) != NULL)
		return EXIT_OK;
	token_complain(x->new, strerror(errno));
	fd_close(&fd);
	(void)!unlink(x->new);
	return EXIT_OTHER;
}

static void
edit_close(struct edit *x)
{
	if (x->from != NULL)
		fclose(x->from);
	if (x->to != NULL)
		fclose(x->to);
	x->from = x->to = NULL;
}

/* Put the new one in its place, if all is well; else nothing changes. */
static int
edit_end(struct edit *x, int status)
{
	assert(status != EXIT_OK || x->to != NULL);
	if (status == EXIT_OK && (fflush(x->to) != 0 || ferror(x->to) ||
	    fsync(fileno(x->to)) == -1 || rename(x->new, x->path) == -1))
		status = token_complain(x->path, strerror(errno));
	if (status != EXIT_OK && x->to != NULL)
		(void)!unlink(x->new);
	edit_close(x);
	return status;
}

/* Whether a line is of a token with that name. */
static bool
is_of(const char *line, const char *name)
{
	size_t	 n = strlen(name);

	line += strspn(line, " \t");
	return strncmp(line, name, n) == 0 && (line[n] == ' ' ||
	    line[n] == '\t');
}

/*
 * Copy the lines that are not of that name; *n_out is the number of those that
 * are.
 */
static int
copy_others(struct edit *x, const char *name, size_t *n_out)
{
	char	*line = NULL;
	size_t	 size = 0;
	ssize_t	 n;
	int	 status = EXIT_OK;

	*n_out = 0;
	while (x->from != NULL && status == EXIT_OK &&
	    (n = getline(&line, &size, x->from)) != -1) {
		if (is_of(line, name))
			++*n_out;
		else if (fwrite(line, 1, (size_t)n, x->to) != (size_t)n ||
		    (line[n - 1] != '\n' && putc('\n', x->to) == EOF))
			status = token_complain(x->new, strerror(errno));
	}
	if (status == EXIT_OK && x->from != NULL && ferror(x->from))
		status = token_complain(x->path, strerror(errno));
	free(line);
	return status;
}

/* --- commands --- */

/* No blank or quote, so that the line is read as it is meant. */
static bool
is_pattern_list(const char *text)
{
	return text == NULL || (text[0] != '\0' && strpbrk(text,
	    " \t\r\n\"\\#") == NULL);
}

static int
token_put_line(const struct fleet_token_options *o, FILE *to, const char *name,
    const char *hash)
{
	char	*end;
	long	 days = 0;

	if (o->days != NULL && ((days = strtol(o->days, &end, 10)) < 1 ||
	    days > DAYS_MAX || *end != '\0'))
		return token_complain(o->days, "not a number of days");
	fprintf(to, "%s " HASH_MARK "%s", name, hash);
	if (o->may_register != NULL)
		fprintf(to, " register=%s", o->may_register);
	if (o->may_connect != NULL)
		fprintf(to, " connect=%s", o->may_connect);
	if (days > 0)
		fprintf(to, " expires=%lld", (long long)time(NULL) +
		    (long long)days * 86400);
	putc('\n', to);
	return EXIT_OK;
}

static int
token_new(const struct fleet_token_options *o, const char *name)
{
	uint8_t		 bytes[TOKEN_BYTES], hash[crypto_hash_sha256_BYTES];
	char		 token[2 * TOKEN_BYTES + 1], hex[2 * sizeof(hash) + 1];
	struct edit	 x;
	size_t		 n;
	int		 status;

	if (name[0] == '\0' || strlen(name) > NAME_MAX_LEN ||
	    name[strspn(name, NAME_CHARACTERS)] != '\0')
		return token_complain(name, "expected up to 64 letters, "
		    "digits, \".\", \"_\", \"-\"");
	if (!is_pattern_list(o->may_connect) ||
	    !is_pattern_list(o->may_register))
		return token_complain(name, "patterns have no blanks, quotes "
		    "or \"#\"");
	randombytes_buf(bytes, sizeof(bytes));
	sodium_bin2hex(token, sizeof(token), bytes, sizeof(bytes));
	crypto_hash_sha256(hash, (const uint8_t *)token, strlen(token));
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	if ((status = edit_begin(&x, o->file)) == EXIT_OK &&
	    (status = copy_others(&x, name, &n)) == EXIT_OK && n > 0)
		status = token_complain(name, "there is such a token; revoke "
		    "it first");
	if (status == EXIT_OK)
		status = token_put_line(o, x.to, name, hex);
	status = edit_end(&x, status);
	if (status == EXIT_OK && (puts(token) == EOF ||
	    fflush(stdout) == EOF))
		status = token_complain("output", strerror(errno));
	sodium_memzero(token, sizeof(token));
	sodium_memzero(bytes, sizeof(bytes));
	return status;
}

static int
token_revoke(const struct fleet_token_options *o, const char *name)
{
	struct edit	 x;
	size_t		 n = 0;
	int		 status;

	if ((status = edit_begin(&x, o->file)) == EXIT_OK &&
	    (status = copy_others(&x, name, &n)) == EXIT_OK && n == 0)
		status = token_complain(name, "no such token");
	return edit_end(&x, status);
}

/* A line without its hash. */
static void
token_print_line(char *line)
{
	char	*hash = strstr(line, HASH_MARK), *rest;

	line[strcspn(line, "\r\n")] = '\0';
	if (hash == NULL || line[strspn(line, " \t")] == '#')
		return;
	rest = hash + strcspn(hash, " \t");
	while (hash > line && (hash[-1] == ' ' || hash[-1] == '\t'))
		hash--;
	*hash = '\0';
	execsrv_printable(line);
	execsrv_printable(rest);
	printf("%s%s\n", line, rest);
}

static int
token_list(const struct fleet_token_options *o)
{
	FILE	*f = fopen(o->file, "re");
	char	*line = NULL;
	size_t	 size = 0;
	int	 status = EXIT_OK;

	if (f == NULL)
		return token_complain(o->file, strerror(errno));
	while (getline(&line, &size, f) != -1)
		token_print_line(line);
	if (ferror(f))
		status = token_complain(o->file, strerror(errno));
	free(line);
	fclose(f);
	return status;
}

/*
 * A new token is printed: nobody can do that again.  The file is replaced as a
 * whole.
 */
int
fleet_token_command(const struct fleet_token_options *o, char **arg)
{
	bool	 has_name = arg[1] != NULL;

	if (sodium_init() == -1)
		return token_complain("token", strerror(ENOMEM));
	if (strcmp(arg[0], "list") == 0 && !has_name)
		return token_list(o);
	if (strcmp(arg[0], "new") == 0 && has_name)
		return token_new(o, arg[1]);
	if (strcmp(arg[0], "revoke") == 0 && has_name)
		return token_revoke(o, arg[1]);
	fputs("execsrvctl: fleet token: expected new NAME, list, or revoke "
	    "NAME\n", stderr);
	return EXIT_USAGE;
}
