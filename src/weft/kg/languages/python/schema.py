"""The relations of Python source."""

from __future__ import annotations

from weft.kg.schema import Relation, Schema

PYTHON = Schema(
    tuple(
        Relation(name, definition)
        for name, definition in (
            ("calls", "the head function calls the tail by its plain name, or as a method of self or cls"),
            ("receives_call", "the tail is a method that is called on the head"),
            ("has_parameter", "the tail is a parameter of the head function, self and cls aside"),
            ("reads_attribute", "the attribute tail of the head is read"),
            ("sets_attribute", "the attribute tail of the head is assigned or deleted"),
            ("has_method", "the head class defines the method tail"),
            ("result_of", "the variable head holds what a call of the tail returned"),
            ("has_default", "the default of the parameter head is the name or constant tail"),
            (
                "returns",
                "the type that the head function returns: annotated, else plain from its return statements",
            ),
            ("instance_of", "the variable head holds a literal or a new object of type tail"),
            ("raises", "the head function raises the exception tail in a raise statement"),
            ("inherits_from", "the tail is a base class of the head class"),
            ("has_class_attribute", "the body of the head class assigns the name tail"),
            ("handles", "an except clause in the head function names the exception tail"),
            ("element_of", "the loop variable head runs over the tail"),
            ("decorated_by", "the tail decorates the head function or class"),
            ("imports", "the tail is imported from the module head"),
            ("has_type", "the annotated type of the parameter or variable head"),
        )
    )
)
"""The relations of Python source. All but ``returns`` and ``has_type`` are plain in the syntax tree."""
