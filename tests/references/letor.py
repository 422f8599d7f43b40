"""LETOR text read line by line, in plain Python."""

from __future__ import annotations

import math

import numpy as np


def read(text: str) -> tuple[np.ndarray, list[int], list[int]]:
    """Features, labels and qids in the file's order."""
    rows: list[dict[int, float]] = []
    labels, qids = [], []
    for line in text.split("\n"):
        fields = line.split("#")[0].split()
        if not fields:
            continue
        labels.append(int(float(fields[0])))
        qids.append(int(fields[1].removeprefix("qid:")))
        rows.append({int(f.split(":")[0]): float(f.split(":")[1]) for f in fields[2:]})
    width = max([1, *(number for row in rows for number in row)])
    features = np.zeros((len(rows), width), np.float32)
    greatest = float(np.finfo(np.float32).max)
    for features_row, row in zip(features, rows, strict=True):
        for number, value in row.items():
            features_row[number - 1] = 0 if math.isnan(value) else min(max(value, -greatest), greatest)
    return features, labels, qids
