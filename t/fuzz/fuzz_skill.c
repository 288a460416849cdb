/*
 * Skills and plugins: whatever their texts are, what is taken of them is within
 * bounds, and what is written is JSON.  The first byte chooses the text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json/json.h"
#include "worker/fs/discovery/pluginver.h"
#include "worker/fs/discovery/skill.h"

#define CHECK(claim)	do { if (!(claim)) abort(); } while (0)

int	 LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void
check_front(struct span text)
{
	struct skill	 s;
	const char	*why = NULL;

	if (skill_parse(&s, text, "folder", &why) == 0) {
		CHECK(s.name != NULL && s.name[0] != '\0');
		CHECK(strlen(s.name) <= 4 * 64);
		CHECK(s.description != NULL && s.description[0] != '\0');
		CHECK(strchr(s.description, '\n') == NULL);
	} else {
		CHECK(why != NULL);
	}
	skill_fini(&s);
}

static void
check_metadata(struct span text)
{
	struct json_out	 o;
	struct json	 j;
	struct buf	 b;

	buf_init(&b, 4 * 1024 * 1024);
	json_out_init(&o, &b);
	json_out_open(&o, '{');
	skill_put_metadata(&o, text);
	json_out_close(&o, '}');
	CHECK(json_out_fini(&o) == 0);
	json_init(&j);
	CHECK(json_parse(&j, (char *)buf_data(&b), b.len) == 0);
	CHECK(json_find(&j, 0, "policy") != 0 &&
	    json_find(&j, 0, "dependencies") != 0);
	json_fini(&j);
	buf_fini(&b);
}

static void
check_inside(const char *path)
{
	CHECK(path[0] != '/' && strncmp(path, "../", 3) != 0 &&
	    strstr(path, "/../") == NULL && strcmp(path, "..") != 0);
}

static void
check_manifest(struct span text)
{
	struct manifest	 m;

	if (manifest_parse(&m, text) == 0) {
		if (m.mcp != NULL)
			check_inside(m.mcp);
		if (m.apps != NULL)
			check_inside(m.apps);
	}
	manifest_fini(&m);
}

static int
sign(int x)
{
	return (x > 0) - (x < 0);
}

/* Two lines: either is the later one whoever is asked first. */
static void
check_versions(struct span text)
{
	char	*a = strndup(text.at, text.len), *b;

	CHECK(a != NULL);
	b = a + strcspn(a, "\n");
	if (*b != '\0')
		*b++ = '\0';
	CHECK(sign(pluginver_compare(a, b)) == -sign(pluginver_compare(b, a)));
	CHECK((pluginver_compare(a, b) == 0) == (strcmp(a, b) == 0));
	free(a);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct span	 text;
	char		*copy;

	if (size == 0 || size > 65536)
		return 0;
	text.len = size - 1;
	CHECK((copy = malloc(text.len + (text.len == 0))) != NULL);
	memcpy(copy, data + 1, text.len);
	text.at = copy;
	if (data[0] == 'f')
		check_front(text);
	else if (data[0] == 'm')
		check_metadata(text);
	else if (data[0] == 'v')
		check_versions(text);
	else
		check_manifest(text);
	free(copy);
	return 0;
}
