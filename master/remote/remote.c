#include "master/remote/remote.h"

#include <sys/wait.h>

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/ev.h"
#include "common/fd.h"
#include "common/limit.h"
#include "common/linux/ptree.h"
#include "common/log.h"
#include "common/net/target.h"
#include "master/accept/gate.h"
#include "master/accept/listen.h"
#include "master/accept/policy.h"
#include "master/auth/runas.h"
#include "master/logs/audit.h"
#include "master/logs/logto.h"
#include "common/process/sdnotify.h"
#include "master/remote/remote_check.h"
#include "master/remote/remote_exec.h"
#include "master/workers/records.h"
#include "master/world.h"

/* Bytes of a run's secrets: X25519, ML-KEM (d || z), and a nonce. */
#define DH_LEN		32
#define SEED_LEN	64
#define NONCE_LEN	16
#define SECRET_LEN	(DH_LEN + SEED_LEN + NONCE_LEN)

#define DENIALS_MAX	3	/* 401 or 403 in a row: give up */
#define EXIT_SETTINGS	2	/* status of an uplink: unusable settings */
#define LAG_MS		20	/* of time(2), at most */
#define COME_MS		10000	/* until a process of a former master does */
#define EXIT_UNKNOWN	(1 << 8)	/* of one that is not our child */

/* The states that may follow each, as bits. */
static const unsigned	 states[] = {
#define TO(state)	(1u << REMOTE_##state)
	[REMOTE_STOPPED] = TO(STARTING) | TO(REFUSED) | TO(AWAITED),
	[REMOTE_STARTING] = TO(REGISTERING) | TO(STOPPED),
	[REMOTE_REGISTERING] = TO(WAITING) | TO(REGISTERED) | TO(REFUSED) |
	    TO(STOPPED),
	[REMOTE_WAITING] = TO(REGISTERING) | TO(STOPPED),
	[REMOTE_REGISTERED] = TO(WAITING) | TO(STOPPED),
	[REMOTE_REFUSED] = TO(REGISTERING) | TO(STOPPED),
	[REMOTE_AWAITED] = TO(REGISTERED) | TO(WAITING) | TO(STOPPED)
#undef TO
};

static void	 remote_on_timer(void *);
static void	 remote_tell_all(void *);

/* Report the state by --notify-fd. */
static void
report_to_starter(struct remote *r)
{
	char	 trouble[REMOTE_TROUBLE] = "", text[2 * REMOTE_TROUBLE];

	/* Before the first answer there is no trouble. */
	if (r->attempts > 1 || (r->state != REMOTE_STARTING &&
	    r->state != REMOTE_REGISTERING))
		remote_trouble(r, trouble, sizeof(trouble));
	snprintf(text, sizeof(text), trouble[0] != '\0' ? "%s: %s" : "%s%s",
	    remote_state_name(r), trouble);
	sdnotify_uplink(r->all->sdnotify, r->number,
	    r->state == REMOTE_REGISTERED, text, remote_tell_all, r->all);
}

static void
remote_tell_all(void *arg)
{
	struct remotes	*us = arg;
	struct remote	*r;

	TAILQ_FOREACH(r, &us->list, entry)
		report_to_starter(r);
}

static void
remote_set_state(struct remote *r, enum remote_state to)
{
	if (r->state == to)
		return;
	if ((states[r->state] & (1u << to)) == 0)
		fatalx("uplink %u: %s -> %s", r->number,
		    remote_state_word(r->state), remote_state_word(to));
	log_debug("uplink %u: %s -> %s", r->number,
	    remote_state_word(r->state), remote_state_word(to));
	r->state = to;
	r->since = clock_ms();
	report_to_starter(r);
}

/*
 * Register in ms, but at least LIMIT_UPLINK_SPACING after the last request
 * ended, so that the registry, too, counts no more than one per second.
 */
static void
register_in(struct remote *r, uint64_t ms)
{
	uint64_t	 age = clock_ms() - r->ended;

	assert(r->state == REMOTE_STOPPED || r->state == REMOTE_WAITING ||
	    r->state == REMOTE_REFUSED);
	if (age < LIMIT_UPLINK_SPACING && ms < LIMIT_UPLINK_SPACING - age)
		ms = LIMIT_UPLINK_SPACING - age;
	timer_set(&r->timer_ev, ms);
}

