/* Internal to common/conf/conf*.c. */
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

/* For each type, in conf_value.c. */
conf_set_fn	 set_TEXT, set_PATH, set_LIST, set_NAMES, set_COUNT,
		 set_AMOUNT, set_SIZE, set_SECONDS, set_MODE, set_NICE,
		 set_RLIMIT, set_ROOM, set_TIMEOUT, set_WEIGHT, set_choice;
conf_print_fn	 print_TEXT, print_PATH, print_LIST, print_NAMES, print_COUNT,
		 print_AMOUNT, print_SIZE, print_SECONDS, print_MODE,
		 print_NICE, print_RLIMIT, print_ROOM, print_TIMEOUT,
		 print_WEIGHT, print_choice;

/* Write what a value of a row may be, for people; "": any text. */
void	 conf_expected(const struct conf_row *row, char *out, size_t size);

/* Append a copy.  0, or -1 with errno ENOMEM. */
int	 conf_list_add(struct conf_list *l, const char *text) MUST_CHECK;
void	 conf_list_fini(struct conf_list *l);

/* Print so that reading gives the same text. */
void	 conf_print_quoted(const char *text, FILE *out);
void	 conf_print_line(const char *keyword, const char *value, FILE *out);

const struct conf_row	*conf_row_at(size_t n);

/* conf_set() for a file at "FILE:LINE"; a value that is set wins. */
int	 conf_add(struct conf *c, const char *keyword, const char *value,
	    const char *where, struct conf_error *e) MUST_CHECK;

/*
 * Get the next word, cut off in place: up to a blank, or quoted with \ before "
 * or \.  1; 0: none; -1: unbalanced quotes, or text right after them.
 */
int	 conf_word_next(char **at, char **word_out);

/* --- Match blocks (conf_match.c) --- */

/* Begin a block; criteria is the text after "Match". */
int	 conf_match_begin(struct conf *c, const char *criteria,
	    const char *where, struct conf_error *e) MUST_CHECK;

/* Set a keyword in the last block. */
int	 conf_match_set(struct conf *c, const struct conf_row *row,
	    const char *value, struct conf_error *e) MUST_CHECK;
bool	 conf_match_holds(const struct conf_match *m,
	    const struct conf_client *who);
void	 conf_match_fini(struct conf_match *m);

/* Whether a pattern list can match anything: it is not all negated. */
bool	 conf_pattern_can_hold(const char *list);
void	 conf_match_print(const struct conf_match *m, FILE *out);
