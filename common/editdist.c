#include "common/editdist.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define DISTANCE_MAX	3	/* typing errors */
#define WORD_MAX	40	/* bytes compared */

static bool
same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The edit distance, ignoring case; two that swapped places count as one. */
static size_t
distance(const char *a, const char *b)
{
	uint8_t	 d[WORD_MAX + 1][WORD_MAX + 1], best;
	size_t	 alen = strlen(a), blen = strlen(b), i, k;

	if (alen > WORD_MAX || blen > WORD_MAX)
		return SIZE_MAX;
	for (i = 0; i <= alen; i++)
		d[i][0] = (uint8_t)i;
	for (k = 0; k <= blen; k++)
		d[0][k] = (uint8_t)k;
	for (i = 1; i <= alen; i++) {
		for (k = 1; k <= blen; k++) {
			best = d[i - 1][k - 1] + !same(a[i - 1], b[k - 1]);
			if (best > d[i - 1][k] + 1)
				best = d[i - 1][k] + 1;
			if (best > d[i][k - 1] + 1)
				best = d[i][k - 1] + 1;
			if (i > 1 && k > 1 && same(a[i - 1], b[k - 2]) &&
			    same(a[i - 2], b[k - 1]) &&
			    best > d[i - 2][k - 2] + 1)
				best = d[i - 2][k - 2] + 1;
			d[i][k] = best;
		}
	}
	return d[alen][blen];
}

const char *
editdist_nearest(const char *word, editdist_word_fn *fn, const void *arg)
{
	const char	*one, *best = NULL;
	size_t		 i, d, least = DISTANCE_MAX + 1;

	for (i = 0; (one = fn(arg, i)) != NULL; i++) {
		d = distance(word, one);
		/* Short words are similar to many others. */
		if (d < least && d < strlen(one) / 2) {
			least = d;
			best = one;
		}
	}
	return best;
}