static void
remote_audit(const struct remote *r, enum audit_event event, const char *why)
{
	audit(r->all->world, &(struct audit_what){ .event = event,
	    .uplink = AUDIT_N(r->number), .name = r->conf->label,
	    .environment = r->conf->environment, .why = why });
}

/* --- its record --- */

static void
remote_record(struct remote *r, uint64_t started)
{
	struct record	 rec;

	if (r->all->world->records == NULL)
		return;
	memset(&rec, 0, sizeof(rec));
	rec.kind = RECORD_UPLINK;
	rec.number = r->number;
	rec.pid = r->pid;
	rec.uid = r->pid_uid;
	rec.started = started;
	rec.born = r->started;
	remote_fingerprint(&r->all->world->conf, r->conf, rec.id,
	    sizeof(rec.id));
	if (records_put(r->all->world->records, &r->slot, &rec) == -1)
		log_warn("uplink %u cannot be recorded: it will end with this "
		    "daemon", r->number);
}

static void
remote_kill(const struct remote *r)
{
	ptree_signal(r->pid, r->pidfd, SIGKILL);
}

/* --- credentials --- */

/*
 * ms until a credential expires: not in whole seconds, which would be up to one
 * too many, and after the second that time(2) sees, as it may lag.
 */
static uint64_t
until(uint64_t expires)
{
	int64_t	 ms = (int64_t)(expires * 1000 - clock_wall_ms());

	return ms < 0 ? LAG_MS : (uint64_t)ms + LAG_MS;
}

/* Send the current credential to the process. */
static void
remote_send_bearer(struct remote *r)
{
	Ipc__UplinkBearer	 out = IPC__UPLINK_BEARER__INIT;

	timer_stop(&r->expire_ev);
	if (cred_is_good(&r->cred)) {
		out.token = r->cred.token;
		if (r->cred.expires != 0)
			timer_set(&r->expire_ev, until(r->cred.expires));
	}
	if (r->chan != NULL)
		chan_send(r->chan, IPC_uplink_bearer, &out, -1);
}

static void
on_expiry(void *arg)
{
	struct remote	*r = arg;

	assert(r->cred.expires != 0);
	log_warnx("uplink %u: its credential has expired", r->number);
	remote_send_bearer(r);
}

/* The file may have a new one.  Whoever asks us for it may be broken. */
static void
remote_refresh(struct remote *r)
{
	uint64_t	 now = clock_ms();
	char		 why[128];

	assert(r->chan != NULL);
	if (r->cred.source != CRED_FILE ||
	    (r->refreshed != 0 && now - r->refreshed < LIMIT_UPLINK_REFRESH))
		return;
	r->refreshed = now;
	if (cred_read_file(&r->cred, r->conf->credential_file, why,
	    sizeof(why)) == -1)
		log_warnx("uplink %u: %s: %s", r->number,
		    r->conf->credential_file, why);
	else
		remote_send_bearer(r);
}

/* --- registration --- */

static void
do_register(struct remote *r)
{
	Ipc__UplinkRegister	 out = IPC__UPLINK_REGISTER__INIT;

	assert(r->chan != NULL && r->state != REMOTE_STOPPED);
	r->attempts++;
	remote_set_state(r, REMOTE_REGISTERING);
	chan_send(r->chan, IPC_uplink_register, &out, -1);
}

/* Give up, or retry after UplinkRetryRefused. */
static void
remote_give_up(struct remote *r)
{
	struct remotes		*us = r->all;
	const struct world	*w = us->world;
	struct remote		*other;
	char			 why[REMOTE_TROUBLE];

	remote_set_state(r, REMOTE_REFUSED);
	remote_trouble(r, why, sizeof(why));
	log_warnx("uplink %u: registration refused (%s)", r->number, why);
	remote_audit(r, AUDIT_uplink_refused, why);
	if (w->conf.uplink_retry > 0 && !r->has_bad_settings) {
		register_in(r, w->conf.uplink_retry);
		return;
	}
	/* If nothing can ever connect: end. */
	TAILQ_FOREACH(other, &us->list, entry)
		if (other->state != REMOTE_REFUSED)
			return;
	if (TAILQ_EMPTY(&us->listeners->list) && !w->start.is_stdio)
		w->events->fail(w->master, "every registration was refused "
		    "permanently");
}

