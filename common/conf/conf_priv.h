/* What the parts of the configuration share; for conf*.c only. */
#ifndef COMMON_CONF_CONF_PRIV_H
#define COMMON_CONF_CONF_PRIV_H

#include "common/conf/conf.h"

#define CONF_LINE_MAX	16384	/* bytes of a line of the file */

enum conf_when { CONF_START, CONF_LIVE, CONF_MATCH };

struct conf_row;

/* 0, or -1 with errno: EINVAL or ERANGE (not such a value), ENOMEM. */
typedef int	 conf_set_fn(const struct conf_row *, void *member,
		    const char *value);
typedef void	 conf_print_fn(const struct conf_row *, const void *member,
		    FILE *out);

struct conf_row {
	const char	*keyword;
	const char	*type;		/* "CHOICE_" and its group */
	conf_set_fn	*set;
	conf_print_fn	*print;
	size_t		 offset, size;
	const char	*value;		/* by default */
	enum conf_when	 when;
};

/* One of each type (conf_value.c). */
conf_set_fn	 set_TEXT, set_LIST, set_NAMES, set_COUNT, set_SIZE,
		 set_SECONDS, set_MODE, set_NICE, set_RLIMIT,
		 set_ROOM, set_TIMEOUT, set_WEIGHT, set_choice;
conf_print_fn	 print_TEXT, print_LIST, print_NAMES, print_COUNT, print_SIZE,
		 print_SECONDS, print_MODE, print_NICE, print_RLIMIT,
		 print_ROOM, print_TIMEOUT, print_WEIGHT, print_choice;

/* Append a copy.  0, or -1 with errno ENOMEM. */
int	 conf_list_add(struct conf_list *l, const char *text)
	    __attribute__((warn_unused_result));
void	 conf_list_fini(struct conf_list *l);

/* A value, or a line, that reads as that very text. */
void	 conf_print_quoted(const char *text, FILE *out);
void	 conf_print_line(const char *keyword, const char *value, FILE *out);

/* A row of conf.def by its keyword, and its place in the table; or NULL. */
const struct conf_row	*conf_row_find(const char *keyword, size_t *n_out);
const struct conf_row	*conf_row_at(size_t n);

/*
 * Set a member to what is worth the same as the value of another.  0, or -1
 * with errno ENOMEM.
 */
int	 conf_row_copy(const struct conf_row *row, void *to,
	    const void *from) __attribute__((warn_unused_result));

/* Whether values add up. */
bool	 conf_row_is_list(const struct conf_row *row);

/* Free what a member holds; it is zero then. */
void	 conf_row_fini(const struct conf_row *row, void *member);

/*
 * As conf_set(), of a file, at where ("FILE:LINE"): the value of a keyword that
 * is set already is checked only.
 */
int	 conf_add(struct conf *c, const char *keyword, const char *value,
	    const char *where, struct conf_error *e)
	    __attribute__((warn_unused_result));

/*
 * The next word of a text that is cut up in place: up to a blank, or in double
 * quotes, where a backslash stands before a quote or another.  1; 0: there is
 * none; -1: a quote without an end, or something right behind one.
 */
int	 conf_word_next(char **at, char **word_out);

/* --- Match blocks (conf_match.c) --- */

/* Begin one: criteria is what stands behind "Match". */
int	 conf_match_begin(struct conf *c, const char *criteria,
	    const char *where, struct conf_error *e)
	    __attribute__((warn_unused_result));

/* Set a keyword in the last one. */
int	 conf_match_set(struct conf *c, const struct conf_row *row,
	    const char *value, struct conf_error *e)
	    __attribute__((warn_unused_result));
bool	 conf_match_holds(const struct conf_match *m,
	    const struct conf_client *who);
void	 conf_match_fini(struct conf_match *m);

/*
 * Whether a list of patterns is one that something can match: those with ! only
 * take away.
 */
bool	 conf_pattern_can_hold(const char *list);
void	 conf_match_print(const struct conf_match *m, FILE *out);

#endif
