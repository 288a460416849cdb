#include "master/accept/policy.h"

#include <sys/resource.h>

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "common/log.h"
#include "master/auth/allow.h"
#include "master/auth/names.h"
#include "master/auth/tokens.h"
#include "master/logs/audit.h"
#include "master/workers/route.h"
#include "master/world.h"

enum {
#define RLIMIT_ROW(name, member)	ROW_##name,
#include "proto/rlimit.def"
#undef RLIMIT_ROW
	ROWS
};
_Static_assert(ROWS == POLICY_RLIMITS, "room for all of them");

struct user {
	char	*name;
	uid_t	 uid;
	gid_t	 gid;
	char	**group;
	size_t	 ngroup;
};

/* The users known by name; other: a group, for uids that are not known. */
struct policy {
	struct user	*user;
	size_t		 nuser;
	struct user	*other;
	size_t		 nother;
	bool		 denies_unknown;	/* DenyUsers has patterns or
						   unknown names */
};

/* --- names --- */

static struct user *
policy_find_name(const struct policy *p, const char *name)
{
	size_t	 i;

	for (i = 0; i < p->nuser; i++)
		if (strcmp(p->user[i].name, name) == 0)
			return &p->user[i];
	return NULL;
}

static const struct user *
find_uid(const struct policy *p, uid_t uid)
{
	size_t	 i;

	for (i = 0; i < p->nuser; i++)
		if (p->user[i].uid == uid)
			return &p->user[i];
	return NULL;
}

/* 0, or -1 with errno ENOMEM. */
static int
add_user(struct policy *p, const struct passwd *pw)
{
	struct user	*u;

	if (policy_find_name(p, pw->pw_name) != NULL)
		return 0;
	if ((u = reallocarray(p->user, p->nuser + 1, sizeof(*u))) == NULL)
		return -1;
	p->user = u;
	u += p->nuser;
	memset(u, 0, sizeof(*u));
	if ((u->name = strdup(pw->pw_name)) == NULL)
		return -1;
	u->uid = pw->pw_uid;
	u->gid = pw->pw_gid;
	p->nuser++;
	return 0;
}

static int
add_group_to(struct user *u, const char *name)
{
	char	**group;

	if ((group = reallocarray(u->group, u->ngroup + 1,
	    sizeof(*group))) == NULL)
		return -1;
	u->group = group;
	if ((group[u->ngroup] = strdup(name)) == NULL)
		return -1;
	u->ngroup++;
	return 0;
}

static struct user *
find_other(const struct policy *p, gid_t gid)
{
	size_t	 i;

	for (i = 0; i < p->nother; i++)
		if (p->other[i].gid == gid)
			return &p->other[i];
	return NULL;
}

/* Add a group for users that are not known by name. */
static int
add_other(struct policy *p, const struct group *gr)
{
	struct user	*u;

	if ((u = find_other(p, gr->gr_gid)) != NULL)
		return add_group_to(u, gr->gr_name);
	if ((u = reallocarray(p->other, p->nother + 1, sizeof(*u))) == NULL)
		return -1;
	p->other = u;
	u += p->nother++;
	memset(u, 0, sizeof(*u));
	u->gid = gr->gr_gid;
	return add_group_to(u, gr->gr_name);
}

/* Add a group to its members, by gid and by name. */
static int
add_group(struct policy *p, const struct group *gr)
{
	struct user	*u;
	size_t		 i;
	char		**name;

	if (add_other(p, gr) == -1)
		return -1;
	for (i = 0; i < p->nuser; i++)
		if (p->user[i].gid == gr->gr_gid &&
		    add_group_to(&p->user[i], gr->gr_name) == -1)
			return -1;
	for (name = gr->gr_mem; *name != NULL; name++)
		if ((u = policy_find_name(p, *name)) != NULL &&
		    u->gid != gr->gr_gid &&
		    add_group_to(u, gr->gr_name) == -1)
			return -1;
	return 0;
}

typedef int	 name_fn(struct policy *p, const char *name);

struct look {
	struct policy	*p;
	name_fn		*fn;
};

static int
look_up_one(void *arg, const char *name, bool is_pattern)
{
	const struct look	*l = arg;

	return is_pattern ? 0 : l->fn(l->p, name);
}

