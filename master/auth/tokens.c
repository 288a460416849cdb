#include "master/auth/tokens.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/limit.h"
#include "common/secret.h"
#include "master/auth/jwt.h"
#include "master/auth/tokenline.h"

#define FILE_MAX	(1024 * 1024)	/* bytes of a TokenFile */
#define SECRET_MAX	4096		/* and of a file with one secret */
#define ROOM_MIN	16		/* tokens */
#define LONE_NAME	"capability"	/* of the TokenSecretFile's */

struct token {
	uint8_t		 hash[TOKEN_HASH_LEN];
	char		 name[TOKEN_NAME_MAX + 1];
	struct runas	 user;
};

struct tokens {
	struct token	*list;		/* locked */
	size_t		 n, room;
	char		*secret;	/* locked; NULL: none is signed so */
	struct jwks	*keys;		/* the same */
	char		*issuer, *audience;
	struct jwt_rules rules;
	struct runas	 user;		/* of those that are signed */
};

/* The set being made. */
struct maker {
	struct tokens		*t;
	const struct conf	*conf;
	const char		*where;		/* the setting was read */
	struct conf_error	*e;
};

static int
tokens_refuse(const struct maker *k, const char *setting, const char *text)
{
	conf_fail(k->e, "%s: %s", setting, text);
	return conf_at(k->e, k->where);
}

/* --- a list in locked memory --- */

static int
tokens_grow(struct tokens *t)
{
	size_t		 room = t->room == 0 ? ROOM_MIN : 2 * t->room;
	struct token	*list;

	assert(t->n == t->room);
	if ((list = sodium_allocarray(room, sizeof(*list))) == NULL)
		return -1;
	if (t->n > 0)
		memcpy(list, t->list, t->n * sizeof(*list));
	if (t->list != NULL)
		sodium_free(t->list);
	t->list = list;
	t->room = room;
	return 0;
}

/*
 * A name may have several tokens, so that one can be replaced while its
 * sessions go on, all of the same user.
 */
static int
tokens_add(const struct maker *k, const char *setting,
    const struct tokenline *line)
{
	struct tokens	*t = k->t;
	struct token	*new;
	char		 what[128], reason[RUNAS_WHY];
	size_t		 i;

	if (t->n >= LIMIT_TOKENS)
		return tokens_refuse(k, setting, "too many tokens");
	if (t->n == t->room && tokens_grow(t) == -1)
		return tokens_refuse(k, setting, strerror(errno));
	assert(t->n < t->room);
	new = &t->list[t->n];
	memset(new, 0, sizeof(*new));
	memcpy(new->hash, line->hash, sizeof(new->hash));
	memcpy(new->name, line->name, sizeof(new->name));
	snprintf(what, sizeof(what), line->user[0] != '\0' ?
	    "user= of token %s" : "user= of token %s, or TokenUser",
	    line->name);
	if (runas_find(k->conf, what, line->user[0] != '\0' ? line->user :
	    k->conf->token_user, &new->user, reason, sizeof(reason)) == -1)
		return tokens_refuse(k, setting, reason);
	for (i = 0; i < t->n; i++)
		if (strcmp(t->list[i].name, new->name) == 0 &&
		    t->list[i].user.uid != new->user.uid)
			return tokens_refuse(k, setting,
			    "a name of another user's "
			    "token");
	t->n++;
	return 0;
}

static int
add_line(const struct maker *k, const char *setting, const char *text,
    size_t len)
{
	struct tokenline	 line;
	const char		*wrong = tokenline_parse(text, len, &line);
	int			 r;

	r = wrong != NULL ? tokens_refuse(k, setting, wrong) :
	    tokens_add(k, setting, &line);
	sodium_memzero(&line, sizeof(line));
	return r;
}

/* --- where they come from --- */

static int
add_listed(struct maker *k)
{
	const struct conf_list	*l = &k->conf->token;
	size_t			 i;

	for (i = 0; i < l->n; i++) {
		k->where = conf_where(k->conf, CONF_ROW_token, i);
		if (add_line(k, "Token", l->item[i], strlen(l->item[i])) ==
		    -1)
			return -1;
	}
	return 0;
}

static char *
tokens_read_file(const struct maker *k, const char *keyword, const char *path,
    size_t max, size_t *len_out)
{
	char	 reason[128], *text;

	if ((text = secret_read_file(path, max, len_out, reason,
	    sizeof(reason))) == NULL) {
		conf_fail(k->e, "%s %.300s: %s", keyword, path, reason);
		conf_at(k->e, k->where);
	}
	return text;
}

