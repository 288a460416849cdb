#include "common/process/successor.h"

#include <sys/socket.h>

#include <assert.h>

#include "common/clock.h"
#include "common/fd.h"
#include "common/rundirs.h"

#define FIRST_MS	20	/* between attempts */
#define MAX_MS		1000

void
successor_init(struct successor *s, const char *dir, uint64_t ttl)
{
	s->dir = dir;
	s->ttl = dir[0] == '\0' ? 0 : ttl;
}

void
successor_begin(struct successor *s)
{
	s->until = clock_ms() + s->ttl;
	s->pause = FIRST_MS;
	s->is_last = false;
}

/* A last time when the time is over, as we may have slept. */
int
successor_pause(struct successor *s, uint64_t *ms_out)
{
	uint64_t	 now = clock_ms();

	assert(s->pause > 0 && s->pause <= MAX_MS);
	if (s->is_last)
		return -1;
	s->is_last = now + s->pause >= s->until;
	*ms_out = !s->is_last ? s->pause : s->until > now ?
	    s->until - now : 0;
	s->pause = s->pause * 2 < MAX_MS ? s->pause * 2 : MAX_MS;
	return 0;
}

int
successor_connect(const struct successor *s)
{
	struct sockaddr_un	 un;
	int			 fd;

	if (rundirs_address(s->dir, RUNDIRS_ADOPT, &un) == -1 ||
	    (fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
	    SOCK_NONBLOCK, 0)) == -1)
		return -1;
	if (connect(fd, (struct sockaddr *)&un, sizeof(un)) == -1)
		fd_close(&fd);
	return fd;
}
