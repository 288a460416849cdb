/* What a program of operators prints, which a test then compares. */
#pragma once

/* From now on standard output and error go nowhere else. */
void	 said_begin(void);
void	 said_end(void);

/* Both, since the last look. */
void	 ck_said(const char *error, const char *output);

/* What said_end() ended. */
const char *said_error(void);
const char *said_output(void);
