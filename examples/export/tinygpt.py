"""A GPT-2-style decoder, small enough to commit, with its loss inside the graph."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCABULARY = 256  # bytes
SEQUENCE = 64
LAYERS = 4
HEADS = 4
WIDTH = 64
IGNORED = -100


class Attention(nn.Module):
    """Causal self-attention, written out: product, mask, softmax, dropout, product."""

    def __init__(self, dropout: float):
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)
        self.probability_dropout = nn.Dropout(dropout)
        self.residual_dropout = nn.Dropout(dropout)
        mask = torch.tril(torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool))
        self.register_buffer("mask", mask.view(1, 1, SEQUENCE, SEQUENCE), persistent=False)

    def forward(self, x):
        batch, length, width = x.size()
        q, k, v = (
            part.view(batch, length, HEADS, width // HEADS).transpose(1, 2)
            for part in self.qkv(x).split(width, dim=2)
        )
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(width // HEADS))
        scores = scores.masked_fill(~self.mask[:, :, :length, :length], float("-inf"))
        probabilities = self.probability_dropout(F.softmax(scores, dim=-1))
        merged = (probabilities @ v).transpose(1, 2).contiguous().view(batch, length, width)
        return self.residual_dropout(self.proj(merged))


class Mlp(nn.Module):
    """Two linear layers with the exact (erf) GELU between them."""

    def __init__(self, dropout: float):
        super().__init__()
        self.fc = nn.Linear(WIDTH, 4 * WIDTH)
        self.gelu = nn.GELU()
        self.proj = nn.Linear(4 * WIDTH, WIDTH)
        self.residual_dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.residual_dropout(self.proj(self.gelu(self.fc(x))))


class Block(nn.Module):
    """One pre-norm decoder layer."""

    def __init__(self, dropout: float):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attn = Attention(dropout)
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = Mlp(dropout)

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class TinyGpt(nn.Module):
    """(input_ids, labels) [batch, seq] int64 -> mean cross entropy over the labels that are not IGNORED.

    Labels are already shifted: labels[b, t] is the token after input_ids[b, t].
    With `tied`, the output projection is the transposed embedding table.
    """

    def __init__(self, tied: bool, dropout: float):
        super().__init__()
        self.wte = nn.Embedding(VOCABULARY, WIDTH)
        self.wpe = nn.Embedding(SEQUENCE, WIDTH)
        self.embedding_dropout = nn.Dropout(dropout)
        self.h = nn.ModuleList(Block(dropout) for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.lm_head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        if tied:
            self.lm_head.weight = self.wte.weight

    def forward(self, input_ids, labels):
        positions = torch.arange(input_ids.size(1), device=input_ids.device)
        x = self.embedding_dropout(self.wte(input_ids) + self.wpe(positions))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        return F.cross_entropy(
            logits.view(-1, VOCABULARY), labels.view(-1), ignore_index=IGNORED
        )
