/* Rows of a configuration, for conf*.c and programs with rows of their own. */
#pragma once

#include "common/conf/conf.h"

#define CONF_LINE_MAX	16384	/* bytes of a line of the file */

enum conf_when { CONF_START, CONF_LIVE, CONF_MATCH };

struct conf_row;

/* 0, or -1 with errno: EINVAL or ERANGE (bad value), ENOMEM. */
typedef int	 conf_set_fn(const struct conf_row *, void *member,
		    const char *value);
typedef void	 conf_print_fn(const struct conf_row *, const void *member,
		    FILE *out);

struct conf_row {
	const char	*keyword;
	const char	*type;		/* a choice: "CHOICE_GROUP" */
	conf_set_fn	*set;
	conf_print_fn	*print;
	size_t		 offset, size;
	const char	*value;		/* by default */
	enum conf_when	 when;
};

/* In conf_value.c. */
conf_set_fn	 set_TEXT, set_PATH, set_LIST, set_NAMES, set_COUNT,
		 set_AMOUNT, set_SIZE, set_SECONDS, set_MODE, set_NICE,
		 set_RLIMIT, set_ROOM, set_TIMEOUT, set_WEIGHT, set_choice;
conf_print_fn	 print_TEXT, print_PATH, print_LIST, print_NAMES, print_COUNT,
		 print_AMOUNT, print_SIZE, print_SECONDS, print_MODE,
		 print_NICE, print_RLIMIT, print_ROOM, print_TIMEOUT,
		 print_WEIGHT, print_choice;

/* Write what a value may be, for people; "": any text. */
void	 conf_expected(const struct conf_row *row, char *out, size_t size);

/* n rows of the struct at base: their defaults (-1 with errno), their end. */
int	 conf_rows_init(const struct conf_row *r, size_t n, void *base)
	    MUST_CHECK;
void	 conf_rows_fini(const struct conf_row *r, size_t n, void *base);
void	 conf_rows_print(const struct conf_row *r, size_t n, const void *base,
	    FILE *out);

/*
 * Give one that was read later what the old one has where a change needs a
 * restart, and tell of which rows it has changed.  0, or -1 with errno ENOMEM.
 */
int	 conf_rows_keep(const struct conf_row *r, size_t n, void *now,
	    const void *old, void (*on_kept)(void *arg, const char *keyword),
	    void *arg) MUST_CHECK;

/* In any case, or NULL. */
const struct conf_row *conf_rows_find(const struct conf_row *r, size_t n,
	    const char *keyword);

bool	 conf_row_is_list(const struct conf_row *row);

/* Write to e why, by errno, a value was refused.  Always -1. */
int	 conf_bad_value(const struct conf_row *row, const char *value,
	    struct conf_error *e);

/* A path beside the file that has it: absolute, malloc'd, or NULL. */
char	*conf_beside(const char *file, const char *path) MUST_CHECK;

/* Append a copy.  0, or -1 with errno ENOMEM. */
int	 conf_list_add(struct conf_list *l, const char *text) MUST_CHECK;
void	 conf_list_fini(struct conf_list *l);

/* Print so that reading gives the same text. */
void	 conf_print_quoted(const char *text, FILE *out);
void	 conf_print_line(const char *keyword, const char *value, FILE *out);

const struct conf_row	*conf_row_at(size_t n);

/* conf_set() for a file; a value that is set wins. */
int	 conf_add(struct conf *c, const char *keyword, const char *value,
	    const char *where, struct conf_error *e) MUST_CHECK;

/*
 * Cut off a word in place: up to a blank, or quoted with \ before " or \.  1;
 * 0: none; -1: unbalanced quotes, or text right after them.
 */
int	 conf_word_next(char **at, char **word_out);

/* --- files (conf_file.c) --- */

/* "Keyword value", to be changed at will. */
struct conf_line {
	const char	*name;		/* of the file */
	const char	*where;		/* "FILE:LINE" */
	char		*keyword, *value;
	bool		 is_bare;	/* there is no value */
};

/* 0; or -1 with a reason in why or, if that is empty, whole ones in e. */
typedef int	 conf_line_fn(void *arg, const struct conf_line *l,
		    struct conf_error *why, struct conf_error *e);

/*
 * Call fn for the lines of a text (NUL-terminated, cut up in place).  0, or -1
 * with "NAME:LINE: reason" of each mistake.
 */
int	 conf_lines(const char *name, char *text, size_t len, conf_line_fn *fn,
	    void *arg, struct conf_error *e) MUST_CHECK;

/* As conf_line_fn; c, include and arg are those of conf_parse() or the like. */
int	 conf_include(void *c, char *value, conf_include_fn *include,
	    void *arg, struct conf_error *why, struct conf_error *e)
	    MUST_CHECK;

/* As conf_load(), for another kind of configuration. */
typedef int	 conf_parse_fn(void *c, const char *name, char *text,
		    size_t len, conf_include_fn *include, void *arg,
		    struct conf_error *e);
int	 conf_files(void *c, const char *path, conf_parse_fn *parse,
	    struct conf_error *e) MUST_CHECK;

/* Read a file as conf_load() does, malloc'd; NULL with e. */
char	*conf_text(const char *path, size_t *len_out, struct conf_error *e)
	    MUST_CHECK;

/* --- Match blocks (conf_match.c) --- */

/* criteria: the text after "Match". */
int	 conf_match_begin(struct conf *c, const char *criteria,
	    const char *where, struct conf_error *e) MUST_CHECK;

/* In the last block. */
int	 conf_match_set(struct conf *c, const struct conf_row *row,
	    const char *value, struct conf_error *e) MUST_CHECK;
bool	 conf_match_holds(const struct conf_match *m,
	    const struct conf_client *who);
void	 conf_match_fini(struct conf_match *m);

/* Whether anything can match: not all is negated. */
bool	 conf_pattern_can_hold(const char *list);
void	 conf_match_print(const struct conf_match *m, FILE *out);