static int
look_up_list(void *arg, const char *keyword, const char *where,
    const char *list)
{
	(void)keyword;
	(void)where;
	return allow_names(list, look_up_one, arg);
}

/* Call fn for each name in the lists of patterns that is not a pattern. */
static int
for_names(struct policy *p, const struct conf *c, bool is_group, name_fn *fn)
{
	struct look	 l = { p, fn };

	return allow_each(c, is_group, look_up_list, &l);
}

static int
look_up_user(struct policy *p, const char *name)
{
	const struct passwd	*pw;

	if (policy_find_name(p, name) != NULL)
		return 0;
	if ((pw = names_user(name)) == NULL)
		return errno == 0 ? 0 : -1;
	return add_user(p, pw);
}

/* Look up the members of a group: they may not be in /etc/passwd. */
static int
look_up_members(struct policy *p, const char *name)
{
	const struct group	*gr;
	char			**member;

	if ((gr = names_group(name)) == NULL)
		return errno == 0 ? 0 : -1;
	for (member = gr->gr_mem; *member != NULL; member++)
		if (look_up_user(p, *member) == -1)
			return -1;
	return 0;
}

static bool
is_in_group(const struct policy *p, const char *name)
{
	size_t	 i, k;

	for (i = 0; i < p->nuser; i++)
		for (k = 0; k < p->user[i].ngroup; k++)
			if (strcmp(p->user[i].group[k], name) == 0)
				return true;
	return false;
}

static int
look_up_group(struct policy *p, const char *name)
{
	const struct group	*gr;

	if (is_in_group(p, name))
		return 0;
	if ((gr = names_group(name)) == NULL)
		return errno == 0 ? 0 : -1;
	return add_group(p, gr);
}

static int
read_passwd(struct policy *p)
{
	struct passwd	*pw;
	FILE		*f;
	int		 r = 0;

	if ((f = fopen("/etc/passwd", "re")) == NULL)
		return errno == ENOENT ? 0 : -1;
	while (r == 0 && (pw = fgetpwent(f)) != NULL)
		r = add_user(p, pw);
	fclose(f);
	return r;
}

static int
read_group(struct policy *p)
{
	struct group	*gr;
	FILE		*f;
	int		 r = 0;

	if ((f = fopen("/etc/group", "re")) == NULL)
		return errno == ENOENT ? 0 : -1;
	while (r == 0 && (gr = fgetgrent(f)) != NULL)
		r = add_group(p, gr);
	fclose(f);
	return r;
}

static int
note_list(void *arg, const char *keyword, const char *where, const char *list)
{
	(void)keyword;
	(void)where;
	(void)list;
	*(bool *)arg = true;
	return 0;
}

static int
note_unknown(void *arg, const char *name, bool is_pattern)
{
	struct policy	*p = arg;

	p->denies_unknown |= is_pattern || policy_find_name(p, name) == NULL;
	return 0;
}

static int
note_denied(void *arg, const char *keyword, const char *where,
    const char *list)
{
	(void)where;
	return strcmp(keyword, "DenyUsers") != 0 ? 0 :
	    allow_names(list, note_unknown, arg);
}

/* Users before groups: add_group() needs to know the members. */
static int
look_up_all(struct policy *p, const struct conf *c)
{
	bool	 has_users = false, has_groups = false;

	if (allow_each(c, false, note_list, &has_users) == -1 ||
	    allow_each(c, true, note_list, &has_groups) == -1)
		return -1;
	if ((has_groups || has_users) && (read_passwd(p) == -1 ||
	    for_names(p, c, false, look_up_user) == -1 ||
	    allow_each(c, false, note_denied, p) == -1))
		return -1;
	return !has_groups || (for_names(p, c, true, look_up_members) == 0 &&
	    read_group(p) == 0 && for_names(p, c, true, look_up_group) == 0) ?
	    0 : -1;
}

/* --- SessionUser --- */

static int
check_user(struct policy *p, const char *name, const char *where,
    struct conf_error *e)
{
	const struct user	*u;

	if (name[0] == '\0')
		return 0;
	if (look_up_user(p, name) == -1)
		return conf_fail(e, "%s", names_error(errno));
	if ((u = policy_find_name(p, name)) != NULL &&
	    (geteuid() == 0 || u->uid == geteuid()))
		return 0;
	conf_fail(e, "SessionUser %.100s: %s", name, u == NULL ?
	    "no such user" : "only root can run sessions of another user");
	return conf_at(e, where);
}

