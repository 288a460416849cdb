#include "master/auth/runas.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "master/auth/names.h"

static int
runas_refuse(char *why, size_t size, const char *what, const char *name,
    const char *text)
{
	snprintf(why, size, "%s %s: %s", what, name, text);
	return -1;
}

int
runas_find(const struct conf *c, const char *what, const char *name,
    struct runas *out, char *why, size_t size)
{
	const struct passwd	*pw;
	bool			 is_root = geteuid() == 0;

	memset(out, 0, sizeof(*out));
	out->uid = geteuid();
	if (name[0] == '\0') {
		if (!is_root)
			return 0;
		snprintf(why, size, "a server that runs as root needs %s: "
		    "the user of its sessions", what);
		return -1;
	}
	if ((pw = names_user(name)) == NULL)
		return runas_refuse(why, size, what, name, errno == 0 ?
		    "no such user" : names_error(errno));
	if (!is_root && pw->pw_uid != geteuid())
		return runas_refuse(why, size, what, name, "only root can run "
		    "sessions of another user");
	if (pw->pw_uid == 0 && c->permit_root != CONF_ROOT_YES)
		return runas_refuse(why, size, what, name,
		    "needs PermitRootSession yes");
	out->uid = pw->pw_uid;
	out->gid = pw->pw_gid;
	out->has_gid = true;
	return 0;
}
