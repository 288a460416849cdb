/* worker/proxy/proxy_env.c: variables that name a proxy. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "worker/proc/envp.h"
#include "worker/proxy/proxy_env.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

static char **
envp_of(const char *const *pairs, size_t n)
{
	char	**envp = calloc(n + 1, sizeof(*envp));
	size_t	  i;

	ck_assert_ptr_nonnull(envp);
	for (i = 0; i < n; i++)
		ck_assert_ptr_nonnull(envp[i] = strdup(pairs[i]));
	return envp;
}

static size_t
count(char *const *envp, const char *name)
{
	size_t	 n = 0, len = strlen(name);

	for (; *envp != NULL; envp++)
		n += strncmp(*envp, name, len) == 0 && (*envp)[len] == '=';
	return n;
}

START_TEST(test_set)
{
	static const char *const	 old[] = {
		"PATH=/bin", "HTTP_PROXY=http://evil:1", "no_proxy=*",
		"HTTP_PROXY=again", "HTTP_PROXYS=kept", "ALL_PROXY="
	};
	struct proxy_ports		 p = { 1111, 2222, false };
	char				**envp = envp_of(old, N(old));

	ck_assert(proxy_env_set(&envp, &p) == 0);
	ck_assert_str_eq(envp_get(envp, "PATH"), "/bin");
	ck_assert_str_eq(envp_get(envp, "HTTP_PROXYS"), "kept");
	ck_assert_str_eq(envp_get(envp, "HTTP_PROXY"),
	    "http://127.0.0.1:1111");
	ck_assert_str_eq(envp_get(envp, "PIP_PROXY"), "http://127.0.0.1:1111");
	ck_assert_str_eq(envp_get(envp, "all_proxy"),
	    "socks5h://127.0.0.1:2222");
	ck_assert_str_eq(envp_get(envp, "no_proxy"), "");
	ck_assert_str_eq(envp_get(envp, "CODEX_NETWORK_ALLOW_LOCAL_BINDING"),
	    "0");
	ck_assert_uint_eq(count(envp, "HTTP_PROXY"), 1);
	/* Once more, without SOCKS. */
	p.socks = 0;
	p.allows_local = true;
	ck_assert(proxy_env_set(&envp, &p) == 0);
	ck_assert_uint_eq(count(envp, "all_proxy"), 1);
	ck_assert_str_eq(envp_get(envp, "all_proxy"), "http://127.0.0.1:1111");
	ck_assert_str_eq(envp_get(envp, "CODEX_NETWORK_ALLOW_LOCAL_BINDING"),
	    "1");
	ck_assert_ptr_nonnull(strstr(envp_get(envp, "NO_PROXY"), "10.0.0.0/8"));
	envp_free(&envp);
}
END_TEST

static const struct {
	const char	*pair;
	uint16_t	 port;		/* 0: not one of loopback */
	const char	*changed;
} values[] = {
	{ "HTTP_PROXY=http://127.0.0.1:80", 80,
	    "HTTP_PROXY=http://127.0.0.1:9" },
	{ "https_proxy=http://localhost:65535/", 65535,
	    "https_proxy=http://127.0.0.1:9/" },
	{ "ALL_PROXY=socks5h://u:p@127.0.0.1:8/x", 8,
	    "ALL_PROXY=socks5h://u:p@127.0.0.1:9/x" },
	{ "WS_PROXY=LOCALHOST:1", 1, "WS_PROXY=127.0.0.1:9" },
	{ "HTTP_PROXY=http://127.0.0.1", 0, NULL },
	{ "HTTP_PROXY=http://127.0.0.1:", 0, NULL },
	{ "HTTP_PROXY=http://127.0.0.1:0", 0, NULL },
	{ "HTTP_PROXY=http://127.0.0.1:65536", 0, NULL },
	{ "HTTP_PROXY=http://127.0.0.1:99999999999", 0, NULL },
	{ "HTTP_PROXY=http://127.0.0.1:8x", 0, NULL },
	{ "HTTP_PROXY=http://10.1.2.3:80", 0, NULL },
	{ "HTTP_PROXY=http://127.0.0.1:80@10.1.2.3:80", 0, NULL },
	{ "HTTP_PROXY=http://127.0.0.1.evil.test:80", 0, NULL },
	{ "HTTP_PROXY=http://localhost.:80", 0, NULL },
	{ "HTTP_PROXY=", 0, NULL },
	{ "NO_PROXY=127.0.0.1:80", 0, NULL },
	{ "OTHER=http://127.0.0.1:80", 0, NULL },
};

START_TEST(test_find)
{
	char		**envp = envp_of(&values[_i].pair, 1);
	uint16_t	  ports[2] = { 0, 0 }, to = 9;
	size_t		  n = proxy_env_find(envp, ports, 2);

	ck_assert_uint_eq(n, values[_i].port != 0);
	ck_assert_uint_eq(ports[0], values[_i].port);
	ck_assert(proxy_env_change(envp, ports, &to, n) == 0);
	ck_assert_str_eq(envp[0], n == 0 ? values[_i].pair :
	    values[_i].changed);
	envp_free(&envp);
}
END_TEST

START_TEST(test_several)
{
	static const char *const	 pairs[] = {
		"HTTP_PROXY=http://127.0.0.1:1", "http_proxy=127.0.0.1:1",
		"ALL_PROXY=socks5://127.0.0.1:2", "FTP_PROXY=127.0.0.1:3"
	};
	char				**envp = envp_of(pairs, N(pairs));
	uint16_t			  ports[2], to[2] = { 11, 12 };

	ck_assert_uint_eq(proxy_env_find(envp, ports, 2), 2);
	ck_assert(proxy_env_change(envp, ports, to, 2) == 0);
	ck_assert_str_eq(envp[1], "http_proxy=127.0.0.1:11");
	ck_assert_str_eq(envp[2], "ALL_PROXY=socks5://127.0.0.1:12");
	ck_assert_str_eq(envp[3], "FTP_PROXY=127.0.0.1:3");
	envp_free(&envp);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("proxy_env");
	TCase	*t = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_add_test(t, test_set);
	tcase_add_loop_test(t, test_find, 0, N(values));
	tcase_add_test(t, test_several);
	suite_add_tcase(s, t);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_ENV);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed != 0;
}
