/*
 * What a stream carries behind its handshake: JSON-RPC messages, each with its
 * length in front, cut into records, each sealed and numbered (PROTOCOL
 * 12.7).  Pure.
 */
#ifndef COMMON_NOISE_RECORD_H
#define COMMON_NOISE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/limit.h"
#include "common/noise/gcm.h"
#include "common/noise/quota.h"
#include "common/span.h"

/* Bytes of a record as it is sent. */
#define RECORD_SEALED_MAX	(LIMIT_RECORD + GCM_TAG)

/* The number that no record has: a stream ends before. */
#define RECORD_SEQ_END		UINT32_MAX

/* --- sending ---------------------------------------------------------------*/

/* One direction of one stream.  Embedded; members are private. */
struct record_writer {
	struct gcm	 gcm;
	uint32_t	 seq;		/* of the next record */
};

/* A message on its way.  Members are private. */
struct record_cutter {
	const uint8_t	*data;		/* the caller's */
	size_t		 len;
	size_t		 at;		/* bytes sealed, the length included */
};

/* 0, or -1 with errno ENOMEM.  The key is not needed any more. */
int	 record_writer_init(struct record_writer *w,
	    const uint8_t key[GCM_KEY]) __attribute__((warn_unused_result));
void	 record_writer_fini(struct record_writer *w);

/*
 * Begin a message of 1 to LIMIT_MESSAGE bytes, which stay where they are until
 * it is cut.  0, or -1 with errno EMSGSIZE.
 */
int	 record_cut(struct record_cutter *c, const void *data, size_t len)
	    __attribute__((warn_unused_result));

/*
 * Seal the next piece, to RECORD_SEALED_MAX bytes at out.  Returns its length
 * and its number, 0 when there is no more of the message, or -1 with errno
 * EOVERFLOW (the stream has used up its numbers: end it) or ENOMEM.  Another
 * message must not come in between.
 */
int	 record_seal(struct record_writer *w, struct record_cutter *c,
	    uint8_t *out, uint32_t *seq_out)
	    __attribute__((warn_unused_result));

/* --- receiving -------------------------------------------------------------*/

struct record_waiting {
	uint8_t		*data;		/* NULL: none; owned */
	size_t		 len;
};

/*
 * One direction of one stream: puts records in order, opens them and finds
 * the messages.  Embedded; members are private.
 */
struct record_reader {
	struct gcm		 gcm;
	bool			 is_broken;
	uint32_t		 next;		/* the number expected */
	struct record_waiting	 waiting[LIMIT_RECORD_GAP]; /* by number */
	size_t			 waiting_len;	/* bytes of them all */
	struct buf		 plain;		/* lengths and messages */
	size_t			 scanned;	/* of plain: whole messages */
	size_t			 messages;	/* their number */
	struct quota_share	 share;
};

/* 0, or -1 with errno ENOMEM.  The key is not needed any more. */
int	 record_reader_init(struct record_reader *r,
	    const uint8_t key[GCM_KEY]) __attribute__((warn_unused_result));
void	 record_reader_fini(struct record_reader *r);

/* From the start on, count what it holds against q, which outlives it. */
void	 record_reader_share(struct record_reader *r, struct quota *q);

/*
 * A record came.  0, also for one that came before, which is dropped; or -1
 * with errno, and the stream has to end (all later ones are refused with
 * EPROTO): EPROTO (too far ahead, too long, a bad length, more than may wait),
 * EBADMSG (not sealed by the other end, or at another place), EFBIG (above
 * LIMIT_STREAM_HELD or LIMIT_STREAM_MESSAGES of what nobody has taken),
 * EDQUOT (above what it may hold beside others) or ENOMEM.
 */
int	 record_put(struct record_reader *r, uint32_t seq,
	    const uint8_t *data, size_t len)
	    __attribute__((warn_unused_result));

/*
 * The oldest message, false when none is whole.  Its bytes, which may be
 * anything, stay until record_drop() or record_put().  It may be written to.
 */
bool	 record_first(const struct record_reader *r, uint8_t **data_out,
	    size_t *len_out);

/* The oldest message is taken.  There is one. */
void	 record_drop(struct record_reader *r);

#endif
