/*
 * Any bytes as a configuration file: settings, or one line that says why.  An
 * Include reads the same bytes again, up to some depth.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/conf/conf.h"

#define DEPTH_MAX	3
#define MUST(claim)	do { if (!(claim)) abort(); } while (0)

struct procin {
	const void	*data;
	size_t		 len;
	unsigned	 depth, left;
};

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static int	 parse(struct conf *c, struct procin *in,
		    struct conf_error *e);

static int
include(void *arg, void *c, const char *pattern, struct conf_error *e)
{
	struct procin	*in = arg;
	int		 r;

	MUST(strlen(pattern) <= in->len);
	if (in->depth == DEPTH_MAX || in->left == 0) {
		snprintf(e->text, sizeof(e->text), "too deep");
		return -1;
	}
	in->left--;
	in->depth++;
	r = parse(c, in, e);
	in->depth--;
	return r;
}

/* An exact copy: who reads on behind it is found out. */
static int
parse(struct conf *c, struct procin *in, struct conf_error *e)
{
	char	*text;
	int	 r;

	MUST((text = malloc(in->len + 1)) != NULL);
	memcpy(text, in->data, in->len);
	text[in->len] = '\0';
	r = conf_parse(c, "file", text, in->len, include, in, e);
	free(text);
	return r;
}

static void
print(const struct conf *c, char **text, size_t *len)
{
	FILE	*out;

	*text = NULL;
	MUST((out = open_memstream(text, len)) != NULL);
	conf_print(c, out);
	MUST(fclose(out) == 0);
}

/* What was printed is a file that sets the same. */
static void
check_print(const struct conf *c)
{
	struct conf_error	 e;
	struct procin		 in = { NULL, 0, 0, 0 };
	struct conf		 again;
	char			*a, *b;
	size_t			 blen;

	print(c, &a, &in.len);
	in.data = a;
	MUST(conf_init(&again) == 0);
	MUST(parse(&again, &in, &e) == 0);
	print(&again, &b, &blen);
	MUST(in.len == blen && memcmp(a, b, blen) == 0);
	conf_fini(&again);
	free(a);
	free(b);
}

/* The last line as a client: some settings are in force for it. */
static void
check_client(const struct conf *c, const uint8_t *data, size_t len)
{
	struct conf_error	 e;
	struct conf_spec	 spec;
	struct conf		 one;
	const uint8_t		*line = memrchr(data, '\n', len);
	char			*text;

	line = line == NULL ? data : line + 1;
	MUST((text = strndup((const char *)line,
	    (size_t)(data + len - line))) != NULL);
	if (conf_spec_parse(&spec, text, &e) == 0) {
		MUST(conf_resolve(c, &spec.client, &one) == 0);
		MUST(one.listen.n == c->listen.n && one.nmatch == 0);
		check_print(&one);
		conf_fini(&one);
		conf_spec_fini(&spec);
	}
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct conf_error	 e;
	struct procin		 in = { data, len, 0, 16 };
	struct conf		 c, empty;

	if (len > 3000)			/* printed lines must fit as well */
		return 0;
	MUST(conf_init(&c) == 0);
	memset(&e, 'x', sizeof(e));
	if (parse(&c, &in, &e) == 0) {
		check_print(&c);
		check_client(&c, data, len);
	} else {
		MUST(memchr(e.text, '\0', sizeof(e.text)) != NULL &&
		    e.text[0] != '\0');
	}
	MUST(conf_init(&empty) == 0);
	check_client(&empty, data, len);
	conf_fini(&empty);
	conf_fini(&c);
	return 0;
}
