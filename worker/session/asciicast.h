/*
 * What a transcript has in it, as lines.  Of a terminal that is asciicast v2: a
 * head, then [seconds, code, text] with the codes "o" (output), "r" (another
 * size) and "m" (a mark: how it ended).  Of pipes it is an object a line, of
 * all processes of a session.  Pure: bytes in, bytes behind what a buf holds
 * out.  0, or -1 with errno (buf_put()).
 */
#ifndef WORKER_SESSION_ASCIICAST_H
#define WORKER_SESSION_ASCIICAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

/* Of one process: standard output and error. */
#define ASCIICAST_STREAMS	2
/* Bytes of asciicast_cut(), with a reason as long as any. */
#define ASCIICAST_END_MAX	256

/* One process.  Embedded; all zero but for who it is. */
struct asciicast {
	bool		 is_terminal;
	const char	*json_id;	/* what its client calls it, as JSON */
	size_t		 json_id_len;
	struct {
		uint8_t	 byte[3];	/* of a character that may go on */
		size_t	 n;
	} rest[ASCIICAST_STREAMS];
};

/* What a file begins with; times are seconds since 1970. */
struct asciicast_head {
	uint64_t	 time;
	unsigned	 session;
	uint16_t	 rows, cols;	/* of a terminal */
	char		*const *argv;	/* if it is to be told, of a terminal */
};
int	 asciicast_head(const struct asciicast *c, struct buf *b,
	    const struct asciicast_head *h) __attribute__((warn_unused_result));

/* us: microseconds since the file began.  argv: or NULL. */
int	 asciicast_start(const struct asciicast *c, struct buf *b, uint64_t us,
	    int64_t pid, char *const *argv)
	    __attribute__((warn_unused_result));

/*
 * Bytes of a stream (0 or 1).  A character that is not complete waits for the
 * rest.  Of a terminal, bytes that are no UTF-8 become U+FFFD, each of them,
 * wherever the text was cut; of a pipe they make a piece base64.
 */
int	 asciicast_output(struct asciicast *c, struct buf *b, uint64_t us,
	    unsigned stream, const void *data, size_t len)
	    __attribute__((warn_unused_result));
int	 asciicast_resize(const struct asciicast *c, struct buf *b, uint64_t us,
	    uint16_t rows, uint16_t cols) __attribute__((warn_unused_result));

/* Its status; more output may follow, until asciicast_close(). */
int	 asciicast_exit(const struct asciicast *c, struct buf *b, uint64_t us,
	    int code) __attribute__((warn_unused_result));
int	 asciicast_close(struct asciicast *c, struct buf *b, uint64_t us)
	    __attribute__((warn_unused_result));

/* The file ends here, though that which it is about goes on. */
int	 asciicast_cut(bool is_terminal, struct buf *b, uint64_t us,
	    const char *why) __attribute__((warn_unused_result));

#endif
