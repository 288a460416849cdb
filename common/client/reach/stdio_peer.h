/*
 * The socket to libexecsrv: a message is a line, and at most one at a time is
 * queued in each direction (back-pressure).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/dial/wsloop.h"

/* A handler must not free the peer. */
struct stdio_peer_events {
	/* A line came, or EOF: stdio_peer_first(), stdio_peer_is_over(). */
	void	(*on_line)(void *arg);
	/* All output is written. */
	void	(*on_room)(void *arg);
};

/* Embedded; members are private. */
struct stdio_peer {
	int				 fd;
	struct wswatch			*watch;
	const struct stdio_peer_events	*events;
	void				*arg;
	struct buf			 in, out;
	size_t				 scanned;	/* no newline up to */
	size_t				 line;		/* its length, or 0 */
	bool				 has_ended;
};

/*
 * Read the first line, and no byte more.  Its length without the newline, or
 * -1: EOF, an error, or longer than size.
 */
ssize_t	 stdio_peer_read_first(int fd, char *out, size_t size) MUST_CHECK;

/* After the first line; fd stays the caller's.  0, or -1 with errno. */
int	 stdio_peer_init(struct stdio_peer *p, int fd, struct wsloop *l,
	    const struct stdio_peer_events *events, void *arg) MUST_CHECK;
void	 stdio_peer_fini(struct stdio_peer *p);

/* The current line, valid until stdio_peer_drop(); false: none. */
bool	 stdio_peer_first(const struct stdio_peer *p, const uint8_t **data_out,
	    size_t *len_out);
void	 stdio_peer_drop(struct stdio_peer *p);

/* Whether EOF was read, and no line is left. */
bool	 stdio_peer_is_over(const struct stdio_peer *p);

/*
 * Send a line; newlines become blanks.  Not when full, but for a last short
 * one.
 */
int	 stdio_peer_put(struct stdio_peer *p, uint8_t *data, size_t len)
	    MUST_CHECK;

/* Whether output is not written yet: on_room follows. */
bool	 stdio_peer_is_full(const struct stdio_peer *p);
