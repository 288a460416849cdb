/*
 * environmentConfig/read (PROTOCOL 8.2): selected parts of the files that
 * configure the stock client on this machine, in the order in which they
 * override each other.  An answer without files needs no waiting; otherwise
 * this is for a process of its own: parsing takes time.
 */
#include "worker/fs/fsop_priv.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/fd.h"
#include "common/json/json_out.h"
#include "common/limit.h"
#include "common/toml/toml.h"
#include "worker/fs/discovery/fsconfig.h"

#define SYSTEM_DIR	"/etc/codex"

enum { SYSTEM, USER, MANAGED, REQUIREMENTS, DERIVED, FILES };

struct config {
	const struct fsop_how	*how;
	struct fsop_result	*r;
	char			 home[PATH_MAX];	/* of the client */
	char			 user_file[PATH_MAX];
	struct buf		 texts[FILES];
	struct toml		*docs[FILES];	/* NULL: there is none */
};

static const char *
fsconfig_path(const struct config *c, int file)
{
	static const char *const	 paths[FILES] = {
		[SYSTEM] = SYSTEM_DIR "/config.toml",
		[MANAGED] = SYSTEM_DIR "/managed_config.toml",
		[REQUIREMENTS] = SYSTEM_DIR "/requirements.toml",
		[DERIVED] = SYSTEM_DIR "/managed_config.toml",
	};

	return file == USER ? c->user_file : paths[file];
}

/* Find the client's directory, which need not be there unless op->force. */
static int
find_home(struct config *c, const struct fsop *op)
{
	struct fsop		 canon = { .kind = FSOP_CANON, .fd = -1 };
	struct fsop_result	 found;
	int			 rv = 0;

	strcpy(c->home, op->path);
	if (!op->force)
		return 0;
	strcpy(canon.path, op->path);
	fsop_result_init(&found);
	fsop_run(&canon, c->how, &found);
	if (found.error == EAGAIN) {
		errno = EAGAIN;
		rv = -1;
	} else if (found.error != 0 || found.why != FSWHY_NONE) {
		rv = fsop_refusef(c->r, FSWHY_CONFIG, "CODEX_HOME is \"%s\": "
		    "%s", op->path, strerror(found.error));
	} else {
		snprintf(c->home, sizeof(c->home), "%.*s",
		    (int)found.payload.len,
		    (const char *)buf_data(&found.payload));
	}
	fsop_result_fini(&found);
	return rv;
}

/* Read a file; one that does not exist is empty. */
static int
read_file(struct config *c, int file)
{
	const char	*path = fsconfig_path(c, file);

	if (fsop_read_small(path, LIMIT_CONFIG_FILE, c->how,
	    &c->texts[file]) == 0)
		return 0;
	switch (errno) {
	case ENOENT:
		return 0;
	case EAGAIN:
	case ECANCELED:
	case ENOMEM:
		return -1;
	case EISDIR:
		return fsop_refusef(c->r, FSWHY_CONFIG, "%s is not a file",
		    path);
	case EFBIG:
		return fsop_refusef(c->r, FSWHY_CONFIG,
		    "%s is larger than %d bytes", path, LIMIT_CONFIG_FILE);
	default:
		return fsop_refusef(c->r, FSWHY_CONFIG, "%s: %s", path,
		    strerror(errno));
	}
}

static int
parse_file(struct config *c, int file)
{
	struct buf		*b = &c->texts[file];
	struct toml_error	 e;

	assert(c->docs[file] == NULL);
	if (b->len == 0)
		return 0;
	if ((c->docs[file] = toml_new()) == NULL)
		return -1;
	if (toml_parse(c->docs[file], (char *)buf_data(b), b->len, &e) == 0)
		return 0;
	if (e.line == 0)
		return fsop_refusef(c->r, FSWHY_CONFIG, "%s: %s",
		    fsconfig_path(c, file), e.why);
	return fsop_refusef(c->r, FSWHY_CONFIG, "%s:%u:%u: %s",
	    fsconfig_path(c, file), e.line, e.column, e.why);
}

/* --- selecting --- */

/* Take a number from the question. */
static bool
take_number(const char **at, const char *end, uint32_t *out)
{
	if ((size_t)(end - *at) < sizeof(*out))
		return false;
	memcpy(out, *at, sizeof(*out));
	*at += sizeof(*out);
	return true;
}

/* Select a path in the files of its stack.  False: malformed. */
static bool
take_path(struct config *c, const char **at, const char *end)
{
	struct span	 keys[TOML_DEPTH_MAX];
	uint32_t	 stack, n, len, i;
	int		 file, last;

	if (!take_number(at, end, &stack) || !take_number(at, end, &n))
		return false;
	for (i = 0; i < n; i++) {
		if (!take_number(at, end, &len) || (size_t)(end - *at) < len)
			return false;
		if (i < TOML_DEPTH_MAX) {
			keys[i].at = *at;
			keys[i].len = len;
		}
		*at += len;
	}
	/* No document is as deep as that: what is not there is left away. */
	if (n > TOML_DEPTH_MAX)
		n = TOML_DEPTH_MAX;
	file = stack == 0 ? SYSTEM : REQUIREMENTS;
	last = stack == 0 ? MANAGED : DERIVED;
	for (; file <= last; file++)
		if (c->docs[file] != NULL)
			toml_select(c->docs[file], keys, n);
	return true;
}

static int
select_all(struct config *c, const struct fsop *op)
{
	const char	*at = op->data, *end = at + op->len;

	while (at < end)
		if (!take_path(c, &at, end)) {
			errno = EINVAL;
			return -1;
		}
	return 0;
}

/* --- the answer --- */

