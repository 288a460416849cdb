#include <sys/wait.h>

#include <assert.h>
#include <err.h>
#include <event2/event.h>
#include <signal.h>
#include <sodium.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/noise/record.h"
#include "t/bench/broker.h"
#include "t/bench/harness.h"
#include "t/bench/program.h"

#define ID_LEN		36	/* a UUID, the number of the stream first */
#define SLOTS		65536	/* streams at a time, and their numbers */
#define ARGS_MAX	16
#define PROOF		"bench"	/* the authorization; anything will do */
#define MESSAGE_MAX	8192	/* that we send */

struct harness {
	struct event_base	*base;
	struct event		*child, *alarm;
	struct broker		*broker;
	pid_t			 pid;
	struct noise_identity	 identity;
	struct remote		*slots[SLOTS];	/* by number */
	unsigned		 last_number;
};

/* The secrets of a stream. */
struct wire {
	unsigned		 number;
	bool			 is_begun;
	bool			 is_sunk;
	char			 id[ID_LEN + 1];
	uint8_t			 hello[NOISE_REQUEST + sizeof(PROOF) - 1];
	struct noise_initiator	 noise;
	struct record_writer	 out;
	struct record_reader	 in;
};

/* The server, which ends with us, whatever the reason. */
static pid_t	started = -1;

static struct span
span(const char *text)
{
	return (struct span){ text, strlen(text) };
}

static void
send_frame(struct remote *s, enum relay_kind kind, uint32_t seq,
    const void *data, size_t len)
{
	struct relay_frame	 f = { .kind = kind };

	f.id = (struct span){ s->wire->id, ID_LEN };
	f.seq = seq;
	f.payload = data;
	f.len = len;
	broker_send(s->h->broker, &f);
}

/* --- receiving -------------------------------------------------------------*/

static void
take_session(struct remote *s, const struct msg *m)
{
	static const char	 key[] = "\"sessionId\":\"";
	const char		*p = memmem(m->text, m->len, key,
				    sizeof(key) - 1);
	const char		*end = m->text + m->len, *quote;

	if (p == NULL)
		return;
	p += sizeof(key) - 1;
	quote = memchr(p, '"', (size_t)(end - p));
	if (quote == NULL || (size_t)(quote - p) >= sizeof(s->session))
		errx(1, "no session id");
	snprintf(s->session, sizeof(s->session), "%.*s", (int)(quote - p), p);
}

static void
take_reply(struct remote *s, const struct msg *m)
{
	s->refused = m->kind == MSG_ERROR;
	if (s->refused && !msg_has(m, "-32010"))
		errx(1, "server: %.*s", (int)(m->len < 400 ? m->len : 400),
		    m->text);
	s->replied = m->id;
	s->replied_at = now();
	if (s->session[0] == '\0')
		take_session(s, m);
}

static void
take_message(struct remote *s, const struct msg *m)
{
	switch (m->kind) {
	case MSG_REPLY:
	case MSG_ERROR:
		take_reply(s, m);
		break;
	case MSG_OUTPUT:
		s->outputs++;
		s->bytes += msg_bytes(m);
		s->output_at = now();
		break;
	case MSG_EXITED:
		s->exited = true;
		break;
	case MSG_CLOSED:
		s->closed = true;
		break;
	case MSG_UPGRADED:
	case MSG_OTHER:
		break;
	}
}

static void
take_record(struct remote *s, const struct relay_frame *f)
{
	struct record_reader	*in = &s->wire->in;
	struct msg		 m;
	uint8_t			*data;

	s->sealed += f->len;
	s->sealed_at = now();
	if (s->wire->is_sunk)
		return;
	if (!s->is_open || record_put(in, f->seq, f->payload, f->len) == -1)
		err(1, "record %u", f->seq);
	while (record_first(in, &data, &m.len)) {
		m.text = (const char *)data;
		msg_classify(&m);
		take_message(s, &m);
		record_drop(in);
	}
}

static void
take_hello(struct remote *s, const struct relay_frame *f)
{
	struct noise_keys	 keys;
	struct wire		*w = s->wire;
	uint8_t			 none[1];
	double			 begin = now();

	if (noise_take_response(&w->noise, &s->h->identity, f->payload, f->len,
	    none, 0, &keys) == -1 ||
	    record_writer_init(&w->out, keys.send) == -1 ||
	    record_reader_init(&w->in, keys.receive) == -1)
		err(1, "message 2");
	s->is_open = true;
	s->crypto = now() - begin;
}

