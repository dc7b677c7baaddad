"""A classifier of five linear layers; it has no loss in its graph."""

import torch.nn as nn

INPUTS = 32
WIDTHS = (64, 96, 64, 48)
CLASSES = 16


class Mlp(nn.Module):
    """x [batch, 32] -> logits [batch, 16]; ReLU between the layers, one dropout after the second."""

    def __init__(self, dropout: float):
        super().__init__()
        sizes = (INPUTS, *WIDTHS, CLASSES)
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.relu = nn.ReLU()
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        for i, layer in enumerate(self.layers[:-1]):
            x = self.relu(layer(x))
            if i == 1:
                x = self.dropout(x)
        return self.layers[-1](x)
