/* The environments that are attached, here or at all hubs, in their order. */
#pragma once

#include "common/json/json_out.h"
#include "master/hub/hub.h"

#define HUBGATHER_MAX	1000	/* rows of a page */

struct hubgather;

/* Lines {"row":{"environment":...}}, without their ends. */
struct hubgather_page {
	struct span	*row;
	size_t		 n;
	bool		 has_more;
	unsigned	 silent;	/* hubs that did not answer */
};

typedef void	 hubgather_fn(void *arg, const struct hubgather_page *page);

/* Those with a label ("": all) that come after a name. */
struct hubgather_want {
	char	 label[TICKET_LABELS_MAX + 1];
	char	 after[ENVIRONMENT_MAX + 1];
	bool	 is_local;	/* those that are attached here */
};

/*
 * Gather a page; fn is called once, perhaps before this returns.  *out is set
 * first, for hubgather_free(), which cancels; NULL afterwards.  0, or -1 with
 * errno ENOMEM: no call.
 */
int	 hubgather(struct hub *h, const struct hubgather_want *want,
	    struct hubgather **out, hubgather_fn *fn, void *arg) MUST_CHECK;
void	 hubgather_free(struct hubgather **gp);

/* The members of a row, as they are written. */
void	 hubgather_put(struct json_out *o, const struct executor *x);

/* The environment of a line; {NULL, 0}: it is no such row. */
struct span hubgather_name(struct span line);
