#include "master/hub/fleet/fleetmsg.h"

#include <assert.h>
#include <string.h>

#define VERSION		1
#define HEAD_LEN	(2 + 8 + TICKET_NONCE_LEN + FLEETMSG_ID_LEN)

static const struct span	 nothing = { NULL, 0 };

/* --- bytes --- */

static void
fleetmsg_number(uint64_t n, uint8_t out[8])
{
	int	 i;

	for (i = 0; i < 8; i++)
		out[i] = (uint8_t)(n >> (56 - 8 * i));
}

static int
fleetmsg_put_text(struct buf *b, const char *text)
{
	size_t	 n = strlen(text);
	uint8_t	 len = (uint8_t)n;

	assert(n <= UINT8_MAX);
	return buf_put(b, &len, 1) == -1 ? -1 : buf_put(b, text, n);
}

/* Take len bytes off the front.  -1: there are fewer. */
static int
fleetmsg_get(struct span *s, void *out, size_t len)
{
	if (s->len < len)
		return -1;
	memcpy(out, s->at, len);
	s->at += len;
	s->len -= len;
	return 0;
}

static int
fleetmsg_get_number(struct span *s, uint64_t *out)
{
	uint8_t	 b[8];
	int	 i;

	if (fleetmsg_get(s, b, sizeof(b)) == -1)
		return -1;
	for (*out = 0, i = 0; i < 8; i++)
		*out = *out << 8 | b[i];
	return 0;
}

/* A text without control characters, of at most max bytes. */
static int
fleetmsg_get_text(struct span *s, char *out, size_t max)
{
	uint8_t	 len;
	size_t	 i;

	if (fleetmsg_get(s, &len, 1) == -1 || len > max ||
	    fleetmsg_get(s, out, len) == -1)
		return -1;
	out[len] = '\0';
	for (i = 0; i < len; i++)
		if ((unsigned char)out[i] < ' ' || out[i] == 0x7f)
			return -1;
	return 0;
}

/*
 *	1, 1	version, kind
 *	8	made, ms since 1970
 *	8	nonce of the question
 *	8	id of the hub that sends it
 *	1, n	environment that it is about, or nothing
 *	...	body, of its kind
 *	32	HMAC-SHA-256
 */

/* --- messages --- */

int
fleetmsg_write(const struct ticket_keys *k, const struct fleetmsg *m,
    struct buf *out)
{
	const uint8_t	 first[2] = { VERSION, (uint8_t)m->kind };
	uint8_t		 made[8], mac[TICKET_MAC_LEN];
	size_t		 begin = out->len;

	fleetmsg_number(m->made, made);
	if (buf_put(out, first, sizeof(first)) == -1 ||
	    buf_put(out, made, sizeof(made)) == -1 ||
	    buf_put(out, m->nonce, sizeof(m->nonce)) == -1 ||
	    buf_put(out, m->from, sizeof(m->from)) == -1 ||
	    fleetmsg_put_text(out, m->environment) == -1 ||
	    (m->body.len > 0 && buf_put(out, m->body.at, m->body.len) == -1))
		return -1;
	ticket_sign(k, TICKET_FLEET, (struct span){
	    (const char *)buf_data(out) + begin, out->len - begin }, nothing,
	    mac);
	return buf_put(out, mac, sizeof(mac));
}

/* Nothing is parsed before its signature is verified. */
int
fleetmsg_read(const struct ticket_keys *k, struct span text,
    struct fleetmsg *out)
{
	uint8_t	 first[2];

