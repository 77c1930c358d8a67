# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import torch
from torch import nn
import tp_export

class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(50, 16)
        self.encoder = nn.TransformerEncoderLayer(16, 4, 24, batch_first=True)
        self.head = nn.Linear(16, 3)

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)).mean(1))

torch.manual_seed(0)
tokens = torch.arange(14).reshape(2, 7)
tp_export.export_torch(Classifier(), tokens, to="classifier")
