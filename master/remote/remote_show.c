/* What operators are shown of uplinks. */
#include "master/remote/remote.h"

#include <stdio.h>

#include "master/world.h"

static const struct {
	const char	*name;
	enum gauge	 gauge;
} states[] = {
	[REMOTE_STOPPED] = { "stopped", GAUGE_uplinks_stopped },
	[REMOTE_STARTING] = { "starting", GAUGE_uplinks_starting },
	[REMOTE_REGISTERING] = { "registering", GAUGE_uplinks_registering },
	[REMOTE_WAITING] = { "waiting", GAUGE_uplinks_waiting },
	[REMOTE_REGISTERED] = { "registered", GAUGE_uplinks_registered },
	[REMOTE_REFUSED] = { "refused", GAUGE_uplinks_refused },
	[REMOTE_AWAITED] = { "awaited", GAUGE_uplinks_starting }
};

const char *
remote_state_word(enum remote_state s)
{
	return states[s].name;
}

bool
remote_unready(const struct remotes *us, char *why, size_t size)
{
	const struct remote	*r, *bad = NULL;
	unsigned		 n = 0, registered = 0;
	int			 wanted = us->world->conf.ready_uplinks;

	/* By default clients of our own listeners need no uplink. */
	if (wanted == CONF_READY_AUTO)
		wanted = us->world->conf.listen.n > 0 ? CONF_READY_NONE :
		    CONF_READY_ALL;
	TAILQ_FOREACH(r, &us->list, entry) {
		n++;
		if (r->state == REMOTE_REGISTERED)
			registered++;
		else if (bad == NULL)
			bad = r;
	}
	if (bad == NULL || wanted == CONF_READY_NONE ||
	    (wanted == CONF_READY_ANY && registered > 0))
		return false;
	snprintf(why, size, "uplink %u is %s, %u of %u are registered",
	    bad->number, remote_state_name(bad), registered, n);
	return true;
}

/* What REGISTERED is in truth; of a phase that there is not, that alone. */
static const struct {
	const char	*name;
	enum gauge	 gauge;
} phases[] = {
	[IPC__UPLINK_PHASE__IDLE] = { "registered", GAUGE_uplinks_registered },
	[IPC__UPLINK_PHASE__STALE] = { "registered",
	    GAUGE_uplinks_registered },
	[IPC__UPLINK_PHASE__CONNECTING] = { "connecting",
	    GAUGE_uplinks_connecting },
	[IPC__UPLINK_PHASE__CONNECTED] = { "connected",
	    GAUGE_uplinks_connected },
	[IPC__UPLINK_PHASE__PAUSING] = { "pausing", GAUGE_uplinks_pausing }
};

static bool
has_phase(const struct remote *r)
{
	return r->state == REMOTE_REGISTERED && (unsigned)r->phase <
	    sizeof(phases) / sizeof(phases[0]);
}

const char *
remote_state_name(const struct remote *r)
{
	return has_phase(r) ? phases[r->phase].name : states[r->state].name;
}

enum gauge
remote_gauge(const struct remote *r)
{
	return has_phase(r) ? phases[r->phase].gauge : states[r->state].gauge;
}

void
remote_trouble(const struct remote *r, char *out, size_t size)
{
	const char	*auth = r->status == 401 || r->status == 403 ?
			    "authentication failed, " : "";

	if (r->has_bad_settings) {
		snprintf(out, size, "settings cannot be used");
		return;
	}
	switch (r->result) {
	case IPC__REGISTRATION__REGISTERED:
		out[0] = '\0';
		if (r->refusal != 0)
			snprintf(out, size, "rendezvous: status %u",
			    r->refusal);
		else if (r->has_no_url)
			snprintf(out, size, "rendezvous: URL cannot be used");
		break;
	case IPC__REGISTRATION__CONTENDED:
		snprintf(out, size, "busy, status %u", r->status);
		break;
	case IPC__REGISTRATION__NONSENSE:
		snprintf(out, size, "not a valid answer");
		break;
	case IPC__REGISTRATION__REFUSED:
		snprintf(out, size, "%sstatus %u", auth, r->status);
		break;
	default:
		snprintf(out, size, "no answer from the registry");
		break;
	}
}
