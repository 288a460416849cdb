/*
 * Transcripts (Transcript, TranscriptMax): output in files, one for each
 * terminal and one for all pipes (worker/session/asciicast.h).  The master
 * makes files where the user has no access; until then output waits.  After an
 * error, or at TranscriptMax, they end with a log message and, if there is
 * room, a last line; the session goes on.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct env;
struct link;
struct proc;
struct spawn;
struct transcripts;		/* of a session, or NULL */

/* If configured.  *allp: made when needed; before: bytes of earlier workers. */
void	 transcript_start(struct transcripts **allp, const struct env *env,
	    struct link *link, uint64_t before, struct proc *p,
	    const struct spawn *sp);

/* A requested file: *fdp, taken. */
void	 transcripts_opened(struct transcripts *all, uint32_t ticket,
	    int *fdp);
void	 transcripts_refused(struct transcripts *all, const char *why);

/* By the next master: request missing files again. */
void	 transcripts_adopted(struct transcripts *all);

/* No master any more: requested files will not come. */
void	 transcripts_lost(struct transcripts *all);

/* With the session. */
void	 transcripts_end(struct transcripts *all);

/* Bytes, with reserved ones. */
uint64_t transcripts_used(const struct transcripts *all);

/* After procs_fini(). */
void	 transcripts_free(struct transcripts **allp);
