/*
 * Files for transcripts of sessions: TranscriptDir/UID/SESSION/NUMBER.cast or
 * .jsonl.  Directories and files are owned by the daemon, so that the user of a
 * session cannot change them: the master opens files and passes descriptors.
 * An ACL lets only that user read them.
 */
#pragma once

#include <stdbool.h>

#include "common/conf/conf.h"

struct route;

/* Whether any session may have transcripts. */
bool	 transcript_files_is_wanted(const struct conf *c);

/* Check the settings.  0, or -1 with the reason in e. */
int	 transcript_files_check(const struct conf *c, struct conf_error *e)
	    MUST_CHECK;

/* The same, and make TranscriptDir if needed. */
int	 transcript_files_prepare(const struct conf *c, struct conf_error *e)
	    MUST_CHECK;

/*
 * Create the next file of a session: a descriptor to append to, or -1 with
 * errno.  Sets r->transcript to the directory of the session.
 */
int	 transcript_files_open(struct route *r, bool is_terminal) MUST_CHECK;
