/*
 * The rooms of common/ when a call fails: no crash, nothing left, and whatever
 * says that it worked has.
 */
#include <sys/socket.h>
#include <sys/stat.h>

#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/buf.h"
#include "common/conf/conf.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/ipc/chan.h"
#include "common/json/json.h"
#include "common/json/json_out.h"
#include "common/map.h"
#include "common/net/netrules.h"
#include "common/outq.h"
#include "common/plan/plan.h"
#include "common/process/envlist.h"
#include "common/process/sigfd.h"
#include "common/rundirs.h"
#include "common/secret.h"
#include "common/toml/toml.h"
#include "t/unit/fault.h"

static bool
buffers(void)
{
	static const char	 text[] = "0123456789abcdef";
	struct buf		 b;
	size_t			 i, n = 0;
	bool			 ok = true;

	buf_init(&b, 4096);
	for (i = 0; i < 200; i++) {
		fault_begin();
		if (buf_put(&b, text, 16) == 0)
			n += 16;
		else
			ok = false;
		fault_end();
		ck_assert_uint_eq(b.len, n);
		/* What stays is what was put last. */
		if (i == 50) {
			buf_drain(&b, 48);
			n -= 48;
		}
	}
	for (i = 0; i < n; i += 16)
		ck_assert_mem_eq(b.base + b.off + i, text, 16);
	buf_fini(&b);
	return ok;
}

static bool
maps(void)
{
	struct map_node	 nodes[40] = { 0 };
	struct map	 m;
	uint8_t		 keys[40];
	size_t		 i, n = 0;

	map_init(&m);
	for (i = 0; i < 40; i++) {
		keys[i] = (uint8_t)i;
		fault_begin();
		if (map_add(&m, &nodes[n], &keys[n], 1, &keys[n]) == 0)
			n++;
		fault_end();
	}
	for (i = 0; i < n; i++)
		ck_assert_ptr_eq(map_find(&m, &keys[i], 1), &keys[i]);
	ck_assert_uint_eq(m.count, n);
	map_fini(&m);
	return n == 40;
}

/* --- channels --- */

static unsigned	 narrived, nended;

static void
chan_arrived(void *arg, struct ipc_msg *m)
{
	(void)arg;
	ck_assert_int_eq(m->kind, IPC_stop);
	ck_assert_uint_eq(((Ipc__Stop *)m->body)->grace_ms, 1000 + narrived);
	narrived++;
}

static void
chan_ended(void *arg, int error)
{
	(void)error;
	nended++;
	chan_free(arg);
}

/* More messages than the socket takes, held back in the middle. */
static bool
channels(void)
{
	struct event_base	*base;
	struct chan		*to = NULL, *from = NULL;
	Ipc__Stop		 stop = IPC__STOP__INIT;
	int			 pair[2];
	unsigned		 i;
	bool			 ok = false;

	narrived = nended = 0;
	fault_begin();
	if ((base = ev_base_new()) == NULL)
		goto out;
	if (fd_packet_pair(pair) == -1)
		goto out;
	if ((to = chan_new(base, pair[0], IPC_ROLE_MASTER, IPC_ROLE_WORKER,
	    chan_arrived, chan_ended, &to)) == NULL)
		fd_close(&pair[0]);
	if ((from = chan_new(base, pair[1], IPC_ROLE_WORKER, IPC_ROLE_MASTER,
	    chan_arrived, chan_ended, &from)) == NULL)
		fd_close(&pair[1]);
	if (to == NULL || from == NULL)
		goto out;
	for (i = 0; i < 6; i++) {
		if (i == 2 || i == 4)
			chan_hold(to, i == 2);
		stop.grace_ms = 1000 + i;
		chan_send(to, IPC_stop, &stop, -1);
	}
	for (i = 0; i < 20 && narrived < 6 && nended == 0; i++)
		event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	ok = narrived == 6;
 out:
	fault_end();
	/* An end is told, or all has come, or it never began. */
	ck_assert(ok || nended > 0 || to == NULL || from == NULL);
	chan_free(&to);
	chan_free(&from);
	if (base != NULL)
		event_base_free(base);
	return ok;
}

/* --- signals --- */

static unsigned	 nsignals;

static void
on_signal(void *arg, int sig, pid_t from)
{
	(void)arg;
	(void)from;
	ck_assert_int_eq(sig, SIGUSR1);
	nsignals++;
}

static bool
signals(void)
{
	static const int	 list[] = { SIGUSR1, 0 };
	struct event_base	*base = event_base_new();
	struct sigfd		*s;
	sigset_t		 none;
	int			 i;

	nsignals = 0;
	fault_begin();
	s = sigfd_new(base, list, on_signal, NULL);
	fault_end();
	if (s != NULL) {
		kill(getpid(), SIGUSR1);
		for (i = 0; i < 3 && nsignals == 0; i++)
			event_base_loop(base, EVLOOP_NONBLOCK);
		ck_assert_uint_eq(nsignals, 1);
	}
	sigfd_free(&s);
	event_base_free(base);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return nsignals == 1;
}

