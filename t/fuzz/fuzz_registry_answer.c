/*
 * common/dial/registry_answer.c on any bytes: nothing that is cut off counts,
 * nothing that is for another environment, and what comes out is short and
 * clean.
 */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/dial/registry_answer.h"
#include "t/unit/json_help.h"

#define MUST(x)	do { if (!(x)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int
registration(struct answer_registration *a, const char *text, size_t len,
    enum answer_kind kind, const char *environment)
{
	char	*copy = json_copy(text, len);
	int	 r;

	memset(a, 0xa5, sizeof(*a));
	errno = 0;
	r = answer_registration(a, copy, len, kind, environment);
	MUST(r == 0 || errno == EINVAL || errno == EBADMSG);
	MUST(memchr(a->url, '\0', sizeof(a->url)) != NULL);
	MUST(memchr(a->id, '\0', sizeof(a->id)) != NULL);
	MUST(r == -1 || kind == ANSWER_NOISE || a->id[0] == '\0');
	free(copy);
	return r;
}

static bool
is_valid(const char *text, size_t len)
{
	char	*copy = json_copy(text, len);
	bool	 yes = answer_is_valid(copy, len);

	free(copy);
	return yes;
}

/* It ends with "}": without that it is nothing. */
static size_t
cut(const char *text, size_t len)
{
	while (len > 0 && text[len - 1] != '}')
		len--;
	MUST(len > 0);
	return len - 1;
}

static void
check_registration(const char *text, size_t len)
{
	static const enum answer_kind	 kinds[] = {
		ANSWER_NOISE, ANSWER_CLEAR, ANSWER_PLAIN
	};
	struct answer_registration	 a, b;
	size_t				 i;

	for (i = 0; i < 3; i++) {
		if (registration(&a, text, len, kinds[i], "env") == -1)
			continue;
		MUST(registration(&b, text, len, kinds[i], "en") == -1);
		MUST(errno == EBADMSG);
		MUST(registration(&b, text, cut(text, len), kinds[i],
		    "env") == -1);
		MUST(errno == EINVAL);
		MUST(!is_valid(text, cut(text, len)));
	}
	/* What is enough for us is enough for older ones. */
	if (registration(&a, text, len, ANSWER_NOISE, "env") == 0) {
		MUST(registration(&b, text, len, ANSWER_CLEAR, "env") == 0);
		MUST(strcmp(a.url, b.url) == 0);
	}
}

static void
check_code(const char *text, size_t len)
{
	char	 whole[64], part[8], *copy = json_copy(text, len);
	bool	 yes = answer_error_code(copy, len, whole, sizeof(whole));
	size_t	 i;

	free(copy);
	MUST(memchr(whole, '\0', sizeof(whole)) != NULL);
	MUST(yes == (whole[0] != '\0'));
	for (i = 0; whole[i] != '\0'; i++)
		MUST(isalnum((unsigned char)whole[i]) || whole[i] == '_' ||
		    whole[i] == '-');
	copy = json_copy(text, len);
	MUST(answer_error_code(copy, len, part, sizeof(part)) == yes);
	free(copy);
	MUST(strncmp(part, whole, sizeof(part) - 1) == 0);
}

/* What lets a harness in is a registration, too, and whole. */
static void
check_connection(const char *text, size_t len)
{
	static struct answer_connection	 c;
	struct answer_registration	 a;
	char				*copy = json_copy(text, len);
	int				 r;

	errno = 0;
	r = answer_connection(&c, copy, len, "env");
	free(copy);
	MUST(r == 0 || errno == EINVAL || errno == EBADMSG);
	MUST(memchr(c.authorization, '\0', sizeof(c.authorization)) != NULL);
	if (r == -1)
		return;
	MUST(c.authorization[0] != '\0');
	MUST(registration(&a, text, len, ANSWER_NOISE, "env") == 0);
	MUST(strcmp(a.id, c.of.id) == 0 && strcmp(a.url, c.of.url) == 0);
	copy = json_copy(text, cut(text, len));
	MUST(answer_connection(&c, copy, cut(text, len), "env") == -1);
	free(copy);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char	*text = (const char *)data;

	check_registration(text, size);
	check_connection(text, size);
	if (is_valid(text, size)) {
		MUST(!is_valid(text, cut(text, size)));
		MUST(memchr(text, '{', size) != NULL);
	}
	check_code(text, size);
	return 0;
}
