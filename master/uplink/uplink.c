#include "master/uplink/uplink.h"

#include <assert.h>
#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/limit.h"
#include "common/log.h"
#include "master/uplink/carrier.h"
#include "master/uplink/local_end.h"
#include "master/uplink/uplink_link.h"

static enum answer_kind
kind_of(Ipc__RelayKind kind)
{
	switch (kind) {
	case IPC__RELAY_KIND__CLEAR:
		return ANSWER_CLEAR;
	case IPC__RELAY_KIND__PLAIN:
		return ANSWER_PLAIN;
	default:
		return ANSWER_NOISE;
	}
}

static int
take_secret(struct uplink_env *env, const Ipc__UplinkSecret *in)
{
	if (in->dh.len != NOISE_DH || in->seed.len != MLKEM_SEED_LEN ||
	    in->nonce.len != REGISTRY_NONCE) {
		errno = EINVAL;
		return -1;
	}
	memcpy(env->nonce, in->nonce.data, REGISTRY_NONCE);
	if ((env->identity = sodium_malloc(sizeof(*env->identity))) == NULL)
		return -1;
	return noise_identity_make(env->identity, in->dh.data, in->seed.data);
}

/* The environment does not change: a bad proxy is an error of settings. */
static int
check_proxy(struct uplink *u)
{
	const struct dialer	*d = &u->env.dialer;
	const char		*why = dialer_trouble(d, &u->env.registry.base);

	if (why == NULL && u->is_forward)
		why = dialer_trouble(d, &u->forward);
	if (why == NULL)
		return 0;
	log_warnx("%s", why);
	return -1;
}

static void
on_registered(void *arg, const struct registry_result *res)
{
	struct uplink	*u = arg;

	assert(u->link != NULL);
	if (res->result == IPC__REGISTRATION__REGISTERED) {
		log_info("registered");
		u->env.registered = res->answer;
	}
	uplink_link_answer(u->link, res);
	if (res->result == IPC__REGISTRATION__REGISTERED)
		rendezvous_start(&u->rendezvous);
}

static void
on_register(void *arg)
{
	struct uplink	*u = arg;

	assert(u->link != NULL && u->env.identity != NULL);
	registry_register(&u->env.registry, &u->env.identity->pub,
	    on_registered, u);
}

static struct local_end *
new_local_end(void *arg, const struct local_end_events *events, void *end_arg)
{
	struct uplink	*u = arg;
	struct local_end	*l;
	int		 fd;

	if (u->is_forward)
		return local_end_to_server(&u->env.dialer, &u->forward, events,
		    end_arg);
	assert(u->link != NULL);
	if ((l = local_end_to_worker(&u->env.loop, events, end_arg, &fd)) ==
	    NULL)
		return NULL;
	if (uplink_link_stream(u->link, fd) == -1)
		local_end_free(&l);
	return l;
}

void
uplink_report(struct uplink *u)
{
	const struct rendezvous	*r = &u->rendezvous;
	Ipc__UplinkStatus	 out = IPC__UPLINK_STATUS__INIT;

	wsloop_timer_clear(&u->env.loop, &u->telling);
	u->report_at = 0;
	out.phase = r->phase;
	out.status = r->status;
	out.no_url = r->has_no_url;
	out.streams = carrier_streams(r->carrier);
	out.bytes_in = r->bytes_in;
	out.bytes_out = r->bytes_out;
	uplink_link_status(u->link, &out);
	/* No stream is left: end, so that the master starts a new uplink. */
	if (resolver_is_gone(u->env.resolver) && out.streams == 0)
		wsloop_stop(&u->env.loop);
}

static void
uplink_on_report_timer(void *arg)
{
	uplink_report(arg);
}

static void
on_news(void *arg, uint64_t ms)
{
	struct uplink	*u = arg;
	uint64_t	 at = clock_ms() + ms;

	if (ms == 0) {
		uplink_report(u);
		return;
	}
	if (u->report_at != 0 && u->report_at <= at)
		return;
	u->report_at = at;
	wsloop_timer_set(&u->env.loop, &u->telling, ms, uplink_on_report_timer,
	    u);
}

static void
on_denied(void *arg)
{
	struct uplink	*u = arg;

	uplink_link_denied(u->link);
}

static const struct uplink_events	 env_events = {
	new_local_end, on_news, on_denied
};

/* --- the master --- */

static void
uplink_on_bearer(void *arg, const char *token)
{
	struct uplink	*u = arg;

	if (registry_set_bearer(&u->env.registry, token) == -1)
		log_warn("cannot store the credential");
}

/* Without a registration there was nothing to connect to. */
static bool
uplink_is_registered(void *arg)
{
	const struct uplink	*u = arg;

	return u->rendezvous.phase != IPC__UPLINK_PHASE__IDLE &&
	    u->rendezvous.phase != IPC__UPLINK_PHASE__STALE;
}

static void
uplink_on_adopted(void *arg)
{
	uplink_report(arg);
}

static void
on_gone(void *arg)
{
	struct uplink	*u = arg;

	wsloop_stop(&u->env.loop);
}

static const struct uplink_link_events	 link_events = {
	uplink_on_bearer, on_register, uplink_is_registered,
	uplink_on_adopted, on_gone
};

int
uplink_serve(struct uplink *u, int sock)
{
	assert(u->link == NULL && u->env.start != NULL);
	u->link = uplink_link_new(&u->env.loop, sock, u->env.start->run_dir,
	    u->env.start->orphan_ttl_ms, &link_events, u);
	return u->link == NULL ? -1 : 0;
}

/* --- */

int
uplink_init(struct uplink *u, Ipc__UplinkStart *start,
    const Ipc__UplinkSecret *secret)
{
	char	 shown[200];

	assert(u->env.start == NULL && start != NULL);
	u->env.start = start;
	u->env.events = &env_events;
	u->env.arg = u;
	rendezvous_init(&u->rendezvous, &u->env);
	if (registry_init(&u->env.registry, &u->env.dialer, start->url,
	    kind_of(start->kind), start->environment, start->name,
	    u->env.nonce) == -1) {
		log_warnx("%s: not a valid registry URL or environment "
		    "id", target_show(start->url, shown, sizeof(shown)));
		return -1;
	}
	u->is_forward = start->forward[0] != '\0';
	if (u->is_forward &&
	    target_parse(&u->forward, start->forward, "ws", "wss") == -1) {
		log_warnx("%s: no WebSocket URL", target_show(start->forward,
		    shown, sizeof(shown)));
		return -1;
	}
	if (check_proxy(u) == -1)
		return -1;
	if (take_secret(&u->env, secret) == -1) {
		log_warn("cannot make the key");
		return -1;
	}
	return 0;
}

void
uplink_fini(struct uplink *u)
{
	rendezvous_fini(&u->rendezvous);
	wsloop_timer_clear(&u->env.loop, &u->telling);
	registry_fini(&u->env.registry);
	uplink_link_free(&u->link);
	resolver_free(&u->env.resolver);
	dialer_fini(&u->env.dialer);
	wsloop_fini(&u->env.loop);
	if (u->env.identity != NULL)
		sodium_free(u->env.identity);
	ipc__uplink_start__free_unpacked(u->env.start, NULL);
}
