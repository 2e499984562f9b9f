"""The system calls that a program in the sandbox may make: an allow list, so everything unforeseen is refused.

Each entry is `name number-on-x86_64 number-on-aarch64`, with `-` where the architecture has no such call. The numbers
are the kernel's stable interface (asm/unistd_64.h and asm-generic/unistd.h).
"""

NEWEST = 450
"""Calls above this number are newer than the tables. They return "no such call", so the C library uses older ones."""

ALLOWED = """
read 0 63; write 1 64; pread64 17 67; pwrite64 18 68; readv 19 65; writev 20 66; preadv 295 69; pwritev 296 70;
preadv2 327 286; pwritev2 328 287; lseek 8 62; close 3 57; dup 32 23; dup2 33 -; dup3 292 24;
pipe 22 -; pipe2 293 59; creat 85 -; access 21 -; faccessat 269 48;
faccessat2 439 439; stat 4 -; fstat 5 80; lstat 6 -; newfstatat 262 79; statx 332 291; statfs 137 43;
fstatfs 138 44; readlink 89 -; readlinkat 267 78; getdents 78 -; getdents64 217 61; getcwd 79 17; chdir 80 49;
fchdir 81 50; mkdir 83 -; mkdirat 258 34; rmdir 84 -; unlink 87 -; unlinkat 263 35; rename 82 -; renameat 264 38;
renameat2 316 276; link 86 -; linkat 265 37; symlink 88 -; symlinkat 266 36; ftruncate 77 46; fsync 74 82;
fdatasync 75 83; flock 73 32; umask 95 166; fadvise64 221 223; sendfile 40 71; copy_file_range 326 285;
mmap 9 222; munmap 11 215; mprotect 10 226; mremap 25 216; madvise 28 233; msync 26 227; mincore 27 232; brk 12 214;
membarrier 324 283;
poll 7 -; ppoll 271 73; select 23 -; pselect6 270 72; epoll_create 213 -; epoll_create1 291 20; epoll_ctl 233 21;
epoll_wait 232 -; epoll_pwait 281 22; epoll_pwait2 441 441; eventfd2 290 19; recvfrom 45 207; getsockname 51 204;
getsockopt 55 209; shutdown 48 210;
futex 202 98; futex_waitv 449 449; set_robust_list 273 99; set_tid_address 218 96; rseq 334 293; sched_yield 24 124;
sched_getaffinity 204 123; getcpu 309 168; gettid 186 178; exit 60 93; exit_group 231 94; restart_syscall 219 128;
rt_sigaction 13 134; rt_sigprocmask 14 135; rt_sigreturn 15 139; rt_sigpending 127 136; rt_sigsuspend 130 133;
rt_sigtimedwait 128 137; sigaltstack 131 132; pause 34 -; alarm 37 -; setitimer 38 103; getitimer 36 102;
wait4 61 260; waitid 247 95;
clock_gettime 228 113; clock_getres 229 114; clock_nanosleep 230 115; nanosleep 35 101; gettimeofday 96 169;
time 201 -; times 100 153; getrusage 98 165; sysinfo 99 179; uname 63 160; getrandom 318 278; getrlimit 97 163;
getpid 39 172; getppid 110 173; getpgrp 111 -; getpgid 121 155; getsid 124 156; getuid 102 174; geteuid 107 175;
getgid 104 176; getegid 108 177; getresuid 118 148; getresgid 120 150; getgroups 115 158; getpriority 140 141;
capget 125 90;
"""

# Landlock does not protect modes and times of files, so these calls would affect every file of the user. They return
# success and do nothing: shutil.copy and zipfile call them, and an error would break honest programs.
PRETENDED = """
chmod 90 -; fchmod 91 52; fchmodat 268 53; utime 132 -; utimes 235 -; futimesat 261 -; utimensat 280 88;
"""

# Python and the C library have a fallback for these when the file system does not support them.
UNSUPPORTED = """
fallocate 285 47; setxattr 188 5; lsetxattr 189 6; fsetxattr 190 7; getxattr 191 8; lgetxattr 192 9;
fgetxattr 193 10; listxattr 194 11; llistxattr 195 12; flistxattr 196 13; removexattr 197 14; lremovexattr 198 15;
fremovexattr 199 16;
"""

# The C library falls back to clone and openat, whose flags a filter can see.
ABSENT = "clone3 435 435; openat2 437 437;"

# Allowed when their arguments are harmless: see seccomp.py.
CHECKED = """
clone 56 220; open 2 -; openat 257 56; close_range 436 436; kill 62 129; tgkill 234 131; prctl 157 167; ioctl 16 29;
fcntl 72 25; prlimit64 302 261; socketpair 53 199; sendto 44 206;
"""


def numbers(table: str, *, column: int) -> dict[str, int]:
    """The calls of a table by name. column: 1 for x86_64, 2 for aarch64."""
    entries = (entry.split() for entry in table.split(";") if entry.strip())
    return {entry[0]: int(entry[column]) for entry in entries if entry[column] != "-"}
