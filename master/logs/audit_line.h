/* An event of the audit log as a line: the rows of proto/audit.def.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/buf.h"

enum audit_event {
#define AUDIT(name, event, when)	AUDIT_##name,
#define AUDIT_KEY(name, kind, meaning)
#include "proto/audit.def"
#undef AUDIT
#undef AUDIT_KEY
	AUDIT_EVENTS
};

struct audit_number {
	bool		 is_set;
	uint64_t	 n;
};
struct audit_texts {
	char *const	*item;		/* NULL: not set */
	size_t		 n;
};

typedef const char		*AUDIT_TEXT;	/* NULL: not set */
typedef struct audit_number	 AUDIT_NUMBER, AUDIT_FLAG;
typedef struct audit_texts	 AUDIT_TEXTS;

/* Members that are not set are left out.  Texts: the caller's. */
struct audit_what {
	enum audit_event	 event;
#define AUDIT(name, event, when)
#define AUDIT_KEY(name, kind, meaning)	AUDIT_##kind name;
#include "proto/audit.def"
#undef AUDIT
#undef AUDIT_KEY
};

#define AUDIT_N(value)	((struct audit_number){ true, (uint64_t)(value) })

struct audit_head {
	struct timespec	 time;		/* CLOCK_REALTIME */
	const char	*run;		/* id of this run of the daemon; NULL:
					   it has no number either */
	uint64_t	 seq;
};

/*
 * Append a JSON object and LF to b.  In texts invalid UTF-8 becomes U+FFFD, and
 * more than PATH_MAX is cut.  0, or -1 with errno of buf_put().
 */
int	 audit_line(struct buf *b, const struct audit_head *head,
	    const struct audit_what *what) MUST_CHECK;
