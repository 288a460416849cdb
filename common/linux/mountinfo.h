/* The mount table of a process, /proc/PID/mountinfo (proc_pid_mountinfo(5)). */
#ifndef COMMON_LINUX_MOUNTINFO_H
#define COMMON_LINUX_MOUNTINFO_H

/* Decode the octal escapes of a path ("\040": a blank) in place. */
void	 mountinfo_unescape(char *s);

#endif
