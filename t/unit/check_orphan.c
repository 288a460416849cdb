/*
 * worker/session/link.c after the death of the master: looks for the next one,
 * tells it how the session is and what it kept for it, and gives up in the end.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/ipc/ipc.h"
#include "common/rundirs.h"
#include "worker/session/link.h"

#define TTL	60000		/* ms: for ever */
#define LIMIT_MS	60000

static struct event_base	*base;
static struct link		*l;
static int			 sock, lfd;
static char			 dir[64], path[96];
static bool			 survives;
static unsigned			 norphaned, nadopted, ngone, nmsg;

static void
on_msg(void *arg, struct ipc_msg *m)
{
	(void)arg;
	(void)m;
	nmsg++;
}

static bool
on_orphaned(void *arg)
{
	(void)arg;
	norphaned++;
	return survives;
}

static void
describe(void *arg, Ipc__Orphan *out)
{
	(void)arg;
	out->attached = true;
	out->running = 7;
}

static void
on_adopted(void *arg)
{
	(void)arg;
	nadopted++;
	link_load(l, 7);
}

static void
on_gone(void *arg)
{
	(void)arg;
	ngone++;
}

static const struct link_events	 events = {
	on_msg, on_orphaned, describe, on_adopted, on_gone
};

static void
begin(uint64_t ttl)
{
	int	 pair[2];

	ck_assert_int_eq(fd_packet_pair(pair), 0);
	sock = pair[1];
	ck_assert_ptr_nonnull(l = link_new(base, pair[0], dir, ttl, &events,
	    &ngone));
}

static void
setup(void)
{
	const char	*tmp = getenv("TMPDIR");

	survives = true;
	norphaned = nadopted = ngone = nmsg = 0;
	lfd = -1;
	snprintf(dir, sizeof(dir), "%.40s/orphan.XXXXXX", tmp != NULL ? tmp :
	    "/tmp");
	ck_assert_ptr_nonnull(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/" RUNDIRS_ADOPT, dir);
	ck_assert_ptr_nonnull(base = event_base_new());
}

static void
teardown(void)
{
	link_free(&l);
	fd_close(&sock);
	fd_close(&lfd);
	unlink(path);
	rmdir(dir);
	event_base_free(base);
}

/* Run the loop until *n is at least that. */
static void
until(const unsigned *n, unsigned least)
{
	struct timeval	 turn = { 0, 20000 };
	uint64_t	 end = clock_ms() + LIMIT_MS;

	while (*n < least) {
		ck_assert(clock_ms() < end);
		event_base_loopexit(base, &turn);
		event_base_loop(base, EVLOOP_ONCE);
	}
}

static void
die(void)
{
	fd_close(&sock);
	until(&norphaned, 1);
}

static void
next_master(void)
{
	struct sockaddr_un	 un = { .sun_family = AF_UNIX };

	strcpy(un.sun_path, path);
	unlink(path);
	ck_assert_int_ne(lfd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0), -1);
	ck_assert_int_eq(bind(lfd, (struct sockaddr *)&un, sizeof(un)), 0);
	ck_assert_int_eq(listen(lfd, 8), 0);
}

/* Accept it; each turn of the loop may be the one in which it comes. */
static void
come(void)
{
	struct timeval	 turn = { 0, 20000 };
	uint64_t	 end = clock_ms() + LIMIT_MS;

	while ((sock = accept4(lfd, NULL, NULL, SOCK_CLOEXEC)) == -1) {
		ck_assert_int_eq(errno, EAGAIN);
		ck_assert(clock_ms() < end);
		event_base_loopexit(base, &turn);
		event_base_loop(base, EVLOOP_ONCE);
	}
}

static void
hear(enum ipc_kind kind, struct ipc_msg *m)
{
	ck_assert_int_eq(ipc_wait(sock, IPC_ROLE_WORKER, IPC_ROLE_MASTER, m),
	    1);
	ck_assert_str_eq(ipc_rows[m->kind].name, ipc_rows[kind].name);
}