static void
next_window(struct remote *r)
{
	r->window = r->window * 2 < LIMIT_UPLINK_RETRY_MAX ? r->window * 2 :
	    LIMIT_UPLINK_RETRY_MAX;
}

/*
 * 0.5, 1, 2, 4, 5, 5 ... s and at random up to half more (PROTOCOL 12.3), but
 * never less than LIMIT_UPLINK_SPACING, to which the random part is added too.
 */
static void
wait_and_register(struct remote *r, uint64_t at_least)
{
	uint64_t	 ms = r->window < LIMIT_UPLINK_SPACING ?
			    LIMIT_UPLINK_SPACING : r->window;
	char		 why[REMOTE_TROUBLE];

	assert(r->window != 0);
	ms += randombytes_uniform((uint32_t)r->window / 2 + 1);
	next_window(r);
	if (ms < at_least)
		ms = at_least;
	remote_trouble(r, why, sizeof(why));
	/* It goes on for as long as the registry is away. */
	if (repeat_is_due(&r->said, why, clock_ms()))
		log_info("uplink %u: registration: %s; it is tried again, and "
		    "told once an hour", r->number, why);
	else
		log_debug("uplink %u: registration: %s; next attempt in "
		    "%llu ms", r->number, why, (unsigned long long)ms);
	remote_set_state(r, REMOTE_WAITING);
	register_in(r, ms);
}

static bool
remote_is_passing(unsigned status)
{
	return status == 408 || status == 429 || status >= 500;
}

static void
on_refusal(struct remote *r, const Ipc__UplinkAnswer *in)
{
	assert(r->state == REMOTE_REGISTERING);
	if (in->status == 401 || in->status == 403) {
		if (++r->denials >= DENIALS_MAX) {
			remote_give_up(r);
			return;
		}
		remote_refresh(r);
		wait_and_register(r, in->retry_after_ms);
	} else if (remote_is_passing(in->status)) {
		wait_and_register(r, in->retry_after_ms);
	} else {
		remote_give_up(r);
	}
}

static void
remote_on_answer(struct remote *r, const Ipc__UplinkAnswer *in)
{
	if (r->state != REMOTE_REGISTERING ||
	    in->retry_after_ms > LIMIT_UPLINK_RETRY_AFTER)
		return;
	r->ended = clock_ms();
	r->result = in->result;
	r->status = in->status;
	switch (in->result) {
	case IPC__REGISTRATION__REGISTERED:
		r->window = LIMIT_UPLINK_RETRY;
		r->attempts = r->denials = 0;
		remote_set_state(r, REMOTE_REGISTERED);
		repeat_end(&r->said);
		log_info("uplink %u: %s is registered", r->number,
		    r->conf->label);
		remote_audit(r, AUDIT_uplink_registered, NULL);
		break;
	case IPC__REGISTRATION__REFUSED:
		on_refusal(r, in);
		break;
	case IPC__REGISTRATION__NONSENSE:
		remote_give_up(r);
		break;
	default:
		wait_and_register(r, in->retry_after_ms);
		break;
	}
}

/* The registration is no longer valid: register again soon. */
static void
on_stale(struct remote *r)
{
	if (r->state != REMOTE_REGISTERED)
		return;
	remote_set_state(r, REMOTE_WAITING);
	register_in(r, 0);
}

static void
on_status(struct remote *r, const Ipc__UplinkStatus *in)
{
	if (r->phase != in->phase || r->refusal != in->status) {
		r->phase = in->phase;
		r->refusal = in->status;
		report_to_starter(r);
	}
	r->streams = in->streams;
	r->bytes_in = in->bytes_in;
	r->bytes_out = in->bytes_out;
	r->has_no_url = in->no_url;
	if (in->phase == IPC__UPLINK_PHASE__STALE)
		on_stale(r);
}

/* --- streams --- */

