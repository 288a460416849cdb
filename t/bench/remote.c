/* Remote mode: handshakes, echo over many streams, output, a flood, resume. */
#include <err.h>
#include <stdio.h>

#include "t/bench/harness.h"
#include "t/bench/usage.h"

#define WARM_UP		20
#define SECONDS		1.5
#define US		1e6
#define GIB		(1024.0 * 1024 * 1024)

/* --- handshakes ------------------------------------------------------------*/

#define SHAKES		512	/* message 1s made beforehand */
#define IN_FLIGHT	16

/* Go on with one as far as it came; true when it is answered. */
static bool
shake_step(struct remote *s)
{
	if (s->is_open && s->last_id == 0)
		remote_initialize(s, NULL);
	return s->replied != 0;
}

/* From message 1 to the answer of initialize, but for what we compute. */
static double
shake_once(struct harness *h)
{
	struct remote	*s = remote_new(h);
	double		 begin = now();

	remote_greet(s);
	harness_flush(h);
	while (!shake_step(s)) {
		harness_flush(h);
		harness_turn(h);
	}
	begin = s->replied_at - begin - s->crypto;
	remote_free(&s);
	return begin;
}

/* SHAKES of them; how long they took. */
static double
shake_all(struct harness *h)
{
	struct remote	*s[SHAKES];
	size_t		 begun = 0, left = SHAKES;
	double		 begin;

	for (size_t i = 0; i < SHAKES; i++)
		s[i] = remote_new(h);
	begin = now();
	while (begun < IN_FLIGHT)
		remote_greet(s[begun++]);
	while (left > 0) {
		harness_flush(h);
		harness_turn(h);
		for (size_t i = 0; i < begun; i++) {
			if (s[i] == NULL || !shake_step(s[i]))
				continue;
			remote_free(&s[i]);
			left--;
			if (begun < SHAKES)
				remote_greet(s[begun++]);
		}
	}
	return now() - begin;
}

void
bench_remote_handshakes(const struct bench *b)
{
	struct harness	*h = harness_open(b);
	struct samples	 s;
	double		 until, seconds = 0;
	long		 count = 0;

	for (int i = 0; i < WARM_UP; i++)
		shake_once(h);
	samples_init(&s, SECONDS);
	while (samples_more(&s))
		samples_add(&s, shake_once(h));
	report(VALUE_remote_shake, samples_at(&s, 0.5) * US);
	shake_all(h);
	for (until = now() + 2 * SECONDS; now() < until; count += SHAKES)
		seconds += shake_all(h);
	report(VALUE_remote_shakes, (double)count / seconds);
	harness_close(&h);
}

/* --- echo ------------------------------------------------------------------*/

#define STREAMS		64

/* A stream with a `cat`. */
static struct remote *
open_cat(struct harness *h)
{
	struct remote	*s = remote_open(h);

	remote_wait(s, remote_start(s, true, "\"/bin/cat\""));
	return s;
}

/* A byte to each of them and back; the answers to the writes too. */
static void
echo_once(struct remote **s, size_t n, struct samples *samples)
{
	static unsigned long	 write_id;	/* of whatever session */
	double			 begin = now();
	size_t			 left;

	for (size_t i = 0; i < n; i++) {
		s[i]->outputs = 0;
		remote_call(s[i], "process/write", "{\"processId\":\"p\","
		    "\"chunk\":\"YQ==\",\"writeId\":\"%lu\"}",
		    ++write_id);
	}
	harness_flush(s[0]->h);
	do {
		harness_turn(s[0]->h);
		left = 0;
		for (size_t i = 0; i < n; i++)
			left += s[i]->outputs == 0 ||
			    s[i]->replied != s[i]->last_id;
	} while (left > 0);
	for (size_t i = 0; samples != NULL && i < n; i++)
		samples_add(samples, s[i]->output_at - begin);
}

