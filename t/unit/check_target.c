/*
 * common/net/target.c: URLs that are to be taken to exactly one host, or
 * not at all; proxies and who needs none.
 */
#include <check.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/net/target.h"

#define N(rows)	(int)(sizeof(rows) / sizeof((rows)[0]))

static struct target	 t;
static struct proxy	 p;

static int
parse(const char *url)
{
	memset(&t, 0xa5, sizeof(t));
	errno = 0;
	return target_parse(&t, url, "http", "https");
}

/* --- URLs ------------------------------------------------------------------*/

static const struct {
	const char	*url, *host, *authority, *path;
	uint16_t	 port;
	bool		 is_tls;
} good[] = {
	{ "http://h", "h", "h:80", "/", 80, false },
	{ "HTTPS://h", "h", "h:443", "/", 443, true },
	{ "HtTp://H.Example/", "H.Example", "H.Example:80", "/", 80, false },
	{ "http://h:1", "h", "h:1", "/", 1, false },
	{ "https://h:65535/", "h", "h:65535", "/", 65535, true },
	{ "http://h:00080/", "h", "h:80", "/", 80, false },
	{ "http://h?q=1&r=/2?", "h", "h:80", "/?q=1&r=/2?", 80, false },
	{ "http://h:8?q", "h", "h:8", "/?q", 8, false },
	{ "http://h/a//b/?x=%2F", "h", "h:80", "/a//b/?x=%2F", 80, false },
	{ "http://h//", "h", "h:80", "//", 80, false },
	{ "http://h/@b:c", "h", "h:80", "/@b:c", 80, false },
	{ "http://h?@b", "h", "h:80", "/?@b", 80, false },
	{ "http://10.0.0.1:9/", "10.0.0.1", "10.0.0.1:9", "/", 9, false },
	{ "http://a_b-c.d", "a_b-c.d", "a_b-c.d:80", "/", 80, false },
	{ "http://[::1]", "::1", "[::1]:80", "/", 80, false },
	{ "https://[::1]:8443/x", "::1", "[::1]:8443", "/x", 8443, true },
	{ "http://[::]?q", "::", "[::]:80", "/?q", 80, false },
	{ "http://[2001:DB8::a:1]/", "2001:DB8::a:1", "[2001:DB8::a:1]:80",
	    "/", 80, false },
	{ "http://[::ffff:10.1.2.3]/", "::ffff:10.1.2.3",
	    "[::ffff:10.1.2.3]:80", "/", 80, false },
};

START_TEST(test_good)
{
	ck_assert_msg(parse(good[_i].url) == 0, "%s", good[_i].url);
	ck_assert_str_eq(t.host, good[_i].host);
	ck_assert_str_eq(t.authority, good[_i].authority);
	ck_assert_str_eq(t.path, good[_i].path);
	ck_assert_uint_eq(t.port, good[_i].port);
	ck_assert_int_eq(t.is_tls, good[_i].is_tls);
}
END_TEST