static int
check_users(struct policy *p, const struct conf *c, struct conf_error *e)
{
	const struct conf_match	*m;
	size_t			 i, k;

	if (check_user(p, c->session_user, conf_where(c,
	    CONF_ROW_session_user, 0), e) == -1)
		return -1;
	for (i = 0; i < c->nmatch; i++) {
		m = &c->match[i];
		for (k = 0; k < m->nvalue; k++)
			if (m->value[k].row == CONF_ROW_session_user &&
			    check_user(p, m->value[k].text, m->where, e) ==
			    -1)
				return -1;
	}
	return 0;
}

/*
 * The master must not wait for a name service: look up now what is asked later.
 * Patterns with * or ? match only those in /etc/passwd and /etc/group, for the
 * same reason.
 */
struct policy *
policy_new(const struct conf *c, struct conf_error *e)
{
	struct policy	*p;

	if ((p = calloc(1, sizeof(*p))) == NULL || look_up_all(p, c) == -1)
		conf_fail(e, "users and groups: %s", names_error(errno));
	else if (check_users(p, c, e) == 0)
		return p;
	policy_free(&p);
	return NULL;
}

static void
free_users(struct user *list, size_t n)
{
	size_t	 i, k;

	for (i = 0; i < n; i++) {
		for (k = 0; k < list[i].ngroup; k++)
			free(list[i].group[k]);
		free(list[i].group);
		free(list[i].name);
	}
	free(list);
}

void
policy_free(struct policy **pp)
{
	struct policy	*p = *pp;

	*pp = NULL;
	if (p == NULL)
		return;
	free_users(p->user, p->nuser);
	free_users(p->other, p->nother);
	free(p);
}

/* --- one client --- */

#define NUMBER_MAX	24	/* bytes of a uid as text */

static void
take_groups(struct conf_client *who, const struct user *u)
{
	who->group = u->group;
	who->ngroup = u->ngroup;
}

/* Fill in who, for lists of patterns.  number: room for an unknown uid. */
static void
policy_describe(const struct policy *p, const struct peer *peer,
    struct conf_client *who, char number[NUMBER_MAX])
{
	const struct user	*u;

	memset(who, 0, sizeof(*who));
	who->text[CONF_MATCH_identity] = peer->identity;
	who->text[CONF_MATCH_address] = peer->address;
	who->text[CONF_MATCH_listener] = peer->listener;
	if (!peer->known)
		return;
	if ((u = find_uid(p, peer->client_uid)) != NULL) {
		who->text[CONF_MATCH_user] = u->name;
	} else {
		snprintf(number, NUMBER_MAX, "%lu",
		    (unsigned long)peer->client_uid);
		who->text[CONF_MATCH_user] = number;
		if (peer->has_client_gid)
			u = find_other(p, peer->client_gid);
	}
	if (u != NULL)
		take_groups(who, u);
}

const struct conf *
policy_get(const struct world *w, const struct peer *p, struct conf *room)
{
	struct conf_client	 who;
	char			 number[NUMBER_MAX];

	assert(w->conf.nmatch == 0 || w->policy != NULL);
	if (w->conf.nmatch == 0)
		return &w->conf;
	policy_describe(w->policy, p, &who, number);
	return conf_resolve(&w->conf, &who, room) == -1 ? NULL : room;
}

void
policy_put(const struct conf *c, struct conf *room)
{
	if (c == room)
		conf_fini(room);
}

static void
add_rlimit(struct policy_settings *ps, int resource,
    const struct conf_rlimit *rl)
{
	Ipc__Rlimit	*out = &ps->rlimit[ps->s.n_rlimit];

	if (!rl->is_set)
		return;
	assert(ps->s.n_rlimit < POLICY_RLIMITS);
	ipc__rlimit__init(out);
	out->resource = (uint32_t)resource;
	out->soft = rl->soft;
	out->hard = rl->hard;
	ps->list[ps->s.n_rlimit++] = out;
}

void
policy_settings(const struct world *w, const struct conf *c,
    struct policy_settings *ps)
{
	Ipc__Settings	*out = &ps->s;

