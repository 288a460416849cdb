/*
 * Observers of a process: the client, waiting reads, operators, a transcript.
 * Called in the order added; each may remove itself or others.
 */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/proc/retain.h"

struct sink;
struct sinks;

struct output {
	uint8_t		 stream;	/* enum proc_stream */
	const void	*data;
	size_t		 len;
	struct chunk	*chunk;		/* NULL: appended to an unseen */
};

/* Each may be NULL. */
struct sink_ops {
	void	(*on_output)(struct sink *k, const struct output *o);
	void	(*on_resize)(struct sink *k, uint16_t rows, uint16_t cols);
	void	(*on_exit)(struct sink *k);

	void	(*on_close)(struct sink *k);

	/* Terminated, and no descendant is left. */
	void	(*on_killed)(struct sink *k);

	/* Numbers above after are now lower by by. */
	void	(*on_renumber)(struct sink *k, uint64_t after, uint64_t by);

	/* Forgotten; the sink is off the list. */
	void	(*on_gone)(struct sink *k);

	/* Hold output back? */
	bool	(*is_full)(const struct sink *k);
};

/* Embedded, as first member. */
struct sink {
	TAILQ_ENTRY(sink)	 entry;
	const struct sink_ops	*ops;
	struct sinks		*sinks;
};

struct sink_walk;

/* Of a process.  Embedded. */
struct sinks {
	TAILQ_HEAD(, sink)	 list;
	struct sink_walk	*walks;		/* active ones, newest first */
};

void		 sinks_init(struct sinks *s);

/* Calls on_gone of all. */
void		 sinks_fini(struct sinks *s);

void		 sink_add(struct sinks *s, struct sink *k,
		    const struct sink_ops *ops);
void		 sink_remove(struct sink *k);

/* The first of a kind, or NULL. */
struct sink	*sinks_find(const struct sinks *s,
		    const struct sink_ops *ops);

void		 sinks_output(struct sinks *s, const struct output *o);
void		 sinks_resize(struct sinks *s, uint16_t rows, uint16_t cols);
void		 sinks_exit(struct sinks *s);
void		 sinks_close(struct sinks *s);
void		 sinks_killed(struct sinks *s);
void		 sinks_renumber(struct sinks *s, uint64_t after, uint64_t by);

/* Any one. */
bool		 sinks_full(const struct sinks *s);
