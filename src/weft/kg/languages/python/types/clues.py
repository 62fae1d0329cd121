"""What a whole tree tells of a type that nobody wrote: what is given at calls, what namesakes hold, what is overridden.

A clue is the name of a type and how it was come by. Values that depend on others (the result of a function, a
parameter that is handed on) are followed a few steps.
"""

from __future__ import annotations

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from weft.kg.languages.python.facts import type_name, unwritten_return, value_type
from weft.kg.languages.python.resolve import Module, Modules
from weft.kg.languages.python.scopes import Scope, owner
from weft.kg.languages.python.types.documented import RETURNED, documented
from weft.kg.languages.python.types.members import Members
from weft.kg.languages.python.units import Function, defaults
from weft.kg.languages.unit import Clue

KINDS = ("documented", "given", "overrides", "namesake", "fits")
"""Of clues: the docstring names it; it is given at a call, or returned; the overridden or overriding function has it;
something else of this name has it; a class of the tree has this name, or all the members that are used."""
_MOST = {"documented": 1, "given": 3, "overrides": 1, "namesake": 2, "fits": 2}
_DEEPEST = 3
_FEW = 4
"""Most functions of one name that a call of an unknown object's method may mean."""
_RESULT, _PARAMETER = "result of ", "parameter "


@dataclass
class _Function:
    """A function as its callers see it."""

    positional: list[str]
    names: frozenset[str]
    receiver: str | None
    name: str
    owner: str
    parameters: dict[str, str] = field(default_factory=dict)
    returned: Counter[str] = field(default_factory=Counter)
    given: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    documented: dict[str, str] = field(default_factory=dict)


class _Call(NamedTuple):
    callee: str
    method: bool
    positional: tuple[str, ...]
    named: tuple[tuple[str, str], ...]


