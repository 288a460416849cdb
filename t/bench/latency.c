/* How long one thing takes: connect, spawn, echo, resume, a blocked request. */
#include <sys/prctl.h>
#include <sys/wait.h>

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "t/bench/client.h"

#define WARM_UP		10	/* also ends the kernel's initial quick acks */
#define SECONDS		1.5
#define US		1e6

/* Clients one after the other, with so many seconds between two. */
static void
measure_connect(const struct bench *b, double apart, enum value value)
{
	struct samples	 s;
	struct client	*c;
	struct msg	 m;
	double		 begin;

	for (int i = 0; i < 2 * WARM_UP; i++) {
		c = client_open(b, 0);
		client_close(&c);
	}
	samples_init(&s, SECONDS);
	while (samples_more(&s)) {
		if (apart > 0)
			nap(apart);
		begin = now();
		c = client_connect(b, 0);
		client_wait(c, MSG_UPGRADED, &m);
		client_wait_reply(c, client_call(c, "initialize",
		    "{\"clientName\":\"bench\"}"), &m);
		samples_add(&s, now() - begin);
		client_close(&c);
	}
	report(value, samples_at(&s, 0.5) * US);
}

void
bench_connect(const struct bench *b)
{
	measure_connect(b, 0.03, VALUE_connect_apart);
	measure_connect(b, 0, VALUE_connect);
}

/*
 * Start /bin/true; the time to `exited`.  Everything else it causes is
 * awaited too, in whatever order it comes.
 */
static double
spawn_once(struct client *c, int number)
{
	char		 id[16];
	struct msg	 m;
	double		 begin, end = 0;

	snprintf(id, sizeof(id), "p%d", number);
	begin = now();
	client_start(c, id, false, "\"/bin/true\"");
	for (int left = 3; left > 0; ) {
		client_next(c, &m);
		if (m.kind == MSG_EXITED) {
			end = now();
			if (msg_number(&m, "\"exitCode\":") != 0)
				errx(1, "/bin/true failed");
		}
		left -= m.kind == MSG_REPLY || m.kind == MSG_EXITED ||
		    m.kind == MSG_CLOSED;
	}
	return end - begin;
}

static void
measure_spawn(const struct bench *b, int flags, enum value value)
{
	struct client	*c = client_open(b, flags);
	struct samples	 s;
	int		 number = 0;

	while (number < WARM_UP)
		spawn_once(c, number++);
	samples_init(&s, SECONDS);
	while (samples_more(&s))
		samples_add(&s, spawn_once(c, number++));
	report(value, samples_at(&s, 0.5) * US);
	client_close(&c);
}

void
bench_spawn(const struct bench *b)
{
	measure_spawn(b, 0, VALUE_spawn);
}

void
bench_spawnack(const struct bench *b)
{
	measure_spawn(b, CLIENT_QUICKACK, VALUE_spawnack);
}

static void
measure_echoes(struct client *c, double seconds, struct samples *s)
{
	int	 number = 0;

	while (number < 2 * WARM_UP)
		client_echo(c, number++);
	samples_init(s, seconds);
	while (samples_more(s))
		samples_add(s, client_echo(c, number++));
	client_terminate(c, "cat");
}

static void
measure_echo(const struct bench *b, int flags, double seconds,
    struct samples *s)
{
	struct client	*c = client_open(b, flags);
	struct msg	 m;

	client_wait_reply(c, client_start(c, "cat", true, "\"/bin/cat\""), &m);
	measure_echoes(c, seconds, s);
	client_close(&c);
}

void
bench_echo(const struct bench *b)
{
	struct samples	s;

	measure_echo(b, 0, SECONDS, &s);
	report(VALUE_echo, samples_at(&s, 0.5) * US);
}

void
bench_echoack(const struct bench *b)
{
	struct samples	s;

	measure_echo(b, CLIENT_QUICKACK, SECONDS, &s);
	report(VALUE_echoack, samples_at(&s, 0.5) * US);
	report(VALUE_echoack_p99, samples_at(&s, 0.99) * US);
}

void
bench_ttyecho(const struct bench *b)
{
	struct client	*c = client_open(b, CLIENT_QUICKACK);
	struct samples	 s;
	struct msg	 m;

	client_start_terminal(c, "cat", "stty raw -echo; echo; exec cat");
	client_wait(c, MSG_OUTPUT, &m);
	measure_echoes(c, SECONDS, &s);
	report(VALUE_ttyecho, samples_at(&s, 0.5) * US);
	report(VALUE_ttyecho_p99, samples_at(&s, 0.99) * US);
	client_close(&c);
}

