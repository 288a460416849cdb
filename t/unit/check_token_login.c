/*
 * master/accept/token_login.c: what a token gets, and what a wrong one costs.
 * Tokens, admission, penalties and the gate are ours.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "master/accept/gate.h"
#include "master/accept/policy.h"
#include "master/accept/token_login.h"
#include "master/auth/penalty.h"
#include "master/logs/audit.h"
#include "master/world.h"

static struct world	 world;
static struct children	 all = { .world = &world };
static struct child	 c;
static struct token_login login = {
	(struct routes *)8, (struct penalties *)16, (struct gate *)24
};
static const char	*wrong;		/* why it is, or NULL */
static bool		 is_guess;
static uint64_t		 left;
static unsigned		 nth;
static int		 status;	/* of its admission */
static char		 did[500], why[TOKEN_LOGIN_WHY_MAX];

static void
tell(const char *what, long long n)
{
	size_t	 len = strlen(did);

	snprintf(did + len, sizeof(did) - len, "%s%s=%lld", len > 0 ? " " :
	    "", what, n);
}

static void
ck_did(const char *what)
{
	ck_assert_str_eq(did, what);
	did[0] = '\0';
}

/* --- in the place of others --- */

uint64_t
penalties_left(const struct penalties *p, const char *source, uint64_t now)
{
	ck_assert_ptr_eq(p, login.penalties);
	ck_assert_str_eq(source, "culprit");
	ck_assert_uint_gt(now, 0);
	return left;
}

unsigned
penalties_add(struct penalties *p, const char *source, bool guess,
    uint64_t now)
{
	ck_assert_ptr_eq(p, login.penalties);
	ck_assert_str_eq(source, "culprit");
	ck_assert_uint_gt(now, 0);
	tell("penalty", guess);
	return nth;
}

const char *
tokens_judge(const struct tokens *t, const void *shown, size_t len,
    uint64_t now, struct grant *out, bool *is_guess_out)
{
	ck_assert_ptr_eq(t, world.tokens);
	ck_assert_mem_eq(shown, "token", len);
	ck_assert_uint_gt(now, 1000000000);
	tell("token", (long long)len);
	*is_guess_out = is_guess;
	if (wrong == NULL) {
		snprintf(out->identity, sizeof(out->identity), "token:me");
		out->user.uid = 11;
	}
	return wrong;
}

int
policy_admit(struct world *w, const struct routes *rs, struct peer *p,
    bool *full_out)
{
	ck_assert(w == &world && rs == login.routes);
	ck_assert_str_eq(p->identity, "token:me");
	ck_assert_uint_eq(p->uid, 11);
	tell("admit", p->has_shown);
	p->why = "not he";
	*full_out = true;
	return status;
}

void
audit_peer(struct world *w, const struct peer *p, struct audit_what what)
{
	ck_assert_ptr_eq(w, &world);
	if (what.event == AUDIT_token_accepted) {
		ck_assert_str_eq(p->identity, "token:me");
		tell("accepted", 1);
	} else {
		ck_assert_int_eq(what.event, AUDIT_token_refused);
		ck_assert_ptr_nonnull(what.why);
		tell("refused", (long long)what.count.n);
	}
}

void
gate_admit(struct gate *g, int fd, const struct peer *p, bool full,
    const void *message, size_t len)
{
	ck_assert(g == login.gate && full && len == 5);
	ck_assert_mem_eq(message, "hello", 5);
	ck_assert_str_eq(p->identity, "token:me");
	tell("gate", 1);
	close(fd);
}

const char *
peer_culprit(const struct peer *p)
{
	ck_assert_ptr_eq(p, &c.peer);
	return "culprit";
}

void
peer_grant(struct peer *p, const char *identity, uid_t uid, bool has_gid,
    gid_t gid)
{
	(void)has_gid;
	(void)gid;
	ck_assert_ptr_ne(p, &c.peer);
	snprintf(p->identity, sizeof(p->identity), "%s", identity);
	p->uid = uid;
	p->has_shown = true;
}

/* --- tests --- */

static void
setup(void)
{
	memset(&c, 0, sizeof(c));
	memset(&world, 0, sizeof(world));
	world.tokens = (struct tokens *)32;
	world.state = WORLD_SERVING;
	c.all = &all;
	c.token = CHILD_TOKEN_AWAITED;
	c.state = CHILD_GREETING;
	wrong = NULL;
	is_guess = false;
	left = 0;
	nth = 1;
	status = 0;
	did[0] = why[0] = '\0';
}

