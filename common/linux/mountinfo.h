/* The mount table of a process, /proc/PID/mountinfo (proc_pid_mountinfo(5)). */
#pragma once

/* Octal escapes ("\040": a blank), in place. */
void	 mountinfo_unescape(char *s);