/* A stream is a connection of a peer that the registry admitted. */
static void
remote_on_stream(struct remote *r, struct ipc_msg *msg)
{
	struct remotes	*us = r->all;
	struct peer	 p;
	bool		 full;

	STAT_INC(us->world, accepted);
	if (msg->fd == -1 || world_is_stopping(us->world))
		return;
	memset(&p, 0, sizeof(p));
	p.known = true;
	p.uid = r->uid;
	p.has_gid = r->has_gid;
	p.gid = r->gid;
	p.uplink = r->number;
	p.is_strict = r->conf->transport == CONF_TRANSPORT_NOISE;
	snprintf(p.text, sizeof(p.text), "remote %.70s", r->conf->label);
	snprintf(p.user, sizeof(p.user), "remote %u", r->number);
	snprintf(p.source, sizeof(p.source), "%s", p.user);
	p.client_uid = r->uid;
	p.has_client_gid = r->has_gid;
	p.client_gid = r->gid;
	snprintf(p.identity, sizeof(p.identity), "remote:%.70s",
	    r->conf->environment);
	strcpy(p.address, "remote");
	snprintf(p.listener, sizeof(p.listener), "uplink:%.150s",
	    r->conf->label);
	/* Without HTTP there is no refusal: close it. */
	if (policy_admit(us->world, us->routes, &p, &full) != 0)
		return;
	gate_enqueue(us->gate, msg->fd, &p, 0, full);
	msg->fd = -1;
}

/* --- the process --- */

/* It has its keys, its credential and perhaps its registration. */
static void
remote_on_orphan(struct remote *r, const Ipc__UplinkOrphan *in)
{
	Ipc__UplinkAdopted	 out = IPC__UPLINK_ADOPTED__INIT;
	Ipc__UplinkLog		 pipe = IPC__UPLINK_LOG__INIT;

	timer_stop(&r->timer_ev);
	chan_send(r->chan, IPC_uplink_adopted, &out, -1);
	if (r->all->world->logs.file != NULL)
		chan_send(r->chan, IPC_uplink_log, &pipe,
		    logto_stderr(&r->all->world->logs));
	remote_send_bearer(r);
	if (in->registered) {
		r->result = IPC__REGISTRATION__REGISTERED;
		remote_set_state(r, REMOTE_REGISTERED);
	} else {
		remote_set_state(r, REMOTE_WAITING);
		register_in(r, 0);
	}
	log_info("uplink %u: %s is adopted", r->number, r->conf->label);
}

static void
remote_on_msg(void *arg, struct ipc_msg *msg)
{
	struct remote	*r = arg;

	assert(r->chan != NULL && r->state != REMOTE_STOPPED);
	if ((msg->kind == IPC_uplink_orphan) != (r->state == REMOTE_AWAITED)) {
		STAT_INC(r->all->world, violations);
		log_warnx("uplink %u: unexpected message: its process is "
		    "killed", r->number);
		remote_kill(r);
		return;
	}
	switch (msg->kind) {
	case IPC_uplink_orphan:
		remote_on_orphan(r, (const Ipc__UplinkOrphan *)msg->body);
		break;
	case IPC_uplink_answer:
		remote_on_answer(r, (const Ipc__UplinkAnswer *)msg->body);
		break;
	case IPC_uplink_status:
		on_status(r, (const Ipc__UplinkStatus *)msg->body);
		break;
	case IPC_uplink_denied:
		remote_refresh(r);
		break;
	default:
		remote_on_stream(r, msg);
		break;
	}
}

/* The process is gone: start another one, later if it had not registered. */
static void
restart(struct remote *r)
{
	assert(r->state != REMOTE_STOPPED);
	chan_free(&r->chan);
	if (r->state == REMOTE_REGISTERING)
		r->ended = clock_ms();
	remote_set_state(r, REMOTE_STOPPED);
	r->phase = IPC__UPLINK_PHASE__IDLE;
	r->streams = 0;
	if (world_is_stopping(r->all->world))
		return;
	r->restarts++;
	log_warnx("uplink %u: its process died", r->number);
	remote_audit(r, AUDIT_uplink_lost, NULL);
	register_in(r, r->window);
	next_window(r);
}

