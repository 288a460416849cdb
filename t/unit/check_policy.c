/*
 * master/accept/policy.c: who is served as whom, by what the kernel says, by a
 * token, or through an uplink.
 */
#include <check.h>
#include <sodium.h>
#include <string.h>
#include <unistd.h>

#include "common/limit.h"
#include "master/accept/policy.h"
#include "master/auth/tokens.h"
#include "master/workers/route.h"
#include "master/world.h"
#include "t/unit/conf_help.h"

#define US	1000u		/* the user of a daemon that is not root's */
#define OTHER	1001u

static struct world	 w;
static struct routes	 routes;
static uid_t		 euid;

/* In the place of libc's: whose daemon that is. */
uid_t
geteuid(void)
{
	return euid;
}

/* --- peers --- */

static struct peer
local(uid_t uid)
{
	struct peer	 p;

	memset(&p, 0, sizeof(p));
	p.known = true;
	p.uid = uid;
	strcpy(p.address, "unix");
	peer_is_user(&p);
	return p;
}

static struct peer
tcp(uid_t uid)
{
	struct peer	 p = local(uid);

	p.is_tcp = true;
	strcpy(p.address, "127.0.0.1");
	return p;
}

static struct peer
given(uid_t uid)
{
	struct peer	 p = tcp(uid);

	p.is_given = true;
	return p;
}

static struct peer
remote(uid_t uid)
{
	struct peer	 p = local(uid);

	p.uplink = 1;
	return p;
}

/* A user of this machine who has shown a token for another one. */
static struct peer
shown(struct peer p, uid_t uid)
{
	peer_grant(&p, "token:x", uid, false, 0);
	return p;
}

/* --- in the place of sessions --- */

/* Of nobody, of OTHER, of the one after. */
static size_t	 sessions[3];

size_t
route_count(const struct routes *rs)
{
	ck_assert_ptr_eq(rs, &routes);
	return sessions[0] + sessions[1] + sessions[2];
}

size_t
route_count_of(const struct routes *rs, const char *identity)
{
	ck_assert_ptr_eq(rs, &routes);
	return sessions[strcmp(identity, local(OTHER).identity) == 0 ? 1 :
	    strcmp(identity, local(OTHER + 1).identity) == 0 ? 2 : 0];
}

/* Those for session/operate alone: of OTHER; of all others. */
static size_t	 operators[2];

size_t
route_operators(const struct routes *rs)
{
	ck_assert_ptr_eq(rs, &routes);
	return operators[0] + operators[1];
}

size_t
route_operators_of(const struct routes *rs, const char *identity)
{
	ck_assert_ptr_eq(rs, &routes);
	return operators[strcmp(identity, local(OTHER).identity) != 0];
}

/* --- */

static void
start(uid_t user, const char *conf)
{
	memset(&w, 0, sizeof(w));
	memset(sessions, 0, sizeof(sessions));
	memset(operators, 0, sizeof(operators));
	euid = user;
	w.start.is_root = user == 0;
	ck_assert_msg(load(conf) == 0, "%s", e.text);
	w.conf = c;
	ck_assert_msg((w.policy = policy_new(&w.conf, &e)) != NULL, "%s",
	    e.text);
}

static void
stop(void)
{
	policy_free(&w.policy);
	conf_fini(&c);
	ck_assert_int_eq(conf_init(&c), 0);
}

/* Why that peer is not served; "": it is. */
static const char *
why_not(struct peer p)
{
	static const char	*why;
	bool			 full;
	int			 status;

	status = policy_admit(&w, &routes, &p, &full);
	why = p.why != NULL ? p.why : "";
	ck_assert_int_eq(status, why[0] == '\0' || p.must_show ? 0 : 403);
	ck_assert(!full);
	return why;
}

#define SERVED(p)	ck_assert_str_eq(why_not(p), "")
#define REFUSED(p, why)	ck_assert_str_eq(why_not(p), why)

#define NO_ROOT		"sessions as root are not permitted (PermitRootSession)"
#define NOT_OURS	"not a user of this server"

