/*
 * What stands in the place of others says what it was asked, and a test then
 * compares all of that.
 */
#pragma once

#include "common/attributes.h"

void	 did(const char *format, ...) PRINTF(1, 2);

/* Joined by "; "; forgotten then. */
void	 ck_did(const char *what);

/* The same, if only how it begins is known. */
void	 ck_did_begin(const char *what);
void	 did_forget(void);
