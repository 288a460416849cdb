/* The worker's calls. */
#pragma once

/* Certificates to trust besides the system's, or NULL. */
struct trust {
	const char	*file, *folder;
};

/* Serve the worker on sock (taken over) until EOF.  Return the exit status. */
int	 http_serve(int sock, const struct trust *trust);
