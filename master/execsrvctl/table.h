/*
 * A table of the daemon, and its forms: columns for people, one row upright,
 * JSON for programs.  Pure.
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

/* Make a table of n columns.  NULL with errno ENOMEM. */
struct table	*table_new(size_t n, char *const *names,
		    const enum table_kind *kinds);
void		 table_free(struct table **tp);

/*
 * Add a row of n cells.  0, or -1 with errno: EINVAL when n is not the number
 * of columns, ENOMEM.
 */
int		 table_add(struct table *t, size_t n, char *const *cells)
		    MUST_CHECK;

/*
 * Sort the rows by the numbers in their first column; stable.  0, or -1 with
 * errno ENOMEM and nothing done.
 */
int		 table_sort(struct table *t) MUST_CHECK;

/*
 * Sort the rows by a column, by number if they are numbers; "-NAME": the
 * largest first.  Stable.  0, or -1 with errno: EINVAL (no such column) or
 * ENOMEM.
 */
int		 table_sort_by(struct table *t, const char *name) MUST_CHECK;

/* Keep the rows with this value in a column only.  -1: no such column. */
int		 table_keep(struct table *t, const char *name,
		    const char *value) MUST_CHECK;

/* Leave those out that have it. */
int		 table_drop(struct table *t, const char *name,
		    const char *value) MUST_CHECK;

/*
 * Keep these columns only, in this order: names with commas between.  NULL, or
 * the one that is not there, in list.
 */
const char	*table_pick(struct table *t, const char *list);

/* Print the names of all columns, with commas between. */
void		 table_print_names(const struct table *t, FILE *out);

/*
 * Add a column with the share of a processor, in percent, that each session has
 * used in ms milliseconds since a table before (NULL: since it began).  0, or
 * -1 with errno ENOMEM.
 */
int		 table_add_load(struct table *t, const struct table *before,
		    uint64_t ms) MUST_CHECK;

/* Put the columns of these names (up to a NULL) before the others. */
void		 table_prefer(struct table *t, const char *const *names);

/* Return the number of columns; of rows. */
size_t		 table_columns(const struct table *t);
size_t		 table_rows(const struct table *t);

/*
 * Return the first row's cell of a column, or NULL; member i (from 0) of a list
 * in it: malloc'd, or NULL after the last.
 */
const char	*table_cell(const struct table *t, const char *name);
char		*table_member(const struct table *t, const char *name,
		    size_t i);

/* How it is shown. */
struct table_look {
	size_t	 width;		/* in characters; longer lines are cut; 0: no */
	bool	 has_colour;
	bool	 no_header;
};

/*
 * Print it for people: users by name, times as 3m12s, bytes as 1.5M (the rows
 * of table.c say which columns), lists with commas.  What is not printable
 * becomes '?', so that no cell can control a terminal.
 */
void		 table_print(const struct table *t,
		    const struct table_look *look, FILE *out);

/*
 * The same with a line for each column or member of a list, and an empty line
 * between rows.  Empty cells are left out, nothing is cut.
 */
void		 table_print_upright(const struct table *t,
		    const struct table_look *look, FILE *out);

/*
 * Print JSON: a list of objects, or the first row alone (null without any);
 * numbers are numbers, an empty one is null, lists are lists, flags are true or
 * false.  0, or -1 with errno.
 */
int		 table_print_json(const struct table *t, bool is_one,
		    FILE *out) MUST_CHECK;

/* Return seconds, bytes or a uid in the form for people: malloc'd, or NULL. */
char		*table_show_seconds(const char *cell);
char		*table_show_bytes(const char *cell);
char		*table_show_ms(const char *cell);
char		*table_show_kib(const char *cell);
char		*table_show_user(const char *cell);
