/* Many sessions at once: rates, and memory. */
#include <sys/resource.h>

#include <err.h>
#include <poll.h>
#include <stdio.h>

#include "t/bench/client.h"
#include "t/bench/usage.h"

#define SECONDS		1.5

#define IN_FLIGHT	16

/* One step of a session that is opened; true when it is. */
static bool
session_step(struct client *c)
{
	struct msg	m;
	bool		done = false;

	client_fill(c);
	while (!done && client_take(c, &m)) {
		if (m.kind == MSG_ERROR)
			errx(1, "initialize: %.*s", (int)m.len, m.text);
		if (m.kind == MSG_UPGRADED)
			client_call(c, "initialize",
			    "{\"clientName\":\"bench\"}");
		done = m.kind == MSG_REPLY;
	}
	return done;
}

void
bench_sessions(const struct bench *b)
{
	struct client	*c[IN_FLIGHT];
	struct pollfd	 p[IN_FLIGHT];
	double		 begin = now(), warm = begin + 0.3, cpu = 0;
	long		 count = 0;

	for (int i = 0; i < IN_FLIGHT; i++) {
		c[i] = client_connect(b, 0);
		p[i] = (struct pollfd){ client_fd(c[i]), POLLIN, 0 };
	}
	while (now() < warm + SECONDS) {
		if (begin < warm) {
			count = 0;
			cpu = usage_cpu_reaped(b->pid);
			begin = now();
		}
		if (poll(p, IN_FLIGHT, 30000) <= 0)
			errx(1, "no answer");
		for (int i = 0; i < IN_FLIGHT; i++) {
			if (p[i].revents == 0 || !session_step(c[i]))
				continue;
			count++;
			client_close(&c[i]);
			c[i] = client_connect(b, 0);
			p[i].fd = client_fd(c[i]);
		}
	}
	report(VALUE_sessions, (double)count / (now() - begin));
	report(VALUE_sessions_cpu, (usage_cpu_reaped(b->pid) - cpu) * 1e6 /
	    (double)count);
	for (int i = 0; i < IN_FLIGHT; i++)
		client_close(&c[i]);
}

#define SPAWNERS	8

/* Start the next /bin/true of a session. */
static void
spawner_start(struct client *c, long number)
{
	char	id[24];

	snprintf(id, sizeof(id), "p%ld", number);
	client_start(c, id, false, "\"/bin/true\"");
}

/* Take what has come; how many exits there were. */
static long
spawner_step(struct client *c)
{
	struct msg	m;
	long		exits = 0;

	client_fill(c);
	while (client_take(c, &m)) {
		if (m.kind == MSG_ERROR)
			errx(1, "start: %.*s", (int)m.len, m.text);
		exits += m.kind == MSG_EXITED;
	}
	return exits;
}

void
bench_spawnrate(const struct bench *b)
{
	struct client	*c[SPAWNERS];
	struct pollfd	 p[SPAWNERS];
	double		 begin;
	long		 number = 0, count = 0;

	for (int i = 0; i < SPAWNERS; i++) {
		c[i] = client_open(b, 0);
		p[i] = (struct pollfd){ client_fd(c[i]), POLLIN, 0 };
	}
	begin = now();
	for (int i = 0; i < SPAWNERS; i++)
		spawner_start(c[i], number++);
	while (now() < begin + SECONDS) {
		if (poll(p, SPAWNERS, 30000) <= 0)
			errx(1, "no answer");
		for (int i = 0; i < SPAWNERS; i++) {
			if (p[i].revents == 0 || spawner_step(c[i]) == 0)
				continue;
			count++;
			spawner_start(c[i], number++);
		}
	}
	report(VALUE_spawnrate, (double)count / (now() - begin));
	for (int i = 0; i < SPAWNERS; i++)
		client_close(&c[i]);
}

#define IDLE	500

/* Leave them alone for so long, but for the pings. */
static void
idle(struct client **c, double seconds)
{
	struct pollfd	p[IDLE];
	struct msg	m;
	double		end = now() + seconds, left;

	for (int i = 0; i < IDLE; i++)
		p[i] = (struct pollfd){ client_fd(c[i]), POLLIN, 0 };
	while ((left = end - now()) > 0) {
		if (poll(p, IDLE, (int)(left * 1000) + 1) <= 0)
			continue;
		for (int i = 0; i < IDLE; i++) {
			if (p[i].revents == 0)
				continue;
			client_fill(c[i]);
			while (client_take(c[i], &m))
				continue;
		}
	}
}

void
bench_memory(const struct bench *b)
{
	struct rlimit	 files = { IDLE + 64, IDLE + 64 };
	struct client	*c[IDLE];
	double		 empty;

	setrlimit(RLIMIT_NOFILE, &files);
	nap(0.5);
	empty = usage_pss(b->pid);
	report(VALUE_memory_idle, empty);
	report(VALUE_memory_idle_anon, usage_anon(b->pid));
	for (int i = 0; i < IDLE; i++)
		c[i] = client_open(b, 0);
	idle(c, 1);
	report(VALUE_memory_session, (usage_pss(b->pid) - empty) / IDLE);
	for (int i = 0; i < IDLE; i++)
		client_close(&c[i]);
	nap(1);
	report(VALUE_memory_after, usage_pss(b->pid));
}
