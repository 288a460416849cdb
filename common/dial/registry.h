/* Requests to the environment registry (PROTOCOL 12.2 and 12.8). */
#pragma once

#include <sys/queue.h>

#include "common/buf.h"
#include "common/dial/dial.h"
#include "common/dial/registry_answer.h"
#include "common/noise/noise.h"
#include "common/span.h"
#include "common/repeat.h"
#include "proto/ipc.pb-c.h"

/* Embedded; private. */
struct registry {
	struct dialer		*dialer;
	struct target		 base;
	enum answer_kind	 kind;
	const char		*environment;	/* the caller's */
	const char		*name;
	const uint8_t		*nonce;		/* of this run */
	/* Authorization, locked; NULL: nothing is sent. */
	char			*bearer;
	TAILQ_HEAD(request_list, request) requests;
	struct repeat		 said;		/* why it failed */
};

#define REGISTRY_NONCE	16

/* Texts and nonce stay the caller's.  -1: errno EINVAL (bad URL or name). */
int	 registry_init(struct registry *r, struct dialer *d, const char *url,
	    enum answer_kind kind, const char *environment, const char *name,
	    const uint8_t nonce[REGISTRY_NONCE]) MUST_CHECK;
void	 registry_fini(struct registry *r);

/* Copy; "": none.  0, or -1 with errno ENOMEM. */
int	 registry_set_bearer(struct registry *r, const char *token) MUST_CHECK;

struct registry_result {
	Ipc__Registration		 result;
	unsigned			 status;	/* of HTTP, or 0 */
	uint64_t			 retry_after;	/* ms, or 0 */
	struct answer_registration	 answer;	/* when registered */
};

struct registry_connection {
	unsigned			 status;	/* of HTTP; 0: none */
	bool				 is_good;	/* 200, and valid */
	bool				 is_distrusted;	/* by certificate */
	uint64_t			 retry_after;	/* ms, or 0 */
	char				 code[64];	/* of the error; "" */
	const char			*why;		/* status 0 */
	const struct answer_connection	*answer;	/* is_good */
};

/* Connect as a harness with that key.  on_done: once; its result is wiped. */
void	 registry_connect(struct registry *r, const struct noise_public *key,
	    void (*on_done)(void *arg, const struct registry_connection *res),
	    void *arg);

/* on_done: once. */
void	 registry_register(struct registry *r, const struct noise_public *key,
	    void (*on_done)(void *arg, const struct registry_result *res),
	    void *arg);

enum registry_verdict { REGISTRY_YES, REGISTRY_NO, REGISTRY_UNKNOWN_US };

/* Of a handshake. */
struct registry_question {
	const char			*registration;
	const struct noise_public	*harness;
	struct span			 authorization;
	struct span			 stream;
	uint64_t			 number;	/* not 0 */
};

/* on_done: once, unless registry_forget() comes first. */
void	 registry_validate(struct registry *r,
	    const struct registry_question *q,
	    void (*on_done)(void *arg, uint64_t number,
	    enum registry_verdict verdict), void *arg);

/* Cancel it; 0: all of them. */
void	 registry_forget(struct registry *r, uint64_t number);
