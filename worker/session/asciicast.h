/*
 * Lines of a transcript, appended to a buf: 0, or -1 with errno (buf_put()).
 * Pure.
 *
 * Terminal: asciicast v2, a header, then [seconds, code, text] with "o"
 * (output), "r" (resize), "m" (exit).  Pipes: a JSON object a line, for all
 * processes of a session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define ASCIICAST_STREAMS	2
/* Bytes of asciicast_cut()'s line. */
#define ASCIICAST_END_MAX	256

/* Embedded; zero it, then set is_terminal and json_id. */
struct asciicast {
	bool		 is_terminal;
	const char	*json_id;	/* the client's id, as JSON */
	size_t		 json_id_len;
	struct {
		uint8_t	 byte[3];	/* of an incomplete character */
		size_t	 n;
	} rest[ASCIICAST_STREAMS];
};

/* time: seconds since 1970. */
struct asciicast_head {
	uint64_t	 time;
	unsigned	 session;
	uint16_t	 rows, cols;	/* of a terminal */
	char		*const *argv;	/* of a terminal; or NULL */
};
int	 asciicast_head(const struct asciicast *c, struct buf *b,
	    const struct asciicast_head *h) MUST_CHECK;

/* us: since the start of the file.  argv: NULL if not logged. */
int	 asciicast_start(const struct asciicast *c, struct buf *b, uint64_t us,
	    int64_t pid, char *const *argv) MUST_CHECK;

/*
 * stream 0 or 1.  An incomplete character waits for the rest.  Not UTF-8: on a
 * terminal bytes become U+FFFD, of a pipe the piece is base64.
 */
int	 asciicast_output(struct asciicast *c, struct buf *b, uint64_t us,
	    unsigned stream, const void *data, size_t len) MUST_CHECK;
int	 asciicast_resize(const struct asciicast *c, struct buf *b, uint64_t us,
	    uint16_t rows, uint16_t cols) MUST_CHECK;

/* More output may follow until asciicast_close(). */
int	 asciicast_exit(const struct asciicast *c, struct buf *b, uint64_t us,
	    int code) MUST_CHECK;
int	 asciicast_close(struct asciicast *c, struct buf *b, uint64_t us)
	    MUST_CHECK;

/* The file ends, the processes go on. */
int	 asciicast_cut(bool is_terminal, struct buf *b, uint64_t us,
	    const char *why) MUST_CHECK;
