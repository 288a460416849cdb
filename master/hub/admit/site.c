#include "master/hub/admit/site.h"

#include <sys/mman.h>
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf/conf_priv.h"
#include "common/fd.h"
#include "common/log.h"
#include "common/secret.h"
#include "master/hub/admit/keymem.h"

#define SECRET_MAX	65536	/* bytes of a file with a secret */
#define SITE_MAX	(1024 * 1024)	/* of any of them */
#define TOKEN_TYPE	"token:"
#define JWT_TYPE	"jwt:"

/* --- files --- */

void
site_files_fini(struct site_files *f)
{
	size_t	 i;

	for (i = 0; i < SITE_FILES; i++)
		if (f->file[i].text != NULL)
			sodium_free(f->file[i].text);
	memset(f, 0, sizeof(*f));
}

static int
site_lock_in(struct site_files *f, enum site_file which, const void *data,
    size_t len)
{
	char	*text;

	assert(f->file[which].text == NULL);
	if ((text = sodium_malloc(len + 1)) == NULL)
		return -1;
	memcpy(text, data, len);
	text[len] = '\0';
	f->file[which].text = text;
	f->file[which].len = len;
	return 0;
}

static int
site_read_text(struct site_files *f, enum site_file which, const char *path,
    struct conf_error *e)
{
	char	*text;
	size_t	 len;
	int	 r;

	if ((text = conf_text(path, &len, e)) == NULL)
		return -1;
	r = site_lock_in(f, which, text, len);
	explicit_bzero(text, len);
	free(text);
	return r == 0 ? 0 : conf_fail(e, "%.280s: %s", path, strerror(errno));
}

static int
site_read_secret(struct site_files *f, enum site_file which, const char *path,
    struct conf_error *e)
{
	char	 why[128];

	assert(f->file[which].text == NULL);
	if ((f->file[which].text = secret_read_file(path, SECRET_MAX,
	    &f->file[which].len, why, sizeof(why))) == NULL)
		return conf_fail(e, "%.280s: %s", path, why);
	return 0;
}

/* The settings of the command line, then those of the file. */
static int
site_read_conf(struct hubconf *c, const struct site_cmdline *how,
    struct conf_error *e)
{
	const char	*value;
	char		 keyword[64];
	size_t		 i, n;

	if (hubconf_init(c) == -1)
		return conf_fail(e, "%s", strerror(errno));
	for (i = 0; i < how->noption; i++) {
		n = strcspn(how->option[i], "= \t");
		value = how->option[i] + n;
		value += strspn(value, "= \t");
		snprintf(keyword, sizeof(keyword), "%.*s", (int)n,
		    how->option[i]);
		if (hubconf_set(c, keyword, value, e) == -1)
			return -1;
	}
	return how->path == NULL ? 0 : hubconf_load(c, how->path, e);
}

static void
site_on_kept(void *arg, const char *keyword)
{
	struct site_files	*f = arg;

	f->is_kept = true;
	log_warnx("reload: %s has changed, which needs a restart", keyword);
}

/* As one text, which is all that a worker gets of it. */
static int
site_keep_conf(struct site_files *f, const struct hubconf *c,
    struct conf_error *e)
{
	char	*text = NULL;
	size_t	 len;
	FILE	*out;
	int	 r = -1;

	if ((out = open_memstream(&text, &len)) != NULL) {
		hubconf_print(c, out);
		r = fclose(out);
	}
	if (r == 0)
		r = site_lock_in(f, SITE_CONF, text, len);
	free(text);
	return r == 0 ? 0 : conf_fail(e, "%s", strerror(errno));
}

int
site_take_conf(struct hubconf *c, const struct site_files *f,
    struct conf_error *e)
{
	char	*copy;
	int	 r;

	if (hubconf_init(c) == -1 || (copy = strndup(
	    f->file[SITE_CONF].text, f->file[SITE_CONF].len)) == NULL)
		return conf_fail(e, "%s", strerror(errno));
	r = hubconf_parse(c, "configuration", copy, strlen(copy), NULL, NULL,
	    e);
	free(copy);
	return r;
}

