/* Step by step to a session: for the first time, and to the same one again. */
#ifndef COMMON_CLIENT_HANDSHAKE_H
#define COMMON_CLIENT_HANDSHAKE_H

#include "common/client/client.h"

/*
 * What is to be opened, a URL or a command (connect.h), and how.  0, or -1 with
 * the reason in e.
 */
int	 handshake_prepare(struct execsrv *x, const char *url,
	    const struct execsrv_options *options, struct execsrv_error *e)
	    __attribute__((warn_unused_result));
int	 handshake_prepare_command(struct execsrv *x,
	    const char *const *argv, bool is_server,
	    const struct execsrv_options *options, struct execsrv_error *e)
	    __attribute__((warn_unused_result));

/* Begin: the first attempt now, or what was started already. */
void	 handshake_open(struct execsrv *x);

/* Go on with it, as poll(2) or the time says; while it is not open. */
void	 handshake_step(struct execsrv *x, short revents);

/* The same for what came in, after that was handled. */
void	 handshake_check(struct execsrv *x);

/* LOST to WAITING: settle what was on its way. */
void	 handshake_recover(struct execsrv *x);

/* ms until handshake_step() wants to be called anyway. */
int	 handshake_wait_ms(const struct execsrv *x);

/*
 * The end: say goodbye to the server, false if that cannot be; until all that
 * was said is sent; then let its process end, if it is ours.
 */
bool	 handshake_say_goodbye(struct execsrv *x);
bool	 handshake_is_saying_goodbye(const struct execsrv *x);
void	 handshake_end(struct execsrv *x);

/* What execsrv-reach says: its first line; any object that is its own. */
void	 handshake_on_hello(struct execsrv *x, char *text, size_t len);
bool	 handshake_on_other(struct execsrv *x, const struct json *j);

#endif
