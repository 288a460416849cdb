/* "execsrvctl fleet token": lines of a hub's TokensFile. */
#pragma once

struct fleet_token_options {
	const char	*file;		/* of the tokens */
	const char	*may_connect, *may_register;	/* patterns, or NULL */
	const char	*days;		/* it is good for; NULL: for ever */
};

/*
 * new NAME: append one, and print it, which nobody can do again; list: their
 * names, as the file has them, without hashes; revoke NAME.  The file is
 * replaced as a whole.  Return an exit status, after a complaint.
 */
int	 fleet_token_command(const struct fleet_token_options *o, char **arg);