static void
remote_on_chan_end(void *arg, int error)
{
	struct remote	*r = arg;

	assert(r->chan != NULL);
	if (error == EPROTO) {
		STAT_INC(r->all->world, violations);
		log_warnx("uplink %u: malformed message: its process is killed",
		    r->number);
	}
	if (r->pid != 0)
		remote_kill(r);
	restart(r);
}

static void
remote_send_start(struct remote *r)
{
	const struct conf	*c = &r->all->world->conf;
	Ipc__UplinkStart	 start = IPC__UPLINK_START__INIT;
	Ipc__UplinkSecret	 secret = IPC__UPLINK_SECRET__INIT;

	assert(r->chan != NULL && r->secret != NULL);
	start.url = r->conf->url;
	start.environment = r->conf->environment;
	start.name = r->conf->name;
	start.kind = (Ipc__RelayKind)r->conf->transport;
	start.ca_file = r->conf->ca_file[0] != '\0' ? r->conf->ca_file :
	    c->uplink_ca_file;
	start.forward = r->conf->forward;
	start.log_level = (uint32_t)c->log_level;
	start.number = r->number;
	if (r->all->world->rundir.path != NULL)
		start.run_dir = r->all->world->rundir.path;
	start.orphan_ttl_ms = c->orphan_ttl;
	chan_send(r->chan, IPC_uplink_start, &start, -1);
	secret.dh.data = r->secret;
	secret.dh.len = DH_LEN;
	secret.seed.data = r->secret + DH_LEN;
	secret.seed.len = SEED_LEN;
	secret.nonce.data = r->secret + DH_LEN + SEED_LEN;
	secret.nonce.len = NONCE_LEN;
	chan_send(r->chan, IPC_uplink_secret, &secret, -1);
	remote_send_bearer(r);
}

static void
remote_start(struct remote *r)
{
	struct remotes	*us = r->all;
	int		 sock;

	assert(r->state == REMOTE_STOPPED && r->chan == NULL);
	r->started = clock_ms();
	remote_set_state(r, REMOTE_STARTING);
	if ((r->pid = remote_exec(us->world, us->uid, us->gid, &sock)) == 0 ||
	    (r->chan = chan_new(us->world->base, sock, IPC_ROLE_MASTER,
	    IPC_ROLE_UPLINK, remote_on_msg, remote_on_chan_end, r)) == NULL) {
		log_warn("uplink %u", r->number);
		if (r->pid != 0)
			fd_close(&sock);
		restart(r);
		return;
	}
	r->pid_uid = us->world->start.is_root ? us->uid : geteuid();
	remote_record(r, ptree_now());
	remote_send_start(r);
	do_register(r);
}

static void
remote_on_timer(void *arg)
{
	struct remote	*r = arg;

	if (world_is_stopping(r->all->world))
		return;
	assert(r->state == REMOTE_AWAITED || (r->state == REMOTE_STOPPED) ==
	    (r->chan == NULL));
	if (r->state == REMOTE_AWAITED && r->pid != 0)
		remote_kill(r);		/* its end starts another one */
	else if (r->state == REMOTE_STOPPED && r->pid != 0)
		timer_set(&r->timer_ev, LIMIT_UPLINK_SPACING);
	else if (r->state == REMOTE_STOPPED)
		remote_start(r);
	else if (r->state == REMOTE_WAITING || r->state == REMOTE_REFUSED)
		do_register(r);
}

/* Another process would end the same way: do not start one. */
static void
refuse_settings(struct remote *r)
{
	assert(r->pid == 0);
	if (r->state != REMOTE_STOPPED)
		return;
	timer_stop(&r->timer_ev);
	r->has_bad_settings = true;
	remote_give_up(r);
}

/* Its process has ended. */
static void
remote_forget_process(struct remote *r)
{
	io_stop(&r->pidfd_ev);
	fd_close(&r->pidfd);
	r->pid = 0;
	if (r->all->world->records != NULL)
		records_drop(r->all->world->records, &r->slot);
}

