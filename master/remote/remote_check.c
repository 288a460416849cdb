#include "master/remote/remote_check.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/log.h"
#include "common/net/target.h"

/* Check the URLs as the uplink will parse them. */
static int
check_urls(const struct conf_uplink *u, struct conf_error *e)
{
	struct target	 t;
	size_t		 row = CONF_UPLINK_url;
	char		 shown[200];

	if (target_parse(&t, u->url, "http", "https") == -1 ||
	    strchr(t.path, '?') != NULL) {
		conf_fail(e, "RegistryUrl %s: expected "
		    "https://HOST[:PORT][/PATH]", target_show(u->url, shown,
		    sizeof(shown)));
	} else if (target_append(&t, "/", u->environment, "") == -1) {
		row = CONF_UPLINK_environment;
		conf_fail(e, "EnvironmentId %.200s: not a valid name",
		    u->environment);
	} else if (u->forward[0] != '\0' &&
	    target_parse(&t, u->forward, "ws", "wss") == -1) {
		row = CONF_UPLINK_forward;
		conf_fail(e, "Forward %s: expected ws://HOST:PORT",
		    target_show(u->forward, shown, sizeof(shown)));
	} else {
		return 0;
	}
	return conf_at(e, conf_uplink_where(u, row));
}

int
remote_find_user(const struct conf *c, const struct conf_uplink *u,
    struct runas *out, struct conf_error *e)
{
	bool	 is_own = u->user[0] != '\0';
	char	 why[RUNAS_WHY];

	memset(out, 0, sizeof(*out));
	out->uid = geteuid();
	if (u->forward[0] != '\0' || runas_find(c, "RemoteUser",
	    is_own ? u->user : c->remote_user, out, why, sizeof(why)) == 0)
		return 0;
	conf_fail(e, "Uplink %.100s: %s", u->label, why);
	return conf_at(e, is_own || c->remote_user[0] == '\0' ?
	    conf_uplink_where(u, CONF_UPLINK_user) :
	    conf_where(c, CONF_ROW_remote_user, 0));
}

/* Whether both register the same environment: compare URL and path. */
static bool
is_same(const struct conf_uplink *u, const struct conf_uplink *v)
{
	struct target	 t, s;

	return strcmp(u->environment, v->environment) == 0 &&
	    target_parse(&t, u->url, "http", "https") == 0 &&
	    target_append(&t, "/", u->environment, "") == 0 &&
	    target_parse(&s, v->url, "http", "https") == 0 &&
	    target_append(&s, "/", v->environment, "") == 0 &&
	    strcasecmp(t.authority, s.authority) == 0 &&
	    strcmp(t.path, s.path) == 0;
}

/*
 * Two of one name cannot be told apart in the log; two of one environment end
 * each other's registration.
 */
static int
check_twice(const struct conf *c, const struct conf_uplink *u,
    struct conf_error *e)
{
	const struct conf_uplink	*v;

	for (v = c->uplink; v != u; v++) {
		if (strcmp(u->label, v->label) == 0)
			conf_fail(e, "Uplink %.100s: two blocks have that name",
			    u->label);
		else if (is_same(u, v))
			conf_fail(e, "Uplink %.100s: the RegistryUrl and "
			    "EnvironmentId of Uplink %.100s", u->label,
			    v->label);
		else
			continue;
		return conf_at(e, u->where);
	}
	return 0;
}

/*
 * Whether a file has a certificate in it; errno EINVAL if not.  Only the
 * uplink's libcrypto knows whether that is a good one.
 */
static bool
has_certificate(const char *path)
{
	static const char	 begin[] = "-----BEGIN ";
	char			 line[256];
	bool			 found = false;
	FILE			*f;

	if ((f = fopen(path, "re")) == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL)
		found = strncmp(line, begin, sizeof(begin) - 1) == 0 &&
		    strstr(line, "CERTIFICATE-----") != NULL;
	if (!found && !ferror(f))
		errno = EINVAL;
	fclose(f);
	return found;
}

static int
check_ca_file(const struct conf *c, const struct conf_uplink *u,
    struct conf_error *e)
{
	bool		 is_own = u->ca_file[0] != '\0';
	const char	*path = is_own ? u->ca_file : c->uplink_ca_file;

	if (path[0] == '\0' || has_certificate(path))
		return 0;
	conf_fail(e, "Uplink %.100s: UplinkCaFile %.200s: %s", u->label, path,
	    errno == EINVAL ? "no certificate in it" : strerror(errno));
	return conf_at(e, is_own ? conf_uplink_where(u, CONF_UPLINK_ca_file) :
	    conf_where(c, CONF_ROW_uplink_ca_file, 0));
}

