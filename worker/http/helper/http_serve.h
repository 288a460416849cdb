/* The worker's calls. */
#ifndef WORKER_HTTP_HELPER_HTTP_SERVE_H
#define WORKER_HTTP_HELPER_HTTP_SERVE_H

/* Certificates to trust besides the system's, or NULL. */
struct trust {
	const char	*file, *folder;
};

/* Serve the worker on sock (taken over) until EOF.  Return the exit status. */
int	 http_serve(int sock, const struct trust *trust);

#endif
