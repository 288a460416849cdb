/* How a session ends: released, expired, closed, ended by an operator. */
#include "worker/session/session.h"
#include "worker/session/session_priv.h"

#include <assert.h>
#include <signal.h>

#include "common/buf.h"
#include "common/clock.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "worker/conn/conn.h"
#include "worker/conn/note.h"
#include "worker/sandbox/holder.h"
#include "worker/session/link.h"
#include "worker/session/session_usage.h"
#include "worker/session/transcript.h"

#define NOTIFY_MS	500	/* for final events of killed processes */
#define LEAVE_MS	10	/* between looks whether the master has read */
#define LEAVE_MAX	2000	/* ms to wait for a next master */

/* Log the usage of the session, and return it for the master. */
static void
log_end(struct session *s, Ipc__Used *out)
{
	struct session_usage	 a;
	char			 oom[40] = "", detached[128] = "";

	session_usage_take(s->env.cgroups, &s->env.set, false, &a);
	ipc__used__init(out);
	out->processes = s->procs.started;
	out->bytes_in = s->procs.bytes_in;
	out->bytes_out = s->procs.bytes_out;
	out->cpu_ms = a.used.cpu_ms;
	out->transcripts = transcripts_used(s->transcripts);
	if (a.has_oom)
		snprintf(oom, sizeof(oom), ", %llu out of memory",
		    (unsigned long long)a.oom);
	if (s->end.detached != NULL)
		snprintf(detached, sizeof(detached), "detached: %s; ",
		    s->end.detached);
	log_info_with((struct log_member[]){
	    { "event", "session-ended", 0 }, { "why", s->end.why, 0 },
	    { "bytes_out", NULL, s->procs.bytes_out },
	    { "bytes_in", NULL, s->procs.bytes_in },
	    { "processes", NULL, s->procs.started },
	    { "cpu_ms", NULL, a.used.cpu_ms },
	    { "peak_kib", NULL, a.used.peak_kib }, { NULL, NULL, 0 } },
	    "%sended: %s; %llu bytes out, %llu bytes in, "
	    "%u processes, cpu %llu ms, read %llu KiB, written %llu KiB, "
	    "peak %llu KiB, commands %llu KiB%s", detached, s->end.why,
	    (unsigned long long)s->procs.bytes_out,
	    (unsigned long long)s->procs.bytes_in, s->procs.started,
	    (unsigned long long)a.used.cpu_ms,
	    (unsigned long long)a.used.read / 1024,
	    (unsigned long long)a.used.written / 1024,
	    (unsigned long long)a.worker_kib,
	    (unsigned long long)a.used.peak_kib, oom);
}

/*
 * The master may be killed between reading a message and writing to its table,
 * so leave a little later: the next one is then told again.
 */
void
session_on_leave(void *arg)
{
	struct session	*s = arg;
	bool		 is_read = link_is_read(s->link);

	assert(s->end.is_told);
	s->done = is_read && s->end.is_read;
	s->end.is_read = is_read;
	if (!link_is_orphaned(s->link))
		s->end.leave_by = 0;
	else if (s->end.leave_by == 0)
		s->end.leave_by = clock_ms() + LEAVE_MAX;
	else
		s->done |= clock_ms() >= s->end.leave_by;
	if (!s->done)
		timer_set(&s->end.leave_ev, LEAVE_MS);
}

void
session_leave(struct session *s)
{
	assert(s->link != NULL);
	if (!s->end.is_told)
		return;
	if (!link_survives(s->link))
		s->done |= link_is_idle(s->link);
	else
		timer_ensure(&s->end.leave_ev, LEAVE_MS);
}

static void
session_report_end(struct session *s)
{
	s->end.is_told = true;
	s->end.is_read = false;
	if (s->state == SESSION_RELEASED)
		link_released(s->link, &s->end.used, s->retain_ms);
	else
		link_ended(s->link, s->end.reason, s->end.why, &s->end.used);
	session_leave(s);
}

void
session_adopted(struct session *s)
{
	if (s->end.is_told)
		session_report_end(s);
	else
		session_maybe_release(s);
}