/* Add lines like values of Token; skip empty ones and comments. */
static int
add_file(struct maker *k)
{
	const char	*path = k->conf->token_file, *end, *line, *stop;
	char		*text, setting[400];
	size_t		 len;
	unsigned	 number = 0;
	int		 r = 0;

	k->where = conf_where(k->conf, CONF_ROW_token_file, 0);
	if ((text = tokens_read_file(k, "TokenFile", path, FILE_MAX, &len)) ==
	    NULL)
		return -1;
	for (line = text; r == 0 && line < text + len; line = end + 1) {
		if ((end = memchr(line, '\n', (size_t)(text + len - line))) ==
		    NULL)
			end = text + len;
		number++;
		stop = end > line && end[-1] == '\r' ? end - 1 : end;
		if (stop == line || *line == '#')
			continue;
		snprintf(setting, sizeof(setting), "TokenFile %.300s: line "
		    "%u", path, number);
		r = add_line(k, setting, line, (size_t)(stop - line));
	}
	sodium_free(text);
	return r;
}

/* Read a file and trim white space, as the reference does. */
static char *
read_trimmed(const struct maker *k, const char *keyword, const char *path,
    size_t *len_out)
{
	static const char	 white[] = " \t\r\n\v\f";
	char			*text;
	size_t			 skip;

	if ((text = tokens_read_file(k, keyword, path, SECRET_MAX, len_out)) ==
	    NULL)
		return NULL;
	while (*len_out > 0 && memchr(white, text[*len_out - 1],
	    sizeof(white) - 1) != NULL)
		text[--*len_out] = '\0';
	skip = strspn(text, white);
	*len_out -= skip;
	memmove(text, text + skip, *len_out + 1);
	return text;
}

/* A file with one token in the clear. */
static int
add_lone(struct maker *k)
{
	const char		*path = k->conf->token_secret_file;
	struct tokenline	 line;
	char			*text;
	size_t			 len;
	int			 r = -1;

	k->where = conf_where(k->conf, CONF_ROW_token_secret_file, 0);
	if ((text = read_trimmed(k, "TokenSecretFile", path, &len)) == NULL)
		return -1;
	memset(&line, 0, sizeof(line));
	strcpy(line.name, LONE_NAME);
	crypto_hash_sha256(line.hash, (const uint8_t *)text, len);
	if (len == 0)
		tokens_refuse(k, "TokenSecretFile", "it is empty");
	else
		r = tokens_add(k, "TokenSecretFile", &line);
	sodium_memzero(&line, sizeof(line));
	sodium_free(text);
	return r;
}

static int
copy_text(const char *text, char **out)
{
	return text[0] == '\0' || (*out = strdup(text)) != NULL ? 0 : -1;
}

static int
add_secret(struct maker *k)
{
	struct tokens	*t = k->t;
	size_t		 len;

	assert(t->secret == NULL);
	if ((t->secret = read_trimmed(k, "BearerSecretFile",
	    k->conf->bearer_secret_file, &len)) == NULL)
		return -1;
	if (len < JWT_SECRET_MIN)
		return tokens_refuse(k, "BearerSecretFile",
		    "it needs at least 32 bytes");
	t->rules.secret = (const uint8_t *)t->secret;
	t->rules.secret_len = len;
	return 0;
}

static int
add_keys(struct maker *k)
{
	char	 reason[128], *text;
	size_t	 len;

	k->where = conf_where(k->conf, CONF_ROW_bearer_keys_file, 0);
	if ((text = tokens_read_file(k, "BearerKeysFile",
	    k->conf->bearer_keys_file, JWKS_MAX, &len)) == NULL)
		return -1;
	k->t->keys = jwks_new(text, len, reason, sizeof(reason));
	sodium_free(text);
	k->t->rules.keys = k->t->keys;
	return k->t->keys != NULL ? 0 :
	    tokens_refuse(k, "BearerKeysFile", reason);
}

/* Those that are signed. */
static int
add_signed(struct maker *k)
{
	const struct conf	*c = k->conf;
	struct tokens		*t = k->t;
	bool			 has_secret = c->bearer_secret_file[0] != '\0';
	char			 reason[RUNAS_WHY];

	k->where = conf_where(c, has_secret ? CONF_ROW_bearer_secret_file :
	    CONF_ROW_bearer_keys_file, 0);
	if (runas_find(c, "TokenUser", c->token_user, &t->user, reason,
	    sizeof(reason)) == -1)
		return tokens_refuse(k, has_secret ? "BearerSecretFile" :
		    "BearerKeysFile", reason);
	if ((has_secret && add_secret(k) == -1) ||
	    (c->bearer_keys_file[0] != '\0' && add_keys(k) == -1))
		return -1;
	if (copy_text(c->bearer_issuer, &t->issuer) == -1 ||
	    copy_text(c->bearer_audience, &t->audience) == -1)
		return tokens_refuse(k, "tokens", strerror(errno));
	t->rules.issuer = t->issuer;
	t->rules.audience = t->audience;
	t->rules.skew = c->bearer_skew / 1000;
	t->rules.needs_subject = c->require_subject != 0;
	return 0;
}

/* Whether any are signed. */
static bool
wants_signed(const struct conf *c)
{
	return c->bearer_secret_file[0] != '\0' ||
	    c->bearer_keys_file[0] != '\0';
}