class TreeClues:
    """Clues of a tree: every file is learnt before anything is asked.

    Args:
        modules: The tree's modules, all of them known.
    """

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._functions: dict[str, _Function] = {}
        self._methods: dict[str, list[str]] = defaultdict(list)
        self._calls: list[_Call] = []
        self._held: dict[str, Counter[str]] = defaultdict(Counter)
        self._classes: dict[str, list[str]] = defaultdict(list)
        self._members = Members(modules)
        self._below: dict[str, list[str]] = defaultdict(list)
        self._bound = False

    def learn(self, module: Module, tree: ast.Module) -> None:
        """Read one file.

        Args:
            module: With the scopes of this very syntax tree.
            tree: The syntax tree.
        """
        self._walk(tree, module.scope, None)

    def of(self, name: str, relation: str) -> list[Clue]:
        """The clues to a type.

        Args:
            name: Qualified name of a parameter or a function.
            relation: ``"has_type"`` of a parameter or ``"returns"`` of a function.
        """
        self._bind()
        function, _, parameter = (name, "", RETURNED) if relation == "returns" else name.rpartition(".")
        known = self._functions.get(function)
        if known is None:
            return []
        short = function.rpartition(".")[2] if relation == "returns" else parameter
        found = {
            "documented": Counter([known.documented[parameter]] if parameter in known.documented else []),
            "given": self._followed(known.returned if relation == "returns" else known.given[parameter]),
            "overrides": self._overridden(known, function, parameter),
            "namesake": self._namesakes(short, relation, function),
            "fits": self._fitting(short, self._members.used(name) if relation != "returns" else set()),
        }
        clues = []
        for kind in KINDS:
            total = sum(found[kind].values())
            ordered = sorted(found[kind].items(), key=lambda item: (-item[1], item[0]))
            clues += [Clue(kind, value, count / total) for value, count in ordered[: _MOST[kind]]]
        return clues

    def members(self, name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The members that a function reads from its parameter, and the classes of the tree that have them all.

        Args:
            name: Qualified name of a parameter.
        """
        self._bind()
        used = self._members.used(name)
        return tuple(sorted(used)), tuple(
            sorted({item.rpartition(".")[2] for item in self._members.having(used)})
        )

    # Reading.

    def _walk(self, node: ast.AST, scope: Scope, function: _Function | None) -> None:
        for child in ast.iter_child_nodes(node):
            inner = scope.inner.get(id(child), scope)
            if isinstance(child, Function):
                self._walk(child, inner, self._function(child, scope, inner))
                continue
            if isinstance(child, ast.ClassDef):
                self._class(child, inner)
            elif isinstance(child, ast.Call):
                self._call(child, scope, function)
            elif isinstance(child, ast.Assign | ast.AnnAssign):
                self._assignment(child, scope)
                if function is not None:
                    self._members.keep(child, function.name, function.names, function.receiver)
            elif isinstance(child, ast.withitem) and child.optional_vars is not None:
                self._hold(child.optional_vars, self._kind(child.context_expr, scope))
            elif isinstance(child, ast.Return) and child.value is not None and function is not None:
                function.returned[self._kind(child.value, scope)] += 1
            elif isinstance(child, ast.Attribute) and function is not None:
                self._members.read(child, function.name, function.names, function.receiver)
            self._walk(child, inner, function)

    def _function(self, node: Function, scope: Scope, inner: Scope) -> _Function:
        every = [*node.args.posonlyargs, *node.args.args]
        names = [item.arg for item in every if item.arg != inner.receiver]
        known = _Function(
            names,
            frozenset((*names, *(item.arg for item in node.args.kwonlyargs))),
            inner.receiver,
            inner.name,
            scope.name if scope.kind == "class" else "",
            documented=documented(node),
        )
        for item in (*every, *node.args.kwonlyargs):
            kind = type_name(item.annotation)
            if kind:
                known.parameters[item.arg] = kind
                self._held[item.arg][kind] += 1
        for item, default in defaults(node):
            kind = self._kind(default, scope)
            if kind:
                known.given[item.arg][kind] += 1
                self._held[item.arg][kind] += 1
        returned = type_name(node.returns) or unwritten_return(node)
        if returned:
            known.parameters[RETURNED] = returned
        self._functions[inner.name] = known
        self._methods[node.name].append(inner.name)
        return known

    def _class(self, node: ast.ClassDef, scope: Scope) -> None:
        self._classes[node.name.lower()].append(node.name)
        for base in self._modules.bases(scope):
            self._below[base.name].append(scope.name)

    def _call(self, node: ast.Call, scope: Scope, function: _Function | None) -> None:
        callee = self._modules.resolve(node.func, scope)
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "isinstance" and len(node.args) == 2:
            kind = type_name(node.args[1]) if not isinstance(node.args[1], ast.Tuple) else None
            if kind:
                self._hold(node.args[0], kind)
            return
        if callee is None or callee.kind == "external":
            return
        positional = []
        for item in node.args:
            if isinstance(item, ast.Starred):
                break
            positional.append(self._kind(item, scope))
        named = [(item.arg, self._kind(item.value, scope)) for item in node.keywords if item.arg]
        if not any(positional) and not any(kind for _, kind in named):
            return
        target, method = callee.name, False
        if callee.kind == "class":
            made = self._modules.attribute(callee.name, "__init__")
            if made is None:
                return
            target = made.name
        elif callee.kind not in ("function", "method"):
            if not isinstance(node.func, ast.Attribute):
                return
            target, method = node.func.attr, True
        self._calls.append(_Call(target, method, tuple(positional), tuple(named)))

    def _assignment(self, node: ast.Assign | ast.AnnAssign, scope: Scope) -> None:
        if isinstance(node, ast.AnnAssign):
            kind = type_name(node.annotation) or ""
            self._hold(node.target, kind)
        elif node.targets:
            kind = self._kind(node.value, scope)
            for target in node.targets:
                self._hold(target, kind)

    def _hold(self, target: ast.expr, kind: str) -> None:
        name = (
            target.id
            if isinstance(target, ast.Name)
            else target.attr
            if isinstance(target, ast.Attribute)
            else ""
        )
        if name and kind and kind != f"{_PARAMETER}{name}":
            self._held[name][kind] += 1

    def _kind(self, node: ast.expr, scope: Scope, depth: int = 0) -> str:
        """The type of an expression, or on what it depends; empty where the tree does not tell."""
        while isinstance(node, ast.Await):
            node = node.value
        if isinstance(node, ast.Lambda):
            return "Callable"
        if isinstance(node, ast.Call):
            callee = self._modules.resolve(node.func, scope)
            if callee is not None and callee.kind == "class":
                return callee.name.rpartition(".")[2]
            if callee is not None and callee.kind in ("function", "method"):
                return f"{_RESULT}{callee.name}"
            return value_type(node) or ""
        plain = value_type(node)
        if plain:
            return plain
        if depth > _DEEPEST:
            return ""
        if isinstance(node, ast.IfExp):
            return self._one(node.body, node.orelse, scope, depth)
        if isinstance(node, ast.BoolOp):
            return self._one(node.values[0], node.values[-1], scope, depth)
        if isinstance(node, ast.BinOp):
            return self._kind(node.left, scope, depth + 1) or self._kind(node.right, scope, depth + 1)
        if isinstance(node, ast.Name):
            found = scope.find(node.id)
            return "" if found is None else self._of_binding(found[0], node.id, depth)
        if isinstance(node, ast.Attribute):
            held = owner(node.value, scope)
            if held is not None and node.attr in held.names:
                return self._of_binding(held, node.attr, depth)
        return ""

    def _one(self, first: ast.expr, second: ast.expr, scope: Scope, depth: int) -> str:
        kinds = {self._kind(item, scope, depth + 1) for item in (first, second)} - {""}
        return kinds.pop() if len(kinds) == 1 else ""

    def _of_binding(self, scope: Scope, name: str, depth: int) -> str:
        binding = scope.names[name]
        for annotation in binding.annotations:
            kind = type_name(annotation)
            if kind:
                return kind
        if binding.kind == "parameter":
            return f"{_PARAMETER}{scope.name}.{name}"
        if binding.kind in ("function", "method"):
            made = [node for node in binding.nodes if isinstance(node, Function)]
            properties = any("property" in ast.unparse(item) for node in made for item in node.decorator_list)
            return f"{_RESULT}{scope.name}.{name}" if properties else "Callable"
        if binding.kind == "class":
            return "type"
        if binding.target is not None:
            return {"class": "type", "function": "Callable"}.get(self._modules.name(name, scope).kind, "")
        kinds = {self._kind(value, scope, depth + 1) for value in binding.values if value is not None} - {""}
        return kinds.pop() if len(kinds) == 1 else ""

    # Answering.

    def _bind(self) -> None:
        """Bring every call to the functions that it may mean, and members to their classes."""
        if self._bound:
            return
        self._bound = True
        for call in self._calls:
            targets = self._methods.get(call.callee, []) if call.method else [call.callee]
            for target in targets if len(targets) <= _FEW else ():
                known = self._functions.get(target)
                if known is None or (call.method and not known.owner):
                    continue
                given = [*zip(known.positional, call.positional, strict=False), *call.named]
                for name, kind in given:
                    if kind and kind != f"{_PARAMETER}{target}.{name}":
                        known.given[name][kind] += 1
                        if kind.startswith(_PARAMETER):
                            self._members.hand(kind.removeprefix(_PARAMETER), f"{target}.{name}")
        self._calls.clear()
        self._members.bind()

    def _followed(self, kinds: Counter[str], depth: int = 0) -> Counter[str]:
        found: Counter[str] = Counter()
        for kind, count in kinds.items():
            for name, share in self._types(kind, depth):
                found[name] += count * share  # type: ignore[assignment]  # shares of counts
        return found

    def _types(self, kind: str, depth: int) -> Iterator[tuple[str, float]]:
        if not kind or depth > _DEEPEST:
            return
        if not kind.startswith((_RESULT, _PARAMETER)):
            yield kind, 1.0
            return
        name, parameter = kind.removeprefix(_RESULT), RETURNED
        if kind.startswith(_PARAMETER):
            name, _, parameter = kind.removeprefix(_PARAMETER).rpartition(".")
        known = self._functions.get(name)
        if known is None:
            return
        stated = known.parameters.get(parameter) or known.documented.get(parameter)
        if stated:
            yield stated, 1.0
            return
        inner = self._followed(known.returned if parameter == RETURNED else known.given[parameter], depth + 1)
        total = sum(inner.values())
        for found, count in inner.items():
            yield found, 0.5 * count / total

    def _overridden(self, known: _Function, function: str, parameter: str) -> Counter[str]:
        found: Counter[str] = Counter()
        if not known.owner:
            return found
        short = function.rpartition(".")[2]
        for name in self._relatives(known.owner):
            other = self._functions.get(f"{name}.{short}")
            if other is None or other is known:
                continue
            stated = other.parameters.get(parameter) or other.documented.get(parameter)
            if stated:
                found[stated] += 2
                continue
            found += self._followed(other.returned if parameter == RETURNED else other.given[parameter], 1)
        if parameter == RETURNED and len(found) > 1:
            del found["None"]  # a body that does nothing yet
        return found

    def _relatives(self, name: str) -> Iterator[str]:
        """The classes above and below a class, and below those above."""
        above, work = [], [name]
        while work and len(above) < 50:
            scope = self._modules.classes.get(work.pop())
            for base in self._modules.bases(scope) if scope is not None else ():
                if base.name not in above:
                    above.append(base.name)
                    work.append(base.name)
        below = list(self._below.get(name, ()))
        beside = [item for base in above for item in self._below.get(base, ())]
        yield from dict.fromkeys([*above, *below, *beside[:50]])

    def _namesakes(self, short: str, relation: str, function: str) -> Counter[str]:
        if relation != "returns":
            return self._followed(self._held.get(short, Counter()), 1)
        found: Counter[str] = Counter()
        for name in self._methods.get(short, ())[:50]:
            stated = self._functions[name].parameters.get(RETURNED)
            if stated and name != function:
                found[stated] += 1
        return found

    def _fitting(self, short: str, used: set[str]) -> Counter[str]:
        found: Counter[str] = Counter()
        words = short.lower().strip("_").split("_")
        for start in range(len(words)):
            named = self._classes.get("".join(words[start:]))
            if named:
                found[named[0]] += 3 if start == 0 else 2
                break
        both = self._members.having(used)
        if 0 < len(both) <= 12:
            # The one with the fewest members is likeliest to be what the others are made of.
            best = min(both, key=lambda name: (self._members.count(name), name))
            found[best.rpartition(".")[2]] += 1 + (len(used) > 1) + (len(both) == 1)
        return found
