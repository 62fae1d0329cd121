"""A difference for people: ``page`` as HTML, ``show`` one function as text."""
