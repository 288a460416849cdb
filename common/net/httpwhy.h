/* What an HTTP answer that refuses says of it (RFC 9112).  Pure. */
#pragma once

#include <stdbool.h>

#include "common/span.h"

/* Cut the next line off; false: none, or it is not plain text. */
bool	 httpwhy_line(struct span *rest, struct span *line);

/* Find the Content-Type among the fields of a head; empty: none. */
struct span	 httpwhy_type(struct span fields);

/*
 * Find the reason: the first line of a body that is for people, by its type,
 * without the phrase in front of it, as in "403 Forbidden" and "Forbidden:
 * why".  Empty: there is none.
 */
struct span	 httpwhy_find(struct span type, struct span body,
		    struct span phrase);