	memset(out, 0, sizeof(*out));
	if (text.len < HEAD_LEN + 1 + TICKET_MAC_LEN)
		return -1;
	text.len -= TICKET_MAC_LEN;
	if (!ticket_is_signed(k, TICKET_FLEET, text, nothing,
	    (const uint8_t *)text.at + text.len) ||
	    fleetmsg_get(&text, first, sizeof(first)) == -1 ||
	    first[0] != VERSION || first[1] == 0 ||
	    first[1] >= FLEETMSG_KINDS ||
	    fleetmsg_get_number(&text, &out->made) == -1 ||
	    fleetmsg_get(&text, out->nonce, sizeof(out->nonce)) == -1 ||
	    fleetmsg_get(&text, out->from, sizeof(out->from)) == -1 ||
	    fleetmsg_get_text(&text, out->environment, ENVIRONMENT_MAX) == -1)
		return -1;
	out->kind = (enum fleetmsg_kind)first[1];
	out->body = text;
	return out->environment[0] == '\0' || environment_is_valid(
	    (struct span){ out->environment, strlen(out->environment) }) ? 0 :
	    -1;
}

bool
fleetmsg_is_timely(const struct fleetmsg *m, uint64_t now, uint64_t skew)
{
	return m->made <= now + skew && now <= m->made + skew;
}

/* --- bodies --- */

int
fleetmsg_put_place(struct buf *b, const struct engine_place *p)
{
	const uint8_t	 flags = p->is_proxied;

	return buf_put(b, &flags, 1) == -1 ||
	    buf_put(b, p->registration, sizeof(p->registration)) == -1 ||
	    fleetmsg_put_text(b, p->hub_url) == -1 ||
	    fleetmsg_put_text(b, p->internal_url) == -1 ||
	    fleetmsg_put_text(b, p->labels) == -1 ||
	    fleetmsg_put_text(b, p->subject) == -1 ||
	    buf_put(b, &p->key, sizeof(p->key)) == -1 ? -1 : 0;
}

int
fleetmsg_get_place(struct span body, struct fleetmsg_texts *t,
    struct engine_place *out)
{
	uint8_t	 flags;

	memset(out, 0, sizeof(*out));
	if (fleetmsg_get(&body, &flags, 1) == -1 || flags > 1 ||
	    fleetmsg_get(&body, out->registration,
	    sizeof(out->registration)) == -1 ||
	    fleetmsg_get_text(&body, t->hub_url, ENGINE_URL_MAX) == -1 ||
	    fleetmsg_get_text(&body, t->internal_url, ENGINE_URL_MAX) == -1 ||
	    fleetmsg_get_text(&body, t->labels, TICKET_LABELS_MAX) == -1 ||
	    fleetmsg_get_text(&body, t->subject, TICKET_SUBJECT_MAX) == -1 ||
	    fleetmsg_get(&body, &out->key, sizeof(out->key)) == -1 ||
	    body.len > 0 || (t->hub_url[0] != '\0' &&
	    strncmp(t->hub_url, "http://", 7) != 0 &&
	    strncmp(t->hub_url, "https://", 8) != 0))
		return -1;
	out->is_proxied = flags == 1;
	out->hub_url = t->hub_url;
	out->internal_url = t->internal_url;
	out->labels = t->labels;
	out->subject = t->subject;
	return 0;
}

int
fleetmsg_put_claim(struct buf *b, const struct engine_claim *c)
{
	const uint8_t	 flags = c->is_again;
	uint8_t		 since[8];

	fleetmsg_number(c->since, since);
	return buf_put(b, &flags, 1) == -1 ||
	    buf_put(b, c->registration, sizeof(c->registration)) == -1 ||
	    buf_put(b, c->key_hash, sizeof(c->key_hash)) == -1 ||
	    buf_put(b, since, sizeof(since)) == -1 ? -1 : 0;
}

int
fleetmsg_get_claim(struct span body, struct engine_claim *out)
{
	uint8_t	 flags;

	memset(out, 0, sizeof(*out));
	if (fleetmsg_get(&body, &flags, 1) == -1 || flags > 1 ||
	    fleetmsg_get(&body, out->registration,
	    sizeof(out->registration)) == -1 ||
	    fleetmsg_get(&body, out->key_hash, sizeof(out->key_hash)) == -1 ||
	    fleetmsg_get_number(&body, &out->since) == -1 || body.len > 0)
		return -1;
	out->is_again = flags == 1;
	return 0;
}
