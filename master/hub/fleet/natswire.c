#include "master/hub/fleet/natswire.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX	6

int
natswire_is_subject(struct span text)
{
	size_t	 i;
	char	 before = '.';

	for (i = 0; i < text.len; i++) {
		if (text.at[i] <= ' ' || text.at[i] > '~' ||
		    text.at[i] == '*' || text.at[i] == '>' ||
		    (text.at[i] == '.' && before == '.'))
			return 0;
		before = text.at[i];
	}
	return text.len > 0 && text.len <= NATSWIRE_SUBJECT_MAX &&
	    before != '.';
}

/*
 * Why this and not libnats, which would do it: of version 3.4.1 a subscription
 * takes 456 bytes (100,000 of them, measured), as much as all else of an idle
 * executor, where a server needs no more of us than the name; by its source it
 * starts threads for a connection, and others to reconnect, which the filter of
 * a hub's worker and its RLIMIT_NPROC do not allow; and it copies secrets into
 * memory that is neither locked nor wiped.
 */

/* --- reading --- */

/* Cut a line up at blanks.  The number of words, or -1: too many. */
static int
natswire_words(struct span line, struct span word[WORDS_MAX])
{
	int	 n = 0;
	size_t	 i = 0, begin;

	for (;;) {
		while (i < line.len && (line.at[i] == ' ' ||
		    line.at[i] == '\t'))
			i++;
		if (i == line.len)
			return n;
		if (n == WORDS_MAX)
			return -1;
		begin = i;
		while (i < line.len && line.at[i] != ' ' &&
		    line.at[i] != '\t')
			i++;
		word[n++] = (struct span){ line.at + begin, i - begin };
	}
}

/* -1: no number, or more than a message may have. */
static long
natswire_number(struct span s)
{
	long	 n = 0;
	size_t	 i;

	if (s.len == 0 || s.len > 7)
		return -1;
	for (i = 0; i < s.len; i++) {
		if (!isdigit((unsigned char)s.at[i]))
			return -1;
		n = n * 10 + (s.at[i] - '0');
	}
	return n <= NATSWIRE_DATA_MAX ? n : -1;
}

/* The status of "NATS/1.0 503 ..." CR LF, 0 if there is none; -1: no head. */
static int
natswire_status(struct span head)
{
	static const char	 version[] = "NATS/1.0";
	struct span		 line, word[WORDS_MAX];
	long			 n;
	size_t			 i;

	if (head.len < 4 || memcmp(head.at + head.len - 4, "\r\n\r\n", 4) != 0)
		return -1;
	for (i = 0; head.at[i] != '\r'; i++)
		;
	line = (struct span){ head.at, i };
	if (!span_begins(line, version))
		return -1;
	if (i == strlen(version))
		return 0;
	line.at += strlen(version);
	line.len -= strlen(version);
	/* Words behind the number describe it. */
	while (line.len > 0 && line.at[0] == ' ') {
		line.at++;
		line.len--;
	}
	for (i = 0; i < line.len && line.at[i] != ' '; i++)
		;
	word[0] = (struct span){ line.at, i };
	n = natswire_number(word[0]);
	return n >= 100 && n <= 999 ? (int)n : -1;
}

/* MSG subject sid [reply] bytes, HMSG subject sid [reply] head bytes. */
static size_t
natswire_message(struct span line, struct span rest, int has_head,
    struct natswire *out)
{
	struct span	 word[WORDS_MAX];
	int		 n = natswire_words(line, word), numbers = 1 + has_head;
	long		 total, head = 0;

