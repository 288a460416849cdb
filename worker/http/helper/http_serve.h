/* What the worker asks for, and what it is told. */
#ifndef WORKER_HTTP_HELPER_HTTP_SERVE_H
#define WORKER_HTTP_HELPER_HTTP_SERVE_H

/* Certificates to trust beyond the system's, or NULL. */
struct trust {
	const char	*file, *folder;
};

/*
 * Serve the worker on sock (taken) until it closes it.  The status to exit
 * with.
 */
int	 http_serve(int sock, const struct trust *trust);

#endif
