/* What the files of a transport share: transport.c, frames.c, lines.c,
   room.c. */
#pragma once

#include "common/client/transport/transport.h"

void	 transport_set_state(struct transport *t, enum transport_state to);

/* Tell the client, and stop.  The first reason counts.  Always -1, EPIPE. */
int	 transport_lose(struct transport *t, enum execsrv_reason why,
	    const char *fmt, ...) PRINTF(3, 4);
int	 transport_fail(struct transport *t, enum execsrv_reason why,
	    const char *fmt, ...) PRINTF(3, 4);
int	 transport_fail_memory(struct transport *t);
int	 transport_lose_as(struct transport *t, const struct execsrv_error *e);
int	 transport_fail_as(struct transport *t, const struct execsrv_error *e);

/* --- frames.c: a WebSocket --- */

void	 frames_init(struct transport *t);
void	 frames_fini(struct transport *t);

/* Put a message or control frame into out.  0, or -1: it failed. */
int	 frames_put(struct transport *t, enum ws_opcode opcode,
	    const void *data, size_t len);

/* Put and flush a control frame, if up; answer the last ping, if room. */
void	 frames_control(struct transport *t, enum ws_opcode opcode,
	    const void *data, size_t len);
void	 frames_send_pong(struct transport *t);

int	 frames_feed(struct transport *t, const void *data, size_t len)
	    MUST_CHECK;

/* As transport_feed(); without a copy: room for frames; n bytes are in it. */
uint8_t	*frames_room(struct transport *t, size_t min, size_t *size_out);
int	 frames_fed(struct transport *t, size_t n) MUST_CHECK;

/* --- lines.c: a message a line --- */

/* Put a message as a line, its line breaks as blanks.  0, or -1: it failed. */
int	 lines_put(struct transport *t, const void *data, size_t len);

int	 lines_feed(struct transport *t, const void *data, size_t len)
	    MUST_CHECK;

/* --- room.c: how much is on the line --- */

/* A new connection; a message was sent or waits in out; a pong came. */
void	 room_init(struct transport *t);
void	 room_on_sent(struct transport *t, size_t len);
void	 room_on_pong(struct transport *t, const void *data, size_t len);

/* --- child.c --- */

/* Close the socket, if there is a child, and kill it. */
void	 transport_kill_child(struct transport *t);