static const char *const	 bad[] = {
	"", "h", "http", "http:", "http:/", "http:h", "http:/h", "http://",
	"://h", "//h", "/", "httpss://h", "xhttp://h", " http://h",
	"ws://h", "wss://h", "ftp://h", "file:///etc/passwd", "http:\\\\h",
	"http:///x", "http://?x", "http://:80", "http://:80/",
	/* ports */
	"http://h:", "http://h:/", "http://h:0", "http://h:00000",
	"http://h:65536", "http://h:99999", "http://h:000080", "http://h:-1",
	"http://h:+1", "http://h:1x", "http://h:0x50", "http://h: 80",
	"http://h:80:80", "http://h::80", "http://h:4294967376",
	/* users: what stands in front of "@" is not the host */
	"http://u@h", "http://u:p@h", "http://u:80@h", "http://@h",
	"http://h@", "http://localhost:80@evil/", "http://[::1]@evil/",
	"http://[::1]:80@evil/", "http://h%40evil/", "http://h\\@evil/",
	"http://evil;@h/", "http://h:@evil/",
	/* brackets */
	"http://[", "http://[]", "http://[]:80", "http://[::1", "http://::1",
	"http://[::1]x", "http://[::1]:", "http://[::1]]", "http://[[::1]]",
	"http://x[::1]", "http://[::1]80", "http://]", "http://[:]",
	"http://[fe80::1%25lo]", "http://[fe80::1%lo]", "http://[::g]",
	"http://[:::1]", "http://[1:2:3:4:5:6:7]",
	"http://[1:2:3:4:5:6:7:8:9]", "http://[12345::]",
	/* a name, or an address of the other kind, is not for brackets */
	"http://[dead]", "http://[dead.beef]", "http://[127.0.0.1]",
	"http://[abc]:80/", "http://[.]",
	/* what the host has no room for */
	"http://h h", "http://h\t", "http://h\n", "http://h\r\nX: y",
	"http://h\x7f", "http://h\x01", "http://h\x80", "http://h\xc3\xa4",
	"http://h\xff/", "http://h*", "http://h,i", "http://h'", "http://h\"",
	"http://h<", "http://h|i", "http://%68", "http://h%00", "http://(h)",
	/* further on */
	"http://h/a b", "http://h/\t", "http://h/\r\nX: y", "http://h/\x7f",
	"http://h/\xc3\xa4", "http://h/?a b", "http://h/?\x1f",
	"http://h/?\xff", "http://h#", "http://h/#x", "http://h/?x#y",
};

