"""An index of functions: kept, searched, asked for the libraries of a program."""
