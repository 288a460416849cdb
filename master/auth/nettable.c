#include "master/auth/nettable.h"

#include <stdbool.h>
#include <string.h>

#define WORD	8	/* digits of the 32 bits in which addresses come */

struct cursor {
	const char	*at, *end;
};

static int
digit_of(char c)
{
	return c >= '0' && c <= '9' ? c - '0' :
	    c >= 'A' && c <= 'F' ? c - 'A' + 10 : 16;
}

/* Digits, from min to max of them; what is behind them stays. */
static bool
nettable_take_number(struct cursor *c, unsigned base, unsigned min,
    unsigned max, uint64_t *out)
{
	unsigned	 n;

	*out = 0;
	for (n = 0; n < max && c->at < c->end && (unsigned)digit_of(*c->at) <
	    base; n++)
		*out = *out * base + (unsigned)digit_of(*c->at++);
	return n >= min;
}

static bool
nettable_take(struct cursor *c, char wanted)
{
	if (c->at == c->end || *c->at != wanted)
		return false;
	c->at++;
	return true;
}

static void
nettable_skip_blanks(struct cursor *c)
{
	while (nettable_take(c, ' '))
		continue;
}

/* Words of an address are numbers of this machine, in whose memory they are in
 * the order of the network. */
static bool
take_end(struct cursor *c, struct nettable_end *out)
{
	uint32_t	 words[4];
	uint64_t	 n;
	size_t		 i;

	for (i = 0; i < 4 && (i == 0 || c->at == c->end || *c->at != ':');
	    i++) {
		if (!nettable_take_number(c, 16, WORD, WORD, &n))
			return false;
		words[i] = (uint32_t)n;
	}
	if (i == 1) {
		memset(&out->address, 0, sizeof(out->address));
		memset(&out->address.s6_addr[10], 0xff, 2);
		memcpy(&out->address.s6_addr[12], words, sizeof(words[0]));
	} else if (i == 4) {
		memcpy(&out->address, words, sizeof(words));
	} else {
		return false;
	}
	if (!nettable_take(c, ':') || !nettable_take_number(c, 16, 4, 4, &n))
		return false;
	out->port = (uint16_t)n;
	return true;
}

/* "00000000:00000000": two numbers that are of no interest. */
static bool
take_pair(struct cursor *c, unsigned first)
{
	uint64_t	 n;

	return nettable_take_number(c, 16, first, first, &n) &&
	    nettable_take(c, ':') && nettable_take_number(c, 16, WORD, 2 * WORD,
	    &n) && nettable_take(c, ' ');
}

/*
 * "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000
 * 1000        0 12345 1 0000000000000000 100 0 0 10 0"
 */
int
nettable_parse(const char *line, size_t len, struct nettable_row *out)
{
	struct cursor	 c = { line, line + len };
	uint64_t	 n, state, uid;

	nettable_skip_blanks(&c);
	if (!nettable_take_number(&c, 10, 1, 10, &n) ||
	    !nettable_take(&c, ':') || !nettable_take(&c, ' ') ||
	    !take_end(&c, &out->local) || !nettable_take(&c, ' ') ||
	    !take_end(&c, &out->remote) || !nettable_take(&c, ' ') ||
	    !nettable_take_number(&c, 16, 2, 2, &state) ||
	    !nettable_take(&c, ' ') || !take_pair(&c, WORD) ||
	    !take_pair(&c, 2) || !nettable_take_number(&c, 16, WORD, WORD,
	    &n) || !nettable_take(&c, ' '))
		return -1;
	nettable_skip_blanks(&c);
	if (!nettable_take_number(&c, 10, 1, 10, &uid) || uid > UINT32_MAX ||
	    !nettable_take(&c, ' '))
		return -1;
	nettable_skip_blanks(&c);
	if (!nettable_take_number(&c, 10, 1, 10, &n) ||
	    !nettable_take(&c, ' ') || !nettable_take_number(&c, 10, 1, 19,
	    &out->inode) || (c.at < c.end && *c.at != ' '))
		return -1;
	out->state = (unsigned)state;
	out->uid = (uid_t)uid;
	return 0;
}
