/* The websocket of an executor or a harness (PROTOCOL 12.4). */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stdint.h>

#include "common/net/ws.h"
#include "common/span.h"
#include "master/hub/relay/hubconn.h"

/* Close codes (RFC 6455 section 7.4.1, and its registry). */
enum wslink_code {
	WSLINK_NORMAL = 1000,
	WSLINK_GOING = 1001,
	WSLINK_POLICY = 1008,
	WSLINK_RESTART = 1012,
};

/* The owner.  None may free the link's owner but on_end. */
struct wslink_events {
	void	(*on_message)(void *arg, const uint8_t *data, size_t len);
	void	(*on_text)(void *arg, const uint8_t *data, size_t len);
	void	(*on_drained)(void *arg);
	/* Call wslink_fini(). */
	void	(*on_end)(void *arg, const char *why);
};

/* In the order in which they are to be pinged. */
struct wslinks {
	TAILQ_HEAD(, wslink)	 queue;
	struct timer		 timer;
	uint64_t		 interval;	/* ms */
	uint64_t		 violations;	/* that ended one */
};

/* Embedded; members are private. */
struct wslink {
	TAILQ_ENTRY(wslink)		 entry;
	struct wslinks			*all;
	struct hubconn			*conn;	/* NULL: closed */
	const struct wslink_events	*events;
	void				*arg;
	struct ws_reader		*reader;	/* NULL: it is empty */
	uint64_t			 due;	/* ms */
	uint64_t			 heard;	/* ms */
	uint32_t			 pongs;	/* that came */
	uint16_t			 code;	/* that the end demands, or 0 */
	bool				 is_busy;
};

void	 wslinks_init(struct wslinks *all, struct event_base *base,
	    uint64_t interval);
void	 wslinks_fini(struct wslinks *all);

/*
 * Take a connection (*cp) after its upgrade, with bytes from behind the head.
 * 0, or -1 with errno ENOMEM; then it stays the caller's.
 */
int	 wslink_init(struct wslink *l, struct wslinks *all,
	    struct hubconn **cp, struct span rest,
	    const struct wslink_events *e, void *arg) MUST_CHECK;

/* Close with the code that its end demands, or this one; 0: at once. */
void	 wslink_fini(struct wslink *l, uint16_t code, const char *reason);

/* Send a binary message, or text.  Failures are told by on_end, later. */
void	 wslink_send(struct wslink *l, const void *data, size_t len);
void	 wslink_send_text(struct wslink *l, const void *data, size_t len);

/* Bytes that wait to be sent. */
size_t	 wslink_queued(const struct wslink *l);

/* Send what is queued by wslink_release() only, see hubconn.h. */
void	 wslink_hold(struct wslink *l);
size_t	 wslink_release(struct wslink *l, size_t n);
void	 wslink_unhold(struct wslink *l);

/* Stop or go on reading; calls count. */
void	 wslink_pause(struct wslink *l);
void	 wslink_resume(struct wslink *l);
bool	 wslink_is_paused(const struct wslink *l);

/* Ask whether it lives: wslink_pongs() changes if so. */
void	 wslink_ping(struct wslink *l);
uint32_t wslink_pongs(const struct wslink *l);

/* When something came last, in ms. */
uint64_t wslink_heard(const struct wslink *l);