/* Some of so many streams at a time, one after the other. */
static void
measure_echo(struct remote **s, size_t streams, size_t at_a_time,
    double seconds, struct samples *samples)
{
	size_t	 i = 0;

	for (size_t k = 0; k < WARM_UP; k++)
		for (i = 0; i < streams; i += at_a_time)
			echo_once(s + i, at_a_time, NULL);
	samples_init(samples, seconds);
	for (i = 0; samples_more(samples); i += at_a_time)
		echo_once(s + i % streams, at_a_time, samples);
}

void
bench_remote_echo(const struct bench *b)
{
	struct harness	*h = harness_open(b);
	struct remote	*s[STREAMS];
	struct samples	 samples;

	for (size_t i = 0; i < STREAMS; i++)
		s[i] = open_cat(h);
	measure_echo(s, STREAMS, 1, SECONDS, &samples);
	report(VALUE_remote_echo, samples_at(&samples, 0.5) * US);
	report(VALUE_remote_echo_p99, samples_at(&samples, 0.99) * US);
	measure_echo(s, STREAMS, STREAMS, SECONDS, &samples);
	report(VALUE_remote_echo64, samples_at(&samples, 0.5) * US);
	report(VALUE_remote_echo64_p99, samples_at(&samples, 0.99) * US);
	harness_close(&h);
}

/* --- output ----------------------------------------------------------------*/

/*
 * Records are not opened while output is measured: the other end of a stream
 * does that on a machine of its own.
 */
#define OUTPUT_BYTES	(512UL << 20)
#define CHECKED_BYTES	(16UL << 20)
#define SILENCE		0.2		/* seconds, after the last of it */
#define BASE64		0.75		/* of what comes, at most */

static void
start_blocks(struct remote *s, const struct bench *b, unsigned long bytes)
{
	remote_start(s, false, "\"%s\",\"blocks\",\"%lu\"", b->command, bytes);
	harness_flush(s->h);
}

/* Not so much that it matters, but all of it looked at. */
static void
check_output(struct harness *h, const struct bench *b)
{
	struct remote	*s = remote_open(h);

	start_blocks(s, b, CHECKED_BYTES);
	while (s->bytes < CHECKED_BYTES || !s->exited)
		harness_turn(h);
	if (s->bytes != CHECKED_BYTES)
		errx(1, "%zu of %lu bytes", s->bytes, CHECKED_BYTES);
	remote_free(&s);
}

void
bench_remote_output(const struct bench *b)
{
	struct harness	*h = harness_open(b);
	struct remote	*s;
	double		 begin, before;

	check_output(h, b);
	s = remote_open(h);
	remote_sink(s);
	before = usage_cpu(harness_pid(h));
	begin = now();
	start_blocks(s, b, OUTPUT_BYTES);
	while ((double)s->sealed * BASE64 < OUTPUT_BYTES)
		harness_turn(h);
	while (now() < s->sealed_at + SILENCE)
		harness_turns(h, SILENCE);
	report(VALUE_remote_output, OUTPUT_BYTES / 1e6 /
	    (s->sealed_at - begin));
	report(VALUE_remote_output_cpu, (usage_cpu(harness_pid(h)) - before) /
	    (OUTPUT_BYTES / GIB));
	harness_close(&h);
}

/* --- a flood beside --------------------------------------------------------*/

#define FLOOD_FIRST	(16UL << 20)	/* bytes, until it is one */
#define FLOOD_BYTES	(1UL << 40)	/* more than it will get rid of */

void
bench_remote_flood(const struct bench *b)
{
	struct harness	*h = harness_open(b);
	struct remote	*s = open_cat(h), *flood = remote_open(h);
	struct samples	 samples;
	double		 begin, quiet, beside;

	measure_echo(&s, 1, 1, SECONDS, &samples);
	quiet = samples_at(&samples, 0.99);
	remote_sink(flood);
	start_blocks(flood, b, FLOOD_BYTES);
	while (flood->sealed < FLOOD_FIRST)
		harness_turn(h);
	begin = now();
	flood->sealed = 0;
	measure_echo(&s, 1, 1, 2 * SECONDS, &samples);
	beside = samples_at(&samples, 0.99);
	report(VALUE_remote_flood, beside / quiet);
	report(VALUE_remote_flood_quiet, quiet * US);
	report(VALUE_remote_flood_p99, beside * US);
	report(VALUE_remote_flood_p50, samples_at(&samples, 0.5) * US);
	report(VALUE_remote_flood_rate, (double)flood->sealed * BASE64 / 1e6 /
	    (now() - begin));
	harness_close(&h);
}

