#include "worker/session/transcript.h"

#include <sys/queue.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/conf/conf.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/log.h"
#include "worker/os/env.h"
#include "worker/proc/proc.h"
#include "worker/session/asciicast.h"
#include "worker/session/exec_audit.h"
#include "worker/session/link.h"

#define LINE_MAX_	(8 * (size_t)LIMIT_READ_CHUNK)	/* with escapes */
#define LINE_KEPT	4096		/* bytes kept allocated */
#define EARLY_MAX	(4 * 1024 * 1024) /* bytes that wait for a file */
#define ID_MAX		256	/* bytes of an id in each line */
#define EARLY_ENOUGH	(128 * 1024)	/* bytes; then stop reading */

/* One file. */
struct tape {
	TAILQ_ENTRY(tape)	 entry;
	struct transcripts	*all;
	uint32_t		 ticket;	/* of the request */
	int			 fd;		/* or -1 */
	bool			 is_terminal;
	bool			 is_done;	/* complete, waits for fd */
	uint64_t		 began;		/* us */
	struct buf		 early;		/* until fd is there */
};

/* One process. */
struct transcript {
	struct sink		 sink;
	TAILQ_ENTRY(transcript)	 entry;
	struct proc		*proc;
	struct asciicast		 asciicast;
	struct tape		*tape;
	char			 id[32];	/* if the json_id is too long */
};

struct transcripts {
	const struct env	*env;
	struct link		*link;
	TAILQ_HEAD(, transcript) open;
	TAILQ_HEAD(, tape)	 tapes;
	struct tape		*pipes;		/* of all pipes, or NULL */
	uint32_t		 last_ticket;
	uint64_t		 used;		/* bytes */
	uint64_t		 before;	/* by earlier workers */
	bool			 is_over;
	struct timer		 late_ev;
	struct buf		 line;
};

/* --- files --- */

static void
tape_free(struct tape **tp)
{
	struct tape	*t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	if (t->all->pipes == t)
		t->all->pipes = NULL;
	TAILQ_REMOVE(&t->all->tapes, t, entry);
	fd_close(&t->fd);
	buf_fini(&t->early);
	free(t);
}

static int
tape_put(struct tape *t, const void *data, size_t len)
{
	return t->fd == -1 ? buf_put(&t->early, data, len) :
	    fd_append(t->fd, data, len);
}

/*
 * End all transcripts with a line that says why.  TranscriptMax has room
 * reserved for that line; the disk may not.
 */
static void
transcript_give_up(struct transcripts *all, const char *why)
{
	struct tape	*t;

	if (all->is_over)
		return;
	all->is_over = true;
	log_warnx("transcripts end: %s", why);
	TAILQ_FOREACH(t, &all->tapes, entry) {
		buf_drain(&all->line, all->line.len);
		if (asciicast_cut(t->is_terminal, &all->line,
		    clock_us() - t->began,
		    why) == -1 || tape_put(t, buf_data(&all->line),
		    all->line.len) == -1)
			log_debug("a transcript lacks its last lines");
		/* A tape without a file keeps the line for it. */
		if (t->fd != -1)
			fd_close(&t->fd);
	}
	buf_drain(&all->line, all->line.len);
}

/* Write the line if it was made (r is 0) and there is room. */
static void
transcript_commit(struct tape *t, int r)
{
	struct transcripts	*all = t->all;
	size_t			 len = all->line.len;

	if (r == -1) {
		transcript_give_up(all, strerror(errno));
	} else if (all->used + len > all->env->set.transcript_max) {
		transcript_give_up(all, "TranscriptMax");
	} else if (len > 0) {
		all->used += len;
		if (tape_put(t, buf_data(&all->line), len) == -1)
			transcript_give_up(all, strerror(errno));
	}
	buf_drain(&all->line, all->line.len);
	buf_trim(&all->line, LINE_KEPT);
}

/* Request a file from the master.  NULL: transcripts have ended. */
static struct tape *
tape_new(struct transcripts *all, bool is_terminal)
{
	struct tape	*t;

	/* Reserve room for the last line. */
	if (all->used + ASCIICAST_END_MAX > all->env->set.transcript_max) {
		transcript_give_up(all, "TranscriptMax");
		return NULL;
	}
	if ((t = calloc(1, sizeof(*t))) == NULL) {
		transcript_give_up(all, strerror(errno));
		return NULL;
	}
	all->used += ASCIICAST_END_MAX;
	t->all = all;
	t->fd = -1;
	t->is_terminal = is_terminal;
	t->began = clock_us();
	t->ticket = ++all->last_ticket;
	buf_init(&t->early, EARLY_MAX);
	TAILQ_INSERT_TAIL(&all->tapes, t, entry);
	if (link_ask_transcript(all->link, t->ticket, is_terminal) == -1) {
		transcript_give_up(all, "the server has died");
		tape_free(&t);
	} else {
		timer_ensure(&all->late_ev, LIMIT_TRANSCRIPT_FILE);
	}
	return t;
}

