/* Promises about functions, in every file: BASE_CPPFLAGS includes it. */
#pragma once

#define MUST_CHECK	__attribute__((warn_unused_result))
#define NORETURN	__attribute__((noreturn))
#define PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
