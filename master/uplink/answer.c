#include "master/uplink/answer.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "common/json.h"
#include "common/utf8.h"

/* The text of a member, copied; false: missing, no text, or too long. */
static bool
take_text(const struct json *j, const char *key, char *out, size_t size)
{
	uint32_t	 i = json_find(j, 0, key);
	size_t		 len;

	if (i == 0 || json_tok(j, i)->type != JSON_STRING ||
	    (len = json_tok(j, i)->len) >= size ||
	    memchr(json_text(j, i), '\0', len) != NULL)
		return false;
	memcpy(out, json_text(j, i), len);
	out[len] = '\0';
	return true;
}

static int
parse(struct json *j, char *text, size_t len)
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
check(struct answer_registration *a, const struct json *j,
    enum answer_kind kind, const char *environment)
{
	const char	*name = kind == ANSWER_PLAIN ? "executor_id" :
			    "environment_id";
	uint32_t	 i;

	errno = EINVAL;
	if ((i = json_find(j, 0, name)) == 0 ||
	    json_tok(j, i)->type != JSON_STRING ||
	    !take_text(j, "url", a->url, sizeof(a->url)))
		return -1;
	errno = EBADMSG;
	if (!json_is_text(j, i, environment))
		return -1;
	if (kind != ANSWER_NOISE)
		return 0;
	if ((i = json_find(j, 0, "security_profile")) == 0 ||
	    !json_is_text(j, i, ANSWER_PROFILE))
		return -1;
	errno = EINVAL;
	return take_text(j, "executor_registration_id", a->id,
	    sizeof(a->id)) ? 0 : -1;
}

int
answer_registration(struct answer_registration *a, char *text, size_t len,
    enum answer_kind kind, const char *environment)
{
	struct json	 j;
	int		 r = -1, why;

	memset(a, 0, sizeof(*a));
	if (parse(&j, text, len) == 0)
		r = check(a, &j, kind, environment);
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

	yes = parse(&j, text, len) == 0 &&
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

	if (parse(&j, text, len) == 0 &&
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
