#include "common/editdist.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#define DISTANCE_MAX	3	/* typing errors */
#define WORD_MAX	40	/* bytes compared */

/* Return the edit distance, ignoring case. */
static size_t
distance(const char *a, const char *b)
{
	size_t	 row[WORD_MAX + 1], alen = strlen(a), blen = strlen(b);
	size_t	 i, k, corner, old, best;

	if (alen > WORD_MAX || blen > WORD_MAX)
		return SIZE_MAX;
	for (k = 0; k <= blen; k++)
		row[k] = k;
	for (i = 1; i <= alen; i++) {
		corner = row[0]++;
		for (k = 1; k <= blen; k++) {
			old = row[k];
			best = corner + (tolower((unsigned char)a[i - 1]) !=
			    tolower((unsigned char)b[k - 1]));
			if (best > old + 1)
				best = old + 1;
			if (best > row[k - 1] + 1)
				best = row[k - 1] + 1;
			row[k] = best;
			corner = old;
		}
	}
	return row[blen];
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
