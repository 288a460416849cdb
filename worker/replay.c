#include "worker/replay.h"

#include "worker/conn.h"
#include "worker/proc.h"
#include "worker/session.h"

void
replay_begin(struct proc *p, uint64_t seq)
{
	if (!p->is_replayed)
		p->session->replayed++;
	p->is_replayed = true;
	p->replay_after = seq;
}

void
replay_stop(struct proc *p)
{
	if (p->is_replayed)
		p->session->replayed--;
	p->is_replayed = false;
}

/* What has the next number, from chunk c on, which may be NULL; or the end. */
static struct chunk *
send_next(struct proc *p, struct chunk *c)
{
	uint64_t	 seq = p->replay_after + 1;

	if (seq == p->ring.exit_seq) {
		proc_tell_exit(p);
	} else if (c != NULL) {
		seq = c->seq;
		proc_tell_output(p, c);
		c = p->session->conn != NULL ? TAILQ_NEXT(c, ring_entry) :
		    NULL;
	} else {
		if (p->state == PROC_CLOSED)
			proc_tell_close(p);
		replay_stop(p);
	}
	p->replay_after = seq;
	return c;
}

static void
go_on(struct proc *p)
{
	struct session	*s = p->session;
	struct chunk	*c = ring_after(&p->ring, p->replay_after);

	while (p->is_replayed && s->conn != NULL && session_has_room(s))
		c = send_next(p, c);
}

void
replay_go_on(struct session *s)
{
	struct proc	*p;

	while (s->replayed > 0 && s->conn != NULL && session_has_room(s)) {
		TAILQ_FOREACH(p, &s->all, entry)
			go_on(p);
		session_flush(s);
	}
}