/* Root is who is root here: nobody else can say so, however he comes. */
START_TEST(test_root)
{
	start(0, "PermitRootSession local\n");
	SERVED(local(0));
	SERVED(given(0));
	REFUSED(tcp(0), NO_ROOT);
	REFUSED(remote(0), NO_ROOT);
	REFUSED(shown(local(0), 0), NO_ROOT);
	REFUSED(shown(local(OTHER), 0), NO_ROOT);
	REFUSED(shown(given(OTHER), 0), NO_ROOT);
	SERVED(local(OTHER));
	SERVED(tcp(OTHER));
	SERVED(remote(OTHER));
	SERVED(shown(local(0), OTHER));
	stop();
	start(0, "PermitRootSession yes\n");
	SERVED(local(0));
	SERVED(tcp(0));
	SERVED(remote(0));
	SERVED(shown(local(OTHER), 0));
	stop();
	start(0, "PermitRootSession no\n");
	REFUSED(local(0), NO_ROOT);
	REFUSED(given(0), NO_ROOT);
	REFUSED(remote(0), NO_ROOT);
	REFUSED(shown(local(OTHER), 0), NO_ROOT);
	SERVED(local(OTHER));
	stop();
}
END_TEST

/* Sessions of everybody as root are for a root client alone, too. */
START_TEST(test_session_user)
{
	start(0, "PermitRootSession local\nSessionUser root\n");
	SERVED(local(0));
	REFUSED(local(OTHER), NO_ROOT);
	REFUSED(given(OTHER), NO_ROOT);
	REFUSED(remote(OTHER), NO_ROOT);
	stop();
}
END_TEST

/* Any other daemon has its own user's sessions only. */
START_TEST(test_own)
{
	start(US, "");
	SERVED(local(US));
	SERVED(tcp(US));
	SERVED(remote(US));
	SERVED(shown(tcp(OTHER), US));
	REFUSED(local(OTHER), NOT_OURS);
	REFUSED(tcp(0), NOT_OURS);
	REFUSED(local(0), NOT_OURS);
	REFUSED(shown(tcp(US), OTHER), NOT_OURS);
	stop();
}
END_TEST

/* Whom nobody knows, and who is in a sandbox: figures are for the former. */
START_TEST(test_unknown)
{
	struct peer	 p = tcp(US);

	start(US, "");
	p.known = false;
	REFUSED(p, "unknown user");
	p.is_metrics = true;
	SERVED(p);
	p.unfit = "it is in a sandbox";
	REFUSED(p, "it is in a sandbox");
	p = local(US);
	p.unfit = "it is in a sandbox";
	REFUSED(p, "it is in a sandbox");
	stop();
}
END_TEST

#define TOKEN	"Token ci sha256:"					\
	"0000000000000000000000000000000000000000000000000000000000000000\n"

/* Who may show a token: nobody who is in a sandbox, or who has shown one. */
START_TEST(test_tokens)
{
	struct peer	 p;
	bool		 full;

	ck_assert_int_ne(sodium_init(), -1);
	start(0, "RequireToken always\nTokenUser nobody\n" TOKEN);
	ck_assert_msg((w.tokens = tokens_load(&w.conf, &e)) != NULL,
	    "%s", e.text);
	p = tcp(OTHER);
	ck_assert_int_eq(policy_admit(&w, &routes, &p, &full), 0);
	ck_assert(p.must_show);
	ck_assert_str_eq(p.why, "no token");
	/* By the kernel's word alone, where that is certain. */
	p = local(OTHER);
	ck_assert_int_eq(policy_admit(&w, &routes, &p, &full), 0);
	ck_assert(!p.must_show && p.why == NULL);
	p = remote(OTHER);
	ck_assert_int_eq(policy_admit(&w, &routes, &p, &full), 0);
	ck_assert(!p.must_show);
	p = shown(tcp(OTHER), OTHER);
	ck_assert_int_eq(policy_admit(&w, &routes, &p, &full), 0);
	ck_assert(!p.must_show);
	p = shown(tcp(OTHER), 0);
	ck_assert_int_eq(policy_admit(&w, &routes, &p, &full), 403);
	ck_assert(!p.must_show);
	p = tcp(OTHER);
	p.unfit = "it is in a sandbox";
	ck_assert_int_eq(policy_admit(&w, &routes, &p, &full), 403);
	ck_assert(!p.must_show);
	p = remote(0);
	ck_assert_int_eq(policy_admit(&w, &routes, &p, &full), 403);
	ck_assert(!p.must_show);
	tokens_free(&w.tokens);
	stop();
}
END_TEST