/* --- the session --- */

static void	 transcript_on_late(void *);

static struct transcripts *
transcripts_new(const struct env *env, struct link *link, uint64_t before)
{
	struct transcripts	*all;

	if ((all = calloc(1, sizeof(*all))) == NULL) {
		log_warn("cannot set up transcripts");
		return NULL;
	}
	timer_init(&all->late_ev, env->base, transcript_on_late, all);
	all->env = env;
	all->link = link;
	all->used = all->before = before;
	TAILQ_INIT(&all->open);
	TAILQ_INIT(&all->tapes);
	buf_init(&all->line, LINE_MAX_);
	return all;
}

void
transcripts_free(struct transcripts **allp)
{
	struct transcripts	*all = *allp;
	struct tape		*t;

	*allp = NULL;
	if (all == NULL)
		return;
	while ((t = TAILQ_FIRST(&all->tapes)) != NULL)
		tape_free(&t);
	timer_stop(&all->late_ev);
	buf_fini(&all->line);
	free(all);
}

uint64_t
transcripts_used(const struct transcripts *all)
{
	return all == NULL ? 0 : all->used - all->before;
}

void
transcripts_opened(struct transcripts *all, uint32_t ticket, int *fdp)
{
	struct tape	*t;

	if (all == NULL)
		return;
	TAILQ_FOREACH(t, &all->tapes, entry)
		if (t->ticket == ticket)
			break;
	/* The process may have ended meanwhile. */
	if (t == NULL || t->fd != -1)
		return;
	if (*fdp == -1) {
		transcript_give_up(all, "out of file descriptors");
		return;
	}
	t->fd = *fdp;
	*fdp = -1;
	if (t->early.len > 0 && fd_append(t->fd, buf_data(&t->early),
	    t->early.len) == -1)
		transcript_give_up(all, strerror(errno));
	buf_fini(&t->early);
	if (t->is_done)
		tape_free(&t);
	else if (all->is_over)
		fd_close(&t->fd);
}

void
transcripts_refused(struct transcripts *all, const char *why)
{
	struct tape	*t, *next;

	if (all == NULL)
		return;
	transcript_give_up(all, why);
	for (t = TAILQ_FIRST(&all->tapes); t != NULL; t = next) {
		next = TAILQ_NEXT(t, entry);
		if (t->fd == -1)
			buf_fini(&t->early);
		if (t->is_done)
			tape_free(&t);
	}
}

/* Return the oldest tape that waits for its file, or NULL. */
static const struct tape *
first_waiting(const struct transcripts *all)
{
	const struct tape	*t;

	TAILQ_FOREACH(t, &all->tapes, entry)
		if (t->fd == -1)
			return t;
	return NULL;
}

void
transcripts_adopted(struct transcripts *all)
{
	const struct tape	*t;

	if (all == NULL)
		return;
	TAILQ_FOREACH(t, &all->tapes, entry)
		if (t->fd == -1 && link_ask_transcript(all->link, t->ticket,
		    t->is_terminal) == -1)
			return;
}

void
transcripts_lost(struct transcripts *all)
{
	if (all != NULL && first_waiting(all) != NULL)
		transcripts_refused(all, "the server has died");
}

/*
 * The tape that the timer was set for may have its file by now, while a younger
 * one waits.
 */
static void
transcript_on_late(void *arg)
{
	struct transcripts	*all = arg;
	const struct tape	*t = first_waiting(all);
	uint64_t		 age;

	if (t == NULL || all->is_over)
		return;
	age = (clock_us() - t->began) / 1000;
	if (age >= LIMIT_TRANSCRIPT_FILE) {
		/* The file may still come, for the output until now. */
		transcript_give_up(all, "the server does not answer");
		return;
	}
	timer_set(&all->late_ev, LIMIT_TRANSCRIPT_FILE - age);
}

/* --- one process --- */

/* Return the tape for a process, or NULL. */
static struct tape *
find_tape(struct transcripts *all, bool is_terminal)
{
	if (all->is_over)
		return NULL;
	if (is_terminal)
		return tape_new(all, true);
	if (all->pipes == NULL)
		all->pipes = tape_new(all, false);
	return all->pipes;
}

static void
transcript_on_output(struct sink *k, const struct output *o)
{
	struct transcript	*t = (struct transcript *)k;
	struct tape		*tape = t->tape;

	if (!tape->all->is_over)
		transcript_commit(tape, asciicast_output(&t->asciicast,
		    &tape->all->line, clock_us() - tape->began, o->stream ==
		    STREAM_STDERR, o->data, o->len));
}

