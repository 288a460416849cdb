/* What was probably meant by a word that is not known. */
#pragma once

#include <stddef.h>

/* Words to choose from: the i-th, or NULL after the last. */
typedef const char *editdist_word_fn(const void *arg, size_t i);

/*
 * Return the word with the fewest typing errors against a word, ignoring case,
 * or NULL if none is near.
 */
const char *editdist_nearest(const char *word, editdist_word_fn *fn,
	    const void *arg);
