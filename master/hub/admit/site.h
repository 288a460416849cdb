/*
 * A hub's settings, tokens and keys.  A site never changes: a reload makes
 * another one.  The master reads the files for the worker, which may read none:
 * at the start by fork(2), later by site_pack().
 */
#pragma once

#include <openssl/ssl.h>
#include <stdbool.h>

#include "master/auth/jwt.h"
#include "master/hub/admit/hubconf.h"
#include "master/hub/admit/hubrules.h"
#include "master/hub/admit/hubtoken.h"
#include "master/hub/admit/ticket.h"

enum site_file {
	SITE_CONF,		/* all of it, as hubconf_print() has it */
	SITE_TOKENS,
	SITE_SECRET,
	SITE_CERTIFICATE,	/* none if it is in the file of the key */
	SITE_KEY,
	SITE_BEARER,
	SITE_SIGNERS,
	SITE_AUTHORITIES,
	SITE_ENGINE,
	SITE_FILES
};

struct site_files {
	struct {
		char	*text;		/* locked memory, or NULL: none */
		size_t	 len;
	} file[SITE_FILES];
	bool	 is_kept;	/* a setting of the start differs from it now */
};

/* How we were started; it counts again at each reload. */
struct site_cmdline {
	const char	*path;		/* of the configuration; NULL: none */
	char		**option;	/* KEYWORD=VALUE */
	size_t		 noption;
	/* Of the start, or NULL: what needs a restart stays so. */
	const struct hubconf *began;
};

struct site {
	struct hubconf		 conf;
	struct hubtokens	 tokens;
	struct ticket_keys	*keys;		/* locked memory */
	SSL_CTX			*tls;		/* NULL: no certificate */
	SSL_CTX			*client;	/* towards others; or NULL */
	char			*engine;	/* its secret, or NULL */
	char			*bearer;	/* secret, locked; or NULL */
	struct jwks		*signers;	/* or NULL */
	struct jwt_rules	 jwt;
};

/* Read the files that the configuration names.  0, or -1 with e. */
int	 site_read(struct site_files *f, const struct site_cmdline *how,
	    struct conf_error *e) MUST_CHECK;
void	 site_files_fini(struct site_files *f);

/* The settings among them.  0, or -1 with e. */
int	 site_take_conf(struct hubconf *c, const struct site_files *f,
	    struct conf_error *e) MUST_CHECK;

/* Into a descriptor that can be sent, and out of it, once; -1 with errno. */
int	 site_pack(const struct site_files *f) MUST_CHECK;
int	 site_unpack(struct site_files *f, int fd) MUST_CHECK;

/* NULL with e.  Reads nothing but these files. */
struct site *site_new(const struct site_files *f, struct conf_error *e)
	    MUST_CHECK;
void	 site_free(struct site **sp);

/* In a child, where it is not: lock what is secret in memory, if we may. */
void	 site_lock(const struct site *s);

/* --- who somebody is --- */

struct identity {
	char			 name[TICKET_SUBJECT_MAX + 1];
	struct jwt_groups	 groups;
	struct subject_is	 is;	/* points here and into the site */
};

/*
 * NULL: out is set.  Else why not, for the log; is_guess_out: it is not ours.
 */
const char *site_identify(const struct site *s, struct span token, uint64_t now,
	    struct identity *out, bool *is_guess_out) MUST_CHECK;

/* The same for the subject of a ticket.  False: it is revoked. */
bool	 site_recall(const struct site *s, const char *name, uint64_t now,
	    struct identity *out) MUST_CHECK;

/* For who is here still, with groups until the token expires; s may differ. */
bool	 site_renew(const struct site *s, uint64_t now, struct identity *who)
	    MUST_CHECK;
void	 identity_copy(struct identity *to, const struct identity *from);
