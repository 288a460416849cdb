#include "common/json/uri.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#define SCHEME		"file:"
#define LOCALHOST	"localhost"

/* Kinds of segments. */
enum kind {
	KIND_HERE,		/* empty or ".": dropped */
	KIND_UP,		/* "..": drops the name before it */
	KIND_NAME
};

static int
hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

/*
 * Decode a byte, used_out characters long.  -1: not allowed in a segment (NUL,
 * query, fragment, a bad escape).
 */
static int
get_byte(const char *text, size_t len, size_t *used_out)
{
	int	 hi, lo;

	*used_out = 1;
	if (*text == '\0' || *text == '?' || *text == '#')
		return -1;
	if (*text != '%')
		return (unsigned char)*text;
	*used_out = 3;
	if (len < 3 || (hi = hex_value(text[1])) == -1 ||
	    (lo = hex_value(text[2])) == -1 || hi + lo == 0)
		return -1;
	return hi << 4 | lo;
}

/* Return the decoded length of a segment, -1: malformed. */
static ssize_t
segment_len(const char *text, size_t len)
{
	size_t	 used;
	ssize_t	 n = 0;

	for (; len > 0; text += used, len -= used, n++)
		if (get_byte(text, len, &used) == -1)
			return -1;
	return n;
}

/* Decode a valid segment; false: it contains a slash. */
static bool
segment_decode(const char *text, size_t len, char *out)
{
	size_t	 used;
	int	 c;

	for (; len > 0; text += used, len -= used) {
		if ((c = get_byte(text, len, &used)) == '/')
			return false;
		if (out != NULL)
			*out++ = (char)c;
	}
	return true;
}

static enum kind
segment_kind(const char *text, size_t len)
{
	size_t	 used;
	int	 dots;

	for (dots = 0; len > 0; text += used, len -= used, dots++)
		if (dots == 2 || get_byte(text, len, &used) != '.')
			return KIND_NAME;
	return dots == 2 ? KIND_UP : KIND_HERE;
}

/* C: or C|, unescaped.  "/C%3A" is a file name, see uri_from_path(). */
static bool
segment_is_drive(const char *text, size_t len)
{
	return len == 2 && (text[1] == ':' || text[1] == '|') &&
	    ((text[0] >= 'a' && text[0] <= 'z') ||
	    (text[0] >= 'A' && text[0] <= 'Z'));
}

/* Return the path of a URI, from its first slash, or NULL. */
static const char *
find_path(const char *uri, size_t len)
{
	const char	*p, *slash, *end;
	size_t		 host;

	if (len < strlen(SCHEME "/") ||
	    strncasecmp(uri, SCHEME, strlen(SCHEME)) != 0)
		return NULL;
	p = uri + strlen(SCHEME);
	end = uri + len;
	if (end - p < 2 || p[0] != '/' || p[1] != '/')
		return *p == '/' ? p : NULL;
	p += 2;
	if ((slash = memchr(p, '/', (size_t)(end - p))) == NULL)
		return NULL;
	host = (size_t)(slash - p);
	if (host != 0 && (host != strlen(LOCALHOST) ||
	    strncasecmp(p, LOCALHOST, host) != 0))
		return NULL;
	return slash;
}

/* Whether all segments are valid and none at the root is a drive. */
static bool
is_path(const char *p, const char *end)
{
	const char	*next;
	size_t		 depth = 0, len;
	enum kind	 kind;

	for (; p < end; p = next) {
		p++;
		if ((next = memchr(p, '/', (size_t)(end - p))) == NULL)
			next = end;
		len = (size_t)(next - p);
		if (segment_len(p, len) == -1 ||
		    (depth == 0 && segment_is_drive(p, len)))
			return false;
		if ((kind = segment_kind(p, len)) == KIND_NAME)
			depth++;
		else if (kind == KIND_UP && depth > 0)
			depth--;
	}
	return true;
}

/*
 * Decode the path backwards: each ".." is met before the name that it drops,
 * which need not be decoded.  Return where in path it begins, or -1 with errno.
 */
static ssize_t
uri_resolve(const char *text, const char *end, char *path, size_t size)
{
	const char	*slash;
	size_t		 at = size - 1, len, up = 0;
	ssize_t		 n;
	bool		 fits = true;
	enum kind	 kind;

	for (; end > text; end = slash) {
		slash = memrchr(text, '/', (size_t)(end - text));
		len = (size_t)(end - slash) - 1;
		if ((kind = segment_kind(slash + 1, len)) == KIND_UP)
			up++;
		if (kind != KIND_NAME)
			continue;
		if (up > 0) {
			up--;
			continue;
		}
		n = segment_len(slash + 1, len);
		if ((fits = fits && at > (size_t)n)) {
			at -= (size_t)n + 1;
			path[at] = '/';
		}
		if (!segment_decode(slash + 1, len,
		    fits ? path + at + 1 : NULL)) {
			errno = ENOENT;
			return -1;
		}
	}
	if (at == size - 1 && (fits = fits && at > 0))
		path[--at] = '/';
	if (!fits) {
		errno = ENAMETOOLONG;
		return -1;
	}
	return (ssize_t)at;
}

ssize_t
uri_to_path(const char *uri, size_t len, char *path, size_t size)
{
	const char	*text;
	ssize_t		 at;
	size_t		 n;

	if ((text = find_path(uri, len)) == NULL ||
	    !is_path(text, uri + len)) {
		errno = EINVAL;
		return -1;
	}
	if (size == 0) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if ((at = uri_resolve(text, uri + len, path, size)) == -1)
		return -1;
	n = size - 1 - (size_t)at;
	memmove(path, path + at, n);
	path[n] = '\0';
	return (ssize_t)n;
}

static bool
uri_is_plain(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '-' || c == '.' || c == '_' ||
	    c == '~' || c == '/';
}

ssize_t
uri_from_path(const char *path, char *uri, size_t size)
{
	static const char	 digits[] = "0123456789ABCDEF";
	static const char	 prefix[] = SCHEME "//";
	size_t			 n = strlen(prefix), need;
	unsigned char		 c;

	if (*path != '/') {
		errno = EINVAL;
		return -1;
	}
	if (size <= n)
		goto fail;
	memcpy(uri, prefix, n);
	for (; *path != '\0'; path++) {
		need = uri_is_plain(*path) ? 1 : 3;
		if (size - n <= need)
			goto fail;
		if (need == 1) {
			uri[n++] = *path;
			continue;
		}
		c = (unsigned char)*path;
		uri[n++] = '%';
		uri[n++] = digits[c >> 4];
		uri[n++] = digits[c & 15];
	}
	uri[n] = '\0';
	return (ssize_t)n;
 fail:
	errno = ENAMETOOLONG;
	return -1;
}
