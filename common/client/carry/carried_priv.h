/* A session that is carried: what carried.c and carried_resume.c share. */
#pragma once

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json/json_out.h"

struct carried;
struct carried_objects;

enum carried_kind {
	KIND_PLAIN,
	KIND_INITIALIZE,
	KIND_PROCESS,
	KIND_STREAM,
	KIND_WATCH
};

/* Names and ids are kept as JSON, which is compared as text. */
struct carried_request {
	TAILQ_ENTRY(carried_request)	 entry;
	enum carried_kind		 kind;
	char				*id;
	char				*name;	/* of its object, or NULL */
	char				*text;	/* may be sent twice, or NULL */
	size_t				 len;
};

struct carried_object {
	TAILQ_ENTRY(carried_object)	 entry;
	enum carried_kind		 kind;
	char				*name;
	uint64_t			 next_seq;
	bool				 has_exited;
	bool				 is_behind;
	uint64_t			 read_id;	/* of process/read */
};

/* What a request has made: it takes its name.  0, or -1 with errno. */
int	 carried_object_add(struct carried_objects *to,
	    struct carried_request *r) MUST_CHECK;
void	 carried_object_free(struct carried_object *o);

/* Forget a request, an object, all questions. */
void	 carried_request_end(struct carried *c, struct carried_request *r);
void	 carried_object_end(struct carried *c, struct carried_object *o);
void	 carried_drop_questions(struct carried *c);

/*
 * Begin a message: of any kind; a notification about the object of that name;
 * a request of ours, whose parameters are next.
 */
void	 carried_begin(struct carried *c, struct json_out *o);
void	 carried_begin_note(struct carried *c, struct json_out *o,
	    const char *method, const char *key, const char *name);
void	 carried_begin_request(struct carried *c, struct json_out *o,
	    const char *method);

/* Close what is open, and send it.  0, or -1 with errno. */
int	 carried_end(struct carried *c, struct json_out *o, unsigned open,
	    int (*send)(void *, const char *, size_t)) MUST_CHECK;

/* The answer to one of our requests.  0, or -1 with e. */
int	 carried_on_own_answer(struct carried *c, uint64_t id,
	    struct execsrv_error *e) MUST_CHECK;