static uint32_t
judge(const char *token)
{
	return token_login_judge(&login, &c, token, strlen(token), why);
}

START_TEST(test_good)
{
	ck_assert_uint_eq(judge("token"), 0);
	ck_did("token=5 admit=1 accepted=1");
	ck_assert_str_eq(why, "");
	ck_assert_str_eq(c.grant.identity, "token:me");
	ck_assert_uint_eq(world.stats[STAT_admitted], 1);
	ck_assert_uint_eq(world.stats[STAT_denied], 0);
}
END_TEST

START_TEST(test_wrong)
{
	wrong = "unknown token";
	is_guess = _i == 1;
	ck_assert_uint_eq(judge("token"), 401);
	ck_did(_i == 1 ? "token=5 penalty=1 refused=1" :
	    "token=5 penalty=0 refused=1");
	ck_assert_str_eq(why, "unknown token");
	ck_assert_uint_eq(world.stats[STAT_denied], 1);
	ck_assert_uint_eq(world.stats[STAT_admitted], 0);
	/* Of those that follow soon nothing is written. */
	nth = 0;
	ck_assert_uint_eq(judge("token"), 401);
	ck_did(_i == 1 ? "token=5 penalty=1" : "token=5 penalty=0");
	nth = 7;
	ck_assert_uint_eq(judge("token"), 401);
	ck_did(_i == 1 ? "token=5 penalty=1 refused=7" :
	    "token=5 penalty=0 refused=7");
	ck_assert_uint_eq(world.stats[STAT_denied], 3);
}
END_TEST

/* During a penalty a good one is not even looked at. */
START_TEST(test_penalty)
{
	left = 1;
	ck_assert_uint_eq(judge("token"), 429);
	ck_did("");
	ck_assert_str_eq(why, "too many wrong tokens");
	ck_assert_uint_eq(world.stats[STAT_denied], 1);
}
END_TEST

/* None is no guess; who is not admitted otherwise hears why. */
START_TEST(test_none)
{
	c.peer.why = _i == 0 ? NULL : "user 12 is not allowed";
	c.peer.lacks_token = _i == 2;
	is_guess = true;
	left = 1;
	ck_assert_uint_eq(judge(""), 401);
	ck_did("penalty=0 refused=1");
	ck_assert_str_eq(why, _i == 1 ? "user 12 is not allowed, and no token" :
	    "no token");
}
END_TEST

/* A token of somebody who may not come. */
START_TEST(test_not_admitted)
{
	status = 403;
	ck_assert_uint_eq(judge("token"), 403);
	ck_did("token=5 admit=1");
	ck_assert_str_eq(why, "not he");
	ck_assert_uint_eq(world.stats[STAT_admitted], 0);
}
END_TEST

/* A reload, or the end, may have come between. */
START_TEST(test_pass_on)
{
	int	 fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	c.token = CHILD_TOKEN_GOOD;
	c.state = CHILD_LEAVING;
	snprintf(c.grant.identity, sizeof(c.grant.identity), "token:me");
	c.grant.user.uid = 11;
	status = _i == 1 ? 403 : 0;
	world.state = _i == 2 ? WORLD_STOPPING : WORLD_SERVING;
	token_login_pass_on(&login, &c, fd, "hello", 5);
	ck_did(_i == 0 ? "admit=1 gate=1" : _i == 1 ? "admit=1" : "");
	ck_assert_int_eq(fcntl(fd, F_GETFD), -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("token_login");
	TCase	*t = tcase_create("token_login");
	SRunner	*r;
	int	 failed;

	tcase_add_checked_fixture(t, setup, NULL);
	tcase_add_test(t, test_good);
	tcase_add_loop_test(t, test_wrong, 0, 2);
	tcase_add_test(t, test_penalty);
	tcase_add_loop_test(t, test_none, 0, 3);
	tcase_add_test(t, test_not_admitted);
	tcase_add_loop_test(t, test_pass_on, 0, 3);
	suite_add_tcase(s, t);
	r = srunner_create(s);
	srunner_run_all(r, CK_ENV);
	failed = srunner_ntests_failed(r);
	srunner_free(r);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
