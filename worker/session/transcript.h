/*
 * Transcripts (Transcript, TranscriptMax): the output of the processes of a
 * session, in files.  The master creates the files where the user has no
 * access, and passes a descriptor; until then output waits.  One file for each
 * terminal, one for all pipes (worker/session/asciicast.h).
 *
 * After an error, or at TranscriptMax, the transcripts of the session end with
 * a log message and, if there is room, a last line in each file; the session
 * goes on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct env;
struct link;
struct proc;
struct spawn;
struct transcripts;		/* of a session; NULL: there are none yet */

/*
 * A process was started: record it if configured.  *allp is created when
 * needed; before: bytes written by earlier workers.
 */
void	 transcript_start(struct transcripts **allp, const struct env *env,
	    struct link *link, uint64_t before, struct proc *p,
	    const struct spawn *sp);

/* The requested file is there (*fdp, taken), or was refused. */
void	 transcripts_opened(struct transcripts *all, uint32_t ticket,
	    int *fdp);
void	 transcripts_refused(struct transcripts *all, const char *why);

/* The next master is there: request the missing files again. */
void	 transcripts_adopted(struct transcripts *all);

/* There is no master any more: requested files will not come. */
void	 transcripts_lost(struct transcripts *all);

/* The session ends: complete all transcripts. */
void	 transcripts_end(struct transcripts *all);

/* Return the bytes written and reserved by this worker. */
uint64_t transcripts_used(const struct transcripts *all);

/* After procs_fini(). */
void	 transcripts_free(struct transcripts **allp);