/* A file that has both is a secret, and read as one. */
static int
site_read_tls(struct site_files *f, const struct hubconf *c,
    struct conf_error *e)
{
	if (c->certificate_key[0] == '\0')
		return site_read_secret(f, SITE_KEY, c->certificate, e);
	return site_read_text(f, SITE_CERTIFICATE, c->certificate, e) == -1 ?
	    -1 : site_read_secret(f, SITE_KEY, c->certificate_key, e);
}

int
site_read(struct site_files *f, const struct site_cmdline *how,
    struct conf_error *e)
{
	struct hubconf	 c;
	int		 r = -1;

	memset(f, 0, sizeof(*f));
	memset(&c, 0, sizeof(c));
	if (site_read_conf(&c, how, e) == -1)
		goto out;
	if (how->began != NULL && hubconf_keep(&c, how->began, site_on_kept,
	    f) == -1) {
		conf_fail(e, "%s", strerror(errno));
		goto out;
	}
	if (site_keep_conf(f, &c, e) == -1)
		goto out;
	if ((c.tokens_file[0] != '\0' &&
	    site_read_text(f, SITE_TOKENS, c.tokens_file, e) == -1) ||
	    (c.secret_file[0] != '\0' &&
	    site_read_secret(f, SITE_SECRET, c.secret_file, e) == -1) ||
	    (c.certificate[0] != '\0' && site_read_tls(f, &c, e) == -1) ||
	    (c.bearer_secret_file[0] != '\0' &&
	    site_read_secret(f, SITE_BEARER, c.bearer_secret_file, e) == -1) ||
	    (c.bearer_keys_file[0] != '\0' &&
	    site_read_text(f, SITE_SIGNERS, c.bearer_keys_file, e) == -1) ||
	    (c.ca_file[0] != '\0' &&
	    site_read_text(f, SITE_AUTHORITIES, c.ca_file, e) == -1) ||
	    (c.engine_credentials[0] != '\0' && site_read_secret(f,
	    SITE_ENGINE, c.engine_credentials, e) == -1))
		goto out;
	r = 0;
 out:
	hubconf_fini(&c);
	if (r == -1)
		site_files_fini(f);
	return r;
}

/* --- on the way to the worker --- */

/* Those that are sent as messages, which are never swapped or written. */
static const bool	 site_is_secret[SITE_FILES] = {
	[SITE_SECRET] = true, [SITE_KEY] = true, [SITE_BEARER] = true,
	[SITE_ENGINE] = true
};

#define SITE_NONE	UINT64_MAX	/* as a length: no such file */

/* What comes first: lengths, and a memory file with what is no secret. */
struct site_head {
	uint64_t	 len[SITE_FILES];
};

static int
site_write_public(const struct site_files *f, int fd)
{
	size_t	 i, n;

	for (i = 0; i < SITE_FILES; i++) {
		n = site_is_secret[i] ? 0 : f->file[i].len;
		if (n > 0 && write(fd, f->file[i].text, n) != (ssize_t)n)
			return -1;
	}
	/* The worker may only read. */
	return lseek(fd, 0, SEEK_SET) == -1 ? -1 : 0;
}

static int
site_send_head(const struct site_files *f, int sock, int public)
{
	struct site_head	 head;
	struct iovec		 iov = { &head, sizeof(head) };
	struct msghdr		 m = { .msg_iov = &iov, .msg_iovlen = 1 };
	union {
		struct cmsghdr	 align;
		char		 room[CMSG_SPACE(sizeof(int))];
	}			 u;
	size_t			 i;

	for (i = 0; i < SITE_FILES; i++)
		head.len[i] = f->file[i].text == NULL ? SITE_NONE :
		    f->file[i].len;
	fd_put_rights(&m, &u, &public, 1);
	return sendmsg(sock, &m, MSG_NOSIGNAL) == -1 ? -1 : 0;
}

