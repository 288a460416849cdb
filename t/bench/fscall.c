#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/bench/fscall.h"
#include "t/bench/usage.h"

#define PARAMS_ROOM	16384	/* beside the data */
#define WARM_UP		4	/* a sandboxed call may take 50 ms */
#define IDS		1024	/* more than are in flight, even out of order */

size_t
base64_len(size_t n)
{
	return (n + 2) / 3 * 4;
}

/* So many bytes in base64: all zero. */
static size_t
put_zeroes(char *text, size_t data)
{
	const size_t	len = base64_len(data), pad = (3 - data % 3) % 3;

	memset(text, 'A', len);
	memset(text + len - pad, '=', pad);
	return len;
}

void
fscall_init(struct fscall *f, const struct bench *b, const char *method,
    const char *name, const char *sandbox, size_t data)
{
	const size_t	room = PARAMS_ROOM + base64_len(data);
	int		n;

	*f = (struct fscall){ .method = method,
		.most = data > 0 ? FSCALL_WRITES : SAMPLES_MAX };
	if ((f->params = malloc(room)) == NULL)
		err(1, "%zu bytes", room);
	n = snprintf(f->params, PARAMS_ROOM, "{\"path\":\"file://%s/%s\","
	    "\"sandbox\":%s", b->folder, name, sandbox ? sandbox : "null");
	if (n < 0 || n > PARAMS_ROOM - 32)
		errx(1, "%s: too long", name);
	f->len = (size_t)n;
	if (data > 0) {
		f->len += (size_t)sprintf(f->params + f->len,
		    ",\"dataBase64\":\"");
		f->len += put_zeroes(f->params + f->len, data);
		f->params[f->len++] = '"';
	}
	f->params[f->len++] = '}';
}

void
fscall_fini(struct fscall *f)
{
	free(f->params);
	f->params = NULL;
}

long
fscall_send(struct client *c, const struct fscall *f)
{
	return client_call_text(c, f->method, f->params, f->len);
}

void
fscall_check(const struct fscall *f, const struct msg *m)
{
	if (m->kind != MSG_REPLY || m->len < f->least)
		errx(1, "%s: %.*s", f->method,
		    (int)(m->len < 400 ? m->len : 400), m->text);
}

double
fscall_once(struct client *c, const struct fscall *f)
{
	struct msg	m;
	double		begin = now();

	client_wait_reply(c, fscall_send(c, f), &m);
	fscall_check(f, &m);
	return now() - begin;
}

static void
send_timed(struct client *c, const struct fscall *f, double sent[static IDS])
{
	const double	t = now();

	sent[fscall_send(c, f) % IDS] = t;
}

/* Keep so many in flight; the last of them are awaited, but are no samples. */
static void
run(struct client *c, const struct fscall *f, int flying, struct samples *s)
{
	double		 sent[IDS];
	struct msg	 m;
	int		 left = flying;

	for (int i = 0; i < flying; i++)
		send_timed(c, f, sent);
	while (left > 0) {
		client_next(c, &m);
		if (m.kind != MSG_REPLY)
			continue;
		fscall_check(f, &m);
		if (!samples_more(s)) {
			left--;
			continue;
		}
		samples_add(s, now() - sent[m.id % IDS]);
		send_timed(c, f, sent);
	}
}

struct fscost
fscall_measure(const struct bench *b, struct client *c,
    const struct fscall *f, int flying, double seconds)
{
	struct samples	s;
	struct fscost	cost;
	double		begin, cpu;

	for (int i = 0; i < WARM_UP; i++)
		fscall_once(c, f);
	cpu = usage_cpu(b->pid);
	begin = now();
	samples_init(&s, seconds);
	s.most = f->most;
	run(c, f, flying, &s);
	cost.each = (now() - begin) / (double)(s.n + (size_t)flying);
	cost.cpu = (usage_cpu(b->pid) - cpu) / (double)(s.n + (size_t)flying);
	cost.p50 = samples_at(&s, 0.5);
	return cost;
}

double
fscost_rate(const struct fscost *cost)
{
	return (double)MIB / 1e6 / cost->each;
}