bool
remote_on_exit(struct remotes *us, pid_t pid, int status)
{
	struct remote	*r;

	TAILQ_FOREACH(r, &us->list, entry) {
		if (r->pid != pid)
			continue;
		remote_forget_process(r);
		if (WIFEXITED(status) && WEXITSTATUS(status) == 126)
			log_warnx("cannot execute %s", us->world->start.uplink);
		else if (WIFSIGNALED(status) && !world_is_stopping(us->world))
			log_warnx("uplink %u: killed by signal %d", r->number,
			    WTERMSIG(status));
		if ((r->chan != NULL || r->state == REMOTE_AWAITED) &&
		    !world_is_stopping(us->world))
			restart(r);
		if (WIFEXITED(status) && !world_is_stopping(us->world) &&
		    WEXITSTATUS(status) == EXIT_SETTINGS)
			refuse_settings(r);
		return true;
	}
	return false;
}

bool
remote_has(const struct remotes *us, pid_t pid)
{
	const struct remote	*r;

	TAILQ_FOREACH(r, &us->list, entry)
		if (r->pid == pid)
			return true;
	return false;
}

/* --- one of a former master --- */

/* Not our child: nobody tells how it ended. */
static void
remote_on_pidfd(void *arg)
{
	struct remote	*r = arg;
	struct remotes	*us = r->all;

	remote_on_exit(us, r->pid, EXIT_UNKNOWN);
	if (world_is_stopping(us->world))
		us->world->events->on_child_gone(us->world->master);
}

bool
remote_former(struct remotes *us, const struct record *rec, int *pidfd)
{
	struct remote	*r;
	char		 settings[sizeof(rec->id)];

	TAILQ_FOREACH(r, &us->list, entry)
		if (r->number == rec->number)
			break;
	if (r == NULL || r->state != REMOTE_STOPPED || r->pid != 0)
		return false;
	remote_fingerprint(&us->world->conf, r->conf, settings,
	    sizeof(settings));
	if (strcmp(settings, rec->id) != 0)
		return false;
	io_init(&r->pidfd_ev, us->world->base, *pidfd, EV_READ,
	    remote_on_pidfd, r);
	if (*pidfd != -1 && io_start(&r->pidfd_ev) == -1)
		return false;
	r->pidfd = *pidfd;
	*pidfd = -1;
	r->pid = (pid_t)rec->pid;
	r->pid_uid = (uid_t)rec->uid;
	r->started = rec->born;
	remote_set_state(r, REMOTE_AWAITED);
	timer_set(&r->timer_ev, COME_MS);
	remote_record(r, rec->started);
	return true;
}

struct remote *
remote_find_awaited(struct remotes *us, pid_t pid)
{
	struct remote	*r;

	TAILQ_FOREACH(r, &us->list, entry)
		if (r->state == REMOTE_AWAITED && r->pid == pid &&
		    r->chan == NULL)
			return r;
	return NULL;
}

int
remote_come(struct remote *r, int sock)
{
	assert(r->state == REMOTE_AWAITED && r->chan == NULL);
	r->chan = chan_new(r->all->world->base, sock, IPC_ROLE_MASTER,
	    IPC_ROLE_UPLINK, remote_on_msg, remote_on_chan_end, r);
	return r->chan == NULL ? -1 : 0;
}

/* --- all of them --- */

static int
remote_add(struct remotes *us, struct remote *r, const struct cred *env)
{
	struct conf_error	 e;
	struct runas		 user;

	TAILQ_INSERT_TAIL(&us->list, r, entry);
	r->window = LIMIT_UPLINK_RETRY;
	r->since = clock_ms();
	r->pidfd = r->slot = -1;
	timer_init(&r->timer_ev, us->world->base, remote_on_timer, r);
	timer_init(&r->expire_ev, us->world->base, on_expiry, r);
	if ((r->secret = sodium_malloc(SECRET_LEN)) == NULL) {
		log_warn("cannot create an uplink");
		return -1;
	}
	randombytes_buf(r->secret, SECRET_LEN);
	if (remote_find_user(&us->world->conf, r->conf, &user, &e) == -1) {
		log_warnx("%s", e.text);
		return -1;
	}
	r->uid = user.uid;
	r->gid = user.gid;
	r->has_gid = user.has_gid;
	/* Perhaps it has one from standard input. */
	return r->cred.source != CRED_NONE ? 0 :
	    remote_find_cred(r->conf, env, &r->cred);
}