void
session_maybe_release(struct session *s)
{
	if (s->state != SESSION_DETACHED || s->procs.known > 0 ||
	    link_is_orphaned(s->link) ||
	    (s->procs.started > 0 && session_kill_count() > 0))
		return;
	session_set_state(s, SESSION_RELEASED);
	timer_stop(&s->ttl_ev);
	lifetime_stop(&s->lifetime);
	s->end.why = "released: owns nothing";
	log_end(s, &s->end.used);
	session_report_end(s);
}

/* --- the end --- */

/* Whether the client was sent the end of each process, or time is up. */
static bool
is_notified(void *arg)
{
	struct session		*s = arg;
	const struct proc	*p;

	if (s->conn == NULL)
		return true;
	if (s->end.notify_deadline == 0)
		s->end.notify_deadline = clock_ms() + NOTIFY_MS;
	if (clock_ms() >= s->end.notify_deadline)
		return true;
	TAILQ_FOREACH(p, &s->procs.all, entry)
		if (p->state != PROC_CLOSED)
			return false;
	return true;
}

static void
session_end_on_killed(void *arg)
{
	struct session	*s = arg;

	assert(s->state == SESSION_CLOSING);
	if (s->conn != NULL)
		conn_close(s->conn, s->end.code, s->end.why);
	transcripts_end(s->transcripts);
	log_end(s, &s->end.used);
	s->events->on_end(s->arg);
	session_report_end(s);
}

const struct session_kill_events	 session_kill_events = {
	session_reap, is_notified, session_end_on_killed
};

/* Tell the client what becomes of the session.  May end the connection. */
static void
notify_session(struct session *s, const char *note, const char *why)
{
	struct json_out	 o;
	struct buf	 b;

	assert(s->conn != NULL);
	buf_init(&b, LIMIT_MESSAGE);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_pair(&o, "method", note);
	json_out_key(&o, "params");
	json_out_open(&o, '{');
	json_out_pair(&o, "reason", why);
	json_out_close(&o, '}');
	json_out_close(&o, '}');
	/* Without memory the client only sees the close. */
	if (json_out_fini(&o) == 0)
		(void)conn_send(s->conn, (char *)buf_data(&b), b.len);
	buf_fini(&b);
}

void
session_give_away(struct session *s)
{
	static const char	 why[] = "another client has taken the session";

	if (s->state != SESSION_ATTACHED || s->client.is_stdio)
		return;
	notify_session(s, note_TAKEN, why);
	if (s->conn != NULL)
		conn_close(s->conn, 1000, why);
}

/*
 * code: of the Close frame (RFC 6455 section 7.4), sent after the last output
 * and the exits of the processes.  Until then the client is served, but cannot
 * start processes.
 */
static void
session_end_with(struct session *s, const char *why, uint64_t grace,
    uint16_t code)
{
	struct proc	*p;

	assert(why != NULL);
	if (s->state == SESSION_CLOSING || s->state == SESSION_RELEASED)
		return;
	if (s->state == SESSION_NEW || s->state == SESSION_HANDING) {
		s->done = true;		/* no session yet */
		return;
	}
	link_flush(s->link);
	session_set_state(s, SESSION_CLOSING);
	holders_end(s->holders);
	s->end.why = why;
	s->end.code = code;
	timer_stop(&s->ttl_ev);
	lifetime_stop(&s->lifetime);
	/* Also for SIGKILL: /proc may fail to show a process. */
	TAILQ_FOREACH(p, &s->procs.all, entry) {
		proc_signal(p, grace > 0 ? SIGTERM : SIGKILL);
		proc_signal(p, SIGCONT);
	}
	/* A client that closes its session gets no more events. */
	if (s->conn != NULL && code == 1000)
		conn_close(s->conn, code, why);
	else if (s->conn != NULL)
		notify_session(s, note_ENDING, s->end.why);
	session_kill_start(&s->kill, s->env.cgroups, grace);
}

void
session_end(struct session *s, const char *why, uint64_t grace)
{
	session_end_with(s, why, grace, 1001);
}

void
session_close(struct session *s)
{
	session_end_with(s, "closed by its client", s->env.set.grace_ms, 1000);
}