/* How many sessions there may be, of all and of one user: one more is full. */
START_TEST(test_full)
{
	struct peer	 p = local(OTHER), q = local(OTHER + 1);
	bool		 full;
	size_t		 i;

	start(0, "MaxSessions 4\nMaxSessionsPerUser 2\n");
	for (i = 0; i < 4; i++) {
		ck_assert_int_eq(policy_admit(&w, &routes, &p, &full), 0);
		ck_assert_int_eq(full, i >= 2);
		ck_assert(policy_exceeded(&w, &routes, &p, false) == (i > 2));
		ck_assert_int_eq(policy_admit(&w, &routes, &q, &full), 0);
		ck_assert(!full);
		sessions[i < 3]++;
	}
	ck_assert_int_eq(policy_admit(&w, &routes, &q, &full), 0);
	ck_assert(full);
	ck_assert(!policy_exceeded(&w, &routes, &q, false));
	sessions[1]--;
	ck_assert_int_eq(policy_admit(&w, &routes, &q, &full), 0);
	ck_assert(!full);
	stop();
}
END_TEST

/* Who only asks what there is may do so when it is full, but not at will. */
START_TEST(test_operators)
{
	struct peer	 p = local(OTHER), q = local(OTHER + 1);

	start(0, "MaxSessions 1\nMaxSessionsPerUser 1\n");
	sessions[1] = sessions[2] = 2;
	operators[0] = LIMIT_OPERATORS_USER;
	operators[1] = LIMIT_OPERATORS - LIMIT_OPERATORS_USER;
	ck_assert(policy_exceeded(&w, &routes, &p, false));
	ck_assert(!policy_exceeded(&w, &routes, &p, true));
	operators[0]++;
	ck_assert(policy_exceeded(&w, &routes, &p, true));
	operators[0]--;
	operators[1]++;
	ck_assert(policy_exceeded(&w, &routes, &p, true));
	operators[1] = LIMIT_OPERATORS_USER;
	ck_assert(!policy_exceeded(&w, &routes, &q, true));
	operators[1]++;
	ck_assert(policy_exceeded(&w, &routes, &q, true));
	stop();
}
END_TEST

/* Whatever a worker says: as long as anybody's sessions are kept, at most. */
START_TEST(test_retain)
{
	static const struct {
		const char	*text;
		uint64_t	 ms, want;
	} asked[] = {
		{ "DetachedTtl 2\nDetachedTtlMax 5\n", 4000, 4000 },
		{ "DetachedTtl 2\nDetachedTtlMax 5\n", 1, 1 },
		{ "DetachedTtl 2\nDetachedTtlMax 5\n", 0, 0 },
		{ "DetachedTtl 2\nDetachedTtlMax 5\n", UINT64_MAX, 5000 },
		{ "DetachedTtl 5\nDetachedTtlMax 2\n", UINT64_MAX, 5000 },
	};
	struct peer	 p = local(OTHER);

	start(0, asked[_i].text);
	ck_assert_uint_eq(policy_retain(&w, &p, asked[_i].ms), asked[_i].want);
	stop();
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("policy");
	TCase	*t = tcase_create("policy");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, test_root);
	tcase_add_test(t, test_session_user);
	tcase_add_test(t, test_own);
	tcase_add_test(t, test_unknown);
	tcase_add_test(t, test_tokens);
	tcase_add_test(t, test_full);
	tcase_add_test(t, test_operators);
	tcase_add_loop_test(t, test_retain, 0, 5);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_NORMAL);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed != 0;
}
