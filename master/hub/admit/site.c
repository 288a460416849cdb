#include "master/hub/admit/site.h"

#include <sys/mman.h>
#include <sys/stat.h>

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
#include "common/secret.h"

#define SECRET_MAX	65536	/* bytes of a file with a secret */
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

	if ((f->file[which].text = secret_read_file(path, SECRET_MAX,
	    &f->file[which].len, why, sizeof(why))) == NULL)
		return conf_fail(e, "%.280s: %s", path, why);
	return 0;
}

/* The settings of the command line, then those of the file. */
static int
site_conf(struct hubconf *c, const struct site_files *f,
    const struct site_cmdline *how, struct conf_error *e)
{
	const char	*value;
	char		 keyword[64], *copy;
	size_t		 i, n;
	int		 r;

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
	if (f->file[SITE_CONF].text == NULL)
		return 0;
	if ((copy = strndup(f->file[SITE_CONF].text, f->file[SITE_CONF].len)) ==
	    NULL)
		return conf_fail(e, "%s", strerror(errno));
	r = hubconf_parse(c, how->path, copy, strlen(copy), e);
	free(copy);
	return r;
}

int
site_read(struct site_files *f, const struct site_cmdline *how,
    struct conf_error *e)
{
	struct hubconf	 c;
	const char	*key;
	int		 r = -1;

	memset(f, 0, sizeof(*f));
	memset(&c, 0, sizeof(c));
	if (how->path != NULL &&
	    site_read_text(f, SITE_CONF, how->path, e) == -1)
		goto out;
	if (site_conf(&c, f, how, e) == -1)
		goto out;
	key = c.certificate_key[0] != '\0' ? c.certificate_key : c.certificate;
	if ((c.tokens_file[0] != '\0' &&
	    site_read_text(f, SITE_TOKENS, c.tokens_file, e) == -1) ||
	    (c.secret_file[0] != '\0' &&
	    site_read_secret(f, SITE_SECRET, c.secret_file, e) == -1) ||
	    (c.certificate[0] != '\0' &&
	    site_read_text(f, SITE_CERTIFICATE, c.certificate, e) == -1) ||
	    (key[0] != '\0' && site_read_secret(f, SITE_KEY, key, e) == -1) ||
	    (c.bearer_secret_file[0] != '\0' &&
	    site_read_secret(f, SITE_BEARER, c.bearer_secret_file, e) == -1) ||
	    (c.bearer_keys_file[0] != '\0' &&
	    site_read_text(f, SITE_SIGNERS, c.bearer_keys_file, e) == -1))
		goto out;
	r = 0;
 out:
	hubconf_fini(&c);
	if (r == -1)
		site_files_fini(f);
	return r;
}

/* For each file its length and its bytes. */
int
site_pack(const struct site_files *f)
{
	size_t	 i;
	int	 fd;

	if ((fd = memfd_create("site", MFD_CLOEXEC)) == -1)
		return -1;
	for (i = 0; i < SITE_FILES; i++) {
		uint64_t	 len = f->file[i].text == NULL ? UINT64_MAX :
				    f->file[i].len;
		size_t		 n = f->file[i].len;

		if (write(fd, &len, sizeof(len)) != (ssize_t)sizeof(len) ||
		    (n > 0 && write(fd, f->file[i].text, n) != (ssize_t)n)) {
			fd_close(&fd);
			return -1;
		}
	}
	return fd;
}

int
site_unpack(struct site_files *f, int fd)
{
	struct stat	 st;
	const char	*map;
	uint64_t	 len;
	size_t		 i, at = 0, size;
	int		 r = -1;

	memset(f, 0, sizeof(*f));
	if (fstat(fd, &st) == -1)
		return -1;
	size = (size_t)st.st_size;
	if ((map = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0)) ==
	    MAP_FAILED)
		return -1;
	errno = EINVAL;
	for (i = 0; i < SITE_FILES; i++) {
		if (size - at < sizeof(len))
			goto out;
		memcpy(&len, map + at, sizeof(len));
		at += sizeof(len);
		if (len == UINT64_MAX)
			continue;
		if (len > size - at || site_lock_in(f, (enum site_file)i,
		    map + at, (size_t)len) == -1)
			goto out;
		at += (size_t)len;
	}
	r = 0;
 out:
	munmap((void *)(uintptr_t)map, size);
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

