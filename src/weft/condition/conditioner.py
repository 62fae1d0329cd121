"""The seam: where structure enters an encoder, and nowhere else.

A conditioner acts in three places: once per batch (:meth:`Conditioner.prepare`), on the word
embeddings (:meth:`Conditioner.embed`) and in every layer (:meth:`Conditioner.terms`). The encoder
calls them and knows nothing else about graphs, contexts or tasks.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Any

from torch import Tensor, nn

from weft.attention.terms import Terms
from weft.errors import ConfigError, with_article


class Conditioner(nn.Module, ABC):
    """The learnt part that turns structure into attention terms. Subclasses are final."""

    @abstractmethod
    def prepare(self, structure: Any) -> Any:
        """Turn the batch's structure into the state that the layers read; runs once per batch."""

    def embed(self, embeddings: Tensor, state: Any) -> Tensor:
        """Change the word embeddings ``(batch, seq, hidden)``, before positions and LayerNorm."""
        return embeddings

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: Any) -> Terms:
        """The terms of one layer.

        Args:
            layer: Index of the layer in the whole stack, from 0.
            hidden: ``(batch, seq, hidden)``, the layer's input.
            query: ``(batch, heads, seq, D)``, projected.
            key: ``(batch, heads, seq, D)``, projected.
            state: What :meth:`prepare` returned.
        """
        return Terms()


class Stack(Conditioner):
    """Several conditioners as one; its structure is a sequence with one entry for each of them.

    Args:
        members: The conditioners, applied in this order.

    Raises:
        ConfigError: A member that is no conditioner.
    """

    def __init__(self, members: Iterable[Conditioner]) -> None:
        super().__init__()
        self.members = nn.ModuleList(members)
        for number, member in enumerate(self.members):
            if not isinstance(member, Conditioner):
                raise ConfigError(
                    f"member {number} of a stack is {with_article(type(member).__name__)}; it must be a Conditioner",
                    hint="subclass weft.condition.Conditioner; compile the encoder, not a member",
                )

    def prepare(self, structure: Sequence[Any]) -> list[Any]:
        """Prepare every member with its own entry of ``structure``.

        Raises:
            ConfigError: Not one entry for each member.
        """
        if len(structure) != len(self.members):
            raise ConfigError(
                f"{len(structure)} structures for a stack of {len(self.members)} conditioners",
                hint="give one entry for each member, in the same order",
            )
        return [member.prepare(part) for member, part in zip(self._members(), structure, strict=True)]

    def embed(self, embeddings: Tensor, state: Sequence[Any]) -> Tensor:
        """Let every member change the embeddings in turn."""
        for member, part in zip(self._members(), state, strict=True):
            embeddings = member.embed(embeddings, part)
        return embeddings

    def terms(self, layer: int, hidden: Tensor, query: Tensor, key: Tensor, state: Sequence[Any]) -> Terms:
        """Combine the members' terms: prefixes concatenate, decays multiply, two quasi terms raise."""
        return Terms.combine(
            member.terms(layer, hidden, query, key, part)
            for member, part in zip(self._members(), state, strict=True)
        )

    def _members(self) -> Iterable[Conditioner]:
        return (member for member in self.members if isinstance(member, Conditioner))
