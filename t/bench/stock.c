/*
 * What the stock client asks when a session starts, t/stock/startup.txt, sent
 * in the same order: never before what it had waited for.  bench.py made the
 * files that it looks for.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "t/bench/client.h"

#define SCRIPT		"t/stock/startup.txt"
#define BASE		"@BASE@"
#define LINES_MAX	512
#define ID_MAX		256
#define WARM_UP		3
#define SECONDS		0.7
#define US		1e6
#define PAUSE		0.02	/* seconds, for what the last session left */
#define RESULTS		10	/* fewer: all failed, which is no start-up */

struct line {
	char	*text;		/* what is sent, or NULL */
	size_t	 len;
	long	 id;		/* what is waited for */
};

struct script {
	struct line	 v[LINES_MAX];
	size_t		 n;
};

/* A copy with every BASE replaced by the folder. */
static char *
expand(const char *s, const char *folder)
{
	char	*out = NULL;
	size_t	 len;
	FILE	*f;

	if ((f = open_memstream(&out, &len)) == NULL)
		err(1, "memory");
	for (const char *p; (p = strstr(s, BASE)) != NULL;
	    s = p + sizeof(BASE) - 1)
		fprintf(f, "%.*s%s", (int)(p - s), s, folder);
	fputs(s, f);
	if (fclose(f) == EOF)
		err(1, "memory");
	return out;
}

static void
script_init(struct script *s, const char *folder)
{
	char		*text = NULL;
	size_t		 room = 0;
	struct line	*l;
	FILE		*f;

	s->n = 0;
	if ((f = fopen(SCRIPT, "re")) == NULL)
		err(1, SCRIPT);
	while (getline(&text, &room, f) != -1) {
		if (s->n == LINES_MAX)
			errx(1, SCRIPT ": more than %d lines", LINES_MAX);
		text[strcspn(text, "\n")] = '\0';
		l = &s->v[s->n++];
		*l = (struct line){ 0 };
		if (text[0] == '>') {
			l->text = expand(text + 2, folder);
			l->len = strlen(l->text);
		} else
			l->id = strtol(text + 2, NULL, 10);
		if (text[0] == '<' && (l->id <= 0 || l->id >= ID_MAX))
			errx(1, SCRIPT ": id %s", text);
	}
	free(text);
	fclose(f);
}

static void
script_fini(struct script *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->v[i].text);
}

static void
send_line(struct client *c, const struct line *l)
{
	memcpy(client_room(c, l->len), l->text, l->len);
	client_send(c, l->len);
}

/* Seconds of one replay, from the first request on. */
static double
replay(const struct bench *b, int flags, const struct script *s)
{
	struct client	*c;
	struct msg	 m;
	bool		 answered[ID_MAX] = { false };
	double		 begin;
	int		 results = 0;

	nap(PAUSE);
	c = client_connect(b, flags);
	client_wait(c, MSG_UPGRADED, &m);
	begin = now();
	for (const struct line *l = s->v; l < s->v + s->n; l++) {
		if (l->text != NULL)
			send_line(c, l);
		while (l->text == NULL && !answered[l->id]) {
			client_next_any(c, &m);
			if (m.id <= 0 || m.id >= ID_MAX)
				continue;
			answered[m.id] = true;
			results += m.kind == MSG_REPLY;
		}
	}
	begin = now() - begin;
	if (results < RESULTS)
		errx(1, "only %d results", results);
	client_close(&c);
	return begin;
}

static void
measure(const struct bench *b, int flags, const struct script *script,
    enum value value)
{
	struct samples	s;

	for (int i = 0; i < WARM_UP; i++)
		replay(b, flags, script);
	samples_init(&s, SECONDS);
	while (samples_more(&s))
		samples_add(&s, replay(b, flags, script));
	report(value, samples_at(&s, 0.5) * US);
}

void
bench_stock(const struct bench *b)
{
	struct script	script;

	script_init(&script, b->folder);
	measure(b, 0, &script, VALUE_stock);
	measure(b, CLIENT_QUICKACK, &script, VALUE_stock_ack);
	script_fini(&script);
}