/* --- configuration --- */

static char	 folder[64], path[128], more[128];

static void
make_folder(void)
{
	snprintf(folder, sizeof(folder), "/tmp/fault.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void
write_file(const char *name, const char *text)
{
	FILE	*f;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	ck_assert_ptr_nonnull(f = fopen(path, "w"));
	fputs(text, f);
	ck_assert_int_eq(fclose(f), 0);
	ck_assert_int_eq(chmod(path, 0600), 0);
}

static bool
has_settings(const struct conf *c)
{
	const struct conf_client	 who = { .text = { NULL } };
	struct conf			 mine;
	bool				 ok;

	ck_assert_uint_eq(c->nuplink, 1);
	ck_assert_uint_eq(c->nmatch, 1);
	ck_assert_uint_eq(c->listen.n, 2);
	ck_assert_uint_eq(c->max_processes, 7);
	fault_begin();
	ok = conf_resolve(c, &who, &mine) == 0;
	fault_end();
	if (ok) {
		ck_assert_uint_eq(mine.listen.n, 2);
		ck_assert_uint_eq(mine.max_processes, 7);
		conf_fini(&mine);
	}
	return ok;
}

static bool
configuration(void)
{
	struct conf		 c;
	struct conf_error	 e = { "" };
	bool			 ok = false;

	make_folder();
	write_file("more", "Listen unix:/run/b\n");
	snprintf(more, sizeof(more), "%s", path);
	write_file("conf", "Listen unix:/run/a\nInclude more\n"
	    "MaxProcesses 7\nUplink here\n\tEnvironmentId box\n"
	    "Match User joe\n\tMaxProcesses 3\n");
	fault_begin();
	if (conf_init(&c) == 0) {
		ok = conf_load(&c, path, &e) == 0;
		fault_end();
		ck_assert_msg(ok == (e.text[0] == '\0'), "%s", e.text);
		ok = ok && has_settings(&c);
		conf_fini(&c);
	}
	fault_end();
	unlink(path);
	unlink(more);
	rmdir(folder);
	return ok;
}

/* --- JSON, plans, TOML --- */

static bool
json_and_plan(void)
{
	static const char	 object[] = "[{\"permissions\":{\"type\":"
	    "\"managed\",\"network\":\"restricted\",\"file_system\":{"
	    "\"type\":\"restricted\",\"entries\":[{\"path\":{\"type\":"
	    "\"special\",\"value\":{\"kind\":\"minimal\"}},\"access\":"
	    "\"read\"},{\"path\":{\"type\":\"path\",\"path\":"
	    "\"file:///w\"},\"access\":\"write\"}]}},"
	    "\"cwd\":\"file:///w\",\"workspaceRoots\":[\"file:///w\"],"
	    "\"windowsSandboxLevel\":\"disabled\"}]";
	static const struct plan_context ctx = { "/cwd", "/t", false };
	struct plan	 p = { .n = 0 };
	struct json	 j;
	struct json_out	 o;
	struct buf	 out;
	char		 text[sizeof(object)], why[256] = "";
	bool		 ok = false;

	memcpy(text, object, sizeof(object));
	json_init(&j);
	buf_init(&out, SIZE_MAX);
	fault_begin();
	if (json_parse(&j, text, sizeof(object) - 1) == 0 &&
	    plan_make(&p, &j, 1, &ctx, why, sizeof(why)) == 0 &&
	    plan_print(&p, &out) == 0) {
		json_out_init(&o, &out);
		json_out_open(&o, '[');
		json_out_str(&o, "a\"b");
		json_out_b64(&o, object, sizeof(object));
		json_out_uri(&o, "/a b");
		json_out_close(&o, ']');
		ok = json_out_fini(&o) == 0;
	}
	fault_end();
	if (ok) {
		ck_assert_int_eq(plan_decide(&p, "/w/x"), PLAN_WRITE);
		ck_assert_int_eq(plan_decide(&p, "/usr/x"), PLAN_READ);
		ck_assert_int_eq(plan_decide(&p, "/x"), PLAN_DENY);
		ck_assert(p.net_off && out.len > 400);
		ck_assert_mem_eq(buf_data(&out) + out.len - 14,
		    "\"file:///a%20b\"]" + 2, 14);
	}
	plan_free(&p);
	json_fini(&j);
	buf_fini(&out);
	return ok;
}

static bool
settings_in_toml(void)
{
	char			 text[] = "a = [1, {b = 'c'}]\n[x.y]\n"
				    "z = \"w\\u00e9\"\n[[t]]\nk = 1\n";
	const struct span	 key = { "x", 1 };
	struct toml_error	 e;
	struct toml		*t;
	struct buf		 out;
	bool			 ok = false;

	buf_init(&out, SIZE_MAX);
	fault_begin();
	if ((t = toml_new()) != NULL) {
		if (toml_parse(t, text, strlen(text), &e) == 0) {
			ok = toml_put(t, &out) == 0;
			ck_assert_ptr_nonnull(toml_get(t, toml_root(t), key));
		} else
			ck_assert_int_eq(errno, ENOMEM);
	}
	toml_free(&t);
	fault_end();
	buf_fini(&out);
	return ok;
}

static bool
rules_of_networks(void)
{
	struct netrules	 r;
	struct nethost	 h;
	enum net_reason	 why;
	bool		 ok;

	memset(&r, 0, sizeof(r));
	ck_assert_int_eq(nethost_set(&h, "a.example", 9), 0);
	fault_begin();
	ok = netrules_add(&r, NETRULES_ALLOW, "*.example") == 0;
	fault_end();
	ck_assert_int_eq(netrules_judge(&r, &h, &why),
	    ok ? NETRULES_ALLOWED : NETRULES_REFUSED);
	netrules_fini(&r);
	return ok;
}

/* --- files, environment --- */

static bool
secrets(void)
{
	char	*s, *taken, why[256] = "";
	size_t	 len;
	bool	 ok;

	make_folder();
	write_file("secret", "open sesame\n");
	ck_assert_int_eq(setenv("FAULT_SECRET", "xyzzy", 1), 0);
	fault_begin();
	s = secret_read_file(path, 100, &len, why, sizeof(why));
	taken = secret_take_env("FAULT_SECRET");
	fault_end();
	ck_assert((s == NULL) == (why[0] != '\0'));
	if (s != NULL)
		ck_assert_str_eq(s, "open sesame\n");
	if (taken != NULL)
		ck_assert_str_eq(taken, "xyzzy");
	ck_assert_ptr_null(getenv("FAULT_SECRET"));
	ok = s != NULL && taken != NULL;
	sodium_free(s);
	sodium_free(taken);
	unlink(path);
	rmdir(folder);
	return ok;
}

static bool
environment(void)
{
	char	**list;
	int	 fd;
	bool	 ok;

	fault_begin();
	list = envlist_worker();
	free(list);
	fd = envlist_to_file();
	fault_end();
	ok = list != NULL && fd != -1;
	if (fd != -1)
		ck_assert_int_gt(lseek(fd, 0, SEEK_END), 0);
	fd_close(&fd);
	return ok;
}

static bool
descriptors(void)
{
	int	 pair[2] = { -1, -1 }, flags;
	char	 text[16];
	ssize_t	 n;
	bool	 ok;

	make_folder();
	write_file("append", "ab");
	fault_begin();
	ok = fd_packet_pair(pair) == 0;
	if (ok && fd_nonblock(pair[0], 0) == -1)
		ok = false;
	fault_end();
	if (ok) {
		flags = fcntl(pair[0], F_GETFL);
		ck_assert_int_eq(flags & O_NONBLOCK, 0);
	}
	fd_close(&pair[0]);
	fd_close(&pair[1]);
	fault_begin();
	n = fd_read_file(AT_FDCWD, path, text, sizeof(text));
	fault_end();
	ck_assert(n == 2 ? strcmp(text, "ab") == 0 : n == -1 && *text == '\0');
	unlink(path);
	rmdir(folder);
	return ok && n == 2;
}

static bool
run_folders(void)
{
	struct sockaddr_un	 un;
	char			*dir = NULL;
	int			 sock;
	bool			 ok;

	make_folder();
	fault_begin();
	ok = rundirs_default(&dir) == 0;
	sock = rundirs_listen(folder, "sock", 077, 5);
	fault_end();
	ck_assert_int_eq(rundirs_address(folder, "sock", &un), 0);
	ck_assert(!ok || dir[0] == '/');
	ck_assert(sock == -1 || access(un.sun_path, F_OK) == 0);
	ok = ok && sock != -1;
	fd_close(&sock);
	unlink(un.sun_path);
	rmdir(folder);
	free(dir);
	return ok;
}

static const struct scenario	 list[] = {
	SCENARIO(buffers),
	SCENARIO(maps),
	SCENARIO(channels),
	SCENARIO(signals),
	SCENARIO(configuration),
	SCENARIO(json_and_plan),
	SCENARIO(settings_in_toml),
	SCENARIO(rules_of_networks),
	SCENARIO(secrets),
	SCENARIO(environment),
	SCENARIO(descriptors),
	SCENARIO(run_folders),
};

int
main(void)
{
	return fault_main("fault_common", list,
	    sizeof(list) / sizeof(list[0]));
}
