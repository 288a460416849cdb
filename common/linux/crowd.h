/* How many processes want a processor (proc(5), loadavg). */
#pragma once

/* For each processor, at this moment: at least 1, also where nobody tells. */
unsigned	 crowd_now(void);

/* Of a text of /proc/loadavg.  Pure. */
unsigned	 crowd_parse(const char *text, unsigned processors);
