/*
 * Requests to the environment registry (PROTOCOL 12.2 and 12.8): register this
 * machine, validate a harness, and, as a harness, ask for a connection.
 */
#ifndef COMMON_DIAL_REGISTRY_H
#define COMMON_DIAL_REGISTRY_H

#include <sys/queue.h>

#include "common/buf.h"
#include "common/dial/dial.h"
#include "common/dial/registry_answer.h"
#include "common/noise/noise.h"
#include "common/span.h"
#include "proto/ipc.pb-c.h"

/* Embedded; members are private but for those that are set. */
struct registry {
	struct dialer		*dialer;
	struct target		 base;
	enum answer_kind	 kind;
	const char		*environment;	/* the caller's */
	const char		*name;
	const uint8_t		*nonce;		/* NONCE bytes, of this run */
	/* The Authorization header, locked; NULL: nothing is asked. */
	char			*bearer;
	TAILQ_HEAD(request_list, request) requests;
};

#define REGISTRY_NONCE	16

/*
 * 0, or -1 with errno EINVAL: the URL or the name of the environment cannot be
 * used.  Texts stay the caller's.
 */
int	 registry_init(struct registry *r, struct dialer *d, const char *url,
	    enum answer_kind kind, const char *environment, const char *name,
	    const uint8_t nonce[REGISTRY_NONCE])
	    __attribute__((warn_unused_result));
void	 registry_fini(struct registry *r);

/* Take over a credential; an empty one stands for none.  0, or -1: ENOMEM. */
int	 registry_set_bearer(struct registry *r, const char *token)
	    __attribute__((warn_unused_result));

struct registry_result {
	Ipc__Registration		 result;
	unsigned			 status;	/* of HTTP, or 0 */
	uint64_t			 retry_after;	/* ms, or 0 */
	struct answer_registration	 answer;	/* when registered */
};

/* What became of asking for a connection. */
struct registry_connection {
	unsigned			 status;	/* of HTTP; 0: none */
	bool				 is_good;	/* 200, and for us */
	bool				 is_distrusted;	/* its certificate */
	uint64_t			 retry_after;	/* ms, or 0 */
	char				 code[64];	/* of the error; "" */
	const char			*why;		/* status 0 */
	const struct answer_connection	*answer;	/* is_good */
};

/*
 * Ask, as a harness with that key, for a connection to the environment.
 * on_done is called once, from the loop; what it gets is wiped then.
 */
void	 registry_connect(struct registry *r, const struct noise_public *key,
	    void (*on_done)(void *arg, const struct registry_connection *res),
	    void *arg);

/* Register with those keys.  on_done is called once, from the loop. */
void	 registry_register(struct registry *r, const struct noise_public *key,
	    void (*on_done)(void *arg, const struct registry_result *res),
	    void *arg);

enum registry_verdict { REGISTRY_YES, REGISTRY_NO, REGISTRY_UNKNOWN_US };

/* About one handshake. */
struct registry_question {
	const char			*registration;
	const struct noise_public	*harness;
	struct span			 authorization;
	struct span			 stream;
	uint64_t			 number;	/* to know it again */
};

/* Ask; on_done is called once, from the loop, unless it is cancelled. */
void	 registry_validate(struct registry *r,
	    const struct registry_question *q,
	    void (*on_done)(void *arg, uint64_t number,
	    enum registry_verdict verdict), void *arg);

/* The answer to that number is not wanted any more; 0: to all of them. */
void	 registry_forget(struct registry *r, uint64_t number);

#endif
