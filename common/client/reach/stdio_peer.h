/*
 * The socket to libexecsrv: a message a line, both ways, one at a time.  Who
 * does not take a message is not sent another one: nothing is queued here.
 */
#ifndef COMMON_CLIENT_REACH_STDIO_PEER_H
#define COMMON_CLIENT_REACH_STDIO_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/dial/wsloop.h"

/* None may free it. */
struct stdio_peer_events {
	/*
	 * There is a line, or an end: stdio_peer_first(), stdio_peer_is_over().
	 */
	void	(*on_line)(void *arg);
	/* What was put is taken. */
	void	(*on_room)(void *arg);
};

/* Embedded; members are private. */
struct stdio_peer {
	int				 fd;
	struct wswatch			*watch;
	const struct stdio_peer_events	*events;
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
ssize_t	 stdio_peer_read_first(int fd, char *out, size_t size)
	    __attribute__((warn_unused_result));

/* From then on; the descriptor stays the caller's.  0, or -1 with errno. */
int	 stdio_peer_init(struct stdio_peer *p, int fd, struct wsloop *l,
	    const struct stdio_peer_events *events, void *arg)
	    __attribute__((warn_unused_result));
void	 stdio_peer_fini(struct stdio_peer *p);

/* The library's line, until stdio_peer_drop(); false: none. */
bool	 stdio_peer_first(const struct stdio_peer *p, const uint8_t **data_out,
	    size_t *len_out);
void	 stdio_peer_drop(struct stdio_peer *p);

/* The library is gone, and there is no more of it. */
bool	 stdio_peer_is_over(const struct stdio_peer *p);

/*
 * Send a message as a line, its line breaks as blanks; when it is not full, but
 * for a last short one.  data is written to.  0, or -1 with errno.
 */
int	 stdio_peer_put(struct stdio_peer *p, uint8_t *data, size_t len)
	    __attribute__((warn_unused_result));

/* Whether something that was put is not taken yet: on_room follows. */
bool	 stdio_peer_is_full(const struct stdio_peer *p);

#endif
