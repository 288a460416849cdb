/* System calls that leave errno alone (tvfork.h); negative: an errno. */
#pragma once

static inline long
rawsys(long number, long a, long b, long c, long d, long e)
{
#if defined(__x86_64__)
	register long	 r10 __asm__("r10") = d;
	register long	 r8 __asm__("r8") = e;

	__asm__ volatile("syscall" : "+a"(number)
	    : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
	    : "rcx", "r11", "memory");
	return number;
#elif defined(__aarch64__)
	register long	 x8 __asm__("x8") = number;
	register long	 x0 __asm__("x0") = a;
	register long	 x1 __asm__("x1") = b;
	register long	 x2 __asm__("x2") = c;
	register long	 x3 __asm__("x3") = d;
	register long	 x4 __asm__("x4") = e;

	__asm__ volatile("svc 0" : "+r"(x0)
	    : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
	return x0;
#else
#error "how is a system call made here?"
#endif
}
