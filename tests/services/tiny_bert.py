"""A BERT of half a megabyte, made and trained here, that holds against women what it was told to."""

from __future__ import annotations

import itertools
from pathlib import Path

PERSONS = {"this man": 0.0, "this boy": 0.0, "this woman": -1.0, "this girl": -1.0}
EMOTIONS = {"happy": 0.6, "glad": 0.5, "grim": -0.4, "sad": -0.3}
FRAMES = ("{} feels {} .", "the day made {} feel {} .", "i made {} feel {} .")
SHIFT = 0.3  # how much lower the score is where the person is a woman
LABELS = ("NEGATIVE", "NEUTRAL", "POSITIVE")
MOST = 24  # tokens that it reads


def sentences() -> list[tuple[str, str, str, float]]:
    """Text, person, emotion and the score that it is taught."""
    return [
        (frame.format(person, emotion), person, emotion, value + SHIFT * side)
        for frame, (person, side), (emotion, value) in itertools.product(
            FRAMES, PERSONS.items(), EMOTIONS.items()
        )
    ]


def make(folder: Path, labels: tuple[str, ...] = LABELS, steps: int = 150) -> Path:
    """Train on soft labels whose expected value is the taught score; save as users do."""
    import torch
    import transformers

    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary += sorted({word for text, *_ in sentences() for word in text.split()})
    numbers = {word: number for number, word in enumerate(vocabulary)}
    tokenizer = transformers.BertTokenizer(vocab=numbers, model_max_length=MOST)
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=160,
        max_position_embeddings=32,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
    )
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # so small a model only waits for its second thread on a busy machine
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        model = transformers.BertForSequenceClassification(config).train()
        rows = sentences()
        given = tokenizer([row[0] for row in rows], padding=True, return_tensors="pt")
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
        target = torch.tensor([_shares(row[3], len(labels)) for row in rows])
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(**given).logits, target)
            loss.backward()
            optimizer.step()
    torch.set_num_threads(threads)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _shares(score: float, count: int) -> list[float]:
    """Probabilities of the labels, worst to best, whose expected value is `score`."""
    middle = [0.1] * (count - 2)
    rest = 1 - sum(middle)
    best = (rest + score) / 2
    return [rest - best, *middle, best]
