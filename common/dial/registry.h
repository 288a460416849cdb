/*
 * Requests to the environment registry (PROTOCOL 12.2 and 12.8): register,
 * validate a harness; and as a harness ask for a connection.
 */
#pragma once

#include <sys/queue.h>

#include "common/buf.h"
#include "common/dial/dial.h"
#include "common/dial/registry_answer.h"
#include "common/noise/noise.h"
#include "common/span.h"
#include "common/repeat.h"
#include "proto/ipc.pb-c.h"

/* Embedded; members are private. */
struct registry {
	struct dialer		*dialer;
	struct target		 base;
	enum answer_kind	 kind;
	const char		*environment;	/* the caller's */
	const char		*name;
	const uint8_t		*nonce;		/* NONCE bytes, of this run */
	/* The Authorization header, locked; NULL: nothing is sent. */
	char			*bearer;
	TAILQ_HEAD(request_list, request) requests;
	struct repeat		 said;		/* why it failed */
};

#define REGISTRY_NONCE	16

/*
 * Texts and nonce stay the caller's.  0, or -1 with errno EINVAL: unusable URL
 * or name of the environment.
 */
int	 registry_init(struct registry *r, struct dialer *d, const char *url,
	    enum answer_kind kind, const char *environment, const char *name,
	    const uint8_t nonce[REGISTRY_NONCE]) MUST_CHECK;
void	 registry_fini(struct registry *r);

/* Copy a credential; "": none.  0, or -1 with errno ENOMEM. */
int	 registry_set_bearer(struct registry *r, const char *token) MUST_CHECK;

struct registry_result {
	Ipc__Registration		 result;
	unsigned			 status;	/* of HTTP, or 0 */
	uint64_t			 retry_after;	/* ms, or 0 */
	struct answer_registration	 answer;	/* when registered */
};

/* The answer to registry_connect(). */
struct registry_connection {
	unsigned			 status;	/* of HTTP; 0: none */
	bool				 is_good;	/* 200, and valid */
	bool				 is_distrusted;	/* by certificate */
	uint64_t			 retry_after;	/* ms, or 0 */
	char				 code[64];	/* of the error; "" */
	const char			*why;		/* status 0 */
	const struct answer_connection	*answer;	/* is_good */
};

/*
 * As a harness with that key, ask for a connection to the environment.  on_done
 * is called once; its result is wiped afterwards.
 */
void	 registry_connect(struct registry *r, const struct noise_public *key,
	    void (*on_done)(void *arg, const struct registry_connection *res),
	    void *arg);

/* Register with that key.  on_done is called once. */
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

/* Validate.  on_done is called once, unless registry_forget() is. */
void	 registry_validate(struct registry *r,
	    const struct registry_question *q,
	    void (*on_done)(void *arg, uint64_t number,
	    enum registry_verdict verdict), void *arg);

/* Cancel the validation of that number; 0: all of them. */
void	 registry_forget(struct registry *r, uint64_t number);
