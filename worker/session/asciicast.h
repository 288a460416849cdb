/*
 * Lines of a transcript.  For a terminal asciicast v2: a header, then [seconds,
 * code, text] with the codes "o" (output), "r" (resize) and "m" (marker: exit).
 * For pipes one JSON object a line, for all processes of a session.  Pure:
 * lines are appended to a buf.  0, or -1 with errno (buf_put()).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Standard output and standard error. */
#define ASCIICAST_STREAMS	2
/* Maximum size of the line of asciicast_cut(), in bytes. */
#define ASCIICAST_END_MAX	256

/* One process.  Embedded; zero it, then set is_terminal and json_id. */
struct asciicast {
	bool		 is_terminal;
	const char	*json_id;	/* the client's id, as JSON */
	size_t		 json_id_len;
	struct {
		uint8_t	 byte[3];	/* of an incomplete character */
		size_t	 n;
	} rest[ASCIICAST_STREAMS];
};

/* The first line.  time: seconds since 1970. */
struct asciicast_head {
	uint64_t	 time;
	unsigned	 session;
	uint16_t	 rows, cols;	/* of a terminal */
	char		*const *argv;	/* of a terminal; or NULL */
};
int	 asciicast_head(const struct asciicast *c, struct buf *b,
	    const struct asciicast_head *h) MUST_CHECK;

/* us: microseconds since the start of the file.  argv: NULL if not logged. */
int	 asciicast_start(const struct asciicast *c, struct buf *b, uint64_t us,
	    int64_t pid, char *const *argv) MUST_CHECK;

/*
 * Write output of a stream (0 or 1).  An incomplete character waits for the
 * rest.  Bytes that are not UTF-8: for a terminal each becomes U+FFFD, wherever
 * the text was cut; for a pipe the piece is written as base64.
 */
int	 asciicast_output(struct asciicast *c, struct buf *b, uint64_t us,
	    unsigned stream, const void *data, size_t len) MUST_CHECK;
int	 asciicast_resize(const struct asciicast *c, struct buf *b, uint64_t us,
	    uint16_t rows, uint16_t cols) MUST_CHECK;

/* Write the exit code; more output may follow until asciicast_close(). */
int	 asciicast_exit(const struct asciicast *c, struct buf *b, uint64_t us,
	    int code) MUST_CHECK;
int	 asciicast_close(struct asciicast *c, struct buf *b, uint64_t us)
	    MUST_CHECK;

/* Write that the file ends here although the processes go on. */
int	 asciicast_cut(bool is_terminal, struct buf *b, uint64_t us,
	    const char *why) MUST_CHECK;
