#include "master/execsrvctl/forward/forward_spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIELDS_MAX	4

/* Cut "a:[b:c]:d" at its outer colons.  How many; 0: malformed. */
static size_t
cut_fields(const char *text, char field[FIELDS_MAX][256])
{
	size_t	 n = 0, len;

	for (;; text++) {
		if (n == FIELDS_MAX)
			return 0;
		if (text[0] == '[') {
			len = strcspn(++text, "]");
			if (text[len] != ']' || (text[len + 1] != ':' &&
			    text[len + 1] != '\0'))
				return 0;
		} else {
			len = strcspn(text, ":");
		}
		if (len == 0 || len >= sizeof(field[n]))
			return 0;
		memcpy(field[n], text, len);
		field[n++][len] = '\0';
		text += len + (text[len] == ']');
		if (*text == '\0')
			return n;
	}
}

static bool
is_port_number(const char *text, unsigned long least)
{
	size_t	 len = strlen(text);

	return len <= 5 && strspn(text, "0123456789") == len &&
	    strtoul(text, NULL, 10) >= least &&
	    strtoul(text, NULL, 10) <= 65535;
}

static int
set_path(struct forward_end *e, const char *path)
{
	if (path[0] != '/')
		return -1;
	strcpy(e->name, path);
	e->port[0] = '\0';
	return 0;
}

static int
set_port(struct forward_end *e, const char *name, const char *port,
    unsigned long least)
{
	if (name[0] == '/' || !is_port_number(port, least))
		return -1;
	strcpy(e->name, name);
	strcpy(e->port, port);
	return 0;
}

int
forward_spec_parse(const char *text, struct forward_spec *out)
{
	char	 field[FIELDS_MAX][256];
	size_t	 n = cut_fields(text, field), at;

	if (n < 2)
		return -1;
	/* The target is the last field, or the last two. */
	if (field[n - 1][0] == '/') {
		at = n - 1;
		strcpy(out->to.name, field[at]);
		out->to.port[0] = '\0';
	} else {
		at = n - 2;
		if (set_port(&out->to, field[at], field[at + 1], 1) == -1)
			return -1;
	}
	switch (at) {
	case 1:
		return field[0][0] == '/' ? set_path(&out->from, field[0]) :
		    set_port(&out->from, "localhost", field[0], 0);
	case 2:
		return set_port(&out->from, field[0], field[1], 0);
	default:
		return -1;
	}
}

void
forward_end_text(const struct forward_end *e, char out[FORWARD_TEXT])
{
	bool	 is_six = strchr(e->name, ':') != NULL;

	if (e->port[0] == '\0')
		snprintf(out, FORWARD_TEXT, "%s", e->name);
	else
		snprintf(out, FORWARD_TEXT, "%s%s%s:%s", is_six ? "[" : "",
		    e->name, is_six ? "]" : "", e->port);
}
