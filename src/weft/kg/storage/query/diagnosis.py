"""What is wrong with a query that is no SPARQL: the parser says where it stopped, not what a person mistyped."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

_FORMS = ("SELECT", "ASK", "CONSTRUCT", "DESCRIBE")
_UPDATES = frozenset(("INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"))
_KEYWORDS = """
    BASE PREFIX SELECT CONSTRUCT DESCRIBE ASK DISTINCT REDUCED AS FROM NAMED WHERE GROUP BY HAVING
    ORDER ASC DESC LIMIT OFFSET VALUES OPTIONAL GRAPH LATERAL SERVICE SILENT BIND UNDEF MINUS UNION
    FILTER IN NOT EXISTS A TRUE FALSE COUNT SUM MIN MAX AVG SAMPLE GROUP_CONCAT SEPARATOR STR LANG
    LANGMATCHES DATATYPE BOUND IRI URI BNODE RAND ABS CEIL FLOOR ROUND CONCAT STRLEN UCASE LCASE
    ENCODE_FOR_URI CONTAINS STRSTARTS STRENDS STRBEFORE STRAFTER YEAR MONTH DAY HOURS MINUTES
    SECONDS TIMEZONE TZ NOW UUID STRUUID MD5 SHA1 SHA256 SHA384 SHA512 COALESCE IF STRLANG STRDT
    SAMETERM ISIRI ISURI ISBLANK ISLITERAL ISNUMERIC REGEX SUBSTR REPLACE TRIPLE SUBJECT PREDICATE
    OBJECT ISTRIPLE ADJUST LANGDIR HASLANG HASLANGDIR STRLANGDIR
