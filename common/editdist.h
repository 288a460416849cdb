/* "Did you mean": the nearest of known words. */
#pragma once

#include <stddef.h>

/* Return the i-th word, NULL after the last. */
typedef const char *editdist_word_fn(const void *arg, size_t i);

/* Return the word with the fewest typing errors; NULL: none is near. */
const char *editdist_nearest(const char *word, editdist_word_fn *fn,
	    const void *arg);
