/* Configuration files: lines, quotes, Include. */
#include "common/conf/conf_priv.h"

#include <sys/stat.h>

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/fd.h"

#define DEPTH_MAX	16		/* nested Includes */
#define FILE_MAX_	(1024 * 1024)	/* bytes of a file */
#define WHERE_MAX	300		/* bytes of "FILE:LINE" */

/* --- words --- */

/* Remove quotes in place.  Return the text after them, or NULL. */
static char *
unquote(char *text)
{
	char	*from = text + 1, *to = text;

	for (; *from != '"'; from++) {
		if (*from == '\\' && (from[1] == '"' || from[1] == '\\'))
			from++;
		if (*from == '\0')
			return NULL;
		*to++ = *from;
	}
	*to = '\0';
	return from + 1;
}

int
conf_word_next(char **at, char **word_out)
{
	char	*word = *at + strspn(*at, " \t"), *end;

	if (*word == '\0')
		return 0;
	if (*word != '"') {
		end = word + strcspn(word, " \t\"");
		if (*end == '"')
			return -1;
	} else if ((end = unquote(word)) == NULL ||
	    (*end != '\0' && *end != ' ' && *end != '\t')) {
		return -1;
	}
	if (*end != '\0')
		*end++ = '\0';
	*word_out = word;
	*at = end;
	return 1;
}

/* --- lines --- */

/* Split a line in place.  False: it has no keyword. */
static bool
conf_file_split(char *line, char **keyword_out, char **value_out)
{
	char	*end;

	line += strspn(line, " \t");
	end = line + strlen(line);
	while (end > line && isspace((unsigned char)end[-1]))
		*--end = '\0';
	if (*line == '\0' || *line == '#')
		return false;
	*keyword_out = line;
	line += strcspn(line, " \t=");
	if (*line != '\0')
		*line++ = '\0';
	*value_out = line + strspn(line, " \t=");
	return true;
}

/* Cut off a comment: # at the start of a word, outside of quotes. */
static void
cut_comment(char *value)
{
	char	*at;
	bool	 is_word = true;

	for (at = value; *at != '\0'; at++) {
		if (is_word && *at == '#')
			break;
		if (is_word && *at == '"')
			for (at++; *at != '"' && *at != '\0'; at++)
				if (*at == '\\' && at[1] != '\0')
					at++;
		if (*at == '\0')
			return;
		is_word = *at == ' ' || *at == '\t';
	}
	while (at > value && (at[-1] == ' ' || at[-1] == '\t'))
		at--;
	*at = '\0';
}

/*
 * Remove the quotes of a quoted value.  Without quotes it extends to the end of
 * the line, as old files have unquoted paths with blanks.
 */
static int
take_quotes(char *value, struct conf_error *e)
{
	char	*rest;

	if (*value != '"')
		return 0;
	if ((rest = unquote(value)) == NULL)
		return conf_fail(e, "a quote without an end");
	rest += strspn(rest, " \t");
	if (*rest != '\0')
		return conf_fail(e, "\"%.100s\" behind the value", rest);
	return 0;
}

int
conf_include(void *c, char *value, conf_include_fn *include, void *arg,
    struct conf_error *why, struct conf_error *e)
{
	char	*pattern;
	size_t	 n = 0;
	int	 r;

	while ((r = conf_word_next(&value, &pattern)) == 1) {
		n++;
		r = include(arg, c, pattern, e);
		if (r == -2)
			*why = *e;
		if (r != 0)
			return -1;
	}
	if (r == -1)
		return conf_fail(why, "Include: unbalanced quote");
	return n > 0 ? 0 : conf_fail(why, "Include: what?");
}

/*
 * Take a line apart in place: 1; 0: it is empty; -1 with the reason in e.  The
 * criteria of Match and the patterns of Include keep their quotes.
 */
static int
conf_take_line(char *line, struct conf_line *l, struct conf_error *e)
{
	if (strlen(line) > CONF_LINE_MAX)
		return conf_fail(e, "line too long");
	if (!conf_file_split(line, &l->keyword, &l->value))
		return 0;
	cut_comment(l->value);
	l->is_bare = *l->value == '\0';
	return strcasecmp(l->keyword, "Match") != 0 &&
	    strcasecmp(l->keyword, "Include") != 0 &&
	    take_quotes(l->value, e) == -1 ? -1 : 1;
}

