#include "master/auth/tokenline.h"

#include <ctype.h>
#include <sodium.h>
#include <stdbool.h>
#include <string.h>

#include "common/span.h"

#define ALGORITHM	"sha256:"
#define USER		"user="

/* The next word between blanks; its length is 0 when there is none. */
static struct span
next_word(struct span *s)
{
	struct span	 word;

	*s = span_trim(*s);
	word.at = s->at;
	for (word.len = 0; word.len < s->len; word.len++)
		if (s->at[word.len] == ' ' || s->at[word.len] == '\t')
			break;
	s->at += word.len;
	s->len -= word.len;
	return word;
}

/* What may stand in a log line, in a Match block and in a file's name. */
static bool
tokenline_is_name(struct span s)
{
	size_t	 i;

	for (i = 0; i < s.len; i++)
		if (!isalnum((unsigned char)s.at[i]) &&
		    (s.at[i] == '\0' || strchr("._-", s.at[i]) == NULL))
			return false;
	return s.len > 0 && s.len <= TOKEN_NAME_MAX;
}

static struct span
behind(struct span s, size_t n)
{
	s.at += n;
	s.len -= n;
	return s;
}

static bool
read_hash(struct span hex, uint8_t hash[TOKEN_HASH_LEN])
{
	size_t	 n;

	return hex.len == 2 * TOKEN_HASH_LEN && sodium_hex2bin(hash,
	    TOKEN_HASH_LEN, hex.at, hex.len, NULL, &n, NULL) == 0 &&
	    n == TOKEN_HASH_LEN;
}

const char *
tokenline_parse(const char *text, size_t len, struct tokenline *t)
{
	struct span	 rest = { text, len }, word;

	memset(t, 0, sizeof(*t));
	word = next_word(&rest);
	if (!tokenline_is_name(word))
		return "a name of up to 32 letters, digits, \".\", \"_\" or "
		    "\"-\" comes first";
	memcpy(t->name, word.at, word.len);
	word = next_word(&rest);
	if (!span_begins(word, ALGORITHM) ||
	    !read_hash(behind(word, strlen(ALGORITHM)), t->hash))
		return "after the name comes sha256: with 64 hexadecimal "
		    "digits";
	word = next_word(&rest);
	if (word.len == 0)
		return NULL;
	if (!span_begins(word, USER))
		return "expected user= after the hash";
	word = behind(word, strlen(USER));
	if (!span_is_visible(word) || word.len > TOKEN_USER_MAX)
		return "no user after user=";
	memcpy(t->user, word.at, word.len);
	return next_word(&rest).len == 0 ? NULL :
	    "expected nothing after name, hash and user";
}
