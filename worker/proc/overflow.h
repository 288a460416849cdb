/*
 * Output while DetachedSpool is full (DetachedOverflow): commands block, or the
 * oldest output is dropped.  Reported on resume.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct json_out;
struct env;
struct procs;
struct window;

/* Embedded. */
struct overflow {
	const struct env *env;
	struct procs	*procs;
	const struct window *window;
	uint64_t	 since;		/* ms, of holding back; or 0 */
	bool		 is_dropping;
	/* To be reported: */
	uint64_t	 held_ms;
	uint64_t	 dropped;	/* bytes */
};

void	 overflow_init(struct overflow *o, const struct env *env,
	    struct procs *procs, const struct window *window);

/* While detached: is there room for more output; make some. */
bool	 overflow_has_room(const struct overflow *o);
bool	 overflow_make_room(struct overflow *o);

/* A client is attached, but has received nothing yet. */
void	 overflow_end(struct overflow *o);

/* Members of the initialize result, if there are any. */
void	 overflow_put(const struct overflow *o, struct json_out *out);
