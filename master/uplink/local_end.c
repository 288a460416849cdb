#include "master/uplink/local_end.h"
#include "master/uplink/local_end_priv.h"

#include <assert.h>
#include <stdlib.h>

void
local_end_free(struct local_end **lp)
{
	struct local_end	*l = *lp;

	*lp = NULL;
	if (l == NULL)
		return;
	l->ops->fini(l);
	free(l);
}

void
local_end_push(struct local_end *l)
{
	if (!l->is_over)
		l->ops->push(l);
}

bool
local_end_output(const struct local_end *l, const uint8_t **data_out,
    size_t *len_out)
{
	*data_out = l->output;
	*len_out = l->output_len;
	return l->output != NULL;
}

void
local_end_take(struct local_end *l)
{
	assert(l->output != NULL);
	l->output = NULL;
	l->output_len = 0;
	l->ops->take(l);
}

bool
local_end_is_over(const struct local_end *l)
{
	return l->is_over && l->output == NULL;
}

void
local_end_pong(struct local_end *l)
{
	if (!l->is_over)
		l->ops->pong(l);
}
