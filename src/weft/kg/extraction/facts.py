"""Facts of one source file, as the model reads them, beside what the syntax states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from weft.errors import CheckpointError, ConfigError, InputError
from weft.kg.combine.combine import Choice, Combiner
from weft.kg.combine.endpoint import Endpoint
from weft.kg.dataset.chunks import Chunk
from weft.kg.dataset.code import BuildConfig, unit_chunks
from weft.kg.dataset.tokens import PAD, CodeTokenizer
from weft.kg.evaluate.confidence import Confidence
from weft.kg.extraction.inferred import Inferred, possible
from weft.kg.extraction.model import code_model
from weft.kg.extraction.questions import Question, question_about, questions, shown
from weft.kg.languages import find_language
from weft.kg.languages.around import around
from weft.kg.languages.language import Language
from weft.kg.languages.lines import line_of
from weft.kg.languages.unit import Open
from weft.kg.model.decode import Answers, Queries, find_tails, score_tails
from weft.kg.model.leafy_chain import LeafyChainModel
from weft.kg.model.ranking import Ranking, candidates
from weft.platform.ranges import at_least
from weft.platform.reading import SOURCE_BYTES, read_bytes


@dataclass(frozen=True)
class ModelFact:
    """One fact that a model read out of a chunk.

    Args:
        head: An identifier.
        relation: Name of the relation.
        tail: What the model answered.
        confidence: How often such an answer is right; the raw probability for an uncalibrated model.
        line: Line of the head, from 1.
        place: Characters of the head in the file.
        span: Characters of the chunk in the file.
        stated: The tails that the syntax states in this chunk; none where it is silent.
        combined: Name of the endpoint's model that put the tail together; empty where the model spelled it.
    """

    head: str
    relation: str
    tail: str
    confidence: float
    line: int
    place: tuple[int, int]
    span: tuple[int, int]
    stated: tuple[str, ...]
    combined: str = ""

    @property
    def agrees(self) -> bool | None:
        """Whether the syntax states this very fact; None where it says nothing."""
        return self.tail in self.stated if self.stated else None

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {**asdict(self), "agrees": self.agrees}


@dataclass(frozen=True)
class Extractor:
    """A model with its vocabulary and its calibration.

    Args:
        model: In eval mode.
        tokenizer: The one that it was trained with.
        confidence: None for raw probabilities.
        language: What it reads.
        ranking: Orders the candidates of open questions by what their tree tells; None for the order of the model.
        combiner: Puts tails together from likely tokens; the model's own spelling stands where it is None, and
            where the combiner refuses.
    """

    model: LeafyChainModel
    tokenizer: CodeTokenizer
    confidence: Confidence | None
    language: Language
    ranking: Ranking | None = None
    combiner: Combiner | None = None

    @staticmethod
    def load(folder: str | Path, device: torch.device | str = "cpu") -> Extractor:
        """Read a model: a shipped one by its name, ``"kg-python-small"``, or its folder.

        Raises:
            CheckpointError: There is none; it is damaged, of text, or its vocabulary or relations do not fit.
        """
        folder = code_model(folder)
        model = LeafyChainModel.load(folder).to(device).eval()
        tokenizer = CodeTokenizer.load(folder / "tokenizer.json")
        if tokenizer.vocab_size != model.config.encoder.vocab_size:
            raise CheckpointError(
                f"a tokenizer of {tokenizer.vocab_size} tokens for a vocabulary of "
                f"{model.config.encoder.vocab_size}",
                where=str(folder),
            )
        spoken = find_language(model.config.language)
        if model.config.num_relations != spoken.schema.size:
            raise CheckpointError(
                f"{model.config.num_relations} relation ids; the schema of {spoken.name} has {spoken.schema.size}",
                where=str(folder),
            )
        if model.config.clues not in (0, len(spoken.clues)):
            raise CheckpointError(
                f"{model.config.clues} kinds of clues; {spoken.name} has {len(spoken.clues)}",
                where=str(folder),
            )
        return Extractor(model, tokenizer, Confidence.load(folder), spoken, Ranking.load(folder, spoken))

    def with_endpoint(self, endpoint: Endpoint) -> Extractor:
        """The same, with tails that an endpoint puts together; a ConfigError where the model does not spell."""
        if self.model.config.decoding != "causal":  # it cannot say how likely another's tail is
            raise ConfigError("an endpoint needs a model that spells its tails; this one fills masks")
        combiner = Combiner(endpoint, self.tokenizer, self.model.config.leaves, endpoint.model)
        return replace(self, combiner=combiner)

    def facts(self, path: str | Path, *, beams: int = 4, batch_size: int = 16) -> list[ModelFact]:
        """Ask for every (head, relation) of which the syntax speaks, and for all types.

        A model that reads clues is shown those of the package that the file stands in.

        Args:
            path: A source file.
            beams: Hypotheses of each tail.
            batch_size: Chunks at a time.

        Raises:
            InputError: The file cannot be read, is no source of the model's language, or holds nothing.
        """
        text = self.language.decode(read_bytes(path := Path(path), SOURCE_BYTES), str(path))
        open_: list[Open] = []
        if self.model.config.clues:
            file, tree = self.language.parse(text, str(path)), around(path.resolve(), self.language)
            open_ = [] if tree is None else tree.tree.open_questions(tree.below, file)
        found = self.facts_of(text, str(path), open_, beams=beams, batch_size=batch_size)
        if not found:
            raise InputError("no functions, classes or statements to ask about", where=str(path))
        return found

    def facts_of(
        self, text: str, where: str, open_: Sequence[Open] = (), *, beams: int = 4, batch_size: int = 16
    ) -> list[ModelFact]:
        """The facts of a source text, by line; none where there is nothing to ask about.

        Args:
            text: The source.
            where: What to call it in errors.
            open_: Questions about it that nothing states, with what its tree tells: they are asked with that.
            beams: Hypotheses of each tail.
            batch_size: Chunks at a time.

        Raises:
            InputError: It cannot be parsed.
            ConfigError: ``beams`` or ``batch_size`` is below 1.
        """
        at_least(1, beams=beams, batch_size=batch_size)
        asked = [
            (chunk, _unless_open(chunk, found, open_, self.language))
            for chunk, found in self.asked(text, where)
        ]
        asked = [(chunk, found) for chunk, found in asked if found]
        # Long chunks together: a batch is padded to its longest.
        asked.sort(key=lambda item: (len(item[0].ids), len(item[1])))
        result: list[ModelFact] = []
        for start in range(0, len(asked), batch_size):
            result += self._facts(text, asked[start : start + batch_size], beams)
        answers = self.inferred(text, where, open_, beams=beams, batch_size=batch_size)
        for answer in possible(answers, self.language.parse(text, where), self.language):
            item, (tail, confidence) = answer.asked, answer.candidates[0]
            line, place = line_of(text, item.start), (item.start, item.end)
            told = (item.name, item.relation, tail, confidence, line, place, answer.span, (), answer.combined)
            result.append(ModelFact(*told))
        return sorted(result, key=lambda fact: (fact.line, fact.head, fact.relation))

    def asked(self, text: str, where: str) -> list[tuple[Chunk, list[Question]]]:
        """The chunks of a source text that there is something to ask about, with the questions.

        Raises:
            InputError: It cannot be parsed.
        """
        file = self.language.parse(text, where)
        chunks = unit_chunks(file, self.language, self.tokenizer, self._limits(), Counter())
        asked = [(chunk, questions(chunk, self.language, self.tokenizer)) for chunk in chunks]
        return [(chunk, found) for chunk, found in asked if found]

    def inferred(
        self, text: str, where: str, asked: Sequence[Open], *, beams: int = 4, batch_size: int = 16
    ) -> list[Inferred]:
        """Answers to questions that nothing in the text answers, in the order of the questions.

        A question is asked of every chunk that holds its definition; the surest answers stand.

        Args:
            text: The source.
            where: What to call it in errors.
            asked: The questions.
            beams: Hypotheses of each answer.
            batch_size: Chunks at a time.

        Raises:
            InputError: It cannot be parsed.
        """
        if not asked:
            return []
        file = self.language.parse(text, where)
        schema, names = self.language.schema, self.language.known(file)
        by_start: dict[int, list[Open]] = {}
        for item in asked:
            by_start.setdefault(item.start, []).append(item)
        kinds, about = ("function",), sorted(by_start)
        chunks = unit_chunks(file, self.language, self.tokenizer, self._limits(), Counter(), kinds, about)
        part: list[tuple[Chunk, list[tuple[Open, Question]]]] = []
        for chunk in chunks:
            here = [item for start in sorted(set(chunk.starts.tolist())) for item in by_start.get(start, ())]
            put = [
                (item, question_about(chunk, item.name, schema.id_of(item.relation), item.clues))
                for item in here
            ]
            known = [(item, found) for item, found in put if found is not None]
            if known:
                part.append((chunk, known))
        part.sort(key=lambda item: (len(item[0].ids), len(item[1])))
        best: dict[Open, Inferred] = {}
        for start in range(0, len(part), batch_size):
            batch = part[start : start + batch_size]
            questioned = [(chunk, [found for _, found in known]) for chunk, known in batch]
            queries, answers = self.answers(questioned, beams)
            combined = self._combined(text, questioned, queries, answers)
            for row, (chunk, known) in enumerate(batch):
                for number, (item, _) in enumerate(known):
                    together = combined.get((row, number))
                    found = self._candidates(item, answers, row, number, together, names)
                    if found and (item not in best or best[item].candidates[0][1] < found[0][1]):
                        by = self.combiner.name if together is not None and self.combiner is not None else ""
                        best[item] = Inferred(item, found, _span(chunk), by)
        return [best[item] for item in asked if item in best]

    def _limits(self) -> BuildConfig:
        config = self.model.config
        return BuildConfig(roots=config.encoder.max_position_embeddings, longest_tail=config.leaves)

    def _candidates(
        self,
        asked: Open,
        answers: Answers,
        row: int,
        number: int,
        together: tuple[tuple[int, ...], Tensor] | None,
        known: frozenset[str],
    ) -> tuple[tuple[str, float], ...]:
        """The candidates of a question with how sure they are; first what an endpoint put together."""
        ranks = range(answers.tokens.shape[2])
        tails = [
            (answers.tail(row, number, rank), answers.log_probability[row, number, rank]) for rank in ranks
        ]
        found: dict[str, float] = {}
        for tail, log_probability in tails if together is None else [together, *tails]:
            probability, name = float(log_probability.exp()), self.tokenizer.text(tail).strip()
            if name and probability > 0.0:
                found.setdefault(name, probability)
        if not found:
            return ()
        first, pairs = next(iter(found)), list(found.items())
        if self.ranking is not None and asked.relation in self.ranking.weights:
            pairs.sort(key=lambda pair: -pair[1])
            names, rows = candidates(
                asked, pairs, known, self.language, lambda name: len(self.tokenizer.tail(name))
            )
            pairs = self.ranking(asked.relation, names, rows)
            if together is not None:
                pairs.sort(key=lambda pair: pair[0] != first)
        if self.confidence is None:
            return tuple(pairs)
        return tuple((name, self.confidence(asked.relation, p, unstated=True)) for name, p in pairs)

    def answers(
        self, part: Sequence[tuple[Chunk, list[Question]]], beams: int, *, first_only: bool = False
    ) -> tuple[Queries, Answers]:
        """Ask the questions of some chunks in one pass.

        Args:
            part: Chunks with their questions.
            beams: Hypotheses of each tail.
            first_only: Give the first answer alone; the same, sooner.
        """
        device = self.model.word_embeddings.device
        width, most = max(len(chunk.ids) for chunk, _ in part), max(len(found) for _, found in part)
        roots = torch.full((len(part), width), PAD, dtype=torch.int64)
        columns = torch.zeros(4, len(part), most, dtype=torch.int64)
        for row, (chunk, found) in enumerate(part):
            roots[row, : len(chunk.ids)] = torch.from_numpy(chunk.ids)
            for number, question in enumerate(found):
                columns[:, row, number] = torch.tensor(
                    (1, question.relation, question.start, question.length)
                )
        there, relation, head_start, head_length = columns.to(device)
        clues = None
        if self.model.config.clues:
            clues = shown(
                [found for _, found in part], self.language, self.tokenizer, self.model.config.leaves
            )
        clues = None if clues is None else clues.to(device)
        queries = Queries(roots.to(device), there.bool(), relation, head_start, head_length, clues)
        return queries, find_tails(self.model, queries, beams, first_only=first_only)

    def _facts(
        self, text: str, part: Sequence[tuple[Chunk, list[Question]]], beams: int
    ) -> Iterator[ModelFact]:
        # An endpoint is shown the tokens of every hypothesis; else the first is all that is asked for.
        queries, answers = self.answers(part, beams, first_only=self.combiner is None)
        combined = self._combined(text, part, queries, answers)
        for row, (chunk, found) in enumerate(part):
            for number, question in enumerate(found):
                name = self.language.schema.names[question.relation]
                tail, log_probability = combined.get(
                    (row, number), (answers.tail(row, number, 0), answers.log_probability[row, number, 0])
                )
                probability = float(log_probability.exp())
                start = int(chunk.starts[question.start])
                yield ModelFact(
                    head=question.head,
                    relation=name,
                    tail=self.tokenizer.text(tail),
                    confidence=probability
                    if self.confidence is None
                    else self.confidence(name, probability, guessed=not question.stated),
                    line=line_of(text, start),
                    place=(start, int(chunk.ends[question.start + question.length - 1])),
                    span=_span(chunk),
                    stated=question.stated,
                    combined=self.combiner.name
                    if self.combiner is not None and (row, number) in combined
                    else "",
                )

    def _combined(
        self, text: str, part: Sequence[tuple[Chunk, list[Question]]], queries: Queries, answers: Answers
    ) -> dict[tuple[int, int], tuple[tuple[int, ...], Tensor]]:
        """Tails that the endpoint put together, and their log-probabilities; the model's stands elsewhere."""
        if self.combiner is None:
            return {}
        tails: dict[tuple[int, int], tuple[int, ...]] = {}
        schema = self.language.schema
        definitions = schema.definitions()
        for row, (chunk, found) in enumerate(part):
            first, last = _span(chunk)
            for number, question in enumerate(found):
                name = schema.names[question.relation]
                slots = answers.slots(row, number)
                tail = self.combiner.combine(
                    Choice(text[first:last], question.head, name, definitions[name], slots)
                )
                if tail is not None:
                    tails[row, number] = tail
        ids = torch.full((*queries.there.shape, self.model.config.leaves), PAD, dtype=torch.int64)
        for place, tail in tails.items():
            ids[place][: len(tail)] = torch.tensor(tail)
        ids = ids.to(queries.roots.device)
        scores = score_tails(self.model, queries, ids, (ids != PAD).sum(dim=2))
        return {place: (tail, scores[place]) for place, tail in tails.items()}


def _span(chunk: Chunk) -> tuple[int, int]:
    return int(chunk.starts.min()), int(chunk.ends.max())


def _unless_open(
    chunk: Chunk, found: list[Question], open_: Sequence[Open], spoken: Language
) -> list[Question]:
    """The questions about a chunk that are not asked with what its tree tells."""
    here = set(chunk.starts.tolist())
    taken = {(item.name, spoken.schema.id_of(item.relation)) for item in open_ if item.start in here}
    return [item for item in found if item.stated or (item.head, item.relation) not in taken]
