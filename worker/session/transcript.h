/*
 * Transcripts (Transcript, TranscriptMax): what the processes of a session put
 * out, in files.  The master makes them, where the user has nothing to say, and
 * hands over a descriptor to write to; until it is there output waits.  One
 * file for each terminal, one for all pipes (worker/session/asciicast.h).
 *
 * Whatever goes wrong, or when it is enough, the transcripts of the session end
 * with a line in the log, and, if there is room for it, in each of them; the
 * session goes on.
 */
#ifndef WORKER_SESSION_TRANSCRIPT_H
#define WORKER_SESSION_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct env;
struct link;
struct proc;
struct spawn;
struct transcripts;		/* of a session; NULL: there are none yet */

/*
 * A process was started: put down what it does, if that is wanted.  *allp is
 * made when it is needed; before: bytes that others have written to them.
 */
void	 transcript_start(struct transcripts **allp, const struct env *env,
	    struct link *link, uint64_t before, struct proc *p,
	    const struct spawn *sp);

/* The file (*fdp, taken) that was asked for, or why there is none. */
void	 transcripts_opened(struct transcripts *all, uint32_t ticket,
	    int *fdp);
void	 transcripts_refused(struct transcripts *all, const char *why);

/* The master is gone: nobody makes those that are asked for. */
void	 transcripts_lost(struct transcripts *all);

/* The session ends: so do all of them, completely. */
void	 transcripts_end(struct transcripts *all);

/* Bytes that we have written to them, or will. */
uint64_t transcripts_used(const struct transcripts *all);

/* When there are no processes any more. */
void	 transcripts_free(struct transcripts **allp);

#endif