START_TEST(test_bad)
{
	ck_assert_msg(parse(bad[_i]) == -1, "%s", bad[_i]);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* The schemes are the caller's. */
START_TEST(test_schemes)
{
	ck_assert_int_eq(target_parse(&t, "ws://h/x", "ws", "wss"), 0);
	ck_assert(!t.is_tls && t.port == 80);
	ck_assert_int_eq(target_parse(&t, "wss://h", "ws", "wss"), 0);
	ck_assert(t.is_tls && t.port == 443);
	ck_assert_int_eq(target_parse(&t, "WSS://h:5", "ws", "wss"), 0);
	ck_assert(t.is_tls && t.port == 5);
	ck_assert_int_eq(target_parse(&t, "http://h", "ws", "wss"), -1);
	ck_assert_int_eq(target_parse(&t, "https://h", "ws", "wss"), -1);
	ck_assert_int_eq(target_parse(&t, "wsss://h", "ws", "wss"), -1);
}
END_TEST

/* Whatever single byte stands in a host or a path. */
START_TEST(test_bytes)
{
	static const char	 of_host[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	    "abcdefghijklmnopqrstuvwxyz0123456789-._";
	char			 url[] = "http://a?b/c?d";
	int			 c;

	for (c = 1; c < 256; c++) {
		url[8] = (char)c;
		ck_assert_msg((parse(url) == 0) == (strchr(of_host, c) !=
		    NULL || c == '/' || c == '?'), "host %02x", c);
		url[8] = 'x';
		url[11] = (char)c;
		ck_assert_msg((parse(url) == 0) == (c > ' ' && c <= '~' &&
		    c != '#'), "path %02x", c);
		url[11] = 'c';
	}
}
END_TEST

/* "http://", n times c, and tail; malloc'd. */
static char *
long_url(char c, size_t n, const char *tail)
{
	char	*url = malloc(n + strlen(tail) + 8);

	ck_assert_ptr_nonnull(url);
	memcpy(url, "http://", 7);
	memset(url + 7, c, n);
	strcpy(url + 7 + n, tail);
	return url;
}

static void
ck_long(char *url, int r)
{
	ck_assert_int_eq(parse(url), r);
	ck_assert(r == 0 || errno == EINVAL);
	free(url);
}

START_TEST(test_lengths)
{
	char	 path[TARGET_PATH + 16];

	ck_long(long_url('h', TARGET_HOST - 1, ":65535/x"), 0);
	ck_assert_uint_eq(strlen(t.host), TARGET_HOST - 1);
	ck_assert_uint_eq(strlen(t.authority), TARGET_HOST - 1 + 6);
	ck_assert_str_eq(t.authority + TARGET_HOST - 1, ":65535");
	ck_long(long_url('h', TARGET_HOST, ""), -1);
	ck_long(long_url('h', TARGET_HOST, ":80/"), -1);
	ck_long(long_url('h', 1000000, ""), -1);
	ck_long(long_url(':', 1000000, ""), -1);
	ck_long(long_url('[', 1000000, ""), -1);

	memset(path, 'p', sizeof(path));
	path[0] = '/';
	path[TARGET_PATH - 1] = '\0';
	ck_long(long_url('h', 1, path), 0);
	ck_assert_str_eq(t.path, path);
	path[TARGET_PATH - 1] = 'p';
	path[TARGET_PATH] = '\0';
	ck_long(long_url('h', 1, path), -1);
	/* The "/" that a query lacks counts. */
	path[0] = '?';
	path[TARGET_PATH - 2] = '\0';
	ck_long(long_url('h', 1, path), 0);
	ck_assert_uint_eq(strlen(t.path), TARGET_PATH - 1);
	path[TARGET_PATH - 2] = 'p';
	path[TARGET_PATH - 1] = '\0';
	ck_long(long_url('h', 1, path), -1);
}
END_TEST

/* --- paths -----------------------------------------------------------------*/

static const struct {
	const char	*url, *want;
} shown[] = {
	{ "https://h:1/a?b", "https://h:1/a?b" },
	{ "https://user:pw@h/a", "https://...@h/a" },
	{ "HTTPS://user@h", "HTTPS://...@h" },
	{ "https://u:p@w@h", "https://...@h" },
	/* Not where a password belongs, but it may be one. */
	{ "https://u:p/w@h", "https://...@h" },
	{ "https://u:p#w@h", "https://...@h" },
	{ "user:pw@h://x", "...@h://x" },
	{ "user:pw@h", "...@h" },
	{ "user:p://w@h", "...@h" },
	{ "@", "...@" },
	{ "nonsense", "nonsense" },
	{ "", "" },
};

START_TEST(test_show)
{
	char	 out[32], tiny[4];

	ck_assert_str_eq(target_show(shown[_i].url, out, sizeof(out)),
	    shown[_i].want);
	target_show(shown[_i].url, tiny, sizeof(tiny));
	ck_assert_int_eq(strncmp(tiny, shown[_i].want, strlen(tiny)), 0);
}
END_TEST

static const struct {
	const char	*url, *segment, *path;
} paths[] = {
	{ "http://h", "env", "/c/env/r" },
	{ "http://h/", "env", "/c/env/r" },
	{ "http://h///", "env", "/c/env/r" },
	{ "http://h/base/path/", "env", "/base/path/c/env/r" },
	{ "http://h/base//path//", "env", "/base//path/c/env/r" },
	{ "http://h", "AZaz09-._~", "/c/AZaz09-._~/r" },
	{ "http://h", "a/b", "/c/a%2Fb/r" },
	{ "http://h", "../x", "/c/..%2Fx/r" },
	{ "http://h", "...", "/c/.../r" },
	{ "http://h", ".a", "/c/.a/r" },
	{ "http://h", "%2e", "/c/%252e/r" },
	{ "http://h", "a?b#c", "/c/a%3Fb%23c/r" },
	{ "http://h", "\r\n \t\x7f", "/c/%0D%0A%20%09%7F/r" },
	{ "http://h", "\xc3\xa4\xff\x80", "/c/%C3%A4%FF%80/r" },
	{ "http://h", "a&b=c;d,e+f@g:h!$'()*", "/c/a%26b%3Dc%3Bd%2Ce%2Bf%40g"
	    "%3Ah%21%24%27%28%29%2A/r" },
	{ "http://h", "[\\]^`{|}\"<>", "/c/%5B%5C%5D%5E%60%7B%7C%7D%22%3C%3E"
	    "/r" },
};

START_TEST(test_append)
{
	ck_assert_int_eq(parse(paths[_i].url), 0);
	ck_assert_int_eq(target_append(&t, "/c/", paths[_i].segment, "/r"),
	    0);
	ck_assert_str_eq(t.path, paths[_i].path);
	ck_assert_str_eq(t.host, "h");
}
END_TEST

START_TEST(test_append_refuses)
{
	static const char *const	 walks[] = { "", ".", ".." };
	size_t				 i;

	for (i = 0; i < 3; i++) {
		ck_assert_int_eq(parse("http://h/x"), 0);
		errno = 0;
		ck_assert_int_eq(target_append(&t, "/", walks[i], ""), -1);
		ck_assert_int_eq(errno, EINVAL);
	}
}
END_TEST

/* n bytes of c as a segment behind a path of 2 bytes. */
static int
append_long(char c, size_t n)
{
	char	*segment = malloc(n + 1);
	int	 r;

	ck_assert_ptr_nonnull(segment);
	memset(segment, c, n);
	segment[n] = '\0';
	ck_assert_int_eq(parse("http://h/x"), 0);
	errno = 0;
	r = target_append(&t, "/", segment, "/r");
	free(segment);
	return r;
}

START_TEST(test_append_lengths)
{
	/* "/x" "/" n "/r" */
	ck_assert_int_eq(append_long('n', TARGET_PATH - 1 - 5), 0);
	ck_assert_uint_eq(strlen(t.path), TARGET_PATH - 1);
	ck_assert_str_eq(t.path + TARGET_PATH - 3, "/r");
	ck_assert_int_eq(append_long('n', TARGET_PATH - 5), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(append_long('n', 1000000), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(append_long('/', (TARGET_PATH - 1 - 5) / 3), 0);
	ck_assert_int_eq(append_long('/', (TARGET_PATH - 1 - 5) / 3 + 1), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
	ck_assert_int_eq(append_long('/', 1000000), -1);
	ck_assert_int_eq(errno, EMSGSIZE);
}
END_TEST

/* --- which proxy -----------------------------------------------------------*/

static const struct {
	const char	*none, *url;
	bool		 is_exempt;
} exempt[] = {
	{ NULL, "http://h", false },
	{ "", "http://h", false },
	{ ",, ,", "http://h", false },
	{ "*", "http://h", true },
	{ "x *", "http://h", true },
	{ "**", "http://h", false },
	{ "*.a.b", "http://c.a.b", true },	/* as Go has it */
	{ "*.a.b", "http://d.c.a.b", true },
	{ "*.a.b", "http://a.b", false },
	{ "*.a.b:80", "http://c.a.b", true },
	{ "*.a.b:81", "http://c.a.b", false },
	{ "*a.b", "http://a.b", false },
	{ "c.*.b", "http://c.a.b", false },
	{ "*.", "http://a.b", false },
	{ "*.*", "http://a.b", false },
	{ "x\t*", "http://h", true },
	{ "a.b", "http://a.b", true },
	{ "A.b", "http://a.B", true },
	{ ".a.b", "http://a.b", true },
	{ "a.b", "http://c.a.b", true },
	{ ".a.b", "http://d.c.a.b", true },
	{ "a.b", "http://ca.b", false },
	{ ".a.b", "http://ca.b", false },
	{ "a.b", "http://a.b.c", false },
	{ "c.a.b", "http://a.b", false },
	{ "..a.b", "http://c.a.b", false },
	{ ".", "http://a.b", false },
	{ "..", "http://a.b.", false },
	{ "b", "http://a.b", true },
	{ "x,a.b", "http://a.b", true },
	{ "x a.b", "http://a.b", true },
	{ " x ,, a.b ,y", "http://a.b", true },
	{ "a.b;c", "http://a.b", false },
	/* a dot at the end says that a name is whole: as curl has it */
	{ "a.b.", "http://a.b", true },
	{ "a.b", "http://a.b.", true },
	{ "a.b.", "http://c.a.b", true },
	{ ".b", "http://a.b.", true },
	{ "a.b..", "http://a.b", false },
	{ "a.b", "http://a.b..", false },
	/* ports */
	{ "a.b:80", "http://a.b", true },
	{ "a.b:443", "https://a.b", true },
	{ "a.b:81", "http://a.b", false },
	{ ".a.b:81", "http://c.a.b:81", true },
	{ "a.b:", "http://a.b", false },
	{ "a.b:x", "http://a.b", false },
	{ "a.b:0", "http://a.b", false },
	{ "a.b:65616", "http://a.b", false },	/* 80 and 65536 */
	{ "a.b:80:80", "http://a.b", false },
	{ ":80", "http://a.b", false },
	{ ":", "http://a.b", false },
	/* an address has no domain */
	{ "10.1.2.3", "http://10.1.2.3", true },
	{ "10.1.2.3:80", "http://10.1.2.3", true },
	{ "1.2.3", "http://10.1.2.3", false },
	{ "2.3", "http://10.1.2.3", false },
	{ ".2.3", "http://10.1.2.3", false },
	{ "3", "http://10.1.2.3", false },
	{ "2.3", "http://[::ffff:10.1.2.3]", false },
	{ "*.2.3", "http://10.1.2.3", false },
	{ "*.10.1.2.3", "http://10.1.2.3", false },
	{ "1", "http://10.1", false },
	{ "10.1", "http://10.1", true },
	{ "10.1:80", "http://10.1", true },
	/* however it is written */
	{ "10.0.0.1", "http://10.1", true },
	{ "10.0.0.1:80", "http://0xa.1", true },
	{ "10.0.0.1:81", "http://0xa.1", false },
	{ "10.1", "http://10.0.0.1", false },
	{ "10.1.2.3", "http://[::ffff:10.1.2.3]", true },
	{ "::ffff:a01:203", "http://10.1.2.3", true },
	{ "2:0:0::1", "http://[2::1]", true },
	{ "[2:0::1]:80", "http://[2::1]", true },
	{ "[2:0::1]:81", "http://[2::1]", false },
	{ "2::2", "http://[2::1]", false },
	/* networks */
	{ "10.0.0.0/8", "http://10.1.2.3", true },
	{ "10.0.0.0/8", "https://10.255.255.255:8443", true },
	{ "10.0.0.0/8", "http://11.0.0.0", false },
	{ "10.0.0.0/8", "http://9.255.255.255", false },
	{ "10.9.9.9/8", "http://10.1.2.3", true },
	{ "10.0.0.0/8", "http://10.1", true },
	{ "10.0.0.0/8", "http://0xa.1", true },
	{ "10.0.0.0/8", "http://[::ffff:10.1.2.3]", true },
	{ "10.0.0.0/8", "http://[a00::1]", false },
	{ "10.0.0.0/8", "http://10.example", false },
	{ "10.0.0.0/8", "http://h", false },
	{ "x, 10.0.0.0/8 ,y", "http://10.1.2.3", true },
	{ "192.0.2.128/25", "http://192.0.2.128", true },
	{ "192.0.2.128/25", "http://192.0.2.127", false },
	{ "192.0.2.4/30", "http://192.0.2.7", true },
	{ "192.0.2.4/30", "http://192.0.2.8", false },
	{ "192.0.2.4/31", "http://192.0.2.6", false },
	{ "192.0.2.4/32", "http://192.0.2.4", true },
	{ "192.0.2.4/32", "http://192.0.2.5", false },
	{ "0.0.0.0/0", "http://192.0.2.5", true },
	{ "0.0.0.0/0", "http://[2::1]", false },
	{ "128.0.0.0/1", "http://192.0.2.5", true },
	{ "128.0.0.0/1", "http://127.0.0.1.example", false },
	{ "fd00::/8", "http://[fd12::1]", true },
	{ "FD00::/8", "http://[FDFF:ffff::1]:81", true },
	{ "fd00::/8", "http://[fe00::1]", false },
	{ "fc00::/7", "http://[fd00::1]", true },
	{ "fc00::/7", "http://[fe00::1]", false },
	{ "2::1/128", "http://[2::1]", true },
	{ "2::1/128", "http://[2::2]", false },
	{ "2::/127", "http://[2::1]", true },
	{ "2::/127", "http://[2::2]", false },
	{ "::/0", "http://[2::1]", true },
	{ "::/0", "http://10.1.2.3", false },
	{ "::/95", "http://10.1.2.3", false },
	{ "::ffff:10.0.0.0/104", "http://10.1.2.3", true },
	{ "::ffff:0:0/96", "http://10.1.2.3", true },
	{ "::ffff:10.0.0.0/104", "http://11.1.2.3", false },
	/* what is none */
	{ "10.0.0.0/", "http://10.0.0.0", false },
	{ "10.0.0.0/33", "http://10.0.0.0", false },
	{ "10.0.0.0/08", "http://10.0.0.0", false },
	{ "10.0.0.0/00", "http://10.0.0.0", false },
	{ "10.0.0.0/+8", "http://10.0.0.0", false },
	{ "10.0.0.0/-8", "http://10.0.0.0", false },
	{ "10.0.0.0/8x", "http://10.0.0.0", false },
	{ "10.0.0.0/8/8", "http://10.0.0.0", false },
	{ "10.0.0.0/4294967304", "http://10.0.0.0", false },
	{ "10.0.0.0/255.0.0.0", "http://10.0.0.0", false },
	{ "10.0.0.0/8:80", "http://10.0.0.0", false },
	{ "10/8", "http://10.0.0.0", false },
	{ "10.0.0/8", "http://10.0.0.0", false },
	{ "/8", "http://10.0.0.0", false },
	{ "/", "http://10.0.0.0", false },
	{ "[fd00::]/8", "http://[fd00::1]", false },
	{ "fd00::/129", "http://[fd00::]", false },
	{ "fd00:/8", "http://[fd00::]", false },
	{ "h/8", "http://h", false },
	{ "2::1", "http://[2::1]", true },
	{ "2::1", "http://[2::1]:81", true },
	{ "[2::1]", "http://[2::1]", true },
	{ "[2::1]:81", "http://[2::1]:81", true },
	{ "[2::1]:81", "http://[2::1]", false },
	{ "FE80::a", "http://[fe80::A]", true },
	{ ":1", "http://[2::1]", false },
	{ "1", "http://[2::1]", false },
	{ "::1", "http://h", false },
	{ "[::1]", "http://h", false },
	{ "[h]", "http://h", false },
	{ "[", "http://h", false },
	{ "[]", "http://h", false },
	/* what is for this machine stays on it, if others could read it */
	{ NULL, "http://localhost", true },
	{ NULL, "http://LocalHost:8080/x", true },
	{ NULL, "http://127.0.0.1", true },
	{ NULL, "http://127.255.255.255:1", true },
	{ NULL, "http://127.1", true },
	{ NULL, "http://0x7f.1", true },
	{ NULL, "http://[::1]", true },
	{ NULL, "http://[0:0::0:1]:8080", true },
	{ NULL, "http://[::ffff:127.0.0.1]", true },
	{ NULL, "http://[::127.0.0.1]", false },
	{ NULL, "http://[7f00::]", false },
	{ NULL, "https://localhost", false },
	{ NULL, "https://127.0.0.1", false },
	{ NULL, "https://[::1]", false },
	{ NULL, "http://localhost.evil", false },
	{ NULL, "http://xlocalhost", false },
	{ NULL, "http://127.evil", false },
	{ NULL, "http://127.0.0.1.evil", false },
	{ NULL, "http://127.", false },
	{ NULL, "http://128.0.0.1", false },
	{ NULL, "http://1.127.0.0", false },
	{ NULL, "http://0.0.0.0", false },
	{ NULL, "http://[::]", false },
	{ NULL, "http://[::2]", false },
};

START_TEST(test_exempt)
{
	struct proxy_env	 env;
	char			 some[] = "some", *none = NULL;

	if (exempt[_i].none != NULL)
		ck_assert_ptr_nonnull(none = strdup(exempt[_i].none));
	ck_assert_int_eq(parse(exempt[_i].url), 0);
	memset(&env, 0, sizeof(env));
	env.http = env.https = some;
	env.none = none;
	ck_assert_msg((proxy_choose(&env, &t) == NULL) ==
	    exempt[_i].is_exempt, "no_proxy=%s %s", none == NULL ? "(null)" :
	    none, exempt[_i].url);
	free(none);
}
END_TEST

/* A name that nearly fills the room it has. */
START_TEST(test_exempt_long)
{
	struct proxy_env	 env;
	char			 some[] = "some", none[100000];
	size_t			 i;

	memset(none, 'h', sizeof(none));
	memset(&env, 0, sizeof(env));
	env.http = some;
	env.none = none;
	ck_long(long_url('h', TARGET_HOST - 1, ""), 0);
	none[sizeof(none) - 1] = '\0';
	ck_assert_ptr_nonnull(proxy_choose(&env, &t));
	none[TARGET_HOST] = '\0';
	ck_assert_ptr_nonnull(proxy_choose(&env, &t));
	none[TARGET_HOST - 1] = '\0';
	ck_assert_ptr_null(proxy_choose(&env, &t));
	strcpy(none + TARGET_HOST - 1, ":80");
	ck_assert_ptr_null(proxy_choose(&env, &t));
	for (i = 0; i < sizeof(none) - 1; i += 2)
		memcpy(none + i, "x,", 2);
	none[sizeof(none) - 1] = '\0';
	ck_assert_ptr_nonnull(proxy_choose(&env, &t));
}
END_TEST

START_TEST(test_choose)
{
	char			 http[] = "1", https[] = "2", all[] = "3",
				 empty[] = "";
	struct proxy_env	 env = { https, http, all, NULL };
	struct target		 tls;

	ck_assert_int_eq(parse("https://h"), 0);
	tls = t;
	ck_assert_int_eq(parse("http://h"), 0);
	ck_assert_ptr_eq(proxy_choose(&env, &t), http);
	ck_assert_ptr_eq(proxy_choose(&env, &tls), https);
	env.http = empty;
	env.https = NULL;
	ck_assert_ptr_eq(proxy_choose(&env, &t), all);
	ck_assert_ptr_eq(proxy_choose(&env, &tls), all);
	env.all = empty;
	ck_assert_ptr_null(proxy_choose(&env, &t));
	env.all = NULL;
	ck_assert_ptr_null(proxy_choose(&env, &tls));
}
END_TEST

/* --- a proxy ---------------------------------------------------------------*/

static const struct {
	const char	*text, *host, *secret;
	uint16_t	 port;
} proxies[] = {
	{ "h", "h", "", 3128 },
	{ "h:8080", "h", "", 8080 },
	{ "http://h", "h", "", 3128 },
	{ "HTTP://h:1/", "h", "", 1 },
	{ "h:80/", "h", "", 80 },
	{ "[::1]:80", "::1", "", 80 },
	{ "http://[::1]", "::1", "", 3128 },
	{ "http://u:p@h", "h", "u:p", 3128 },
	{ "u:p@h:80", "h", "u:p", 80 },
	{ "http://u:p@[::1]:80/", "::1", "u:p", 80 },
	{ "http://u:p:q@h", "h", "u:p:q", 3128 },
	{ "http://a%2fb:%3A%25%20@h", "h", "a/b::% ", 3128 },
	{ "http://%C3%a4:%0d%0A@h", "h", "\xc3\xa4:\r\n", 3128 },
	{ "http://:p@h", "h", ":p", 3128 },
	/* Basic has a colon, also where there is no password. */
	{ "http://u@h", "h", "u:", 3128 },
	{ "u@h:80", "h", "u:", 80 },
	{ "http://@h", "h", "", 3128 },
};

START_TEST(test_proxy)
{
	memset(&p, 0xa5, sizeof(p));
	ck_assert_msg(proxy_parse(&p, proxies[_i].text) == 0, "%s",
	    proxies[_i].text);
	ck_assert_str_eq(p.host, proxies[_i].host);
	ck_assert_str_eq(p.secret, proxies[_i].secret);
	ck_assert_uint_eq(p.port, proxies[_i].port);
}
END_TEST

static const char *const	 bad_proxies[] = {
	"", "/", "http://", "http:///", "http://:80", ":80", "@", "u@", "u:p@",
	"https://h", "socks5://h", "socks5h://u:p@h", "http://http://h",
	"h/x", "h//", "http://h/?x", "http://h?x", "h?x", "h#x", "h:0",
	"h:65536", "h:", "h:x", "h:80x", "[::1", "[h]", "h i", "h\n", "h\xff",
	"a,b", "http://u:p@h@i", "http://u%40v:p@h", "http://u%00:p@h",
	"http://u%:p@h", "http://u%4:p@h", "http://u:p%@h", "http://u:p%4@h",
	"http://u:%g0@h", "http://u:%0g@h", "http://u:%-1@h", "http://u:/@h",
	"http://u:p\x01@h",
};

START_TEST(test_bad_proxy)
{
	errno = 0;
	ck_assert_msg(proxy_parse(&p, bad_proxies[_i]) == -1, "%s",
	    bad_proxies[_i]);
	ck_assert_int_eq(errno, EINVAL);
}
END_TEST

/* lws_set_proxy() takes 93 bytes, and would not say what it does not like. */
START_TEST(test_proxy_lengths)
{
	char	 text[4096], *at;
	size_t	 i, n, max = 93;

	ck_assert_uint_eq(max, sizeof(p.secret) - 1);
	for (i = 0; i < 3; i++) {
		memset(text, 'u', sizeof(text));
		/* A colon is there already, or has to be added. */
		if (i < 2)
			text[1] = ':';
		n = i == 0 ? max : i == 1 ? max + 1 : max - 1;
		strcpy(text + n, "@h");
		ck_assert_int_eq(proxy_parse(&p, text), i == 1 ? -1 : 0);
		if (i != 1)
			ck_assert_uint_eq(strlen(p.secret), max);
	}
	memset(text, 'u', max);
	strcpy(text + max, "@h");
	ck_assert_int_eq(proxy_parse(&p, text), -1);
	for (at = text, i = 0; i < max; i++, at += 3)
		memcpy(at, i == 1 ? "%3a" : "%78", 3);
	strcpy(at, "@h");
	ck_assert_int_eq(proxy_parse(&p, text), 0);
	ck_assert_uint_eq(strlen(p.secret), max);
	memset(text, 'h', sizeof(text));
	text[TARGET_HOST - 1] = '\0';
	ck_assert_int_eq(proxy_parse(&p, text), 0);
	text[TARGET_HOST - 1] = 'h';
	text[TARGET_HOST] = '\0';
	ck_assert_int_eq(proxy_parse(&p, text), -1);
}
END_TEST

int
main(void)
{
	Suite	*s = suite_create("target");
	TCase	*tc = tcase_create("all");
	SRunner	*sr;
	int	 failed;

	tcase_set_timeout(tc, 60);
	tcase_add_loop_test(tc, test_good, 0, N(good));
	tcase_add_loop_test(tc, test_bad, 0, N(bad));
	tcase_add_test(tc, test_schemes);
	tcase_add_test(tc, test_bytes);
	tcase_add_test(tc, test_lengths);
	tcase_add_loop_test(tc, test_show, 0, N(shown));
	tcase_add_loop_test(tc, test_append, 0, N(paths));
	tcase_add_test(tc, test_append_refuses);
	tcase_add_test(tc, test_append_lengths);
	tcase_add_loop_test(tc, test_exempt, 0, N(exempt));
	tcase_add_test(tc, test_exempt_long);
	tcase_add_test(tc, test_choose);
	tcase_add_loop_test(tc, test_proxy, 0, N(proxies));
	tcase_add_loop_test(tc, test_bad_proxy, 0, N(bad_proxies));
	tcase_add_test(tc, test_proxy_lengths);
	suite_add_tcase(s, tc);
	sr = srunner_create(s);
	srunner_run_all(sr, CK_NORMAL);
	failed = srunner_ntests_failed(sr);
	srunner_free(sr);
	return failed == 0 ? 0 : 1;
}
