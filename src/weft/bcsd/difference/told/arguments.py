"""How many arguments a callee takes: registers behind these hold leftovers, which a compiler chooses.

A function of the file takes what it reads; of libraries' functions the well-known ones are listed.
"""

from __future__ import annotations

from weft.bcsd.lift.solve.computation import Computation
from weft.bcsd.lift.solve.values import ENTRY

#: Fixed arguments of functions of C's library, of POSIX and of gcc's checked copies of these.
_FIXED = {
    1: """free malloc strlen strdup close fclose fflush fgetc getc getenv isatty exit perror puts printf time
       rewind ftell fileno feof ferror toupper tolower putchar atoi atol atof sleep usleep umask unlink
       rmdir chdir closedir readdir opendir dlclose regfree setuid setgid seteuid setegid pthread_mutex_lock
       pthread_mutex_unlock pthread_mutex_destroy sysconf htons ntohs htonl ntohl""",
    2: """realpath calloc realloc strcmp strcpy strcat strchr strrchr strstr strspn strcspn strpbrk strtok strcoll
       strcasecmp strndup strnlen fopen fputs fputc putc ungetc fprintf sprintf sscanf fscanf open rename link symlink
       access mkdir chmod fchmod stat fstat lstat kill signal munmap ftruncate truncate listen shutdown dup2 stpcpy
       strsep aligned_alloc gettimeofday dlopen dlsym setgroups gethostname bzero __printf_chk
       pthread_mutex_init nanosleep clock_gettime strcasestr fcntl ioctl""",
    3: """memcpy memmove memset memcmp memchr memrchr mempcpy bcopy strncpy strncat strncmp strncasecmp strlcpy strlcat
       stpncpy strtol strtoul strtoll strtoull snprintf fgets read write lseek fseek socket connect bind accept
       chown fchown lchown readlink mprotect waitpid execve regcomp sigaction poll setenv strtok_r reallocarray
       posix_memalign readv writev getline __strcpy_chk __strcat_chk __fprintf_chk""",
    4: """fread fwrite qsort vsnprintf pread pwrite recv send setvbuf strftime getaddrinfo regerror inet_ntop
       __memcpy_chk __memmove_chk __memset_chk __mempcpy_chk __strncpy_chk __strncat_chk __sprintf_chk __read_chk
       __fgets_chk pthread_create""",
    5: "bsearch getsockopt setsockopt select regexec __snprintf_chk __vsnprintf_chk __fread_chk",
    6: "mmap recvfrom sendto",
}
_PASSING = frozenset({"CALL", "CALLIND", "SWITCH"})
#: Of libraries' functions, by the token that they are known by.
KNOWN = {f"import {name}": count for count, names in _FIXED.items() for name in names.split()}


def arguments_read(found: Computation) -> int | None:
    """How many arguments a function takes, by what it reads; None where that does not tell.

    It does not where arguments lie on the stack, or where all that the function does is to call another one, which is
    given what it is given itself.

    Args:
        found: What it computes.
    """
    effects = {found.ops[node] for effects in found.effects for node in effects}
    if not found.arguments or (effects & _PASSING and effects <= _PASSING | {"RETURN"}):
        return None
    places = {family: place for place, family in enumerate(found.arguments, 1)}
    read = (data for op, data in zip(found.ops, found.data, strict=True) if op == ENTRY)
    return max((places.get(family, 0) for family in read), default=0)
