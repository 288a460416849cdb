#include "common/net/httpwhy.h"

#include <string.h>

bool
httpwhy_line(struct span *rest, struct span *line)
{
	return span_line(rest, line) && span_is_text(*line);
}

struct span
httpwhy_type(struct span fields)
{
	struct span	 line, name, type = { "", 0 };

	while (httpwhy_line(&fields, &line) && line.len > 0)
		if (span_cut(&line, ':', &name) &&
		    span_is_nocase(name, "Content-Type"))
			type = span_trim(line);
	return type;
}

struct span
httpwhy_find(struct span type, struct span body, struct span phrase)
{
	static const struct span	 none = { "", 0 };
	struct span			 line, rest, front;

	if (!span_begins(type, "text/plain"))
		return none;
	if (!span_cut(&body, '\n', &line))
		line = body;
	if (line.len > 0 && line.at[line.len - 1] == '\r')
		line.len--;
	line = span_trim(line);
	rest = line;
	if (phrase.len > 0 && span_cut(&rest, ':', &front) &&
	    front.len == phrase.len &&
	    memcmp(front.at, phrase.at, front.len) == 0)
		return span_trim(rest);
	return line;
}
