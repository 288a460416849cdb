#include "common/dial/registry_answer.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "common/json/b64.h"
#include "common/json/json.h"
#include "common/json/utf8.h"

/* The text of a member, or 0. */
static uint32_t
find_text(const struct json *j, const char *key)
{
	uint32_t	 i = json_find(j, 0, key);

	return i != 0 && json_tok(j, i)->type == JSON_STRING ? i : 0;
}

/* Copy the text at token i; false: too long, or with a NUL in it. */
static bool
answer_take_text(const struct json *j, uint32_t i, char *out, size_t size)
{
	size_t	 len = json_tok(j, i)->len;

	if (len >= size || memchr(json_text(j, i), '\0', len) != NULL)
		return false;
	memcpy(out, json_text(j, i), len);
	out[len] = '\0';
	return true;
}

static int
answer_parse(struct json *j, char *text, size_t len)
{
	json_init(j);
	if (!utf8_is_valid(text, len)) {
		errno = EINVAL;
		return -1;
	}
	if (json_parse(j, text, len) == -1) {
		if (errno == E2BIG)
			errno = EINVAL;
		return -1;
	}
	return 0;
}

static int
answer_check(struct answer_registration *a, const struct json *j,
    enum answer_kind kind, const char *environment)
{
	uint32_t	 name, url, profile, id;

	name = find_text(j, kind == ANSWER_PLAIN ? "executor_id" :
	    "environment_id");
	url = find_text(j, "url");
	profile = find_text(j, "security_profile");
	id = find_text(j, "executor_registration_id");
	errno = EINVAL;
	if (name == 0 || url == 0)
		return -1;
	if (kind == ANSWER_NOISE && (profile == 0 || id == 0 ||
	    !answer_take_text(j, id, a->id, sizeof(a->id))))
		return -1;
	/* Left empty it cannot be used either. */
	a->is_long = !answer_take_text(j, url, a->url, sizeof(a->url)) &&
	    json_tok(j, url)->len >= sizeof(a->url);
	errno = EBADMSG;
	return json_is_text(j, name, environment) &&
	    (kind != ANSWER_NOISE ||
	    json_is_text(j, profile, ANSWER_PROFILE)) ? 0 : -1;
}

int
answer_registration(struct answer_registration *a, char *text, size_t len,
    enum answer_kind kind, const char *environment)
{
	struct json	 j;
	int		 r = -1, why;

	memset(a, 0, sizeof(*a));
	if (answer_parse(&j, text, len) == 0)
		r = answer_check(a, &j, kind, environment);
	why = errno;
	json_fini(&j);
	errno = why;
	return r;
}

/* The base64 of exactly len bytes. */
static bool
take_key(const struct json *j, uint32_t object, const char *name,
    uint8_t *out, size_t len)
{
	uint8_t		 room[B64_DECODED_MAX(B64_ENCODED_LEN(
			    MLKEM_PUBLIC_LEN))];
	uint32_t	 i = json_find(j, object, name);

	if (i == 0 || json_tok(j, i)->type != JSON_STRING ||
	    json_tok(j, i)->len != B64_ENCODED_LEN(len) ||
	    b64_decode(room, json_text(j, i), json_tok(j, i)->len) !=
	    (ssize_t)len)
		return false;
	memcpy(out, room, len);
	return true;
}

static bool
take_connection(struct answer_connection *a, const struct json *j)
{
	uint32_t	 key = json_find(j, 0, "executor_public_key"), suite;
	uint32_t	 authorization = find_text(j,
			    "harness_key_authorization");

	if (key == 0 || json_tok(j, key)->type != JSON_OBJECT ||
	    authorization == 0)
		return false;
	suite = json_find(j, key, "suite");
	return suite != 0 && json_is_text(j, suite, NOISE_SUITE) &&
	    take_key(j, key, "x25519_public_key", a->executor.dh, NOISE_DH) &&
	    take_key(j, key, "mlkem768_public_key", a->executor.kem,
	    MLKEM_PUBLIC_LEN) &&
	    answer_take_text(j, authorization, a->authorization,
	    sizeof(a->authorization)) && a->authorization[0] != '\0';
}

int
answer_connection(struct answer_connection *a, char *text, size_t len,
    const char *environment)
{
	struct json	 j;
	int		 r = -1, why;

	memset(a, 0, sizeof(*a));
	if (answer_parse(&j, text, len) == 0 &&
	    (r = answer_check(&a->of, &j, ANSWER_NOISE, environment)) == 0 &&
	    !take_connection(a, &j)) {
		errno = EINVAL;
		r = -1;
	}
	why = errno;
	json_fini(&j);
	errno = why;
	return r;
}

bool
answer_is_valid(char *text, size_t len)
{
	struct json	 j;
	uint32_t	 i;
	bool		 yes;

	yes = answer_parse(&j, text, len) == 0 &&
	    (i = json_find(&j, 0, "valid")) != 0 &&
	    json_tok(&j, i)->type == JSON_TRUE;
	json_fini(&j);
	return yes;
}

bool
answer_error_code(char *text, size_t len, char *out, size_t size)
{
	struct json	 j;
	uint32_t	 i;
	size_t		 n = 0, k;
	const char	*s;

	if (answer_parse(&j, text, len) == 0 &&
	    (i = json_find(&j, 0, "error")) != 0 &&
	    (i = json_find(&j, i, "code")) != 0 &&
	    json_tok(&j, i)->type == JSON_STRING) {
		s = json_text(&j, i);
		for (k = 0; k < json_tok(&j, i)->len && n + 1 < size; k++)
			if (isalnum((unsigned char)s[k]) || s[k] == '_' ||
			    s[k] == '-')
				out[n++] = s[k];
	}
	out[n] = '\0';
	json_fini(&j);
	return n > 0;
}
