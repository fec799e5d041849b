"""Lesson 5: a small decoder whose keys and values are buffers: they live on between its steps."""
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

VOCABULARY, WIDTH, HEADS, LENGTH = 64, 32, 4, 64


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.project, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.wide, self.narrow = nn.Linear(WIDTH, 2 * WIDTH), nn.Linear(2 * WIDTH, WIDTH)
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, HEADS, LENGTH, WIDTH // HEADS))

    def forward(self, x, positions):
        q, k, v = self.project(self.norm(x)).unflatten(-1, (3, HEADS, -1)).permute(2, 0, 3, 1, 4)
        self.keys.index_copy_(2, positions, k)  # in place: lathe makes a state of the buffer
        self.values.index_copy_(2, positions, v)
        seen = torch.arange(LENGTH) <= positions[:, None]
        y = scaled_dot_product_attention(q, self.keys, self.values, attn_mask=seen)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.narrow(torch.relu(self.wide(self.second(x))))


class Decoder(nn.Module):
    """Takes tokens [1, n] and where they stand [n]; gives the next one's logits [1, VOCABULARY]."""

    def __init__(self):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(Layer() for _ in range(2))
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens, positions):
        x = self.tokens(tokens) + self.places(positions)
        for layer in self.layers:
            x = layer(x, positions)
        return self.head(x[:, -1])