/* What comes for a stream that is over is nobody's. */
static void
on_frame(const struct relay_frame *f, void *arg)
{
	struct harness	*h = arg;
	struct remote	*s;
	unsigned	 number;
	char		 text[9] = "";

	if (f->id.len != ID_LEN)
		errx(1, "unknown stream: %.*s", (int)f->id.len, f->id.at);
	memcpy(text, f->id.at, sizeof(text) - 1);
	number = (unsigned)strtoul(text, NULL, 16);
	s = h->slots[number % SLOTS];
	if (s == NULL || s->wire->number != number)
		return;
	switch (f->kind) {
	case RELAY_DATA:
		take_record(s, f);
		break;
	case RELAY_HANDSHAKE:
		take_hello(s, f);
		break;
	case RELAY_RESET:
		errx(1, "the server reset a stream");
	default:
		break;
	}
}

/* --- streams ---------------------------------------------------------------*/

static void
make_hello(struct remote *s)
{
	struct wire		*w = s->wire;
	struct noise_random	 random;
	struct noise_name	 name = {
		.environment = span(BROKER_ENVIRONMENT),
		.registration = span(BROKER_REGISTRATION),
		.stream = span(w->id)
	};

	noise_random_fill(&random);
	if (noise_request(&w->noise, &s->h->identity,
	    broker_executor(s->h->broker), &name, &random, PROOF,
	    sizeof(PROOF) - 1, w->hello) == -1)
		err(1, "message 1");
}

struct remote *
remote_new(struct harness *h)
{
	struct remote	*s;

	if ((s = calloc(1, sizeof(*s))) == NULL ||
	    (s->wire = calloc(1, sizeof(*s->wire))) == NULL)
		err(1, "stream");
	s->h = h;
	s->wire->number = ++h->last_number;
	snprintf(s->wire->id, sizeof(s->wire->id),
	    "%08x-0000-4000-8000-000000000000", s->wire->number);
	if (h->slots[s->wire->number % SLOTS] != NULL)
		errx(1, "more than %d streams", SLOTS);
	h->slots[s->wire->number % SLOTS] = s;
	make_hello(s);
	return s;
}

void
remote_free(struct remote **sp)
{
	struct remote	*s = *sp;

	if (s == NULL)
		return;
	if (s->wire->is_begun)
		send_frame(s, RELAY_RESET, 0, RELAY_REASON,
		    sizeof(RELAY_REASON) - 1);
	s->h->slots[s->wire->number % SLOTS] = NULL;
	if (s->is_open) {
		record_writer_fini(&s->wire->out);
		record_reader_fini(&s->wire->in);
	}
	free(s->wire);
	free(s);
	*sp = NULL;
}

void
remote_greet(struct remote *s)
{
	s->wire->is_begun = true;
	send_frame(s, RELAY_HANDSHAKE, 0, s->wire->hello,
	    sizeof(s->wire->hello));
}

void
remote_sink(struct remote *s)
{
	s->wire->is_sunk = true;
}

static void
send_text(struct remote *s, const char *text, size_t len)
{
	static uint8_t		 sealed[RECORD_SEALED_MAX];
	struct record_cutter	 c;
	uint32_t		 seq;
	int			 n;

	assert(len < MESSAGE_MAX && s->is_open);
	if (record_cut(&c, text, len) == -1)
		err(1, "%zu bytes", len);
	while ((n = record_seal(&s->wire->out, &c, sealed, &seq)) > 0)
		send_frame(s, RELAY_DATA, seq, sealed, (size_t)n);
	if (n == -1)
		err(1, "record");
}

long
remote_call(struct remote *s, const char *method, const char *params, ...)
{
	char	 text[MESSAGE_MAX];
	va_list	 ap;
	int	 n;

	n = snprintf(text, sizeof(text), "{\"id\":%ld,\"method\":\"%s\","
	    "\"params\":", ++s->last_id, method);
	va_start(ap, params);
	n += vsnprintf(text + n, sizeof(text) - (size_t)n, params, ap);
	va_end(ap);
	assert((size_t)n + 1 < sizeof(text));
	text[n++] = '}';
	send_text(s, text, (size_t)n);
	return s->last_id;
}

void
remote_initialized(struct remote *s)
{
	static const char	 text[] =
	    "{\"method\":\"initialized\",\"params\":{}}";

	send_text(s, text, sizeof(text) - 1);
}

long
remote_initialize(struct remote *s, const char *resume)
{
	if (resume == NULL)
		return remote_call(s, "initialize",
		    "{\"clientName\":\"bench\"}");
	return remote_call(s, "initialize", "{\"clientName\":\"bench\","
	    "\"resumeSessionId\":\"%s\"}", resume);
}

void
remote_wait(struct remote *s, long id)
{
	harness_flush(s->h);
	while (s->replied != id)
		harness_turn(s->h);
}

