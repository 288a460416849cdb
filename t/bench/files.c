/* Files without a sandbox: single calls, and how much passes. */
#include <err.h>
#include <stdarg.h>
#include <stdio.h>

#include "t/bench/fscall.h"
#include "t/bench/usage.h"

#define SECONDS		0.4
#define US		1e6
#define FLYING		8
#define STREAM_BLOCKS	256	/* of 1 MiB; bench.py made the file */
#define ENTRY		12	/* bytes of a listed file, at least */

/* For the largest answer, so that the buffer need not grow meanwhile. */
static struct client *
open_large(const struct bench *b)
{
	struct client	*c = client_open(b, 0);

	client_reserve(c, base64_len(MIB) + 64 * KIB);
	return c;
}

/* One at a time, and 8 at a time. */
static void
measure_small(const struct bench *b, struct client *c, const struct fscall *f,
    const enum value values[static 3])
{
	struct fscost	cost = fscall_measure(b, c, f, 1, SECONDS);

	report(values[0], cost.p50 * US);
	cost = fscall_measure(b, c, f, FLYING, SECONDS);
	report(values[1], cost.p50 * US);
	report(values[2], cost.cpu * US);
}

void
bench_files(const struct bench *b)
{
	struct client	*c = client_open(b, 0);
	struct fscall	 f;

	client_reserve(c, 256 * KIB);
	fscall_init(&f, b, "fs/getMetadata", "small", NULL, 0);
	measure_small(b, c, &f, (const enum value[]){
	    VALUE_meta, VALUE_meta8, VALUE_meta8_cpu });
	fscall_fini(&f);
	fscall_init(&f, b, "fs/readFile", "small", NULL, 0);
	f.least = base64_len(4 * KIB);
	measure_small(b, c, &f, (const enum value[]){
	    VALUE_read, VALUE_read8, VALUE_read8_cpu });
	fscall_fini(&f);
	client_close(&c);
}

static void
report_bulk(const struct fscost *cost, enum value rate, enum value cpu)
{
	report(rate, fscost_rate(cost));
	report(cpu, cost->cpu / ((double)MIB / GIB));
}

/* The whole file by blocks, so many asked for at a time. */
static void
measure_stream(const struct bench *b, struct client *c, unsigned long at_a_time,
    enum value rate, enum value cpu)
{
	struct fscost	 cost;
	struct msg	 m;
	unsigned long	 asked = 0, got = 0;
	double		 begin, before = usage_cpu(b->pid);

	begin = now();
	client_wait_reply(c, client_call(c, "fs/open", "{\"handleId\":\"h\","
	    "\"path\":\"file://%s/huge\",\"mode\":\"read\"}", b->folder), &m);
	while (got < STREAM_BLOCKS) {
		for (; asked < STREAM_BLOCKS && asked - got < at_a_time;
		    asked++)
			client_call(c, "fs/readBlock", "{\"handleId\":\"h\","
			    "\"offset\":%lu,\"len\":%lu}", asked * MIB, MIB);
		client_next(c, &m);
		if (m.kind == MSG_REPLY && m.len < base64_len(MIB))
			errx(1, "a block: %.*s", (int)m.len, m.text);
		got += m.kind == MSG_REPLY;
	}
	cost.each = (now() - begin) / STREAM_BLOCKS;
	cost.cpu = (usage_cpu(b->pid) - before) / STREAM_BLOCKS;
	report_bulk(&cost, rate, cpu);
	client_wait_reply(c, client_call(c, "fs/close",
	    "{\"handleId\":\"h\"}"), &m);
}

void
bench_filebulk(const struct bench *b)
{
	struct client	*c = open_large(b);
	struct fscost	 cost;
	struct fscall	 f;

	fscall_init(&f, b, "fs/readFile", "large", NULL, 0);
	f.least = base64_len(MIB);
	cost = fscall_measure(b, c, &f, 1, SECONDS);
	report_bulk(&cost, VALUE_read1m, VALUE_read1m_cpu);
	fscall_fini(&f);
	measure_stream(b, c, 1, VALUE_stream, VALUE_stream_cpu);
	measure_stream(b, c, FLYING, VALUE_stream8, VALUE_stream8_cpu);
	client_close(&c);
}

void
bench_filewrite(const struct bench *b)
{
	struct client	*c = open_large(b);
	struct fscost	 cost;
	struct fscall	 f;

	fscall_init(&f, b, "fs/writeFile", "written", NULL, 4 * KIB);
	cost = fscall_measure(b, c, &f, 1, SECONDS);
	report(VALUE_write, cost.p50 * US);
	fscall_fini(&f);
	fscall_init(&f, b, "fs/writeFile", "written", NULL, MIB);
	cost = fscall_measure(b, c, &f, 1, SECONDS);
	report(VALUE_write1m, fscost_rate(&cost));
	fscall_fini(&f);
	fscall_init(&f, b, "fs/readDirectory", "thousand", NULL, 0);
	f.least = 1000 * ENTRY;
	cost = fscall_measure(b, c, &f, 1, SECONDS);
	report(VALUE_list, cost.p50 * US);
	report(VALUE_list_cpu, cost.cpu * US);
	fscall_fini(&f);
	client_close(&c);
}