/* --- a slow line -----------------------------------------------------------*/

#define LINE_FULL	5.0	/* seconds, until all that holds some is full */
#define LINE_SECONDS	12.0
#define LINE_PAUSE	0.25	/* between two requests of a stream */

/* Requests of a stream, one after the other. */
struct asking {
	struct remote	*s;
	double		 at;		/* when the last one was sent */
	bool		 waits;
	struct samples	 samples;
};

static void
asking_begin(struct asking *a, struct remote *s, double at)
{
	*a = (struct asking){ .s = s, .at = at - LINE_PAUSE };
	samples_init(&a->samples, LINE_FULL + LINE_SECONDS);
}

static void
asking_step(struct asking *a)
{
	if (a->waits && a->s->replied == a->s->last_id) {
		samples_add(&a->samples, a->s->replied_at - a->at);
		a->waits = false;
	}
	if (!a->waits && now() > a->at + LINE_PAUSE) {
		a->at = now();
		remote_call(a->s, "environment/status", "{}");
		harness_flush(a->s->h);
		a->waits = true;
	}
}

/* One that is not answered counts. */
static void
asking_report(struct asking *a, enum value value)
{
	if (a->waits)
		samples_add(&a->samples, now() - a->at);
	report(value, samples_at(&a->samples, 0.5) * US);
}

static void
measure_line(const struct bench *b, enum value wait, enum value beside,
    enum value rate)
{
	struct harness	*h = harness_open(b);
	struct remote	*flood = remote_open(h), *other = remote_open(h);
	struct asking	 same, another;
	double		 from, bytes;

	start_blocks(flood, b, FLOOD_BYTES);
	harness_turns(h, LINE_FULL);
	from = now();
	bytes = (double)flood->bytes;
	asking_begin(&same, flood, from);
	asking_begin(&another, other, from);
	while (now() < from + LINE_SECONDS) {
		asking_step(&same);
		asking_step(&another);
		harness_turn(h);
	}
	asking_report(&same, wait);
	asking_report(&another, beside);
	report(rate, ((double)flood->bytes - bytes) / 1e3 / (now() - from));
	harness_close(&h);
}

void
bench_remote_line1(const struct bench *b)
{
	measure_line(b, VALUE_remote_line1, VALUE_remote_line1_other,
	    VALUE_remote_line1_rate);
}

void
bench_remote_line8(const struct bench *b)
{
	measure_line(b, VALUE_remote_line8, VALUE_remote_line8_other,
	    VALUE_remote_line8_rate);
}

/* --- resume ----------------------------------------------------------------*/

/*
 * From the reset of a stream until another one has its session, but for what
 * we compute.  For a while the session may count as attached.
 */
static double
resume_once(struct remote **sp)
{
	struct harness	*h = (*sp)->h;
	struct remote	*s = remote_new(h);
	char		 session[sizeof(s->session)];
	double		 begin;

	snprintf(session, sizeof(session), "%s", (*sp)->session);
	begin = now();
	remote_free(sp);
	remote_greet(s);
	harness_flush(h);
	while (!s->is_open)
		harness_turn(h);
	do
		remote_wait(s, remote_initialize(s, session));
	while (s->refused);
	begin = s->replied_at - begin - s->crypto;
	remote_initialized(s);
	echo_once(&s, 1, NULL);
	*sp = s;
	return begin;
}

void
bench_remote_resume(const struct bench *b)
{
	struct harness	*h = harness_open(b);
	struct remote	*s = open_cat(h);
	struct samples	 samples;

	for (int i = 0; i < WARM_UP; i++)
		resume_once(&s);
	samples_init(&samples, SECONDS);
	while (samples_more(&samples))
		samples_add(&samples, resume_once(&s));
	report(VALUE_remote_resume, samples_at(&samples, 0.5) * US);
	harness_close(&h);
}
