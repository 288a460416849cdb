/*
 * The directory: which hub of the site has an environment's executor.  Nothing
 * that goes between executor and harness passes through it.  An engine is
 * asked about what is not here; what is here the switchboard knows.
 *
 * engine_local.c is that of a site with one hub.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "master/hub/admit/ticket.h"

/* Where an environment is; texts are valid during the call. */
struct engine_place {
	const char		*hub_url;	/* https://..., of its hub */
	const char		*labels;
	const char		*subject;	/* who registered it */
	uint8_t			 registration[REGISTRATION_LEN];
	struct hubkey		 key;
};

enum engine_answer {
	ENGINE_NOBODY,		/* no other hub has it */
	ENGINE_FOUND,
	ENGINE_DOWN		/* the engine does not answer */
};

/* p: NULL unless ENGINE_FOUND. */
typedef void	 engine_fn(void *arg, enum engine_answer answer,
		    const struct engine_place *p);

/* An answer that is awaited.  Embedded; engine_cancel() before it is freed. */
struct engine_ask {
	engine_fn	*fn;
	void		*arg;
	void		*engine;	/* the engine's; NULL: answered */
};

/* What an engine asks of its hub. */
struct engine_events {
	/* Another hub asks where it is: whether we have it, and out is set. */
	bool	(*where)(void *arg, const char *environment,
		    struct engine_place *out);

	/*
	 * Another hub has attached a later registration of it, or one of a
	 * key that ours does not have: close ours if it does not live.
	 */
	void	(*yield)(void *arg, const char *environment,
		    const struct engine_place *by);

	/* What another hub told all. */
	void	(*told)(void *arg, const char *text, size_t len);

	/* It is up, or down. */
	void	(*state)(void *arg, bool is_up);
};

struct engine;

struct engine_ops {
	/*
	 * We have it from now on, or not any more: 0, or -1 with errno.  The
	 * others are told (yield).
	 */
	int	(*claim)(struct engine *, const char *environment,
		    const struct engine_place *);
	void	(*release)(struct engine *, const char *environment);

	/* Ask all others; fn is called once, perhaps before this returns. */
	void	(*where)(struct engine *, const char *environment,
		    struct engine_ask *);
	void	(*cancel)(struct engine *, struct engine_ask *);

	/* Tell all others. */
	void	(*tell)(struct engine *, const char *text, size_t len);

	/* Ask all others for a text (of what told() understands: a list);
	   each answer comes by fn, the end with text NULL. */
	void	(*list)(struct engine *, const char *question, size_t len,
		    void (*fn)(void *arg, const char *text, size_t len),
		    void *arg);
	bool	(*is_up)(const struct engine *);
	void	(*free)(struct engine *);
};

struct engine {
	const struct engine_ops		*ops;
	const struct engine_events	*events;
	void				*arg;
};

/* The engine of one hub alone.  NULL with errno. */
struct engine	*engine_local_new(const struct engine_events *e, void *arg);