static void
transcript_on_resize(struct sink *k, uint16_t rows, uint16_t cols)
{
	struct transcript	*t = (struct transcript *)k;
	struct tape		*tape = t->tape;

	if (!tape->all->is_over)
		transcript_commit(tape, asciicast_resize(&t->asciicast,
		    &tape->all->line, clock_us() - tape->began, rows, cols));
}

static void
transcript_on_exit(struct sink *k)
{
	struct transcript	*t = (struct transcript *)k;
	struct tape		*tape = t->tape;

	if (!tape->all->is_over)
		transcript_commit(tape, asciicast_exit(&t->asciicast,
		    &tape->all->line, clock_us() - tape->began,
		    t->proc->exit_code));
}

/* The process is closed, or forgotten. */
static void
transcript_end(struct transcript *t)
{
	struct tape		*tape = t->tape;
	struct transcripts	*all = tape->all;

	if (!all->is_over)
		transcript_commit(tape, asciicast_close(&t->asciicast,
		    &all->line, clock_us() - tape->began));
	/* Keep a tape until its file has what was written early. */
	if (t->asciicast.is_terminal) {
		if (tape->fd == -1 && tape->early.len > 0)
			tape->is_done = true;
		else
			tape_free(&tape);
	}
	TAILQ_REMOVE(&all->open, t, entry);
	if (t->sink.sinks != NULL)
		sink_remove(&t->sink);
	free(t);
}

static void
transcript_on_end(struct sink *k)
{
	transcript_end((struct transcript *)k);
}

/* Whether to stop reading until the file is there. */
static bool
transcript_is_full(const struct sink *k)
{
	const struct tape	*tape = ((const struct transcript *)k)->tape;

	return tape->fd == -1 && tape->early.len > EARLY_ENOUGH &&
	    !tape->all->is_over;
}

static const struct sink_ops	 transcript_ops = {
	.on_output = transcript_on_output,
	.on_resize = transcript_on_resize,
	.on_exit = transcript_on_exit,
	.on_close = transcript_on_end,
	.on_gone = transcript_on_end,
	.is_full = transcript_is_full,
};

void
transcripts_end(struct transcripts *all)
{
	struct transcript	*t;

	while (all != NULL && (t = TAILQ_FIRST(&all->open)) != NULL)
		transcript_end(t);
}

/* Write the start of a process, and a header first if the file is new. */
static void
transcript_put_start(struct transcript *t, const struct spawn *sp, bool is_new)
{
	struct tape		*tape = t->tape;
	const struct env	*env = tape->all->env;
	struct asciicast_head	 head;

	head.time = (uint64_t)time(NULL);
	head.session = env->number;
	head.rows = sp->rows;
	head.cols = sp->cols;
	head.argv = env->set.log_arguments && exec_audit_fits(sp->argv) ?
	    sp->argv : NULL;
	if (is_new)
		transcript_commit(tape, asciicast_head(&t->asciicast,
		    &tape->all->line, &head));
	if (!tape->all->is_over)
		transcript_commit(tape, asciicast_start(&t->asciicast,
		    &tape->all->line, clock_us() - tape->began, t->proc->pid,
		    head.argv));
}

void
transcript_start(struct transcripts **allp, const struct env *env,
    struct link *link, uint64_t before, struct proc *p, const struct spawn *sp)
{
	struct transcript	*t;
	struct tape		*tape;
	bool			 is_new;

	if (env->set.transcript == CONF_TRANSCRIPT_NONE ||
	    (env->set.transcript == CONF_TRANSCRIPT_PTY && !sp->tty))
		return;
	if (*allp == NULL &&
	    (*allp = transcripts_new(env, link, before)) == NULL)
		return;
	is_new = sp->tty || (*allp)->pipes == NULL;
	if ((tape = find_tape(*allp, sp->tty)) == NULL)
		return;
	if ((t = calloc(1, sizeof(*t))) == NULL) {
		transcript_give_up(tape->all, strerror(errno));
		return;
	}
	t->proc = p;
	t->tape = tape;
	t->asciicast.is_terminal = sp->tty;
	snprintf(t->id, sizeof(t->id), "\"pid %ld\"", (long)p->pid);
	t->asciicast.json_id = p->json_id_len <= ID_MAX ? p->json_id : t->id;
	t->asciicast.json_id_len = strlen(t->asciicast.json_id);
	TAILQ_INSERT_TAIL(&tape->all->open, t, entry);
	sink_add(&p->sinks, &t->sink, &transcript_ops);
	transcript_put_start(t, sp, is_new);
}
