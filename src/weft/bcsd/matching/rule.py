"""What a score and a piece of evidence are worth, and how sure a match is: fitted once, stored as JSON."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from weft.bcsd.matching.pairs.evidence import KINDS
from weft.errors import CheckpointError, ConfigError, InputError
from weft.platform.confidence import Logistic
from weft.platform.files import write_json
from weft.platform.ranges import require
from weft.platform.reading import read_json

#: What the confidence is computed from, in the order of its coefficients; see :class:`Rule`.
FEATURES = (
    "lead",
    "deficit",
    "size",
    "same_tokens",
    "lengths",
    "nearest",
    "likeness",
    "agreement",
    "handed",
    "foreign",
    "callers",
    "called",
    "uneven",
    "place",
)
#: Margins above it say no more: there is no rival.
LARGEST_MARGIN = 20.0
RULE_FILE = "match.json"
#: Kinds of evidence and features of rules that were fitted before places were looked at.
_BEFORE_PLACES = 5, 10
_ANEW = "`weft bcsd calibrate` makes it anew"


@dataclass(frozen=True)
class Rule:
    """How pairs are weighed.

        u_ij = w_score · s_ij + Σ_k w_k · e^k_ij        the utility that the assignment makes largest
        p_ij = σ(c_0 + Σ_f c_f · x^f_ij)                the confidence in a pair of the assignment

    with s the hybrid score, e^k the evidence. The features x of a pair:

    | name | |
    |---|---|
    | ``lead``, ``deficit`` | ln(1 + max(m, 0)) and min(m, 0); m = u less the best other u in row i or column j |
    | ``size`` | log₂ of the instructions of the shorter function |
    | ``same_tokens`` | 1 where the tokens are equal |
    | ``lengths`` | how far the instructions of the two differ, as a factor: its log₂ |
    | ``nearest`` | 1 where each is the other's best by the score alone |
    | ``likeness`` | the hybrid score without the correction for hubs |
    | ``agreement`` | the share of the calls in A that the pairs take to calls in B, at most .6; less of unlike files |
    | ``handed`` | 1 where a callee was paired and is inlined: its likeness and sizes are those of both together |
    | ``foreign`` | 1 where the files are for different processors |
    | ``callers`` | how far those who call the two are matched with each other |
    | ``called`` | 1 where anyone in the files calls either |
    | ``uneven`` | how far the numbers of callers, and one, differ, as a factor: its log₂ |
    | ``place`` | how far those who lie around the two are matched with each other |

    The agreement is the same for all pairs of two files but those of start-up code. It tells files that have much in
    common from files that have nothing: of an unrelated file every function still gets a partner, but they do not call
    each other. A function that a compiler has inlined, and that was taken for its caller, is told by who calls the two:
    its only caller has no partner.

    Args:
        score: w_score.
        evidence: w_k, one for each of :data:`weft.bcsd.matching.pairs.evidence.KINDS`.
        confidence: c_0, and c_f for each of :data:`FEATURES`.
        floor: Pairs less sure than this are not reported as matches.
        model: Version of the model that it was fitted with; empty where it fits any.
        related: How probable it is that two files have anything in common, by the mean likeness of their pairs; None
            where it was not fitted: then calls tell alone. See :mod:`weft.bcsd.matching.pairs.relation`.

    Raises:
        ConfigError: A field breaks its rule.
    """

    score: float
    evidence: tuple[float, ...]
    confidence: Logistic
    floor: float = 0.2
    model: str = ""
    related: Logistic | None = None

    def __post_init__(self) -> None:
        counts = (
            ("evidence", len(self.evidence), len(KINDS)),
            ("confidence", len(self.confidence.coefficients), len(FEATURES)),
            ("related", len(self.related.coefficients) if self.related else 1, 1),
        )
        for name, found, expected in counts:
            if found != expected:
                raise ConfigError(f"Rule.{name} has {found} numbers; it must have {expected}")
        if not all(map(math.isfinite, (self.score, *self.evidence))):
            raise ConfigError("Rule holds a number that is not finite")
        if self.score < 0 or min(self.evidence) < 0:
            raise ConfigError("Rule.score and Rule.evidence must be at least 0")
        require(self, "floor", 0 <= self.floor <= 1, "in [0, 1]")


#: For a model without a rule: what was fitted with the lexical score alone, rounded.
DEFAULT_RULE = Rule(
    score=22.5,
    evidence=(2.4, 0.85, 3.6, 5.6, 9.0, 2.0),
    confidence=Logistic(-4.5, (1.3, 0.29, -0.03, -0.27, -0.37, 0.42, 1.6, 7.1, *(0.0,) * 6)),
    floor=0.38,
)


def save_rule(rule: Rule, path: str | Path) -> None:
    """Write a rule as JSON.

    Raises:
        OutputError: The file cannot be written.
    """
    record = {**asdict(rule), "confidence": rule.confidence.to_json()}
    write_json(path, {**record, "related": rule.related.to_json() if rule.related else None})


def load_rule(path: str | Path) -> Rule:
    """Read a rule. One that was fitted before places were looked at leaves them, and who calls, out of it.

    Raises:
        CheckpointError: The file is missing or holds no rule.
    """
    try:
        record: Any = read_json(path)
        confidence = Logistic.from_json(record["confidence"], str(path))
        evidence = tuple(record["evidence"])
        if (len(evidence), len(confidence.coefficients)) == _BEFORE_PLACES:
            evidence = (*evidence, 0.0)
            later = (0.0,) * (len(FEATURES) - len(confidence.coefficients))
            confidence = replace(confidence, coefficients=(*confidence.coefficients, *later))
        known = record.get("related")
        related = None if known is None else Logistic.from_json(known, str(path))
        return Rule(**{**record, "evidence": evidence, "confidence": confidence, "related": related})
    except InputError as error:
        raise CheckpointError(error.what, where=str(path), hint=_ANEW) from error
    except (LookupError, TypeError, ConfigError) as error:
        raise CheckpointError(f"not a matching rule: {error}", where=str(path), hint=_ANEW) from error


def rule_of(directory: Path, version: str) -> tuple[Rule, bool]:
    """The rule stored beside a model, and whether it was fitted with that very model.

    Without one, or with one of another model, confidences order matches but are no probabilities.

    Args:
        directory: Of the model.
        version: Of the model.

    Raises:
        CheckpointError: There is a rule file, and it holds no rule.
    """
    place = directory / RULE_FILE
    if not place.exists():
        return DEFAULT_RULE, False
    rule = load_rule(place)
    return rule, rule.model == version
