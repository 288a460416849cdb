/*
 * Transcripts, made for workers: TranscriptDir/UID/SESSION/NUMBER.cast, .jsonl.
 */
#pragma once

#include <stdbool.h>

#include "common/conf/conf.h"

struct route;

bool	 transcript_files_is_wanted(const struct conf *c);

/* Check the settings.  0, or -1 with the reason in e. */
int	 transcript_files_check(const struct conf *c, struct conf_error *e)
	    MUST_CHECK;

/* The same, and make TranscriptDir. */
int	 transcript_files_prepare(const struct conf *c, struct conf_error *e)
	    MUST_CHECK;

/*
 * Create the next file: a descriptor to append to, or -1 with errno.  Sets
 * r->transcript to the directory of the session.
 */
int	 transcript_files_open(struct route *r, bool is_terminal) MUST_CHECK;
