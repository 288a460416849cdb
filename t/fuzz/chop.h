/* How a target cuts what it feeds: whole, or by a seed. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/*
 * The length of the next piece of what is left; how: 0 whole, up to 127 pieces
 * of a few bytes, above that of up to 300.  state begins as how.
 */
static inline size_t
chop(uint32_t *state, uint8_t how, size_t left)
{
	size_t	 n;

	*state = *state * 1103515245 + 12345;
	if (how == 0 || 1 + (*state >> 16) % 300 >= left)
		return left;
	n = 1 + (*state >> 16) % (how < 128 ? 8 : 300);
	return n < left ? n : left;
}