static void
adopt(void)
{
	Ipc__Adopted	 out = IPC__ADOPTED__INIT;
	struct ipc_msg	 m;
	unsigned	 before = nadopted;

	hear(IPC_orphan, &m);
	ck_assert_uint_eq(((Ipc__Orphan *)m.body)->running, 7);
	ck_assert(((Ipc__Orphan *)m.body)->attached);
	ipc_msg_fini(&m);
	ck_assert(link_is_orphaned(l));
	ck_assert_int_eq(ipc_send(sock, IPC_adopted, &out, -1), 0);
	until(&nadopted, before + 1);
}

START_TEST(test_adopted)
{
	Ipc__Command	 out = IPC__COMMAND__INIT;
	char		 name[] = "kept";
	struct ipc_msg	 m;

	begin(TTL);
	ck_assert(!link_is_orphaned(l) && link_survives(l));
	die();
	ck_assert(link_is_orphaned(l) && !link_is_read(l) && !link_is_idle(l));
	out.program = name;
	link_command(l, &out);
	link_detached(l);		/* the next one sees that by itself */
	ck_assert_int_eq(link_ask_memory(l, 1, 1), -1);
	/* The request is made again by the one who adopts. */
	ck_assert_int_eq(link_ask_transcript(l, 1, true), 0);
	next_master();
	come();
	adopt();
	hear(IPC_command, &m);
	ck_assert_str_eq(((Ipc__Command *)m.body)->program, "kept");
	ck_assert_uint_eq(((Ipc__Command *)m.body)->missed, 0);
	ipc_msg_fini(&m);
	hear(IPC_load, &m);
	ipc_msg_fini(&m);
	ck_assert(!link_is_orphaned(l) && link_is_read(l));
	ck_assert_uint_eq(ngone, 0);
}
END_TEST

/* However often they die, and in the middle of it. */
START_TEST(test_again)
{
	int	 i;

	begin(TTL);
	next_master();
	for (i = 0; i < 3; i++) {
		norphaned = 0;
		die();
		come();
		fd_close(&sock);	/* died before it answered */
		come();
		adopt();
	}
	ck_assert_uint_eq(nadopted, 3);
	ck_assert_uint_eq(ngone, 0);
}
END_TEST

START_TEST(test_many_commands)
{
	Ipc__Command	 out = IPC__COMMAND__INIT;
	struct ipc_msg	 m;
	unsigned	 i, n = 0, missed = 0;

	begin(TTL);
	die();
	for (i = 0; i < 1000; i++)
		link_command(l, &out);
	next_master();
	come();
	adopt();
	link_command(l, &out);
	do {
		ck_assert_int_eq(ipc_wait(sock, IPC_ROLE_WORKER,
		    IPC_ROLE_MASTER, &m), 1);
		if (m.kind == IPC_command) {
			n++;
			missed += ((Ipc__Command *)m.body)->missed;
		}
		ipc_msg_fini(&m);
	} while (n + missed < 1001);
	ck_assert_uint_eq(n + missed, 1001);
	ck_assert(n > 1 && missed > 0);
}
END_TEST

START_TEST(test_gives_up)
{
	begin(50);
	die();
	until(&ngone, 1);
	ck_assert(!link_is_orphaned(l) && !link_survives(l));
	ck_assert(link_is_idle(l) && link_is_read(l));
	ck_assert_int_eq(link_ask_transcript(l, 1, true), -1);
}
END_TEST

/* A session that is not to go on; a server whose sessions do not. */
START_TEST(test_does_not_wait)
{
	survives = false;
	begin(TTL);
	die();
	until(&ngone, 1);
	link_free(&l);
	norphaned = ngone = 0;
	begin(0);
	ck_assert(!link_survives(l));
	fd_close(&sock);
	until(&ngone, 1);
	ck_assert_uint_eq(norphaned, 0);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("orphan");
	TCase	*t = tcase_create("orphan");
	SRunner	*r;
	int	 failed;

	tcase_set_timeout(t, 0);
	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_adopted);
	tcase_add_test(t, test_again);
	tcase_add_test(t, test_many_commands);
	tcase_add_test(t, test_gives_up);
	tcase_add_test(t, test_does_not_wait);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
