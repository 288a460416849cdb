/*
 * A websocket client for measuring: blocking, one recv() at a time, messages
 * looked at where they lie.  It trusts the server to write its JSON without
 * blanks, and does not reorder anything.  Pings are answered the moment
 * they are met, also in the middle of a flood, since execsrvd takes pongs for
 * acknowledgements.  Any failure ends the program.
 */
#pragma once

#include "t/bench/bench.h"

struct client;

enum msg_kind {
	MSG_UPGRADED,		/* the 101: no text */
	MSG_REPLY,
	MSG_ERROR,
	MSG_OUTPUT,
	MSG_EXITED,
	MSG_CLOSED,
	MSG_OTHER
};

/* A message; the text is borrowed until the next call for this client. */
struct msg {
	enum msg_kind	 kind;
	long		 id;		/* of replies and errors */
	const char	*text;
	size_t		 len;
};

/* Acknowledge every segment at once (the .quickack variants). */
#define CLIENT_QUICKACK	0x1

/* Connect and send the upgrade. */
struct client	*client_connect(const struct bench *, int flags);

/* A whole new session: connected, initialized. */
struct client	*client_open(const struct bench *, int flags);

/* Drop the connection, no farewell, and forget the pointer. */
void		 client_close(struct client **);

/* The descriptor, to poll. */
int		 client_fd(const struct client *);

/* Make room for so many bytes per recv(). */
void		 client_reserve(struct client *, size_t);

/* Send a request ("params" is text like {"a":1}). Returns its id. */
long		 client_call(struct client *, const char *method,
		    const char *params, ...) PRINTF(3, 4);

/* The same; the parameters are so many bytes, prepared before. */
long		 client_call_text(struct client *, const char *method,
		    const char *params, size_t);

void		 client_initialized(struct client *);

/* Send a text message of so many bytes, room for which lies at
 * client_room(); the text is masked in place. */
char		*client_room(struct client *, size_t);
void		 client_send(struct client *, size_t);

/* Receive once, then take messages until there is none. */
void		 client_fill(struct client *);
bool		 client_take(struct client *, struct msg *);

/* The next message, waiting for it; errors end the program ... */
void		 client_next(struct client *, struct msg *);
/* ... but not here. */
void		 client_next_any(struct client *, struct msg *);

/* Wait for a reply or for a kind of message, skipping everything else. */
void		 client_wait_reply(struct client *, long id, struct msg *);
void		 client_wait(struct client *, enum msg_kind, struct msg *);

/* Send the start of argv ("a","b" as in JSON) as this process id. Returns the
 * id of the request. */
long		 client_start(struct client *, const char *id, bool pipe_stdin,
		    const char *argv, ...) PRINTF(4, 5);

/* A script of the shell on a terminal; it has no double quotes in it. */
long		 client_start_terminal(struct client *, const char *id,
		    const char *script);

/* Kill a process and await its end. */
void		 client_terminate(struct client *, const char *id);

/*
 * One byte to a process "cat" and back: the time until it is there, in seconds.
 * The answer to the write, which has this number, is awaited too.
 */
double		 client_echo(struct client *, int number);

/* Find out kind and id of a message that came in another way. */
void		 msg_classify(struct msg *);

/* Bytes of output in a message, however many chunks it has. */
size_t		 msg_bytes(const struct msg *);

/* The number that follows this text ("\"nextSeq\":") in a message. */
long		 msg_number(const struct msg *, const char *key);

/* Does the text occur in the message? */
bool		 msg_has(const struct msg *, const char *text);
