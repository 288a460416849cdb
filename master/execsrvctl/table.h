/*
 * A table of the daemon, for people and programs.  Pure.  If nothing else is
 * said: 0, or -1 with errno ENOMEM.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct table;

enum table_kind {
	TABLE_TEXT,
	TABLE_NUMBER,
	TABLE_LIST,		/* members, one a line; none: "" */
	TABLE_FLAG		/* "yes" or "no" */
};

/* NULL with errno ENOMEM. */
struct table	*table_new(size_t n, char *const *names,
		    const enum table_kind *kinds);
void		 table_free(struct table **tp);

/* Or EINVAL: n is not the number of columns. */
int		 table_add(struct table *t, size_t n, char *const *cells)
		    MUST_CHECK;

/*
 * Sort by the numbers in the first column; or by a column (else EINVAL), by
 * number if they are numbers; "-NAME": the largest first.  Stable.
 */
int		 table_sort(struct table *t) MUST_CHECK;
int		 table_sort_by(struct table *t, const char *name) MUST_CHECK;

/* Keep only the rows with this value.  -1: no such column. */
int		 table_keep(struct table *t, const char *name,
		    const char *value) MUST_CHECK;

/* Keep these columns (A,B), in this order.  NULL, or what is not there. */
const char	*table_pick(struct table *t, const char *list);

void		 table_print_names(const struct table *t, FILE *out);

/*
 * Add the percentage of a processor that each session has used in ms since the
 * table before (NULL: since it began).
 */
int		 table_add_load(struct table *t, const struct table *before,
		    uint64_t ms) MUST_CHECK;

/*
 * Take a cell of the first row, which is removed.  malloc'd, or NULL: there is
 * no row or column, or no memory.
 */
char		*table_take(struct table *t, const char *name);

/* Put the columns of these names (up to a NULL) before the others. */
void		 table_prefer(struct table *t, const char *const *names);

size_t		 table_columns(const struct table *t);
size_t		 table_rows(const struct table *t);

/* The first row's cell, or NULL; item i of a list there: malloc'd, or NULL. */
const char	*table_cell(const struct table *t, const char *name);
char		*table_member(const struct table *t, const char *name,
		    size_t i);

struct table_look {
	size_t	 width;		/* in characters; longer lines are cut; 0: no */
	bool	 has_colour;
	bool	 no_header;
};

/*
 * Print for people: users by name, times as 3m12s, bytes as 1.5M (see the rows
 * of table.c); upright: a line for each column or member of a list, nothing
 * cut.  What is not printable becomes '?'.
 */
void		 table_print(const struct table *t,
		    const struct table_look *look, FILE *out);
void		 table_print_upright(const struct table *t,
		    const struct table_look *look, FILE *out);

/*
 * A list of objects, or the first row alone (null without any); an empty number
 * is null.  0, or -1 with errno.
 */
int		 table_print_json(const struct table *t, bool is_one,
		    FILE *out) MUST_CHECK;

/* As for people: malloc'd, or NULL. */
char		*table_show_seconds(const char *cell);
char		*table_show_bytes(const char *cell);
char		*table_show_ms(const char *cell);
char		*table_show_kib(const char *cell);
char		*table_show_user(const char *cell);
