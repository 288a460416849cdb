#include "master/hub/hubaudit.h"

#include <stdio.h>
#include <unistd.h>

#include "common/json/json_out.h"
#include "common/utc.h"

#define LINE_MAX_	4096	/* bytes of an event */

void
hubaudit(struct hub *h, const char *event, const struct hubaudit_item *items)
{
	struct json_out	 o;
	struct buf	 b;
	char		 time[UTC_MAX];

	if (h->audit == -1)
		return;
	buf_init(&b, LINE_MAX_);
	json_out_init(&o, &b);
	json_out_shown(&o);
	json_out_open(&o, '{');
	utc_now(time);
	json_out_pair(&o, "time", time);
	json_out_pair(&o, "hub", h->name);
	json_out_pair(&o, "event", event);
	for (; items->key != NULL; items++) {
		json_out_key(&o, items->key);
		if (items->text != NULL)
			json_out_str(&o, items->text);
		else
			json_out_u64(&o, items->n);
	}
	json_out_close(&o, '}');
	if (json_out_fini(&o) == -1 || buf_put(&b, "\n", 1) == -1 ||
	    write(h->audit, buf_data(&b), b.len) != (ssize_t)b.len)
		h->audit_lost++;
	buf_fini(&b);
}

void
hubaudit_refused(struct hub *h, const char *what, const char *who,
    const char *environment, const char *address, const char *why)
{
	hubaudit(h, "refused", (const struct hubaudit_item[]){
	    { "request", what, 0 },
	    { "subject", who != NULL ? who : "", 0 },
	    { "environment", environment, 0 },
	    { "address", address, 0 },
	    { "reason", why, 0 },
	    { NULL, NULL, 0 } });
}
