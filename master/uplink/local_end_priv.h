/* What the kinds of local ends share; for local_end*.c only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct local_end;
struct local_end_events;

struct local_end_ops {
	void	(*push)(struct local_end *);
	void	(*take)(struct local_end *);
	void	(*pong)(struct local_end *);
	void	(*fini)(struct local_end *);
};

struct local_end {
	const struct local_end_ops	*ops;
	const struct local_end_events	*events;
	void			*arg;
	const uint8_t		*output;	/* or NULL */
	size_t			 output_len;
	bool			 is_over;
};