int
conf_lines(const char *name, char *text, size_t len, conf_line_fn *fn,
    void *arg, struct conf_error *e)
{
	struct conf_error	 why, all = { .text = "" };
	struct conf_line	 l = { .name = name };
	char			 where[WHERE_MAX], *line, *next;
	unsigned		 number = 0;
	int			 r;

	l.where = where;
	for (line = text; line < text + len; line = next) {
		number++;
		if ((next = memchr(line, '\n', (size_t)(text + len - line))) ==
		    NULL)
			next = text + len;
		*next++ = '\0';
		snprintf(where, sizeof(where), "%.280s:%u", name, number);
		why.text[0] = '\0';
		if (strlen(line) != (size_t)(next - 1 - line))
			r = conf_fail(&why, "a NUL byte");
		else if ((r = conf_take_line(line, &l, &why)) == 1)
			r = fn(arg, &l, &why, e);
		/* An empty value is written "", a missing one is a mistake. */
		if (r == 0 && l.is_bare && l.keyword != NULL)
			r = conf_fail(&why, "%.60s: it needs a value",
			    l.keyword);
		l.keyword = NULL;
		if (r == -1 && why.text[0] != '\0')
			conf_fail(e, "%s: %.500s", where, why.text);
		if (r == -1)
			conf_more(&all, e);
	}
	if (all.text[0] == '\0')
		return 0;
	*e = all;
	return -1;
}

struct parsing {
	struct conf	*conf;
	conf_include_fn	*include;
	void		*arg;
};

static int
conf_on_line(void *arg, const struct conf_line *l, struct conf_error *why,
    struct conf_error *e)
{
	struct parsing	*p = arg;

	if (strcasecmp(l->keyword, "Include") != 0)
		return conf_add(p->conf, l->keyword, l->value, l->where, why);
	if (p->conf->block != CONF_OUTER)
		return conf_fail(why, "\"Include\" belongs before the first "
		    "Match or Uplink");
	return conf_include(p->conf, l->value, p->include, p->arg, why, e);
}

int
conf_parse(struct conf *c, const char *name, char *text, size_t len,
    conf_include_fn *include, void *arg, struct conf_error *e)
{
	struct parsing	 p = { c, include, arg };
	const char	*by = c->reading;
	size_t		 n = c->wrong.n;
	int		 r;

	c->reading = name;
	r = conf_lines(name, text, len, conf_on_line, &p, e);
	/* A line that could not be taken apart. */
	if (r == -1 && n == c->wrong.n)
		(void)!conf_list_add(&c->wrong, "");
	c->reading = by;
	conf_end_block(c);
	return r;
}

/* --- files --- */

/* A file being read, and the one that includes it. */
struct reading {
	const struct reading	*by;
	conf_parse_fn		*parse;
	const char		*path;
	unsigned		 depth;
	dev_t			 dev;
	ino_t			 ino;
};

static int	 load(void *c, const char *path, conf_parse_fn *parse,
		    const struct reading *by, struct conf_error *e);

static int
conf_file_check_file(int fd, struct reading *rd, struct conf_error *e)
{
	const struct reading	*r;
	struct stat		 st;

	if (fstat(fd, &st) == -1 || !S_ISREG(st.st_mode))
		return conf_fail(e, "%.280s: not a file", rd->path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & (S_IWGRP | S_IWOTH)) != 0)
		return conf_fail(e, "%.280s: it must belong to root or to the "
		    "user who runs the daemon, and not be writable by "
		    "anybody else", rd->path);
	for (r = rd->by; r != NULL; r = r->by)
		if (r->dev == st.st_dev && r->ino == st.st_ino)
			return conf_fail(e, "%.280s: it includes itself",
			    rd->path);
	rd->dev = st.st_dev;
	rd->ino = st.st_ino;
	return 0;
}

