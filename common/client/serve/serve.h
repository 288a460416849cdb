/* What the files about servers of one's own share. */
#ifndef COMMON_CLIENT_SERVE_SERVE_H
#define COMMON_CLIENT_SERVE_SERVE_H

#include "common/client/execsrv.h"
#include "common/client/launch.h"

#define SERVE_LINE_MAX	4096	/* bytes of a line of its log; longer are cut */

struct execsrv_server {
	struct launched		 child;
	int			 in;		/* its input: our life */
	int			 log;		/* its standard error */
	int			 news;		/* its --notify-fd */
	int			 epoll;		/* of these */
	execsrv_log_fn		*on_log;	/* or NULL */
	void			*arg;
	char			*environment;	/* of conf, or NULL */
	bool			 has_frames;	/* credentials go to in */
	char			 said[SERVE_LINE_MAX];	/* half a line */
	size_t			 nsaid;
	bool			 is_cut;	/* the rest of it is left out */
	char			**urls;
	size_t			 nurls;
	bool			 is_short;	/* of memory, for these */
	bool			 is_serving;
	unsigned		 uplink;	/* the last one; 0: none */
	bool			 is_registered;	/* that one */
	char			 registration[256];
	bool			 has_ended;
	int			 status;
	/* What it warned of last; in the end the reason. */
	struct execsrv_error	 why;
};

/* As it is when nothing was started. */
void	 execsrv_server_free(struct execsrv_server **sp);

/* --- serve_log.c --- */

/* More is in said: pass on the lines in it, and keep the rest. */
void	 execsrv_serve_log(struct execsrv_server *s);

/* Nothing more comes: what is left is a line. */
void	 execsrv_serve_log_end(struct execsrv_server *s);

/* --- serve_words.c --- */

/*
 * The words that it is started with; control is one of them, which the caller
 * frees after them.  NULL with errno ENOMEM.
 */
const char	**execsrv_serve_words(const struct execsrv_serve *conf,
		    const char *path, char **control_out);

/* Whether it is printable ASCII without blanks, as it goes into a header. */
bool		 execsrv_serve_is_credential(const char *text);

/* What cannot be asked for.  0, or -1 with the reason in e. */
int	 execsrv_serve_check(const struct execsrv_serve *conf,
	    struct execsrv_error *e) __attribute__((warn_unused_result));

#endif