"""
_WORDS = frozenset(_KEYWORDS.split())
_TOKEN = re.compile(
    r"""(?P<space>\s+|\#[^\n]*)
    |(?P<string>\"{3}(?:[^"\\]|\\.|"(?!""))*\"{3}|'{3}(?:[^'\\]|\\.|'(?!''))*'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    |(?P<iri><[^<>"{}|^`\\\s]*>)
    |(?P<name>(?:[^\W\d_][\w.-]*)?:(?:[\w:%-]|\\.|\.(?=[\w:%\\-]))*)
    |(?P<variable>[?$]\w+)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)
    |(?P<tag>@[A-Za-z-]+)
    |(?P<word>[^\W\d]\w*)
    |(?P<quote>["'])
    |(?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {"}": "{", ")": "(", "]": "["}
_TERMS = ("string", "iri", "name", "variable", "number")


class Token(NamedTuple):
    """A piece of a query: its kind, its text, where it starts."""

    kind: str
    text: str
    start: int


class Diagnosis(NamedTuple):
    """What is wrong, where in the query, and the way out."""

    what: str
    offset: int
    hint: str | None = None


def diagnose(query: str, prefixes: Collection[str], said: str) -> Diagnosis | None:
    """What is wrong with a query that the parser refused; None where that cannot be told.

    Args:
        query: The query.
        prefixes: Those that need no declaration.
        said: The parser's message.
    """
    tokens = _tokens(query)
    checks = (_form(tokens), _quotes(tokens), _brackets(tokens), _prefixes(tokens, prefixes), _words(tokens))
    for check in checks:
        for found in check:
            return found
    if "variable that is unbound" in said:
        return Diagnosis("SELECT names a variable that the pattern does not bind, or the grouping loses", 0)
    return next(_triples(tokens), None)


def words(query: str) -> list[Token]:
    """The bare words of a query: keywords, if it is one."""
    return [token for token in _tokens(query) if token.kind == "word"]


def named_iris(query: str, prefixes: Mapping[str, str]) -> list[str]:
    """The IRIs that a query names, in full: none of texts, comments and declarations.

    Args:
        query: SPARQL.
        prefixes: Those that need no declaration, and what they stand for.
    """
    found, known, tokens = list[str](), dict(prefixes), _tokens(query)
    earlier = [Token("", "", 0), Token("", "", 0), *tokens]
    for before, last, token in zip(earlier, earlier[1:], tokens, strict=False):
        if token.kind == "iri" and before.text.upper() == "PREFIX":
            known[last.text.partition(":")[0]] = token.text[1:-1]
        elif token.kind == "iri" and last.text.upper() != "BASE":
            found.append(token.text[1:-1])
        elif token.kind == "name" and last.text.upper() not in ("PREFIX", "_"):
            prefix, _, local = token.text.partition(":")
            found += [known[prefix] + re.sub(r"\\(.)", r"\1", local)] if prefix in known else []
    return found


def dots_escaped(query: str) -> str:
    """The same query with the dots in names escaped: the engine's parser takes one of them at most as it is."""
    changed, done = [], 0
    for token in _tokens(query):
        if token.kind == "name" and token.text.count(".") > 1:
            prefix, _, local = token.text.partition(":")
            bare = re.sub(r"(?<!\\)\.", r"\\.", local)
            changed += [query[done : token.start], f"{prefix}:{bare}"]
            done = token.start + len(token.text)
    return "".join([*changed, query[done:]])


def _tokens(query: str) -> list[Token]:
    return [
        Token(str(found.lastgroup), found[0], found.start())
        for found in _TOKEN.finditer(query)
        if found.lastgroup != "space"
    ]


def _form(tokens: Sequence[Token]) -> Iterator[Diagnosis]:
    words = [token for token in tokens if token.kind == "word"]
    first = next((token for token in words if token.text.upper() not in ("PREFIX", "BASE")), None)
    if first is None:
        yield Diagnosis("no query", 0, f"it begins with one of {', '.join(_FORMS)}")
    elif first.text.upper() in _UPDATES:
        yield Diagnosis(f"{first.text.upper()} changes a store; a query asks", first.start)
    elif first.text.upper() not in _FORMS:
        near = difflib.get_close_matches(first.text.upper(), _FORMS, 1)
        hint = f"did you mean {near[0]}?" if near else f"it begins with one of {', '.join(_FORMS)}"
        yield Diagnosis(f"a query cannot begin with {first.text!r}", first.start, hint)


def _quotes(tokens: Sequence[Token]) -> Iterator[Diagnosis]:
    for token in tokens:
        if token.kind == "quote":
            yield Diagnosis(f"a text that begins with {token.text} does not end in its line", token.start)


def _brackets(tokens: Sequence[Token]) -> Iterator[Diagnosis]:
    opened: list[Token] = []
    for token in tokens:
        if token.text in _PAIRS.values():
            opened.append(token)
        elif token.text in _PAIRS:
            if not opened or opened[-1].text != _PAIRS[token.text]:
                yield Diagnosis(f"a {token.text} that closes nothing", token.start)
                return
            opened.pop()
    if opened:
        yield Diagnosis(f"a {opened[-1].text} that is not closed", opened[-1].start)


def _prefixes(tokens: Sequence[Token], prefixes: Collection[str]) -> Iterator[Diagnosis]:
    known = set(prefixes)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.kind != "name":
            continue
        prefix = token.text.partition(":")[0]
        if before is not None and before.text.upper() == "PREFIX":
            known.add(prefix)
        elif prefix not in known:
            hint = f"declare it, or use one of {', '.join(f'{name}:' for name in sorted(known))}"
            yield Diagnosis(f"no prefix {prefix}: is declared", token.start, hint)


def _words(tokens: Sequence[Token]) -> Iterator[Diagnosis]:
    for token in tokens:
        if token.kind == "word" and token.text.upper() not in _WORDS:
            near = difflib.get_close_matches(token.text.upper(), sorted(_WORDS), 1)
            hint = (
                f"did you mean {near[0]}?" if near else "names need a prefix, as in e:name, and variables a ?"
            )
            yield Diagnosis(f"the word {token.text!r} is no part of SPARQL", token.start, hint)


def _triples(tokens: Sequence[Token]) -> Iterator[Diagnosis]:
    """The first pattern between dots, semicolons and braces that has one or two terms of three."""
    run: list[Token] = []
    wanted = 3
    inside = False
    plain = True
    for token in tokens:
        if token.kind in _TERMS or token.text == "a":
            run.append(token)
        elif token.text in ("{", "}", ".", ";", ","):
            if inside and plain and 0 < len(run) < wanted:
                part = " ".join(item.text for item in run)
                yield Diagnosis(
                    f"a pattern needs subject, predicate and object; here {'stands' if len(run) == 1 else 'stand'} "
                    f"only {part}",
                    run[0].start,
                )
            inside = token.text != "}" or inside
            wanted = {";": 2, ",": 1}.get(token.text, 3)
            run, plain = [], True
        elif token.kind == "word" and token.text.upper() in (
            "FILTER",
            "BIND",
            "VALUES",
            "ORDER",
            "GROUP",
            "LIMIT",
        ):
            plain = False
        elif token.kind != "tag":
            # Paths, expressions, lists: more than this can tell.
            plain = False
