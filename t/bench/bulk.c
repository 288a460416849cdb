/* How much passes: output of three kinds, and input. */
#include <err.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "t/bench/client.h"
#include "t/bench/usage.h"

#define GIB		(1024.0 * 1024 * 1024)
#define RECV_SIZE	(1 << 18)

#define OUTPUT_BYTES	(1024UL * 1024 * 1024)
#define LINES		2500000UL
#define SEQ_LAST	20000000UL
#define TTY_BYTES	(64UL << 20)
#define INPUT_CHUNK	65536UL
#define INPUT_CHUNKS	8192UL
#define INPUT_FLYING	8	/* writes not yet answered */

/* Take the output of a command; MB/s and the server's CPU seconds per GiB. */
static void
take_output(const struct bench *b, struct client *c, enum value rate,
    enum value cpu, unsigned long expect, double before)
{
	struct msg	 m;
	unsigned long	 bytes = 0;
	double		 begin = now(), end = 0;
	bool		 exited = false;

	while (bytes < expect || !exited) {
		client_next(c, &m);
		if (m.kind == MSG_OUTPUT && (bytes += msg_bytes(&m)) >= expect)
			end = now();
		exited = exited || m.kind == MSG_EXITED;
	}
	if (bytes != expect)
		errx(1, "%lu bytes instead of %lu", bytes, expect);
	report(rate, (double)bytes / 1e6 / (end - begin));
	report(cpu, (usage_cpu(b->pid) - before) / ((double)bytes / GIB));
}

/* Of a command that puts out so many bytes. */
static void
measure_output(const struct bench *b, enum value rate, enum value cpu,
    unsigned long expect, const char *argv)
{
	struct client	*c = client_open(b, 0);
	double		 before;

	client_reserve(c, RECV_SIZE);
	before = usage_cpu(b->pid);
	client_start(c, "p", false, "%s", argv);
	take_output(b, c, rate, cpu, expect, before);
	client_close(&c);
}

void
bench_output(const struct bench *b)
{
	char	argv[5000];

	snprintf(argv, sizeof(argv), "\"%s\",\"blocks\",\"%lu\"", b->command,
	    OUTPUT_BYTES);
	measure_output(b, VALUE_output, VALUE_output_cpu, OUTPUT_BYTES, argv);
}

void
bench_lines(const struct bench *b)
{
	char	argv[5000];

	snprintf(argv, sizeof(argv), "\"%s\",\"lines\",\"%lu\"", b->command,
	    LINES);
	measure_output(b, VALUE_lines, VALUE_lines_cpu, LINES * 40, argv);
}

void
bench_seq(const struct bench *b)
{
	unsigned long	bytes = 0, digits = 1;
	char		argv[64];

	for (unsigned long from = 1; from <= SEQ_LAST; from *= 10, digits++)
		bytes += (digits + 1) * ((from * 10 > SEQ_LAST ? SEQ_LAST + 1 :
		    from * 10) - from);
	snprintf(argv, sizeof(argv), "\"/usr/bin/seq\",\"%lu\"", SEQ_LAST);
	measure_output(b, VALUE_seq, VALUE_seq_cpu, bytes, argv);
}

/* The terminal is set before anything is counted. */
void
bench_tty(const struct bench *b)
{
	struct client	*c = client_open(b, 0);
	struct msg	 m;
	char		 script[5000];
	double		 before;

	client_reserve(c, RECV_SIZE);
	snprintf(script, sizeof(script),
	    "stty raw; echo; exec %s blocks %lu", b->command, TTY_BYTES);
	client_start_terminal(c, "p", script);
	client_wait(c, MSG_OUTPUT, &m);
	before = usage_cpu(b->pid);
	take_output(b, c, VALUE_tty, VALUE_tty_cpu, TTY_BYTES + 1 -
	    msg_bytes(&m), before);
	client_close(&c);
}

/* Send one write of a chunk of `A`, which is zeroes. */
static void
procin_write(struct client *c, unsigned long number)
{
	const size_t	 len = (INPUT_CHUNK + 2) / 3 * 4;
	char		*text = client_room(c, len + 256);
	size_t		 n;

	n = (size_t)sprintf(text, "{\"id\":%lu,\"method\":\"process/write\","
	    "\"params\":{\"processId\":\"p\",\"chunk\":\"", 1000 + number);
	memset(text + n, 'A', len);
	memset(text + n + len - (3 - INPUT_CHUNK % 3) % 3, '=',
	    (3 - INPUT_CHUNK % 3) % 3);
	n += len;
	n += (size_t)sprintf(text + n, "\",\"writeId\":\"w%lu\"}}", number);
	client_send(c, n);
}

/* The time until the process has read everything and exited. */
void
bench_input(const struct bench *b)
{
	struct client	*c = client_open(b, 0);
	struct msg	 m;
	unsigned long	 sent = 0, answered = 0;
	double		 begin, seconds, before;
	bool		 exited = false;

	client_wait_reply(c, client_start(c, "p", true,
	    "\"%s\",\"sink\",\"%lu\"", b->command, INPUT_CHUNKS * INPUT_CHUNK),
	    &m);
	before = usage_cpu(b->pid);
	begin = now();
	while (answered < INPUT_CHUNKS || !exited) {
		while (sent < INPUT_CHUNKS && sent < answered + INPUT_FLYING)
			procin_write(c, sent++);
		client_next(c, &m);
		if (m.kind == MSG_REPLY && !msg_has(&m, "\"accepted\""))
			errx(1, "write: %.*s", (int)m.len, m.text);
		answered += m.kind == MSG_REPLY;
		exited = exited || m.kind == MSG_EXITED;
	}
	seconds = now() - begin;
	report(VALUE_input, INPUT_CHUNKS * INPUT_CHUNK / 1e6 / seconds);
	report(VALUE_input_cpu, (usage_cpu(b->pid) - before) /
	    (INPUT_CHUNKS * INPUT_CHUNK / GIB));
	client_close(&c);
}