/* The name that clients know a layer by. */
static const char *
layer_name(const struct config *c, int file, char *name, size_t size)
{
	const char	*path = fsconfig_path(c, file);

	switch (file) {
	case SYSTEM:
		snprintf(name, size, "system (%s)", path);
		return name;
	case USER:
		snprintf(name, size, "user (%s)", path);
		return name;
	case MANAGED:
		snprintf(name, size, "legacy managed_config.toml (%s)", path);
		return name;
	default:
		return path;
	}
}

/* Put a layer.  1; 0: nothing was selected in it; -1 with errno. */
static int
put_layer(struct config *c, struct json_out *o, int file)
{
	struct buf	 text;
	char		 name[PATH_MAX + 64];
	int		 rv;

	if (c->docs[file] == NULL)
		return 0;
	buf_init(&text, LIMIT_CONFIG_LAYER);
	if (toml_put(c->docs[file], &text) == -1) {
		rv = errno == EFBIG ? fsop_refusef(c->r, FSWHY_CONFIG,
		    "what was asked for of %s is longer than %d bytes",
		    fsconfig_path(c, file), LIMIT_CONFIG_LAYER) : -1;
	} else if (text.len == 0) {
		rv = 0;
	} else {
		rv = 1;
		json_out_open(o, '{');
		json_out_key(o, "source");
		json_out_str(o, layer_name(c, file, name, sizeof(name)));
		json_out_key(o, "baseDir");
		json_out_uri(o, file == USER ? c->home : SYSTEM_DIR);
		json_out_key(o, "toml");
		json_out_text(o, (const char *)buf_data(&text), text.len);
		json_out_close(o, '}');
	}
	buf_fini(&text);
	return rv;
}

/*
 * Put the layers from file to last, low to high.  Layers from elsewhere belong
 * behind the first, if that is in the answer.
 */
static int
put_stack(struct config *c, struct json_out *o, const char *key, int file,
    int last)
{
	int	 first = file, is_put;
	bool	 has_first = false;

	assert(file <= last && last < FILES);
	json_out_key(o, key);
	json_out_open(o, '{');
	json_out_key(o, "layers");
	json_out_open(o, '[');
	for (; file <= last; file++) {
		if ((is_put = put_layer(c, o, file)) == -1)
			return -1;
		has_first |= file == first && is_put == 1;
	}
	json_out_close(o, ']');
	json_out_pair_u64(o, "cloudInsertionIndex", has_first);
	json_out_close(o, '}');
	return 0;
}

static int
put_answer(struct config *c, const struct fsop *op)
{
	struct json_out	 o;
	struct buf	 b;
	char		 host[HOST_NAME_MAX + 1];

	/* Not the canonical name: a name service may block. */
	if (gethostname(host, sizeof(host)) == -1)
		return -1;
	host[sizeof(host) - 1] = '\0';
	/* Apart from the payload, which is to say what goes wrong. */
	buf_init(&b, LIMIT_MESSAGE / 2);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	json_out_key(&o, "userHomeDir");
	json_out_uri(&o, op->to);
	json_out_key(&o, "codexHomeDir");
	json_out_uri(&o, c->home);
	json_out_pair(&o, "hostname", host);
	if (put_stack(c, &o, "config", SYSTEM, MANAGED) == -1 ||
	    put_stack(c, &o, "requirements", REQUIREMENTS, DERIVED) == -1) {
		buf_fini(&b);
		return -1;
	}
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1) {
		buf_fini(&b);
		return -1;
	}
	buf_move(&c->r->payload, &b);
	return 0;
}

/* --- all --- */

/*
 * The requirements that follow from the managed configuration, as if they were
 * a file.
 */
static int
derive(struct config *c)
{
	struct toml	*managed = c->docs[MANAGED];
	const char	*why;

	assert(c->texts[DERIVED].len == 0);
	if (managed == NULL)
		return 0;
	if (fsconfig_derive(managed, &c->texts[DERIVED], &why) == -1)
		return why == NULL ? -1 : fsop_refusef(c->r, FSWHY_CONFIG,
		    "%s: %s", fsconfig_path(c, MANAGED), why);
	return parse_file(c, DERIVED);
}

static int
fsconfig_load(struct config *c, const struct fsop *op)
{
	int	 file;
	bool	 is_any = false;

	assert(c->home[0] == '\0' && c->user_file[0] == '\0');
	if (find_home(c, op) == -1)
		return -1;
	if ((size_t)snprintf(c->user_file, sizeof(c->user_file),
	    "%s/config.toml", c->home) >= sizeof(c->user_file)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	for (file = SYSTEM; file < DERIVED; file++) {
		if (read_file(c, file) == -1)
			return -1;
		is_any |= c->texts[file].len > 0;
	}
	if (is_any && c->how->nonblock) {
		errno = EAGAIN;
		return -1;
	}
	for (file = SYSTEM; file < DERIVED; file++)
		if (parse_file(c, file) == -1)
			return -1;
	return derive(c);
}

int
fsop_config(const struct fsop *op, const struct fsop_how *how,
    struct fsop_result *r)
{
	struct config	*c;
	int		 file, rv = -1;

	if ((c = calloc(1, sizeof(*c))) == NULL)
		return -1;
	c->how = how;
	c->r = r;
	for (file = 0; file < FILES; file++)
		buf_init(&c->texts[file], LIMIT_CONFIG_FILE + 1);
	if (fsconfig_load(c, op) == 0 && select_all(c, op) == 0 &&
	    put_answer(c, op) == 0)
		rv = 0;
	for (file = 0; file < FILES; file++) {
		toml_free(&c->docs[file]);
		buf_fini(&c->texts[file]);
	}
	free(c);
	return rv;
}
