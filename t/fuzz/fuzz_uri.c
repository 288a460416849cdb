/*
 * URIs to paths as a plain reading of the contract has it, from the left with
 * a stack; and what every path that comes out must be like.
 */
#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "common/json/uri.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

#define MAX		4096

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct piece {
	char	 name[MAX];
	bool	 has_slash;
};

/* 0 and the path, or an errno; never ENAMETOOLONG. */
static int
naive(const char *uri, size_t len, char *path)
{
	static struct piece	 stack[MAX], *top;
	static char		 text[MAX];
	const char		*p = text;
	unsigned int		 c;
	size_t			 depth = 0, n, raw;
	int			 used;

	memcpy(text, uri, len);
	text[len] = '\0';
	if (strlen(text) != len || strpbrk(text, "?#") != NULL)
		return EINVAL;
	if (strncasecmp(p, "file:/", 6) != 0)
		return EINVAL;
	p += 5;
	if (strncmp(p, "//", 2) == 0) {
		p += 2;
		if (strncasecmp(p, "localhost/", 10) == 0)
			p += 9;
		if (*p != '/')
			return EINVAL;
	}
	for (; *p == '/'; p += raw) {
		p++;
		raw = strcspn(p, "/");
		if (depth == 0 && raw == 2 && isalpha((unsigned char)*p) &&
		    strchr(":|", p[1]) != NULL)
			return EINVAL;
		top = &stack[depth];
		top->has_slash = false;
		for (n = 0, used = 0; (size_t)used < raw; n++) {
			c = (unsigned char)p[used++];
			if (c == '%') {
				if (!isxdigit((unsigned char)p[used]) ||
				    !isxdigit((unsigned char)p[used + 1]))
					return EINVAL;
				CHECK(sscanf(p + used, "%2x", &c) == 1);
				if (c == 0)
					return EINVAL;
				used += 2;
				top->has_slash |= c == '/';
			}
			top->name[n] = (char)c;
		}
		top->name[n] = '\0';
		if (strcmp(top->name, "..") == 0)
			depth -= depth > 0;
		else if (strcmp(top->name, ".") != 0 && n > 0)
			depth++;
	}
	strcpy(path, "/");
	for (n = 0; n < depth; n++) {
		if (stack[n].has_slash)
			return ENOENT;
		strcat(path, n > 0 ? "/" : "");
		strcat(path, stack[n].name);
	}
	return 0;
}

static void
check_path(const char *path, size_t len)
{
	char	 uri[3 * MAX + 8], back[MAX];
	ssize_t	 n;

	CHECK(strlen(path) == len && path[0] == '/');
	CHECK(len == 1 || path[len - 1] != '/');
	CHECK(strstr(path, "//") == NULL && strstr(path, "/./") == NULL &&
	    strstr(path, "/../") == NULL);
	CHECK(len < 2 || strcmp(path + len - 2, "/.") != 0);
	CHECK(len < 3 || strcmp(path + len - 3, "/..") != 0);
	n = uri_from_path(path, uri, 3 * len + 8);
	CHECK(n > 0 && strlen(uri) == (size_t)n);
	CHECK(uri_to_path(uri, (size_t)n, back, sizeof(back)) ==
	    (ssize_t)len);
	CHECK(strcmp(back, path) == 0);
}

static void
check_to(const char *data, size_t size)
{
	char	*uri = malloc(size), *path;
	char	 want[MAX], got[MAX];
	int	 error;
	ssize_t	 n;

	CHECK(uri != NULL || size == 0);
	if (size > 0)
		memcpy(uri, data, size);
	error = naive(data, size, want);
	errno = 0;
	n = uri_to_path(uri, size, got, sizeof(got));
	CHECK(errno == error);
	if (n == -1) {
		CHECK(error != 0);
		free(uri);
		return;
	}
	CHECK(strcmp(got, want) == 0);
	check_path(got, (size_t)n);
	/* room for exactly this much, then for one byte less */
	path = malloc((size_t)n + 1);
	CHECK(path != NULL);
	CHECK(uri_to_path(uri, size, path, (size_t)n + 1) == n);
	CHECK(strcmp(got, path) == 0);
	free(path);
	path = malloc((size_t)n);
	CHECK(uri_to_path(uri, size, path, (size_t)n) == -1);
	CHECK(errno == ENAMETOOLONG);
	free(path);
	free(uri);
}

/* Any absolute path as it is: the URI of it says the same after tidying. */
static void
check_from(const char *data, size_t size)
{
	char	 path[MAX], uri[3 * MAX + 8], raw[MAX + 8];
	ssize_t	 n;

	if (memchr(data, '\0', size) != NULL)
		return;
	path[0] = '/';
	memcpy(path + 1, data, size);
	path[size + 1] = '\0';
	n = uri_from_path(path, uri, 3 * (size + 1) + 8);
	CHECK(n > 0 && strlen(uri) == (size_t)n);
	CHECK(strspn(uri, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	    "0123456789-._~/%:") == (size_t)n && strrchr(uri, ':') == uri + 4);
	check_to(uri, (size_t)n);
	CHECK(uri_to_path(uri, (size_t)n, raw, sizeof(raw)) > 0);
	CHECK(uri_from_path(path, uri, (size_t)n) == -1);
	CHECK(errno == ENAMETOOLONG);
	/* and the same bytes unescaped */
	snprintf(raw, sizeof(raw), "file://%s", path);
	check_to(raw, strlen(raw));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char	*text = (const char *)data;

	if (size == 0 || size > MAX / 3 - 16)
		return 0;
	check_to(text, size);
	check_from(text, size);
	return 0;
}