struct remote *
remote_open(struct harness *h)
{
	struct remote	*s = remote_new(h);

	remote_greet(s);
	harness_flush(h);
	while (!s->is_open)
		harness_turn(h);
	remote_wait(s, remote_initialize(s, NULL));
	remote_initialized(s);
	return s;
}

long
remote_start(struct remote *s, bool pipe_stdin, const char *argv, ...)
{
	char	 text[MESSAGE_MAX / 2];
	va_list	 ap;

	va_start(ap, argv);
	vsnprintf(text, sizeof(text), argv, ap);
	va_end(ap);
	return remote_call(s, "process/start", "{\"processId\":\"p\","
	    "\"argv\":[%s],\"cwd\":\"file:///tmp\",\"env\":{},\"tty\":false,"
	    "\"pipeStdin\":%s,\"arg0\":null}", text,
	    pipe_stdin ? "true" : "false");
}

/* --- the server ------------------------------------------------------------*/

static void
stop_started(void)
{
	if (started != -1)
		program_stop(started);
	started = -1;
}

static void
on_child(int signo, short what, void *arg)
{
	(void)signo;
	(void)what;
	(void)arg;
	if (started == -1 || waitpid(started, NULL, WNOHANG) != started)
		return;
	started = -1;
	errx(1, "the server ended");
}

/* Not by its default, which would leave the server behind. */
static void
on_alarm(int signo, short what, void *arg)
{
	(void)signo;
	(void)what;
	(void)arg;
	errx(1, "no answer");
}

static void
start_server(struct harness *h, char **program)
{
	char	*argv[ARGS_MAX + 5];
	char	 url[64];
	int	 n = 0;

	for (; program[n] != NULL; n++) {
		if (n == ARGS_MAX)
			errx(2, "more than %d arguments", ARGS_MAX);
		argv[n] = program[n];
	}
	snprintf(url, sizeof(url), "http://127.0.0.1:%u",
	    broker_port(h->broker));
	argv[n++] = (char []){ "--remote" };
	argv[n++] = url;
	argv[n++] = (char []){ "--environment-id" };
	argv[n++] = (char []){ BROKER_ENVIRONMENT };
	argv[n] = NULL;
	if (setenv("CODEX_API_KEY", "bench", 1) == -1 ||
	    setenv("NO_PROXY", "127.0.0.1", 1) == -1 ||
	    setenv("no_proxy", "127.0.0.1", 1) == -1)
		err(1, "setenv");
	h->pid = started = program_start(argv, NULL);
}

struct harness *
harness_open(const struct bench *b)
{
	struct harness	*h;
	uint8_t		 dh[NOISE_DH], seed[MLKEM_SEED_LEN];

	if (sodium_init() == -1 || (h = calloc(1, sizeof(*h))) == NULL ||
	    (h->base = event_base_new()) == NULL)
		errx(1, "harness");
	randombytes_buf(dh, sizeof(dh));
	randombytes_buf(seed, sizeof(seed));
	if (noise_identity_make(&h->identity, dh, seed) == -1)
		err(1, "identity");
	h->broker = broker_open(h->base, on_frame, h);
	atexit(stop_started);
	h->child = evsignal_new(h->base, SIGCHLD, on_child, NULL);
	h->alarm = evsignal_new(h->base, SIGALRM, on_alarm, NULL);
	if (h->child == NULL || event_add(h->child, NULL) == -1 ||
	    h->alarm == NULL || event_add(h->alarm, NULL) == -1)
		errx(1, "events");
	start_server(h, b->argv);
	while (broker_executor(h->broker) == NULL)
		harness_turn(h);
	return h;
}

void
harness_close(struct harness **hp)
{
	struct harness	*h = *hp;

	if (h == NULL)
		return;
	stop_started();
	for (size_t i = 0; i < SLOTS; i++)
		remote_free(&h->slots[i]);
	broker_close(&h->broker);
	event_free(h->child);
	event_free(h->alarm);
	event_base_free(h->base);
	free(h);
	*hp = NULL;
}

pid_t
harness_pid(const struct harness *h)
{
	return h->pid;
}

void
harness_turn(struct harness *h)
{
	if (event_base_loop(h->base, EVLOOP_ONCE) != 0)
		errx(1, "event loop");
}

void
harness_turns(struct harness *h, double seconds)
{
	struct timeval	 tv = { (time_t)seconds,
				(suseconds_t)(seconds * 1e6) % 1000000 };

	if (event_base_loopexit(h->base, &tv) == -1 ||
	    event_base_loop(h->base, 0) != 0)
		errx(1, "event loop");
}

void
harness_flush(struct harness *h)
{
	broker_flush(h->broker);
}
