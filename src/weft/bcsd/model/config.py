"""The shape of the function model."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from weft.bcsd.represent.vocabulary import JUMP_POSITIONS, VOCABULARY_SIZE
from weft.encoder.config import EncoderConfig
from weft.platform.ranges import require
from weft.platform.settings import Settings

PrefixSource = Literal["graph", "register", "none"]
Branches = Literal["both", "sequence", "graph", "set"]
NodeFeatures = Literal["both", "instructions", "facts"]
BlockDecay = Literal["none", "scores", "weights"]
Kind = Literal["function", "contract"]
GraphNodes = Literal["blocks", "operations"]


#: Fields that came after the first models were saved.
LATER = (
    "block_tokens",
    "typed_edges",
    "reverse_edges",
    "node_features",
    "block_decay",
    "block_distance",
    "kind",
    "graph",
    "operation_levels",
    "operation_codes",
    "operation_set",
)


@dataclass(frozen=True)
class ModelConfig(Settings):
    """Sizes and options; those that are not sizes exist to be compared.

    Args:
        hidden_size: Width of instructions and blocks.
        dimension: Width of the embedding.
        layers: Encoder layers.
        heads: Attention heads of the encoder and of the graph encoder.
        intermediate_size: Width of the encoder's feed-forward part.
        max_instructions: Instructions that the sequence branch reads, the first of the function.
        max_blocks: Blocks (or operations) that the graph branch reads; it bounds time and memory, nothing else.
        max_block_instructions: Instructions of a block that its features average over.
        graph_layers: Layers of the graph encoder.
        prefix: Where the prefix comes from: the graph, a learned constant (a control), or nowhere.
        prefix_tokens: Keys and values that the prefix adds in every layer.
        gated: Whether a learned factor per layer and head multiplies the prefix's values.
        block_tokens: Whether a block's features also hold the sum of its tokens' rows of the token set's table,
            so that the graph tells which token stands where in it.
        edges: Whether the graph encoder sees the edges; without them a graph is a bag of blocks.
        branches: Which of them make the embedding. ``"both"``: the sequence, conditioned by the graph, with
            the graph's summary beside it; ``"sequence"``: without the summary beside it; ``"graph"``: no
            sequence at all; ``"set"``: neither, but the sets of tokens and operations that there are.
        token_set: Whether the set of the tokens of the whole function enters the embedding as well.
        share_jump_positions: Whether the token of a jump's target is the position embedding of the target
            instruction, as in jTrans.
        dropout: Dropout probability everywhere.
        typed_edges: Whether the graph encoder tells kinds of edges apart.
        reverse_edges: Whether it also sees the reverse of every edge.
        node_features: What a block is to the graph encoder: the mean of its instructions, facts such as its
            size and its number of edges, or both.
        block_decay: Whether attention between two instructions fades with the distance of their blocks in the
            graph: not, on the scores, or on the weights (:class:`weft.condition.decay.DistanceDecay`).
        block_distance: The largest distance that it tells apart.
        kind: ``"function"``, the model described here; ``"contract"``, the ``BCSModel`` of the model contract in
            these sizes: it reads single tokens, its embedding is ``[CLS]``, and it takes no notice of what is
            there to be compared.
        graph: What the nodes of the graph are: basic blocks, or the operations of the lifted function
            (:class:`weft.bcsd.model.operations.OperationEncoder`), which are not in a table but beside it
            (:func:`weft.bcsd.represent.graphs.graphs_of`).
        operation_levels: What an operation is to the graph encoder: 1 its name, 2 also its operands' names, 3 also
            theirs.
        operation_codes: Rows of the table of each of these levels; hashes share them.
        operation_set: Rows of a table whose sum over the set of the function's operations (all levels) enters the
            embedding as well; 0 leaves it out.

    Raises:
        ConfigError: A field breaks its rule.
    """

    hidden_size: int = 128
    dimension: int = 256
    layers: int = 3
    heads: int = 4
    intermediate_size: int = 512
    max_instructions: int = 128
    max_blocks: int = 2048
    max_block_instructions: int = 64
    graph_layers: int = 2
    prefix: PrefixSource = "graph"
    prefix_tokens: int = 4
    gated: bool = False
    block_tokens: bool = False
    edges: bool = True
    branches: Branches = "both"
    token_set: bool = True
    share_jump_positions: bool = False
    dropout: float = 0.0
    typed_edges: bool = True
    reverse_edges: bool = True
    node_features: NodeFeatures = "both"
    block_decay: BlockDecay = "none"
    block_distance: int = 16
    kind: Kind = "function"
    graph: GraphNodes = "blocks"
    operation_levels: int = 1
    operation_codes: int = 4096
    operation_set: int = 0

    def __post_init__(self) -> None:
        for name in (
            "dimension",
            "max_instructions",
            "max_blocks",
            "max_block_instructions",
            "graph_layers",
            "prefix_tokens",
            "block_distance",
            "operation_levels",
            "operation_codes",
        ):
            value = getattr(self, name)
            require(self, name, type(value) is int and value >= 1, "an integer of at least 1")
        require(
            self, "max_instructions", self.max_instructions <= JUMP_POSITIONS, f"at most {JUMP_POSITIONS}"
        )
        require(self, "max_blocks", self.max_blocks >= self.max_instructions, "at least max_instructions")
        for name, choices in (
            ("prefix", get_args(PrefixSource)),
            ("branches", get_args(Branches)),
            ("node_features", get_args(NodeFeatures)),
            ("block_decay", get_args(BlockDecay)),
            ("kind", get_args(Kind)),
            ("graph", get_args(GraphNodes)),
        ):
            require(self, name, getattr(self, name) in choices, f"one of {', '.join(choices)}")
        require(self, "operation_levels", self.operation_levels <= 3, "at most 3")
        whole = type(self.operation_set) is int and self.operation_set >= 0
        require(self, "operation_set", whole, "an integer of at least 0")
        sets = self.token_set or self.operation_set > 0
        require(self, "branches", sets or self.branches != "set", "another without any set")
        require(self, "prefix", self.prefix == "none" or self.branches != "set", "none without a sequence")
        require(self, "block_tokens", self.token_set or not self.block_tokens, "False without token_set")
        _ = self.encoder

    @property
    def has_graph(self) -> bool:
        """Whether any part reads the graph."""
        return self.prefix == "graph" or self.branches in ("both", "graph")

    @property
    def has_sequence(self) -> bool:
        """Whether instructions are read one after another."""
        return self.branches in ("both", "sequence")

    @property
    def reads_operations(self) -> bool:
        """Whether graphs of operations are needed beside the table."""
        return (self.has_graph and self.graph == "operations") or self.operation_set > 0

    @property
    def encoder(self) -> EncoderConfig:
        """The configuration of the sequence branch."""
        return EncoderConfig(
            vocab_size=VOCABULARY_SIZE,
            hidden_size=self.hidden_size,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            intermediate_size=self.intermediate_size,
            # One for each position that a jump can name, so that jumps may share them.
            max_position_embeddings=JUMP_POSITIONS,
            type_vocab_size=1,
            hidden_dropout_prob=self.dropout,
            attention_probs_dropout_prob=self.dropout,
        )

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain values.

        Those of :data:`LATER` are left out at their defaults: a model that was saved before they were there keeps
        its file and its version.
        """
        defaults = {entry.name: entry.default for entry in fields(self)}
        values = super().to_dict()
        return {name: v for name, v in values.items() if name not in LATER or v != defaults[name]}
