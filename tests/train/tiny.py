"""A task small enough to train in a blink, with everything a resume could lose: dropout, masks, buckets.

As a program it trains in a directory and prints its losses:

    python tiny.py DIRECTORY [STEPS [SECONDS_PER_STEP]]
"""

import json
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

from weft.train import Batches, LengthBuckets, TrainConfig, fit, pad
from weft.train.distributed import World

SIZE, PAD_ID = 24, 0


class Tiny(nn.Module):
    def __init__(self, dropout=0.2):
        super().__init__()
        self.embeddings = nn.Embedding(SIZE, 12)
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(12, 12)
        self.norm = nn.LayerNorm(12)
        self.head = nn.Linear(12, 2)

    def logits(self, ids, mask):
        pooled = (self.embeddings(ids) * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.head(self.norm(torch.tanh(self.dense(self.dropout(pooled)))))


def examples(count=48):
    generator = torch.Generator().manual_seed(7)
    lengths = torch.randint(2, 12, (count,), generator=generator).tolist()
    sequences = [torch.randint(1, SIZE, (length,), generator=generator) for length in lengths]
    labels = torch.tensor([int(sequence.float().mean() > SIZE / 2) for sequence in sequences])
    return sequences, labels


SEQUENCES, LABELS = examples()


def collate(indices, generator):
    ids, mask = pad([SEQUENCES[i] for i in indices], PAD_ID)
    # A random draw of every batch: one token of each sequence is hidden.
    seen = mask & (torch.rand(ids.shape, generator=generator) > 0.1)
    seen[:, 0] = True
    return {"ids": ids, "mask": seen, "labels": LABELS[indices]}


def loss_step(model, batch):
    logits = model.logits(batch["ids"], batch["mask"])
    return {
        "loss": F.cross_entropy(logits, batch["labels"]),
        "accuracy": (logits.argmax(-1) == batch["labels"]).float().mean(),
    }


def evaluate(model):
    ids, mask = pad(SEQUENCES, PAD_ID)
    torch.rand(3)  # a draw that must not disturb training
    logits = model.logits(ids, mask)
    return {
        "loss": F.cross_entropy(logits, LABELS).item(),
        "accuracy": (logits.argmax(-1) == LABELS).float().mean().item(),
    }


def model(dropout=0.2):
    torch.manual_seed(3)
    return Tiny(dropout)


def batches(config, world=None, prefetch=0):
    world = world or World()
    plan = LengthBuckets(
        [len(sequence) for sequence in SEQUENCES],
        config.batch_size,
        seed=config.seed,
        rank=world.rank,
        world_size=world.size,
        pool=2,
    )
    return Batches(plan, collate, seed=config.seed, rank=world.rank, prefetch=prefetch)


def config(**changes):
    values = {
        "steps": 30,
        "batch_size": 8,
        "learning_rate": 0.01,
        "log_every": 3,
        "eval_every": 5,
        "save_every": 4,
    }
    return TrainConfig(**(values | {"device": "cpu", "accumulation": 2} | changes))


def main():
    directory, steps, pause = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])

    def slow_step(model, batch):
        time.sleep(pause)
        return loss_step(model, batch)

    settings = config(steps=steps, threads=1)
    history = fit(model(), batches(settings), slow_step, settings, evaluate=evaluate, directory=directory)
    print(json.dumps({"first_step": history.first_step, "losses": history.losses}))


if __name__ == "__main__":
    main()
