/*
 * The socket to libexecsrv: a message a line, both ways, one at a time.  Who
 * does not take a message is not sent another one: nothing is queued here.
 */
#ifndef MASTER_UPLINK_REACH_PAIR_H
#define MASTER_UPLINK_REACH_PAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "master/uplink/loop.h"

/* None may free it. */
struct pair_events {
	/* There is a line, or an end: pair_first(), pair_is_over(). */
	void	(*on_line)(void *arg);
	/* What was put is taken. */
	void	(*on_room)(void *arg);
};

/* Embedded; members are private. */
struct pair {
	int				 fd;
	struct watch			*watch;
	const struct pair_events	*events;
	void				*arg;
	struct buf			 in, out;
	size_t				 scanned;	/* of in: no end */
	size_t				 line;		/* with its end; 0 */
	bool				 has_ended;
};

/*
 * Read the first line, waiting for it, to size bytes at out, without what ends
 * it; not a byte more.  Its length, or -1: there is none.
 */
ssize_t	 pair_read_first(int fd, char *out, size_t size)
	    __attribute__((warn_unused_result));

/* From then on; the descriptor stays the caller's.  0, or -1 with errno. */
int	 pair_init(struct pair *p, int fd, struct loop *l,
	    const struct pair_events *events, void *arg)
	    __attribute__((warn_unused_result));
void	 pair_fini(struct pair *p);

/* The library's line, until pair_drop(); false: none. */
bool	 pair_first(const struct pair *p, const uint8_t **data_out,
	    size_t *len_out);
void	 pair_drop(struct pair *p);

/* The library is gone, and there is no more of it. */
bool	 pair_is_over(const struct pair *p);

/*
 * Send a message as a line, its line breaks as blanks; when it is not full, but
 * for a last short one.  data is written to.  0, or -1 with errno.
 */
int	 pair_put(struct pair *p, uint8_t *data, size_t len)
	    __attribute__((warn_unused_result));

/* Whether something that was put is not taken yet: on_room follows. */
bool	 pair_is_full(const struct pair *p);

#endif
