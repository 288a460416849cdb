#include "master/uplink/leg_priv.h"

#include <stdlib.h>

void
leg_free(struct leg **lp)
{
	struct leg	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	l->ops->fini(l);
	free(l);
}

void
leg_push(struct leg *l)
{
	if (!l->is_over)
		l->ops->push(l);
}

bool
leg_output(const struct leg *l, const uint8_t **data_out, size_t *len_out)
{
	*data_out = l->output;
	*len_out = l->output_len;
	return l->output != NULL;
}

void
leg_take(struct leg *l)
{
	l->output = NULL;
	l->output_len = 0;
	l->ops->take(l);
}

bool
leg_is_over(const struct leg *l)
{
	return l->is_over && l->output == NULL;
}

void
leg_pong(struct leg *l)
{
	if (!l->is_over)
		l->ops->pong(l);
}
