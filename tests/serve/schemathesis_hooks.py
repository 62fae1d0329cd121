"""How schemathesis writes a body of SPARQL: as it is."""

from typing import Any

import schemathesis


@schemathesis.serializer("application/sparql-query")
def sparql(context: schemathesis.SerializationContext, value: Any) -> bytes:
    """The text of a query."""
    return str(value).encode("utf-8", "surrogateescape")