static int
site_send_all(const struct site_files *f, int sock, int public)
{
	size_t	 i;

	if (site_write_public(f, public) == -1 ||
	    site_send_head(f, sock, public) == -1)
		return -1;
	for (i = 0; i < SITE_FILES; i++)
		if (site_is_secret[i] && f->file[i].len > 0 &&
		    send(sock, f->file[i].text, f->file[i].len,
		    MSG_NOSIGNAL) == -1)
			return -1;
	return 0;
}

/* The secrets are messages of a socket: kernel memory that is not swapped. */
int
site_pack(const struct site_files *f)
{
	int	 pair[2] = { -1, -1 }, public, r = -1;

	if ((public = memfd_create("site", MFD_CLOEXEC)) == -1)
		return -1;
	if (fd_packet_pair(pair) == 0)
		r = site_send_all(f, pair[1], public);
	fd_close(&public);
	fd_close(&pair[1]);
	if (r == -1)
		fd_close(&pair[0]);
	return pair[0];
}

static int
site_recv_head(int sock, struct site_head *head)
{
	struct iovec	 iov = { head, sizeof(*head) };
	union {
		struct cmsghdr	 align;
		char		 room[CMSG_SPACE(sizeof(int))];
	}		 u;
	struct msghdr	 m = { .msg_iov = &iov, .msg_iovlen = 1,
			    .msg_control = &u, .msg_controllen = sizeof(u) };
	ssize_t		 n;
	int		 public = -1;

	if ((n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC)) == -1)
		return -1;
	fd_take_rights(&m, &public, 1);
	if (n != (ssize_t)sizeof(*head))
		fd_close(&public);
	errno = EPROTO;
	return public;
}

/* Room for a file, locked, with a NUL behind it.  Its bytes, or NULL. */
static char *
site_room(struct site_files *f, size_t which, uint64_t len)
{
	char	*text;

	assert(f->file[which].text == NULL);
	if (len > SITE_MAX || (text = sodium_malloc((size_t)len + 1)) == NULL)
		return NULL;
	text[len] = '\0';
	f->file[which].text = text;
	f->file[which].len = (size_t)len;
	return text;
}

static int
site_take_all(struct site_files *f, const struct site_head *head, int sock,
    int public)
{
	size_t	 i, len;
	ssize_t	 n;
	char	*text;

	for (i = 0; i < SITE_FILES; i++) {
		if (head->len[i] == SITE_NONE)
			continue;
		if ((text = site_room(f, i, head->len[i])) == NULL)
			return -1;
		if ((len = f->file[i].len) == 0)
			continue;
		n = site_is_secret[i] ? recv(sock, text, len, MSG_TRUNC) :
		    read(public, text, len);
		if (n != (ssize_t)len)
			return -1;
	}
	return 0;
}

int
site_unpack(struct site_files *f, int fd)
{
	struct site_head	 head;
	int			 public, r;

	memset(f, 0, sizeof(*f));
	if ((public = site_recv_head(fd, &head)) == -1)
		return -1;
	errno = EPROTO;
	r = site_take_all(f, &head, fd, public);
	fd_close(&public);
	if (r == -1)
		site_files_fini(f);
	return r;
}

/* --- a site --- */

static struct span
site_trim(const struct site_files *f, enum site_file which)
{
	struct span	 s = { f->file[which].text, f->file[which].len };

	while (s.len > 0 && strchr(" \t\r\n", s.at[s.len - 1]) != NULL)
		s.len--;
	while (s.len > 0 && strchr(" \t\r\n", s.at[0]) != NULL) {
		s.at++;
		s.len--;
	}
	return s;
}

