/*
 * One request of files, prepared once and sent often.  The owner frees it with
 * fscall_fini().  As elsewhere here, failures end the program.
 */
#pragma once

#include "t/bench/client.h"

#define KIB		1024UL
#define MIB		(1024 * KIB)
#define GIB		(1024.0 * (double)MIB)

struct fscall {
	const char	*method;
	char		*params;
	size_t		 len;
	size_t		 least;		/* bytes of an answer: 0, or set it */
	size_t		 most;		/* calls in a run */
};

/*
 * Who replaces files leaves deleted ones behind, and ext4 without a journal
 * looks at each that was deleted in the last minutes before it takes a new one.
 * So few writes in a run, or the later ones pay for the ones before; too few
 * for their processor time, which is counted in hundredths of a second.
 */
#define FSCALL_WRITES	200

/*
 * A call of a method for a name in the folder, with a "sandbox" (JSON, or NULL)
 * and so many bytes as "dataBase64" (0: without; else FSCALL_WRITES in a run).
 */
void	 fscall_init(struct fscall *, const struct bench *, const char *method,
	    const char *name, const char *sandbox, size_t data);

void	 fscall_fini(struct fscall *);

/* Send one. Returns its id. */
long	 fscall_send(struct client *, const struct fscall *);

/* End the program unless this is the answer of such a call. */
void	 fscall_check(const struct fscall *, const struct msg *);

/* Seconds until the answer. */
double	 fscall_once(struct client *, const struct fscall *);

/* What a run of them cost. */
struct fscost {
	double	 p50;		/* seconds until the answer */
	double	 each;		/* seconds of the run, per call */
	double	 cpu;		/* seconds of the server, per call */
};

/* MB/s, if each was about 1 MiB. */
double	 fscost_rate(const struct fscost *);

/* Measure with so many at a time in flight, after as many to warm up. */
struct fscost	 fscall_measure(const struct bench *, struct client *,
		    const struct fscall *, int flying, double seconds);

/* Bytes of text that so many bytes are in base64. */
size_t	 base64_len(size_t);