static int
check_cred_file(const struct conf_uplink *u, struct conf_error *e)
{
	struct cred	 cred = { .source = CRED_NONE };
	char		 why[128];

	if (u->credential_file[0] == '\0')
		return 0;
	if (cred_read_file(&cred, u->credential_file, why, sizeof(why)) == 0) {
		cred_fini(&cred);
		return 0;
	}
	conf_fail(e, "Uplink %.100s: CredentialFile %.200s: %s", u->label,
	    u->credential_file, why);
	return conf_at(e, conf_uplink_where(u, CONF_UPLINK_credential_file));
}

static int
check_stdin(const struct conf_uplink *u, unsigned *from_stdin,
    struct conf_error *e)
{
	if (u->from_stdin == CONF_STDIN_NO || ++*from_stdin == 1)
		return 0;
	conf_fail(e, "CredentialStdin: two credentials on standard input");
	return conf_at(e, conf_uplink_where(u, CONF_UPLINK_from_stdin));
}

static int
check_one(const struct conf *c, const struct conf_uplink *u,
    struct conf_error *e)
{
	struct runas	 user;

	if (u->url[0] == '\0' || u->environment[0] == '\0') {
		conf_fail(e, "Uplink %.100s: RegistryUrl and EnvironmentId "
		    "are needed", u->label);
		return conf_at(e, u->where);
	}
	return check_urls(u, e) == -1 || check_twice(c, u, e) == -1 ||
	    remote_find_user(c, u, &user, e) == -1 ||
	    check_ca_file(c, u, e) == -1 || check_cred_file(u, e) == -1 ?
	    -1 : 0;
}

void
remote_warn(const struct conf *c, FILE *out)
{
	char	 shown[200];
	size_t	 i;

	for (i = 0; i < c->nuplink; i++)
		if (!cred_is_safe(c->uplink[i].url))
			fprintf(out, "execsrvd: warning: Uplink %s: "
			    "RegistryUrl %s: the credential is sent in clear "
			    "text: use https://\n", c->uplink[i].label,
			    target_show(c->uplink[i].url, shown,
			    sizeof(shown)));
}

int
remote_check(const struct conf *c, struct conf_error *e)
{
	struct conf_error	 all = { .text = "" };
	unsigned		 from_stdin = 0;
	size_t			 i;

	for (i = 0; i < c->nuplink; i++)
		if (check_one(c, &c->uplink[i], e) == -1 ||
		    check_stdin(&c->uplink[i], &from_stdin, e) == -1)
			conf_more(&all, e);
	if (all.text[0] == '\0')
		return 0;
	*e = all;
	return -1;
}

void
remote_fingerprint(const struct conf *c, const struct conf_uplink *u,
    char *out, size_t size)
{
	const char			*texts[] = { u->url, u->environment,
					    u->name, u->ca_file,
					    c->uplink_ca_file, u->forward };
	crypto_generichash_state	 state;
	uint8_t				 hash[16];
	size_t				 i;

	assert(size > 2 * sizeof(hash));
	crypto_generichash_init(&state, NULL, 0, sizeof(hash));
	for (i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		crypto_generichash_update(&state, (const uint8_t *)texts[i],
		    strlen(texts[i]) + 1);
	hash[0] = (uint8_t)u->transport;
	crypto_generichash_update(&state, hash, 1);
	crypto_generichash_final(&state, hash, sizeof(hash));
	sodium_bin2hex(out, size, hash, sizeof(hash));
}

int
remote_find_cred(const struct conf_uplink *u, const struct cred *env,
    struct cred *out)
{
	char	 why[128];

	if (u->credential_file[0] != '\0') {
		if (cred_read_file(out, u->credential_file, why,
		    sizeof(why)) == 0)
			return 0;
		log_warnx("CredentialFile %s: %s", u->credential_file, why);
		return -1;
	}
	if (env->source == CRED_NONE) {
		log_warnx("Uplink %s: no credential for the registry (see "
		    "CredentialFile)", u->label);
		return -1;
	}
	if (env->token == NULL) {
		log_warnx("the credential in the environment is not valid: a "
		    "token must not contain blanks");
		return -1;
	}
	if (env->source == CRED_API_KEY && !cred_is_safe(u->url)) {
		log_warnx("CODEX_API_KEY is sent to https:// and to this "
		    "machine only, not to %s", u->url);
		return -1;
	}
	return cred_copy(out, env);
}
