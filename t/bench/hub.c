/*
 * A hub between two processes of ours, one for each side.  They know how long
 * what comes is, and parse none of it; what they send was made beforehand.
 */
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <err.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ssl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/net/ws.h"
#include "common/noise/relay.h"
#include "t/bench/hubside.h"
#include "t/bench/program.h"
#include "t/bench/usage.h"

#define STREAM		"00000000-0000-4000-8000-000000000000"
#define ECHO_BYTES	150		/* of payload */
#define BULK_BYTES	61456		/* a record of an executor */
#define FLOOD_BYTES	(1UL << 30)
#define WARM_UP		50
#define SECONDS		1.5
#define US		1e6
#define MIB		(1024.0 * 1024)
#define GIB		(1024 * MIB)
#define READ_ROOM	(256 * 1024)
#define IDLE		10000
#define IDLE_TLS	1000
#define BACK_SECONDS	60
#define AT_ONCE		500		/* that come back */

/* A frame as it goes to the hub, masked, and as it comes from there. */
struct message {
	uint8_t	*sent, *come;
	size_t	 nsent, ncome;
};

static void
message_make(struct message *m, enum relay_kind kind, size_t len)
{
	static const uint8_t	 mask[4] = { 0x12, 0x34, 0x56, 0x78 };
	struct relay_frame	 f = { .kind = kind };
	uint8_t			*payload = calloc(1, len + 1);
	size_t			 room = len + RELAY_ROOM + WS_HEADER_MAX, n;
	ssize_t			 body;

	m->sent = malloc(room);
	m->come = malloc(room);
	if (payload == NULL || m->sent == NULL || m->come == NULL)
		err(1, "message");
	f.id = (struct span){ STREAM, sizeof(STREAM) - 1 };
	f.payload = payload;
	f.len = len;
	if ((body = relay_encode(&f, m->come, room)) == -1)
		err(1, "frame");
	n = ws_header(m->sent, true, WS_BINARY, (uint64_t)body, mask);
	memcpy(m->sent + n, m->come, (size_t)body);
	ws_mask(m->sent + n, (size_t)body, mask);
	m->nsent = n + (size_t)body;
	m->ncome = ws_header_len((uint64_t)body) + (size_t)body;
	free(payload);
}

static void
message_free(struct message *m)
{
	free(m->sent);
	free(m->come);
}

/* --- the other side, in a process of its own --- */

static void
end_with_parent(void)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == -1)
		err(1, "prctl");
}

/* Send back the like of each message, until the end. */
static void NORETURN
other_echo(struct side *s, const struct message *m)
{
	while (side_get(s, m->come, m->ncome))
		side_put(s, m->sent, m->nsent);
	_exit(0);
}

/* Send many, when the first byte has come. */
static void NORETURN
other_flood(struct side *s, const struct message *m, size_t n)
{
	uint8_t	 first[1];

	if (!side_get(s, first, 1))
		_exit(1);
	while (n-- > 0)
		side_put(s, m->sent, m->nsent);
	/* What the hub has not read yet would be lost. */
	while (side_get(s, first, 1))
		continue;
	_exit(0);
}

/* --- a pair, through a hub or not --- */

struct pair {
	struct side	 near, far;
	struct message	 claim;		/* of the stream */
};

static void
pair_open(struct pair *p, const struct hub *h)
{
	message_make(&p->claim, RELAY_RESUME, 0);
	if (h == NULL) {
		side_pair(&p->near, &p->far);
		return;
	}
	hub_attach(h, &p->far, "pair");
	hub_connect(h, &p->near, "pair");
	side_put(&p->near, p->claim.sent, p->claim.nsent);
	if (!side_get(&p->far, p->claim.come, p->claim.ncome))
		errx(1, "the hub closed the executor's connection");
}

static void
pair_close(struct pair *p, pid_t other)
{
	side_close(&p->near);
	message_free(&p->claim);
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
}

/* Without a hub nothing is masked, but as long as if it was. */
static double
measure_echo(const struct hub *h)
{
	struct message	 m;
	struct samples	 s;
	struct pair	 p;
	double		 begin;
	size_t		 come;
	pid_t		 other;
	int		 i;

	message_make(&m, RELAY_DATA, ECHO_BYTES);
	if (h == NULL)
		m.ncome = m.nsent;
	come = m.ncome;
	pair_open(&p, h);
	if ((other = fork()) == 0) {
		end_with_parent();
		side_close(&p.near);
		other_echo(&p.far, &m);
	}
	side_close(&p.far);
	samples_init(&s, SECONDS);
	for (i = 0; i < WARM_UP || samples_more(&s); i++) {
		begin = now();
		side_put(&p.near, m.sent, m.nsent);
		if (!side_get(&p.near, m.come, come))
			errx(1, "the hub closed the harness's connection");
		if (i >= WARM_UP)
			samples_add(&s, now() - begin);
	}
	pair_close(&p, other);
	message_free(&m);
	return samples_at(&s, 0.5) * US;
}

/* MB/s of what is in the records; CPU of the hub in s/GiB. */
static double
measure_flood(const struct hub *h, double *cpu_out)
{
	const size_t	 n = FLOOD_BYTES / BULK_BYTES;
	static uint8_t	 room[READ_ROOM];
	struct message	 m;
	struct pair	 p;
	double		 begin, before = 0;
	size_t		 left, got;
	pid_t		 other;

	message_make(&m, RELAY_DATA, BULK_BYTES);
	pair_open(&p, h);
	if ((other = fork()) == 0) {
		end_with_parent();
		side_close(&p.near);
		other_flood(&p.far, &m, n);
	}
	side_close(&p.far);
	left = n * (h != NULL ? m.ncome : m.nsent);
	if (h != NULL)
		before = usage_cpu(h->pid);
	begin = now();
	side_put(&p.near, p.claim.sent, h != NULL ? p.claim.nsent : 1);
	for (; left > 0; left -= got)
		if ((got = side_read(&p.near, room, left < sizeof(room) ?
		    left : sizeof(room))) == 0)
			errx(1, "the hub closed the harness's connection");
	begin = now() - begin;
	if (cpu_out != NULL)
		*cpu_out = (usage_cpu(h->pid) - before) /
		    ((double)n * BULK_BYTES / GIB);
	pair_close(&p, other);
	message_free(&m);
	return (double)n * BULK_BYTES / 1e6 / begin;
}