	ipc__settings__init(out);
	out->rlimit = ps->list;
#define RLIMIT_ROW(name, member)					\
	add_rlimit(ps, RLIMIT_##name, &c->member);
#include "proto/rlimit.def"
#undef RLIMIT_ROW
	out->nice = c->nice;
	out->umask = c->umask;
	out->message_rate = (uint32_t)c->message_rate;
	out->sandbox = (uint32_t)c->sandbox;
	out->detached_ttl_ms = c->detached_ttl;
	out->detached_ttl_max_ms = c->detached_ttl_max;
	out->closed_ttl_ms = c->closed_ttl;
	out->orphan_ttl_ms = c->orphan_ttl;
	out->handshake_ms = c->handshake;
	out->max_session_ms = c->max_session_time;
	out->idle_ms = c->idle_timeout;
	out->grace_ms = c->grace;
	out->window = c->window;
	out->spool = c->spool;
	out->remote_retain = c->remote_retain;
	out->drop_oldest = c->overflow == CONF_OVERFLOW_DROP;
	out->max_processes = (uint32_t)c->max_processes;
	out->native_paths = c->native_paths != 0;
	out->log_level = (uint32_t)c->log_level;
	if (w->rundir.path != NULL)
		out->run_dir = w->rundir.path;
	out->sockmark = w->sockmark;
	out->sockmark_unread = w->peer_way != PEER_WAY_DIAG;
	out->audit = w->logs.audit != NULL;
	out->log_arguments = c->log_arguments != 0;
	out->transcript = (uint32_t)c->transcript;
	out->transcript_max = c->transcript_max;
	out->busy_poll = c->busy_poll != 0;
	out->network_managed = c->network == CONF_NETWORK_MANAGED;
	out->allow_domain = c->allow_domain.item;
	out->n_allow_domain = c->allow_domain.n;
	out->deny_domain = c->deny_domain.item;
	out->n_deny_domain = c->deny_domain.n;
	out->host_name = c->host_name.item;
	out->n_host_name = c->host_name.n;
}

/* Apply SessionUser.  false: the user is not known. */
static bool
map_user(const struct world *w, const struct conf *c, struct peer *p)
{
	const struct user	*u;

	assert(p->known);
	if (c->session_user[0] == '\0')
		return true;
	if ((u = policy_find_name(w->policy, c->session_user)) == NULL)
		return false;
	p->uid = u->uid;
	p->gid = u->gid;
	p->has_gid = true;
	return true;
}

/*
 * Apply PermitRootSession.  "local" admits a client that itself runs as root
 * here, whatever its token says, on a socket where nobody else appears as root.
 * On TCP the root of a container that shares only our network has uid 0 as
 * well, so the listener must be from --listen; the file is not enough.
 */
static bool
permits_root(const struct conf *c, const struct peer *p)
{
	assert(p->uid == 0);
	switch (c->permit_root) {
	case CONF_ROOT_YES:
		return true;
	case CONF_ROOT_LOCAL:
		return p->client_uid == 0 && p->uplink == 0 &&
		    !p->has_shown && (!p->is_tcp || p->is_given);
	default:
		return false;
	}
}

/*
 * Apply DenyUsers and DenyGroups to all names of a uid.  A uid without a known
 * name might be one of theirs: refuse it.  Return the reason, or NULL.
 */
static const char *
denies(const struct policy *p, const struct conf *c, uid_t uid)
{
	struct conf_client	 who;
	const char		*why;
	size_t			 i;
	bool			 found = false;

	memset(&who, 0, sizeof(who));
	for (i = 0; i < p->nuser; i++) {
		if (p->user[i].uid != uid)
			continue;
		found = true;
		who.text[CONF_MATCH_user] = p->user[i].name;
		take_groups(&who, &p->user[i]);
		if ((why = allow_denies(c, &who)) != NULL)
			return why;
	}
	if (!found && c->deny_users.n > 0 && p->denies_unknown)
		return "DenyUsers is set, and the name of this user is not "
		    "known";
	if (!found && c->deny_groups.n > 0)
		return "DenyGroups is set, and the groups of this user are "
		    "not known";
	return NULL;
}

/* Apply AllowUsers and so on to a known peer: the reason to refuse, or NULL. */
static const char *
find_refusal(const struct policy *p, const struct conf *c,
    const struct peer *peer)
{
	struct conf_client	 who;
	char			 number[NUMBER_MAX];
	const char		*why;

	policy_describe(p, peer, &who, number);
	if ((why = allow_judge(c, &who)) != NULL)
		return why;
	return denies(p, c, peer->client_uid);
}

/* Return why a peer is not served, or NULL. */
static const char *
policy_judge(const struct world *w, const struct conf *c, struct peer *p,
    bool *by_list_out)
{
	const char	*why;

	if (p->unfit != NULL)
		return p->unfit;
	/* Metrics are for all peers that can connect, except sandboxes. */
	if (p->is_metrics)
		return NULL;
	if (!p->known)
		return "unknown user";
	if (p->is_tcp && !p->has_shown &&
	    w->conf.require_token == CONF_TOKEN_ALWAYS) {
		p->lacks_token = true;
		return "no token";
	}
	if ((!w->start.is_root && p->uid != geteuid()) || !map_user(w, c, p))
		return "not a user of this server";
	if ((why = find_refusal(w->policy, c, p)) != NULL) {
		*by_list_out = true;
		return why;
	}
	if (p->uid == 0 && !permits_root(c, p))
		return "sessions as root are not permitted (PermitRootSession)";
	return NULL;
}

/* A peer that its kernel credentials do not admit may present a token. */
static bool
may_show(const struct world *w, const struct peer *p)
{
	return p->unfit == NULL && p->uplink == 0 && !p->has_shown &&
	    tokens_any(w->tokens);
}

uint64_t
policy_retain(const struct world *w, const struct peer *p, uint64_t ms)
{
	const struct conf	*c;
	struct conf		 room;
	uint64_t		 max;

	if ((c = policy_get(w, p, &room)) == NULL)
		return 0;
	max = c->detached_ttl_max > c->detached_ttl ? c->detached_ttl_max :
	    c->detached_ttl;
	policy_put(c, &room);
	return ms < max ? ms : max;
}

/* Whether that many more sessions would exceed a limit. */
static bool
is_too_much(const struct world *w, const struct routes *rs,
    const struct conf *c, const struct peer *p, size_t more)
{
	return route_count(rs) + more > w->conf.max_sessions ||
	    route_count_of(rs, p->identity) + more > c->max_per_user;
}

/* Several may have been admitted before any of them was open. */
bool
policy_exceeded(const struct world *w, const struct routes *rs,
    const struct peer *p, bool operates)
{
	const struct conf	*c;
	struct conf		 room;
	bool			 is = true;

	if (operates)
		return route_operators(rs) > LIMIT_OPERATORS ||
		    route_operators_of(rs, p->identity) > LIMIT_OPERATORS_USER;
	if ((c = policy_get(w, p, &room)) != NULL) {
		is = is_too_much(w, rs, c, p, 0);
		policy_put(c, &room);
	}
	return is;
}

int
policy_admit(struct world *w, const struct routes *rs, struct peer *p,
    bool *full_out)
{
	const struct conf	*c;
	struct conf		 room;
	const char		*why = "out of memory";
	bool			 by_list = false;

	*full_out = p->lacks_token = false;
	if ((c = policy_get(w, p, &room)) != NULL) {
		why = policy_judge(w, c, p, &by_list);
		*full_out = is_too_much(w, rs, c, p, 1);
		policy_put(c, &room);
	}
	p->why = why;
	p->must_show = why != NULL && c != NULL && may_show(w, p);
	if (why == NULL || p->must_show) {
		assert(p->must_show || p->is_metrics || (p->known &&
		    (w->start.is_root || p->uid == geteuid())));
		return 0;
	}
	STAT_INC(w, refused);
	if (by_list)
		STAT_INC(w, not_allowed);
	log_info_with((struct log_member[]){
	    { "event", "refused", 0 }, { "peer", p->text, 0 },
	    { "why", why, 0 }, { NULL, NULL, 0 } },
	    "%s: refused: %s", p->text, why);
	audit_peer(w, p, (struct audit_what){ .event = AUDIT_session_refused,
	    .why = why });
	return c == NULL ? 503 : 403;
}
