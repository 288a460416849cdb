/* The worker's calls. */
#pragma once

/* Besides the system's, or NULL. */
struct trust {
	const char	*file, *folder;
};

/* Until EOF on sock, which is taken.  The exit status. */
int	 http_serve(int sock, const struct trust *trust);
