/*
 * What stands in the place of others says what it was asked, and a test then
 * compares all of that.
 */
#pragma once

#include <stdbool.h>

#include "common/attributes.h"

void	 did(const char *format, ...) PRINTF(1, 2);

/* Joined by "; "; forgotten then. */
void	 ck_did(const char *what);

/* Whether it begins so; assert that, and forget it. */
bool	 did_begins(const char *what);
void	 ck_did_begin(const char *what);
void	 did_forget(void);
