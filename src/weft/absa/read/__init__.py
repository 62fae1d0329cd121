"""Texts with questions and answers from files: SentiHood, SemEval-2014, tables of one's own."""
