/* JSON as text: what callers pass in, and what they get back.  Pure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/json/json.h"
#include "common/json/json_out.h"

/* Write a value that was read. */
void	 execsrv_put_value(struct json_out *o, const struct json *j,
	    uint32_t tok);

/* Whether it is an array or object.  0, or -1: EINVAL, ENOMEM. */
int	 execsrv_check_json(const char *text, size_t len) MUST_CHECK;

bool	 execsrv_is_true(const struct json *j, uint32_t object,
	    const char *key);
