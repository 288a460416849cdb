/*
 * Transcripts (Transcript, TranscriptMax): what the processes of a session put
 * out, in files.  The master makes them, where the user has nothing to say, and
 * hands over a descriptor to write to; until it is there output waits.  One
 * file for each terminal, one for all pipes (worker/cast.h).
 *
 * Whatever goes wrong, or when it is enough, the transcripts of the session end
 * with a line in the log, and, if there is room for it, in each of them; the
 * session goes on.
 */
#ifndef WORKER_TRANSCRIPT_H
#define WORKER_TRANSCRIPT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct proc;
struct session;
struct spawn;
struct transcript;		/* of one process */
struct transcripts;		/* of a session */

/* A process was started: p->transcript, if there shall be one. */
void	 transcript_start(struct proc *p, const struct spawn *sp);

/* It put something out, has another size, has exited; is closed. */
void	 transcript_output(struct transcript *t, unsigned stream,
	    const void *data, size_t len);
void	 transcript_resize(struct transcript *t, uint16_t rows,
	    uint16_t cols);
void	 transcript_exit(struct transcript *t, int code);
void	 transcript_end(struct transcript **tp);

/* Whether its output had better wait, as there is no file yet. */
bool	 transcript_waits(const struct transcript *t);

/* The file (*fdp, taken) that was asked for, or why there is none. */
void	 transcripts_opened(struct session *s, uint32_t ticket, int *fdp);
void	 transcripts_refused(struct session *s, const char *why);

/* The master is gone: nobody makes those that are asked for. */
void	 transcripts_lost(struct session *s);

/* Bytes that we have written to them, or will. */
uint64_t transcripts_used(const struct session *s);

void	 transcripts_free(struct session *s);

#endif
