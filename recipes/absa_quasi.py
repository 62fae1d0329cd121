"""How far the first step's gradient reaches what is asked, for quasi-attention and its rivals, by how they start.

    python recipes/absa_quasi.py --data DATA --start MINILM

For 6 batches of 3 texts of SentiHood train (24 questions each), at the start of training::

    reach = ‖c‖·‖∂L/∂c‖ / (‖x‖·‖∂L/∂x‖)

with c what stands for the question (the context's embedding or vector; the second text of the pair) and x the
embeddings of the text. ``kept`` is the cosine of the last layer's states with those of the start without
quasi-attention: what a start costs of what was pretrained. Starts: as published; ``gate``, the biases of λ at −1, so
that 1 − λ_Q − λ_K is about .76 instead of 0; ``words``, context embeddings that are the mean of their words'
embeddings; ``layer``, Z_Q and Z_K the layer's own query and key, W_C = [1 1] (``gate layer`` of ``qacg`` is its option
``quasi_start: "open"``); ``half``, W_C = [−½ ½], so that C is the mean of the context and the state
(``gate layer half``: ``"half"``). ``ends``: the share of the quasi part's sigmoids below .01 or above .99, where no
gradient comes through.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

STARTS = (
    ("pair", ""),
    ("qacg-official", ""),
    ("qacg-official", "gate"),
    ("qacg-official", "words"),
    ("qacg-official", "words gate"),
    ("qacg-official", "words gate layer"),
    ("qacg", ""),
    ("qacg", "gate"),
    ("qacg", "gate layer"),
    ("qacg", "gate layer half"),
    ("cg", ""),
    ("cg", "words"),
)


def begun(asker: Any, how: str) -> None:
    """Change how the model starts, in place."""
    module = asker.module
    with torch.no_grad():
        if "words" in how:
            table = module.encoder.embeddings.word_embeddings.weight
            names = [f"{t} {a}" for t in asker.config.targets for a in asker.config.aspects]
            for row, name in enumerate(names):
                ids = asker.tokenizer.encode(name.replace("-", " ")).ids[1:-1]
                module.context_embeddings.weight[row] = table[ids].mean(dim=0)
        if asker.config.kind == "cg" or asker.config.kind == "pair":
            return
        conditioner = module.encoder.conditioner
        for number, layer in enumerate(conditioner.layers, start=conditioner.config.first_layer):
            if "gate" in how:
                for name in ("query", "key", "context_query", "context_key"):
                    getattr(layer, f"lambda_{name}").bias.fill_(-1.0)
            if "layer" in how:
                attention = module.encoder.layers[number].attention
                layer.context_query.load_state_dict(attention.query.state_dict())
                layer.context_key.load_state_dict(attention.key.state_dict())
                one = torch.eye(layer.context_layer.out_features)
                shares = (-0.5, 0.5) if "half" in how else (1.0, 1.0)
                layer.context_layer.weight.copy_(torch.cat([share * one for share in shares], dim=1))


def reach(asker: Any, sentences: list[Any]) -> tuple[float, float]:
    """The measure on one batch, and how much of the start's states is kept."""
    from weft.encoder.encoder import PLAIN

    module = asker.module.eval()
    batch = asker.represent(sentences)
    embedded = module.embed(batch).detach().requires_grad_()
    found: dict[str, Tensor] = {}

    def keep(name: str) -> Any:
        def hook(_module: Any, _inputs: Any, output: Any) -> None:
            found[name] = output
            if isinstance(output, Tensor) and output.requires_grad:
                output.retain_grad()

        return hook

    source = getattr(module, "context_embeddings", None) or getattr(module, "context", None)
    hooks = [] if source is None else [source.register_forward_hook(keep("context"))]
    hooks.append(module.encoder.register_forward_hook(keep("states")))
    module(batch, embedded=embedded).loss(batch.labels).backward()
    for hook in hooks:
        hook.remove()
    text, grad = embedded.detach(), embedded.grad
    assert grad is not None  # the loss depends on it
    if source is None:
        second = batch.token_type_ids.bool()
        first = batch.attention_mask & ~second
        asked = text[second].norm() * grad[second].norm()
        return float(asked / (text[first].norm() * grad[first].norm())), 1.0
    context = found["context"]
    assert context.grad is not None
    share = float(context.detach().norm() * context.grad.norm() / (text.norm() * grad.norm()))
    module.zero_grad()
    if asker.config.kind == "qacg":
        return share, float("nan")
    with torch.no_grad():
        plain = module.encoder(embedded, batch.attention_mask, PLAIN).last_hidden_state
    states = found["states"].last_hidden_state.detach()  # pyright: ignore[reportAttributeAccessIssue]
    real = batch.attention_mask
    return share, float(torch.cosine_similarity(states[real], plain[real], dim=-1).mean())


@torch.no_grad()
def ends(asker: Any, sentences: list[Any]) -> float:
    """The share of the quasi part's sigmoids that are below .01 or above .99."""
    batch = asker.represent(sentences)
    found: list[Tensor] = []
    for maps in asker.module.eval()(batch, need_maps=True).maps:
        if maps.quasi is None:
            return float("nan")
        lengths = batch.attention_mask.sum(dim=1)
        if asker.config.kind == "qacg":
            lengths = lengths[batch.context_text]
        for quasi, length in zip(maps.quasi, lengths.tolist(), strict=True):
            scale = length if asker.config.kind == "qacg" else 1
            values = scale * quasi[:, :length, :length].flatten()
            found.append(((values < 0.01) | (values > 0.99)).float())
    return float(torch.cat(found).mean()) if found else float("nan")


def main() -> None:
    """Measure, print."""
    from weft.absa.config import AbsaConfig, ModelOptions
    from weft.absa.model.build import build_model
    from weft.absa.read.sentihood import FREQUENT_ASPECTS, TARGETS, read_sentihood
    from weft.absa.use.asker import Asker
    from weft.encoder.checkpoint.pretrained import load_pretrained

    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--start", type=Path, required=True)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    corpus = read_sentihood(arguments.data / "sentihood/sentihood-train.json", FREQUENT_ASPECTS)
    start = load_pretrained(arguments.start)
    assert start.tokenizer is not None
    order = torch.randperm(len(corpus.sentences), generator=torch.Generator().manual_seed(0)).tolist()
    print(f"{'kind':16}{'start':20}{'reach':>10}{'kept':>8}{'ends':>8}")
    for kind, how in STARTS:
        torch.manual_seed(0)
        options = ModelOptions(kind=kind, **({"pooling": "cls"} if kind != "pair" else {}))  # type: ignore[arg-type]
        config = AbsaConfig(
            encoder=start.encoder.config,
            options=options,
            polarities=corpus.polarities,
            aspects=tuple(FREQUENT_ASPECTS),
            targets=TARGETS,
        )
        asker = Asker(build_model(config, start.encoder, start.pooler), start.tokenizer)
        begun(asker, how)
        values = [reach(asker, [corpus.sentences[i] for i in order[3 * n : 3 * n + 3]]) for n in range(6)]
        mean = torch.tensor(values).mean(dim=0).tolist()
        flat = ends(asker, [corpus.sentences[i] for i in order[:3]])
        print(f"{kind:16}{how or 'published':20}{mean[0]:10.4f}{mean[1]:8.3f}{flat:8.3f}", flush=True)


if __name__ == "__main__":
    main()