/* Read a file: malloc'd, NUL-terminated; NULL with errno. */
static char *
conf_file_slurp(int fd, size_t *len_out)
{
	struct stat	 st;
	char		*text;
	size_t		 len = 0, size;
	ssize_t		 n = 0;

	if (fstat(fd, &st) == -1)
		return NULL;
	if (st.st_size > FILE_MAX_) {
		errno = EFBIG;
		return NULL;
	}
	size = (size_t)st.st_size;
	if ((text = malloc(size + 1)) == NULL)
		return NULL;
	while (len < size && (n = read(fd, text + len, size - len)) > 0)
		len += (size_t)n;
	if (n == -1) {
		free(text);
		return NULL;
	}
	text[len] = '\0';
	*len_out = len;
	return text;
}

static char *
conf_file_read(struct reading *rd, size_t *len_out, struct conf_error *e)
{
	char	*text = NULL;
	int	 fd;

	/* O_NONBLOCK: opening a FIFO would block. */
	if ((fd = open(rd->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)) == -1) {
		conf_fail(e, "%.280s: %s", rd->path, strerror(errno));
		return NULL;
	}
	if (conf_file_check_file(fd, rd, e) == 0 &&
	    (text = conf_file_slurp(fd, len_out)) == NULL)
		conf_fail(e, "%.280s: %s", rd->path, strerror(errno));
	fd_close(&fd);
	return text;
}

/* Make a pattern for glob(3), relative to the including file's folder. */
static char *
make_pattern(const char *path, const char *pattern)
{
	const char	*slash = strrchr(path, '/');
	char		*out, *to;

	if (pattern[0] == '/' || slash == NULL)
		return strdup(pattern);
	if ((out = malloc(2 * strlen(path) + strlen(pattern) + 2)) == NULL)
		return NULL;
	for (to = out; path <= slash; path++) {
		if (strchr("*?[\\", *path) != NULL)
			*to++ = '\\';
		*to++ = *path;
	}
	strcpy(to, pattern);
	return out;
}

/* A missing folder is no error: nothing matches. */
static int
on_glob_error(const char *path, int error)
{
	(void)path;
	return error != ENOENT && error != ENOTDIR;
}

/* Read the matches, sorted; only a pattern with wildcards may have none. */
static int
on_include(void *arg, void *c, const char *name, struct conf_error *e)
{
	const struct reading	*rd = arg;
	char			*pattern;
	glob_t			 found;
	size_t			 i;
	int			 r;

	if ((pattern = make_pattern(rd->path, name)) == NULL) {
		conf_fail(e, "Include: %s", strerror(errno));
		return -2;
	}
	r = glob(pattern, 0, on_glob_error, &found);
	free(pattern);
	if (r == GLOB_NOMATCH && strpbrk(name, "*?[") != NULL)
		return 0;
	if (r != 0) {
		conf_fail(e, "Include %.200s: %s", name, r == GLOB_NOMATCH ?
		    "no such file" : "cannot be looked up");
		return -2;
	}
	for (i = 0; i < found.gl_pathc && r == 0; i++)
		r = load(c, found.gl_pathv[i], rd->parse, rd, e);
	globfree(&found);
	return r;
}

static int
load(void *c, const char *path, conf_parse_fn *parse,
    const struct reading *by, struct conf_error *e)
{
	struct reading	 rd = { .by = by, .parse = parse, .path = path };
	char		*text;
	size_t		 len;
	int		 r;

	rd.depth = by == NULL ? 1 : by->depth + 1;
	if (rd.depth > DEPTH_MAX)
		return conf_fail(e, "%.280s: more than %d files that include "
		    "one another", path, DEPTH_MAX);
	if ((text = conf_file_read(&rd, &len, e)) == NULL)
		return -1;
	r = parse(c, path, text, len, on_include, &rd, e);
	explicit_bzero(text, len);
	free(text);
	return r;
}

char *
conf_text(const char *path, size_t *len_out, struct conf_error *e)
{
	struct reading	 rd = { .path = path };

	return conf_file_read(&rd, len_out, e);
}

int
conf_files(void *c, const char *path, conf_parse_fn *parse,
    struct conf_error *e)
{
	return load(c, path, parse, NULL, e);
}

static int
conf_parse_conf(void *c, const char *name, char *text, size_t len,
    conf_include_fn *include, void *arg, struct conf_error *e)
{
	return conf_parse(c, name, text, len, include, arg, e);
}

int
conf_load(struct conf *c, const char *path, struct conf_error *e)
{
	int	 r = load(c, path, conf_parse_conf, NULL, e);

	conf_end_block(c);
	return r;
}
