/* A server of one's own: what the files about it share. */
#pragma once

#include "common/client/execsrv.h"
#include "common/client/serve/launch.h"

#define SERVE_LINE_MAX	4096	/* bytes of a log line; longer ones are cut */

struct execsrv_server {
	struct launched		 child;
	int			 in;		/* its input: it ends with it */
	int			 log;
	int			 notify;
	int			 epoll;		/* of these */
	execsrv_log_fn		*on_log;	/* or NULL */
	void			*arg;
	char			*environment;	/* of conf, or NULL */
	bool			 has_frames;	/* credentials are sent to in */
	char			 said[SERVE_LINE_MAX];
	size_t			 nsaid;
	bool			 is_cut;	/* skip the rest of the line */
	char			**urls;
	size_t			 nurls;
	bool			 is_short;	/* out of memory for these */
	bool			 is_serving;
	unsigned		 uplink;	/* the last one; 0: none */
	bool			 is_registered;	/* that one */
	char			 registration[256];
	bool			 has_ended;
	int			 status;
	/* Its last warning; after its end the reason. */
	struct execsrv_error	 why;
};

/* Its process is not ended by this. */
void	 execsrv_server_free(struct execsrv_server **sp);

/* --- serve_log.c --- */

/* Pass on the whole lines in said; at the end what is left, too. */
void	 execsrv_serve_log(struct execsrv_server *s);
void	 execsrv_serve_log_end(struct execsrv_server *s);

/* --- serve_argv.c --- */

/* For free(), and then control, part of it.  NULL with errno ENOMEM. */
const char	**execsrv_serve_argv(const struct execsrv_serve *conf,
		    const char *path, char **control_out);

/* Printable ASCII without blanks, as HTTP fields want it? */
bool		 execsrv_serve_is_credential(const char *text);

/* Check what is asked for.  0, or -1 with the reason in e. */
int	 execsrv_serve_check(const struct execsrv_serve *conf,
	    struct execsrv_error *e) MUST_CHECK;