int
remote_init(struct remotes *us, const struct cred *env)
{
	struct remote_stdin	*in = &us->stdin;
	struct remote		*r;
	size_t			 i;

	assert(TAILQ_EMPTY(&us->list));
	for (i = 0; i < us->world->conf.nuplink; i++) {
		if ((r = calloc(1, sizeof(*r))) == NULL) {
			log_warn("cannot create an uplink");
			return -1;
		}
		r->all = us;
		r->conf = &us->world->conf.uplink[i];
		r->number = (unsigned)i + 1;
		if (r->conf->from_stdin != CONF_STDIN_NO) {
			r->cred = in->cred;
			memset(&in->cred, 0, sizeof(in->cred));
		}
		if (remote_add(us, r, env) == -1)
			return -1;
	}
	return 0;
}

void
remote_start_all(struct remotes *us)
{
	struct remote	*r;

	TAILQ_FOREACH(r, &us->list, entry)
		if (r->state == REMOTE_STOPPED)
			remote_start(r);
}

void
remote_stop_all(struct remotes *us)
{
	struct remote		*r;
	Ipc__UplinkStop		 out = IPC__UPLINK_STOP__INIT;

	TAILQ_FOREACH(r, &us->list, entry) {
		timer_stop(&r->timer_ev);
		timer_stop(&r->expire_ev);
		if (r->chan != NULL)
			chan_send(r->chan, IPC_uplink_stop, &out, -1);
		else if (r->state == REMOTE_AWAITED && r->pid != 0)
			remote_kill(r);
		chan_free(&r->chan);
	}
}

void
remote_free_all(struct remotes *us)
{
	struct remote	*r;

	while ((r = TAILQ_FIRST(&us->list)) != NULL) {
		TAILQ_REMOVE(&us->list, r, entry);
		chan_free(&r->chan);
		timer_stop(&r->timer_ev);
		timer_stop(&r->expire_ev);
		io_stop(&r->pidfd_ev);
		fd_close(&r->pidfd);
		if (r->secret != NULL)
			sodium_free(r->secret);
		cred_fini(&r->cred);
		free(r);
	}
}

bool
remote_is_gone(const struct remotes *us)
{
	const struct remote	*r;

	TAILQ_FOREACH(r, &us->list, entry)
		if (r->pid != 0)
			return false;
	return true;
}

void
remote_kill_all(struct remotes *us)
{
	const struct remote	*r;

	TAILQ_FOREACH(r, &us->list, entry)
		if (r->pid != 0)
			remote_kill(r);
}

/* --- credentials on standard input --- */

/* Return the uplink whose credentials come from standard input, or NULL. */
static struct remote *
remote_of_stdin(const struct remotes *us)
{
	struct remote	*r;

	TAILQ_FOREACH(r, &us->list, entry)
		if (r->conf->from_stdin != CONF_STDIN_NO)
			break;
	return r;
}

bool
remote_reads_stdin(const struct remotes *us)
{
	return remote_of_stdin(us) != NULL;
}

static void
remote_on_stdin_line(void *arg, char *line, size_t len)
{
	struct remote	*r = remote_of_stdin(arg);
	char		 why[128];

	if (r == NULL || r->cred.source != CRED_FRAMES)
		return;
	if (cred_take_frame(&r->cred, line, len, r->conf->environment, why,
	    sizeof(why)) == -1)
		log_warnx("uplink %u: a credential is not accepted: %s",
		    r->number, why);
	else
		remote_send_bearer(r);
}

static void
remote_on_stdin_end(void *arg)
{
	struct remotes	*us = arg;

	us->world->events->stop(us->world->master, "standard input was closed");
}

static const struct remote_stdin_events	 stdin_events = {
	remote_on_stdin_line, remote_on_stdin_end
};

int
remote_watch_stdin(struct remotes *us, bool ends_us)
{
	struct remote	*r = remote_of_stdin(us);

	if (!ends_us && (r == NULL || r->cred.source != CRED_FRAMES))
		return 0;
	if (remote_stdin_watch(&us->stdin, us->world->base, &stdin_events,
	    us) == -1) {
		log_warn("standard input");
		return -1;
	}
	return 0;
}
