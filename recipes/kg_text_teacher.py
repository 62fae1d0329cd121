"""A base-size teacher for the layers that find mentions: it tags sentences that nobody labelled.

MPNet's lower layers learn the tags of the training part; then they tag sentences of FewRel, and the small layers learn
the teacher's probabilities beside the given tags. A sentence's own labels in FewRel are not looked at.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from weft.encoder.checkpoint.pretrained import load_pretrained
from weft.kg.dataset.letter_cases import CASES
from weft.kg.dataset.tokens import CodeTokenizer
from weft.kg.mentions.find import MentionScore, score_mentions
from weft.kg.mentions.tags import decode, number_of_tags
from weft.kg.mentions.training import Tagger, gold_tags
from weft.kg.read.documents import TextDocument
from weft.kg.represent.document import document_passages
from weft.kg.represent.entities import EntityBatch, EntityExample, entity_batch
from weft.kg.represent.passages import TextDataset
from weft.platform.files import replaced
from weft.train import TrainConfig, fit
from weft.train.batching import Batches, LengthBuckets
from weft.train.identity import differing

LAYERS = 10
"""Of the teacher's twelve that it uses."""
TOGETHER = 256
"""Tokens of short texts that count as one text in a batch."""
TAGS_OF = ("data", "teacher", "sentences")
"""What the tags of sentences were made of, by the names of the recipe's options."""
_BATCH = 16
_EDGES = {"[CLS]": "<s>", "[SEP]": "</s>"}
"""What MPNet calls the tokens around a text."""


class Teacher(nn.Module):
    """Tags of mentions from the lower layers of a base-size encoder, told the letter case of words.

    Args:
        start: A BERT, RoBERTa or MPNet directory whose word pieces are those of the texts, in any order.
        tokenizer: The texts'.
        tags: How many.
        rate: Learning rate of the encoder as a share of the other parts'.
    """

    def __init__(self, start: Path, tokenizer: CodeTokenizer, tags: int, rate: float = 0.04) -> None:
        super().__init__()
        read = load_pretrained(start)
        self.encoder = read.encoder
        assert read.tokenizer is not None
        width = self.encoder.config.hidden_size
        self.cases = nn.Embedding(CASES, width)
        nn.init.zeros_(self.cases.weight)
        self.tags = nn.Linear(width, tags)
        self.dropout = nn.Dropout(0.1)
        self.register_buffer("ids", ids_of(tokenizer.tokenizer, read.tokenizer))
        self.layers = min(LAYERS, self.encoder.config.num_hidden_layers)
        self.encoder.embeddings.requires_grad_(False)
        for layer in list(self.encoder.layers)[self.layers :]:
            layer.requires_grad_(False)
        self.learning_rate_scales = {
            name: rate for name, _ in self.named_parameters() if name.startswith("encoder.")
        }

    def forward(self, batch: EntityBatch) -> Tensor:
        """Scores of the tags, ``(B, R, tags)`` float32."""
        assert batch.cases is not None
        assert isinstance(self.ids, Tensor)
        padded = torch.full_like(batch.input_ids, self.encoder.config.pad_token_id)
        ids = torch.where(batch.real, self.ids[batch.input_ids], padded)
        words = self.encoder(ids, batch.real, layers=slice(0, 0)).last_hidden_state
        hidden = words + self.cases(batch.cases)
        hidden = self.encoder(hidden, batch.real, layers=slice(0, self.layers)).last_hidden_state
        return self.tags(self.dropout(hidden)).float()


def ids_of(ours: Tokenizer, theirs: Tokenizer) -> Tensor:
    """The teacher's id of each of our word pieces, ``(vocabulary,)``; its unknown piece where it has none."""
    names = [ours.id_to_token(number) for number in range(ours.get_vocab_size())]
    found = [theirs.token_to_id(_EDGES.get(name, name)) for name in names]
    same = [theirs.token_to_id(name) for name in names]
    unknown = theirs.token_to_id("[UNK]")
    return torch.tensor(
        [
            first if first is not None else second if second is not None else unknown
            for first, second in zip(found, same, strict=True)
        ]
    )


def bare_passages(dataset: TextDataset, documents: Sequence[TextDocument]) -> list[EntityExample]:
    """Texts as passages, without what is given about them."""
    bare = [replace(item, mentions=(), facts=()) for item in documents]
    return [
        example
        for item in bare
        for example, _ in document_passages(item, dataset.tokenizer, dataset.types, 512)
    ]


def tag_probabilities(teacher: Teacher, passages: Sequence[EntityExample]) -> list[Tensor]:
    """The probabilities of the tags of each text, ``(R, tags)`` float16."""
    teacher.eval()
    found: dict[int, Tensor] = {}
    order = sorted(range(len(passages)), key=lambda number: len(passages[number].ids))
    for start in range(0, len(order), _BATCH):
        part = order[start : start + _BATCH]
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            scores = teacher(entity_batch([passages[number] for number in part]))
        shares = scores.softmax(dim=-1).half()
        for row, number in enumerate(part):
            found[number] = shares[row, : len(passages[number].ids)].clone()
    return [found[number] for number in range(len(passages))]


