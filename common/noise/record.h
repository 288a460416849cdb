/* Messages on a stream, as sealed, numbered records (PROTOCOL 12.7).  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/limit.h"
#include "common/noise/gcm.h"
#include "common/noise/quota.h"
#include "common/span.h"

#define RECORD_SEALED_MAX	(LIMIT_RECORD + GCM_TAG)

/* Not used: the stream ends before. */
#define RECORD_SEQ_END		UINT32_MAX

/* --- sending ---------------------------------------------------------------*/

/* Embedded; private. */
struct record_writer {
	struct gcm	 gcm;
	uint32_t	 seq;		/* of the next record */
};

/* A message being sent.  Embedded; private. */
struct record_cutter {
	const uint8_t	*data;		/* the caller's */
	size_t		 len;
	size_t		 at;		/* bytes sealed, with the length */
};

/* -1: errno ENOMEM.  The key is copied. */
int	 record_writer_init(struct record_writer *w,
	    const uint8_t key[GCM_KEY]) MUST_CHECK;
void	 record_writer_fini(struct record_writer *w);

/* 1 to LIMIT_MESSAGE bytes, the caller's until sealed.  -1: errno EMSGSIZE. */
int	 record_cut(struct record_cutter *c, const void *data, size_t len)
	    MUST_CHECK;

/*
 * Seal the next record, up to RECORD_SEALED_MAX bytes; all of a message before
 * another one.  Return its length; 0: no more; -1 with errno EOVERFLOW (out of
 * numbers: end the stream) or ENOMEM.
 */
int	 record_seal(struct record_writer *w, struct record_cutter *c,
	    uint8_t *out, uint32_t *seq_out) MUST_CHECK;

/* --- receiving -------------------------------------------------------------*/

struct record_waiting {
	uint8_t		*data;		/* owned, or NULL */
	size_t		 len;
};

/* Embedded; private. */
struct record_reader {
	struct gcm		 gcm;
	bool			 is_broken;
	uint32_t		 next;		/* number */
	struct record_waiting	 waiting[LIMIT_RECORD_GAP]; /* by number */
	size_t			 waiting_len;	/* sum of bytes */
	struct buf		 plain;		/* lengths and messages */
	size_t			 scanned;	/* bytes of whole messages */
	size_t			 messages;	/* their count */
	struct quota_share	 share;
};

/* -1: errno ENOMEM.  The key is copied. */
int	 record_reader_init(struct record_reader *r,
	    const uint8_t key[GCM_KEY]) MUST_CHECK;
void	 record_reader_fini(struct record_reader *r);

/* Count against q; before the first record. */
void	 record_reader_share(struct record_reader *r, struct quota *q);

/*
 * An old record is ignored.  0, or -1 with errno, and the stream must end:
 * EPROTO (too far ahead, too long, a bad length, too many waiting), EBADMSG
 * (not authentic), EFBIG (LIMIT_STREAM_HELD, LIMIT_STREAM_MESSAGES), EDQUOT
 * (quota), ENOMEM.
 */
int	 record_put(struct record_reader *r, uint32_t seq,
	    const uint8_t *data, size_t len) MUST_CHECK;

/* The oldest message, writable, until record_drop() or record_put(). */
bool	 record_first(const struct record_reader *r, uint8_t **data_out,
	    size_t *len_out);

void	 record_drop(struct record_reader *r);
