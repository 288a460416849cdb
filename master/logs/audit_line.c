#include "master/logs/audit_line.h"

#include <assert.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "common/json/json_out.h"
#include "common/utc.h"

static const char *const	 events[AUDIT_EVENTS] = {
#define AUDIT(name, event, when)	event,
#define AUDIT_KEY(name, kind, meaning)
#include "proto/audit.def"
#undef AUDIT
#undef AUDIT_KEY
};

static void
put_TEXT(struct json_out *o, const char *key, AUDIT_TEXT text)
{
	if (text == NULL)
		return;
	json_out_key(o, key);
	json_out_text(o, text, strnlen(text, PATH_MAX));
}

static void
put_NUMBER(struct json_out *o, const char *key, AUDIT_NUMBER number)
{
	if (!number.is_set)
		return;
	json_out_pair_u64(o, key, number.n);
}

static void
put_FLAG(struct json_out *o, const char *key, AUDIT_FLAG flag)
{
	if (!flag.is_set)
		return;
	json_out_pair_bool(o, key, flag.n != 0);
}

static void
put_TEXTS(struct json_out *o, const char *key, AUDIT_TEXTS texts)
{
	size_t	 i;

	if (texts.item == NULL)
		return;
	json_out_key(o, key);
	json_out_open(o, '[');
	for (i = 0; i < texts.n; i++)
		json_out_text(o, texts.item[i], strnlen(texts.item[i],
		    PATH_MAX));
	json_out_close(o, ']');
}

int
audit_line(struct buf *b, const struct audit_head *head,
    const struct audit_what *what)
{
	struct json_out	 o;
	char		 time[UTC_MAX];

	assert((unsigned)what->event < AUDIT_EVENTS);
	json_out_init(&o, b);
	json_out_shown(&o);
	json_out_open(&o, '{');
	utc_text(&head->time, time);
	json_out_pair(&o, "time", time);
	if (head->run != NULL) {
		json_out_pair(&o, "run", head->run);
		json_out_pair_u64(&o, "seq", head->seq);
	}
	json_out_pair(&o, "event", events[what->event]);
#define AUDIT(name, event, when)
#define AUDIT_KEY(name, kind, meaning)	put_##kind(&o, #name, what->name);
#include "proto/audit.def"
#undef AUDIT
#undef AUDIT_KEY
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1)
		return -1;
	return buf_put(b, "\n", 1);
}
