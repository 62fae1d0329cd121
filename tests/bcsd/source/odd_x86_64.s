# What compilers do not emit but files hold: odd symbols in x86-64 code.
        .text
        .globl  zero_sized
        .type   zero_sized, @function
zero_sized:                             # no .size: its end is the next symbol
        movl    $1, %eax
        ret
        .globl  first_entry
        .type   first_entry, @function
first_entry:                            # runs into second_entry, which lies inside it
        xorl    %eax, %eax
        .globl  second_entry
        .type   second_entry, @function
second_entry:
        incl    %eax
        cmpl    $10, %eax
        jl      second_entry
        ret
        .size   second_entry, .-second_entry
        .size   first_entry, .-first_entry
        .globl  falls
        .type   falls, @function
falls:                                  # no return: control goes on into the next function
        movl    $2, %eax
        .size   falls, .-falls
        .globl  after_falls
        .type   after_falls, @function
after_falls:
        addl    $1, %eax
        ret
        .size   after_falls, .-after_falls
        .globl  alias_one
        .type   alias_one, @function
        .globl  alias_two
        .type   alias_two, @function
alias_one:
alias_two:                              # one function, two names
        leal    3(%rdi), %eax
        ret
        .size   alias_one, .-alias_one
        .size   alias_two, .-alias_two
        .globl  to_entry
        .type   to_entry, @function
to_entry:                               # a jump to the function's own first instruction
        decl    %edi
        jnz     to_entry
        ret
        .size   to_entry, .-to_entry
        .globl  into_middle
        .type   into_middle, @function
into_middle:                            # a jump over a lock prefix, as old C libraries have it
        testl   %esi, %esi
        je      1f+1
1:      lock incl (%rdi)
        ret
        .size   into_middle, .-into_middle
        .globl  not_code
        .type   not_code, @object
not_code:                               # an object in .text is no function
        .long   0x90909090
        .size   not_code, .-not_code
        .section .note.GNU-stack,"",@progbits
