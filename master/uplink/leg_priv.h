/* What the kinds of legs share; for leg*.c only. */
#ifndef MASTER_UPLINK_LEG_PRIV_H
#define MASTER_UPLINK_LEG_PRIV_H

#include "master/uplink/leg.h"

struct leg_ops {
	void	(*push)(struct leg *);
	void	(*take)(struct leg *);
	void	(*pong)(struct leg *);
	void	(*fini)(struct leg *);
};

struct leg {
	const struct leg_ops	*ops;
	const struct leg_events	*events;
	void			*arg;
	const uint8_t		*output;	/* or NULL */
	size_t			 output_len;
	bool			 is_over;
};

#endif