/* Check settings that need others. */
static int
check_needs(struct maker *k)
{
	const struct conf	*c = k->conf;
	bool			 has_issuer = c->bearer_issuer[0] != '\0';

	k->where = conf_where(c, has_issuer ? CONF_ROW_bearer_issuer :
	    CONF_ROW_bearer_audience, 0);
	if (!wants_signed(c) && (has_issuer || c->bearer_audience[0] != '\0'))
		return tokens_refuse(k, "BearerIssuer and BearerAudience",
		    "they need BearerSecretFile or BearerKeysFile");
	/* Who has such a key signs for others, too. */
	k->where = conf_where(c, CONF_ROW_bearer_keys_file, 0);
	if (c->bearer_keys_file[0] != '\0' && c->bearer_audience[0] == '\0')
		return tokens_refuse(k, "BearerKeysFile",
		    "it needs BearerAudience");
	k->where = conf_where(c, CONF_ROW_require_token, 0);
	if (c->require_token == CONF_TOKEN_ALWAYS && !tokens_wanted(c))
		return tokens_refuse(k, "RequireToken always",
		    "there is no token: "
		    "see Token, TokenFile, BearerSecretFile and "
		    "BearerKeysFile");
	k->where = "";
	return 0;
}

static int
tokens_fill(struct maker *k)
{
	const struct conf	*c = k->conf;
	bool			 has_file = c->token_file[0] != '\0';
	bool			 has_lone = c->token_secret_file[0] != '\0';

	assert(k->t->list == NULL && k->t->n == 0);
	if (check_needs(k) == -1 || add_listed(k) == -1 ||
	    (has_file && add_file(k) == -1) ||
	    (has_lone && add_lone(k) == -1) ||
	    (wants_signed(c) && add_signed(k) == -1))
		return -1;
	/* The set is complete: write-protect it. */
	if ((k->t->list != NULL && sodium_mprotect_readonly(k->t->list) ==
	    -1) || (k->t->secret != NULL &&
	    sodium_mprotect_readonly(k->t->secret) == -1))
		return tokens_refuse(k, "tokens", strerror(errno));
	return 0;
}

struct tokens *
tokens_load(const struct conf *c, struct conf_error *e)
{
	struct maker	 k = { NULL, c, "", e };

	if ((k.t = calloc(1, sizeof(*k.t))) == NULL) {
		tokens_refuse(&k, "tokens", strerror(errno));
		return NULL;
	}
	if (tokens_fill(&k) == -1)
		tokens_free(&k.t);
	return k.t;
}

void
tokens_free(struct tokens **tp)
{
	struct tokens	*t = *tp;

	*tp = NULL;
	if (t == NULL)
		return;
	if (t->list != NULL)
		sodium_free(t->list);
	if (t->secret != NULL)
		sodium_free(t->secret);
	if (t->keys != NULL)
		jwks_free(&t->keys);
	free(t->issuer);
	free(t->audience);
	free(t);
}

void
tokens_wipe(struct conf *c)
{
	size_t	 i;

	for (i = 0; i < c->token.n; i++)
		sodium_memzero(c->token.item[i], strlen(c->token.item[i]));
}

/* --- use --- */

bool
tokens_wanted(const struct conf *c)
{
	return c->token.n > 0 || c->token_file[0] != '\0' ||
	    c->token_secret_file[0] != '\0' || wants_signed(c);
}

bool
tokens_any(const struct tokens *t)
{
	return t != NULL && (t->n > 0 || t->secret != NULL ||
	    t->keys != NULL);
}

/* Compare all, so that the time does not tell which. */
static const struct token *
tokens_find(const struct tokens *t, const void *shown, size_t len)
{
	const struct token	*found = NULL;
	uint8_t			 hash[TOKEN_HASH_LEN];
	size_t			 i;

	crypto_hash_sha256(hash, shown, len);
	for (i = 0; i < t->n; i++)
		if (sodium_memcmp(hash, t->list[i].hash, sizeof(hash)) == 0)
			found = &t->list[i];
	sodium_memzero(hash, sizeof(hash));
	return found;
}

const char *
tokens_judge(const struct tokens *t, const void *shown, size_t len,
    uint64_t now, struct grant *out, bool *is_guess_out)
{
	const struct token	*found = tokens_find(t, shown, len);
	char			 subject[JWT_SUBJECT_MAX + 1];
	enum jwt_verdict	 v;

	memset(out, 0, sizeof(*out));
	*is_guess_out = false;
	if (found != NULL) {
		snprintf(out->identity, sizeof(out->identity), "token:%s",
		    found->name);
		out->user = found->user;
		return NULL;
	}
	v = t->secret == NULL && t->keys == NULL ? JWT_FORGED :
	    jwt_judge(&t->rules, shown, len, now, subject);
	if (v == JWT_GOOD) {
		snprintf(out->identity, sizeof(out->identity), "jwt:%s",
		    subject);
		out->user = t->user;
		return NULL;
	}
	*is_guess_out = v == JWT_FORGED;
	return *is_guess_out ? "wrong token" : jwt_why(v);
}
