/*
 * Who hears what a process does, in the order in which they came: its client,
 * reads that wait, operators, its transcript.  Each may leave while it is told,
 * and make others leave.
 */
#ifndef WORKER_PROC_SINK_H
#define WORKER_PROC_SINK_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "worker/proc/retain.h"

struct sink;
struct sinks;

/* What was read from a process. */
struct output {
	uint8_t		 stream;	/* enum proc_stream */
	const void	*data;
	size_t		 len;
	struct chunk	*chunk;		/* new; or NULL: it was put behind what
					   no client has seen */
};

/* A row that is NULL: it does not matter to this kind. */
struct sink_ops {
	void	(*on_output)(struct sink *k, const struct output *o);
	void	(*on_resize)(struct sink *k, uint16_t rows, uint16_t cols);
	void	(*on_exit)(struct sink *k);

	/* There will be no more output. */
	void	(*on_close)(struct sink *k);

	/* It was terminated, and none of its descendants is left. */
	void	(*on_killed)(struct sink *k);

	/* What had a number above after has one that is lower by that. */
	void	(*on_renumber)(struct sink *k, uint64_t after, uint64_t by);

	/* The process is forgotten, and the sink out of its list already. */
	void	(*on_gone)(struct sink *k);

	/* Whether output had better wait. */
	bool	(*is_full)(const struct sink *k);
};

/* One of them.  Embedded, at the beginning. */
struct sink {
	TAILQ_ENTRY(sink)	 entry;
	const struct sink_ops	*ops;
	struct sinks		*sinks;
};

struct sink_walk;

/* All of one process.  Embedded. */
struct sinks {
	TAILQ_HEAD(, sink)	 list;
	struct sink_walk	*walks;		/* under way, newest first */
};

void		 sinks_init(struct sinks *s);

/* The process is forgotten: so are they. */
void		 sinks_fini(struct sinks *s);

/* The last of them from now on; none of them any more. */
void		 sink_add(struct sinks *s, struct sink *k,
		    const struct sink_ops *ops);
void		 sink_remove(struct sink *k);

/* The first of a kind, or NULL. */
struct sink	*sinks_find(const struct sinks *s,
		    const struct sink_ops *ops);

/* Tell all of them. */
void		 sinks_output(struct sinks *s, const struct output *o);
void		 sinks_resize(struct sinks *s, uint16_t rows, uint16_t cols);
void		 sinks_exit(struct sinks *s);
void		 sinks_close(struct sinks *s);
void		 sinks_killed(struct sinks *s);
void		 sinks_renumber(struct sinks *s, uint64_t after, uint64_t by);

/* Whether one of them is full. */
bool		 sinks_full(const struct sinks *s);

#endif
