/* "execsrvctl fleet token": lines of a hub's TokensFile. */
#pragma once

struct fleet_token_options {
	const char	*file;		/* of the tokens */
	const char	*may_connect, *may_register;	/* patterns, or NULL */
	const char	*days;		/* it is good for; NULL: for ever */
};

/* new NAME, which is printed; list; revoke NAME.  An exit status. */
int	 fleet_token_command(const struct fleet_token_options *o, char **arg);
