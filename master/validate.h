/*
 * Whether a configuration can be: what no single line of it can tell.  Asked
 * before a start, by -t and by a reload, so that all three say the same.
 */
#ifndef MASTER_VALIDATE_H
#define MASTER_VALIDATE_H

#include "common/conf/conf.h"

/*
 * Nothing is opened and no secret is read; names of users and groups are looked
 * up.  0, or -1 with the reason in e.
 */
int	 validate(const struct conf *c, struct conf_error *e)
	    __attribute__((warn_unused_result));

#endif
