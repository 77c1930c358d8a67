# Part of the tp-opt project, under the Apache License v2.0 with LLVM
# Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
import tp_export

def forward(params, x):
    for layer in params["layers"]:
        hidden = jax.nn.silu(x @ layer["gate"]) * (x @ layer["up"])
        x = x + hidden @ layer["down"]
    return jax.nn.softmax(x)

keys = jax.random.split(jax.random.key(0), 6)
make = lambda key, *shape: jax.random.normal(key, shape) / 4
params = {"layers": [{"gate": make(keys[3 * i], 16, 24), "up": make(keys[3 * i + 1], 16, 24),
                      "down": make(keys[3 * i + 2], 24, 16)} for i in range(2)]}

mesh = Mesh(np.array(jax.devices()), ("model",))
columns, rows = NamedSharding(mesh, P(None, "model")), NamedSharding(mesh, P("model", None))
shardings = {"layers": [{"gate": columns, "up": columns, "down": rows}] * 2}

x = jnp.arange(48, dtype=jnp.float32).reshape(3, 16) / 48
tp_export.export(forward, params, x, to="mlp", in_shardings=(shardings, None))
print(forward(params, x)[0, :4])
