#include "master/execsrvctl/run/missed.h"

#include <stdio.h>

void
missed_report(const struct execsrv *x, struct execsrv_overflow *said)
{
	struct execsrv_overflow	 o = execsrv_overflow(x);

	if (o.held_back_ms == said->held_back_ms &&
	    o.dropped == said->dropped)
		return;
	*said = o;
	if (o.held_back_ms > 0)
		fprintf(stderr, "execsrvctl: the command was held back for "
		    "%llu "
		    "ms while no client was attached\n",
		    (unsigned long long)o.held_back_ms);
	if (o.dropped > 0)
		fprintf(stderr, "execsrvctl: %llu bytes of output were dropped "
		    "while nobody was attached\n",
		    (unsigned long long)o.dropped);
}