static int
site_tls_fail(const char *path, struct conf_error *e)
{
	char	 why[160];

	ERR_error_string_n(ERR_get_error(), why, sizeof(why));
	return conf_fail(e, "Certificate %.200s: %s", path, why);
}

static BIO *
site_bio(const struct site_files *f, enum site_file which)
{
	return BIO_new_mem_buf(f->file[which].text,
	    (int)f->file[which].len);
}

/* The first certificate of the file is ours, the others its chain. */
static int
site_use_chain(SSL_CTX *tls, BIO *in)
{
	X509	*cert;
	int	 r;

	if ((cert = PEM_read_bio_X509_AUX(in, NULL, NULL, NULL)) == NULL)
		return -1;
	r = SSL_CTX_use_certificate(tls, cert);
	X509_free(cert);
	if (r != 1)
		return -1;
	while ((cert = PEM_read_bio_X509(in, NULL, NULL, NULL)) != NULL)
		if (SSL_CTX_add0_chain_cert(tls, cert) != 1) {
			X509_free(cert);
			return -1;
		}
	ERR_clear_error();
	return 0;
}

static int
site_use_key(SSL_CTX *tls, BIO *in)
{
	EVP_PKEY	*key;
	int		 r;

	if ((key = PEM_read_bio_PrivateKey(in, NULL, NULL, NULL)) == NULL)
		return -1;
	r = SSL_CTX_use_PrivateKey(tls, key);
	EVP_PKEY_free(key);
	return r == 1 && SSL_CTX_check_private_key(tls) == 1 ? 0 : -1;
}

static int
site_take_certificate(struct site *s, const struct site_files *f,
    struct conf_error *e)
{
	BIO	*chain = NULL, *key = NULL;
	int	 r = -1;

	if (f->file[SITE_CERTIFICATE].text == NULL)
		return 0;
	ERR_clear_error();
	if ((s->tls = SSL_CTX_new(TLS_server_method())) != NULL &&
	    (chain = site_bio(f, SITE_CERTIFICATE)) != NULL &&
	    (key = site_bio(f, SITE_KEY)) != NULL &&
	    SSL_CTX_set_min_proto_version(s->tls, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_num_tickets(s->tls, 0) == 1 &&
	    site_use_chain(s->tls, chain) == 0)
		r = site_use_key(s->tls, key);
	BIO_free(chain);
	BIO_free(key);
	if (r == -1)
		return site_tls_fail(s->conf.certificate, e);
	SSL_CTX_set_session_cache_mode(s->tls, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(s->tls, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET |
	    SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	/* An idle connection keeps no buffers. */
	SSL_CTX_set_mode(s->tls, SSL_MODE_RELEASE_BUFFERS |
	    SSL_MODE_ENABLE_PARTIAL_WRITE |
	    SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
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

/* https://HOST or http://HOST, without a slash at the end; wss:// is the same. */
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
	for (i = 0; i < c->listen.n; i++)
		if (strncmp(c->listen.item[i], "https://", 8) == 0 &&
		    s->tls == NULL)
			return conf_fail(e, "Listen %.100s: it needs a "
			    "Certificate", c->listen.item[i]);
	for (i = 0; i < c->deny_subject.n; i++)
		if (conf_pattern_list(c->deny_subject.item[i], "") == -2)
			return conf_fail(e, "DenySubject: bad patterns "
			    "\"%.150s\"", c->deny_subject.item[i]);
	return hubrules_check(c, e);
}

struct site *
site_new(const struct site_files *f, const struct site_cmdline *how,
    struct conf_error *e)
{
	struct site	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL) {
		conf_fail(e, "%s", strerror(errno));
		return NULL;
	}
	if (site_conf(&s->conf, f, how, e) == -1 ||
	    site_take_secret(s, f, e) == -1 ||
	    site_take_certificate(s, f, e) == -1 ||
	    site_take_bearer(s, f, e) == -1 ||
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
	if (s->signers != NULL)
		jwks_free(&s->signers);
	SSL_CTX_free(s->tls);
	free(s);
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
		    jwt_judge(&s->jwt, token.at, token.len, now, subject);
		if (v != JWT_GOOD) {
			*is_guess_out = v == JWT_FORGED;
			return *is_guess_out ? "wrong token" : jwt_why(v);
		}
		snprintf(out->name, sizeof(out->name), JWT_TYPE "%s", subject);
		out->is = (struct subject_is){ .name = out->name };
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
