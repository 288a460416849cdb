/*
 * worker/session/link.c: what is said to the master, in which order, and what
 * is left out when it does not listen.  The channel is ours.
 */
#include <check.h>
#include <stdio.h>
#include <string.h>

#include "common/ipc/chan.h"
#include "worker/session/link.h"

#define MUCH	(300 * 1024)	/* bytes that wait: too many */

struct chan {
	size_t	 waiting;
};

static struct chan	 chan;
static struct link	*l;
static struct event_base	*loop;
static chan_end_fn	*on_end;
static void		*end_arg;
static char		 said[256];
static unsigned		 missed, ngone;

/* --- in the place of the channel --- */

struct chan *
chan_new(struct event_base *base, int sock, enum ipc_role self,
    enum ipc_role peer, chan_msg_fn *on_msg, chan_end_fn *end, void *arg)
{
	ck_assert(base == loop && sock == 77 && on_msg != NULL);
	ck_assert(self == IPC_ROLE_WORKER && peer == IPC_ROLE_MASTER);
	on_end = end;
	end_arg = arg;
	return &chan;
}

void
chan_free(struct chan **cp)
{
	*cp = NULL;
}

void
chan_send(struct chan *c, enum ipc_kind kind, const void *body, int fd)
{
	ck_assert_ptr_eq(c, &chan);
	ck_assert_int_eq(fd, kind == IPC_handover ? 78 : -1);
	if (kind == IPC_command)
		missed = ((const Ipc__Command *)body)->missed;
	else if (kind == IPC_command_ended)
		missed = ((const Ipc__CommandEnded *)body)->missed;
	else if (kind == IPC_net_refused)
		missed = ((const Ipc__NetRefused *)body)->missed;
	strcat(said, " ");
	strcat(said, ipc_rows[kind].name);
}

bool
chan_is_lost(const struct chan *c)
{
	ck_assert_ptr_eq(c, &chan);
	return false;
}

size_t
chan_waiting(const struct chan *c)
{
	return c->waiting;
}

bool
chan_is_idle(const struct chan *c)
{
	return c->waiting == 0;
}

bool
chan_is_read(const struct chan *c)
{
	return c->waiting == 0;
}

/* --- */

static void
on_msg(void *arg, struct ipc_msg *m)
{
	(void)arg;
	(void)m;
}

static void
on_gone(void *arg)
{
	ck_assert_ptr_eq(arg, &ngone);
	ngone++;
}

static const struct link_events	 events = {
	.on_msg = on_msg, .on_gone = on_gone
};

static void
setup(void)
{
	memset(&chan, 0, sizeof(chan));
	ck_assert_ptr_nonnull(loop = event_base_new());
	ck_assert_ptr_nonnull(l = link_new(loop, 77, "/run", 0, &events,
	    &ngone));
}

static void
teardown(void)
{
	link_free(&l);
	ck_assert_ptr_null(l);
	event_base_free(loop);
}

static void
ck_said(const char *what)
{
	ck_assert_str_eq(said, what);
	said[0] = '\0';
}

/* What is put off comes before all else, whatever that is, and once. */
START_TEST(test_soon)
{
	Ipc__Report	 report = IPC__REPORT__INIT;

	link_soon(l, link_opened);
	ck_said("");
	link_report(l, &report);
	ck_said(" opened report");
	link_soon(l, link_attached);
	link_load(l, 1);
	link_load(l, 2);
	ck_said(" attached load load");
	link_soon(l, link_attached);
	link_flush(l);
	link_flush(l);
	link_detached(l);
	ck_said(" attached detached");
	link_handover(l, "id", "", 0, 78);
	ck_said(" handover");
}
END_TEST

/* Those left out are counted, and told with the next one. */
START_TEST(test_commands)
{
	Ipc__Command	 out = IPC__COMMAND__INIT;

	link_command(l, &out);
	ck_said(" command");
	ck_assert_uint_eq(missed, 0);
	chan.waiting = MUCH;
	link_command(l, &out);
	link_command(l, &out);
	link_command(l, &out);
	ck_said("");
	/* All else is said. */
	link_load(l, 1);
	ck_said(" load");
	chan.waiting = 1000;
	link_command(l, &out);
	ck_said(" command");
	ck_assert_uint_eq(missed, 3);
	link_command(l, &out);
	ck_said(" command");
	ck_assert_uint_eq(missed, 0);
}
END_TEST

static void
ended(void)
{
	Ipc__CommandEnded	 out = IPC__COMMAND_ENDED__INIT;

	link_command_ended(l, &out);
}

static void
refused(void)
{
	Ipc__NetRefused		 out = IPC__NET_REFUSED__INIT;

	link_net_refused(l, &out);
}

/* The same for what comes later, and for refused connections. */
START_TEST(test_audited)
{
	static void		(*const put[])(void) = { ended, refused };
	static const char	*const names[] = {
		" command_ended", " net_refused"
	};

	put[_i]();
	ck_said(names[_i]);
	ck_assert_uint_eq(missed, 0);
	chan.waiting = MUCH;
	put[_i]();
	put[1 - _i]();
	ck_said("");
	chan.waiting = 1000;
	put[_i]();
	ck_said(names[_i]);
	ck_assert_uint_eq(missed, 2);
	put[_i]();
	ck_said(names[_i]);
	ck_assert_uint_eq(missed, 0);
	on_end(end_arg, 0);
	put[_i]();
	ck_said("");
}
END_TEST

/* Without a master there is nobody to ask, and nothing that waits. */
START_TEST(test_gone)
{
	Ipc__Command	 out = IPC__COMMAND__INIT;

	chan.waiting = 1000;
	ck_assert(!link_is_idle(l));
	ck_assert_int_eq(link_ask_memory(l, 1, 2), 0);
	ck_assert_int_eq(link_ask_transcript(l, 1, true), 0);
	ck_said(" memory_ask transcript_ask");
	on_end(end_arg, 0);
	ck_assert_uint_eq(ngone, 1);
	ck_assert(link_is_idle(l));
	ck_assert_int_eq(link_ask_memory(l, 1, 2), -1);
	ck_assert_int_eq(link_ask_transcript(l, 1, true), -1);
	link_command(l, &out);
	link_soon(l, link_attached);
	link_load(l, 1);
	ck_said("");
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("link");
	TCase	*t = tcase_create("link");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_soon);
	tcase_add_test(t, test_commands);
	tcase_add_loop_test(t, test_audited, 0, 2);
	tcase_add_test(t, test_gone);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
