"""Types that nobody wrote: what a tree tells of them, and what speaks for one."""