static int
site_take_secret(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	struct span	 rest = site_trim(f, SITE_SECRET), line;
	const char	*path = s->conf.secret_file;

	assert(s->keys == NULL);
	if (rest.at == NULL)
		return conf_fail(e, "SecretFile: it is needed");
	if ((s->keys = sodium_malloc(sizeof(*s->keys))) == NULL)
		return conf_fail(e, "%s", strerror(errno));
	memset(s->keys, 0, sizeof(*s->keys));
	while (rest.len > 0) {
		if (!span_cut(&rest, '\n', &line)) {
			line = rest;
			rest.len = 0;
		}
		line = span_trim(line);
		if (line.len > 0 && line.at[line.len - 1] == '\r')
			line.len--;
		if (line.len == 0)
			continue;
		if (ticket_keys_add(s->keys, line.at, line.len) == -1)
			return conf_fail(e, "SecretFile %.280s: expected one "
			    "or two lines of at least %d characters", path,
			    TICKET_SECRET_MIN);
	}
	return s->keys->n > 0 ? 0 : conf_fail(e, "SecretFile %.280s: it is "
	    "empty", path);
}

static BIO *
site_bio(const struct site_files *f, enum site_file which)
{
	return BIO_new_mem_buf(f->file[which].text,
	    (int)f->file[which].len);
}

/*
 * The first certificate of the file is ours, the others its chain.  NULL, or
 * what is wrong.
 */
static const char *
site_use_chain(SSL_CTX *tls, BIO *in)
{
	X509	*cert;
	int	 r;

	if ((cert = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL)) == NULL)
		return "it has no certificate (PEM)";
	r = SSL_CTX_use_certificate(tls, cert);
	X509_free(cert);
	if (r != 1)
		return "its certificate cannot be used";
	while ((cert = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
		if (SSL_CTX_add0_chain_cert(tls, cert) != 1) {
			X509_free(cert);
			return "its chain cannot be used";
		}
	return NULL;
}

static const char *
site_use_key(SSL_CTX *tls, BIO *in)
{
	EVP_PKEY	*key;
	int		 r;

	if ((key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL)) == NULL)
		return "it has no private key (PEM)";
	r = SSL_CTX_use_PrivateKey(tls, key);
	EVP_PKEY_free(key);
	return r == 1 && SSL_CTX_check_private_key(tls) == 1 ? NULL :
	    "its key is not that of the certificate";
}