void
bench_hub(const struct bench *b)
{
	struct hub	 h;
	double		 echo, floor, cpu;

	hub_start(&h, b, false);
	floor = measure_echo(NULL);
	echo = measure_echo(&h);
	report(VALUE_hub_echo, echo);
	report(VALUE_hub_echo_floor, floor);
	report(VALUE_hub_echo_added, echo - floor);
	report(VALUE_hub_output_floor, measure_flood(NULL, NULL));
	report(VALUE_hub_output, measure_flood(&h, &cpu));
	report(VALUE_hub_output_cpu, cpu);
	hub_stop(&h);
}

/* Each by turns with one alone, so that both see the same machine. */
void
bench_hub_two(const struct bench *b)
{
	struct hub	 one, two[2];

	hub_start(&one, b, false);
	hub_start_two(two, b);
	report(VALUE_hub_two_echo_one, measure_echo(&one));
	report(VALUE_hub_two_echo, measure_echo(&two[0]));
	report(VALUE_hub_two_output_one, measure_flood(&one, NULL));
	report(VALUE_hub_two_output, measure_flood(&two[0], NULL));
	hub_stop(&one);
	hub_stop(&two[0]);
	hub_stop(&two[1]);
}

void
bench_hub_tls(const struct bench *b)
{
	struct hub	 h;
	double		 cpu;

	hub_start(&h, b, true);
	report(VALUE_hub_tls_echo, measure_echo(&h));
	report(VALUE_hub_tls_output, measure_flood(&h, &cpu));
	report(VALUE_hub_tls_cpu, cpu);
	hub_stop(&h);
}

/* --- many executors --- */

static void
raise_nofile(void)
{
	struct rlimit	 rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == -1)
		err(1, "open files");
	rl.rlim_cur = rl.rlim_max;
	if (rl.rlim_max < IDLE + 500 || setrlimit(RLIMIT_NOFILE, &rl) == -1)
		errx(1, "the limit of open files is below %d", IDLE + 500);
}

/* Attach them; KiB of the hub for each. */
static double
attach_all(const struct hub *h, struct side *s, struct ticket_path *paths,
    size_t n)
{
	double	 before = 0;
	char	 name[32];
	size_t	 i;

	/* What the first one makes once is not for each of them. */
	for (i = 0; i < n; i++) {
		if (i == 1)
			before = usage_pss(h->pid);
		snprintf(name, sizeof(name), "idle-%zu", i);
		hub_register(h, &paths[i], name);
		hub_upgrade(h, &s[i], &paths[i]);
	}
	return (usage_pss(h->pid) - before) / (double)(n - 1);
}

/* Ask for connections until the end; tell how long the slowest 1 % took. */
static void NORETURN
ask_on(const struct hub *h, int out)
{
	struct ticket_path	 path;
	struct samples		 s;
	double			 begin, p99;

	samples_init(&s, BACK_SECONDS);
	while (samples_more(&s)) {
		begin = now();
		hub_ask(h, &path, "idle-0", true);
		samples_add(&s, now() - begin);
		p99 = samples_at(&s, 0.99);
		if (pwrite(out, &p99, sizeof(p99), 0) != sizeof(p99))
			_exit(1);
	}
	_exit(0);
}

/* From the death of its worker until all are there again. */
static double
measure_back(const struct hub *h, struct side *s, struct ticket_path *paths,
    size_t n)
{
	double	 begin;
	size_t	 i;

	hub_kill_worker(h);
	begin = now();
	for (i = 0; i < n + AT_ONCE; i++) {
		if (i >= AT_ONCE)
			hub_upgrade_end(&s[i - AT_ONCE]);
		if (i >= n)
			continue;
		side_close(&s[i]);
		hub_upgrade_begin(h, &s[i], &paths[i]);
	}
	return now() - begin;
}

void
bench_hub_many(const struct bench *b)
{
	static struct side		 s[IDLE];
	static struct ticket_path	 paths[IDLE];
	struct hub			 h;
	FILE				*f = tmpfile();
	double				 p99;
	pid_t				 asking;

	if (f == NULL)
		err(1, "temporary file");
	raise_nofile();
	hub_start(&h, b, true);
	report(VALUE_hub_idle_tls, attach_all(&h, s, paths, IDLE_TLS));
	for (size_t i = 0; i < IDLE_TLS; i++)
		side_close(&s[i]);
	hub_stop(&h);
	hub_start(&h, b, false);
	report(VALUE_hub_idle, attach_all(&h, s, paths, IDLE));
	if ((asking = fork()) == 0) {
		end_with_parent();
		ask_on(&h, fileno(f));
	}
	report(VALUE_hub_back, measure_back(&h, s, paths, IDLE) * US);
	kill(asking, SIGKILL);
	waitpid(asking, NULL, 0);
	if (pread(fileno(f), &p99, sizeof(p99), 0) != sizeof(p99))
		errx(1, "nobody asked for a connection");
	report(VALUE_hub_back_p99, p99 * US);
	fclose(f);
	hub_stop(&h);
}