/* --- other work beside --- */

#define LOOPS_MAX	8

/* Processes that compute, at our priority. */
static void
loops_start(pid_t *loops, int count)
{
	for (int i = 0; i < count; i++) {
		if ((loops[i] = fork()) == -1)
			err(1, "fork");
		if (loops[i] != 0)
			continue;
		if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
			_exit(1);
		for (volatile unsigned long n = 0;; n++)
			continue;
	}
}

static void
loops_stop(const pid_t *loops, int n)
{
	for (int i = 0; i < n; i++) {
		kill(loops[i], SIGKILL);
		waitpid(loops[i], NULL, 0);
	}
}

static void
echo_beside(const struct bench *b, int n, enum value p50, enum value p99)
{
	struct samples	 s;
	pid_t		 loops[LOOPS_MAX];

	loops_start(loops, n);
	measure_echo(b, CLIENT_QUICKACK, 2 * SECONDS, &s);
	loops_stop(loops, n);
	report(p50, samples_at(&s, 0.5) * US);
	report(p99, samples_at(&s, 0.99) * US);
}

void
bench_beside(const struct bench *b)
{
	echo_beside(b, 0, VALUE_beside0, VALUE_beside0_p99);
	echo_beside(b, 2, VALUE_beside2, VALUE_beside2_p99);
	echo_beside(b, 8, VALUE_beside8, VALUE_beside8_p99);
}

void
bench_quota(const struct bench *b)
{
	echo_beside(b, 0, VALUE_quota, VALUE_quota_p99);
}

/* --- a slow line --- */

#define LINE_FULL	5.0	/* seconds, until all that holds some is full */
#define LINE_SECONDS	12.0
#define LINE_PAUSE	0.25	/* between two requests */

/* Flood, and ask from time to time; a request that is not answered counts. */
static void
measure_line(const struct bench *b, enum value wait, enum value rate)
{
	struct client	*c = client_open(b, 0);
	struct samples	 s;
	struct msg	 m;
	double		 begin = now(), from = begin + LINE_FULL, asked = 0;
	double		 until = from + LINE_SECONDS, bytes = 0;
	long		 id = 0;

	samples_init(&s, LINE_FULL + LINE_SECONDS);
	client_start(c, "flood", false, "\"%s\",\"blocks\",\"%s\"",
	    b->command, "1000000000000");
	while (now() < until) {
		if (id == 0 && now() > from && now() > asked + LINE_PAUSE) {
			asked = now();
			id = client_call(c, "environment/status", "{}");
		}
		client_next(c, &m);
		if (m.kind == MSG_OUTPUT && now() > from)
			bytes += (double)msg_bytes(&m);
		if (m.kind == MSG_REPLY && m.id == id) {
			samples_add(&s, now() - asked);
			id = 0;
		}
	}
	if (id != 0)
		samples_add(&s, now() - asked);
	report(wait, samples_at(&s, 0.5) * US);
	report(rate, bytes / 1e3 / (now() - from));
	client_close(&c);
}

void
bench_line1(const struct bench *b)
{
	measure_line(b, VALUE_line1, VALUE_line1_rate);
}

void
bench_line8(const struct bench *b)
{
	measure_line(b, VALUE_line8, VALUE_line8_rate);
}

/* Take output as fast as it comes for so long; then end its process. */
static void
flood(const struct bench *b, double seconds)
{
	struct client	*c = client_open(b, 0);
	struct msg	 m;
	double		 bytes = 0, begin = now();

	client_reserve(c, 1 << 18);
	client_start(c, "flood", false, "\"%s\",\"blocks\",\"%s\"", b->command,
	    "1000000000000");
	while (now() < begin + seconds) {
		client_next(c, &m);
		if (m.kind == MSG_OUTPUT)
			bytes += (double)msg_bytes(&m);
	}
	report(VALUE_noisy_flood, bytes / 1e6 / (now() - begin));
	client_terminate(c, "flood");
	client_close(&c);
}

/* The flood is taken by a process of its own, as another client would. */
void
bench_noisy(const struct bench *b)
{
	struct samples	s;
	pid_t		child;
	int		status;

	if ((child = fork()) == -1)
		err(1, "fork");
	if (child == 0) {
		flood(b, 0.3 + SECONDS + 0.2);
		exit(0);
	}
	nap(0.3);
	measure_echo(b, CLIENT_QUICKACK, SECONDS, &s);
	if (waitpid(child, &status, 0) == -1 || status != 0)
		errx(1, "the flood failed");
	report(VALUE_noisy_p99, samples_at(&s, 0.99) * US);
	report(VALUE_noisy_p50, samples_at(&s, 0.5) * US);
}