def given_probabilities(passages: Sequence[EntityExample], tags: int) -> list[Tensor]:
    """The given tags as probabilities, in the same shape."""
    return [
        torch.nn.functional.one_hot(gold_tags([item], len(item.ids))[0], tags).half() for item in passages
    ]


def teacher_score(teacher: Teacher, passages: Sequence[EntityExample], types: Sequence[str]) -> MentionScore:
    """How well a teacher finds mentions."""
    logs = [shares.double().clamp(min=1e-8).log().numpy() for shares in tag_probabilities(teacher, passages)]
    return score_mentions([decode(np.asarray(item)) for item in logs], passages, types)


def learn_tags(
    tagger: Tagger | Teacher,
    passages: Sequence[EntityExample],
    targets: Sequence[Tensor],
    config: TrainConfig,
    directory: Path,
    identity: Mapping[str, str] | None = None,
) -> None:
    """Train on probabilities of tags: cross-entropy with them, short texts together so that batches have like sizes.

    loss = −Σ_tokens Σ_t q_t log p_t / tokens

    ``identity`` is what the run is taken up with beside its config, see :func:`weft.train.loop.fit`.
    """
    groups = _grouped([len(item.ids) for item in passages])
    plan = LengthBuckets(
        [max(len(passages[number].ids) for number in group) for group in groups],
        config.batch_size,
        seed=config.seed,
    )

    def collate(indices: list[int], generator: torch.Generator) -> tuple[EntityBatch, Tensor]:
        chosen = [number for index in indices for number in groups[index]]
        batch = entity_batch([passages[number] for number in chosen])
        wanted = torch.zeros(*batch.input_ids.shape, targets[0].shape[1])
        for row, number in enumerate(chosen):
            wanted[row, : len(targets[number])] = targets[number].float()
        return batch, wanted

    def loss(tagger: Tagger | Teacher, data: tuple[EntityBatch, Tensor]) -> dict[str, Tensor]:
        batch, wanted = data
        return {"loss": -(wanted * tagger(batch).log_softmax(dim=-1)).sum() / wanted.sum()}

    batches = Batches(plan, collate, seed=config.seed)
    fit(tagger, batches, loss, config, directory=directory, quiet=True, identity=identity)


def soft_tags(
    start: Path,
    dataset: TextDataset,
    labelled: Sequence[EntityExample],
    sentences: Sequence[EntityExample],
    config: TrainConfig,
    directory: Path,
    identity: Mapping[str, str],
) -> list[Tensor]:
    """What a teacher that learnt from labelled texts says of sentences; kept in a file, read again where it is there.

    The file holds what it was made of. A later training takes it up whatever its seed and its further texts.

    Args:
        start: Of the teacher.
        dataset: Its validation part judges the teacher, for the record.
        labelled: With given mentions.
        sentences: To tag.
        config: How the teacher is trained.
        directory: Of its checkpoints and of what it says.
        identity: What the teacher's training is taken up with beside its config; of it, :data:`TAGS_OF` is what the
            file is taken up with.

    Raises:
        SystemExit: The file was made of others, or does not say of which.
    """
    kept = directory / "tags.safetensors"
    lengths = [len(item.ids) for item in sentences]
    mine = {name: identity[name] for name in TAGS_OF}
    if kept.is_file():
        _check_kept(kept, mine)
    else:
        tags = number_of_tags(len(dataset.types) - 1)
        teacher = Teacher(start, dataset.tokenizer, tags)
        learn_tags(
            teacher, labelled, given_probabilities(labelled, tags), config, directory / "teacher", identity
        )
        score = teacher_score(teacher, dataset.passages_of("valid"), dataset.types[1:])
        print(json.dumps({"teacher": _figures(score)}), flush=True)
        said = torch.cat(tag_probabilities(teacher, sentences))
        with replaced(kept) as part:
            save_file({"tags": said}, part, metadata=mine)
    return list(load_file(str(kept))["tags"].split(lengths))


def _check_kept(kept: Path, mine: Mapping[str, str]) -> None:
    with safe_open(kept, "pt") as file:
        theirs = file.metadata() or {}
    if not mine.keys() <= theirs.keys():
        raise SystemExit(f"{kept}: it does not say what it was made of; remove it, or name another --out")
    others = differing(mine, theirs)
    if others:
        raise SystemExit(f"{kept}: made of another {', '.join(others)}; remove it, or name another --out")


def _figures(score: MentionScore) -> Mapping[str, float]:
    return {"spans": round(score.f1, 4), "typed": round(score.typed_f1, 4)}


def _grouped(lengths: Sequence[int]) -> list[list[int]]:
    """Texts one by one, short ones of like length in groups of so many tokens."""
    groups: list[list[int]] = []
    tokens = TOGETHER
    for number in sorted(range(len(lengths)), key=lambda number: lengths[number]):
        if tokens + lengths[number] > TOGETHER:
            groups.append([])
            tokens = 0
        groups[-1].append(number)
        tokens += lengths[number]
    return groups