static void
site_set_modes(SSL_CTX *tls)
{
	/* An idle connection keeps no buffers. */
	SSL_CTX_set_mode(tls, SSL_MODE_RELEASE_BUFFERS |
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

static int
site_take_certificate(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	const char	*why = "there is no memory for it";
	const char	*in = s->conf.certificate;
	BIO		*chain = NULL, *key = NULL;
	enum site_file	 where;

	if (f->file[SITE_KEY].text == NULL)
		return 0;
	where = f->file[SITE_CERTIFICATE].text != NULL ? SITE_CERTIFICATE :
	    SITE_KEY;
	if (keymem_reserve(s->conf.max_connections) == -1)
		return conf_fail(e, "MaxConnections: there is no memory for "
		    "their keys");
	keymem_wipe(true);
	if ((s->tls = SSL_CTX_new(TLS_server_method())) != NULL &&
	    (chain = site_bio(f, where)) != NULL &&
	    (key = site_bio(f, SITE_KEY)) != NULL &&
	    SSL_CTX_set_min_proto_version(s->tls, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_num_tickets(s->tls, 0) == 1 &&
	    (why = site_use_chain(s->tls, chain)) == NULL &&
	    (why = site_use_key(s->tls, key)) != NULL &&
	    s->conf.certificate_key[0] != '\0')
		in = s->conf.certificate_key;
	BIO_free(chain);
	BIO_free(key);
	keymem_wipe(false);
	ERR_clear_error();
	if (why != NULL)
		return conf_fail(e, "%s %.200s: %s", in ==
		    s->conf.certificate ? "Certificate" : "CertificateKey", in,
		    why);
	SSL_CTX_set_session_cache_mode(s->tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(s->tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
	    SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	site_set_modes(s->tls);
	return 0;
}

/* Who answers us has to have a certificate by one of these. */
static int
site_take_authorities(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	X509_STORE	*store;
	X509		*cert;
	BIO		*in = NULL;
	unsigned	 n = 0;

	if (f->file[SITE_AUTHORITIES].text == NULL)
		return 0;
	ERR_clear_error();
	if ((s->client = SSL_CTX_new(TLS_client_method())) == NULL ||
	    (in = site_bio(f, SITE_AUTHORITIES)) == NULL ||
	    SSL_CTX_set_min_proto_version(s->client, TLS1_2_VERSION) != 1)
		goto out;
	store = SSL_CTX_get_cert_store(s->client);
	while ((cert = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL)) != NULL) {
		n += X509_STORE_add_cert(store, cert) == 1;
		X509_free(cert);
	}
	ERR_clear_error();
	SSL_CTX_set_verify(s->client, SSL_VERIFY_PEER, NULL);
	site_set_modes(s->client);
 out:
	BIO_free(in);
	return n > 0 ? 0 : conf_fail(e, "CaFile %.280s: no certificates",
	    s->conf.ca_file);
}

static int
site_take_engine(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	struct span	 text = site_trim(f, SITE_ENGINE);

	if (text.at == NULL)
		return 0;
	if ((s->engine = sodium_malloc(text.len + 1)) == NULL)
		return conf_fail(e, "%s", strerror(errno));
	memcpy(s->engine, text.at, text.len);
	s->engine[text.len] = '\0';
	return 0;
}

static int
site_take_signed(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	struct span	 secret = site_trim(f, SITE_BEARER);

	if (secret.at == NULL)
		return 0;
	if (secret.len < JWT_SECRET_MIN)
		return conf_fail(e, "BearerSecretFile: it needs at least %d "
		    "bytes", JWT_SECRET_MIN);
	if ((s->bearer = sodium_malloc(secret.len)) == NULL)
		return conf_fail(e, "%s", strerror(errno));
	memcpy(s->bearer, secret.at, secret.len);
	s->jwt.secret = (const uint8_t *)s->bearer;
	s->jwt.secret_len = secret.len;
	return 0;
}

/* Who has such a key signs for others, too: hence the audience. */
static int
site_take_signers(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	char	 why[128];

	if (f->file[SITE_SIGNERS].text == NULL)
		return 0;
	if (s->conf.bearer_audience[0] == '\0')
		return conf_fail(e, "BearerKeysFile: it needs BearerAudience");
	if ((s->signers = jwks_new(f->file[SITE_SIGNERS].text,
	    f->file[SITE_SIGNERS].len, why, sizeof(why))) == NULL)
		return conf_fail(e, "BearerKeysFile: %s", why);
	s->jwt.keys = s->signers;
	return 0;
}

static int
site_take_bearer(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	const struct hubconf	*c = &s->conf;

	s->jwt = (struct jwt_rules){
		.issuer = c->bearer_issuer[0] != '\0' ? c->bearer_issuer :
		    NULL,
		.audience = c->bearer_audience[0] != '\0' ?
		    c->bearer_audience : NULL,
		.skew = c->bearer_skew / 1000,
		.needs_subject = true
	};
	return site_take_signed(s, f, e) == -1 ? -1 :
	    site_take_signers(s, f, e);
}

static int
site_take_tokens(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	char	*copy;
	int	 r;

	if (f->file[SITE_TOKENS].text == NULL)
		return 0;
	if ((copy = strndup(f->file[SITE_TOKENS].text,
	    f->file[SITE_TOKENS].len)) == NULL)
		return conf_fail(e, "%s", strerror(errno));
	r = hubtokens_parse(&s->tokens, s->conf.tokens_file, copy,
	    strlen(copy), e);
	free(copy);
	return r;
}

/* https://HOST or http://HOST, without a slash at its end; wss:// too. */
static int
site_check_url(const char *keyword, char **setting, struct conf_error *e)
{
	char	*url = *setting, *host;
	size_t	 n = strlen(url);

	while (n > 0 && url[n - 1] == '/')
		url[--n] = '\0';
	if (strncmp(url, "wss://", 6) == 0 || strncmp(url, "ws://", 5) == 0) {
		if (asprintf(setting, "http%s", url + 2) == -1) {
			*setting = url;
			return conf_fail(e, "%s", strerror(ENOMEM));
		}
		free(url);
		url = *setting;
		n = strlen(url);
	}
	host = strstr(url, "://");
	if (host == NULL || (strncmp(url, "https://", 8) != 0 &&
	    strncmp(url, "http://", 7) != 0) || host[3] == '\0' ||
	    strpbrk(url, "?#\" \\") != NULL || n > 128)
		return conf_fail(e, "%s %.200s: expected https://HOST, of at "
		    "most 128 characters", keyword, url);
	return 0;
}

/* How harnesses reach executors of this hub that they find by another. */
static int
site_check_fleet(struct site *s, struct conf_error *e)
{
	struct hubconf	*c = &s->conf;

	if (c->hub_reach == CONF_REACH_AUTO)
		c->hub_reach = c->hub_url[0] != '\0' || c->engine.n == 0 ?
		    CONF_REACH_REDIRECT : CONF_REACH_SPLICE;
	if (c->engine.n == 0)
		return 0;
	if (c->hub_reach == CONF_REACH_REDIRECT && c->hub_url[0] == '\0')
		return conf_fail(e, "HubReach redirect: it needs HubUrl");
	if (c->hub_reach == CONF_REACH_SPLICE && c->internal_url[0] == '\0')
		return conf_fail(e, "HubReach splice: it needs InternalUrl, "
		    "or set HubUrl to redirect");
	if (strncmp(c->internal_url, "https://", 8) == 0 && s->client == NULL)
		return conf_fail(e, "InternalUrl %.200s: it needs CaFile",
		    c->internal_url);
	return 0;
}

static int
site_check(struct site *s, struct conf_error *e)
{
	struct hubconf	*c = &s->conf;
	size_t		 i;

	if (c->fleet_url[0] == '\0')
		return conf_fail(e, "FleetUrl: it is needed");
	if (site_check_url("FleetUrl", &c->fleet_url, e) == -1 ||
	    (c->hub_url[0] != '\0' &&
	    site_check_url("HubUrl", &c->hub_url, e) == -1))
		return -1;
	if (hubconf_check(c, e) == -1 || site_check_fleet(s, e) == -1)
		return -1;
	for (i = 0; i < c->listen.n; i++)
		if (strncmp(c->listen.item[i], "https://", 8) == 0 &&
		    s->tls == NULL)
			return conf_fail(e, "Listen %.100s: it needs a "
			    "Certificate", c->listen.item[i]);
	if (c->proxy_from[0] != '\0' &&
	    conf_address_list(c->proxy_from, "") == -2)
		return conf_fail(e, "ProxyFrom %.200s: expected addresses and "
		    "ADDRESS/LENGTH", c->proxy_from);
	for (i = 0; i < c->deny_subject.n; i++)
		if (conf_pattern_list(c->deny_subject.item[i], "") == -2)
			return conf_fail(e, "DenySubject: bad patterns "
			    "\"%.150s\"", c->deny_subject.item[i]);
	return hubrules_check(c, e);
}

struct site *
site_new(const struct site_files *f, struct conf_error *e)
{
	struct site	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL) {
		conf_fail(e, "%s", strerror(errno));
		return NULL;
	}
	if (site_take_conf(&s->conf, f, e) == -1 ||
	    site_take_secret(s, f, e) == -1 ||
	    site_take_certificate(s, f, e) == -1 ||
	    site_take_bearer(s, f, e) == -1 ||
	    site_take_authorities(s, f, e) == -1 ||
	    site_take_engine(s, f, e) == -1 ||
	    site_take_tokens(s, f, e) == -1 || site_check(s, e) == -1)
		site_free(&s);
	return s;
}

void
site_free(struct site **sp)
{
	struct site	*s = *sp;

	*sp = NULL;
	if (s == NULL)
		return;
	hubconf_fini(&s->conf);
	hubtokens_fini(&s->tokens);
	if (s->keys != NULL)
		sodium_free(s->keys);
	if (s->bearer != NULL)
		sodium_free(s->bearer);
	if (s->engine != NULL)
		sodium_free(s->engine);
	if (s->signers != NULL)
		jwks_free(&s->signers);
	SSL_CTX_free(s->tls);
	SSL_CTX_free(s->client);
	free(s);
}

/* Such a mlock(2) also makes the pages our own. */
void
site_lock(const struct site *s)
{
	(void)mlock(s->keys, sizeof(*s->keys));
	if (s->bearer != NULL)
		(void)mlock(s->bearer, s->jwt.secret_len);
	if (s->engine != NULL)
		(void)mlock(s->engine, strlen(s->engine) + 1);
	keymem_lock();
}

/* --- who somebody is --- */

static void
site_grant(struct identity *out, const struct hubtoken *t)
{
	snprintf(out->name, sizeof(out->name), TOKEN_TYPE "%s", t->name);
	out->is = (struct subject_is){ .name = out->name,
	    .may_register = t->may_register, .may_connect = t->may_connect };
}

const char *
site_identify(const struct site *s, struct span token, uint64_t now,
    struct identity *out, bool *is_guess_out)
{
	const struct hubtoken	*t;
	char			 subject[JWT_SUBJECT_MAX + 1];
	enum jwt_verdict	 v;

	memset(out, 0, sizeof(*out));
	*is_guess_out = false;
	if ((t = hubtokens_find(&s->tokens, token)) != NULL) {
		if (t->expires != 0 && now > t->expires)
			return "expired";
		site_grant(out, t);
	} else {
		v = s->bearer == NULL && s->signers == NULL ? JWT_FORGED :
		    jwt_judge_groups(&s->jwt, token.at, token.len, now,
		    subject, &out->groups);
		if (v != JWT_GOOD) {
			*is_guess_out = v == JWT_FORGED;
			return *is_guess_out ? "wrong token" : jwt_why(v);
		}
		snprintf(out->name, sizeof(out->name), JWT_TYPE "%s", subject);
		out->is = (struct subject_is){ .name = out->name,
		    .group = out->groups.name, .ngroup = out->groups.n };
	}
	return hubrules_is_denied(&s->conf, out->name) ? "denied" : NULL;
}

bool
site_recall(const struct site *s, const char *name, uint64_t now,
    struct identity *out)
{
	const struct hubtoken	*t;

	memset(out, 0, sizeof(*out));
	if (strncmp(name, TOKEN_TYPE, strlen(TOKEN_TYPE)) == 0) {
		if ((t = hubtokens_named(&s->tokens, name +
		    strlen(TOKEN_TYPE))) == NULL ||
		    (t->expires != 0 && now > t->expires))
			return false;
		site_grant(out, t);
	} else {
		snprintf(out->name, sizeof(out->name), "%s", name);
		out->is = (struct subject_is){ .name = out->name };
	}
	return !hubrules_is_denied(&s->conf, name);
}

void
identity_copy(struct identity *to, const struct identity *from)
{
	size_t	 i;

	*to = *from;
	for (i = 0; i < from->groups.n; i++)
		to->groups.name[i] = to->groups.text +
		    (from->groups.name[i] - from->groups.text);
	to->is.name = to->name;
	to->is.group = to->groups.name;
	to->is.ngroup = to->groups.n;
}

bool
site_renew(const struct site *s, uint64_t now, struct identity *who)
{
	struct identity	 fresh;

	if ((who->groups.expires != 0 && now > who->groups.expires +
	    s->jwt.skew) || !site_recall(s, who->name, now, &fresh))
		return false;
	who->is.may_register = fresh.is.may_register;
	who->is.may_connect = fresh.is.may_connect;
	return true;
}
