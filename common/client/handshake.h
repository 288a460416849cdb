/*
 * The steps to a session, for the first time and to the same one again, and the
 * end of a connection.
 */
#pragma once

#include "common/client/client.h"

/*
 * What is to be opened, a URL or a command (connect.h), and how.  0, or -1 with
 * the reason in e.
 */
int	 handshake_prepare(struct execsrv *x, const char *url,
	    const struct execsrv_options *options, struct execsrv_error *e)
	    MUST_CHECK;
int	 handshake_prepare_command(struct execsrv *x, const char *const *argv,
	    bool is_server, const struct execsrv_options *options,
	    struct execsrv_error *e) MUST_CHECK;

/* Begin with the first attempt, or with the command that was started. */
void	 handshake_open(struct execsrv *x);

/* Take the next step, as poll(2) or the time says; while it is not open. */
void	 handshake_step(struct execsrv *x, short revents);

/* The same after what came in was handled. */
void	 handshake_check(struct execsrv *x);

/* LOST to WAITING: end or keep what was in flight. */
void	 handshake_recover(struct execsrv *x);

/* Return the ms until handshake_step() is due. */
int	 handshake_wait_ms(const struct execsrv *x);

/*
 * Send a close frame, false if it is not open; whether that and the rest are
 * still to be sent; end its process, if it is a child.
 */
bool	 handshake_begin_close(struct execsrv *x);
bool	 handshake_is_closing(const struct execsrv *x);
void	 handshake_end_close(struct execsrv *x);

/* Take what execsrv-reach says: its first line; its reason to end. */
void	 handshake_on_hello(struct execsrv *x, char *text, size_t len);
bool	 handshake_on_other(struct execsrv *x, const struct json *j);