#define RESUME_BYTES	(900 * 1024)
#define RESUME_BATCH	8

/* Open a session, start the burst, and cut the connection before it. */
static void
resume_prepare(const struct bench *b, char session[static 128])
{
	struct client	*c = client_connect(b, 0);
	struct msg	 m;
	const char	*p;

	client_wait(c, MSG_UPGRADED, &m);
	client_wait_reply(c, client_call(c, "initialize",
	    "{\"clientName\":\"bench\"}"), &m);
	if ((p = memmem(m.text, m.len, "\"sessionId\":\"", 13)) == NULL ||
	    sscanf(p + 13, "%127[^\"]", session) != 1)
		errx(1, "no session id");
	client_initialized(c);
	client_wait_reply(c, client_start(c, "burst", false,
	    "\"%s\",\"burst\",\"%d\"", b->command, RESUME_BYTES), &m);
	client_close(&c);
}

/* initialize, again for as long as the session counts as attached. */
static void
resume_attach(struct client *c, const char *session)
{
	struct msg	m;

	do {
		client_call(c, "initialize", "{\"clientName\":\"bench\","
		    "\"resumeSessionId\":\"%s\"}", session);
		do
			client_next_any(c, &m);
		while (m.kind != MSG_REPLY && m.kind != MSG_ERROR);
		if (m.kind == MSG_ERROR && !msg_has(&m, "-32010"))
			errx(1, "resume: %.*s", (int)m.len, m.text);
	} while (m.kind == MSG_ERROR);
	client_initialized(c);
}

static double
resume_once(const struct bench *b, const char *session)
{
	double		 begin = now();
	struct client	*c = client_connect(b, 0);
	struct msg	 m;
	size_t		 bytes, sum = 0;
	long		 next = 1;

	client_wait(c, MSG_UPGRADED, &m);
	resume_attach(c, session);
	while (sum < RESUME_BYTES) {
		client_wait_reply(c, client_call(c, "process/read",
		    "{\"processId\":\"burst\",\"afterSeq\":%ld,"
		    "\"maxBytes\":null,\"waitMs\":0}", next - 1), &m);
		if ((bytes = msg_bytes(&m)) == 0)
			errx(1, "only %zu of %d bytes", sum, RESUME_BYTES);
		sum += bytes;
		next = msg_number(&m, "\"nextSeq\":");
	}
	begin = now() - begin;
	if (sum != RESUME_BYTES)
		errx(1, "%zu of %d bytes", sum, RESUME_BYTES);
	client_close(&c);
	return begin;
}

void
bench_resume(const struct bench *b)
{
	struct samples	s;
	char		sessions[RESUME_BATCH][128];

	samples_init(&s, SECONDS);
	while (samples_more(&s)) {
		for (int i = 0; i < RESUME_BATCH; i++)
			resume_prepare(b, sessions[i]);
		nap(0.5);
		for (int i = 0; i < RESUME_BATCH; i++)
			samples_add(&s, resume_once(b, sessions[i]));
	}
	report(VALUE_resume, samples_at(&s, 0.5) * US);
}

static double
longpoll_once(struct client *c)
{
	struct msg	m;
	double		begin, end = 0;
	long		poll, behind;

	poll = client_call(c, "process/read", "{\"processId\":\"sleep\","
	    "\"afterSeq\":0,\"maxBytes\":null,\"waitMs\":300}");
	begin = now();
	behind = client_call(c, "environment/status", "{}");
	for (int left = 2; left > 0; ) {
		client_next(c, &m);
		if (m.kind == MSG_REPLY && m.id == behind)
			end = now();
		left -= m.kind == MSG_REPLY &&
		    (m.id == behind || m.id == poll);
	}
	return end - begin;
}

void
bench_longpoll(const struct bench *b)
{
	struct client	*c = client_open(b, 0);
	struct samples	 s;
	struct msg	 m;

	client_wait_reply(c, client_start(c, "sleep", false,
	    "\"/bin/sleep\",\"60\""), &m);
	samples_init(&s, SECONDS);
	while (samples_more(&s))
		samples_add(&s, longpoll_once(c));
	report(VALUE_longpoll, samples_at(&s, 0.5) * US);
	client_terminate(c, "sleep");
	client_close(&c);
}
