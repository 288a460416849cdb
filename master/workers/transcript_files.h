/*
 * Files for transcripts of sessions: TranscriptDir/UID/SESSION/NUMBER.cast or
 * .jsonl.  The master makes them and hands over descriptors, as the user of a
 * session has nothing to write there: folders and files are the daemon's.  The
 * user may read them by an ACL, and nobody else.
 */
#ifndef MASTER_WORKERS_TRANSCRIPT_FILES_H
#define MASTER_WORKERS_TRANSCRIPT_FILES_H

#include <stdbool.h>

#include "common/conf/conf.h"

struct route;

/*
 * Whether a configuration has all that transcripts need.  0, or -1 with the
 * reason in e.
 */
int	 transcript_files_check(const struct conf *c, struct conf_error *e)
	    __attribute__((warn_unused_result));

/* The same, and make the folder if it is needed and not there. */
int	 transcript_files_prepare(const struct conf *c, struct conf_error *e)
	    __attribute__((warn_unused_result));

/*
 * The next file of a session, to be written at its end: a descriptor, or -1
 * with errno.  r->transcript becomes the folder of the session.
 */
int	 transcript_files_open(struct route *r, bool is_terminal)
	    __attribute__((warn_unused_result));

#endif