	out->op = NATSWIRE_BAD;
	if (n != 3 + numbers && n != 4 + numbers)
		return 0;
	total = natswire_number(word[n - 1]);
	if (has_head)
		head = natswire_number(word[n - 2]);
	if (total == -1 || head == -1 || head > total ||
	    !natswire_is_subject(word[1]))
		return 0;
	out->subject = word[1];
	if (n == 4 + numbers) {
		if (!natswire_is_subject(word[3]))
			return 0;
		out->reply = word[3];
	}
	if (rest.len < (size_t)total + 2) {
		out->op = NATSWIRE_PART;
		return 0;
	}
	if (memcmp(rest.at + total, "\r\n", 2) != 0)
		return 0;
	if (has_head && (out->status = natswire_status((struct span){ rest.at,
	    (size_t)head })) == -1)
		return 0;
	out->data = (struct span){ rest.at + head, (size_t)(total - head) };
	out->op = NATSWIRE_MSG;
	return line.len + 2 + (size_t)total + 2;
}

static enum natswire_op
natswire_simple(struct span line, struct natswire *out)
{
	static const struct {
		const char		*text;
		enum natswire_op	 op;
	}		 whole[] = {
		{ "PING", NATSWIRE_PING }, { "PONG", NATSWIRE_PONG },
		{ "+OK", NATSWIRE_OK }
	}, with_data[] = {
		{ "INFO ", NATSWIRE_INFO }, { "-ERR ", NATSWIRE_ERR }
	};
	size_t		 i, n;

	for (i = 0; i < sizeof(whole) / sizeof(whole[0]); i++)
		if (span_is(line, whole[i].text))
			return whole[i].op;
	for (i = 0; i < sizeof(with_data) / sizeof(with_data[0]); i++) {
		n = strlen(with_data[i].text);
		if (!span_begins(line, with_data[i].text))
			continue;
		out->data = span_trim((struct span){ line.at + n,
		    line.len - n });
		return with_data[i].op;
	}
	return NATSWIRE_BAD;
}

size_t
natswire_read(const char *text, size_t len, struct natswire *out)
{
	struct span	 rest = { text, len }, line;
	const char	*end;
	size_t		 most;

	memset(out, 0, sizeof(*out));
	most = len > 0 && text[0] == 'I' ? NATSWIRE_INFO_MAX :
	    NATSWIRE_LINE_MAX;
	if (len == 0 || (end = memchr(text, '\n', len < most ? len : most)) ==
	    NULL) {
		out->op = len < most ? NATSWIRE_PART : NATSWIRE_BAD;
		return 0;
	}
	if (end == text || end[-1] != '\r') {
		out->op = NATSWIRE_BAD;
		return 0;
	}
	line = (struct span){ text, (size_t)(end - text) - 1 };
	rest.at += line.len + 2;
	rest.len -= line.len + 2;
	if (span_begins(line, "MSG ") || span_begins(line, "HMSG "))
		return natswire_message(line, rest, line.at[0] == 'H', out);
	out->op = natswire_simple(line, out);
	return out->op == NATSWIRE_BAD ? 0 : line.len + 2;
}

/* --- writing --- */

int
natswire_sub(struct buf *b, const char *subject, const char *sid)
{
	char	 text[2 * NATSWIRE_SUBJECT_MAX + 8];
	int	 n;

	n = snprintf(text, sizeof(text), "SUB %s %s\r\n", subject, sid);
	assert(n > 0 && (size_t)n < sizeof(text));
	return buf_put(b, text, (size_t)n);
}

int
natswire_unsub(struct buf *b, const char *sid)
{
	char	 text[NATSWIRE_SUBJECT_MAX + 16];
	int	 n = snprintf(text, sizeof(text), "UNSUB %s\r\n", sid);

	assert(n > 0 && (size_t)n < sizeof(text));
	return buf_put(b, text, (size_t)n);
}

int
natswire_pub(struct buf *b, const char *subject, const char *reply,
    const void *data, size_t len)
{
	char	 text[2 * NATSWIRE_SUBJECT_MAX + 32];
	int	 n = snprintf(text, sizeof(text), "PUB %s %s%s%zu\r\n", subject,
		    reply != NULL ? reply : "", reply != NULL ? " " : "", len);

	assert(n > 0 && (size_t)n < sizeof(text));
	return buf_put(b, text, (size_t)n) == -1 ||
	    buf_put(b, data, len) == -1 || buf_put(b, "\r\n", 2) == -1 ? -1 :
	    0;
}
